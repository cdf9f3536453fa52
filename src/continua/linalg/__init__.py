"""Block-sparse matrices and linear solvers: algebra that knows nothing of bodies or scenes."""

from continua.linalg.assembly_pattern import AssemblyPattern
from continua.linalg.auto_solver import AutoSolver
from continua.linalg.direct import Direct
from continua.linalg.dof_map import DofMap
from continua.linalg.geometry import Geometry
from continua.linalg.krylov import MINRES, PCG, MergedPCG, SlicedEllMatrix
from continua.linalg.matrix import BlockMatrix, BlockPattern
from continua.linalg.multigrid import Multigrid, PMultigrid
from continua.linalg.saddle_point import CouplingMatrix, SaddlePointMatrix
from continua.linalg.solver import LinearSolver, SolveReport

__all__ = [
    "MINRES",
    "PCG",
    "AssemblyPattern",
    "AutoSolver",
    "BlockMatrix",
    "BlockPattern",
    "CouplingMatrix",
    "Direct",
    "DofMap",
    "Geometry",
    "LinearSolver",
    "MergedPCG",
    "Multigrid",
    "PMultigrid",
    "SaddlePointMatrix",
    "SlicedEllMatrix",
    "SolveReport",
]
