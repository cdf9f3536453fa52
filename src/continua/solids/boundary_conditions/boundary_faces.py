"""The boundary faces of a body and the consistent nodal forces of loads on them: integrals of N_a t over the faces.

All faces of a body share the shape functions N_a(s, t) and their slopes at a few quadrature points. The point
x(s, t) = sum of N_a x_a has the area vector dx/ds x dx/dt, which points outward.
The rules are exact for the pressure on a deformed face, including curved ones of order 2 and 3 and bilinear ones. The
face of a plane body is an edge of its outline; its second tangent is the thickness along z.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.mesh import PlaneMesh, TetMesh, VolumeMesh
from continua.numerics.bernstein import bernstein_tables
from continua.numerics.quadrature import gauss_cube
from continua.solids.boundary_conditions import face_kernels
from continua.solids.elements.base import Elements
from continua.solids.elements.lagrange import quadratic_slopes, quadratic_values
from continua.solids.elements.quadrature_elements import NodalElements
from continua.solids.selection import choose, region_elements, side_of

__all__ = ["BoundaryFaces"]


@dataclass(frozen=True, eq=False)
class BoundaryFaces:
    """All boundary faces of a body.

    Attributes:
        nodes: Nodes of each face, outward oriented, shape [f, a].
        elements: The element behind each face, shape [f].
        shapes: Shape functions at the points, shape [q, a].
        slopes: Their slopes along the two coordinates of a face, shape [q, a, 2].
        weights: Weights of the points, shape [q].
        depth: Second tangent of the faces of plane bodies [m], shape [3]; else zero.
        centers: Centres at rest [m], shape [f, 3].
        normals: Outward unit normals at rest, shape [f, 3].
        areas: Areas at rest [m2], shape [f].
    """

    nodes: NDArray[np.int32]
    elements: NDArray[np.int32]
    shapes: NDArray[np.float64]
    slopes: NDArray[np.float64]
    weights: NDArray[np.float64]
    depth: NDArray[np.float64]
    centers: NDArray[np.float64]
    normals: NDArray[np.float64]
    areas: NDArray[np.float64]

    @classmethod
    def of(cls, elements: Elements, mesh: VolumeMesh) -> BoundaryFaces:
        """Return the faces of a body's elements."""
        depth = np.zeros(3)
        if isinstance(mesh, TetMesh):
            nodes, indices = _tet_faces(elements.elements, mesh, elements.order)
            shapes, slopes, weights = _triangle(elements.order, indices)
        else:
            assert isinstance(elements, NodalElements)
            nodes = elements.boundary_faces()
            shapes, slopes, weights = (_cube if elements.order == 1 else _quadratic)(nodes.shape[1])
            if isinstance(mesh, PlaneMesh):
                depth[2] = mesh.thickness
        corners = elements.rest_coefficients[nodes]
        points = np.einsum("qa,fai->fqi", shapes, corners)
        vectors = weights[:, None] * _area_vectors(corners, slopes, depth)
        areas = np.linalg.norm(vectors, axis=2)
        total = areas.sum(axis=1)
        centers = np.einsum("fq,fqi->fi", areas, points) / total[:, None]
        normal = vectors.sum(axis=1)
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        nodes = np.ascontiguousarray(nodes, np.int32)
        behind = mesh.boundary_elements
        return cls(nodes, behind, shapes, slopes, weights, depth, centers, normal, total)

    def select(self, where: Any, mesh: VolumeMesh, what: str) -> NDArray[np.int32]:
        """Return the sorted numbers of the selected faces; an empty selection is an error that names `what`.

        Args:
            where: Function of centres [f, 3], or of centres and outward normals [f, 3], that returns a mask; a mask
                [f]; numbers of faces; the name of a region, for the part of the boundary that its elements have; one
                of `selection.SIDES`; or "all".
            mesh: The mesh, for regions.
            what: What the selection is for, such as "pressure".
        """
        if (side := side_of(where, self.centers, mesh)) is not None:
            where = side
        if isinstance(where, str):
            inside = np.isin(self.elements, region_elements(where, mesh, what))
            return choose(inside, self.centers, what, "face")
        if callable(where) and _takes_two(where):
            where = where(self.centers.copy(), self.normals.copy())
        return choose(where, self.centers, what, "face")

    def shares(self, chosen: NDArray[np.int32], rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the integral of N_a over the selected faces [m2], shape [n]."""
        vectors = self.weights[:, None] * _area_vectors(rest[self.nodes[chosen]], self.slopes, self.depth)
        parts = np.linalg.norm(vectors, axis=2) @ self.shapes
        shares: NDArray[np.float64] = np.zeros(len(rest))
        np.add.at(shares, self.nodes[chosen], parts)
        return shares

    def add_pressure(
        self,
        x: NDArray[np.float64],
        chosen: NDArray[np.int32],
        pressure: float,
        force: NDArray[np.float64],
    ) -> None:
        """Add to `force` [N] a pressure [Pa] on the selected faces, positive into the body, at positions x."""
        face_kernels.add_pressure(x, chosen, *self._tables, pressure, force)

    def add_wind(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        wind: NDArray[np.float64],
        density: float,
        force: NDArray[np.float64],
    ) -> None:
        """Add to `force` [N] the pressure on all faces that the wind [m/s] blows against."""
        face_kernels.add_wind(x, v, *self._tables, wind, density, force)

    @property
    def _tables(self) -> tuple:
        return self.nodes, self.shapes, self.slopes, self.weights, self.depth


def _takes_two(function: Any) -> bool:
    """Return whether a function takes centres and normals: whether it has two arguments without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters) == 2


def _area_vectors(
    corners: NDArray[np.float64], slopes: NDArray[np.float64], depth: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return dx/ds x dx/dt at the points of faces with nodes `corners` [f, a, 3], shape [f, q, 3]."""
    tangents = np.einsum("qac,fai->cfqi", slopes, corners)
    return np.cross(tangents[0], tangents[1] + depth)


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
