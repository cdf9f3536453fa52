"""Where a cell is sampled along an axis, and polynomials that are orthonormal on those samples."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

__all__ = [
    "SamplingRule",
    "coefficient_count",
    "exponents",
    "legendre_to_monomial",
    "orthonormal",
    "rule",
    "within",
]


class SamplingRule(NamedTuple):
    """Samples along one axis of a cell, from -1 to 1: a Gauss rule in each half, so that children can use them.

    Attributes:
        places: Where they are, shape [s].
        weights: Their weights, with sum 1, shape [s].
        matrix: Values of polynomials that are orthonormal on the samples, times the weights, shape [P + 1, s].
        half_weights: Weights of the samples of one half, with sum 1, shape [s / 2].
        half_matrix: As `matrix`, for one half, shape [Q + 1, s / 2].
        to_legendre: Turns coefficients of `matrix` into those of orthonormal Legendre polynomials, [P + 1, P + 1].
    """

    places: NDArray[np.float64]
    weights: NDArray[np.float64]
    matrix: NDArray[np.float64]
    half_weights: NDArray[np.float64]
    half_matrix: NDArray[np.float64]
    to_legendre: NDArray[np.float64]

    @property
    def degree(self) -> int:
        """Largest degree that the samples determine well."""
        return len(self.matrix) - 1


def orthonormal(degree: int, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sqrt(2 k + 1) L_k(x) for k = 0 ... `degree`: their mean square on [-1, 1] is 1; shape [degree + 1, n]."""
    return (legendre.legvander(x, degree) * np.sqrt(2.0 * np.arange(degree + 1) + 1.0)).T


@cache
def rule(count: int) -> SamplingRule:
    """Return the rule with `count` samples along an axis, an even number; it fits degrees up to `count` - 2."""
    half = count // 2
    x, w = legendre.leggauss(half)
    places = np.concatenate([0.5 * x - 0.5, 0.5 * x + 0.5])
    half_weights = 0.5 * w
    weights = 0.5 * np.concatenate([half_weights, half_weights])
    q, r = np.linalg.qr(np.sqrt(weights)[:, None] * orthonormal(count - 2, places).T)
    signs = np.sign(np.diag(r))
    q, r = q * signs, r * signs[:, None]
    return SamplingRule(
        places,
        weights,
        np.ascontiguousarray(q.T * np.sqrt(weights)),
        half_weights,
        orthonormal(half - 1, x) * half_weights,
        np.triu(np.linalg.inv(r)),
    )


def coefficient_count(degree: NDArray | int) -> NDArray | int:
    """Return how many products of three polynomials have a total degree of at most `degree`."""
    return (degree + 1) * (degree + 2) * (degree + 3) // 6


@cache
def exponents(degree: int) -> NDArray[np.int64]:
    """Return all (i, j, k) with i + j + k <= degree in lexicographic order, shape [m, 3]."""
    cube = np.stack(np.meshgrid(*[np.arange(degree + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return cube[cube.sum(axis=1) <= degree]


@cache
def within(degree: int, smaller: int) -> NDArray[np.int64]:
    """Return which of the coefficients of `degree` are those of a smaller degree."""
    return np.flatnonzero(exponents(degree).sum(axis=1) <= smaller)


@cache
def legendre_to_monomial(degree: int) -> NDArray[np.float64]:
    """Return the matrix from coefficients of orthonormal Legendre polynomials to those of powers."""
    matrix = np.zeros((degree + 1, degree + 1))
    for k in range(degree + 1):
        powers = legendre.leg2poly([0.0] * k + [np.sqrt(2.0 * k + 1.0)])
        matrix[: len(powers), k] = powers
    return matrix
