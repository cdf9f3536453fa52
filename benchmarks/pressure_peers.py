"""What the pressure solver is compared with: conjugate gradients with incomplete Cholesky, and PyAMG."""

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


def iccg(weights, d, b, rtol):
    """Return seconds and iterations of conjugate gradients with modified incomplete Cholesky, compiled, one thread."""
    small = [np.zeros([3 + (a == axis) for a in range(3)], b.dtype) for axis in range(3)]
    _run(small, np.ones((3, 3, 3), d.dtype), np.ones((3, 3, 3), b.dtype), rtol, 2)
    start = time.perf_counter()
    count = _run(weights, d, b, rtol, 10_000)
    return time.perf_counter() - start, count


def _run(weights, d, b, rtol, most):
    inverse = np.zeros_like(d)
    _factor(*weights, d, inverse)
    x, r, z, q = np.zeros_like(b), b.copy(), np.zeros_like(b), np.zeros_like(b)
    scale = np.linalg.norm(b)
    _solve(*weights, inverse, r, z)
    p, rho = z.copy(), float((r * z).sum())
    count = 0
    while count < most:
        count += 1
        _apply(*weights, d, p, q)
        alpha = b.dtype.type(rho / float((p * q).sum()))
        x += alpha * p
        r -= alpha * q
        if np.linalg.norm(r) <= rtol * scale:
            break
        _solve(*weights, inverse, r, z)
        before, rho = rho, float((r * z).sum())
        p = z + b.dtype.type(rho / before) * p
    return count


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
    """Return seconds of PyAMG's set-up and solve, the faster of its two kinds; the matrix is made before."""
    import pyamg

    a, rhs = matrix(weights, d), b.ravel().astype(float)
    best = np.inf
    for make in (pyamg.ruge_stuben_solver, pyamg.smoothed_aggregation_solver):
        start = time.perf_counter()
        make(a, max_coarse=500).solve(rhs, tol=rtol, accel="cg")
        best = min(best, time.perf_counter() - start)
    return best
