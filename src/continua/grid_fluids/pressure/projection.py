"""Pressure projection of a flow that fills its domain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.geometry.cut_cells import MIN_OPEN_FRACTION, Window
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.grid_fluids.geometry.domain_boundary import blocked_inlets
from continua.grid_fluids.geometry.grid import padded_zeros
from continua.grid_fluids.pressure import projection_kernels
from continua.grid_fluids.pressure.multigrid import MultigridReport, PoissonMultigrid
from continua.numerics.timers import timed

__all__ = ["CutCellProjection", "subtract_side_gradient"]

_COMPRESSED = 0.01  # net over gross inflow of a closed region above which moving walls compress it


class CutCellProjection:
    """The pressure operator on cut cells: makes a velocity divergence-free.

    Args:
        domain: The domain.
        dtype: `numpy.float32` or `numpy.float64`.
        rtol: Tolerance of the pressure solve, relative to the divergence before.
        smoothing: Multigrid sweeps before and after each coarse correction.

    Attributes:
        solver: The multigrid solver.
        compressed_region: Whether moving obstacles changed the volume of a closed region in the last projection.
    """

    def __init__(self, domain: FlowDomain, dtype: Any, *, rtol: float, smoothing: int = 2) -> None:
        self.domain, self.rtol = domain, rtol
        grid = domain.grid
        weights = [padded_zeros(grid.faces_shape(a), dtype) for a in range(3)]
        self.solver = PoissonMultigrid(weights, np.zeros(grid.shape, dtype), smoothing=smoothing)
        self.compressed_region = False
        self._rhs = np.zeros(grid.shape, dtype)

    def update(self, window: Window) -> None:
        """Update the pressure equations after the cut cells changed in `window`."""
        low, high = window
        weights, dirichlet = self.solver.levels[0].weights, self.solver.levels[0].dirichlet
        face_fractions = self.domain.cut_cells.face_fractions
        for axis in self.domain.grid.axes:
            faces = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            weights[axis][faces] = face_fractions[axis][faces]
        for side in self.domain.sides:
            weights[side.axis][side.layer()] = 0
            dirichlet[side.layer()] = 0
        for side in self.domain.sides:
            if side.kind == "open":
                dirichlet[side.layer()] += 2 * face_fractions[side.axis][side.layer()]
        self.solver.update(low, high)

    def blocked_inlets(self) -> list[str]:
        """Return the names of sides with a prescribed flow that obstacles block from every open side."""
        if not self.domain.cut_cells.obstacles:
            return []
        return blocked_inlets(self.domain.sides, self.domain.cut_cells.face_fractions, self.solver.regions)

    @timed("pressure")
    def project(
        self,
        fields: StaggeredFields,
        dt: float,
        density: float,
        wall_velocity: Sequence[NDArray] | None = None,
        *,
        acceleration: Sequence[NDArray] | None = None,
        halves: bool = False,
    ) -> MultigridReport:
        """Subtract the pressure gradient over `dt` [s] that makes the velocity divergence-free.

        Args:
            fields: Velocity and pressure; the last pressure is the initial guess.
            dt: Duration in which the pressure acts [s].
            density: Density [kg/m3].
            wall_velocity: Velocity of moving walls [m/s].
            acceleration: Receives the acceleration by pressure [m/s2]; 0 on closed faces.
            halves: The last pressure and its `acceleration` have acted for the time `dt` already. The result is the
                mean over both times.
        """
        domain, grid = self.domain, self.domain.grid
        if wall_velocity is None:
            wall_velocity = domain.no_wall_velocity()
        u, fractions = fields.velocity, domain.cut_cells.face_fractions
        low, high = domain.cut_cells.obstacle_window()
        for axis in grid.axes:
            near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
            closed = fractions[axis][near] == 0
            u[axis][near][closed] = wall_velocity[axis][near][closed] if wall_velocity[axis].size else 0
        projection_kernels.divergence_rhs.variant(fields.parallel)(*u, *fractions, *wall_velocity, self._rhs)
        moving = domain.has_moving_obstacles
        self.compressed_region = moving and self.solver.regions.unbalanced(self._rhs, _COMPRESSED)
        unit = density * grid.spacing / dt
        if fields.pressure_unit not in (0.0, unit):
            fields.potential *= fields.pressure_unit / unit  # the last pressure is the initial guess
        fields.pressure_unit = unit
        last = fields.potential.copy() if halves else None
        report = self.solver.solve(self._rhs, fields.potential, rtol=self.rtol)
        kept, scale = (0.5, 0.5 / dt) if halves else (0.0, 1.0 / dt)
        for axis in grid.axes:
            if acceleration is None:
                projection_kernels.subtract_gradient.variant(fields.parallel)(
                    u[axis], fields.potential, fractions[axis], axis
                )
            else:
                projection_kernels.subtract_and_keep_gradient.variant(fields.parallel)(
                    u[axis], fields.potential, fractions[axis], axis, MIN_OPEN_FRACTION, acceleration[axis], kept,
                    scale
                )  # fmt: skip
        subtract_side_gradient(domain, fields, acceleration, kept, scale)
        if last is not None:
            fields.potential += last
            fields.potential *= 0.5
        return report


def subtract_side_gradient(
    domain: FlowDomain,
    fields: StaggeredFields,
    acceleration: Sequence[NDArray] | None = None,
    kept: float = 0.0,
    scale: float = 0.0,
) -> None:
    """Subtract the pressure gradient from the velocity at open sides, where the pressure is 0 half a spacing away.

    There `acceleration` is set to `kept` times its old value minus `scale` times the gradient.
    """
    fractions = domain.cut_cells.face_fractions
    for side in domain.sides:
        if side.kind == "open":
            at = side.layer()
            gradient = np.where(fractions[side.axis][at] > 0, 2.0 * side.inward * fields.potential[at], 0.0)
            fields.velocity[side.axis][at] -= gradient
            if acceleration is not None:
                last = kept * acceleration[side.axis][at] - scale * gradient
                acceleration[side.axis][at] = last
