"""Compiled matrix-free Poisson operator, smoother and grid transfers of the pressure solver.

The equation of cell c is `d_c x_c - sum_f w_f x_nb = b_c`, where `w_f` is the open fraction of the face between c and
its neighbour (0 at the sides of the box), and `d_c` the sum of these weights plus the Dirichlet terms (open sides, a
free surface). A cell without open faces has d = 1 and b = 0, so that x = 0 without a test. Rows along the last axis
are contiguous; the loops over them vectorise. A half sweep computes both colours and keeps one: cells of one colour
only read the other, so this costs nothing but arithmetic, which hides behind the memory traffic.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = [
    "CHUNK",
    "apply",
    "cg_direction",
    "cg_update",
    "clear_isolated",
    "coarsen_cells",
    "coarsen_faces",
    "diagonal",
    "dot_products",
    "first_half_sweep",
    "prolong",
    "red_black_half_sweep",
    "residual",
    "restrict_residual",
    "solve_coarsest",
]

CHUNK = 16  # rows of one task


@inline
def _add_neighbours(x, w0, w1, w2, i, j, acc):
    """Add the weighted neighbours of row (i, j) to `acc`."""
    n0, n1, n2 = x.shape
    row = x[i, j]
    jm, jp = max(j - 1, 0), min(j + 1, n1 - 1)
    below, above, wb, wa = x[i, jm], x[i, jp], w1[i, j], w1[i, j + 1]
    if n0 > 1:
        im, ip = max(i - 1, 0), min(i + 1, n0 - 1)
        left, right, wl, wr = x[im, j], x[ip, j], w0[i, j], w0[i + 1, j]
        for k in range(n2):
            acc[k] += wl[k] * left[k] + wr[k] * right[k] + wb[k] * below[k] + wa[k] * above[k]
    else:
        for k in range(n2):
            acc[k] += wb[k] * below[k] + wa[k] * above[k]
    along = w2[i, j, 1:n2]
    before, after, later = row[: n2 - 1], row[1:], acc[1:]
    for k in range(n2 - 1):
        later[k] += along[k] * before[k]
    for k in range(n2 - 1):
        acc[k] += along[k] * after[k]


@kernel_pair
def red_black_half_sweep(x, b, w0, w1, w2, d, colour):
    """Half of a red-black Gauss-Seidel sweep: relax the cells with (i + j + k) % 2 == colour."""
    n0, n1, n2 = x.shape
    rows = n0 * n1
    for c in prange((rows + CHUNK - 1) // CHUNK):
        acc = np.empty(n2, x.dtype)
        for r in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            i, j = r // n1, r % n1
            row, known, weight = x[i, j], b[i, j], d[i, j]
            for k in range(n2):
                acc[k] = known[k]
            _add_neighbours(x, w0, w1, w2, i, j, acc)
            mine = (colour + i + j) & 1
            for k in range(n2):
                fresh = acc[k] / weight[k]
                row[k] = fresh if (k & 1) == mine else row[k]


@kernel_pair
def first_half_sweep(x, b, d, colour):
    """The first half sweep from x = 0: cells of `colour` get b / d, others 0."""
    n0, n1, n2 = x.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        row, known, weight = x[i, j], b[i, j], d[i, j]
        mine = (colour + i + j) & 1
        for k in range(n2):
            fresh = known[k] / weight[k]
            row[k] = fresh if (k & 1) == mine else known[k] * 0


@kernel_pair
def apply(x, w0, w1, w2, d, y, parts):
    """Set y = A x; `parts` receives x . y of each chunk of rows, in double precision."""
    n0, n1, n2 = x.shape
    rows = n0 * n1
    for c in prange((rows + CHUNK - 1) // CHUNK):
        total = 0.0
        acc = np.empty(n2, x.dtype)
        for r in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            i, j = r // n1, r % n1
            row, weight, out = x[i, j], d[i, j], y[i, j]
            acc[:] = 0
            _add_neighbours(x, w0, w1, w2, i, j, acc)
            for k in range(n2):
                out[k] = weight[k] * row[k] - acc[k]
            for k in range(n2):
                total += np.float64(row[k]) * np.float64(out[k])
        parts[c] = total


@inline
def _weight_sum(w0, w1, w2, i, j, k, flat):
    """Return the sum of the weights of a cell's faces."""
    total = w1[i, j, k] + w1[i, j + 1, k] + w2[i, j, k] + w2[i, j, k + 1]
    return total if flat else total + w0[i, j, k] + w0[i + 1, j, k]


@kernel_pair
def clear_isolated(x, w0, w1, w2, dirichlet):
    """Set x to 0 in cells without open faces, which may have had some when x was a solution."""
    n0, n1, n2 = x.shape
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        row, fixed_row = x[i, j], dirichlet[i, j]
        for k in range(n2):
            if fixed_row[k] == 0 and _weight_sum(w0, w1, w2, i, j, k, n0 == 1) == 0:
                row[k] = 0.0


@kernel_pair
def residual(x, b, w0, w1, w2, d, r_out, parts):
    """Set r = b - A x with x in double precision; `parts` receives r . r of each chunk of rows."""
    n0, n1, n2 = x.shape
    rows = n0 * n1
    for c in prange((rows + CHUNK - 1) // CHUNK):
        total = 0.0
        acc = np.empty(n2)
        for r in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            i, j = r // n1, r % n1
            row, weight, out, known = x[i, j], d[i, j], r_out[i, j], b[i, j]
            for k in range(n2):
                acc[k] = known[k] - weight[k] * row[k]
            _add_neighbours(x, w0, w1, w2, i, j, acc)
            for k in range(n2):
                out[k] = acc[k]
            for k in range(n2):
                total += acc[k] * acc[k]
        parts[c] = total


@kernel_pair
def restrict_residual(x, b, w0, w1, w2, d, coarse):
    """Sum the residual b - A x over the children of each coarse cell."""
    n0, n1, n2 = x.shape
    m0, m1, m2 = coarse.shape
    step0 = 1 if n0 == 1 else 2
    for c in prange(m0 * m1):
        ci, cj = c // m1, c % m1
        target = coarse[ci, cj]
        acc = np.empty(n2 + 1, x.dtype)
        both = np.zeros(2 * m2, x.dtype)
        for i in range(step0 * ci, min(n0, step0 * (ci + 1))):
            for j in range(2 * cj, min(n1, 2 * cj + 2)):
                row, known, weight = x[i, j], b[i, j], d[i, j]
                for k in range(n2):
                    acc[k] = known[k] - weight[k] * row[k]
                _add_neighbours(x, w0, w1, w2, i, j, acc[:n2])
                for k in range(n2):
                    both[k] += acc[k]
        for k in range(m2):
            target[k] = both[2 * k] + both[2 * k + 1]


@kernel_pair
def prolong(coarse, x):
    """Add the parent's value to x; cells without open faces lose it at the next half sweep."""
    n0, n1, n2 = x.shape
    step0 = 1 if n0 == 1 else 2
    for r in prange(n0 * n1):
        i, j = r // n1, r % n1
        above, row = coarse[i // step0, j // 2], x[i, j]
        for k in range(n2 // 2):
            row[2 * k] += above[k]
            row[2 * k + 1] += above[k]
        if n2 % 2 == 1:
            row[n2 - 1] += above[n2 // 2]


@kernel_pair
def coarsen_faces(w, axis, flat, coarse, low, high):
    """Every second face along `axis`, the children summed and halved: areas over twice the spacing.

    Only faces in [low, high) (three indices each) are set.
    """
    n0, n1, n2 = w.shape
    s0 = 1 if flat else 2
    width = high[1] - low[1]
    for c in prange((high[0] - low[0]) * width):
        i, j = low[0] + c // width, low[1] + c % width
        target = coarse[i, j]
        target[low[2] : high[2]] = 0
        for p in range(s0 * i, min(n0, s0 * i + (1 if axis == 0 else s0))):
            for q in range(2 * j, min(n1, 2 * j + (1 if axis == 1 else 2))):
                row = w[p, q]
                if axis == 2:
                    for k in range(low[2], high[2]):
                        if 2 * k < n2:
                            target[k] += row[2 * k]
                else:
                    for k in range(low[2], high[2]):
                        target[k] += row[2 * k] + (row[2 * k + 1] if 2 * k + 1 < n2 else 0)
        for k in range(low[2], high[2]):
            target[k] *= 0.5


@kernel_pair
def coarsen_cells(values, factor, flat, coarse, low, high):
    """Sum of the children of each coarse cell times `factor`, for cells in [low, high)."""
    n0, n1, n2 = values.shape
    s0 = 1 if flat else 2
    width = high[1] - low[1]
    for c in prange((high[0] - low[0]) * width):
        i, j = low[0] + c // width, low[1] + c % width
        target = coarse[i, j]
        target[low[2] : high[2]] = 0
        for p in range(s0 * i, min(n0, s0 * (i + 1))):
            for q in range(2 * j, min(n1, 2 * j + 2)):
                row = values[p, q]
                for k in range(low[2], high[2]):
                    target[k] += row[2 * k] + (row[2 * k + 1] if 2 * k + 1 < n2 else 0)
        for k in range(low[2], high[2]):
            target[k] *= factor


@kernel_pair
def diagonal(w0, w1, w2, dirichlet, d, inverse, low, high):
    """Sum of the weights around each cell in [low, high) and its Dirichlet term; 1 where that is zero.

    `inverse` receives one over it, unless it is empty.
    """
    n0 = d.shape[0]
    width = high[1] - low[1]
    for c in prange((high[0] - low[0]) * width):
        i, j = low[0] + c // width, low[1] + c % width
        for k in range(low[2], high[2]):
            total = w1[i, j, k] + w1[i, j + 1, k] + w2[i, j, k] + w2[i, j, k + 1] + dirichlet[i, j, k]
            if n0 > 1:
                total += w0[i, j, k] + w0[i + 1, j, k]
            d[i, j, k] = total if total > 0.0 else 1.0
        if inverse.size > 0:
            for k in range(low[2], high[2]):
                inverse[i, j, k] = 1 / d[i, j, k]


@kernel_pair
def dot_products(x, y, parts):
    """`parts` receives x . y of each chunk of rows, in double precision."""
    n0, n1, n2 = x.shape
    rows = n0 * n1
    for c in prange((rows + CHUNK - 1) // CHUNK):
        total = 0.0
        for r in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            one, two = x[r // n1, r % n1], y[r // n1, r % n1]
            for k in range(n2):
                total += np.float64(one[k]) * np.float64(two[k])
        parts[c] = total


@kernel_pair
def cg_update(x, r_in, p, q, alpha, parts):
    """x += alpha p (x in double precision), r -= alpha q; `parts` receives r . r of each chunk of rows."""
    n0, n1, n2 = x.shape
    rows = n0 * n1
    for c in prange((rows + CHUNK - 1) // CHUNK):
        total = 0.0
        for r in range(c * CHUNK, min(rows, (c + 1) * CHUNK)):
            i, j = r // n1, r % n1
            xr, rr, pr, qr = x[i, j], r_in[i, j], p[i, j], q[i, j]
            for k in range(n2):
                xr[k] += np.float64(alpha) * np.float64(pr[k])
            for k in range(n2):
                left = rr[k] - alpha * qr[k]
                rr[k] = left
                total += np.float64(left) * np.float64(left)
        parts[c] = total


@kernel_pair
def cg_direction(p, z, beta):
    """P = z + beta p."""
    n0, n1, n2 = p.shape
    for r in prange(n0 * n1):
        one, two = p[r // n1, r % n1], z[r // n1, r % n1]
        for k in range(n2):
            one[k] = two[k] + beta * one[k]


@kernel
def solve_coarsest(x, b, w0, w1, w2, d, rtol, max_iterations):
    """Solve the coarsest level by Jacobi-preconditioned conjugate gradients; a singular one as far as possible."""
    shape = x.shape
    r, p, q = np.empty(shape), np.empty(shape), np.empty(shape)
    n0, n1, n2 = shape
    acc = np.empty(n2)
    x[:] = 0
    initial = rho = 0.0
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                r[i, j, k] = b[i, j, k]
                p[i, j, k] = r[i, j, k] / d[i, j, k]
                rho += r[i, j, k] * p[i, j, k]
    initial = rho
    for _ in range(max_iterations):
        if rho <= rtol * rtol * initial or rho <= 0.0:
            break
        curvature = 0.0
        for i in range(n0):
            for j in range(n1):
                acc[:] = 0.0
                _add_neighbours(p, w0, w1, w2, i, j, acc)
                for k in range(n2):
                    q[i, j, k] = d[i, j, k] * p[i, j, k] - acc[k]
                    curvature += q[i, j, k] * p[i, j, k]
        if curvature <= 0.0:
            break
        alpha = rho / curvature
        before, rho = rho, 0.0
        for i in range(n0):
            for j in range(n1):
                for k in range(n2):
                    x[i, j, k] += alpha * p[i, j, k]
                    r[i, j, k] -= alpha * q[i, j, k]
                    rho += r[i, j, k] * r[i, j, k] / d[i, j, k]
        beta = rho / before
        for i in range(n0):
            for j in range(n1):
                for k in range(n2):
                    p[i, j, k] = r[i, j, k] / d[i, j, k] + beta * p[i, j, k]
