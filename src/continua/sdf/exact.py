"""Exact signed distance to a triangle surface."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.mesh import SurfaceMesh
from continua.sdf import kernels, self_intersection_kernels, winding_kernels
from continua.sdf.bvh import TriangleBvh, triangle_bvh
from continua.sdf.checks import as_queries, check_surface
from continua.short_repr import tuple_repr
from continua.validation import choice

__all__ = ["Closest", "ExactDistance", "exact"]

_TOUCH = 1e-9  # relative depth of a self-intersection below which it is ignored
_PARALLEL_FROM = 1024  # queries; below, starting threads costs more than it saves


class Closest(NamedTuple):
    """Closest points of the surface to n query points.

    Attributes:
        points: The nearest points of the surface [m], shape [n, 3].
        triangles: The triangles they lie on, numbers in the mesh, shape [n].
        features: Where on the triangle: 0 inside, 1-3 on its edge 0-1, 1-2, 2-0, 4-6 at its corner 0, 1, 2; [n].
        distances: Signed distances [m], negative inside, shape [n].
        gradients: Gradients of the distance, length 1, shape [n, 3].
    """

    points: NDArray[np.float64]
    triangles: NDArray[np.int32]
    features: NDArray[np.int32]
    distances: NDArray[np.float64]
    gradients: NDArray[np.float64]

    def __repr__(self) -> str:
        return tuple_repr(self)


class ExactDistance:
    """Exact signed distance to a surface of triangles: negative inside, positive outside.

    Made by `continua.sdf.exact`. Its tree is built once. Batched queries are sorted along a space-filling
    curve, so that each starts from the result of a near one.

    Attributes:
        mesh: The surface.
        sign: "normals" or "winding".
        tree: The arrays that compiled code reads (`sdf.kernels.closest_on_mesh`).
        bounds: Smallest and largest coordinates of the surface [m], shape [2, 3].
    """

    mesh: SurfaceMesh
    sign: str
    tree: TriangleBvh

    def __init__(self, mesh: SurfaceMesh, sign: str = "normals") -> None:
        choice(sign, "sign", ("normals", "winding"))
        self.mesh = check_surface(mesh, closed=sign == "normals")
        self.sign = sign
        self.tree = triangle_bvh(mesh)
        self.bounds = mesh.bounds

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return signed distances [m] of points [n, 3]; shape [n]."""
        queries = as_queries(points)
        return self._find(queries)[1]

    def gradient(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the gradients of the distance at points [n, 3]: length 1, away from the inside; shape [n, 3].

        On the medial axis, where several points of the surface are nearest, it belongs to one of them.
        """
        return self.closest(points).gradients

    def value_and_gradient(self, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] [m] and gradients [n, 3] at points [n, 3]."""
        found = self.closest(points)
        return found.distances, found.gradients

    def closest(self, points: ArrayLike) -> Closest:
        """Return the closest surface point of points [n, 3]: position, triangle, feature, distance and gradient."""
        queries = as_queries(points)
        winners, distances = self._find(queries)
        n = len(queries)
        gradients, nearest, features = np.empty((n, 3)), np.empty((n, 3)), np.empty(n, np.int32)
        fill = kernels.gradients_and_features.variant(n >= _PARALLEL_FROM)
        fill(self.tree, queries, winners, gradients, nearest, features)
        if self.sign == "winding":  # the gradients are those of the sign by normals
            along = np.einsum("ij,ij->i", queries - nearest, gradients)
            gradients[along * distances < 0.0] *= -1.0
        return Closest(nearest, self.tree.order[winners], features, distances, gradients)

    def _find(self, queries: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        n = len(queries)
        winners, distances = np.empty(n, np.int32), np.empty(n)
        if n:
            find = kernels.signed_distances.variant(n >= _PARALLEL_FROM)
            find(self.tree, queries, _visit(queries), winners, distances)
            if self.sign == "winding":
                distances = np.where(self.winding(queries) > 0.5, -1.0, 1.0) * np.abs(distances)
        return winners, distances

    def winding(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return generalised winding numbers of points [n, 3]: 1 inside of a closed surface, 0 outside; shape [n].

        Near holes they lie in between. Distant parts of the surface are approximated: the error is below 0.02.
        """
        queries = as_queries(points)
        result = np.empty(len(queries))
        fill = winding_kernels.winding_numbers.variant(len(queries) >= _PARALLEL_FROM)
        fill(self.tree, self._moments, queries, result)
        return result

    @cached_property
    def _moments(self) -> NDArray[np.float64]:
        result = np.empty((len(self.tree.links), 2, winding_kernels.MOMENTS))
        winding_kernels.moments(self.tree, np.empty((len(self.tree.links), 2)), result)
        return result

    @cached_property
    def crossings(self) -> NDArray[np.int32]:
        """The triangles that intersect others with a higher index; signs from normals are wrong near them."""
        found = np.empty(len(self.tree.order), np.int32)
        slack = _TOUCH * float(np.linalg.norm(self.bounds[1] - self.bounds[0]))
        nodes = self.tree.features[:, 4:]
        shifts = np.random.default_rng(0).uniform(-0.1 * slack, 0.1 * slack, (int(nodes.max()) + 1, 3))
        corners = self.tree.corners.copy()
        corners[:, :9] += shifts[nodes].reshape(-1, 9)
        tree = self.tree._replace(corners=corners)
        self_intersection_kernels.count_crossings.variant(len(found) >= _PARALLEL_FROM)(tree, slack, found)
        return np.sort(self.tree.order[found > 0])

    def __repr__(self) -> str:
        return f"<ExactDistance: {self.mesh.triangle_count} triangles, sign from {self.sign}>"


def _visit(queries: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the order of the queries: along a space-filling curve if there are many."""
    n = len(queries)
    if n < 64:
        return np.arange(n, dtype=np.int32)
    lower = queries.min(axis=0)
    extent = float((queries.max(axis=0) - lower).max())
    keys = np.empty(n, np.int64)
    kernels.z_order.variant(n >= 65536)(queries, lower, 1024.0 / extent if extent > 0.0 else 0.0, keys)
    return np.argsort(keys, kind="stable").astype(np.int32)


def exact(mesh: SurfaceMesh, *, sign: str = "normals") -> ExactDistance:
    """Return the exact signed distance to a triangle surface.

    Args:
        mesh: The surface. With `sign="normals"` it must be closed, manifold and oriented, normals outwards.
        sign: What distinguishes inside and outside: "normals" by pseudo-normals of the nearest feature (Baerentzen and
            Aanaes 2005), "winding" by the generalised winding number (Jacobson 2013), also for surfaces with
            holes or self-intersections.

    Returns:
        A function of points with `gradient` and `closest`. A surface that goes through itself gets a warning unless
        the sign comes from the winding number.
    """
    distance = ExactDistance(mesh, sign)
    if sign == "normals" and len(distance.crossings):
        warnings.warn(
            f"the surface goes through itself: {len(distance.crossings)} triangles cross others, and inside and "
            "outside may be confused near them; repair the mesh or use sign='winding'",
            stacklevel=2,
        )
    return distance
