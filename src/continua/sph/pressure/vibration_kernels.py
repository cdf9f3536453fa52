"""Compiled passes that damp the vibrations of particles under pressure."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel_pair
from continua.numerics.simd.f32x4 import dot3s, load4s, row4s, splat4s, store4s

GROUP = 512  # particles per task
_MIN_DETERMINANT = (
    0.02  # of the sums' matrix, 1 inside; below it there is no gradient: splashes, and single layers
)


@kernel_pair
def velocity_gradients(xyzp, velocities, begin, end, neighbours, weights, gradients):
    """Write the velocity gradient at each particle [1/s], exact for linear velocities; shape [12 n].

    Rows of 4; the last entry is 1, or 0 where the neighbours do not determine a gradient.
    """
    n = xyzp.shape[0] // 4
    none, one = np.float32(0.0), np.float32(1.0)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            own = load4s(velocities, 4 * i)
            xx, xy, xz, yy, yz, zz = none, none, none, none, none, none
            bx, by, bz = splat4s(none), splat4s(none), splat4s(none)
            for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                j = np.uint64(neighbours[k])
                w = -weights[k]
                x, y, z = (
                    xyzp[4 * i] - xyzp[4 * j],
                    xyzp[4 * i + 1] - xyzp[4 * j + 1],
                    xyzp[4 * i + 2] - xyzp[4 * j + 2],
                )
                difference = own - load4s(velocities, 4 * j)
                wx, wy, wz = w * x, w * y, w * z
                xx += wx * x
                xy += wx * y
                xz += wx * z
                yy += wy * y
                yz += wy * z
                zz += wz * z
                bx = bx + difference * wx
                by = by + difference * wy
                bz = bz + difference * wz
            c0, c1, c2 = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
            determinant = xx * c0 + xy * c1 + xz * c2
            valid = determinant > np.float32(_MIN_DETERMINANT)
            inverse = one / determinant if valid else none
            c3, c4, c5 = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
            # columns of the gradient: derivatives with respect to x, y, z
            store4s(gradients, 12 * i, (bx * c0 + by * c1 + bz * c2) * inverse)
            store4s(gradients, 12 * i + 4, (bx * c1 + by * c3 + bz * c4) * inverse)
            store4s(gradients, 12 * i + 8, (bx * c2 + by * c4 + bz * c5) * inverse)
            gradients[12 * i + 11] = one if valid else none


@kernel_pair
def vibration_damping(
    xyzp, velocities, begin, end, neighbours, gradients, stiffness, inverse, volume, inverse_density, changes
):
    """Write the changes of velocity [m/s] by which pressures damp relative motion that is not linear, shape [4 n].

    `stiffness` is the pressure times the square of the step [Pa s2], shape [n].
    """
    n = xyzp.shape[0] // 4
    ih = np.float32(inverse)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih * ih * ih * np.float32(volume)
    none, one, half = np.float32(0.0), np.float32(1.0), np.float32(0.5)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            here, own = load4s(xyzp, 4 * i), load4s(velocities, 4 * i)
            ax, ay, az = (
                load4s(gradients, 12 * i),
                load4s(gradients, 12 * i + 4),
                load4s(gradients, 12 * i + 8),
            )
            total = splat4s(none)
            valid, p = gradients[12 * i + 11], stiffness[i]
            if valid > none:
                for k in range(np.uint64(begin[i]), np.uint64(end[i])):
                    j = np.uint64(neighbours[k])
                    offset = here - load4s(xyzp, 4 * j)
                    square = dot3s(offset, offset)
                    q = np.sqrt(square) * ih
                    # where the second derivative is positive: beyond a third of the radius
                    bend = max(
                        np.float32(12.0) * max(one - q, none) - np.float32(48.0) * max(half - q, none), none
                    )
                    x, y, z = (
                        xyzp[4 * i] - xyzp[4 * j],
                        xyzp[4 * i + 1] - xyzp[4 * j + 1],
                        xyzp[4 * i + 2] - xyzp[4 * j + 2],
                    )
                    linear = (
                        (ax + load4s(gradients, 12 * j)) * x
                        + (ay + load4s(gradients, 12 * j + 4)) * y
                        + (az + load4s(gradients, 12 * j + 8)) * z
                    )
                    approach = dot3s(offset, own - load4s(velocities, 4 * j) - linear * half)
                    strength = scale * bend * (p + stiffness[j]) * gradients[12 * j + 11]
                    total = total - offset * (
                        strength * approach / max(square, np.float32(1e-12) / (ih * ih))
                    )
            store4s(changes, 4 * i, total * inverse_density[i] * row4s(one, one, one, none))
