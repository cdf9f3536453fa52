"""Compiled sums over boundary particles: their part of a particle's density, its gradient and its rate."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.sph.neighbour_search_kernels import cell_of, surrounding_runs

GROUP = 512  # particles that one task handles


@inline
def sample_sums(x, y, z, count, width, near, inverse, motion, moving):
    """Sum over `count` samples around a point.

    Args:
        x: Coordinate of the point [m].
        y: Coordinate of the point [m].
        z: Coordinate of the point [m].
        count: Number of samples.
        width: Stride in `near` from one coordinate to the next.
        near: Coordinates [m] and volumes [m3] of the samples, shape [4 width].
        inverse: One over the kernel's radius [1/m].
        motion: Velocity of the samples: motion[:, :3] @ position + motion[:, 3], shape [12].
        moving: Whether they move.

    Returns:
        Sums of V W, of V grad W (three numbers), and of -V grad W . velocity.
    """
    ih, w = np.float32(inverse), np.uint64(width)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih
    min_distance = np.float32(1e-6) / ih
    one, half, none = np.float32(1.0), np.float32(0.5), np.float32(0.0)
    density, gx, gy, gz, rate = none, none, none, none, none
    for k in range(np.uint64(count)):
        sx, sy, sz, volume = near[k], near[w + k], near[w + w + k], near[w + w + w + k]
        dx, dy, dz = x - sx, y - sy, z - sz
        distance = np.sqrt(dx * dx + dy * dy + dz * dz)
        q = distance * ih
        a, b = max(one - q, none), max(half - q, none)
        density += volume * (a * a * a - np.float32(4.0) * b * b * b)
        factor = volume * (np.float32(24.0) * b * b - np.float32(6.0) * a * a) / max(distance, min_distance)
        gx += factor * dx
        gy += factor * dy
        gz += factor * dz
        if moving:
            vx = motion[0] * sx + motion[1] * sy + motion[2] * sz + motion[3]
            vy = motion[4] * sx + motion[5] * sy + motion[6] * sz + motion[7]
            vz = motion[8] * sx + motion[9] * sy + motion[10] * sz + motion[11]
            rate -= factor * (dx * vx + dy * vy + dz * vz)
    slope = scale * ih
    return np.float32(2.0) * scale * density, slope * gx, slope * gy, slope * gz, slope * rate


@inline
def _add(i, sums, gradient, density, rate):
    density[i] += sums[0]
    gradient[4 * i] += sums[1]
    gradient[4 * i + 1] += sums[2]
    gradient[4 * i + 2] += sums[3]
    rate[i] += sums[4]


@kernel_pair
def add_samples(
    xyzp, inverse, table_x, table_y, table_z, starts, samples, motion, moving, gradient, density, rate
):  # fmt: skip
    """Add the sums over sorted samples to each particle.

    Args:
        xyzp: Sorted particles, shape [4 n].
        inverse: One over the kernel's radius, which is the width of cells [1/m].
        table_x: Morton tables of the samples' grid along x.
        table_y: Along y.
        table_z: Along z.
        starts: First sample of each Morton code.
        samples: Sorted positions [m] and volumes [m3] of samples, shape [4 m].
        motion: As in `sample_sums`.
        moving: Whether samples move.
        gradient: Receives the gradient [1/m], shape [4 n].
        density: Receives the part of the relative density, shape [n].
        rate: Receives its rate due to the samples' motion [1/s], shape [n].
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        width, total = 256, 0
        near = np.empty(4 * width, np.float32)
        begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
        lx, ly, lz = np.int64(-(2**62)), np.int64(0), np.int64(0)
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = xyzp[4 * i], xyzp[4 * i + 1], xyzp[4 * i + 2]
            cx, cy, cz = cell_of(x, inverse), cell_of(y, inverse), cell_of(z, inverse)
            if cx != lx or cy != ly or cz != lz:
                lx, ly, lz = cx, cy, cz
                runs, total = surrounding_runs(
                    x, y, z, inverse, table_x, table_y, table_z, starts, begins, ends
                )
                if total > width:
                    width = 2 * total
                    near = np.empty(4 * width, np.float32)
                k, w = np.uint64(0), np.uint64(width)
                for r in range(runs):
                    for j in range(np.uint64(begins[r]), np.uint64(ends[r])):
                        for c in range(np.uint64(4)):
                            near[w * c + k] = samples[np.uint64(4) * j + c]
                        k += np.uint64(1)
            if total > 0:
                sums = sample_sums(x, y, z, total, width, near, inverse, motion, moving)
                _add(i, sums, gradient, density, rate)


@kernel_pair
def add_plane_samples(xyzp, inverse, point, axes, spacing, volume, motion, moving, gradient, density, rate):
    """Add the sums over a square lattice of samples on an infinite plane; only those within the kernel are generated.

    Args:
        xyzp: Particles, shape [4 n].
        inverse: One over the kernel's radius [1/m].
        point: A lattice point [m], shape [3].
        axes: Normal and the lattice's two directions, rows of shape [3, 3].
        spacing: Of the lattice [m].
        volume: Of a sample [m3].
        motion: As in `sample_sums`.
        moving: Whether the plane moves.
        gradient: As in `add_samples`.
        density: As in `add_samples`.
        rate: As in `add_samples`.
    """
    n = density.shape[0]
    radius = np.float32(1.0 / inverse)
    steps = int(np.ceil(radius / spacing)) + 1
    width = (2 * steps + 1) ** 2
    for group in prange((n + GROUP - 1) // GROUP):
        near = np.empty(4 * width, np.float32)
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = xyzp[4 * i] - point[0], xyzp[4 * i + 1] - point[1], xyzp[4 * i + 2] - point[2]
            height = x * axes[0, 0] + y * axes[0, 1] + z * axes[0, 2]
            if abs(height) >= radius:
                continue
            u = np.floor((x * axes[1, 0] + y * axes[1, 1] + z * axes[1, 2]) / spacing + 0.5)
            v = np.floor((x * axes[2, 0] + y * axes[2, 1] + z * axes[2, 2]) / spacing + 0.5)
            k = 0
            for a in range(-steps, steps + 1):
                for b in range(-steps, steps + 1):
                    s, t = (u + a) * spacing, (v + b) * spacing
                    for c in range(3):
                        near[width * c + k] = point[c] + s * axes[1, c] + t * axes[2, c]
                    near[3 * width + k] = volume
                    k += 1
            sums = sample_sums(
                xyzp[4 * i], xyzp[4 * i + 1], xyzp[4 * i + 2], k, width, near, inverse, motion, moving
            )
            _add(i, sums, gradient, density, rate)


@kernel_pair
def sample_densities(samples, begin, end, squares, inverse, own, result):
    """Sum the kernel over the neighbours of each sample and itself [1/m3], from squares of distances."""
    n = result.shape[0]
    ih = np.float32(inverse)
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(group * GROUP, min(n, (group + 1) * GROUP)):
            total = 0.0
            for k in range(begin[i], end[i]):
                q = np.sqrt(squares[k]) * ih
                a, b = max(1.0 - q, 0.0), max(0.5 - q, 0.0)
                total += 2.0 * a * a * a - 8.0 * b * b * b
            result[i] = own * (1.0 + total)
