"""Pressure solvers, which keep particle fluids incompressible."""

from continua.sph.pressure.dfsph import DFSPH
from continua.sph.pressure.iisph import IISPH
from continua.sph.pressure.pbf import PBF
from continua.sph.pressure.pcisph import PCISPH
from continua.sph.pressure.solver import PressureReport, PressureSolver

__all__ = ["DFSPH", "IISPH", "PBF", "PCISPH", "PressureReport", "PressureSolver"]
