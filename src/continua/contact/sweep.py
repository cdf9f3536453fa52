"""Velocities after a step: contacts act once more, node by node with lumped masses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.contact.rows import ContactRows
from continua.contact.solve_kernels import inverse_effective, sweep_velocities

__all__ = ["settle_velocities"]

_SWEEPS = 50


def settle_velocities(
    rows: ContactRows,
    target: NDArray[np.float64],
    inverse: NDArray[np.float64],
    V: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Change V so that every contact parts at least as fast as its target [m/s], with friction for what that takes.

    Args:
        rows: The contacts.
        target: Least normal velocity [c].
        inverse: Inverse masses of the rows of V [1/kg], shape [N, 9].
        V: Velocities, changed in place.

    Returns:
        The impulses in the contacts' frames [N s], shape [c, 3].
    """
    impulse = np.zeros((len(rows), 3))
    effective = np.zeros((len(rows), 3))
    inverse_effective(rows.ptr, rows.row, rows.block, inverse, effective)
    single = bool((np.diff(rows.ptr) == 1).all()) and len(np.unique(rows.row)) == len(rows.row)
    sweep_velocities(
        rows.ptr, rows.row, rows.block, rows.offset, target, rows.friction, inverse, effective,
        1 if single else _SWEEPS, impulse, V,
    )  # fmt: skip
    return impulse
