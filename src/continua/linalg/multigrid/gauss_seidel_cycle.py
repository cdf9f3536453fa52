"""Compiled multigrid cycles with Gauss-Seidel sweeps.

All levels are stored consecutively in one set of arrays with global column indices, so a level is a range of rows. A
sweep visits the even parts of a level in parallel, then the odd ones; parts of equal parity do not couple, so the
result is that of a sequential sweep for any number of threads. Off-diagonal blocks are split into those whose columns a
forward sweep visits before the row (`lower`) and after it (`upper`). From zero, a forward sweep needs the lower blocks
only and leaves the residual -(upper blocks) x: together they cost one pass over the matrix.

The finest level, with most of the work, has its own kernels because its blocks may have another precision.
"""

from __future__ import annotations

from numba import prange, uint32, uint64

from continua.linalg.block_kernels import CHUNK, blocks_times, project_free, symmetric_times
from continua.numerics import inline, kernel_pair

FIRST, LAST, PARTS, PARTS_END, PARALLEL, CYCLE_INDEX = range(6)  # columns of the level table


@inline
def flat_blocks(blocks):
    """Return `SweepArrays` as a tuple whose values are flat arrays."""
    return (
        blocks.lower_ptr,
        blocks.lower_cols,
        blocks.lower_blocks.reshape(-1),
        blocks.upper_ptr,
        blocks.upper_cols,
        blocks.upper_blocks.reshape(-1),
    )


@inline
def flat_transfer(transfer):
    """Return `Transfer` as a tuple whose blocks are a flat array."""
    return (
        transfer.ptr,
        transfer.cols,
        transfer.values,
        transfer.block_ptr,
        transfer.block_cols,
        transfer.blocks.reshape(-1),
    )


@inline
def _forward_from_zero(matrix, inverse, b, x, lo, hi):
    """Sweep rows lo..hi-1 forward, with zero in all rows that are visited later."""
    ptr, cols, flat, _, _, _ = matrix
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(flat, cols, x, uint32(ptr[i]), uint32(ptr[i + uint64(1)]))
        s0, s1, s2 = symmetric_times(inverse, i, b[i, 0] - s0, b[i, 1] - s1, b[i, 2] - s2)
        x[i, 0] = s0
        x[i, 1] = s1
        x[i, 2] = s2


@inline
def _upper_residual(matrix, held, free, x, r, lo, hi):
    """Set the residual of rows lo..hi-1 after a forward sweep from zero."""
    _, _, _, ptr, cols, flat = matrix
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(flat, cols, x, uint32(ptr[i]), uint32(ptr[i + uint64(1)]))
        s0, s1, s2 = project_free(held, free, i, -s0, -s1, -s2)
        r[i, 0] = s0
        r[i, 1] = s1
        r[i, 2] = s2


@inline
def _off_diagonal(matrix, x, i):
    """Return the product of the off-diagonal blocks of row i with x."""
    lower_ptr, lower_cols, lower_flat, upper_ptr, upper_cols, upper_flat = matrix
    s0, s1, s2 = blocks_times(
        lower_flat, lower_cols, x, uint32(lower_ptr[i]), uint32(lower_ptr[i + uint64(1)])
    )
    t0, t1, t2 = blocks_times(
        upper_flat, upper_cols, x, uint32(upper_ptr[i]), uint32(upper_ptr[i + uint64(1)])
    )
    return s0 + t0, s1 + t1, s2 + t2


@inline
def _relax(matrix, inverse, b, x, i):
    """Solve row i for its own unknowns."""
    s0, s1, s2 = _off_diagonal(matrix, x, i)
    s0, s1, s2 = symmetric_times(inverse, i, b[i, 0] - s0, b[i, 1] - s1, b[i, 2] - s2)
    x[i, 0] = s0
    x[i, 1] = s1
    x[i, 2] = s2


@inline
def _sweep_forward(matrix, inverse, b, x, lo, hi, fresh):
    """Sweep rows lo..hi-1 forward, from zero if `fresh`."""
    if fresh:
        _forward_from_zero(matrix, inverse, b, x, lo, hi)
    else:
        for i in range(uint64(lo), uint64(hi)):
            _relax(matrix, inverse, b, x, i)


@inline
def _sweep_backward(matrix, inverse, b, x, lo, hi):
    """Sweep rows hi-1..lo, backward."""
    count = uint64(hi) - uint64(lo)
    for back in range(count):
        _relax(matrix, inverse, b, x, uint64(lo) + (count - uint64(1) - back))


@inline
def residual_rows(matrix, diagonal, held, free, b, x, r, lo, hi):
    """Set r = b - A x in rows lo..hi-1."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = _off_diagonal(matrix, x, i)
        d0, d1, d2 = symmetric_times(diagonal, i, x[i, 0], x[i, 1], x[i, 2])
        s0, s1, s2 = project_free(held, free, i, b[i, 0] - s0 - d0, b[i, 1] - s1 - d1, b[i, 2] - s2 - d2)
        r[i, 0] = s0
        r[i, 1] = s1
        r[i, 2] = s2


@inline
def _sweep_residual(matrix, diagonal, held, free, b, x, r, lo, hi, short):
    """Set the residual of rows lo..hi-1; `short` if it follows one forward sweep from zero."""
    if short:
        _upper_residual(matrix, held, free, x, r, lo, hi)
    else:
        residual_rows(matrix, diagonal, held, free, b, x, r, lo, hi)


@inline
def _transfer_row(transfer, source, i):
    """Return row i of a transfer applied to source: scalar weights and 3x3 blocks."""
    ptr, cols, values, q_ptr, q_cols, q_flat = transfer
    s0, s1, s2 = blocks_times(q_flat, q_cols, source, uint32(q_ptr[i]), uint32(q_ptr[i + uint64(1)]))
    for k in range(uint64(ptr[i]), uint64(ptr[i + uint64(1)])):
        j = uint32(cols[k])
        w = values[k]
        s0 += w * source[j, 0]
        s1 += w * source[j, 1]
        s2 += w * source[j, 2]
    return s0, s1, s2


@inline
def gather_rows(transfer, source, target, lo, hi):
    """Set rows lo..hi-1 of target to the weighted sums of rows of source."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = _transfer_row(transfer, source, i)
        target[i, 0] = s0
        target[i, 1] = s1
        target[i, 2] = s2


@inline
def add_prolongated(transfer, held, free, x, lo, hi):
    """Add the prolongation of the coarser level to rows lo..hi-1 of x."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = _transfer_row(transfer, x, i)
        s0, s1, s2 = project_free(held, free, i, s0, s1, s2)
        x[i, 0] += s0
        x[i, 1] += s1
        x[i, 2] += s2


@inline
def _coarse_solve(dense, b, x, lo, hi):
    """Multiply with the dense inverse of the coarsest matrix."""
    size = 3 * (hi - lo)
    for row in range(size):
        total = 0.0
        for column in range(size):
            total += dense[row, column] * b[lo + column // 3, column % 3]
        x[lo + row // 3, row % 3] = total


@kernel_pair
def descend(levels, starts, blocks, diagonal, inverse, held, free, restriction, b, x, r, sweeps):
    """Sweep the finest level forward from zero and restrict its residual to b of the next level."""
    matrix = flat_blocks(blocks)
    down = flat_transfer(restriction)
    p0, p1 = levels[0, PARTS], levels[0, PARTS_END]
    for sweep in range(sweeps):
        for color in range(2):
            for t in prange((p1 - p0 + 1 - color) // 2):
                k = p0 + 2 * t + color
                _sweep_forward(matrix, inverse, b, x, starts[k], starts[k + 1], sweep == 0)
    last, end = levels[0, LAST], levels[1, LAST]
    for c in prange((last + CHUNK - 1) // CHUNK):
        lo, hi = c * CHUNK, min(last, (c + 1) * CHUNK)
        _sweep_residual(matrix, diagonal, held, free, b, x, r, lo, hi, sweeps == 1)
    for c in prange((end - last + CHUNK - 1) // CHUNK):
        gather_rows(down, r, b, last + c * CHUNK, min(end, last + (c + 1) * CHUNK))


@kernel_pair
def ascend(levels, starts, blocks, inverse, held, free, prolongation, b, x, sweeps):
    """Add the prolongation of the next level to the finest, and sweep it backward."""
    matrix = flat_blocks(blocks)
    up = flat_transfer(prolongation)
    p0, p1 = levels[0, PARTS], levels[0, PARTS_END]
    last = levels[0, LAST]
    for c in prange((last + CHUNK - 1) // CHUNK):
        add_prolongated(up, held, free, x, c * CHUNK, min(last, (c + 1) * CHUNK))
    for _sweep in range(sweeps):
        for back in range(2):
            for t in prange((p1 - p0 + back) // 2):
                k = p0 + 2 * t + 1 - back
                _sweep_backward(matrix, inverse, b, x, starts[k], starts[k + 1])


@kernel_pair
def gauss_seidel_cycle(
    levels, starts, blocks, diagonal, inverse, held, free, prolongation, restriction, dense, b, x, r, top, times,
    sweeps, visits,
):  # fmt: skip
    """Set x on level `top`, which is not the finest, to `times` cycles from zero for the right-hand side in b.

    A level is visited as often as the table says for each visit of the one above it: once in a V-cycle, twice in a
    W-cycle. `sweeps` forward sweeps go before the correction of the coarser level and as many backward ones after it,
    so the cycle is a symmetric operator.
    """
    matrix = flat_blocks(blocks)
    to_fine = flat_transfer(prolongation)
    to_coarse = flat_transfer(restriction)
    bottom = levels.shape[0] - 1
    level = top
    visits[:] = 0
    down = True
    while True:
        first, last = levels[level, FIRST], levels[level, LAST]
        p0, p1 = levels[level, PARTS], levels[level, PARTS_END]
        parallel_level = levels[level, PARALLEL] == 1
        chunks = (last - first + CHUNK - 1) // CHUNK
        if level == bottom:
            _coarse_solve(dense, b, x, first, last)
            visits[level] = max(times, levels[level, CYCLE_INDEX])
            down = False
        elif down:
            again = visits[level] > 0
            for sweep in range(sweeps):
                fresh = sweep == 0 and not again
                for color in range(2):
                    count = (p1 - p0 + 1 - color) // 2
                    if parallel_level:
                        for t in prange(count):
                            k = p0 + 2 * t + color
                            _sweep_forward(matrix, inverse, b, x, starts[k], starts[k + 1], fresh)
                    else:
                        for t in range(count):
                            k = p0 + 2 * t + color
                            _sweep_forward(matrix, inverse, b, x, starts[k], starts[k + 1], fresh)
            short = sweeps == 1 and not again
            end = levels[level + 1, LAST]
            if parallel_level:
                for c in prange(chunks):
                    lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
                    _sweep_residual(matrix, diagonal, held, free, b, x, r, lo, hi, short)
                for c in prange((end - last + CHUNK - 1) // CHUNK):
                    gather_rows(to_coarse, r, b, last + c * CHUNK, min(end, last + (c + 1) * CHUNK))
            else:
                _sweep_residual(matrix, diagonal, held, free, b, x, r, first, last, short)
                gather_rows(to_coarse, r, b, last, end)
            level += 1
            visits[level] = 0
            continue
        else:
            if parallel_level:
                for c in prange(chunks):
                    lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
                    add_prolongated(to_fine, held, free, x, lo, hi)
            else:
                add_prolongated(to_fine, held, free, x, first, last)
            for _sweep in range(sweeps):
                for back in range(2):
                    count = (p1 - p0 + back) // 2
                    if parallel_level:
                        for t in prange(count):
                            k = p0 + 2 * t + 1 - back
                            _sweep_backward(matrix, inverse, b, x, starts[k], starts[k + 1])
                    else:
                        for t in range(count):
                            k = p0 + 2 * t + 1 - back
                            _sweep_backward(matrix, inverse, b, x, starts[k], starts[k + 1])
            visits[level] += 1
        if visits[level] < (times if level == top else levels[level, CYCLE_INDEX]):
            down = True
        elif level == top:
            return
        else:
            level -= 1
            down = False
