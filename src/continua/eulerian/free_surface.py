"""Pressure below a free surface: zero on the surface, where it is between two cells (ghost fluid).

Liquid is where the level set `phi` [m], a signed distance in the middles of cells, is negative. Between a liquid cell
and one of air the surface lies at the part theta = phi / (phi - phi_air) of the way, and the pressure falls to zero
over that part of a spacing (Enright, Nguyen, Gibou and Fedkiw 2003): second order, and still symmetric. Coarser grids
see the mean distance of half a spacing, that is, twice the area of the surface along each axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.eulerian.multigrid import Multigrid

__all__ = ["FreeSurface"]

_NEAREST = 0.01  # of the spacing: the surface is never taken to be nearer to a middle of a cell


class FreeSurface:
    """The equations of pressure in a liquid with a free surface.

    Args:
        weights: Open parts of the faces, 0 at the sides of the box; shape of the faces across each axis.
        fixed: What open sides add to the diagonal.
        phi: Level set in the middles of the cells, negative in the liquid.
        smoothing: Sweeps of the multigrid before and after.

    Attributes:
        liquid: Which cells are liquid.
        solver: The solver; its right-hand side must be 0 outside of the liquid.
    """

    def __init__(
        self, weights: Sequence[NDArray], fixed: NDArray, phi: NDArray, *, smoothing: int = 2
    ) -> None:
        self.liquid = phi < 0.0
        self._pulls: list[NDArray] = []
        inner = []
        held, coarse = np.where(self.liquid, fixed, 0), np.where(self.liquid, fixed, 0)
        for axis in range(3):
            w = weights[axis].copy()
            pull = np.zeros_like(w)
            if phi.shape[axis] > 1:
                wet, p = np.moveaxis(self.liquid, axis, 0), np.moveaxis(phi, axis, 0)
                face, ghost = np.moveaxis(w, axis, 0)[1:-1], np.moveaxis(pull, axis, 0)[1:-1]
                up, down = wet[:-1] & ~wet[1:], ~wet[:-1] & wet[1:]
                in_liquid = np.where(up, p[:-1], p[1:])
                across = np.where(up | down, np.abs(p[1:] - p[:-1]), 1.0)
                theta = np.clip(np.abs(in_liquid) / across, _NEAREST, 1.0)
                ghost[:] = np.where(up | down, 1.0 / theta, 0.0)
                for mine, where in ((slice(None, -1), up), (slice(1, None), down)):
                    np.moveaxis(held, axis, 0)[mine] += np.where(where, face * ghost, 0)
                    np.moveaxis(coarse, axis, 0)[mine] += np.where(where, 2 * face, 0)
                face[:] = np.where(wet[:-1] & wet[1:], face, 0)
            inner.append(w)
            self._pulls.append(pull)
        self.solver = Multigrid(inner, held, coarse_fixed=coarse, smoothing=smoothing)

    def subtract_gradient(self, velocity: Sequence[NDArray], p: NDArray, parts: Sequence[NDArray]) -> None:
        """Take the gradient of p off the velocity on faces beside liquid; p in spacings times velocity."""
        for axis in range(3):
            if p.shape[axis] == 1:
                continue
            wet, q = np.moveaxis(self.liquid, axis, 0), np.moveaxis(p, axis, 0)
            open_ = np.moveaxis(parts[axis], axis, 0)[1:-1] > 0
            pull = np.moveaxis(self._pulls[axis], axis, 0)[1:-1]
            rise = np.where(pull > 0, (np.where(wet[1:], q[1:], 0) - np.where(wet[:-1], q[:-1], 0)) * pull, 0)
            rise = np.where(wet[:-1] & wet[1:], q[1:] - q[:-1], rise)
            np.moveaxis(velocity[axis], axis, 0)[1:-1] -= np.where(open_, rise, 0)
