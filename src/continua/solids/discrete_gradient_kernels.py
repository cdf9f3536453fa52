"""Compiled functions of the discrete gradient; see `discrete_gradient`. Points have the records of `point_kernels`."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.materials.point_kernels import pull_back
from continua.numerics import inline, kernel_pair
from continua.numerics.mat3 import det3, eigen_symmetric, inverse3, matmul3, matvec3, rotation, transpose3

__all__ = ["discrete_stress", "mean_gradients"]

FLAT = 20.0
"""Norm of the inverse of the mean deformation above which a point is too flat for a stress in the rest frame."""


@inline
def _load(A, e, q, first):
    return (
        A[e, q, first], A[e, q, first + 1], A[e, q, first + 2],
        A[e, q, first + 3], A[e, q, first + 4], A[e, q, first + 5],
        A[e, q, first + 6], A[e, q, first + 7], A[e, q, first + 8],
    )  # fmt: skip


@inline
def _mean(A, B):
    return (
        0.5 * (A[0] + B[0]), 0.5 * (A[1] + B[1]), 0.5 * (A[2] + B[2]),
        0.5 * (A[3] + B[3]), 0.5 * (A[4] + B[4]), 0.5 * (A[5] + B[5]),
        0.5 * (A[6] + B[6]), 0.5 * (A[7] + B[7]), 0.5 * (A[8] + B[8]),
    )  # fmt: skip


@inline
def _inner(A, B):
    return (
        A[0] * B[0] + A[1] * B[1] + A[2] * B[2]
        + A[3] * B[3] + A[4] * B[4] + A[5] * B[5]
        + A[6] * B[6] + A[7] * B[7] + A[8] * B[8]
    )  # fmt: skip


@inline
def _sum(A, s, B):
    return (
        A[0] + s * B[0], A[1] + s * B[1], A[2] + s * B[2],
        A[3] + s * B[3], A[4] + s * B[4], A[5] + s * B[5],
        A[6] + s * B[6], A[7] + s * B[7], A[8] + s * B[8],
    )  # fmt: skip


@inline
def _without_spin(F, A):
    """Return A less the nearest W F with skew W; so its product with F^T is symmetric."""
    B = matmul3(F, transpose3(F))
    trace = B[0] + B[4] + B[8]
    least = 1e-14 * trace + 1e-300
    G, _ = inverse3((
        trace - B[0] + least, -B[1], -B[2],
        -B[3], trace - B[4] + least, -B[5],
        -B[6], -B[7], trace - B[8] + least,
    ))  # fmt: skip
    K = matmul3(A, transpose3(F))
    w0, w1, w2 = matvec3(G, (K[7] - K[5], K[2] - K[6], K[3] - K[1]))
    return _sum(A, -1.0, matmul3((0.0, -w2, w1, w2, 0.0, -w0, -w1, w0, 0.0), F))


@kernel_pair
def mean_gradients(start, records, plastic, invariant, coefficients):
    """Write the deformation gradient at which the mean stress of a step is evaluated, column by column.

    For laws that are invariant under rotations it is R U: U^2 the mean of F^T F before and after, R the rotation of the
    mean F. For others it is the mean F.

    Args:
        start: F before the step, and the energy density [m, q, 10].
        records: Of the points after the step [m, q, 64].
        plastic: Inverse plastic deformation at the points [m, q, 9], or None.
        invariant: Whether the law is invariant under rotations.
        coefficients: Result [3 m q, 3].
    """
    points = records.shape[1]
    for e in prange(records.shape[0]):
        for q in range(points):
            before, after = _load(start, e, q, 0), _load(records, e, q, 0)
            if plastic is not None:
                inverse = _load(plastic, e, q, 0)
                before, after = matmul3(before, inverse), matmul3(after, inverse)
            F = _mean(before, after)
            if invariant:
                C = _mean(matmul3(transpose3(before), before), matmul3(transpose3(after), after))
                square, V = eigen_symmetric(C[0], C[1], C[2], C[4], C[5], C[8])
                l0, l1, l2 = sqrt(max(square[0], 0.0)), sqrt(max(square[1], 0.0)), sqrt(max(square[2], 0.0))
                if det3(F) < 0.0:
                    l2 = -l2
                D = (l0, 0.0, 0.0, 0.0, l1, 0.0, 0.0, 0.0, l2)
                F = matmul3(rotation(F), matmul3(V, matmul3(D, transpose3(V))))
            for k in range(3):
                for c in range(3):
                    coefficients[3 * (e * points + q) + k, c] = F[3 * c + k]


@kernel_pair
def discrete_stress(start, mean, plastic, invariant, resolution, records):
    """Replace the stress at the points by the one whose work over the step is the change of the energy.

    Args:
        start: F before the step, and the energy density [m, q, 10].
        mean: Records of the law at the mean deformation gradients [m q, 1, 64].
        plastic: Inverse plastic deformation at the points [m, q, 9], or None.
        invariant: Whether the law is invariant under rotations.
        resolution: Change of strain below which rounding hides the change of the energy.
        records: Of the points after the step [m, q, 64]; gets the stress, and the tangent of the mean stress.
    """
    points = records.shape[1]
    for e in prange(records.shape[0]):
        T = np.empty((9, 9))
        for q in range(points):
            i = e * points + q
            before, after = _load(start, e, q, 0), _load(records, e, q, 0)
            change = records[e, q, 63] - start[e, q, 9]
            if plastic is not None:
                inverse = _load(plastic, e, q, 0)
                before, after = matmul3(before, inverse), matmul3(after, inverse)
                change *= det3(inverse)
            F, P = _mean(before, after), _load(mean, i, 0, 9)
            rest, _ = inverse3(_load(mean, i, 0, 0))
            turned = det3(before) * det3(after) <= 0.0
            if invariant and not turned and _inner(rest, rest) < FLAT * FLAT:
                S = matmul3(rest, P)
                S = _mean(S, transpose3(S))
                growth = _sum(matmul3(transpose3(after), after), -1.0, matmul3(transpose3(before), before))
                size = _inner(growth, growth)
                missing = change - 0.5 * _inner(S, growth)
                kappa = 2.0 * missing * size / (size * size + resolution**4)
                P = matmul3(F, _sum(S, kappa, growth))
            else:
                growth = _sum(after, -1.0, before)
                if invariant:
                    P, growth = _without_spin(F, P), _without_spin(F, growth)
                size = _inner(growth, growth)
                missing = change - _inner(P, growth)
                P = _sum(P, missing * size / (size * size + resolution**4), growth)
            k = 18
            for r in range(9):
                for c in range(r, 9):
                    T[r, c] = mean[i, 0, k]
                    T[c, r] = T[r, c]
                    k += 1
            if plastic is not None:
                P, _ = pull_back(P, inverse, T)
            for c in range(9):
                records[e, q, 9 + c] = P[c]
            k = 18
            for r in range(9):
                for c in range(r, 9):
                    records[e, q, k] = T[r, c]
                    k += 1
