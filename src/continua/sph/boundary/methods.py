"""The boundary handling methods that a fluid can choose from, with their options."""

from __future__ import annotations

from dataclasses import dataclass

from continua.validation import number

__all__ = ["BOUNDARY_METHODS", "BoundaryMethod", "BoundaryParticles", "DensityMap", "VolumeMap"]


@dataclass(frozen=True)
class DensityMap:
    """Density maps (Koschier and Bender 2017): the boundary's part of the density is an integral, stored on a grid.

    Attributes:
        extension: How far outside the surface the boundary contributes, in kernel radii; 1 in the paper.
        inset: How far below the surface the boundary begins, in kernel radii. None lets fluid at rest end at the
            surface; with 0, as in the paper, there is a gap: half a kernel radius with an extension of 1.
    """

    extension: float = 0.125
    inset: float | None = None

    def __post_init__(self) -> None:
        number(self.extension, "a density map's extension", low=0.05, high=2.0)
        _check_inset(self.inset)


@dataclass(frozen=True)
class VolumeMap:
    """Volume maps (Bender and others 2019): the boundary's volume near a particle, placed at the closest point.

    Attributes:
        inset: How far below the surface the boundary begins, in kernel radii; None lets fluid at rest end at the
            surface.
    """

    inset: float | None = None

    def __post_init__(self) -> None:
        _check_inset(self.inset)


@dataclass(frozen=True)
class BoundaryParticles:
    """Boundary particles (Akinci and others 2012)."""


def _check_inset(inset: float | None) -> None:
    if inset is not None:
        number(inset, "a map's inset", low=-1.0, high=1.0, unit="kernel radii")


BoundaryMethod = DensityMap | VolumeMap | BoundaryParticles
BOUNDARY_METHODS: dict[str, type[BoundaryMethod]] = {
    "particles": BoundaryParticles,
    "density_map": DensityMap,
    "volume_map": VolumeMap,
}
