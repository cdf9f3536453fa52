"""Peers of the pressure solver: conjugate gradients with three preconditioners, and PyAMG."""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from continua.numerics import kernel


@kernel
def _factor(w0, w1, w2, d, inverse):
    """Factorise by modified incomplete Cholesky without fill-in; 97 % of the dropped entries go to the diagonal."""
    n0, n1, n2 = d.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                e = d[i, j, k]
                if i > 0:
                    w, p = w0[i, j, k], inverse[i - 1, j, k]
                    rest = w1[i - 1, j + 1, k] * (j + 1 < n1) + w2[i - 1, j, k + 1] * (k + 1 < n2)
                    e -= (w * p) ** 2 + 0.97 * w * rest * p * p
                if j > 0:
                    w, p = w1[i, j, k], inverse[i, j - 1, k]
                    rest = w0[i + 1, j - 1, k] * (i + 1 < n0) + w2[i, j - 1, k + 1] * (k + 1 < n2)
                    e -= (w * p) ** 2 + 0.97 * w * rest * p * p
                if k > 0:
                    w, p = w2[i, j, k], inverse[i, j, k - 1]
                    rest = w0[i + 1, j, k - 1] * (i + 1 < n0) + w1[i, j + 1, k - 1] * (j + 1 < n1)
                    e -= (w * p) ** 2 + 0.97 * w * rest * p * p
                if e < 0.25 * d[i, j, k]:
                    e = d[i, j, k]
                inverse[i, j, k] = 1.0 / np.sqrt(e)


@kernel
def _scale(w0, w1, w2, inverse, l0, l1, l2):
    """Set the entries of the factor, scaled by the inverse diagonals of both cells, so that a solve needs no others."""
    n0, n1, n2 = inverse.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                mine = inverse[i, j, k]
                if i > 0:
                    l0[i, j, k] = w0[i, j, k] * inverse[i - 1, j, k] * mine
                if j > 0:
                    l1[i, j, k] = w1[i, j, k] * inverse[i, j - 1, k] * mine
                if k > 0:
                    l2[i, j, k] = w2[i, j, k] * inverse[i, j, k - 1] * mine


@kernel
def _solve(l0, l1, l2, inverse, r, z):
    """Solve with both factors; terms independent of the previous cell of a row are summed for the whole row first."""
    n0, n1, n2 = r.shape
    acc = np.empty(n2, r.dtype)
    for i in range(n0):
        for j in range(n1):
            left, below = z[max(i - 1, 0), j], z[i, max(j - 1, 0)]
            a, b, c, known, own, row = l0[i, j], l1[i, j], l2[i, j], r[i, j], inverse[i, j], z[i, j]
            for k in range(n2):
                acc[k] = known[k] * own[k] + a[k] * left[k] + b[k] * below[k]
            last = acc[0]
            row[0] = last
            for k in range(1, n2):
                last = acc[k] + c[k] * last
                row[k] = last
    for i in range(n0 - 1, -1, -1):
        for j in range(n1 - 1, -1, -1):
            p, q = min(i + 1, n0 - 1), min(j + 1, n1 - 1)
            right, above, own, row = z[p, j], z[i, q], inverse[i, j], z[i, j]
            a, b, c = l0[i + 1, j], l1[i, j + 1], l2[i, j]
            for k in range(n2):
                acc[k] = row[k] + a[k] * right[k] + b[k] * above[k]
            last = acc[n2 - 1]
            row[n2 - 1] = last
            for k in range(n2 - 2, -1, -1):
                last = acc[k] + c[k + 1] * last
                row[k] = last
    # so far z holds the solution over `inverse`
    for i in range(n0):
        for j in range(n1):
            row, own = z[i, j], inverse[i, j]
            for k in range(n2):
                row[k] *= own[k]


@kernel
def _apply(w0, w1, w2, d, p, q):
    n0, n1, n2 = p.shape
    for i in range(n0):
        for j in range(n1):
            im, ip, jm, jp = max(i - 1, 0), min(i + 1, n0 - 1), max(j - 1, 0), min(j + 1, n1 - 1)
            row, out, own = p[i, j], q[i, j], d[i, j]
            left, right, below, above = p[im, j], p[ip, j], p[i, jm], p[i, jp]
            wl, wr, wb, wa, along = w0[i, j], w0[i + 1, j], w1[i, j], w1[i, j + 1], w2[i, j]
            for k in range(n2):
                out[k] = own[k] * row[k] - wl[k] * left[k] - wr[k] * right[k]
            for k in range(n2):
                out[k] -= wb[k] * below[k] + wa[k] * above[k]
            for k in range(n2 - 1):
                out[k] -= along[k + 1] * row[k + 1]
            for k in range(1, n2):
                out[k] -= along[k] * row[k - 1]


@kernel
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@kernel
def _advance(x, r, p, q, alpha):
    for i in range(x.size):
        x[i] += alpha * p[i]
        r[i] -= alpha * q[i]


@kernel
def _direction(p, z, beta):
    for i in range(p.size):
        p[i] = z[i] + beta * p[i]


def conjugate(weights, d, b, rtol, kind, most=2000, limit=120.0):
    """Return seconds, iterations and residual of conjugate gradients, compiled, with one thread.

    Args:
        weights: Open fractions of the faces.
        d: Diagonal.
        b: Right-hand side.
        rtol: Relative residual to reach.
        kind: Preconditioner: "none", "ssor" (one symmetric sweep), or "iccg" (modified incomplete Cholesky).
        most: Maximum number of iterations.
        limit: Maximum seconds.
    """
    small = [np.zeros([3 + (a == axis) for a in range(3)], b.dtype) for axis in range(3)]
    _run(small, np.ones((3, 3, 3), d.dtype), np.ones((3, 3, 3), b.dtype), rtol, kind, 2, limit)
    start = time.perf_counter()
    count, left = _run(weights, d, b, rtol, kind, most, limit)
    return time.perf_counter() - start, count, left


def _run(weights, d, b, rtol, kind, most, limit):
    start = time.perf_counter()
    inverse = np.zeros_like(d)
    if kind == "iccg":
        _factor(*weights, d, inverse)
    else:
        inverse[:] = 1.0 / np.sqrt(d)
    scaled = [np.zeros_like(w) for w in weights]
    _scale(*weights, inverse, *scaled)
    x, r, z, q = np.zeros_like(b), b.copy(), np.zeros_like(b), np.zeros_like(b)
    flat = [array.reshape(-1) for array in (x, r, z, q)]
    scale = np.sqrt(_dot(flat[1], flat[1]))
    p, count, left, rho = np.zeros_like(b), 0, 1.0, 0.0
    while left > rtol and count < most and time.perf_counter() - start < limit:
        count += 1
        if kind == "none":
            z[:] = r
        else:
            _solve(*scaled, inverse, r, z)
        before, rho = rho, _dot(flat[1], flat[2])
        _direction(p.reshape(-1), flat[2], b.dtype.type(rho / before if before else 0.0))
        _apply(*weights, d, p, q)
        alpha = b.dtype.type(rho / _dot(p.reshape(-1), flat[3]))
        _advance(flat[0], flat[1], p.reshape(-1), flat[3], alpha)
        left = np.sqrt(_dot(flat[1], flat[1])) / scale
    return count, left


def matrix(weights, d):
    """Return the matrix in CSR form."""
    number = np.arange(d.size, dtype=np.int32).reshape(d.shape)
    rows, columns, values = [number.ravel()], [number.ravel()], [d.ravel().astype(float)]
    for axis in range(3):
        w = np.moveaxis(weights[axis], axis, 0)[1:-1].ravel().astype(float)
        a, b = np.moveaxis(number, axis, 0)[:-1].ravel(), np.moveaxis(number, axis, 0)[1:].ravel()
        keep = w > 0
        rows += [a[keep], b[keep]]
        columns += [b[keep], a[keep]]
        values += [-w[keep], -w[keep]]
    parts = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_matrix(parts, shape=(d.size, d.size))


def pyamg_seconds(weights, d, b, rtol):
    """Return seconds of setup and solve of both of PyAMG's methods, without those of building the matrix."""
    import pyamg

    a, rhs = matrix(weights, d), b.ravel().astype(float)
    seconds = {}
    for name, make in (
        ("classical", pyamg.ruge_stuben_solver),
        ("smoothed aggregation", pyamg.smoothed_aggregation_solver),
    ):
        start = time.perf_counter()
        make(a, max_coarse=500).solve(rhs, tol=rtol, accel="cg", maxiter=100)
        seconds[name] = time.perf_counter() - start
    return seconds
