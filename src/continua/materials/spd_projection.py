"""Projection to the nearest positive semidefinite 9x9 matrix, for tangents without a closed-form spectrum."""

from __future__ import annotations

from math import sqrt

from continua.materials.registry import law_function

__all__ = ["project_spd"]

_SHIFT = 1e-13  # of the trace: eigenvalues above minus this count as not negative
_MAX_SWEEPS = 30  # six are typical; the limit ends the loop if an entry is not a number


@law_function
def _is_definite(T):
    """Return whether T [9, 9] has a Cholesky factorisation, up to rounding; rows 18-26 are work space."""
    trace = 0.0
    for i in range(9):
        trace += abs(T[i, i])
    shift = _SHIFT * trace
    for i in range(9):
        for j in range(i + 1):
            value = T[i, j]
            for k in range(j):
                value -= T[18 + i, k] * T[18 + j, k]
            if i == j:
                value += shift
                if not value > 0.0:
                    return False
                T[18 + i, i] = sqrt(value)
            else:
                T[18 + i, j] = value / T[18 + j, j]
    return True


@law_function
def _jacobi_rotation(T, p, q):
    """Rotate axes p and q of the matrix in rows 18-26 and the eigenvectors in rows 9-17 so that entry pq vanishes."""
    zeta = (T[18 + q, q] - T[18 + p, p]) / (2.0 * T[18 + p, q])
    t = 1.0 / (abs(zeta) + sqrt(1.0 + zeta * zeta))
    if zeta < 0.0:
        t = -t
    c = 1.0 / sqrt(1.0 + t * t)
    s = c * t
    for k in range(9):
        x, y = T[18 + k, p], T[18 + k, q]
        T[18 + k, p] = c * x - s * y
        T[18 + k, q] = s * x + c * y
    for k in range(9):
        x, y = T[18 + p, k], T[18 + q, k]
        T[18 + p, k] = c * x - s * y
        T[18 + q, k] = s * x + c * y
        x, y = T[9 + p, k], T[9 + q, k]  # row p is axis p
        T[9 + p, k] = c * x - s * y
        T[9 + q, k] = s * x + c * y
    T[18 + p, q] = 0.0
    T[18 + q, p] = 0.0


@law_function
def project_spd(T):
    """Clamp the negative eigenvalues of the symmetric matrix in T[:9] [27, 9] to zero; the other rows are work space.

    Most states need no projection, which a factorisation detects at a tenth of the cost of the eigenvalues.
    """
    if _is_definite(T):
        return
    scale = 0.0
    for i in range(9):
        for j in range(9):
            T[18 + i, j] = T[i, j]
            T[9 + i, j] = 1.0 if i == j else 0.0
            scale += T[i, j] * T[i, j]
    for _ in range(_MAX_SWEEPS):
        off = 0.0
        for p in range(8):
            for q in range(p + 1, 9):
                off += T[18 + p, q] * T[18 + p, q]
        if not off > 1e-30 * scale:
            break
        for p in range(8):
            for q in range(p + 1, 9):
                if T[18 + p, q] * T[18 + p, q] > 1e-34 * scale:
                    _jacobi_rotation(T, p, q)
    for m in range(9):
        value = T[18 + m, m]
        if value < 0.0:
            for i in range(9):
                for j in range(9):
                    T[i, j] -= value * T[9 + m, i] * T[9 + m, j]
