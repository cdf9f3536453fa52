"""Compiled motion of the particles of a liquid: along the flow, out of walls, or ballistic in the air.

The rows of particles are described in `particle_kernels`.
"""

from __future__ import annotations

from numba import prange

from continua.grid_fluids.advection.advection_kernels import value_at
from continua.numerics import inline, kernel_pair

__all__ = [
    "BALLISTIC",
    "CELL_CENTRED",
    "GROUP",
    "classify_phases",
    "displace",
    "move",
    "move_one",
    "resolve_penetration",
    "sample",
    "stop_at_solid",
]

GROUP = 1024  # particles per task
CELL_CENTRED = 3  # no axis: samples at cell centres
SUBMERGED, DETACHED, BALLISTIC = 0, 1, 2  # in the liquid, just above its surface, or in free flight


@inline
def _split(x, n, real):
    """Return the lower of two samples and the fraction to the upper, clamped to n samples."""
    x = min(max(x, real(0.0)), real(n - 1))
    i = min(int(x), max(n - 2, 0))
    return i, x - real(i)


@inline
def _stencil(axis, x, y, z, shape, real):
    """Return a position in samples of a velocity component, the lower samples, and the fractions to the next."""
    half = real(0.5)
    px = x if axis == 0 else x - half
    py = y if axis == 1 else y - half
    pz = z if axis == 2 else z - half
    i, f = _split(px, shape[0], real)
    j, g = _split(py, shape[1], real)
    k, h = _split(pz, shape[2], real)
    return px, py, pz, i, j, k, f, g, h


@inline
def _interpolate(u, axis, flat, x, y, z):
    """Interpolate a velocity component, or a quantity at cell centres, at a position."""
    real = u.dtype.type
    _, _, _, i, j, k, f, g, h = _stencil(axis, x, y, z, u.shape, real)
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
    """Return a velocity component at a position, and its gradient; 0 along axes where it is clamped."""
    real = u.dtype.type
    px, py, pz, i, j, k, f, g, h = _stencil(axis, x, y, z, u.shape, real)
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
def _update_component(row, axis, flat, u, old, flip):
    """Update one velocity component of a particle, and return that of the grid.

    With `flip` > 0 that fraction of the particle's deviation from the old grid velocity is kept (FLIP).
    """
    value, s0, s1, s2 = sample(u, axis, flat, row[0], row[1], row[2])
    own = value
    if flip > 0:
        own += flip * (row[3 + axis] - _interpolate(old, axis, flat, row[0], row[1], row[2]))
    row[3 + axis] = own
    row[6 + 3 * axis] = s0
    row[7 + 3 * axis] = s1
    row[8 + 3 * axis] = s2
    return value


@inline
def _corner_distance(corners, x, y, z):
    """Return the distance to obstacles at the first corner of the cell [m]."""
    n0, n1, n2 = corners.shape
    return corners[min(int(x), n0 - 1), min(int(y), n1 - 1), min(int(z), n2 - 1)]


@inline
def move_one(row, ballistic, flat, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2):
    """Update the velocity of one particle from the grid and advect it; see `move`."""
    half = row.dtype.type(0.5)
    if ballistic:
        row[3] += fall0
        row[4] += fall1
        row[5] += fall2
        row[0] += 0 if flat else s * (row[3] - half * fall0)
        row[1] += s * (row[4] - half * fall1)
        row[2] += s * (row[5] - half * fall2)
        return
    x, y, z = row[0], row[1], row[2]
    if not flat:
        x += half * s * _update_component(row, 0, flat, u0, b0, flip)
    y += half * s * _update_component(row, 1, flat, u1, b1, flip)
    z += half * s * _update_component(row, 2, flat, u2, b2, flip)
    if not flat:
        row[0] += s * _interpolate(u0, 0, flat, x, y, z)
    row[1] += s * _interpolate(u1, 1, flat, x, y, z)
    row[2] += s * _interpolate(u2, 2, flat, x, y, z)


@inline
def stop_at_solid(row, x, y, z, corners, spacing):
    """End the path of a particle from (x, y, z) where it enters an obstacle, so that it cannot tunnel through."""
    dx, dy, dz = row[0] - x, row[1] - y, row[2] - z
    far = max(abs(dx), max(abs(dy), abs(dz)))
    if _corner_distance(corners, x, y, z) > (1.8 * far + 2.5) * spacing:
        return
    parts = min(int(2.0 * far) + 1, 100)
    for part in range(1, parts + 1):
        t = part / parts
        if value_at(corners, x + t * dx, y + t * dy, z + t * dz) < -0.2 * spacing:
            row[0], row[1], row[2] = x + t * dx, y + t * dy, z + t * dz
            break


@kernel_pair
def move(rows, phase, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2, corners, spacing):
    """Update the velocities of particles from the grid and advect them (midpoint rule); ballistic ones fall freely.

    Args:
        rows: Particles.
        phase: Phase of the particles; ballistic ones do not interact with the grid.
        u0: Velocity on the faces across the first axis; `u1` and `u2` of the others.
        b0: The same before forces and pressure; likewise `b1` and `b2`.
        flip: Fraction of the particle's own velocity that is kept (FLIP); 0 is APIC.
        s: Time step over the spacing [s/m].
        fall0: Velocity gained by free fall in the step along the first axis [m/s]; likewise the others.
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
            ballistic = phase[p] == BALLISTIC
            move_one(row, ballistic, flat, u0, u1, u2, b0, b1, b2, flip, s, fall0, fall1, fall2)
            if solid:
                stop_at_solid(row, x, y, z, corners, spacing)


@kernel_pair
def displace(rows, phase, u0, u1, u2):
    """Move all but ballistic particles by a displacement on the faces, in cells; velocities stay unchanged."""
    count = len(rows)
    flat = u1.shape[0] == 1
    for group in prange((count + GROUP - 1) // GROUP):
        for p in range(group * GROUP, min(count, (group + 1) * GROUP)):
            if phase[p] == BALLISTIC:
                continue
            row = rows[p]
            x, y, z = row[0], row[1], row[2]
            if not flat:
                row[0] += _interpolate(u0, 0, flat, x, y, z)
            row[1] += _interpolate(u1, 1, flat, x, y, z)
            row[2] += _interpolate(u2, 2, flat, x, y, z)


@kernel_pair
def resolve_penetration(rows, corners, spacing, margin, low, high, n0, n1, n2, phase, cells):
    """Push particles into the box and out of obstacles, and find their cells.

    Args:
        rows: Particles.
        corners: Distances to obstacles at the corners of cells [m], or empty.
        spacing: Of the grid [m].
        margin: Least distance of particles from walls, in cells.
        low: For each axis whether particles may leave at its lower end.
        high: The same for the upper end.
        n0: Cells along the first axis; `n1` and `n2` along the others.
        n1: Along the second.
        n2: Along the third.
        phase: Phase of the particles; ballistic ones lose their velocity into obstacles.
        cells: Receives their flat cell indices; n0 n1 n2 for those that left.
    """
    count = len(rows)
    sizes = (n0, n1, n2)
    flat = n0 == 1
    solid = corners.size > 0
    for group in prange((count + GROUP - 1) // GROUP):
        for p in range(group * GROUP, min(count, (group + 1) * GROUP)):
            if solid and _corner_distance(corners, rows[p, 0], rows[p, 1], rows[p, 2]) < 3.0 * spacing:
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
                    push = min(margin - d, 1.0)
                    rows[p, 0] += push * g0
                    rows[p, 1] += push * g1
                    rows[p, 2] += push * g2
                    normal_velocity = min(rows[p, 3] * g0 + rows[p, 4] * g1 + rows[p, 5] * g2, 0.0)
                    if phase[p] == BALLISTIC:
                        rows[p, 3] -= normal_velocity * g0
                        rows[p, 4] -= normal_velocity * g1
                        rows[p, 5] -= normal_velocity * g2
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
def classify_phases(rows, starts, phi, out, far, phase):
    """Classify particles, sorted by cell: detached above `out`, ballistic above `far` cells above the surface."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        for k in range(n2):
            first, last = starts[r * n2 + k], starts[r * n2 + k + 1]
            if phi[r // n1, r % n1, k] <= out - 2.0:
                for p in range(first, last):
                    phase[p] = SUBMERGED
                continue
            for p in range(first, last):
                above = _interpolate(phi, CELL_CENTRED, n0 == 1, rows[p, 0], rows[p, 1], rows[p, 2])
                phase[p] = BALLISTIC if above > far else (DETACHED if above > out else SUBMERGED)
