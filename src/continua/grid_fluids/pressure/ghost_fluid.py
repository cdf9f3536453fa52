"""Pressure below a free surface: zero on the surface, where it is between two cells (ghost fluid).

Liquid is where the level set `phi`, a signed distance in the middles of cells, is negative. Between a liquid cell
and one of air the surface lies at the part theta = phi / (phi - phi_air) of the way, and the pressure falls to zero
over that part of a spacing (Enright, Nguyen, Gibou and Fedkiw 2003): second order, and still symmetric. Coarser grids
see the mean distance of half a spacing, that is, twice the area of the surface along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.grid import padded
from continua.grid_fluids.pressure import ghost_fluid_kernels as kernels
from continua.grid_fluids.pressure.multigrid import Multigrid

__all__ = ["FreeSurface"]

_PARALLEL_FROM = 16384


class FreeSurface:
    """The equations of pressure in a liquid with a free surface.

    Args:
        weights: Open parts of the faces, 0 at the sides of the box; shape of the faces across each axis.
        fixed: What open sides add to the diagonal.
        phi: Level set in the middles of the cells, negative in the liquid; any unit.
        smoothing: Sweeps of the multigrid before and after.

    Attributes:
        phi: The level set.
        solver: The solver; its right-hand side must be 0 outside of the liquid.
    """

    def __init__(
        self, weights: Sequence[NDArray], fixed: NDArray, phi: NDArray, *, smoothing: int = 2
    ) -> None:
        self.phi = phi
        self._parallel = phi.size >= _PARALLEL_FROM
        inner = [padded(w.shape, w.dtype) for w in weights]
        held, coarse = np.empty_like(fixed), np.empty_like(fixed)
        kernels.equations.pick(self._parallel)(phi, *weights, fixed, *inner, held, coarse)
        self.solver = Multigrid(inner, held, coarse_fixed=coarse, smoothing=smoothing)

    def solvable(self, b: NDArray) -> NDArray:
        """Return a copy of the right-hand side `b` with zeros in cells that have no equation."""
        b = np.array(b, dtype=self.solver.levels[0].dtype, order="C")
        fine = self.solver.levels[0]
        kernels.no_sources.pick(self._parallel)(b, *fine.weights, fine.fixed)
        return b

    @property
    def liquid(self) -> NDArray[np.bool_]:
        """Which cells are liquid."""
        return self.phi < 0.0

    def subtract_gradient(self, velocity: Sequence[NDArray], p: NDArray, parts: Sequence[NDArray]) -> None:
        """Take the gradient of p off the velocity on faces beside liquid; p in spacings times velocity."""
        for axis in range(3):
            if p.shape[axis] > 1:
                kernels.subtract_gradient.pick(self._parallel)(velocity[axis], p, parts[axis], self.phi, axis)
