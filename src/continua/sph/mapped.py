"""Walls by density and volume maps, as a fluid's particles feel them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Plane, Shape
from continua.sph import mapped_kernels as kernels
from continua.sph.boundary import DensityMap, Place, VolumeMap, WallSums
from continua.sph.maps import BoundaryMap, build_map, flat_map

__all__ = ["MappedWall", "mapped_wall", "shape_bounds"]

_PARALLEL_FROM = 8192
_REST = np.zeros(12, np.float32)
_WATCHED = np.float32(0.02)  # part of the density from which on a particle is watched for entering


class MappedWall:
    """A boundary map with a place.

    Attributes:
        map: The map, in the wall's own axes.
    """

    def __init__(self, boundary_map: BoundaryMap) -> None:
        self.map = boundary_map

    def add_to(self, walls: WallSums, rows: NDArray[np.float32], place: Place) -> None:
        """Add what particles feel of the map."""
        motion = place.motion
        kernels.add_map.pick(len(walls.density) >= _PARALLEL_FROM)(
            rows, *self._box(place), _flat(place), self.map.table, motion if motion is not None else _REST,
            motion is not None, walls.gradient, walls.density, walls.rate, walls.drift,
        )  # fmt: skip

    def suspects(
        self, walls: WallSums, rows: NDArray[np.float32], place: Place, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles that the map takes to be nearer than `margin` [m] to the surface."""
        found = np.zeros(len(walls.density), np.uint8)
        kernels.find_inside.pick(len(found) >= _PARALLEL_FROM)(
            rows, *self._box(place), _flat(place), self.map.table, walls.density, _WATCHED,
            np.float32(margin + self.map.inset), found,
        )  # fmt: skip
        return np.flatnonzero(found)

    def _box(self, place: Place) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the box around all that the map reaches, along the fluid's axes [m]."""
        if not np.isfinite(self.map.bounds).all() or self.map.table.beyond < -1:
            return np.full(3, -np.inf, np.float32), np.full(3, np.inf, np.float32)
        middle, half = self.map.bounds.mean(axis=0), 0.5 * (self.map.bounds[1] - self.map.bounds[0])
        center = place.turn @ middle + place.shift
        size = np.abs(place.turn) @ half * (1.0 + 1e-6)
        return (center - size).astype(np.float32), (center + size).astype(np.float32)

    def nbytes(self) -> int:
        """Return the memory of the map [bytes]."""
        return self.map.nbytes


def _flat(place: Place) -> NDArray[np.float32]:
    return np.concatenate([place.turn.ravel(), place.shift]).astype(np.float32)


def shape_bounds(shape: Shape) -> NDArray[np.float64]:
    """Return the box around a shape's surface at rest [m], shape [2, 3]."""
    about: Any = shape.description()
    if about["kind"] == "sphere":
        return np.asarray(about["center"]) + float(about["radius"]) * np.array([[-1.0], [1.0]])
    points = np.asarray(about["points"])
    return np.stack([points.min(axis=0), points.max(axis=0)])


def mapped_wall(shape: Shape, radius: float, model: DensityMap | VolumeMap) -> MappedWall:
    """Return the map of a shape at rest, for kernels of `radius` [m]."""
    kind = "density" if isinstance(model, DensityMap) else "volume"
    extension = model.extension if isinstance(model, DensityMap) else 1.0
    if isinstance(shape, Plane):
        normal = np.asarray(shape.normal)
        offset = -float(normal @ np.asarray(shape.point))
        return MappedWall(
            flat_map(normal, offset, radius, model=kind, extension=extension, inset=model.inset)
        )
    found = build_map(
        lambda points: shape.distances(points)[0],
        shape_bounds(shape),
        radius,
        model=kind,
        extension=extension,
        inset=model.inset,
        hollow=bool(getattr(shape, "inside", False)),
    )
    return MappedWall(found)
