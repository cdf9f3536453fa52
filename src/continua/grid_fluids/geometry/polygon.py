"""Polygons and closed curves as obstacles of plane flows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.geometry import Shape
from continua.grid_fluids.geometry.polygon_kernels import CHUNK, polygon_distances
from continua.short_repr import ShortRepr
from continua.validation import array, whole_number

__all__ = ["Polygon"]

_PARALLEL_FROM = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Polygon(ShortRepr, Shape):
    """The interior of a closed polygon in the x-y plane, the same for all z.

    Attributes:
        points: Corners in order [m], shape [n, 2].
        depth: Length along z when drawn [m].
    """

    kind = "polygon"
    points: ArrayLike
    depth: float = 0.02

    def __post_init__(self) -> None:
        self.check_options()
        corners = array(self.points, "a polygon's corners", (None, 2))
        self._check_lengths("depth")
        if len(corners) < 3:
            raise InputError(f"a polygon needs at least three corners, not {len(corners)}")
        after = np.roll(corners, -1, axis=0)
        if (np.linalg.norm(after - corners, axis=1) == 0.0).any():
            raise InputError("consecutive corners of a polygon must differ")
        area = 0.5 * float((corners[:, 0] * after[:, 1] - corners[:, 1] * after[:, 0]).sum())
        if area == 0.0:
            raise InputError("a polygon must enclose an area")
        self._set("points", corners if area > 0.0 else np.ascontiguousarray(corners[::-1]))

    @classmethod
    def spline(cls, points: ArrayLike, pieces: int = 8, **options: object) -> Polygon:
        """Return a closed uniform cubic B-spline of control points [n, 2], with `pieces` chords per control point."""
        control = array(points, "the control points of a spline", (None, 2))
        pieces = whole_number(pieces, "the pieces of a spline", low=1, high=1000)
        if len(control) < 3:
            raise InputError(f"a spline needs at least three control points, not {len(control)}")
        t = np.arange(pieces)[:, None] / pieces
        weights = np.concatenate(
            [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3], axis=1
        ) / 6.0  # fmt: skip
        four = np.stack([np.roll(control, -s, axis=0) for s in range(4)], axis=1)
        return cls(np.einsum("pk,nkd->npd", weights, four).reshape(-1, 2), **options)  # type: ignore[arg-type]

    def bounds(self) -> NDArray[np.float64]:
        """Return the bounding box [m], shape [2, 3]; it is unbounded along z."""
        corners = np.asarray(self.points)
        low, high = corners.min(axis=0), corners.max(axis=0)
        return np.array([[low[0], low[1], -1e9], [high[0], high[1], 1e9]])

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances in the plane and normals."""
        points = np.ascontiguousarray(self._points(points))
        gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
        corners = np.asarray(self.points)
        work = -(-len(points) // CHUNK), len(corners)
        measure = polygon_distances.variant(len(points) >= _PARALLEL_FROM)
        measure(
            points,
            np.concatenate([corners, corners[:1]]),
            gaps,
            normals,
            np.empty(work),
            np.empty(work, np.int32),
        )
        return gaps, normals

    def description(self) -> Mapping[str, object]:
        """Return the outline extruded along z, and a triangle fan around the centre as a lid."""
        corners = np.asarray(self.points)
        n = len(corners)
        half = 0.5 * self.depth
        rings = [np.column_stack([corners, np.full(n, z)]) for z in (-half, half)]
        center = np.append(corners.mean(axis=0), half)
        i = np.arange(n)
        j = (i + 1) % n
        strips = [np.stack([i, j, j + n], axis=1), np.stack([i, j + n, i + n], axis=1)]
        lid = np.stack([i + n, j + n, np.full(n, 2 * n)], axis=1)
        triangles = np.concatenate([*strips, lid]).astype(np.int32)
        return {"kind": "mesh", "points": np.concatenate([*rings, center[None]]), "triangles": triangles}
