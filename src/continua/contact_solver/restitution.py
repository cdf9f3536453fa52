"""Projection of the velocities after a step: contacts act once more, with restitution and lumped masses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.augmented_lagrangian_kernels import effective_masses, gauss_seidel_velocities
from continua.contact_solver.constraint_rows import ConstraintRows

__all__ = ["project_velocities"]

_SWEEPS = 50


def project_velocities(
    rows: ConstraintRows,
    target: NDArray[np.float64],
    inverse_mass: NDArray[np.float64],
    V: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Change V so that every contact separates at least at its target speed [m/s], with friction for these impulses.

    Args:
        rows: The contacts.
        target: Least normal velocity [c].
        inverse_mass: Inverse masses of the rows of V [1/kg], shape [N, 9].
        V: Velocities, changed in place.

    Returns:
        The impulses in the contacts' frames [N s], shape [c, 3].
    """
    impulse = np.zeros((len(rows), 3))
    effective = np.zeros((len(rows), 3))
    effective_masses(rows.ptr, rows.row, rows.block, inverse_mass, effective)
    independent = bool((np.diff(rows.ptr) == 1).all()) and len(np.unique(rows.row)) == len(rows.row)
    gauss_seidel_velocities(
        rows.ptr, rows.row, rows.block, rows.offset, target, rows.friction, inverse_mass, effective,
        1 if independent else _SWEEPS, impulse, V,
    )  # fmt: skip
    return impulse
