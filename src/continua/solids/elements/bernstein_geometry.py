"""Nodes of tetrahedra in Bernstein-Bezier form, and the maps between coefficients and nodal values.

Nodes are the mesh's points, then p - 1 nodes on every edge (from the end with the smaller number to the other), then,
at order 3, one at the centre of every face. Where elements have straight edges at rest, the coefficients of the rest
positions are the positions of the nodes; for others see `elements.rest_shape`. The local order is that of VTK's
Lagrange tetrahedron.
"""

from __future__ import annotations

from math import comb

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.mesh import TetMesh
from continua.numerics.bernstein import TET_EDGES, TET_FACES, bernstein_tables
from continua.solids.elements.rest_shape import rest_shape

__all__ = ["BernsteinGeometry", "bernstein_node_count"]

_KINDS = {1: "tetra", 2: "tetra10", 3: "tetra20"}


def bernstein_node_count(mesh: TetMesh, order: int) -> int:
    """Return the number of nodes of a mesh of the given order, without creating them."""
    faces = comb(order - 1, 2) * len(mesh.faces) if order > 2 else 0
    return mesh.node_count + (order - 1) * len(mesh.edges) + faces


class BernsteinGeometry:
    """Nodes of all elements of a mesh, of order 1, 2 or 3; elements at a curved boundary may be curved.

    Attributes:
        mesh: The mesh.
        order: Polynomial degree p.
        tables: Tables of the degree (see `numerics.bernstein`).
        elements: Nodes of every element, shape [m, k] with k = 4, 10, 20, corners first.
        rest_positions: Positions of the nodes at rest [m], shape [n, 3].
        rest_coefficients: The coefficients of that shape [m], shape [n, 3]; the same array if no element is curved.
        rest_shape: The curved elements, or None; see `elements.rest_shape`.
        node_count: Number of nodes n.
        element_count: Number of elements m.
    """

    def __init__(self, mesh: TetMesh, order: int) -> None:
        self.mesh = mesh
        self.order = order
        self.tables = bernstein_tables(order)
        self.elements = _number_nodes(mesh, order)
        self.node_count = bernstein_node_count(mesh, order)
        self.element_count = mesh.element_count
        # any of the elements that share a node will do: its row involves the nodes of the shared edge or face only
        owner = np.empty(self.node_count, np.int64)
        owner[self.elements.ravel()] = np.arange(self.elements.size)
        self._owner = np.divmod(owner, self.elements.shape[1])
        self._to_values = self._assemble_rows(self.tables.nodal)
        self._to_coefficients = self._assemble_rows(self.tables.inverse)
        self.rest_positions = self._rest_positions()
        self.rest_coefficients = self.rest_positions
        self.rest_shape = rest_shape(self, self.rest_positions)
        if self.rest_shape is not None:
            self.rest_coefficients = self.rest_shape.coefficients
            self.rest_positions = np.ascontiguousarray(self.values(self.rest_coefficients))

    def _assemble_rows(self, table: NDArray[np.float64]) -> sparse.csr_array:
        """Return the matrix over all nodes from a table over the nodes of one element."""
        element, local = self._owner
        rows = table[local]
        used = rows != 0.0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        columns = self.elements[element][used]
        return sparse.csr_array((rows[used], columns, starts), shape=(self.node_count, self.node_count))

    def _rest_positions(self) -> NDArray[np.float64]:
        element, local = self._owner
        corners = self.mesh.points[self.mesh.tets[element]]
        weights = self.tables.indices[local] / self.order
        positions = np.einsum("nc,nci->ni", weights, corners)
        positions[: self.mesh.node_count] = self.mesh.points
        return np.ascontiguousarray(positions)

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at the nodes of coefficients [n, ...]; at corners they are the same."""
        return self._to_values @ coefficients

    def coefficients(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients [n, ...] of the field that has the given values at the nodes."""
        return self._to_coefficients @ values

    @property
    def nodal_maps(self) -> tuple[sparse.csr_array, sparse.csr_array] | None:
        """The matrices from coefficients to values at the nodes and back; None at order 1, where both are the same."""
        return None if self.order == 1 else (self._to_values, self._to_coefficients)

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Express a weighted mean of nodal values by coefficients: return their nodes and weights."""
        row = weights @ self._to_values[nodes]
        used = np.flatnonzero(row)
        return used.astype(np.int32), row[used]

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the tetrahedra in VTK's order of nodes."""
        return {_KINDS[self.order]: self.elements}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the outer surface, every face split at its nodes into p^2 triangles, outward oriented."""
        mesh = self.mesh
        behind = mesh.boundary_tets
        side = _local_faces(mesh.tets[behind], mesh.boundary_triangles)
        local = _face_triangles(self.order)[side]
        return self.elements[behind[:, None, None], local].reshape(-1, 3)


def _number_nodes(mesh: TetMesh, order: int) -> NDArray[np.int32]:
    """Return the nodes of every element, shape [m, k]."""
    tets = mesh.tets
    parts = [tets]
    inner = np.arange(order - 1)
    for number, (a, b) in enumerate(TET_EDGES):
        first = mesh.node_count + (order - 1) * mesh.element_edges[:, number, None]
        forward = (tets[:, a] < tets[:, b])[:, None]
        parts.append(first + np.where(forward, inner, inner[::-1]))
    if order == 3:
        start = mesh.node_count + 2 * len(mesh.edges)
        faces = _element_faces(mesh)
        opposite = [6 - sum(face) for face in TET_FACES]
        parts.append(start + faces[:, opposite])
    return np.ascontiguousarray(np.concatenate(parts, axis=1), dtype=np.int32)


def _element_faces(mesh: TetMesh) -> NDArray[np.int32]:
    """Return the number of the face opposite to each corner of every element, shape [m, 4]."""
    table = np.empty((mesh.element_count, 4), np.int32)
    for side in (0, 1):
        faces = np.flatnonzero(mesh.face_elements[:, side] >= 0)
        elements = mesh.face_elements[faces, side]
        table[elements, _local_faces(mesh.tets[elements], mesh.faces[faces])] = faces
    return table


def _local_faces(tets: NDArray[np.int32], faces: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return which corner of each tetrahedron [m, 4] lies opposite to the face [m, 3] of it."""
    return (tets[:, :, None] == faces[:, None, :]).any(axis=2).argmin(axis=1)


def _face_triangles(order: int) -> NDArray[np.intp]:
    """Return the local nodes of the triangles that the nodes of each face cut it into, shape [4, p^2, 3]."""
    local = {tuple(index): number for number, index in enumerate(bernstein_tables(order).indices.tolist())}
    tables = []
    for corners in TetMesh.FACES:
        unit = np.eye(4, dtype=int)[corners]

        def node(u: int, v: int, unit: NDArray = unit) -> int:
            return local[tuple(((order - u - v) * unit[0] + u * unit[1] + v * unit[2]).tolist())]

        triangles = []
        for u in range(order):
            for v in range(order - u):
                triangles.append([node(u, v), node(u + 1, v), node(u, v + 1)])
                if u + v < order - 1:
                    triangles.append([node(u + 1, v), node(u + 1, v + 1), node(u, v + 1)])
        tables.append(triangles)
    return np.array(tables)
