"""A change of unknowns that makes values of a Bernstein field unknowns, so that solvers can prescribe them.

The coefficients are c = T y. For some nodes on edges and faces y is the value of the field there, for all others it is
the coefficient. A linear system A c = b becomes T^T A T y = T^T b. The value at a node depends on the coefficients of
its edge or face only, whose nodes are coupled to all neighbours of the node: T^T A T has the pattern of A.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.linalg import basis_change_kernels
from continua.linalg.matrix import BlockMatrix

__all__ = ["BasisChange"]

_EDGE = 4  # most coefficients on which the value at a node of an edge depends


class BasisChange:
    """The change of unknowns c = T y.

    Args:
        nodes: Nodes whose values are unknowns, sorted, shape [h].
        values: The values there as functions of the coefficients, shape [h, n].

    Attributes:
        nodes: The nodes.
        to_coefficients: Their rows of T, shape [h, n]; the others are those of the identity.
    """

    def __init__(self, nodes: NDArray[np.int32], values: sparse.csr_array) -> None:
        self.nodes = nodes
        self._values = values
        self.to_coefficients = _eliminated(nodes, values)
        self._matrix: BlockMatrix | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_matrix": None}

    def coefficients(self, unknowns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return T y for y [n, ...]."""
        result = unknowns.copy()
        result[self.nodes] = _product(self.to_coefficients, unknowns)
        return result

    def unknowns(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y for the coefficients T y [n, ...]."""
        result = coefficients.copy()
        result[self.nodes] = _product(self._values, coefficients)
        return result

    def loads(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return T^T f: the forces on the unknowns that do the same work as forces on the coefficients [n, 3]."""
        result = forces.copy()
        result[self.nodes] = 0.0
        result += self.to_coefficients.T @ forces[self.nodes]
        return result

    def forces(self, loads: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the forces f on the coefficients for which T^T f is `loads` [n, 3]."""
        result = loads.copy()
        result[self.nodes] = 0.0
        result += self._values.T @ loads[self.nodes]
        return result

    def matrix(self, matrix: BlockMatrix) -> BlockMatrix:
        """Return T^T A T for a symmetric matrix A whose pattern is that of the elements.

        The next call for a matrix of the same pattern overwrites the result.
        """
        p, rows = matrix.pattern, self.to_coefficients
        if self._matrix is None or self._matrix.pattern is not p:
            self._matrix = BlockMatrix(p)
        result = self._matrix
        result.blocks[:] = matrix.blocks
        result.positions = matrix.positions
        count = int((p.indptr[self.nodes + 1] - p.indptr[self.nodes]).sum())
        basis_change_kernels.congruence(
            p.indptr, p.indices, self.nodes, rows.indptr, rows.indices, rows.data, result.blocks,
            np.empty((count, 9)),
        )  # fmt: skip
        return result


def _product(rows: sparse.csr_array, values: NDArray[np.float64]) -> NDArray[np.float64]:
    flat = rows @ values.reshape(len(values), -1)
    return np.asarray(flat).reshape(-1, *values.shape[1:])


def _eliminated(nodes: NDArray[np.int32], values: sparse.csr_array) -> sparse.csr_array:
    """Return the coefficients of `nodes` as functions of the values there and the other coefficients, shape [h, n].

    The value on an edge depends on at most one other of the nodes, its neighbour on a cubic edge; that on a face on
    nodes of its edges, which are eliminated first.
    """
    n = values.shape[1]
    result = sparse.csr_array(sparse.eye_array(n, format="csr"))
    is_on_face = np.diff(values.indptr) > _EDGE
    for part in (np.flatnonzero(~is_on_face), np.flatnonzero(is_on_face)):
        if not len(part):
            continue
        rows, own = values[part], nodes[part]
        among = sparse.csr_array(rows[:, own])
        select = sparse.csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(len(own), n))
        others = rows - among @ select
        diagonal = among.diagonal()
        neighbour = np.asarray(among.sum(axis=1)).ravel() - diagonal
        scale = sparse.diags_array(1.0 / (diagonal**2 - neighbour**2))
        solved = scale @ (2.0 * sparse.diags_array(diagonal) - among) @ (select - others @ result)
        keep = np.ones(n)
        keep[own] = 0.0
        result = sparse.csr_array(sparse.diags_array(keep) @ result + select.T @ solved)
    rows = sparse.csr_array(result[nodes])
    rows.eliminate_zeros()
    rows.sort_indices()
    rows.indptr, rows.indices = rows.indptr.astype(np.int32), rows.indices.astype(np.int32)
    return rows
