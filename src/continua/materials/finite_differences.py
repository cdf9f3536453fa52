"""Derivatives of a user's energy by central differences of fourth order, and the kernels made from them.

The energy of a law is smooth and of order one in F, so a step of a few thousandths leaves an error of about 1e-12 in
the stress and 1e-9 in the tangent, relative to the stiffness. These kernels are not cached: a user's function may refer
to anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import prange

from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.materials.spd_projection import project_spd
from continua.numerics.kernel import KernelPair

__all__ = [
    "STEP",
    "STRETCH_STEP",
    "UserKernels",
    "compiled",
    "point_of_energy",
    "point_of_principal",
    "point_of_stress",
]

STEP = 2e-3  # in F
STRETCH_STEP = 1e-3  # in a principal stretch, which may be as small as 0.25
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


def compiled(function: Callable) -> Any:
    """Compile a user's function unless it is compiled already."""
    return function if hasattr(function, "py_func") else numba.njit(**_OPTIONS)(function)


class UserKernels(KernelPair):
    """The pair of kernels that evaluates a user's law at points; compiled in each process."""

    def __init__(self, point: Any) -> None:
        def points(coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted):
            for chunk in prange(inverted.shape[0]):
                inverted[chunk] = fill_points(
                    point,
                    coefficients,
                    elements,
                    gradients,
                    plane,
                    constants,
                    plastic,
                    definite,
                    records,
                    chunk,
                )

        self.serial = numba.njit(**_OPTIONS)(points)
        self.parallel = numba.njit(parallel=True, **_OPTIONS)(points)


@numba.njit(**_OPTIONS)
def _matrix(F):
    A = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            A[i, j] = F[3 * i + j]
    return A


@numba.njit(**_OPTIONS)
def _tuple(A):
    return (A[0, 0], A[0, 1], A[0, 2], A[1, 0], A[1, 1], A[1, 2], A[2, 0], A[2, 1], A[2, 2])


def point_of_energy(energy: Any, named: Any) -> Any:
    """Return the point function of a law given by its energy(F, p) alone."""

    @numba.njit(**_OPTIONS)
    def perturbed(A, c, i, s, j, t):
        x, y = A[i // 3, i % 3], A[j // 3, j % 3]
        A[i // 3, i % 3] += s
        A[j // 3, j % 3] += t
        value = energy(A, c)
        A[i // 3, i % 3] = x
        A[j // 3, j % 3] = y
        return value

    @numba.njit(**_OPTIONS)
    def point(F, p, definite, T):
        A, c, h = _matrix(F), named(p), STEP
        P = np.empty((3, 3))
        e = energy(A, c)
        for i in range(9):
            P[i // 3, i % 3] = 0.0
            T[i, i] = -30.0 * e / (12.0 * h * h)
            for k in (1.0, -1.0, 2.0, -2.0):
                value = perturbed(A, c, i, k * h, i, 0.0) / (12.0 * h)
                near = abs(k) == 1.0
                P[i // 3, i % 3] += value * (8.0 * k if near else -0.5 * k)
                T[i, i] += value * (16.0 if near else -1.0) / h
            for j in range(i):
                total = 0.0
                for k in (1.0, -1.0, 2.0, -2.0):
                    pair = perturbed(A, c, i, k * h, j, abs(k) * h) - perturbed(
                        A, c, i, k * h, j, -abs(k) * h
                    )
                    total += pair * (16.0 * k if abs(k) == 1.0 else -0.5 * k)
                T[i, j] = total / (48.0 * h * h)
                T[j, i] = T[i, j]
        if definite:
            project_spd(T)
        return e, _tuple(P)

    return point


def point_of_stress(energy: Any, stress: Any, tangent: Any | None, named: Any) -> Any:
    """Return the point function of a law given by energy(F, p), stress(F, p) and perhaps tangent(F, p)."""

    @numba.njit(**_OPTIONS)
    def differences(A, c, T):
        h = 0.5 * STEP
        for j in range(9):
            x = A[j // 3, j % 3]
            for s, w in ((h, 8.0), (-h, -8.0), (2.0 * h, -1.0), (-2.0 * h, 1.0)):
                A[j // 3, j % 3] = x + s
                P = stress(A, c)
                for i in range(9):
                    value = w / (12.0 * h) * P[i // 3, i % 3]
                    T[i, j] = value if w == 8.0 else T[i, j] + value
            A[j // 3, j % 3] = x

    @numba.njit(**_OPTIONS)
    def given(A, c, T):
        D = tangent(A, c)
        for i in range(9):
            for j in range(9):
                T[i, j] = D[i, j]

    slope = differences if tangent is None else given

    @numba.njit(**_OPTIONS)
    def point(F, p, definite, T):
        A, c = _matrix(F), named(p)
        e, P = energy(A, c), _tuple(stress(A, c))
        slope(A, c, T)
        for i in range(9):
            for j in range(i):
                value = 0.5 * (T[i, j] + T[j, i])
                T[i, j] = value
                T[j, i] = value
        if definite:
            project_spd(T)
        return e, P

    return point


def point_of_principal(energy: Any, limit: float, named: Any) -> Any:
    """Return the point function of a law given by an energy(f, p) of the principal stretches f (a tuple of 3)."""

    @numba.njit(**_OPTIONS)
    def along(f0, f1, f2, c, d0, d1, d2, e):
        """First and second derivative along one axis."""
        h = STRETCH_STEP
        a = energy((f0 + h * d0, f1 + h * d1, f2 + h * d2), c)
        b = energy((f0 - h * d0, f1 - h * d1, f2 - h * d2), c)
        u = energy((f0 + 2.0 * h * d0, f1 + 2.0 * h * d1, f2 + 2.0 * h * d2), c)
        v = energy((f0 - 2.0 * h * d0, f1 - 2.0 * h * d1, f2 - 2.0 * h * d2), c)
        return (8.0 * (a - b) - (u - v)) / (12.0 * h), (16.0 * (a + b) - (u + v) - 30.0 * e) / (12.0 * h * h)

    @numba.njit(**_OPTIONS)
    def principal(f0, f1, f2, p):
        c = named(p)
        e = energy((f0, f1, f2), c)
        g0, h00 = along(f0, f1, f2, c, 1.0, 0.0, 0.0, e)
        g1, h11 = along(f0, f1, f2, c, 0.0, 1.0, 0.0, e)
        g2, h22 = along(f0, f1, f2, c, 0.0, 0.0, 1.0, e)
        # the second derivative along a diagonal is the sum of those along the axes and twice the mixed one
        h01 = 0.5 * (along(f0, f1, f2, c, 1.0, 1.0, 0.0, e)[1] - h00 - h11)
        h02 = 0.5 * (along(f0, f1, f2, c, 1.0, 0.0, 1.0, e)[1] - h00 - h22)
        h12 = 0.5 * (along(f0, f1, f2, c, 0.0, 1.0, 1.0, e)[1] - h11 - h22)
        return e, (g0, g1, g2), (h00, h11, h22, h01, h02, h12)

    @numba.njit(**_OPTIONS)
    def point(F, p, definite, T):
        return principal_point(principal, limit, F, p, definite, T)

    return point
