"""Compiled return mapping of multiplicative plasticity, point by point.

F = Fe Fp. The elastic part Fe = U diag(f) V^T may have logarithmic stretches e = log f of a norm up to the yield
strain. The excess flows: with the plastic increment p along e,

    Fp+ = V diag(exp p) V^T Fp,     Fe+ = U diag(exp(e - p)) V^T,

so that the intermediate configuration keeps its orientation, which fibres need. Where Fe is inverted nothing flows:
that is an artefact of the mesh, which the law reverses.
"""

from __future__ import annotations

from math import exp, log, sqrt

from numba import prange

from continua.materials.point_kernels import CHUNK, deformation_gradient
from continua.numerics import inline, kernel_pair
from continua.numerics.mat3 import det3, eigen_symmetric, inverse3, matmul3, signed_svd, transpose3

_BISECTIONS = 50
_FLAT = 1e-5  # stretches below this are clamped before taking the logarithm


@inline
def _load(A, e, q):
    return (
        A[e, q, 0], A[e, q, 1], A[e, q, 2], A[e, q, 3], A[e, q, 4], A[e, q, 5], A[e, q, 6], A[e, q, 7], A[e, q, 8],
    )  # fmt: skip


@inline
def _around(Q, a, b, c):
    """Return Q diag(a, b, c) Q^T."""
    scaled = (
        a * Q[0], b * Q[1], c * Q[2], a * Q[3], b * Q[4], c * Q[5], a * Q[6], b * Q[7], c * Q[8],
    )  # fmt: skip
    return matmul3(scaled, transpose3(Q))


@inline
def _logarithm(F):
    """Return log of the right stretch of F: its six entries (00, 11, 22, 01, 02, 12)."""
    _, f, V = signed_svd(F)
    L = _around(V, log(max(f[0], _FLAT)), log(max(f[1], _FLAT)), log(max(f[2], _FLAT)))
    return L[0], L[4], L[8], L[1], L[2], L[5]


@inline
def _product(a, b):
    """Return the inner product of two symmetric matrices, each (00, 11, 22, 01, 02, 12)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + 2.0 * (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@inline
def _limited(A, limit, by_norm):
    """Return the inverse A of a plastic deformation with its stretches kept within the limit.

    Either each stretch is kept between 1/limit and limit, or the norm of their logarithms below log(limit).
    """
    U, s, V = signed_svd(A)
    l0, l1, l2 = log(max(s[0], _FLAT)), log(max(s[1], _FLAT)), log(max(s[2], _FLAT))
    most = log(limit)
    if by_norm:
        norm = sqrt(l0 * l0 + l1 * l1 + l2 * l2)
        if norm <= most and s[2] > 0.0:
            return A
        k = min(1.0, most / norm)
        l0, l1, l2 = k * l0, k * l1, k * l2
    elif l0 <= most and l2 >= -most and s[2] > 0.0:
        return A
    else:
        l0, l1, l2 = min(max(l0, -most), most), min(max(l1, -most), most), min(max(l2, -most), most)
    a, b, c = exp(l0), exp(l1), exp(l2)
    scaled = (
        a * U[0], b * U[1], c * U[2], a * U[3], b * U[4], c * U[5], a * U[6], b * U[7], c * U[8],
    )  # fmt: skip
    return matmul3(scaled, transpose3(V))


@inline
def _size(start, d, t, by_norm):
    """Return the norm of the logarithm start + t d, or its largest eigenvalue by magnitude."""
    a, b, c = start[0] + t * d[0], start[1] + t * d[1], start[2] + t * d[2]
    p, q, r = start[3] + t * d[3], start[4] + t * d[4], start[5] + t * d[5]
    if by_norm:
        return sqrt(a * a + b * b + c * c + 2.0 * (p * p + q * q + r * r))
    w, _ = eigen_symmetric(a, p, q, b, r, c)
    return max(abs(w[0]), abs(w[1]), abs(w[2]))


@inline
def _towards(A, trial, goal, limit, by_norm):
    """Return the inverse plastic deformation between A and `trial` whose logarithm is nearest to `goal`.

    It stays within the limit: the logarithms within it are a convex set, so that it ends the segment from A.
    """
    start = _logarithm(inverse3(A)[0])
    end = _logarithm(inverse3(trial)[0])
    d = (
        end[0] - start[0], end[1] - start[1], end[2] - start[2],
        end[3] - start[3], end[4] - start[4], end[5] - start[5],
    )  # fmt: skip
    g = (
        goal[0] - start[0], goal[1] - start[1], goal[2] - start[2],
        goal[3] - start[3], goal[4] - start[4], goal[5] - start[5],
    )  # fmt: skip
    t = _product(g, d) / max(_product(d, d), 1e-300)
    if not t > 0.0:
        return A
    t = min(t, 1.0)
    most = max(log(limit), _size(start, d, 0.0, by_norm))
    if _size(start, d, t, by_norm) > most:
        low, high = 0.0, t
        for _ in range(_BISECTIONS):
            t = 0.5 * (low + high)
            if _size(start, d, t, by_norm) > most:
                high = t
            else:
                low = t
        t = low
    w, Q = eigen_symmetric(
        start[0] + t * d[0], start[3] + t * d[3], start[4] + t * d[4],
        start[1] + t * d[1], start[5] + t * d[5], start[2] + t * d[2],
    )  # fmt: skip
    return _around(Q, exp(-w[0]), exp(-w[1]), exp(-w[2]))


@inline
def _flow(F, A, strain, strength, hardening, decay, preserve):
    """Return the inverse plastic deformation after the return to the yield surface, and the plastic increment."""
    _, f, V = signed_svd(matmul3(F, A))
    if f[2] <= 0.0:
        return A, 0.0
    e0, e1, e2 = log(max(f[0], _FLAT)), log(max(f[1], _FLAT)), log(max(f[2], _FLAT))
    if preserve:
        mean = (e0 + e1 + e2) / 3.0
        e0, e1, e2 = e0 - mean, e1 - mean, e2 - mean
    norm = sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    bound = strength + hardening * strain
    if norm <= bound:
        return A, 0.0
    # the yield strain grows with the flow itself, and what exceeds it decays
    end = (bound + hardening * norm) / (1.0 + hardening)
    left = end + (norm - end) * decay
    k = 1.0 - left / norm
    B = _around(V, exp(-k * e0), exp(-k * e1), exp(-k * e2))
    return matmul3(A, B), norm - left


@kernel_pair
def return_mapping(
    coefficients, elements, gradients, plane, strength, hardening, decay, preserve, limit, by_norm, goal,
    plastic, strain,
):  # fmt: skip
    """Let every point flow to its yield surface.

    Args:
        coefficients: Current positions [n, 3].
        elements: Nodes of the elements [m, k].
        gradients: Gradients of the shape functions at the points [m, q, k, 3].
        plane: 1 for plane bodies, else 0.
        strength: Yield strain at the start.
        hardening: What the yield strain grows by the plastic strain.
        decay: Part of the elastic strain above the yield strain that is left after this step; 0 flows at once.
        preserve: Whether only the part of the strain that keeps the volume counts and flows.
        limit: Largest plastic stretch.
        by_norm: Whether the limit is one of the norm of the logarithms.
        goal: Logarithms of the stretches to go towards [m, q, 6], or None.
        plastic: Inverse plastic deformation [m, q, 9], changed in place.
        strain: Accumulated plastic strain [m, q], changed in place.
    """
    m = elements.shape[0]
    for chunk in prange((m + CHUNK - 1) // CHUNK):
        for e in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            for q in range(gradients.shape[1]):
                F = deformation_gradient(coefficients, elements, gradients, plane, e, q)
                A = _load(plastic, e, q)
                B, gain = _flow(F, A, strain[e, q], strength, hardening, decay, preserve)
                if gain == 0.0:
                    continue
                if goal is not None:
                    target = (
                        goal[e, q, 0], goal[e, q, 1], goal[e, q, 2], goal[e, q, 3], goal[e, q, 4], goal[e, q, 5],
                    )  # fmt: skip
                    B = _towards(A, B, target, limit, by_norm)
                else:
                    B = _limited(B, limit, by_norm)
                if preserve:
                    scale = det3(B) ** (-1.0 / 3.0)
                    B = (
                        scale * B[0], scale * B[1], scale * B[2], scale * B[3], scale * B[4],
                        scale * B[5], scale * B[6], scale * B[7], scale * B[8],
                    )  # fmt: skip
                # what has really flowed, from the old plastic shape to the new one
                done = _logarithm(matmul3(inverse3(A)[0], B))
                strain[e, q] += sqrt(_product(done, done))
                for c in range(9):
                    plastic[e, q, c] = B[c]


@kernel_pair
def deformations(coefficients, elements, gradients, plane, result):
    """Set `result` [m, q, 9] to the deformation gradients."""
    for e in prange(elements.shape[0]):
        for q in range(gradients.shape[1]):
            F = deformation_gradient(coefficients, elements, gradients, plane, e, q)
            for c in range(9):
                result[e, q, c] = F[c]
