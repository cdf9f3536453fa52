"""The kernel `move` of `particle_motion_kernels` for sixteen particles at once, in single precision."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.grid_fluids.free_surface.particle_kernels import ROW_LENGTH
from continua.grid_fluids.free_surface.particle_motion_kernels import (
    BALLISTIC,
    GROUP,
    move_one,
    stop_at_solid,
)
from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x16 import (
    WIDE,
    floor16,
    from16,
    gather16,
    if_same16,
    max16,
    min16,
    scatter16,
    span16,
    splat16,
)

__all__ = ["move"]


@inline
def _split(x, n):
    """Return the coordinate clamped to n samples, the lower sample, and the fraction to the next."""
    inside = max16(min16(x, n - 1), 0.0)
    low = max16(min16(floor16(inside), n - 2), 0)
    return inside, low, inside - from16(low)


@inline
def _layer(u, at, row, g, h):
    """Interpolate four samples; return the value and its slopes along the second and third axis."""
    a, b, c, d = gather16(u, at, 0), gather16(u, at, 1), gather16(u, at, row), gather16(u, at, row + 1)
    d1, d2 = b - a, d - c
    low = a + h * d1
    slope = c + h * d2 - low
    return low + g * slope, slope, d1 + g * (d2 - d1)


@inline
def _interpolate(u, at, flat, f, g, h):
    """Interpolate a velocity component from the lowest samples `at` and the fractions to the next."""
    up, row = u.shape[1] * u.shape[2], u.shape[2]
    value, _, _ = _layer(u, at, row, g, h)
    if not flat:
        above, _, _ = _layer(u, at + up, row, g, h)
        value = value + f * (above - value)
    return value


@inline
def _sample(u, at, flat, f, g, h):
    """Return a velocity component and its slopes along the axes."""
    up, row = u.shape[1] * u.shape[2], u.shape[2]
    value, s1, s2 = _layer(u, at, row, g, h)
    s0 = splat16(0.0)
    if not flat:
        above, t1, t2 = _layer(u, at + up, row, g, h)
        s0 = above - value
        value, s1, s2 = value + f * s0, s1 + f * (t1 - s1), s2 + f * (t2 - s2)
    return value, s0, s1, s2


@inline
def _write_component(rows, at, axis, value, s0, s1, s2):
    """Write one velocity component and its slopes."""
    scatter16(rows, at, 3 + axis, value)
    scatter16(rows, at, 6 + 3 * axis, s0)
    scatter16(rows, at, 7 + 3 * axis, s1)
    scatter16(rows, at, 8 + 3 * axis, s2)


@inline
def _move_block(rows, p, flat, u0, u1, u2, b0, b1, b2, flip, s):
    """Move the sixteen particles from p on, none of which is ballistic."""
    n0, n1, n2 = u1.shape[0], u2.shape[1], u1.shape[2]
    at = span16(p) * ROW_LENGTH
    x0, y0, z0 = gather16(rows, at, 0), gather16(rows, at, 1), gather16(rows, at, 2)
    x, y, z = x0, y0, z0
    for stage in range(2):
        # samples on the faces across an axis, and at the centres (m) between them
        ix, i, f = _split(x, n0 + 1)
        jy, j, g = _split(y, n1 + 1)
        kz, k, h = _split(z, n2 + 1)
        xm, ym, zm = x - 0.5, y - 0.5, z - 0.5
        imx, im, fm = _split(xm, n0)
        jmy, jm, gm = _split(ym, n1)
        kmz, km, hm = _split(zm, n2)
        at0 = (i * n1 + jm) * n2 + km
        at1 = (im * (n1 + 1) + j) * n2 + km
        at2 = (im * n1 + jm) * (n2 + 1) + k
        if stage == 0:
            v0, s0, s1, s2 = splat16(0.0), splat16(0.0), splat16(0.0), splat16(0.0)
            if not flat:
                v0, s0, s1, s2 = _sample(u0, at0, flat, f, gm, hm)
                own = v0
                if flip > 0:
                    own = own + flip * (gather16(rows, at, 3) - _interpolate(b0, at0, flat, f, gm, hm))
                _write_component(
                    rows, at, 0, own, if_same16(s0, ix, x), if_same16(s1, jmy, ym), if_same16(s2, kmz, zm)
                )
            v1, s0, s1, s2 = _sample(u1, at1, flat, fm, g, hm)
            own = v1
            if flip > 0:
                own = own + flip * (gather16(rows, at, 4) - _interpolate(b1, at1, flat, fm, g, hm))
            _write_component(
                rows, at, 1, own, if_same16(s0, imx, xm), if_same16(s1, jy, y), if_same16(s2, kmz, zm)
            )
            v2, s0, s1, s2 = _sample(u2, at2, flat, fm, gm, h)
            own = v2
            if flip > 0:
                own = own + flip * (gather16(rows, at, 5) - _interpolate(b2, at2, flat, fm, gm, h))
            _write_component(
                rows, at, 2, own, if_same16(s0, imx, xm), if_same16(s1, jmy, ym), if_same16(s2, kz, z)
            )
            x, y, z = x0 + 0.5 * s * v0, y0 + 0.5 * s * v1, z0 + 0.5 * s * v2
        else:
            if not flat:
                scatter16(rows, at, 0, x0 + s * _interpolate(u0, at0, flat, f, gm, hm))
            scatter16(rows, at, 1, y0 + s * _interpolate(u1, at1, flat, fm, g, hm))
            scatter16(rows, at, 2, z0 + s * _interpolate(u2, at2, flat, fm, gm, h))


@kernel_pair
def move(rows, phase, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2, corners, spacing):
    """Update the velocities of particles from the grid and advect them; see `particle_motion_kernels.move`."""
    count = len(rows)
    flat = u1.shape[0] == 1
    solid = corners.size > 0
    for group in prange((count + GROUP - 1) // GROUP):
        before = np.empty((WIDE, 3), rows.dtype)
        first = int(group) * GROUP
        last = min(count, first + GROUP)
        for block in range((last - first + WIDE - 1) // WIDE):
            start = first + block * WIDE
            end = min(start + WIDE, last)
            as_block = end - start == WIDE
            for p in range(start, end):
                as_block = as_block and phase[p] != BALLISTIC
                before[p - start] = rows[p, :3]
            if as_block:
                _move_block(rows, start, flat, u0, u1, u2, b0, b1, b2, flip, s)
            else:
                for p in range(start, end):
                    ballistic = phase[p] == BALLISTIC
                    move_one(rows[p], ballistic, flat, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2)
            if solid:
                for p in range(start, end):
                    x, y, z = before[p - start]
                    stop_at_solid(rows[p], x, y, z, corners, spacing)
