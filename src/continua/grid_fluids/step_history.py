"""What a step keeps for the next one, so that steps are of second order in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import increment_kernels as kernels
from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.geometry.grid import Grid
from continua.validation import state_arrays

__all__ = ["StepHistory"]

_PARALLEL_FROM = 16384
_BEFORE = (
    7.0 / 16.0,
    1.0 / 16.0,
)  # weights of friction before advection: of the last step, and of the one before
_CORRECTION = -1.0 / 16.0  # weight of the last friction after advection
IMPLICIT = 9.0 / 16.0  # weight of the friction that is solved for


class StepHistory:
    """Velocity, pressure gradient and friction of past steps.

    Paths follow the velocity extrapolated to the middle of the step. Half of the pressure gradient and of friction act
    before advection, where the fluid comes from, half after it. The pressure gradient is that of the last step until
    the projection corrects it. Friction F has the weights

        before advection: 7/16 F(n) + 1/16 F(n-1),   after it: 9/16 F(n+1) - 1/16 F(n),

    the modified Crank-Nicolson rule of Ascher, Ruuth and Wetton (1995), in which stiff modes decay by a factor of three
    per step, with the last term moved so that a steady flow has one half on both sides.

    Args:
        grid: The grid.
        dtype: `numpy.float32` or `numpy.float64`.
        viscous: Whether there is friction.

    Attributes:
        dt: The last step [s]; 0 before the first one.
        velocity: Velocity at the start of the last step [m/s].
        pressure: Acceleration by pressure in the last step, zero on closed faces [m/s2].
        friction: Acceleration by viscosity in the last step and in the one before [m/s2]; empty without viscosity.
    """

    def __init__(self, grid: Grid, dtype: Any, *, viscous: bool) -> None:
        def zeros() -> list[NDArray]:
            return [np.zeros(grid.faces_shape(a), dtype) for a in range(3)]

        self.axes = grid.axes
        self.dt = 0.0
        self.velocity, self.pressure = zeros(), zeros()
        self.friction = [zeros(), zeros()] if viscous else []
        self._sum = zeros()

    def mid_velocity(self, fields: StaggeredFields, dt: float) -> Sequence[NDArray]:
        """Return the velocity in the middle of the next step [m/s], in the arrays of the last velocity."""
        if self.dt == 0.0:
            return fields.velocity
        ratio = fields.dtype.type(0.5 * dt / self.dt)
        for axis in self.axes:
            _kernel(kernels.extrapolate_in_time, self.velocity[axis])(
                fields.velocity[axis], self.velocity[axis], ratio
            )
        return self.velocity

    def after_advection(self, fields: StaggeredFields, dt: float) -> None:
        """Keep the velocity before the step, after `fields` were advected over `dt` [s]."""
        self.velocity, fields.previous_velocity = fields.previous_velocity, self.velocity
        self.dt = dt

    def departing(self, velocity: Sequence[NDArray], dt: float) -> Sequence[NDArray]:
        """Return the velocity to advect: with what pressure and friction add before advection over `dt` [s]."""
        if self.dt == 0.0:
            return velocity
        for axis in self.axes:
            add = _kernel(kernels.add_scaled, velocity[axis])
            real = velocity[axis].dtype.type
            add(velocity[axis], self.pressure[axis], real(0.5 * dt), self._sum[axis])
            for weight, friction in zip(_BEFORE, self.friction, strict=False):
                add(self._sum[axis], friction[axis], real(weight * dt), self._sum[axis])
        return self._sum

    def add_arriving(self, velocity: Sequence[NDArray], dt: float) -> None:
        """Add what the last pressure and friction contribute after advection over `dt` [s]."""
        for axis in self.axes:
            add, real = _kernel(kernels.add_scaled, velocity[axis]), velocity[axis].dtype.type
            add(velocity[axis], self.pressure[axis], real(0.5 * dt), velocity[axis])
            add(velocity[axis], self.friction[0][axis], real(_CORRECTION * dt), velocity[axis])

    def remove_pressure(self, velocity: Sequence[NDArray], dt: float) -> None:
        """Subtract the pressure that `add_arriving` added; the projection adds the new one."""
        for axis in self.axes:
            add, real = _kernel(kernels.add_scaled, velocity[axis]), velocity[axis].dtype.type
            add(velocity[axis], self.pressure[axis], real(-0.5 * dt), velocity[axis])

    def store_friction(self, before: Sequence[NDArray], after: Sequence[NDArray], duration: float) -> None:
        """Store the acceleration that changed the velocity from `before` to `after` in `duration` [s]."""
        self.friction.reverse()
        for axis in self.axes:
            kernel = _kernel(kernels.rate, after[axis])
            kernel(before[axis], after[axis], after[axis].dtype.type(1.0 / duration), self.friction[0][axis])

    def repeat_friction(self) -> None:
        """Take the friction of the last step for that of the step before, too."""
        for axis in self.axes:
            self.friction[1][axis][:] = self.friction[0][axis]

    def clear(self) -> None:
        """Forget all steps."""
        self.dt = 0.0
        for arrays in (self.velocity, self.pressure, *self.friction):
            for a in arrays:
                a[:] = 0

    def _arrays(self) -> dict[str, NDArray]:
        """Return the arrays by key."""
        named = {"history_velocity": self.velocity, "history_pressure": self.pressure}
        named |= {f"history_friction{n}_": friction for n, friction in enumerate(self.friction)}
        return {f"{name}{axis}": arrays[axis] for name, arrays in named.items() for axis in self.axes}

    def state(self) -> dict[str, NDArray]:
        """Return copies of everything by key."""
        return {key: a.copy() for key, a in self._arrays().items()} | {"history_dt": np.array([self.dt])}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`; a state without history is that of a flow before its first step."""
        self.clear()
        if "history_dt" not in state:
            return
        arrays = self._arrays()
        given = state_arrays(
            state, {key: a.shape for key, a in arrays.items()} | {"history_dt": (1,)}, "a flow"
        )
        for key, a in arrays.items():
            a[:] = given[key]
        self.dt = float(given["history_dt"][0])


def _kernel(pair: Any, values: NDArray) -> Any:
    """Return the serial or the parallel variant of a kernel."""
    return pair.variant(values.size >= _PARALLEL_FROM)
