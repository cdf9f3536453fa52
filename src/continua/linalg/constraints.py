"""Vectors and blocks under constraints: which part of a nodal vector is free, and which is fixed.

`fixed` [n] is 0 for a free node, 1 for a fixed one and 2 for a node that is fixed in some directions; `projections`
[n, 6] are then the projectors onto the free directions, as their values 00, 01, 02, 11, 12, 22.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["fixed_part", "full_blocks", "project_free"]

_FULL = [0, 1, 2, 1, 3, 4, 2, 4, 5]  # the nine entries of a symmetric block among its six values


def full_blocks(symmetric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 3x3 matrices [k, 3, 3] from the six values of symmetric ones [k, 6]."""
    return symmetric[:, _FULL].reshape(-1, 3, 3)


def project_free(
    values: NDArray[np.float64], fixed: NDArray[np.uint8], projections: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the part of vectors [n, 3] in the free directions."""
    free = values.copy()
    free[fixed == 1] = 0.0
    partly = np.flatnonzero(fixed == 2)
    if len(partly) and len(projections):
        free[partly] = np.einsum("kij,kj->ki", full_blocks(projections[partly]), values[partly])
    return free


def fixed_part(
    values: NDArray[np.float64], fixed: NDArray[np.uint8], projections: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the part of vectors [n, 3] in the fixed directions."""
    held = values.copy()
    held[fixed == 0] = 0.0
    partly = np.flatnonzero(fixed == 2)
    if len(partly):
        held[partly] -= np.einsum("kij,kj->ki", full_blocks(projections[partly]), values[partly])
    return held
