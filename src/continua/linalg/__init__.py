"""Block-sparse matrices and linear solvers: algebra that knows nothing of matter or scenes."""

from continua.linalg.matrix import BlockMatrix, BlockPattern
from continua.linalg.pcg import PCG
from continua.linalg.solver import LinearSolver, SolveReport

__all__ = ["PCG", "BlockMatrix", "BlockPattern", "LinearSolver", "SolveReport"]
