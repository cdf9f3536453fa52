"""Incompressible solids: one volume per node, pressures, and projections of positions and velocities (Irving 2007)."""

from continua.deformable.incompressible.incompressibility import Incompressibility
from continua.deformable.incompressible.one_ring import OneRing
from continua.deformable.incompressible.projection import PressureSolve, ProjectedPart, volume_error
from continua.deformable.incompressible.static_pressures import (
    KeepsVolumes,
    StaticPressures,
    search_with_pressures,
)

__all__ = [
    "Incompressibility",
    "KeepsVolumes",
    "OneRing",
    "PressureSolve",
    "ProjectedPart",
    "StaticPressures",
    "search_with_pressures",
    "volume_error",
]
