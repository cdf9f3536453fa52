"""The boundary faces of solid elements: their nodes, and their shape functions at quadrature points."""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.deformable.boundary_surface import carrier_matrix
from continua.deformable.elements import Elements
from continua.mesh import PlaneMesh, TetMesh, VolumeMesh
from continua.numerics.bernstein import bernstein_tables
from continua.numerics.quadrature import gauss_cube
from continua.solids.elements.lagrange import quadratic_slopes, quadratic_values
from continua.solids.elements.quadrature_elements import NodalElements

__all__ = ["boundary_faces"]


def boundary_faces(elements: Elements, mesh: VolumeMesh) -> BoundaryFaces:
    """Return the boundary faces of a body's elements."""
    depth = 0.0
    if isinstance(mesh, TetMesh) and mesh.matter_surface is not None:
        surface = mesh.matter_surface
        shapes, slopes, weights = _triangle(1, np.eye(3, dtype=np.int64))
        return BoundaryFaces.from_shapes(
            surface.triangles,
            surface.triangle_elements,
            shapes,
            slopes,
            weights,
            surface.points,
            carriers=carrier_matrix(surface, mesh.node_count),
        )
    if isinstance(mesh, TetMesh):
        nodes, indices = _tet_faces(elements.elements, mesh, elements.order)
        shapes, slopes, weights = _triangle(elements.order, indices)
    else:
        assert isinstance(elements, NodalElements)
        nodes = elements.boundary_faces()
        shapes, slopes, weights = (_cube if elements.order == 1 else _quadratic)(nodes.shape[1])
        if isinstance(mesh, PlaneMesh):
            depth = mesh.thickness
    return BoundaryFaces.from_shapes(
        nodes, mesh.boundary_elements, shapes, slopes, weights, elements.rest_coefficients, depth
    )


def _tet_faces(
    elements: NDArray[np.int32], mesh: TetMesh, order: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes of the boundary faces [f, a] and the multi-indices of a face's nodes [a, 3]."""
    indices = bernstein_tables(order).indices
    behind = mesh.boundary_elements
    known = (mesh.tets[behind][:, :, None] == mesh.boundary_faces[:, None, :]).any(axis=2)
    side = known.argmin(axis=1)
    wanted = [(i, j, order - i - j) for i in range(order, -1, -1) for j in range(order - i, -1, -1)]
    number = {tuple(index): k for k, index in enumerate(indices.tolist())}
    local = np.zeros((4, len(wanted)), int)
    for face, corners in enumerate(TetMesh.FACES):
        for k, index in enumerate(wanted):
            full = np.zeros(4, int)
            full[corners] = index
            local[face, k] = number[tuple(full.tolist())]
    return elements[behind[:, None], local[side]], np.array(wanted)


def _triangle(order: int, indices: NDArray[np.int64]) -> tuple[NDArray, NDArray, NDArray]:
    """Return Bernstein polynomials and slopes on a triangle at points that integrate degree 3 p - 2 exactly."""
    points, weights = gauss_cube((3 * order + 1) // 2, 2)
    u, v = (0.5 * (1.0 + points)).T  # a square with one side collapsed to the third corner
    b = np.stack([1.0 - u - v * (1.0 - u), u, v * (1.0 - u)], axis=1)
    scale = np.array([factorial(order) / np.prod([factorial(int(i)) for i in row]) for row in indices])
    shapes = scale * np.prod(b[:, None, :] ** indices, axis=2)
    slopes = np.empty((*shapes.shape, 3))
    for c in range(3):
        lower = np.maximum(indices - np.eye(3, dtype=int)[c], 0)
        slopes[:, :, c] = scale * indices[:, c] * np.prod(b[:, None, :] ** lower, axis=2)
    return shapes, np.ascontiguousarray(slopes[:, :, 1:] - slopes[:, :, :1]), 0.25 * weights * (1.0 - u)


def _quadratic(nodes: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return the quadratic shape functions and slopes of an edge (3 nodes) or a quadrilateral (9) at Gauss points."""
    slopes, weights = quadratic_slopes(nodes, 3)
    padded = np.zeros((*slopes.shape[:2], 2))
    padded[..., : slopes.shape[2]] = slopes
    return quadratic_values(nodes, 3), padded, weights


def _cube(nodes: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return the shape functions and slopes of an edge (2 nodes) or a quadrilateral (4) at Gauss points."""
    corners = {
        2: np.array([[-1.0], [1.0]]),
        4: np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]),
    }[nodes]
    points, weights = gauss_cube(2, corners.shape[1])
    factors = 0.5 * (1.0 + points[:, None] * corners)
    slopes = np.zeros((*factors.shape[:2], 2))
    for axis in range(corners.shape[1]):
        slopes[..., axis] = 0.5 * corners[:, axis] * np.prod(np.delete(factors, axis, axis=2), axis=2)
    return np.prod(factors, axis=2), slopes, weights
