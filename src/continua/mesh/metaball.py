"""Bodies put together from rounded limbs: animals, hands, organs, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.implicit import Distance, fill
from continua.mesh.tet_mesh import TetMesh
from continua.validation import isfinite

__all__ = ["RoundCone", "blob"]


@dataclass(frozen=True)
class RoundCone:
    """A rounded rod from `start` to `end` [m]; both the same make a ball.

    Attributes:
        start: Middle of one end [m].
        end: Middle of the other end [m].
        radius: Radius at the start [m].
        end_radius: Radius at the end [m]; None takes that of the start.
        name: Region of the mesh that it becomes; limbs may share one.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    end_radius: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for key in ("start", "end"):
            point = np.asarray(getattr(self, key), dtype=np.float64)
            if point.shape != (3,) or not np.isfinite(point).all():
                raise InputError(f"a limb's {key} must be three finite numbers, not {getattr(self, key)!r}")
        for radius in (self.radius, self.last_radius):
            if not (isfinite(radius) and radius > 0.0):
                raise InputError(f"a limb's radius must be greater than 0 m, not {radius}")

    @property
    def last_radius(self) -> float:
        """Radius at the end [m]."""
        return self.radius if self.end_radius is None else self.end_radius

    def distance(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far points [n, 3] lie outside [m], negative inside."""
        start, way = np.asarray(self.start), np.subtract(self.end, self.start)
        length = float(way @ way)
        part = np.clip((points - start) @ way / length, 0.0, 1.0) if length else np.zeros(len(points))
        nearest = start + part[:, None] * way
        return np.linalg.norm(points - nearest, axis=1) - (
            self.radius + part * (self.last_radius - self.radius)
        )


def blob(limbs: Sequence[RoundCone], size: float, blend: float = 0.0) -> TetMesh:
    """Return the union of limbs as one mesh; every name among them is a region.

    Args:
        limbs: The limbs.
        size: Length of the elements [m].
        blend: How softly limbs run into each other [m]; 0 leaves creases.
    """
    if not limbs:
        raise InputError("a blob needs at least one limb")
    if not (isfinite(blend) and blend >= 0.0):
        raise InputError(f"blend must be a length of at least 0 m, not {blend}")

    def union(some: Sequence[RoundCone]) -> Distance:
        def distance(points: NDArray[np.float64]) -> NDArray[np.float64]:
            each = np.stack([limb.distance(points) for limb in some])
            low = each.min(axis=0)
            return low - blend * np.log(np.exp((low - each) / blend).sum(axis=0)) if blend else low

        return distance

    ends = np.array([[limb.start, limb.end] for limb in limbs], dtype=np.float64)
    reach = (
        max(max(limb.radius, limb.last_radius) for limb in limbs) + blend * np.log(len(limbs)) + 0.5 * size
    )
    bounds = [ends.min(axis=(0, 1)) - reach, ends.max(axis=(0, 1)) + reach]
    names = list(dict.fromkeys(limb.name for limb in limbs if limb.name))
    regions = {name: union([limb for limb in limbs if limb.name == name]) for name in names}
    return fill(union(limbs), bounds, size, regions)
