"""Ghost fluid method: pressure zero on a free surface between cell centres.

The level set `phi`, a signed distance at cell centres, is negative in the liquid. Between a liquid and an air cell the
surface lies at the fraction theta = phi / (phi - phi_air), and the pressure falls to zero over that fraction of a
spacing (Enright, Nguyen, Gibou and Fedkiw 2003): second order, and still symmetric. Coarser grids use the mean
distance of half a spacing, that is, twice the area of the surface along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.grid import padded_zeros
from continua.grid_fluids.pressure import ghost_fluid_kernels as kernels
from continua.grid_fluids.pressure.multigrid import PoissonMultigrid

__all__ = ["GhostFluidPressure"]

_PARALLEL_FROM = 16384


class GhostFluidPressure:
    """The pressure equations of a liquid with a free surface.

    Args:
        weights: Open fractions of the faces, 0 at the sides of the box; shape of the faces across each axis.
        dirichlet: Dirichlet terms of open sides.
        phi: Level set at cell centres, negative in the liquid; any unit.
        smoothing: Multigrid sweeps before and after the coarse correction.

    Attributes:
        phi: The level set.
        solver: The solver; its right-hand side must be 0 outside the liquid.
    """

    def __init__(
        self, weights: Sequence[NDArray], dirichlet: NDArray, phi: NDArray, *, smoothing: int = 2
    ) -> None:
        self.phi = phi
        self._parallel = phi.size >= _PARALLEL_FROM
        liquid_weights = [padded_zeros(w.shape, w.dtype) for w in weights]
        fine_dirichlet, coarse_dirichlet = np.empty_like(dirichlet), np.empty_like(dirichlet)
        kernels.ghost_fluid_coefficients.variant(self._parallel)(
            phi, *weights, dirichlet, *liquid_weights, fine_dirichlet, coarse_dirichlet
        )
        self.solver = PoissonMultigrid(
            liquid_weights, fine_dirichlet, coarse_dirichlet=coarse_dirichlet, smoothing=smoothing
        )

    def solvable_rhs(self, b: NDArray) -> NDArray:
        """Return a copy of the right-hand side `b` that is 0 in cells without an equation."""
        b = np.array(b, dtype=self.solver.levels[0].dtype, order="C")
        fine = self.solver.levels[0]
        kernels.zero_isolated.variant(self._parallel)(b, *fine.weights, fine.dirichlet)
        return b

    @property
    def liquid(self) -> NDArray[np.bool_]:
        """Mask of liquid cells."""
        return self.phi < 0.0

    def subtract_gradient(
        self, velocity: Sequence[NDArray], p: NDArray, face_fractions: Sequence[NDArray]
    ) -> None:
        """Subtract the gradient of p from the velocity on faces beside liquid; p in spacings times velocity."""
        for axis in range(3):
            if p.shape[axis] > 1:
                kernels.subtract_gradient.variant(self._parallel)(
                    velocity[axis], p, face_fractions[axis], self.phi, axis
                )
