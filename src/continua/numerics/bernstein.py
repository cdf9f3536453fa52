"""Bernstein-Bezier basis on a tetrahedron: exact integrals as small tables, no quadrature (Weber 2015, ch. 2).

A polynomial of degree p on a tetrahedron has one coefficient for each multi-index I = (i, j, k, l) with
i + j + k + l = p; the basis function is B_I = p!/(i! j! k! l!) b0^i b1^j b2^k b3^l in barycentric coordinates b.
Integrals of products depend on the element only through its volume and the gradients of b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import comb, factorial, prod

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "TET_EDGES",
    "TET_FACES",
    "BernsteinTables",
    "bernstein_slopes",
    "bernstein_tables",
    "bernstein_values",
]

TET_EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
"""Edges of a tetrahedron in the order, and with the direction, in which VTK numbers the nodes on them."""

TET_FACES = ((0, 1, 3), (1, 2, 3), (0, 2, 3), (0, 1, 2))
"""Faces of a tetrahedron in the order in which VTK numbers the nodes on them."""

_UNITS = np.eye(4, dtype=int)


@dataclass(frozen=True, eq=False)
class BernsteinTables:
    """Everything an element of one degree needs that does not depend on its shape.

    Attributes:
        order: Polynomial degree p.
        indices: Multi-indices in local node order, shape [k, 4]: that of VTK's Lagrange tetrahedron, which is
            corners, then edges, each from its first end to its second, then faces.
        mass: Integral of B_I B_J over a tetrahedron of volume 1, shape [k, k].
        stiffness: Integral of dB_I/db_c dB_J/db_d over volume 1, shape [4, 4, k, k].
        mean: Volume mean of dB_I/db_c, shape [4, k].
        nodal: Value of B_J at node I, shape [k, k]: turns coefficients into values at nodes.
        inverse: Inverse of `nodal`: turns values at nodes into coefficients. A node on an edge or a face has
            zeros in both but for the nodes of that edge or face.
        slopes: dB_J/db_c at node I, shape [k, k, 4].
        parts: Number of the multi-index I - e_c of degree p - 1, or -1 where there is none, shape [k, 4].
        inner_mass: p^2 times the integral of B_I B_J of degree p - 1 over volume 1.
    """

    order: int
    indices: NDArray[np.int64]
    mass: NDArray[np.float64]
    stiffness: NDArray[np.float64]
    mean: NDArray[np.float64]
    nodal: NDArray[np.float64]
    inverse: NDArray[np.float64]
    slopes: NDArray[np.float64]
    parts: NDArray[np.int64]
    inner_mass: NDArray[np.float64]

    @cached_property
    def block_terms(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Which integrals make up the stiffness of the pairs of nodes I <= J, without the zeros.

        Returns:
            Groups of pairs with the same number of terms [g, 4]: that number, first pair, end, first term; for each
            pair where its block starts in a matrix [k, k, 9]; for each term where its block (c, d) starts in
            [4, 4, 9], and its weight `stiffness[c, d, I, J]`.
        """
        k = len(self.indices)
        return _grouped_terms(self.stiffness.reshape(16, k, k))

    @cached_property
    def moment_terms(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """As `block_terms`, for a stiffness that varies inside the element: a sum of its moments [h, 4, 4, 9].

        With E_cd the stiffness density for the slopes of corners c and d, the moments are the integrals of B_H E_cd
        over volume 1, H the indices of degree 2 (p - 1): the product of dB_I/db_c and dB_J/db_d is p^2 G B_H with
        H = I + J - e_c - e_d.
        """
        k, p = len(self.indices), self.order
        places = {H: number for number, H in enumerate(_all_indices(2 * (p - 1)))}
        table = np.zeros((len(places), 4, 4, k, k))
        for a, I in enumerate(self.indices):
            for b, J in enumerate(self.indices):
                for c in range(4):
                    for d in range(4):
                        weight = _product_weight(I - _UNITS[c], J - _UNITS[d])
                        if weight:
                            H = tuple((I + J - _UNITS[c] - _UNITS[d]).tolist())
                            table[places[H], c, d, a, b] = p * p * weight
        return _grouped_terms(table.reshape(-1, k, k))


def _all_indices(degree: int) -> list[tuple[int, ...]]:
    """Return the multi-indices of a degree."""
    return [I for I in np.ndindex((degree + 1,) * 4) if sum(I) == degree]


def _grouped_terms(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the sums of blocks t with the weights `table[t, I, J]`, see `BernsteinTables.block_terms`."""
    k = table.shape[1]
    rows, columns = np.triu_indices(k)
    pairs = table[:, rows, columns].T
    counts = (pairs != 0.0).sum(axis=1)
    order = np.argsort(counts, kind="stable")
    pairs, places = pairs[order], 9 * (k * rows + columns)[order]
    sizes, first = np.unique(counts[order], return_index=True)
    end = np.append(first[1:], len(order))
    start = np.concatenate([[0], np.cumsum(sizes * (end - first))[:-1]])
    groups = np.stack([sizes, first, end, start], axis=1)
    used = pairs != 0.0
    return (
        groups.astype(np.int32),
        places.astype(np.int32),
        (9 * np.nonzero(used)[1]).astype(np.int32),
        np.ascontiguousarray(pairs[used]),
    )


def _product_weight(I: NDArray, J: NDArray) -> float:
    """Return G with B_I B_J = G B_{I+J} (zero where an index is negative)."""
    if I.min() < 0 or J.min() < 0:
        return 0.0
    p, q = int(I.sum()), int(J.sum())
    return prod(comb(int(a + b), int(a)) for a, b in zip(I, J, strict=True)) / comb(p + q, p)


def _value(I: NDArray, b: NDArray) -> float:
    """Return B_I at barycentric coordinates b (zero where an index is negative)."""
    if I.min() < 0:
        return 0.0
    multinomial = factorial(int(I.sum())) / prod(factorial(int(i)) for i in I)
    return float(multinomial * np.prod(b ** I.astype(float)))


@cache
def bernstein_tables(order: int) -> BernsteinTables:
    """Return the tables of degree 1, 2 or 3."""
    if order not in (1, 2, 3):
        raise ValueError(f"Bernstein tables exist for orders 1, 2 and 3, not {order}")
    p = order
    indices = [p * _UNITS[c] for c in range(4)]
    indices += [(p - t) * _UNITS[a] + t * _UNITS[b] for a, b in TET_EDGES for t in range(1, p)]
    if p == 3:
        indices += [_UNITS[list(face)].sum(axis=0) for face in TET_FACES]
    k = len(indices)
    mass = np.array([[_product_weight(I, J) for J in indices] for I in indices]) / comb(2 * p + 3, 3)
    stiffness = np.zeros((4, 4, k, k))
    mean = np.zeros((4, k))
    slopes = np.zeros((k, k, 4))
    lower = _all_indices(p - 1)
    places = {I: number for number, I in enumerate(lower)}
    parts = np.full((k, 4), -1)
    for a, I in enumerate(indices):
        for c in range(4):
            parts[a, c] = places.get(tuple(I - _UNITS[c]), -1)
            mean[c, a] = p / comb(p + 2, 3) if I[c] > 0 else 0.0
            for b, J in enumerate(indices):
                slopes[b, a, c] = p * _value(I - _UNITS[c], J / p)
                for d in range(4):
                    weight = _product_weight(I - _UNITS[c], J - _UNITS[d])
                    stiffness[c, d, a, b] = p * p * weight / comb(2 * p + 1, 3)
    nodal = np.array([[_value(J, I / p) for J in indices] for I in indices])
    inner = [[_product_weight(np.array(I), np.array(J)) for J in lower] for I in lower]
    inner_mass = p * p * np.array(inner) / comb(2 * p + 1, 3)
    inverse = np.linalg.inv(nodal)
    inverse[nodal == 0.0] = 0.0  # the same zeros, but for rounding
    return BernsteinTables(
        p, np.array(indices), mass, stiffness, mean, nodal, inverse, slopes, parts, inner_mass
    )


def bernstein_slopes(order: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return dB_I/db_c at points given by barycentric coordinates [q, 4], shape [q, k, 4]."""
    indices = bernstein_tables(order).indices
    return np.array(
        [[[order * _value(I - _UNITS[c], b) for c in range(4)] for I in indices] for b in np.asarray(points)]
    )


def bernstein_values(degree: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all B_I of a degree, in the order of `parts`, at barycentric coordinates [q, 4], shape [q, r]."""
    indices = np.array(_all_indices(degree))
    return np.array([[_value(I, b) for I in indices] for b in np.asarray(points)])
