"""Incompressible solids: one volume per node, pressures, and projections of positions and velocities (Irving 2007)."""

from continua.solids.incompressible.incompressibility import Incompressibility
from continua.solids.incompressible.one_ring import OneRing
from continua.solids.incompressible.projection import PressureSolve, ProjectedPart, volume_error

__all__ = ["Incompressibility", "OneRing", "PressureSolve", "ProjectedPart", "volume_error"]
