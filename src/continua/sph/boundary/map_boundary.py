"""Rigid boundaries by density maps and volume maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Plane, Shape
from continua.sph.boundary import map_eval_kernels as kernels
from continua.sph.boundary.map_build import BoundaryMap, build_map, plane_map
from continua.sph.boundary.methods import DensityMap, VolumeMap
from continua.sph.boundary.model import BoundaryPose, BoundarySums
from continua.sph.boundary.wall_drag import map_wall_profile

__all__ = ["MapBoundary", "make_map_boundary", "shape_bounds"]

_PARALLEL_FROM = 8192
_REST = np.zeros(12, np.float32)
_CANDIDATE_DENSITY = np.float32(
    0.02
)  # boundary part of the density above which a particle is checked for penetration


class MapBoundary:
    """A rigid boundary that is represented by a map.

    Args:
        boundary_map: The map, in local axes.
        model: "density" or "volume".
        extension: How far outside the surface a density map contributes, in kernel radii.
    """

    def __init__(self, boundary_map: BoundaryMap, model: str, extension: float) -> None:
        self.map, radius = boundary_map, boundary_map.radius
        self.profile = map_wall_profile(model, extension, boundary_map.inset / radius, 0.5 * radius)

    def add_to(self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose) -> None:
        """Add the contributions of the map."""
        motion = pose.motion
        kernels.add_map.variant(len(sums.density) >= _PARALLEL_FROM)(
            xyzp, *self._box(pose), _flat_pose(pose), self.map.table, motion if motion is not None else _REST,
            motion is not None, sums.gradient, sums.density, sums.rate, sums.weighted_velocity,
        )  # fmt: skip

    def penetration_candidates(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles that are closer than `margin` [m] to the surface according to the map."""
        close = np.zeros(len(sums.density), np.uint8)
        kernels.mark_close_particles.variant(len(close) >= _PARALLEL_FROM)(
            xyzp, *self._box(pose), _flat_pose(pose), self.map.table, sums.density, _CANDIDATE_DENSITY,
            np.float32(margin + self.map.inset), close,
        )  # fmt: skip
        return np.flatnonzero(close)

    def _box(self, pose: BoundaryPose) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the bounding box of the map's support in the fluid's axes [m]."""
        if not np.isfinite(self.map.bounds).all() or self.map.table.outside_code < -1:
            return np.full(3, -np.inf, np.float32), np.full(3, np.inf, np.float32)
        local_center, half = self.map.bounds.mean(axis=0), 0.5 * (self.map.bounds[1] - self.map.bounds[0])
        center = pose.rotation @ local_center + pose.translation
        half_size = np.abs(pose.rotation) @ half * (1.0 + 1e-6)
        return (center - half_size).astype(np.float32), (center + half_size).astype(np.float32)

    def nbytes(self) -> int:
        """Return the memory of the map [bytes]."""
        return self.map.nbytes


def _flat_pose(pose: BoundaryPose) -> NDArray[np.float32]:
    return np.concatenate([pose.rotation.ravel(), pose.translation]).astype(np.float32)


def shape_bounds(shape: Shape) -> NDArray[np.float64]:
    """Return the bounding box of a shape's surface at rest [m], shape [2, 3]."""
    description: Any = shape.description()
    if description["kind"] == "sphere":
        return np.asarray(description["center"]) + float(description["radius"]) * np.array([[-1.0], [1.0]])
    points = np.asarray(description["points"])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def make_map_boundary(shape: Shape, radius: float, method: DensityMap | VolumeMap) -> MapBoundary:
    """Return the map boundary of a shape at rest, for a kernel of `radius` [m]."""
    kind = "density" if isinstance(method, DensityMap) else "volume"
    extension = method.extension if isinstance(method, DensityMap) else 1.0
    if isinstance(shape, Plane):
        normal = np.asarray(shape.normal)
        offset = -float(normal @ np.asarray(shape.point))
        return MapBoundary(
            plane_map(normal, offset, radius, model=kind, extension=extension, inset=method.inset),
            kind,
            extension,
        )
    boundary_map = build_map(
        lambda points: shape.distances(points)[0],
        shape_bounds(shape),
        radius,
        model=kind,
        extension=extension,
        inset=method.inset,
        inverted=bool(getattr(shape, "inside", False)),
    )
    return MapBoundary(boundary_map, kind, extension)
