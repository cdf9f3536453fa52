"""What the pressure solver is compared with: conjugate gradients of three kinds, and PyAMG."""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from scipy import sparse


@njit(fastmath=True)
def _factor(w0, w1, w2, d, inverse):
    """Modified incomplete Cholesky without fill-in (97 % of what is dropped goes to the diagonal)."""
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


@njit(fastmath=True)
def _solve(w0, w1, w2, inverse, r, z):
    n0, n1, n2 = r.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                t = r[i, j, k]
                if i > 0:
                    t += w0[i, j, k] * inverse[i - 1, j, k] * z[i - 1, j, k]
                if j > 0:
                    t += w1[i, j, k] * inverse[i, j - 1, k] * z[i, j - 1, k]
                if k > 0:
                    t += w2[i, j, k] * inverse[i, j, k - 1] * z[i, j, k - 1]
                z[i, j, k] = t * inverse[i, j, k]
    for i in range(n0 - 1, -1, -1):
        for j in range(n1 - 1, -1, -1):
            for k in range(n2 - 1, -1, -1):
                t = z[i, j, k]
                if i + 1 < n0:
                    t += w0[i + 1, j, k] * inverse[i, j, k] * z[i + 1, j, k]
                if j + 1 < n1:
                    t += w1[i, j + 1, k] * inverse[i, j, k] * z[i, j + 1, k]
                if k + 1 < n2:
                    t += w2[i, j, k + 1] * inverse[i, j, k] * z[i, j, k + 1]
                z[i, j, k] = t * inverse[i, j, k]


@njit(fastmath=True)
def _apply(w0, w1, w2, d, p, q):
    n0, n1, n2 = p.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                t = d[i, j, k] * p[i, j, k]
                if i > 0:
                    t -= w0[i, j, k] * p[i - 1, j, k]
                if i + 1 < n0:
                    t -= w0[i + 1, j, k] * p[i + 1, j, k]
                if j > 0:
                    t -= w1[i, j, k] * p[i, j - 1, k]
                if j + 1 < n1:
                    t -= w1[i, j + 1, k] * p[i, j + 1, k]
                if k > 0:
                    t -= w2[i, j, k] * p[i, j, k - 1]
                if k + 1 < n2:
                    t -= w2[i, j, k + 1] * p[i, j, k + 1]
                q[i, j, k] = t


@njit(fastmath=True)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@njit(fastmath=True)
def _advance(x, r, p, q, alpha):
    for i in range(x.size):
        x[i] += alpha * p[i]
        r[i] -= alpha * q[i]


@njit(fastmath=True)
def _turn(p, z, beta):
    for i in range(p.size):
        p[i] = z[i] + beta * p[i]


def conjugate(weights, d, b, rtol, kind, most=2000, limit=120.0):
    """Return seconds, iterations and residual of conjugate gradients, compiled, with one thread.

    Args:
        weights: Open parts of faces.
        d: Diagonal.
        b: Right-hand side.
        rtol: Residual to reach.
        kind: "none", "ssor" (one symmetric sweep), or "iccg" (modified incomplete Cholesky).
        most: Most iterations.
        limit: Most seconds.
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
    x, r, z, q = np.zeros_like(b), b.copy(), np.zeros_like(b), np.zeros_like(b)
    flat = [array.reshape(-1) for array in (x, r, z, q)]
    scale = np.sqrt(_dot(flat[1], flat[1]))
    p, count, left, rho = np.zeros_like(b), 0, 1.0, 0.0
    while left > rtol and count < most and time.perf_counter() - start < limit:
        count += 1
        if kind == "none":
            z[:] = r
        else:
            _solve(*weights, inverse, r, z)
        before, rho = rho, _dot(flat[1], flat[2])
        _turn(p.reshape(-1), flat[2], b.dtype.type(rho / before if before else 0.0))
        _apply(*weights, d, p, q)
        alpha = b.dtype.type(rho / _dot(p.reshape(-1), flat[3]))
        _advance(flat[0], flat[1], p.reshape(-1), flat[3], alpha)
        left = np.sqrt(_dot(flat[1], flat[1])) / scale
    return count, left


def matrix(weights, d):
    """Return the stored matrix."""
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
    """Return seconds of set-up and solve of PyAMG's two kinds; the matrix is made before."""
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
