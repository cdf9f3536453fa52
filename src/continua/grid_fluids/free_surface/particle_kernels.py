"""Compiled particle operations of a liquid: transfer to the grid, sorting by cell, reseeding.

A particle is a row of 15 numbers: its position in cells from the corner of the grid along the array axes (3), its
velocity [m/s] (3), and the gradients of the three velocity components along the three axes [m/s per cell] (9). The
position along the first axis of a plane grid is always 0.5.

Particles are scattered to the grid slab by slab, even slabs first, then odd ones: slabs of one colour never write to
the same sample, and each visits its particles in order. Results are bitwise identical for any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.grid_fluids.advection.advection_kernels import value_at
from continua.grid_fluids.free_surface.particle_motion_kernels import BALLISTIC, GROUP, sample
from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.trilinear_scatter import spread8

__all__ = [
    "ROW_LENGTH",
    "SLAB_LAYERS",
    "cells_of",
    "cull",
    "density",
    "gather_rows",
    "normalise_velocities",
    "particle_sums",
    "particles_to_grid",
    "seed_particles",
    "sort_order",
    "unit_random",
]

ROW_LENGTH = 15  # numbers per particle
SLAB_LAYERS = 4  # layers of cells along the slowest axis per task


@inline
def unit_random(seed, number):
    """Return a number in [0, 1) for `seed` and `number`, both uint64 (splitmix64, Steele and others 2014)."""
    z = seed + np.uint64(0x9E3779B97F4A7C15) * (number + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def cells_of(rows, n0, n1, n2, cells):
    """Write the flat cell index of each particle."""
    count = len(rows)
    for g in range((count + GROUP - 1) // GROUP):
        for p in range(g * GROUP, min(count, (g + 1) * GROUP)):
            i = min(max(int(rows[p, 0]), 0), n0 - 1)
            j = min(max(int(rows[p, 1]), 0), n1 - 1)
            k = min(max(int(rows[p, 2]), 0), n2 - 1)
            cells[p] = (i * n1 + j) * n2 + k


@kernel
def sort_order(cells, starts, order):
    """Counting sort of particles by cell, stable within a cell; `starts` has one entry more than there are cells."""
    starts[:] = 0
    total = len(starts) - 1
    for p in range(len(cells)):
        if cells[p] < total:
            starts[cells[p] + 1] += 1
    for c in range(total):
        starts[c + 1] += starts[c]
    place = starts[:total].copy()
    for p in range(len(cells)):
        c = cells[p]
        if c < total:
            order[place[c]] = p
            place[c] += 1


@kernel_pair
def gather_rows(rows, new, order, out):
    """Copy `rows`, followed by `new`, in `order`."""
    count, old = len(out), len(rows)
    for g in prange((count + GROUP - 1) // GROUP):
        for p in range(g * GROUP, min(count, (g + 1) * GROUP)):
            q = order[p]
            target, source = out[p], rows[q] if q < old else new[q - old]
            for a in range(ROW_LENGTH):
                target[a] = source[a]


@inline
def _stencil(x, n, real):
    """Return the lower of two samples, the fraction to the upper, and the offset of the lower from x."""
    inside = min(max(x, real(0.0)), real(n - 1))
    i = min(int(inside), n - 2)
    return i, inside - real(i), real(i) - x


@kernel_pair
def particles_to_grid(rows, phase, starts, layer, slabs, colour, n0, n1, n2, g0, g1, g2):
    """Add momentum and weight of the particles in every other slab to the faces.

    Args:
        rows: Particles, sorted by cells.
        phase: Phase of the particles; ballistic ones are skipped.
        starts: First particle of each cell.
        layer: Cells of one layer across the slowest axis.
        slabs: Number of slabs.
        colour: 0 for even slabs, 1 for odd ones.
        n0: Cells along the first axis; `n1` and `n2` along the others.
        n1: Along the second.
        n2: Along the third.
        g0: Momentum and weight, interleaved, of the faces across the first axis, flat; `g1` and `g2` of the others.
        g1: Across the second.
        g2: Across the third.
    """
    real = rows.dtype.type
    half, flat = real(0.5), n0 == 1
    up = 0 if flat else 1
    cells = len(starts) - 1
    for pair in prange((slabs - colour + 1) // 2):
        slab = 2 * pair + colour
        first = starts[min(slab * SLAB_LAYERS * layer, cells)]
        last = starts[min((slab + 1) * SLAB_LAYERS * layer, cells)]
        for p in range(first, last):
            if phase[p] == BALLISTIC:
                continue
            row = rows[p]
            j, g, y = _stencil(row[1], n1 + 1, real)
            k, h, z = _stencil(row[2], n2 + 1, real)
            jm, gm, ym = _stencil(row[1] - half, n1, real)
            km, hm, zm = _stencil(row[2] - half, n2, real)
            im, fm, xm = 0, real(0.0), real(0.0)
            if not flat:
                i, f, x = _stencil(row[0], n0 + 1, real)
                im, fm, xm = _stencil(row[0] - half, n0, real)
                at = (i * n1 + jm) * n2 + km
                v = row[3] + row[6] * x + row[7] * ym + row[8] * zm
                spread8(g0, at, n1 * n2, n2, f, gm, hm, v, row[6], row[7], row[8])
            at = (im * (n1 + 1) + j) * n2 + km
            v = row[4] + row[9] * xm + row[10] * y + row[11] * zm
            spread8(g1, at, up * (n1 + 1) * n2, n2, fm, g, hm, v, row[9], row[10], row[11])
            at = (im * n1 + jm) * (n2 + 1) + k
            v = row[5] + row[12] * xm + row[13] * ym + row[14] * z
            spread8(g2, at, up * n1 * (n2 + 1), n2 + 1, fm, gm, h, v, row[12], row[13], row[14])


@kernel_pair
def normalise_velocities(grid, u, old):
    """Divide momentum by weight on the faces, and copy to `old`; faces without particles keep their velocity."""
    n0, n1, n2 = u.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        for k in range(n2):
            if grid[i, j, k, 1] > 1e-6:
                u[i, j, k] = grid[i, j, k, 0] / grid[i, j, k, 1]
            old[i, j, k] = u[i, j, k]


@kernel_pair
def density(rows, starts, slabs, colour, phi, deep, out):
    """Add to `out` the number of particles around cell centres, with linear weights.

    Args:
        rows: Particles, sorted by cells.
        starts: First particle of each cell.
        slabs: Number of slabs.
        colour: 0 for even slabs, 1 for odd ones.
        phi: Level set at cell centres.
        deep: Particles of cells where it is below this are skipped.
        out: Has one more sample on every side of the grid, for weights that fall outside; not along the first axis of a
            plane grid.
    """
    real = out.dtype.type
    m0, m1, m2 = phi.shape
    n0, n1, n2 = out.shape
    flat = n0 == 1
    half, one = real(0.5), real(1.0)
    slow = m1 if flat else m0
    for pair in prange((slabs - colour + 1) // 2):
        slab = 2 * int(pair) + colour
        for layer in range(slab * SLAB_LAYERS, min((slab + 1) * SLAB_LAYERS, slow)):
            for line in range(1 if flat else m1):
                below = phi[0, layer] if flat else phi[layer, line]
                cell = (layer if flat else layer * m1 + line) * m2
                for c in range(m2):
                    if below[c] < deep:
                        continue
                    for p in range(starts[cell + c], starts[cell + c + 1]):
                        row = rows[p]
                        y, z = row[1] + half, row[2] + half  # the first sample is half a cell outside
                        j, k = min(max(int(y), 0), n1 - 2), min(max(int(z), 0), n2 - 2)
                        g, h = y - real(j), z - real(k)
                        i, f = 0, real(0.0)
                        if not flat:
                            x = row[0] + half
                            i = min(max(int(x), 0), n0 - 2)
                            f = x - real(i)
                        for a in range(1 if flat else 2):
                            wa = one - f if a == 0 else f
                            low, high = out[i + a, j], out[i + a, j + 1]
                            near, far = wa * (one - g), wa * g
                            low[k] += near * (one - h)
                            low[k + 1] += near * h
                            high[k] += far * (one - h)
                            high[k + 1] += far * h


@kernel
def cull(cells, counts, most, gone):
    """Count the particles of each cell, and mark those beyond the first `most` of a cell as gone."""
    counts[:] = 0
    for p in range(len(cells)):
        c = cells[p]
        if c < len(counts):
            if counts[c] >= most:
                gone[p] = True
            else:
                counts[c] += 1


@inline
def _open_subcells(corners, per_axis, i, j, k):
    """Return the number of subcells of a cell whose centres are outside obstacles."""
    flat = corners.shape[0] == 1
    count = 0
    for a in range(1 if flat else per_axis):
        for b in range(per_axis):
            for c in range(per_axis):
                x = 0.0 if flat else i + (a + 0.5) / per_axis
                count += value_at(corners, x, j + (b + 0.5) / per_axis, k + (c + 0.5) / per_axis) > 0.0
    return count


@kernel
def seed_particles(phi, counts, corners, per_axis, below, least, seed, u0, u1, u2, out):
    """Seed particles in cells that have too few; return their number. With an empty `out` they are only counted.

    Subcells inside obstacles get none.

    Args:
        phi: Level set at cell centres, in cells.
        counts: Particles in each cell, flat.
        corners: Distances to obstacles at the corners of cells, or empty.
        per_axis: Particles per axis of a cell.
        below: Particles are seeded where the level set is below this.
        least: Cells with fewer particles get new ones in all of their subcells; fewer in proportion in a cut cell.
        seed: Of the jitter (uint64).
        u0: Face velocities that particles are initialised with; `u1` and `u2` of the other axes.
        u1: Across the second axis.
        u2: Across the third axis.
        out: Receives the particles.
    """
    n0, n1, n2 = phi.shape
    flat = n0 == 1
    found = 0
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                cell = (i * n1 + j) * n2 + k
                if phi[i, j, k] > below + 1.0 or counts[cell] >= least:
                    continue
                if corners.size > 0:
                    free = _open_subcells(corners, per_axis, i, j, k)
                    if counts[cell] * (per_axis * per_axis * (1 if flat else per_axis)) >= least * free:
                        continue
                number = 0
                for a in range(1 if flat else per_axis):
                    for b in range(per_axis):
                        for c in range(per_axis):
                            key = np.uint64(cell * 64 + number) * np.uint64(3)
                            number += 1
                            r0 = 0.8 * unit_random(seed, key) + 0.1
                            r1 = 0.8 * unit_random(seed, key + np.uint64(1)) + 0.1
                            r2 = 0.8 * unit_random(seed, key + np.uint64(2)) + 0.1
                            x = 0.5 if flat else i + (a + r0) / per_axis
                            y, z = j + (b + r1) / per_axis, k + (c + r2) / per_axis
                            if not value_at(phi, x - 0.5, y - 0.5, z - 0.5) < below:
                                continue
                            if corners.size > 0 and value_at(corners, 0.0 if flat else x, y, z) <= 0.0:
                                continue
                            if found < len(out):
                                out[found, :] = 0
                                out[found, 0], out[found, 1], out[found, 2] = x, y, z
                                if not flat:
                                    v, s0, s1, s2 = sample(u0, 0, flat, x, y, z)
                                    out[found, 3], out[found, 6], out[found, 7], out[found, 8] = v, s0, s1, s2
                                v, s0, s1, s2 = sample(u1, 1, flat, x, y, z)
                                out[found, 4], out[found, 9], out[found, 10], out[found, 11] = v, s0, s1, s2
                                v, s0, s1, s2 = sample(u2, 2, flat, x, y, z)
                                out[found, 5], out[found, 12], out[found, 13], out[found, 14] = v, s0, s1, s2
                            found += 1
    return found


@kernel
def particle_sums(rows, parts):
    """Set `parts` [n, 4] to the sums of squared velocity and of positions over each task."""
    count = len(rows)
    for group in range(len(parts)):
        square = x = y = z = 0.0
        for p in range(group * GROUP, min(count, (group + 1) * GROUP)):
            row = rows[p]
            square += row[3] * row[3] + row[4] * row[4] + row[5] * row[5]
            x += row[0]
            y += row[1]
            z += row[2]
        parts[group, 0], parts[group, 1], parts[group, 2], parts[group, 3] = square, x, y, z
