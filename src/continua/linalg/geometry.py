"""Positions of the unknowns of a matrix, and known coarser unknowns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.short_repr import ShortRepr

__all__ = ["Geometry"]


@dataclass(frozen=True, eq=False, repr=False)
class Geometry(ShortRepr):
    """Positions of the block rows of a matrix, and what a solver may use to coarsen them.

    Attributes:
        points: Position of every block row at rest [m], shape [n, 3].
        coarser: Returns the prolongation from known coarser unknowns, shape [n, coarse], and their geometry: those of
            the mesh that was refined, or of the next lower polynomial degree. None if there are none; a solver then
            derives coarser unknowns from `points`.
        order: Polynomial degree of the unknowns.
        separate: Whether unknowns at the same place may belong to separate parts of the body, so that places alone do
            not tell which unknowns interpolate which.
    """

    points: NDArray[np.float64]
    coarser: Callable[[], tuple[sparse.csr_array, Geometry]] | None = None
    order: int = 1
    separate: bool = False
