"""The kernels of `level_set_kernels` for sixteen cells at once, in single precision, on lists of cells."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.grid_fluids.advection.advection_simd import interpolate, trace, value_at
from continua.numerics import inline, kernel, kernel_pair
from continua.numerics.simd.f32x16 import (
    WIDE,
    gather16,
    if_same16,
    load16,
    max16,
    min16,
    scatter16,
    splat16,
    sqrt16,
    store16,
    where_less16,
)

__all__ = [
    "WIDE",
    "add_layer",
    "advect_cells",
    "apply_magnitudes",
    "correct_cells",
    "init_magnitudes",
    "list_band",
    "list_layers",
    "reinitialise",
]  # fmt: skip

_GROUP = 64  # blocks of cells per task


@kernel
def list_band(q, band, cells):
    """List the cells nearer to zero than `band`; the last is repeated to fill a block of sixteen. Return the number.

    `cells` receives their indices along the axes, shape [3, n], with n at least one block more than the cells.
    """
    n0, n1, n2 = q.shape
    count = 0
    for i in range(n0):
        for j in range(n1):
            row = q[i, j]
            for k in range(n2):
                cells[0, count], cells[1, count], cells[2, count] = i, j, k
                count += abs(row[k]) < band
    return _fill_block(cells, count)


@inline
def _fill_block(cells, count):
    """Repeat the last cell until a block of sixteen is full; return the number."""
    while count % WIDE > 0:
        for a in range(3):
            cells[a, count] = cells[a, count - 1]
        count += 1
    return count


@kernel_pair
def advect_cells(q, u0, u1, u2, s, cells, count, out, low, high):
    """Advect the values of listed cells; `low` and `high` receive the ranges of the samples used, in list order."""
    _, n1, n2 = q.shape
    stride = cells.shape[1]
    blocks = count // WIDE
    for group in prange((blocks + _GROUP - 1) // _GROUP):
        for block in range(int(group) * _GROUP, min(blocks, (int(group) + 1) * _GROUP)):
            first = block * WIDE
            i, j, k = load16(cells, first), load16(cells, stride + first), load16(cells, 2 * stride + first)
            x, y, z = trace(u0, u1, u2, 0.5, 0.5, 0.5, i, j, k, s, 2)
            value, lowest, highest = interpolate(q, x, y, z, i, j, k)
            scatter16(out, (i * n1 + j) * n2 + k, 0, value)
            store16(low, first, lowest)
            store16(high, first, highest)


@kernel_pair
def correct_cells(q, advected, u0, u1, u2, s, cells, count, low, high, out):
    """MacCormack correction of `advected` in listed cells; it is rejected where the value would leave its range."""
    _, n1, n2 = q.shape
    stride = cells.shape[1]
    blocks = count // WIDE
    for group in prange((blocks + _GROUP - 1) // _GROUP):
        for block in range(int(group) * _GROUP, min(blocks, (int(group) + 1) * _GROUP)):
            first = block * WIDE
            i, j, k = load16(cells, first), load16(cells, stride + first), load16(cells, 2 * stride + first)
            x, y, z = trace(u0, u1, u2, 0.5, 0.5, 0.5, i, j, k, -s, 2)
            at = (i * n1 + j) * n2 + k
            here = gather16(advected, at, 0)
            value = here + 0.5 * (gather16(q, at, 0) - value_at(advected, x, y, z, i, j, k))
            inside = min16(max16(value, load16(low, first)), load16(high, first))
            scatter16(out, at, 0, here + if_same16(value - here, inside, value))


@kernel_pair
def add_layer(state, before, number):
    """Put cells with state 255 and a neighbour with another state in `before`, a copy, into layer `number`."""
    n0, n1, n2 = state.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        row, out = before[i, j], state[i, j]
        a, b = before[max(i - 1, 0), j], before[min(i + 1, n0 - 1), j]
        c, d = before[i, max(j - 1, 0)], before[i, min(j + 1, n1 - 1)]
        for k in range(1, n2 - 1):
            near = (a[k] != 255) | (b[k] != 255) | (c[k] != 255) | (d[k] != 255)
            near |= (row[k - 1] != 255) | (row[k + 1] != 255)
            out[k] = number if near & (row[k] == 255) else row[k]
        for k in (0, n2 - 1):
            near = (a[k] != 255) | (b[k] != 255) | (c[k] != 255) | (d[k] != 255)
            near |= (row[1] if k == 0 else row[n2 - 2]) != 255
            out[k] = number if near & (row[k] == 255) else row[k]


@kernel
def list_layers(state, cells):
    """List the cells with a state from 1 to 254; the last is repeated to fill a block. Return the number."""
    n0, n1, n2 = state.shape
    count = 0
    for i in range(n0):
        for j in range(n1):
            row = state[i, j]
            for k in range(n2):
                cells[0, count], cells[1, count], cells[2, count] = i, j, k
                count += (row[k] > 0) & (row[k] < 255)
    return _fill_block(cells, count)


@kernel_pair
def init_magnitudes(phi, state, far, one, two):
    """Set `one` and `two` to the unsigned distances of cells with state 0, and to `far` elsewhere."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        row, known, a, b = phi[i, j], state[i, j], one[i, j], two[i, j]
        for k in range(n2):
            a[k] = abs(row[k]) if known[k] == 0 else far
            b[k] = a[k]


@kernel_pair
def apply_magnitudes(phi, magnitude):
    """Set the magnitude of the level set to `magnitude`; the sign stays."""
    n0, n1, n2 = phi.shape
    for r in prange(n0 * n1):
        row, values = phi[r // n1, r % n1], magnitude[r // n1, r % n1]
        for k in range(n2):
            row[k] = -values[k] if row[k] < 0 else values[k]


@inline
def _eikonal(a, b, c):
    """Solve the upwind eikonal equation from the nearest neighbours' values along the axes (Zhao 2005)."""
    low, high = min16(a, min16(b, c)), max16(a, max16(b, c))
    mid = max16(min16(a, b), min16(max16(a, b), c))
    gap = mid - low
    two = 0.5 * (low + mid + sqrt16(max16(2.0 - gap * gap, 0.0)))
    total = low + mid + high
    square = low * low + mid * mid + high * high
    three = (total + sqrt16(max16(total * total - 3.0 * (square - 1.0), 0.0))) * np.float32(1.0 / 3.0)
    best = where_less16(high, two, three, two)
    return where_less16(mid, low + 1.0, best, low + 1.0)


@kernel_pair
def reinitialise(old, cells, count, new):
    """One Jacobi update of the distances `old` of listed cells from their neighbours, into `new`."""
    n0, n1, n2 = old.shape
    stride = cells.shape[1]
    blocks = count // WIDE
    for group in prange((blocks + _GROUP - 1) // _GROUP):
        for block in range(int(group) * _GROUP, min(blocks, (int(group) + 1) * _GROUP)):
            first = block * WIDE
            i, j, k = load16(cells, first), load16(cells, stride + first), load16(cells, 2 * stride + first)
            row = (i * n1 + j) * n2
            at = row + k
            c = min16(gather16(old, row + max16(k - 1, 0), 0), gather16(old, row + min16(k + 1, n2 - 1), 0))
            low, high = (i * n1 + max16(j - 1, 0)) * n2 + k, (i * n1 + min16(j + 1, n1 - 1)) * n2 + k
            b = min16(gather16(old, low, 0), gather16(old, high, 0))
            a = splat16(1e3)
            if n0 > 1:
                low, high = (max16(i - 1, 0) * n1 + j) * n2 + k, (min16(i + 1, n0 - 1) * n1 + j) * n2 + k
                a = min16(gather16(old, low, 0), gather16(old, high, 0))
            scatter16(new, at, 0, min16(_eikonal(a, b, c), gather16(old, at, 0)))
