"""Particle fluids: smoothed particle hydrodynamics, divergence-free and incompressible."""

from continua.sph.boundary import (
    BoundaryMap,
    BoundaryParticles,
    DensityMap,
    VolumeMap,
    build_map,
    planar_density,
)
from continua.sph.emitters import Drain, Emitter
from continua.sph.fluid import BYTES_PER_PARTICLE, Fluid
from continua.sph.forces import Force
from continua.sph.neighbour_search import CellGrid, NeighbourLists, find_neighbours
from continua.sph.particles import Particles
from continua.sph.pressure import DFSPH, IISPH, PBF, PCISPH, PressureReport, PressureSolver
from continua.sph.smoothing_kernel import cubic_spline, cubic_spline_derivative
from continua.sph.surface_reconstruction import reconstruct_surface
from continua.sph.system import FluidSystem, SubStep

__all__ = [
    "BYTES_PER_PARTICLE",
    "DFSPH",
    "IISPH",
    "PBF",
    "PCISPH",
    "BoundaryMap",
    "BoundaryParticles",
    "CellGrid",
    "DensityMap",
    "Drain",
    "Emitter",
    "Fluid",
    "FluidSystem",
    "Force",
    "NeighbourLists",
    "Particles",
    "PressureReport",
    "PressureSolver",
    "SubStep",
    "VolumeMap",
    "build_map",
    "cubic_spline",
    "cubic_spline_derivative",
    "find_neighbours",
    "planar_density",
    "reconstruct_surface",
]
