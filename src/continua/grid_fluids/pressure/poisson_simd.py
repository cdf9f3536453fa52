"""The smoother of `poisson_kernels` for sixteen cells of a row at once, several sweeps in one pass over memory.

Half sweep t of a plane reads only what half sweep t - 1 left in this plane and the two beside it. So one pass does all
half sweeps as a wavefront: when plane s gets the first, plane s - 1 gets the second, and so on, while they are in the
cache. Prolongation before and restriction of the residual after the sweeps are steps of the same wavefront. Tiles of
rows, skewed by one row per step, keep the wavefront small enough for the cache. Slabs of planes are computed by
different threads; at their borders each step leaves out one more plane, and the missing planes are done afterwards.
Every cell is computed from the same values in the same order as by separate half sweeps, so the result is bitwise
identical for any slabs and tiles.

Arrays are of single precision and C-contiguous; rows have at least sixteen cells. `x` must have readable memory before
its first and after its last value; what is read there, and beyond the ends of rows, is multiplied by a weight of zero.
A plane grid is passed with its rows as planes of one row each.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x16 import WIDE, every_second16, load16, splat16, store16

__all__ = ["MAX_HALF_SWEEPS", "MIN_SLAB_PLANES", "WIDE", "apply", "smooth"]

RELAX, FROM_ZERO, CORRECT = 0, 1, 2  # start modes of a pass
MIN_SLAB_PLANES = 32  # the borders of slabs must not overlap
MAX_HALF_SWEEPS = 8  # of one pass
_TILE_VALUES = 2**15  # of one array that all steps of a wavefront touch


@inline
def _add_neighbours(x, w0, w1, w2, i, j, first, acc):
    """Return `acc` plus the weighted neighbours of the cells from `first` on in row (i, j)."""
    n0, n1, n2 = x.shape
    row = i * n1 + j
    at = row * n2 + first
    plane = n1 * n2
    acc = acc + load16(w0, at) * load16(x, at - (plane if i > 0 else 0))
    acc = acc + load16(w0, at + plane) * load16(x, at + (plane if i + 1 < n0 else 0))
    if n1 > 1:
        beside = (i * (n1 + 1) + j) * n2 + first
        acc = acc + load16(w1, beside) * load16(x, at - (n2 if j > 0 else 0))
        acc = acc + load16(w1, beside + n2) * load16(x, at + (n2 if j + 1 < n1 else 0))
    along = row * (n2 + 1) + first
    acc = acc + load16(w2, along) * load16(x, at - 1)
    return acc + load16(w2, along + 1) * load16(x, at + 1)


@inline
def _first_half_sweep(x, b, inverse, i, j, colour):
    """The first half sweep from x = 0 in row (i, j): cells of one colour get b / d, the others 0."""
    n1, n2 = x.shape[1], x.shape[2]
    for block in range((n2 + WIDE - 1) // WIDE):
        first = min(block * WIDE, n2 - WIDE)
        at = (i * n1 + j) * n2 + first
        fresh = load16(b, at) * load16(inverse, at)
        store16(x, at, every_second16((colour + i + j + first) & 1, fresh, splat16(0.0)))


@inline
def _prolong(x, coarse, i, j):
    """Add the values of the parent cells to row (i, j)."""
    n1, n2 = x.shape[1], x.shape[2]
    row, above = x[i, j], coarse[i // 2, j if n1 == 1 else j // 2]
    for k in range(n2 // 2):
        row[2 * k] += above[k]
        row[2 * k + 1] += above[k]
    if n2 % 2 == 1:
        row[n2 - 1] += above[n2 // 2]


@inline
def _relax(x, b, w0, w1, w2, inverse, i, j, colour):
    """Relax the cells of one colour in row (i, j)."""
    n1, n2 = x.shape[1], x.shape[2]
    base = (i * n1 + j) * n2
    last, old = base, load16(x, base)
    for block in range((n2 + WIDE - 1) // WIDE):
        first = min(block * WIDE, n2 - WIDE)
        at = base + first
        acc = _add_neighbours(x, w0, w1, w2, i, j, first, load16(b, at))
        here = load16(x, at)
        store16(x, last, old)  # delayed: a load that overlaps a recent store would have to wait for it
        old = every_second16((colour + i + j + first) & 1, acc * load16(inverse, at), here)
        last = at
    store16(x, last, old)


@inline
def _restrict(x, b, w0, w1, w2, d, coarse, rows, ci, cj):
    """Sum the residual b - A x over the children of each coarse cell of row (ci, cj).

    `rows` [4, at least n2] is zero beyond the ends of rows. Children are done row by row, as memory is read ahead then.
    """
    n0, n1, n2 = x.shape
    m2 = coarse.shape[2]
    step = 1 if n1 == 1 else 2
    for child in range(4):
        i, j = 2 * ci + child // step, step * cj + child % step
        if child >= 2 * step or i >= n0 or j >= n1:
            rows[child] = 0.0
            continue
        for block in range((n2 + WIDE - 1) // WIDE):
            first = min(block * WIDE, n2 - WIDE)
            at = (i * n1 + j) * n2 + first
            residual = load16(b, at) - load16(d, at) * load16(x, at)
            store16(
                rows, child * rows.shape[1] + first, _add_neighbours(x, w0, w1, w2, i, j, first, residual)
            )
    one, two, three, four, target = rows[0], rows[1], rows[2], rows[3], coarse[ci, cj]
    for k in range(n2):
        one[k] += two[k] + three[k] + four[k]
    for k in range(m2):
        target[k] = one[2 * k] + one[2 * k + 1]


@inline
def _step(x, b, w0, w1, w2, inverse, coarse, start_mode, t, colour, i, start, stop):
    """Do step t in plane i, in the rows [start, stop)."""
    for j in range(max(start, 0), min(stop, x.shape[1])):
        if t == 0 and start_mode == FROM_ZERO:
            _first_half_sweep(x, b, inverse, i, j, colour)
        elif t == 0 and start_mode == CORRECT:
            _prolong(x, coarse, i, j)
        else:
            sweep = t - 1 if start_mode == CORRECT else t
            _relax(x, b, w0, w1, w2, inverse, i, j, (colour + sweep) & 1)


@inline
def _restrict_plane(x, b, w0, w1, w2, d, coarse, ci, start, stop):
    """Restrict the residual to the coarse plane ci, for the parents of the rows in [start, stop)."""
    n1 = x.shape[1]
    step = 1 if n1 == 1 else 2
    rows = np.zeros((4, 2 * coarse.shape[2]), np.float32)
    for cj in range(max(start, 0) // step, (min(stop, n1) + step - 1) // step):
        _restrict(x, b, w0, w1, w2, d, coarse, rows, ci, cj)


@inline
def _wavefront(x, b, w0, w1, w2, inverse, above, start_mode, d, below, low, high, colour, count):
    """Do all steps of a slab; inside the grid each leaves out one more plane at its ends."""
    n0, n1, n2 = x.shape
    skew = count + count % 2  # an even skew for coarse rows
    tile_rows = max(8, (_TILE_VALUES // ((count + 2) * n2) - count) // 2 * 2) if n1 > 1 else skew + 2
    first_safe = low + count - 1 if low > 0 else -1
    last_safe = high - count if high < n0 else n0
    for part in range((n1 + skew + tile_rows - 1) // tile_rows):
        for s in range(low, high + count):
            for t in range(count):
                p = s - t
                if (low + t if low > 0 else 0) <= p < (high - t if high < n0 else n0):
                    start, stop = part * tile_rows - t, (part + 1) * tile_rows - t
                    _step(x, b, w0, w1, w2, inverse, above, start_mode, t, colour, p, start, stop)
            p = s - count
            if below.size > 0 and (p % 2 == 1 or p == n0 - 1) and low <= p:
                ci = p // 2
                if 2 * ci - 1 >= first_safe and (2 * ci + 2 <= last_safe or high == n0):
                    start, stop = part * tile_rows - skew, (part + 1) * tile_rows - skew
                    _restrict_plane(x, b, w0, w1, w2, d, below, ci, start, stop)


@kernel_pair
def smooth(x, b, w0, w1, w2, inverse, colour, count, start_mode, above, d, below, slabs):
    """Do `count` half sweeps of red-black Gauss-Seidel with alternating colours, first (i + j + k) % 2 == colour.

    Args:
        x: The unknowns.
        b: Right-hand side.
        w0: Weights of faces across the first axis; `w1` and `w2` of the others.
        inverse: One over the diagonal.
        colour: The first colour.
        count: Number of half sweeps, at most `MAX_HALF_SWEEPS`.
        start_mode: `RELAX` continues from x, `FROM_ZERO` assumes x = 0 before, `CORRECT` adds `above` first.
        above: Correction of the coarser grid, or empty.
        d: The diagonal.
        below: Receives the restricted residual for the coarser grid, unless empty.
        slabs: Number of slabs computed in parallel, each of at least `MIN_SLAB_PLANES` planes.
    """
    n0, n1 = x.shape[0], x.shape[1]
    steps = count + (1 if start_mode == CORRECT else 0)
    for c in prange(slabs):
        _wavefront(
            x, b, w0, w1, w2, inverse, above, start_mode, d, below, c * n0 // slabs, (c + 1) * n0 // slabs, colour,
            steps
        )  # fmt: skip
    for c in prange(slabs - 1):
        border = (c + 1) * n0 // slabs
        for t in range(1, steps):
            for i in range(border - t, border + t):
                _step(x, b, w0, w1, w2, inverse, above, start_mode, t, colour, i, 0, n1)
        if below.size > 0:
            for ci in range((border - steps) // 2 - 1, (border + steps) // 2 + 2):
                if 2 * ci + 2 > border - steps and 2 * ci - 1 < border + steps - 1:
                    _restrict_plane(x, b, w0, w1, w2, d, below, ci, 0, n1)


@inline
def _flux_sum(x, w0, w1, w2, i, j, first, here, acc):
    """Return `acc` plus the weighted differences of the cells `here` to their neighbours.

    Differences of nearly equal values are exact: the error is relative to the fluxes, not to the values.
    """
    n0, n1, n2 = x.shape
    row = i * n1 + j
    at = row * n2 + first
    plane = n1 * n2
    acc = acc + load16(w0, at) * (here - load16(x, at - (plane if i > 0 else 0)))
    acc = acc + load16(w0, at + plane) * (here - load16(x, at + (plane if i + 1 < n0 else 0)))
    if n1 > 1:
        beside = (i * (n1 + 1) + j) * n2 + first
        acc = acc + load16(w1, beside) * (here - load16(x, at - (n2 if j > 0 else 0)))
        acc = acc + load16(w1, beside + n2) * (here - load16(x, at + (n2 if j + 1 < n1 else 0)))
    along = row * (n2 + 1) + first
    acc = acc + load16(w2, along) * (here - load16(x, at - 1))
    return acc + load16(w2, along + 1) * (here - load16(x, at + 1))


@kernel_pair
def apply(x, w0, w1, w2, dirichlet, y, parts, chunk):
    """Set y = A x; `parts` receives x . y of each `chunk` of rows, in double precision."""
    n0, n1, n2 = x.shape
    rows = n0 * n1
    for c in prange((rows + chunk - 1) // chunk):
        total = 0.0
        for r in range(c * chunk, min(rows, (c + 1) * chunk)):
            i, j = r // n1, r % n1
            for block in range((n2 + WIDE - 1) // WIDE):
                first = min(block * WIDE, n2 - WIDE)
                at = r * n2 + first
                here = load16(x, at)
                store16(y, at, _flux_sum(x, w0, w1, w2, i, j, first, here, load16(dirichlet, at) * here))
            one, two = x[i, j], y[i, j]
            for k in range(n2):
                total += np.float64(one[k]) * np.float64(two[k])
        parts[c] = total
