"""The motion of the particles of a liquid: along the flow, out of walls, and which of them fly.

For their rows see `particle_kernels`.
"""

from __future__ import annotations

from numba import prange

from continua.grid_fluids.advection.advection_kernels import value_at
from continua.numerics import inline, kernel_pair

__all__ = ["FLYING", "GROUP", "drift", "fly", "move", "move_one", "push_out", "sample", "stop"]

GROUP = 1024  # particles of one task
MIDDLES = 3  # no axis: samples in the middles of cells
INSIDE, OUTSIDE, FLYING = 0, 1, 2  # in the liquid, just above its surface, or alone in the air


@inline
def _corner(x, n, real):
    """Return the lower of two samples and the part of the way to the upper, which are inside of n samples."""
    x = min(max(x, real(0.0)), real(n - 1))
    i = min(int(x), max(n - 2, 0))
    return i, x - real(i)


@inline
def _place(axis, x, y, z, shape, real):
    """Return a place in samples of a velocity component: two lower samples and parts of the way a direction."""
    half = real(0.5)
    px = x if axis == 0 else x - half
    py = y if axis == 1 else y - half
    pz = z if axis == 2 else z - half
    i, f = _corner(px, shape[0], real)
    j, g = _corner(py, shape[1], real)
    k, h = _corner(pz, shape[2], real)
    return px, py, pz, i, j, k, f, g, h


@inline
def _value(u, axis, flat, x, y, z):
    """Return a velocity component at a place, or what has samples in the middles of cells."""
    real = u.dtype.type
    _, _, _, i, j, k, f, g, h = _place(axis, x, y, z, u.shape, real)
    one, two = u[i, j], u[i, j + 1]
    low, high = one[k] + h * (one[k + 1] - one[k]), two[k] + h * (two[k + 1] - two[k])
    here = low + g * (high - low)
    if flat:
        return here
    one, two = u[i + 1, j], u[i + 1, j + 1]
    low, high = one[k] + h * (one[k + 1] - one[k]), two[k] + h * (two[k + 1] - two[k])
    return here + f * (low + g * (high - low) - here)


@inline
def sample(u, axis, flat, x, y, z):
    """Return a velocity component at a place, and its slopes along the axes; none along which it goes on constantly."""
    real = u.dtype.type
    px, py, pz, i, j, k, f, g, h = _place(axis, x, y, z, u.shape, real)
    zero = real(0.0)
    one, two = u[i, j], u[i, j + 1]
    d1, d2 = one[k + 1] - one[k], two[k + 1] - two[k]
    low, high = one[k] + h * d1, two[k] + h * d2
    value, s0 = low + g * (high - low), zero
    s1, s2 = high - low, d1 + g * (d2 - d1)
    if not flat:
        one, two = u[i + 1, j], u[i + 1, j + 1]
        d1, d2 = one[k + 1] - one[k], two[k + 1] - two[k]
        low, high = one[k] + h * d1, two[k] + h * d2
        s0 = low + g * (high - low) - value
        value += f * s0
        s1 += f * (high - low - s1)
        s2 += f * (d1 + g * (d2 - d1) - s2)
        if px <= zero or px >= u.shape[0] - 1:
            s0 = zero
    if py <= zero or py >= u.shape[1] - 1:
        s1 = zero
    if pz <= zero or pz >= u.shape[2] - 1:
        s2 = zero
    return value, s0, s1, s2


@inline
def _component(row, axis, flat, u, old, flip):
    """Give a particle one velocity component, and return that of the grid.

    It is that of the grid, and the part `flip` of the particle's own with what the grid gained.
    """
    value, s0, s1, s2 = sample(u, axis, flat, row[0], row[1], row[2])
    own = value
    if flip > 0:
        own += flip * (row[3 + axis] - _value(old, axis, flat, row[0], row[1], row[2]))
    row[3 + axis] = own
    row[6 + 3 * axis] = s0
    row[7 + 3 * axis] = s1
    row[8 + 3 * axis] = s2
    return value


@inline
def _clear(corners, x, y, z):
    """Return the distance to obstacles at a corner of the cell [m]."""
    n0, n1, n2 = corners.shape
    return corners[min(int(x), n0 - 1), min(int(y), n1 - 1), min(int(z), n2 - 1)]


@inline
def move_one(row, flying, flat, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2):
    """Give one particle the velocity of the grid and carry it along; see `move`."""
    half = row.dtype.type(0.5)
    if flying:
        row[3] += fall0
        row[4] += fall1
        row[5] += fall2
        row[0] += 0 if flat else s * (row[3] - half * fall0)
        row[1] += s * (row[4] - half * fall1)
        row[2] += s * (row[5] - half * fall2)
        return
    x, y, z = row[0], row[1], row[2]
    if not flat:
        x += half * s * _component(row, 0, flat, u0, b0, flip)
    y += half * s * _component(row, 1, flat, u1, b1, flip)
    z += half * s * _component(row, 2, flat, u2, b2, flip)
    if not flat:
        row[0] += s * _value(u0, 0, flat, x, y, z)
    row[1] += s * _value(u1, 1, flat, x, y, z)
    row[2] += s * _value(u2, 2, flat, x, y, z)


@inline
def stop(row, x, y, z, corners, spacing):
    """End the path of a particle from (x, y, z) where it enters an obstacle, so that it cannot pass through."""
    dx, dy, dz = row[0] - x, row[1] - y, row[2] - z
    far = max(abs(dx), max(abs(dy), abs(dz)))
    if _clear(corners, x, y, z) > (1.8 * far + 2.5) * spacing:
        return
    parts = min(int(2.0 * far) + 1, 100)
    for part in range(1, parts + 1):
        t = part / parts
        if value_at(corners, x + t * dx, y + t * dy, z + t * dz) < -0.2 * spacing:
            row[0], row[1], row[2] = x + t * dx, y + t * dy, z + t * dz
            break


@kernel_pair
def move(rows, aside, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2, corners, spacing):
    """Give particles the velocity of the grid and carry them along it; those that fly fall freely.

    Args:
        rows: Particles.
        aside: Where particles are; those that fly take no part.
        u0: Velocity on the faces across the first axis; `u1` and `u2` of the others.
        b0: The same before forces and pressure; likewise `b1` and `b2`.
        flip: Part of the particle's own velocity that is kept (FLIP); with 0 only that of the grid counts (APIC).
        s: Time step over the spacing [s/m].
        fall0: What free fall adds to the velocity in the step along the first axis [m/s]; likewise the others.
        corners: Distances to obstacles at the corners of cells [m], or empty; paths end where they enter one.
        spacing: Of the grid [m].
    """
    count = len(rows)
    flat = u1.shape[0] == 1
    solid = corners.size > 0
    for group in prange((count + GROUP - 1) // GROUP):
        for p in range(group * GROUP, min(count, (group + 1) * GROUP)):
            row = rows[p]
            x, y, z = row[0], row[1], row[2]
            flying = aside[p] == FLYING
            move_one(row, flying, flat, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2)
            if solid:
                stop(row, x, y, z, corners, spacing)


@kernel_pair
def drift(rows, aside, u0, u1, u2):
    """Move particles that do not fly by a displacement on the faces, in cells; their velocity stays."""
    count = len(rows)
    flat = u1.shape[0] == 1
    for group in prange((count + GROUP - 1) // GROUP):
        for p in range(group * GROUP, min(count, (group + 1) * GROUP)):
            if aside[p] == FLYING:
                continue
            row = rows[p]
            x, y, z = row[0], row[1], row[2]
            if not flat:
                row[0] += _value(u0, 0, flat, x, y, z)
            row[1] += _value(u1, 1, flat, x, y, z)
            row[2] += _value(u2, 2, flat, x, y, z)


@kernel_pair
def push_out(rows, corners, spacing, margin, low, high, n0, n1, n2, aside, cells):
    """Keep particles inside of the box and outside of obstacles, and find the cells they are in.

    Args:
        rows: Particles.
        corners: Distances to obstacles at the corners of cells [m], or empty.
        spacing: Of the grid [m].
        margin: Distance that particles keep from walls, in cells.
        low: For each axis whether particles may leave at its lower end; `high` likewise.
        high: At the upper end.
        n0: Cells along the first axis; `n1` and `n2` along the others.
        n1: Along the second.
        n2: Along the third.
        aside: Where particles are; those that fly lose what they would go on into obstacles.
        cells: Receives the numbers of their cells; n0 n1 n2 for those that left.
    """
    count = len(rows)
    sizes = (n0, n1, n2)
    flat = n0 == 1
    solid = corners.size > 0
    for group in prange((count + GROUP - 1) // GROUP):
        for p in range(group * GROUP, min(count, (group + 1) * GROUP)):
            if solid and _clear(corners, rows[p, 0], rows[p, 1], rows[p, 2]) < 3.0 * spacing:
                for _ in range(2):
                    x, y, z = rows[p, 0], rows[p, 1], rows[p, 2]
                    d = value_at(corners, x, y, z) / spacing
                    if d >= margin:
                        break
                    e = 0.25
                    g0 = 0.0 if flat else value_at(corners, x + e, y, z) - value_at(corners, x - e, y, z)
                    g1 = value_at(corners, x, y + e, z) - value_at(corners, x, y - e, z)
                    g2 = value_at(corners, x, y, z + e) - value_at(corners, x, y, z - e)
                    size = (g0 * g0 + g1 * g1 + g2 * g2) ** 0.5
                    if not 0.0 < size < 1e20:
                        break
                    g0, g1, g2 = g0 / size, g1 / size, g2 / size
                    lift = min(margin - d, 1.0)
                    rows[p, 0] += lift * g0
                    rows[p, 1] += lift * g1
                    rows[p, 2] += lift * g2
                    inward = min(rows[p, 3] * g0 + rows[p, 4] * g1 + rows[p, 5] * g2, 0.0)
                    if aside[p] == FLYING:
                        rows[p, 3] -= inward * g0
                        rows[p, 4] -= inward * g1
                        rows[p, 5] -= inward * g2
            left = False
            for a in range(1 if flat else 0, 3):
                x = rows[p, a]
                if not x >= margin:
                    if low[a]:
                        left = left or x < 0.0
                    else:
                        rows[p, a] = margin
                        rows[p, 3 + a] = max(rows[p, 3 + a], 0.0)
                elif x > sizes[a] - margin:
                    if high[a]:
                        left = left or x > sizes[a]
                    else:
                        rows[p, a] = sizes[a] - margin
                        rows[p, 3 + a] = min(rows[p, 3 + a], 0.0)
            i = min(max(int(rows[p, 0]), 0), n0 - 1)
            j = min(max(int(rows[p, 1]), 0), n1 - 1)
            k = min(max(int(rows[p, 2]), 0), n2 - 1)
            cells[p] = n0 * n1 * n2 if left else (i * n1 + j) * n2 + k


@kernel_pair
def fly(rows, starts, phi, out, far, aside):
    """Tell which particles, sorted by cells, are farther than `out`, and than `far`, above the surface, in cells."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        for k in range(n2):
            first, last = starts[r * n2 + k], starts[r * n2 + k + 1]
            if phi[r // n1, r % n1, k] <= out - 2.0:
                for p in range(first, last):
                    aside[p] = INSIDE
                continue
            for p in range(first, last):
                above = _value(phi, MIDDLES, n0 == 1, rows[p, 0], rows[p, 1], rows[p, 2])
                aside[p] = FLYING if above > far else (OUTSIDE if above > out else INSIDE)
