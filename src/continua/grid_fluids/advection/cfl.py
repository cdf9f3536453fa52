"""Sub-steps of a time step by the CFL condition."""

from __future__ import annotations

from math import ceil, isfinite

from continua.errors import DivergedError

__all__ = ["cfl_substeps"]

_MAX_SUBSTEPS = 1000  # a speed that needs more is taken as divergence


def cfl_substeps(speed: float, dt: float, cfl: float, spacing: float) -> int:
    """Return the number of sub-steps of `dt` [s] in which a `speed` [m/s] moves at most `cfl` cells each.

    Raises:
        DivergedError: The speed is not finite, or far too large.
    """
    if not isfinite(speed):
        raise DivergedError("the velocity of the grid fluid is not finite")
    count = max(1, ceil(speed * dt / (cfl * spacing) - 1e-9))
    if count > _MAX_SUBSTEPS:
        raise DivergedError(f"the grid fluid reached {speed:g} m/s; use a smaller dt")
    return count
