"""Fluids on grids: cut cells, a multigrid pressure solver, smoke and wind tunnels."""

from continua.eulerian.advection import SCHEMES, Advection
from continua.eulerian.body import GridFluid
from continua.eulerian.cutcells import CutCells
from continua.eulerian.distance_shape import DistanceShape
from continua.eulerian.flow import Flow, FlowStep
from continua.eulerian.free_surface import FreeSurface
from continua.eulerian.grid import Grid, make_grid
from continua.eulerian.liquid import Liquid
from continua.eulerian.marching import marching_cubes
from continua.eulerian.multigrid import Multigrid, Solve
from continua.eulerian.polygon import Polygon
from continua.eulerian.smoke import Inflow, Smoke
from continua.eulerian.tunnel import WindTunnel

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
