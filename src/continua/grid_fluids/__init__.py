"""Grid fluids: smoke, liquids and wind tunnels on a staggered grid with cut cells and a multigrid pressure solver."""

from continua.grid_fluids.advection.advection import SCHEMES, Advection
from continua.grid_fluids.bodies.grid_fluid import GridFluid
from continua.grid_fluids.bodies.liquid import Liquid
from continua.grid_fluids.bodies.smoke import Inflow, Smoke
from continua.grid_fluids.bodies.wind_tunnel import WindTunnel
from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.flow import Flow
from continua.grid_fluids.free_surface.marching_cubes import marching_cubes
from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.grid import Grid, make_grid
from continua.grid_fluids.geometry.polygon import Polygon
from continua.grid_fluids.geometry.sdf_shape import SdfShape
from continua.grid_fluids.interface import SubstepReport
from continua.grid_fluids.pressure.ghost_fluid import GhostFluidPressure
from continua.grid_fluids.pressure.multigrid import MultigridReport, PoissonMultigrid

__all__ = [
    "SCHEMES",
    "Advection",
    "CutCells",
    "Flow",
    "GhostFluidPressure",
    "Grid",
    "GridFluid",
    "Inflow",
    "Liquid",
    "MultigridReport",
    "PoissonMultigrid",
    "Polygon",
    "SdfShape",
    "Smoke",
    "StaggeredFields",
    "SubstepReport",
    "WindTunnel",
    "make_grid",
    "marching_cubes",
]
