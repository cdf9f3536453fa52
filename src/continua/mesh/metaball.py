"""Unions of round cones: animals, hands, organs, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.implicit import Distance, fill
from continua.mesh.tet_mesh import TetMesh
from continua.validation import instances_of, number, rows3, vector3
from continua.validation import name as check_name

__all__ = ["RoundCone", "blob"]


@dataclass(frozen=True)
class RoundCone:
    """A round cone from `start` to `end` [m], the convex hull of two balls; a ball if both are equal.

    Attributes:
        start: Centre of one end [m].
        end: Centre of the other end [m].
        radius: Radius at the start [m].
        end_radius: Radius at the end [m]; None is that of the start.
        name: Name of its region of the mesh; cones may share one.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    end_radius: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for key in ("start", "end"):
            vector3(getattr(self, key), f"a round cone's {key}")
        number(self.radius, "a round cone's radius", above=0.0, unit="m")
        if self.end_radius is not None:
            number(self.end_radius, "a round cone's end_radius", above=0.0, unit="m")
        check_name(self.name, "a round cone's name")

    @property
    def last_radius(self) -> float:
        """Radius at the end [m]."""
        return self.radius if self.end_radius is None else self.end_radius

    def distance(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the signed distances of points [n, 3] [m], negative inside."""
        points = rows3(points, "points")
        start, way = np.asarray(self.start), np.subtract(self.end, self.start)
        length = float(way @ way)
        with np.errstate(over="ignore", invalid="ignore"):
            part = np.clip((points - start) @ way / length, 0.0, 1.0) if length else np.zeros(len(points))
            nearest = start + part[:, None] * way
            return np.linalg.norm(points - nearest, axis=1) - (
                self.radius + part * (self.last_radius - self.radius)
            )


def blob(limbs: Sequence[RoundCone], size: float, blend: float = 0.0) -> TetMesh:
    """Return the union of round cones as one mesh; every name among them is a region.

    Args:
        limbs: The round cones.
        size: Edge length of the elements [m].
        blend: Radius of the smooth blend between cones [m]; 0 leaves creases.
    """
    limbs = instances_of(limbs, RoundCone, "the round cones of a blob")
    if not limbs:
        raise InputError("a blob needs at least one round cone")
    size = number(size, "size", above=0.0, unit="m")
    blend = number(blend, "blend", low=0.0, unit="m")

    ends = np.array([[limb.start, limb.end] for limb in limbs], dtype=np.float64)
    reach = (
        max(max(limb.radius, limb.last_radius) for limb in limbs) + blend * np.log(len(limbs)) + 0.5 * size
    )
    bounds = [ends.min(axis=(0, 1)) - reach, ends.max(axis=(0, 1)) + reach]
    names = list(dict.fromkeys(limb.name for limb in limbs if limb.name))
    regions: dict[str, Distance] = {
        name: _Union(tuple(limb for limb in limbs if limb.name == name), blend) for name in names
    }
    return fill(_Union(tuple(limbs), blend), bounds, size, regions, curved=True)


@dataclass(frozen=True)
class _Union:
    """The signed distance of a smooth union of round cones, as a function that can be pickled."""

    limbs: tuple[RoundCone, ...]
    blend: float

    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        each = np.stack([limb.distance(points) for limb in self.limbs])
        low: NDArray[np.float64] = each.min(axis=0)
        return low - self.blend * np.log(np.exp((low - each) / self.blend).sum(axis=0)) if self.blend else low
