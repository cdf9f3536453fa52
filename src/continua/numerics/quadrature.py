"""Points and weights of numerical integration on the reference cells."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

__all__ = ["gauss_cube", "tet_rule"]

# Symmetric rules on a tetrahedron, as orbits: a number a, how many coordinates have it, and the weight of a point.
# Three coordinates leave 1 - 3 a for the last; two leave 1/2 - a for the other two.
_TET_ORBITS = {
    1: ((0.25, 3, 1.0),),
    2: ((0.13819660112501052, 3, 0.25),),  # degree 2, four points
    3: (  # degree 5, fourteen points with positive weights (Walkington 2000)
        (0.310885919263300610, 3, 0.112687925718015851),
        (0.092735250310891226, 3, 0.073493043116361950),
        (0.045503704125649649, 2, 0.042546020777081466),
    ),
}


def tet_rule(order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points [q, 4] (barycentric) and weights [q] (sum 1) for products of gradients of the given degree."""
    points, weights = [], []
    for a, times, weight in _TET_ORBITS[order]:
        coordinates = (a, a, a, 1.0 - 3.0 * a) if times == 3 else (a, a, 0.5 - a, 0.5 - a)
        orbit = sorted(set(permutations(coordinates)))
        points += orbit
        weights += [weight] * len(orbit)
    return np.array(points), np.array(weights) / np.sum(weights)


def gauss_cube(count: int, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Gauss points [q, d] on [-1, 1]^d and their weights [q], `count` along each axis."""
    x, w = np.polynomial.legendre.leggauss(count)
    points = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = np.prod(np.stack(np.meshgrid(*[w] * dimension, indexing="ij"), axis=-1), axis=-1).ravel()
    return points, weights
