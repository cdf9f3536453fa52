"""Boundaries of particle fluids: how walls and bodies act on particles, and particles on them."""

from continua.sph.boundary.deformable import DeformableBoundary
from continua.sph.boundary.interface import Boundary
from continua.sph.boundary.map_build import BoundaryMap, build_map
from continua.sph.boundary.methods import (
    BOUNDARY_METHODS,
    BoundaryMethod,
    BoundaryParticles,
    DensityMap,
    VolumeMap,
)
from continua.sph.boundary.model import BoundaryModel, BoundarySums
from continua.sph.boundary.planar_profile import planar_density
from continua.sph.boundary.rigid import RigidBoundary, make_boundary_model

__all__ = [
    "BOUNDARY_METHODS",
    "Boundary",
    "BoundaryMap",
    "BoundaryMethod",
    "BoundaryModel",
    "BoundaryParticles",
    "BoundarySums",
    "DeformableBoundary",
    "DensityMap",
    "RigidBoundary",
    "VolumeMap",
    "build_map",
    "make_boundary_model",
    "planar_density",
]
