"""Block-sparse matrices and linear solvers: algebra that knows nothing of matter or scenes."""

from continua.linalg.choice import SolverChoice
from continua.linalg.direct import Direct
from continua.linalg.geometry import Geometry
from continua.linalg.matrix import BlockMatrix, BlockPattern
from continua.linalg.merged import BinMatrix, MergedPCG
from continua.linalg.multigrid import Multigrid, PMultigrid
from continua.linalg.pcg import PCG
from continua.linalg.solver import LinearSolver, SolveReport

__all__ = [
    "PCG",
    "BinMatrix",
    "BlockMatrix",
    "BlockPattern",
    "Direct",
    "Geometry",
    "LinearSolver",
    "MergedPCG",
    "Multigrid",
    "PMultigrid",
    "SolveReport",
    "SolverChoice",
]
