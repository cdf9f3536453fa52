"""Block-sparse matrices and linear solvers: algebra that knows nothing of bodies or scenes."""

from continua.linalg.auto_solver import AutoSolver
from continua.linalg.direct import Direct
from continua.linalg.geometry import Geometry
from continua.linalg.krylov import PCG, MergedPCG, SlicedEllMatrix
from continua.linalg.matrix import BlockMatrix, BlockPattern
from continua.linalg.multigrid import Multigrid, PMultigrid
from continua.linalg.solver import LinearSolver, SolveReport

__all__ = [
    "PCG",
    "AutoSolver",
    "BlockMatrix",
    "BlockPattern",
    "Direct",
    "Geometry",
    "LinearSolver",
    "MergedPCG",
    "Multigrid",
    "PMultigrid",
    "SlicedEllMatrix",
    "SolveReport",
]
