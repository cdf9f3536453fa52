"""Geometry and prolongations of a body's elements for multigrid."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from math import comb

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.elements import Elements
from continua.linalg import Geometry
from continua.mesh import HexMesh, PlaneMesh, TetMesh, VolumeMesh
from continua.mesh.refinement import Refinement
from continua.numerics.bernstein import bernstein_tables
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.lagrange import linear_weights
from continua.solids.elements.quadrature_elements import NodalElements

__all__ = ["attach_multigrid_geometry", "degree_elevation"]


def attach_multigrid_geometry(elements: Elements) -> None:
    """Attach positions and prolongations to the pattern of the elements."""
    mesh, order = elements.mesh, elements.order
    if order == 1:
        geometry = _of_mesh(mesh)
    elif isinstance(elements, NodalElements):
        geometry = Geometry(
            elements.rest_positions, partial(_linear_part, elements.mesh, elements.elements), order
        )
    else:
        assert isinstance(mesh, TetMesh)
        geometry = _of_order(mesh, order, elements.elements, elements.rest_positions)
    elements.pattern = replace(elements.pattern, geometry=geometry)


def _of_mesh(mesh: VolumeMesh) -> Geometry:
    refinement = getattr(mesh, "refinement", None)
    if refinement is None:
        return Geometry(mesh.points, separate=mesh.is_split)
    return Geometry(mesh.points, partial(_coarser_mesh, refinement))


def _coarser_mesh(refinement: Refinement) -> tuple[sparse.csr_array, Geometry]:
    return refinement.interpolation(), _of_mesh(refinement.coarse)


def _of_order(
    mesh: TetMesh, order: int, elements: NDArray[np.int32], points: NDArray[np.float64]
) -> Geometry:
    return Geometry(points, partial(_lower_order, mesh, order, elements), order)


def _lower_order(mesh: TetMesh, order: int, elements: NDArray[np.int32]) -> tuple[sparse.csr_array, Geometry]:
    if order == 2:
        return degree_elevation(mesh.tets, elements, 1, mesh.node_count), _of_mesh(mesh)
    below = BernsteinGeometry(mesh, order - 1)
    P = degree_elevation(below.elements, elements, order - 1, below.node_count)
    return P, _of_order(mesh, order - 1, below.elements, below.rest_positions)


def _linear_part(mesh: HexMesh | PlaneMesh, elements: NDArray[np.int32]) -> tuple[sparse.csr_array, Geometry]:
    """Return the matrix of the nodal values of order 2 of a field of order 1, and the geometry of order 1."""
    rows = linear_weights(elements.shape[1])
    return _by_owner(rows, mesh.cells, elements, mesh.node_count), _of_mesh(mesh)


def degree_elevation(
    low: NDArray[np.int32], high: NDArray[np.int32], order: int, node_count: int
) -> sparse.csr_array:
    """Return the matrix that raises the degree of a field from `order` by one, shape [nodes of high, node_count].

    A Bernstein polynomial of degree p with coefficients b_J has at degree p + 1 the coefficients
    b_I = sum over J of prod(I over J) / (p + 1) b_J, with I - J a unit vector (Farin 2002).

    Args:
        low: Nodes of the elements of the lower degree, shape [m, k].
        high: Nodes of the same elements of the higher degree.
        order: The lower degree p.
        node_count: Number of nodes of the lower degree.
    """
    upper, lower = bernstein_tables(order + 1).indices, bernstein_tables(order).indices
    local = np.zeros((len(upper), len(lower)))
    for (a, I), (b, J) in product(enumerate(upper), enumerate(lower)):
        if (I >= J).all():
            local[a, b] = np.prod([comb(int(i), int(j)) for i, j in zip(I, J, strict=True)]) / (order + 1)
    return _by_owner(local, low, high, node_count)


def _by_owner(
    local: NDArray[np.float64], low: NDArray[np.int32], high: NDArray[np.int32], node_count: int
) -> sparse.csr_array:
    """Return a matrix over all nodes from one over those of an element: any element that has a node will do."""
    count = int(high.max()) + 1
    owner = np.empty(count, np.int64)
    owner[high.ravel()] = np.arange(high.size)
    element, corner = np.divmod(owner, high.shape[1])
    rows = local[corner]
    used = rows != 0.0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    matrix = sparse.csr_array((rows[used], low[element][used], starts), shape=(count, node_count))
    matrix.sort_indices()
    return matrix
