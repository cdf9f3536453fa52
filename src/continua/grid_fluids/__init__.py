"""Fluids on grids: cut cells, a multigrid pressure solver, smoke and wind tunnels."""

from continua.grid_fluids.advection.advection import SCHEMES, Advection
from continua.grid_fluids.bodies.grid_fluid import GridFluid
from continua.grid_fluids.bodies.liquid import Liquid
from continua.grid_fluids.bodies.smoke import Inflow, Smoke
from continua.grid_fluids.bodies.wind_tunnel import WindTunnel
from continua.grid_fluids.flow import Flow, FlowStep
from continua.grid_fluids.free_surface.marching_cubes import marching_cubes
from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.grid import Grid, make_grid
from continua.grid_fluids.geometry.polygon import Polygon
from continua.grid_fluids.geometry.sdf_shape import DistanceShape
from continua.grid_fluids.pressure.ghost_fluid import FreeSurface
from continua.grid_fluids.pressure.multigrid import Multigrid, Solve

__all__ = [
    "SCHEMES",
    "Advection",
    "CutCells",
    "DistanceShape",
    "Flow",
    "FlowStep",
    "FreeSurface",
    "Grid",
    "GridFluid",
    "Inflow",
    "Liquid",
    "Multigrid",
    "Polygon",
    "Smoke",
    "Solve",
    "WindTunnel",
    "make_grid",
    "marching_cubes",
]
