"""Quadratic Lagrange elements of triangles (6 nodes), quadrilaterals (9) and hexahedra (27).

Nodes are the mesh's points, then the middle of every edge, of every face of a hexahedron, and of every quadrilateral or
hexahedron. The local order is VTK's. At rest the sides are straight, so that the shape is that of order 1, but for
triangles at a curved boundary, whose outer edges are parabolas through points of it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from continua.mesh import HexMesh, PlaneMesh, QuadMesh, TriMesh
from continua.mesh.curved_boundary import BoundaryNodes
from continua.numerics.quadrature import gauss_cube

__all__ = [
    "KINDS",
    "boundary_nodes",
    "linear_values",
    "linear_weights",
    "lumped_mass",
    "quadratic_node_count",
    "quadratic_nodes",
    "quadratic_slopes",
    "quadratic_values",
    "split_triangles",
]

KINDS = {3: "triangle", 4: "quad", 8: "hexahedron", 6: "triangle6", 9: "quad9", 27: "hexahedron27"}
"""Names of the cells by the number of their nodes."""

_SQUARE = [[-1, -1], [1, -1], [1, 1], [-1, 1]]
_HEX_FACES = (5, 3, 2, 4, 0, 1)  # the mesh's faces in VTK's order of face nodes
_LEAST_DETERMINANT = 0.1  # of a curved triangle, relative to the straight one
_TRIANGLE_LUMPED = np.array([3.0, 3.0, 3.0, 16.0, 16.0, 16.0]) / 57.0  # Hinton, Rock and Zienkiewicz 1976


@cache
def _coordinates(nodes: int) -> NDArray[np.float64]:
    """Return the nodes of the reference cell [-1, 1]^d, or the barycentric coordinates of a triangle's, [k, d]."""
    if nodes == 6:
        return np.concatenate([np.eye(3), 0.5 * (np.eye(3) + np.roll(np.eye(3), 1, axis=1))])
    if nodes == 3:
        return np.array([[-1.0], [1.0], [0.0]])
    corners = np.array([[*c, z] for z in (-1, 1) for c in _SQUARE] if nodes == 27 else _SQUARE, float)
    parts = [corners]
    if nodes == 27:
        parts += [corners[edge].mean(axis=0, keepdims=True) for edge in HexMesh.EDGES]
        parts += [corners[HexMesh.FACES[face]].mean(axis=0, keepdims=True) for face in _HEX_FACES]
    else:
        parts += [corners[edge].mean(axis=0, keepdims=True) for edge in QuadMesh.EDGES]
    return np.concatenate([*parts, np.zeros((1, corners.shape[1]))])


def _rule(nodes: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points (of a triangle barycentric) and weights, `count` along each axis of a line, quad or hexahedron.

    A triangle has the rule of degree 2 for a count of 3, and one of degree 4 or more for a larger one.
    """
    if nodes != 6:
        return gauss_cube(count, _coordinates(nodes).shape[1])
    if count == 3:
        return np.array([[4.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 4.0]]) / 6.0, np.full(3, 1.0 / 6.0)
    points, weights = gauss_cube(count - 1, 2)
    u, v = (0.5 * (1.0 + points)).T  # a square with one side collapsed to the third corner
    return np.stack([1.0 - u - v * (1.0 - u), u, v * (1.0 - u)], axis=1), 0.25 * weights * (1.0 - u)


def _values_at(nodes: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shape functions at points of the reference cell, shape [q, k]."""
    if nodes == 6:
        b, after = points, np.roll(points, -1, axis=1)
        return np.concatenate([b * (2.0 * b - 1.0), 4.0 * b * after], axis=1)
    c, x = _coordinates(nodes), points[:, None]
    return np.prod(np.where(c == 0.0, 1.0 - x * x, 0.5 * x * (x + c)), axis=2)


def _slopes_at(nodes: int, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes of the shape functions, of a triangle along its second and third coordinate, [q, k, d]."""
    if nodes == 6:
        b, one = points, np.eye(3)
        table = np.zeros((len(b), 6, 3))
        for i in range(3):
            j = (i + 1) % 3
            table[:, i] = (4.0 * b[:, i : i + 1] - 1.0) * one[i]
            table[:, 3 + i] = 4.0 * (b[:, i : i + 1] * one[j] + b[:, j : j + 1] * one[i])
        return table[:, :, 1:] - table[:, :, :1]
    c, x = _coordinates(nodes), points[:, None]
    factors = np.where(c == 0.0, 1.0 - x * x, 0.5 * x * (x + c))
    slopes = np.where(c == 0.0, -2.0 * x, x + 0.5 * c)
    result = np.empty_like(factors)
    for axis in range(c.shape[1]):
        result[..., axis] = slopes[..., axis] * np.prod(np.delete(factors, axis, axis=2), axis=2)
    return result


def quadratic_values(nodes: int, count: int) -> NDArray[np.float64]:
    """Return the shape functions of a cell with 3 (a line), 6, 9 or 27 nodes at the points of a rule, shape [q, k]."""
    return _values_at(nodes, _rule(nodes, count)[0])


def quadratic_slopes(nodes: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slopes of the shape functions in the reference cell [q, k, d], and the weights [q]."""
    points, weights = _rule(nodes, count)
    return _slopes_at(nodes, points), weights


def linear_values(nodes: int, count: int) -> NDArray[np.float64]:
    """Return the barycentric coordinates of the points of a triangle's rule, shape [q, 3]."""
    return _rule(nodes, count)[0]


def quadratic_node_count(mesh: HexMesh | PlaneMesh) -> int:
    """Return the number of nodes of a mesh of order 2, without creating them."""
    inner = (len(mesh.faces) if isinstance(mesh, HexMesh) else 0) + (
        mesh.element_count if mesh.WIDTH > 3 else 0
    )
    return mesh.node_count + len(mesh.edges) + inner


def quadratic_nodes(mesh: HexMesh | PlaneMesh) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the nodes of every element [m, k], and the positions of all nodes at rest [m], shape [n, 3]."""
    edges = mesh.element_edges if mesh.WIDTH > 3 else mesh.element_edges[:, [2, 0, 1]]
    tables: list[NDArray[np.integer]] = [mesh.cells, mesh.node_count + edges]
    points = [mesh.points, mesh.points[mesh.edges].mean(axis=1)]
    count = mesh.node_count + len(mesh.edges)
    if isinstance(mesh, HexMesh):
        tables.append(count + mesh.element_faces[:, _HEX_FACES])
        points.append(mesh.points[mesh.faces].mean(axis=1))
        count += len(mesh.faces)
    if mesh.WIDTH > 3:
        tables.append(count + np.arange(mesh.element_count)[:, None])
        points.append(mesh.points[mesh.cells].mean(axis=1))
    elements = np.ascontiguousarray(np.concatenate(tables, axis=1), np.int32)
    positions = np.ascontiguousarray(np.concatenate(points))
    if isinstance(mesh, TriMesh) and mesh.curved_boundary is not None:
        _bend_triangles(mesh, mesh.curved_boundary.nodes(mesh, 2, mesh.points), elements, positions)
    return elements, positions


def _bend_triangles(
    mesh: TriMesh, found: BoundaryNodes, elements: NDArray[np.int32], positions: NDArray[np.float64]
) -> None:
    """Move middles of edges to the curved boundary, less far in triangles that would fold.

    The determinant of the Jacobian is quadratic, and positive where its Bernstein coefficients are.
    """
    nodes, bends = (
        mesh.node_count + found.edges,
        found.edge_points[:, 0] - positions[mesh.node_count + found.edges],
    )
    straight, factors = positions[nodes], np.ones(len(nodes))
    slopes = _slopes_at(6, _coordinates(6))
    number = np.full(len(positions), -1)
    number[nodes] = np.arange(len(nodes))
    rows = elements[(number[elements] >= 0).any(axis=1)]
    corners = positions[rows[:, :3], :2]
    least = _LEAST_DETERMINANT * np.linalg.det(corners[:, 1:] - corners[:, :1])
    while True:
        positions[nodes] = straight + factors[:, None] * bends
        values = np.linalg.det(np.einsum("mki,qkj->mqij", positions[rows, :2], slopes))
        middles = 2.0 * values[:, 3:] - 0.5 * (values[:, :3] + np.roll(values[:, :3], -1, axis=1))
        bad = np.minimum(values[:, :3], middles).min(axis=1) < least
        chosen = number[rows[bad]]
        chosen = np.unique(chosen[chosen >= 0])
        chosen = chosen[factors[chosen] > 0.0]
        if not len(chosen):
            return
        factors[chosen] = np.where(factors[chosen] > 0.1, 0.5 * factors[chosen], 0.0)


def linear_weights(nodes: int) -> NDArray[np.float64]:
    """Return the shape functions of order 1 at the nodes of order 2, shape [k, corners]."""
    coordinates = _coordinates(nodes)
    if nodes == 6:
        return coordinates
    corners = coordinates[: 2 ** coordinates.shape[1]]
    return np.prod(0.5 * (1.0 + coordinates[:, None] * corners), axis=2)


def boundary_nodes(mesh: HexMesh | PlaneMesh, elements: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the nodes of the boundary faces: corners, middles of edges, centre; [f, 9], or [f, 3] of plane meshes."""
    behind, corners = mesh.boundary_elements, mesh.boundary_faces
    if isinstance(mesh, PlaneMesh):
        start = (mesh.cells[behind] == corners[:, :1]).argmax(axis=1)
        return np.concatenate([corners, elements[behind, mesh.WIDTH + start][:, None]], axis=1)
    side = (mesh.cells[behind][:, HexMesh.FACES] == corners[:, None]).all(axis=2).argmax(axis=1)
    place = _coordinates(27)
    local = np.empty((6, 9), np.intp)
    for face, own in enumerate(HexMesh.FACES):
        wanted = linear_weights(9) @ place[own]
        local[face] = (place[None] == wanted[:, None]).all(axis=2).argmax(axis=1)
    return elements[behind[:, None], local[side]]


def split_triangles(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return triangles over the nodes of triangles [f, 6] or quadrilaterals [f, 9], four or eight each."""
    if faces.shape[1] == 6:
        local = [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]
    else:
        quads = [[0, 4, 8, 7], [4, 1, 5, 8], [8, 5, 2, 6], [7, 8, 6, 3]]
        local = [[quad[i] for i in half] for quad in quads for half in ((0, 1, 2), (0, 2, 3))]
    return np.ascontiguousarray(faces[:, local].reshape(-1, 3), np.int32)


def lumped_mass(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positive nodal integrals of 1 over elements with these nodes at rest [m, k, d], shape [m, k].

    Quadrilaterals and hexahedra: the Simpson rule at the nodes, which is exact for linear functions. Triangles: the
    diagonal of the consistent mass, scaled; its row sums would vanish at the corners.
    """
    nodes = corners.shape[1]
    if nodes == 6:
        slopes, weights = quadratic_slopes(6, 4)
        area = np.linalg.det(np.einsum("mki,qkj->mqij", corners, slopes)) @ weights
        return area[:, None] * _TRIANGLE_LUMPED
    coordinates = _coordinates(nodes)
    jacobians = np.einsum("mki,qkj->mqij", corners, _slopes_at(nodes, coordinates))
    return np.linalg.det(jacobians) * np.prod(np.where(coordinates == 0.0, 4.0, 1.0) / 3.0, axis=1)
