"""Particle fluids: smoothed particle hydrodynamics, divergence-free and incompressible."""

from continua.sph.boundary import DensityMap, VolumeMap, WallParticles
from continua.sph.comparison import IISPH, PBF, PCISPH
from continua.sph.dfsph import DFSPH
from continua.sph.emitters import Drain, Emitter
from continua.sph.fluid import BYTES_PER_PARTICLE, Fluid
from continua.sph.grid import CellGrid, NeighbourLists, find_neighbours
from continua.sph.maps import BoundaryMap, build_map
from continua.sph.particles import Particles
from continua.sph.profile import planar_density
from continua.sph.solvers import PressureSolver, SolveFacts
from continua.sph.spline import spline, spline_slope
from continua.sph.system import FluidSystem, SubStep

__all__ = [
    "BYTES_PER_PARTICLE",
    "DFSPH",
    "IISPH",
    "PBF",
    "PCISPH",
    "BoundaryMap",
    "CellGrid",
    "DensityMap",
    "Drain",
    "Emitter",
    "Fluid",
    "FluidSystem",
    "NeighbourLists",
    "Particles",
    "PressureSolver",
    "SolveFacts",
    "SubStep",
    "VolumeMap",
    "WallParticles",
    "build_map",
    "find_neighbours",
    "planar_density",
    "spline",
    "spline_slope",
]
