"""The result of a contact solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.linalg import SolveReport
from continua.short_repr import ShortRepr

__all__ = ["ContactSolution"]


@dataclass(eq=False, repr=False)
class ContactSolution(ShortRepr):
    """The result of a contact solve.

    Attributes:
        impulse: Impulses in the contacts' frames [N s], over the longest `effective_dt` of the systems, shape [c, 3].
        report: All linear solves together.
        solves: Their number.
        error: Largest error of a relative velocity at the end [m/s].
        converged: Whether that is below the tolerance, or as small as the linear solver allows.
        coarse: Whether it is only accurate enough to search for more contacts.
    """

    impulse: NDArray[np.float64]
    report: SolveReport
    solves: int
    error: float
    converged: bool
    coarse: bool = False
