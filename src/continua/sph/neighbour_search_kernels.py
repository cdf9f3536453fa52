"""Compiled functions of the neighbour search: Morton codes of cells, sorting, and neighbour lists."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f32x4 import lowest_bit, squares_below16

GROUP = 512  # particles per task; results do not depend on it
FAR = np.float32(1e15)  # a coordinate far from everything; its square is finite


@inline
def cell_of(x, inverse):
    """Return the index of the cell that contains the coordinate x along one axis."""
    return np.int64(np.floor(x * inverse))


@kernel_pair
def morton_codes(xyzw, inverse, table_x, table_y, table_z, codes):
    """Compute the Morton code of every particle's cell; cells far apart may share a code.

    Args:
        xyzw: Positions and a fourth value, shape [4 n], float32.
        inverse: One over the width of a cell [1/m].
        table_x: Contribution of the cell's index along x to the code.
        table_y: Along y.
        table_z: Along z.
        codes: Receives the codes, shape [n].
    """
    mask_x, mask_y, mask_z = table_x.shape[0] - 1, table_y.shape[0] - 1, table_z.shape[0] - 1
    n = codes.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x = table_x[cell_of(xyzw[4 * i], inverse) & mask_x]
            y = table_y[cell_of(xyzw[4 * i + 1], inverse) & mask_y]
            z = table_z[cell_of(xyzw[4 * i + 2], inverse) & mask_z]
            codes[i] = x | y | z


@kernel
def extents(xyzw, low, high):
    """Find the smallest and largest coordinates of points [4 n]; both results have shape [4]."""
    low[:] = xyzw[:4]
    high[:] = xyzw[:4]
    for i in range(np.uint64(xyzw.shape[0] // 4)):
        for c in range(np.uint64(4)):
            low[c] = min(low[c], xyzw[np.uint64(4) * i + c])
            high[c] = max(high[c], xyzw[np.uint64(4) * i + c])


@kernel
def occupied_cells(codes, order, first, group_cell):
    """List the first sorted particle of each occupied cell, and the first cell of each group.

    Args:
        codes: Morton codes of the particles before the sort, shape [n].
        order: The sorted indices of the particles, shape [n].
        first: Receives the first particle of each occupied cell, then n, shape [n + 1].
        group_cell: Receives the first cell that begins in a group or later, shape [groups + 1].

    Returns:
        The number of occupied cells.
    """
    n, count, group, last = order.shape[0], 0, 0, -1
    for i in range(n):
        code = codes[order[i]]
        if code != last:
            while group * GROUP <= i:
                group_cell[group] = count
                group += 1
            first[count] = i
            count += 1
            last = code
    first[count] = n
    for rest in range(group, group_cell.shape[0]):
        group_cell[rest] = count
    return count


@kernel_pair
def gather_rows(source, order, target):
    """Set row i of `target` to row `order[i]` of `source`, both of shape [4 n]."""
    n = order.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            j = np.uint64(order[i])
            for c in range(np.uint64(4)):
                target[np.uint64(4) * i + c] = source[np.uint64(4) * j + c]


@inline
def surrounding_runs(x, y, z, inverse, table_x, table_y, table_z, starts, begins, ends):
    """Find the particles in the 27 cells around a point: run r holds indices begins[r] to ends[r] - 1.

    Returns the number of non-empty runs, and of particles in them.
    """
    mask_x, mask_y, mask_z = table_x.shape[0] - 1, table_y.shape[0] - 1, table_z.shape[0] - 1
    ix, iy, iz = cell_of(x, inverse), cell_of(y, inverse), cell_of(z, inverse)
    runs, total = 0, 0
    for dz in range(-1, 2):
        kz = table_z[(iz + dz) & mask_z]
        for dy in range(-1, 2):
            ky = table_y[(iy + dy) & mask_y] | kz
            for dx in range(-1, 2):
                code = table_x[(ix + dx) & mask_x] | ky
                a, b = starts[code], starts[code + 1]
                if b > a:
                    if runs > 0 and ends[runs - 1] == a:
                        ends[runs - 1] = b  # cells that follow each other on the curve
                    else:
                        begins[runs], ends[runs] = a, b
                        runs += 1
                    total += b - a
    return runs, total


@inline
def _copy_runs(xyzw, runs, begins, ends, width, near, ids):
    """Copy the particles of runs contiguously: coordinates to `near` [4 width], indices to `ids`."""
    k = np.uint64(0)
    w = np.uint64(width)
    for r in range(runs):
        for j in range(np.uint64(begins[r]), np.uint64(ends[r])):
            near[k] = xyzw[4 * j]
            near[w + k] = xyzw[4 * j + 1]
            near[w + w + k] = xyzw[4 * j + 2]
            ids[k] = np.int32(j)
            k += np.uint64(1)
    for last in range(k, (k | np.uint64(63)) + np.uint64(1)):  # 64 are tested at a time: pad with far points
        near[last] = FAR


@inline
def _append_neighbours(xyzw, i, count, width, near, ids, limit, at, neighbours, squares):
    """Append the neighbours of particle i among `count` near ones from `at` on; return the end of the list."""
    w, m = np.uint64(width), np.uint64(count)
    x, y, z = xyzw[4 * i], xyzw[4 * i + 1], xyzw[4 * i + 2]
    me = np.int32(i)
    n = np.uint64(at)
    k = np.uint64(0)
    while k < m:
        found = squares_below16(near, k, w, x, y, z, limit)
        found |= squares_below16(near, k + np.uint64(16), w, x, y, z, limit) << np.uint64(16)
        found |= squares_below16(near, k + np.uint64(32), w, x, y, z, limit) << np.uint64(32)
        found |= squares_below16(near, k + np.uint64(48), w, x, y, z, limit) << np.uint64(48)
        while found != np.uint64(0):
            slot = k + lowest_bit(found)
            found &= found - np.uint64(1)
            neighbours[n] = ids[slot]
            squares[n] = near[w + w + w + slot]
            n += np.uint64(ids[slot] != me)
        k += np.uint64(64)
    return np.int64(n)


@kernel_pair
def neighbour_lists(
    xyzw, inverse, table_x, table_y, table_z, starts, first, group_cell, capacity, limit,
    begin, end, neighbours, squares, overflow,
):  # fmt: skip
    """Write the neighbour list of every particle, and the squared distances.

    The particles of a cell share one copy of the surrounding particles. A group of particles writes to its own part of
    the lists, of `capacity` entries.

    Args:
        xyzw: Sorted positions and a fourth value, shape [4 n].
        inverse: One over the width of a cell [1/m].
        table_x: As in `morton_codes`.
        table_y: As in `morton_codes`.
        table_z: As in `morton_codes`.
        starts: First particle of each code.
        first: First particle of each occupied cell.
        group_cell: First cell of each group.
        capacity: Entries per group.
        limit: Square of the radius [m2].
        begin: Receives the start of each list, shape [n].
        end: Receives the end of each list, shape [n].
        neighbours: Receives the indices of neighbours.
        squares: Receives the squared distances [m2].
        overflow: Receives 1 for every group whose part is too small.
    """
    for group in prange(group_cell.shape[0] - 1):
        width = 512
        near, ids = np.empty(4 * width, np.float32), np.empty(width, np.int32)
        begins, ends = np.empty(27, np.int64), np.empty(27, np.int64)
        at, stop = np.int64(group) * capacity, np.int64(group + 1) * capacity
        overflow[group] = 0
        for cell in range(group_cell[group], group_cell[group + 1]):
            a, b = np.uint64(first[cell]), np.uint64(first[cell + 1])
            runs, total = surrounding_runs(
                xyzw[4 * a], xyzw[4 * a + 1], xyzw[4 * a + 2],
                inverse, table_x, table_y, table_z, starts, begins, ends,
            )  # fmt: skip
            if total + 64 > width:
                width = 2 * total + 64
                near, ids = np.empty(4 * width, np.float32), np.empty(width, np.int32)
            _copy_runs(xyzw, runs, begins, ends, width, near, ids)
            for i in range(a, b):
                if at + total > stop:
                    overflow[group] = 1
                    at = np.int64(group) * capacity
                begin[i] = at
                at = _append_neighbours(xyzw, i, total, width, near, ids, limit, at, neighbours, squares)
                end[i] = at
