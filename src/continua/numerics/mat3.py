"""Compiled functions on single 3x3 matrices, and the same for batches of shape [n, 3, 3].

Inside kernels a vector is a tuple of 3 floats and a matrix a tuple of 9, row by row:
`(a00, a01, a02, a10, a11, a12, a20, a21, a22)`. The compiler keeps such tuples in registers, so these
helpers cost nothing beyond their arithmetic.

The singular value decomposition is signed: `F = U diag(f) V^T` with U and V proper rotations and at most
one negative value, the one of smallest magnitude. An inverted element is thus one that is pushed through
its nearest face, which is the cheapest way back (Irving, Teran and Fedkiw 2004). Jacobi rotations act on
the columns of F itself (Hestenes 1958) rather than on `F^T F`: squaring would cost half of the digits of
nearly flat matrices.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.errors import InputError
from continua.numerics.kernel import inline, kernel_pair

__all__ = [
    "cross3",
    "det3",
    "dot3",
    "eigen_symmetric",
    "eigen_symmetric_batch",
    "inverse3",
    "inverse_batch",
    "load3",
    "matmul3",
    "matvec3",
    "rotation",
    "signed_svd",
    "signed_svd_batch",
    "store3",
    "transpose3",
]

_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_TINY = 1e-290  # entries below this count as zero, so that 1/scale stays finite
_FLAT2 = 1e-200  # squared length, relative to the largest entry, of a column that has no direction
_SKEW2 = 1e-30  # squared cosine below which two columns count as orthogonal
_SWEEPS = 16  # five are typical; the limit ends the loop when an entry is not a number
_PARALLEL_FROM = 512  # matrices; below, starting threads costs more than it saves


@inline
def load3(A, i):
    """Return the matrix `A[i]` of an array [n, 3, 3]."""
    return (
        A[i, 0, 0], A[i, 0, 1], A[i, 0, 2],
        A[i, 1, 0], A[i, 1, 1], A[i, 1, 2],
        A[i, 2, 0], A[i, 2, 1], A[i, 2, 2],
    )  # fmt: skip


@inline
def store3(A, i, m):
    """Write the matrix `m` to `A[i]` of an array [n, 3, 3]."""
    A[i, 0, 0], A[i, 0, 1], A[i, 0, 2] = m[0], m[1], m[2]
    A[i, 1, 0], A[i, 1, 1], A[i, 1, 2] = m[3], m[4], m[5]
    A[i, 2, 0], A[i, 2, 1], A[i, 2, 2] = m[6], m[7], m[8]


@inline
def dot3(a, b):
    """Return the inner product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross3(a, b):
    """Return the cross product of two vectors."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def det3(m):
    """Return the determinant."""
    return (
        m[0] * (m[4] * m[8] - m[5] * m[7])
        - m[1] * (m[3] * m[8] - m[5] * m[6])
        + m[2] * (m[3] * m[7] - m[4] * m[6])
    )


@inline
def transpose3(m):
    """Return the transposed matrix."""
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@inline
def matvec3(m, v):
    """Return the vector `m v`."""
    return (
        m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
        m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
        m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
    )


@inline
def matmul3(a, b):
    """Return the matrix `a b`."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@inline
def inverse3(m):
    """Return the inverse and the determinant; a singular matrix gives infinities or NaN."""
    c0 = m[4] * m[8] - m[5] * m[7]
    c1 = m[5] * m[6] - m[3] * m[8]
    c2 = m[3] * m[7] - m[4] * m[6]
    det = m[0] * c0 + m[1] * c1 + m[2] * c2
    s = 1.0 / det
    inverse = (
        s * c0, s * (m[2] * m[7] - m[1] * m[8]), s * (m[1] * m[5] - m[2] * m[4]),
        s * c1, s * (m[0] * m[8] - m[2] * m[6]), s * (m[2] * m[3] - m[0] * m[5]),
        s * c2, s * (m[1] * m[6] - m[0] * m[7]), s * (m[0] * m[4] - m[1] * m[3]),
    )  # fmt: skip
    return inverse, det


@inline
def _scale3(s, a):
    return (s * a[0], s * a[1], s * a[2])


@inline
def _combine3(s, a, t, b):
    return (s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2])


@inline
def _jacobi_angle(app, aqq, apq):
    """Return cosine and sine of the smaller rotation that makes the entry `apq` zero."""
    zeta = (aqq - app) / (2.0 * apq)
    t = 1.0 / (abs(zeta) + sqrt(1.0 + zeta * zeta))
    if zeta < 0.0:
        t = -t
    c = 1.0 / sqrt(1.0 + t * t)
    return c, c * t


@inline
def _orthogonalise(bp, bq, vp, vq):
    """Rotate a pair of columns of B, and of V with it, until they are orthogonal."""
    a = dot3(bp, bp)
    b = dot3(bq, bq)
    skew = dot3(bp, bq)
    if skew * skew <= _SKEW2 * (a * b):
        return bp, bq, vp, vq, False
    c, s = _jacobi_angle(a, b, skew)
    return (
        _combine3(c, bp, -s, bq),
        _combine3(s, bp, c, bq),
        _combine3(c, vp, -s, vq),
        _combine3(s, vp, c, vq),
        True,
    )


@inline
def _larger_first(kp, kq, bp, bq, vp, vq):
    """Swap two columns if the second has the larger key; one changes its sign, so rotations stay so."""
    if kq > kp:
        return kq, kp, bq, _scale3(-1.0, bp), vq, _scale3(-1.0, vp)
    return kp, kq, bp, bq, vp, vq


@inline
def _largest_entry(m):
    s = max(max(abs(m[0]), abs(m[1])), max(abs(m[2]), abs(m[3])))
    return max(max(s, max(abs(m[4]), abs(m[5]))), max(abs(m[6]), max(abs(m[7]), abs(m[8]))))


@inline
def _left_frame(b0, b1, v0, v1, v2):
    """Return the columns of U for columns `b0`, `b1` of F V in order of length; `b0` is not zero.

    Where F has rank one the second column is free, and follows V, so that `diag(1, 0, 0)` gives U = V.
    """
    u0 = _scale3(1.0 / sqrt(dot3(b0, b0)), b0)
    u1 = _combine3(1.0, b1, -dot3(u0, b1), u0)
    if not dot3(b1, b1) > _FLAT2:
        u1 = _combine3(1.0, v1, -dot3(u0, v1), u0)
        if dot3(u1, u1) < 0.5:
            u1 = _combine3(1.0, v2, -dot3(u0, v2), u0)
    u1 = _scale3(1.0 / sqrt(dot3(u1, u1)), u1)
    u1 = _combine3(1.0, u1, -dot3(u0, u1), u0)
    u1 = _scale3(1.0 / sqrt(dot3(u1, u1)), u1)
    return u0, u1, cross3(u0, u1)


# Always inlined, here and in `rotation`: a compiled function of its own is inlined by LLVM or not, depending on
# whether it was compiled in this process or came from the cache, and then callers round differently.
@inline
def signed_svd(F):
    """Decompose `F = U diag(f) V^T` with proper rotations U and V.

    Right for every finite matrix, from 1e-290 to 1e+290: inverted, flat, a line, a point. Zero gives
    `U = V = 1`. The result is a pure function of F.

    Args:
        F: matrix as a tuple of 9.

    Returns:
        `U` (9), `f` (3) with `f[0] >= f[1] >= |f[2]|`, where only `f[2]` may be negative, and `V` (9).
    """
    scale = _largest_entry(F)
    if scale <= _TINY:
        return _IDENTITY, (0.0, 0.0, 0.0), _IDENTITY
    r = 1.0 / scale
    b0 = (r * F[0], r * F[3], r * F[6])
    b1 = (r * F[1], r * F[4], r * F[7])
    b2 = (r * F[2], r * F[5], r * F[8])
    v0, v1, v2 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(_SWEEPS):
        b0, b1, v0, v1, turned01 = _orthogonalise(b0, b1, v0, v1)
        b0, b2, v0, v2, turned02 = _orthogonalise(b0, b2, v0, v2)
        b1, b2, v1, v2, turned12 = _orthogonalise(b1, b2, v1, v2)
        if not (turned01 or turned02 or turned12):
            break
    k0, k1, k2 = dot3(b0, b0), dot3(b1, b1), dot3(b2, b2)
    k0, k1, b0, b1, v0, v1 = _larger_first(k0, k1, b0, b1, v0, v1)
    k0, k2, b0, b2, v0, v2 = _larger_first(k0, k2, b0, b2, v0, v2)
    k1, k2, b1, b2, v1, v2 = _larger_first(k1, k2, b1, b2, v1, v2)
    u0, u1, u2 = _left_frame(b0, b1, v0, v1, v2)
    f0 = dot3(u0, b0)
    f1 = min(max(dot3(u1, b1), 0.0), f0)
    f2 = min(max(dot3(u2, b2), -f1), f1)
    return (
        (u0[0], u1[0], u2[0], u0[1], u1[1], u2[1], u0[2], u1[2], u2[2]),
        (scale * f0, scale * f1, scale * f2),
        (v0[0], v1[0], v2[0], v0[1], v1[1], v2[1], v0[2], v1[2], v2[2]),
    )


@inline
def rotation(F):
    """Return the rotation `U V^T` of F (a tuple of 9) from its signed SVD: proper for every F."""
    U, _, V = signed_svd(F)
    return matmul3(U, transpose3(V))


@inline
def _eliminate(app, aqq, apq, apr, aqr, vp, vq):
    """Turn the axes p and q of a symmetric matrix until the entry between them is zero."""
    if apq == 0.0:
        return app, aqq, apq, apr, aqr, vp, vq
    c, s = _jacobi_angle(app, aqq, apq)
    t = s / c
    return (
        app - t * apq,
        aqq + t * apq,
        0.0,
        c * apr - s * aqr,
        s * apr + c * aqr,
        _combine3(c, vp, -s, vq),
        _combine3(s, vp, c, vq),
    )


@inline
def eigen_symmetric(a00, a01, a02, a11, a12, a22):
    """Return eigenvalues and eigenvectors of a symmetric matrix, by cyclic Jacobi rotations.

    Returns:
        The eigenvalues in descending order (3), and a proper rotation (9) whose columns are the
        eigenvectors.
    """
    scale = max(max(abs(a00), max(abs(a01), abs(a02))), max(abs(a11), max(abs(a12), abs(a22))))
    if scale <= _TINY:
        return (0.0, 0.0, 0.0), _IDENTITY
    r = 1.0 / scale
    a00, a01, a02, a11, a12, a22 = r * a00, r * a01, r * a02, r * a11, r * a12, r * a22
    v0, v1, v2 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(_SWEEPS):
        if a01 * a01 + a02 * a02 + a12 * a12 <= 1e-34:
            break
        a00, a11, a01, a02, a12, v0, v1 = _eliminate(a00, a11, a01, a02, a12, v0, v1)
        a00, a22, a02, a01, a12, v0, v2 = _eliminate(a00, a22, a02, a01, a12, v0, v2)
        a11, a22, a12, a01, a02, v1, v2 = _eliminate(a11, a22, a12, a01, a02, v1, v2)
    a00, a11, v0, v1, v0, v1 = _larger_first(a00, a11, v0, v1, v0, v1)
    a00, a22, v0, v2, v0, v2 = _larger_first(a00, a22, v0, v2, v0, v2)
    a11, a22, v1, v2, v1, v2 = _larger_first(a11, a22, v1, v2, v1, v2)
    return (
        (scale * a00, scale * a11, scale * a22),
        (v0[0], v1[0], v2[0], v0[1], v1[1], v2[1], v0[2], v1[2], v2[2]),
    )


@kernel_pair
def _svd_each(F, U, f, V):
    for i in prange(F.shape[0]):
        u, s, v = signed_svd(load3(F, i))
        store3(U, i, u)
        f[i, 0], f[i, 1], f[i, 2] = s
        store3(V, i, v)


@kernel_pair
def _eigen_each(A, values, vectors):
    for i in prange(A.shape[0]):
        a = load3(A, i)
        w, v = eigen_symmetric(a[0], a[1], a[2], a[4], a[5], a[8])
        values[i, 0], values[i, 1], values[i, 2] = w
        store3(vectors, i, v)


@kernel_pair
def _inverse_each(A, inverses, dets):
    for i in prange(A.shape[0]):
        m, det = inverse3(load3(A, i))
        store3(inverses, i, m)
        dets[i] = det


def _as_matrices(A: np.ndarray) -> np.ndarray:
    A = np.ascontiguousarray(A, dtype=np.float64)
    if A.ndim != 3 or A.shape[1:] != (3, 3):
        raise InputError(f"3x3 matrices must come as an array of shape [n, 3, 3], not {list(A.shape)}")
    return A


def signed_svd_batch(F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decompose each `F[i] = U diag(f) V^T` with proper rotations; see `signed_svd`.

    Args:
        F: matrices, shape [n, 3, 3].

    Returns:
        `U` [n, 3, 3], `f` [n, 3] in descending order of magnitude, `V` [n, 3, 3].
    """
    F = _as_matrices(F)
    U, f, V = np.empty_like(F), np.empty((len(F), 3)), np.empty_like(F)
    _svd_each.variant(len(F) >= _PARALLEL_FROM)(F, U, f, V)
    return U, f, V


def eigen_symmetric_batch(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues [n, 3], descending, and eigenvectors as columns of rotations [n, 3, 3].

    Only the upper triangles of the symmetric matrices `A`, shape [n, 3, 3], are read.
    """
    A = _as_matrices(A)
    values, vectors = np.empty((len(A), 3)), np.empty_like(A)
    _eigen_each.variant(len(A) >= _PARALLEL_FROM)(A, values, vectors)
    return values, vectors


def inverse_batch(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverses [n, 3, 3] and determinants [n] of matrices `A`, shape [n, 3, 3]."""
    A = _as_matrices(A)
    inverses, dets = np.empty_like(A), np.empty(len(A))
    _inverse_each.variant(len(A) >= 8 * _PARALLEL_FROM)(A, inverses, dets)
    return inverses, dets
