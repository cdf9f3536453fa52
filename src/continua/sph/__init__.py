"""Particle fluids: smoothed particle hydrodynamics, divergence-free and incompressible."""

from continua.sph.boundary.map_build import BoundaryMap, build_map
from continua.sph.boundary.model import DensityMap, VolumeMap, WallParticles
from continua.sph.boundary.planar_profile import planar_density
from continua.sph.emitters import Drain, Emitter
from continua.sph.fluid import BYTES_PER_PARTICLE, Fluid
from continua.sph.neighbour_search import CellGrid, NeighbourLists, find_neighbours
from continua.sph.particles import Particles
from continua.sph.pressure.dfsph import DFSPH
from continua.sph.pressure.iisph_pcisph_pbf import IISPH, PBF, PCISPH
from continua.sph.pressure.solver import PressureSolver, SolveFacts
from continua.sph.smoothing_kernel import spline, spline_slope
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
