"""The boundary faces of a body and the consistent nodal forces of loads on them: integrals of N_a t over the faces.

All faces of a body share the shape functions N_a(s, t) and their slopes at a few quadrature points. The point
x(s, t) = sum of N_a x_a has the area vector dx/ds x dx/dt, which points outward.
The rules are exact for the pressure on a deformed face, including curved ones of order 2 and 3 and bilinear ones. The
face of a plane body is an edge of its outline; its second tangent is the thickness along z.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.boundary_conditions import face_kernels
from continua.deformable.selection import choose, region_elements, side_of
from continua.mesh import VolumeMesh

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
        carriers: Of a cut mesh the matrix from nodes to the points that `nodes` are, shape [p, n]; else None.
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
    carriers: sparse.csr_array | None = None

    @classmethod
    def from_shapes(
        cls,
        nodes: NDArray[np.integer],
        elements: NDArray[np.int32],
        shapes: NDArray[np.float64],
        slopes: NDArray[np.float64],
        weights: NDArray[np.float64],
        rest_coefficients: NDArray[np.float64],
        depth: float = 0.0,
        carriers: sparse.csr_array | None = None,
    ) -> BoundaryFaces:
        """Return faces with shape functions at quadrature points; see the attributes.

        Args:
            nodes: Nodes of each face, outward oriented, shape [f, a].
            elements: The element behind each face, shape [f].
            shapes: Shape functions at the points, shape [q, a].
            slopes: Their slopes along the two coordinates of a face, shape [q, a, 2].
            weights: Weights of the points, shape [q].
            rest_coefficients: Coefficients of the rest shape [m], shape [n, 3].
            depth: Thickness of a plane body, whose faces are edges [m].
            carriers: See the attributes; `rest_coefficients` are then those of the points.
        """
        tangent = np.array([0.0, 0.0, depth])
        corners = rest_coefficients[nodes]
        points = np.einsum("qa,fai->fqi", shapes, corners)
        vectors = weights[:, None] * _area_vectors(corners, slopes, tangent)
        areas = np.linalg.norm(vectors, axis=2)
        total = areas.sum(axis=1)
        # slivers of faces that cuts leave may have no area
        centers = np.einsum("fq,fqi->fi", areas, points) / np.maximum(total, np.finfo(float).tiny)[:, None]
        centers[total == 0.0] = points[total == 0.0].mean(axis=1)
        normal = vectors.sum(axis=1)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), np.finfo(float).tiny)[:, None]
        return cls(
            np.ascontiguousarray(nodes, np.int32),
            elements,
            shapes,
            slopes,
            weights,
            tangent,
            centers,
            normal,
            total,
            carriers,
        )

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
        at = self._at(rest)
        vectors = self.weights[:, None] * _area_vectors(at[self.nodes[chosen]], self.slopes, self.depth)
        parts = np.linalg.norm(vectors, axis=2) @ self.shapes
        shares: NDArray[np.float64] = np.zeros(len(at))
        np.add.at(shares, self.nodes[chosen], parts)
        return shares if self.carriers is None else np.asarray(self.carriers.T @ shares)

    def _at(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values at the nodes of the faces from those at the nodes of the body, [n, 3]."""
        return values if self.carriers is None else np.asarray(self.carriers @ values)

    def add_pressure(
        self,
        x: NDArray[np.float64],
        chosen: NDArray[np.int32],
        pressure: float,
        force: NDArray[np.float64],
    ) -> None:
        """Add to `force` [N] a pressure [Pa] on the selected faces, positive into the body, at positions x."""
        if self.carriers is None:
            face_kernels.add_pressure(x, chosen, *self._tables, pressure, force)
            return
        own = np.zeros((self.carriers.shape[0], 3))
        face_kernels.add_pressure(self._at(x), chosen, *self._tables, pressure, own)
        force += self.carriers.T @ own

    def add_wind(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        wind: NDArray[np.float64],
        density: float,
        force: NDArray[np.float64],
    ) -> None:
        """Add to `force` [N] the pressure on all faces that the wind [m/s] blows against."""
        if self.carriers is None:
            face_kernels.add_wind(x, v, *self._tables, wind, density, force)
            return
        own = np.zeros((self.carriers.shape[0], 3))
        face_kernels.add_wind(self._at(x), self._at(v), *self._tables, wind, density, own)
        force += self.carriers.T @ own

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
