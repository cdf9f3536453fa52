"""Multigrid: coarser levels of a block matrix, smoothers, and the cycles that precondition conjugate gradients."""

from continua.linalg.multigrid.hierarchy import Hierarchy
from continua.linalg.multigrid.multigrid import Multigrid, PMultigrid

__all__ = ["Hierarchy", "Multigrid", "PMultigrid"]
