"""Smoothers that are polynomials of D^-1 A: damped block Jacobi and Chebyshev, and the cycle around them.

Every step reads old values only, so results do not depend on the order of rows or the number of threads. A polynomial
of D^-1 A times D^-1 is symmetric: the same steps are used before and after the coarse-grid correction.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint64
from numpy.typing import NDArray

from continua.linalg.block_kernels import CHUNK, symmetric_times
from continua.linalg.multigrid.gauss_seidel_cycle import (
    add_prolongated,
    flat_blocks,
    flat_transfer,
    gather_rows,
    residual_rows,
)
from continua.numerics import kernel_pair

__all__ = ["SMOOTHERS", "correct", "relax", "restrict_residual", "step_coefficients"]

SMOOTHERS = {"gauss-seidel": "Gauss-Seidel", "jacobi": "block Jacobi", "chebyshev": "Chebyshev"}
"""The smoothers of multigrid by option, with their names."""

_LOWEST = 1.0 / 10.0  # lower end of the damped interval, relative to the largest eigenvalue
_HIGHEST = 1.1  # upper end, relative to the estimate of the largest eigenvalue, which is from below


def step_coefficients(kind: str, largest: float, steps: int) -> NDArray[np.float64]:
    """Return (a, b) of every step: d <- a d + b D^-1 r, x <- x + d.

    Args:
        kind: "jacobi" or "chebyshev" (Saad 2003, algorithm 12.1).
        largest: Estimate of the largest eigenvalue of D^-1 A.
        steps: Number of steps, the degree of the polynomial.
    """
    table = np.zeros((steps, 2))
    if not largest > 0.0:
        return table
    top = _HIGHEST * largest
    if kind == "jacobi":
        table[:, 1] = 4.0 / (3.0 * top)
        return table
    middle, half = 0.5 * top * (1.0 + _LOWEST), 0.5 * top * (1.0 - _LOWEST)
    table[0, 1] = 1.0 / middle
    before = half / middle
    for step in range(1, steps):
        now = 1.0 / (2.0 * middle / half - before)
        table[step] = now * before, 2.0 * now / half
        before = now
    return table


@kernel_pair
def relax(first, last, blocks, diagonal, inverse, held, free, table, fresh, b, x, r, d):
    """Do the steps of `table` on rows first..last-1, from zero if `fresh`."""
    matrix = flat_blocks(blocks)
    chunks = (last - first + CHUNK - 1) // CHUNK
    for step in range(table.shape[0]):
        start = fresh and step == 0
        for c in prange(chunks):
            lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
            if start:
                for i in range(lo, hi):
                    for a in range(3):
                        r[i, a] = b[i, a]
                        x[i, a] = 0.0
            else:
                residual_rows(matrix, diagonal, held, free, b, x, r, lo, hi)
        keep, add = table[step, 0], table[step, 1]
        for c in prange(chunks):
            for i in range(uint64(first + c * CHUNK), uint64(min(last, first + (c + 1) * CHUNK))):
                y = symmetric_times(inverse, i, r[i, 0], r[i, 1], r[i, 2])
                for a in range(3):
                    value = add * y[a]
                    if step > 0:
                        value += keep * d[i, a]
                    d[i, a] = value
                    x[i, a] += value


@kernel_pair
def restrict_residual(first, last, below, blocks, diagonal, held, free, restriction, b, x, r):
    """Set b of the next level, rows last..below-1, to the restricted residual of rows first..last-1."""
    matrix = flat_blocks(blocks)
    down = flat_transfer(restriction)
    for c in prange((last - first + CHUNK - 1) // CHUNK):
        lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
        residual_rows(matrix, diagonal, held, free, b, x, r, lo, hi)
    for c in prange((below - last + CHUNK - 1) // CHUNK):
        lo, hi = last + c * CHUNK, min(below, last + (c + 1) * CHUNK)
        gather_rows(down, r, b, lo, hi)


@kernel_pair
def correct(first, last, prolongation, held, free, x):
    """Add the prolongation of the next level to rows first..last-1 of x."""
    up = flat_transfer(prolongation)
    for c in prange((last - first + CHUNK - 1) // CHUNK):
        lo, hi = first + c * CHUNK, min(last, first + (c + 1) * CHUNK)
        add_prolongated(up, held, free, x, lo, hi)
