"""A haptic tool: the user moves it at about 1 kHz, while the body steps at its own rate (multirate rendering).

The tool is coupled to the body by springs. The simulation reads the tool's position at the start of a step and
publishes an immutable record after it: the tool's position, the force on it, and the stiffness with which that force
changes when the tool moves (springs and body compliance in series, over one step). Between steps the force is
f(p) = f0 - K (p - p0). The difference to a new record is blended in over the time of a step, so that the force is
continuous.

One thread moves the tool; another steps the body. They share two references, each written by one of them, and need no
lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.constraints import BoundaryCondition, Pull
from continua.validation import function, number, triple

if TYPE_CHECKING:
    from continua.deformable.boundary_conditions.boundary_conditions import BoundaryConditions
    from continua.deformable.integrators import Stepper

__all__ = ["HapticTool"]

_Triple = tuple[float, float, float]
_COMPLIANCE_INTERVAL = 4  # steps between updates of the compliance; each update is along one axis


@dataclass(frozen=True, slots=True)
class _Record:
    """The state of a tool after a step; see the module."""

    position: _Triple
    force: _Triple
    before: _Triple
    stiffness: _Triple
    dt: float
    written: float
    pause: float


class HapticTool(BoundaryCondition):
    """A tool coupled to a body; `move` it from any one thread at any rate, and get the force to render.

    Attributes:
        springs: The pulls that couple it to the body.
        stiffness: Stiffness of the coupling [N/m].
    """

    def __init__(
        self, body: BoundaryConditions, pulls: Sequence[Pull], position: NDArray[np.float64]
    ) -> None:
        super().__init__(body, inf)
        self.springs = tuple(pulls)
        self._offsets = [pull.target - position for pull in self.springs]
        self.stiffness = float(sum(pull.stiffness for pull in self.springs))
        self._tool: _Triple = _triple(position)
        zero = (0.0, 0.0, 0.0)
        self._coupled_stiffness = np.full(3, self.stiffness)
        self._updates = 0
        self._target = self._tool
        self._record = _Record(
            self._tool, zero, zero, _triple(self._coupled_stiffness), 0.0, perf_counter(), 0.0
        )
        # used only by the thread that moves the tool
        self._seen = self._record
        self._gap: _Triple = zero
        self._since = 0.0

    def move(self, position: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Move the tool to a position [m] and return the force on it [N], which the device renders.

        Takes some microseconds and never waits for the simulation.
        """
        self._tool = at = triple(position, "a haptic tool's position")
        record, now = self._record, perf_counter()
        if record is not self._seen:
            self._gap = _less(self._blended_force(self._seen, at, now), _predicted(record, at))
            self._seen, self._since = record, now
        return np.array(self._blended_force(record, at, now))

    def _blended_force(self, record: _Record, at: _Triple, now: float) -> _Triple:
        """Return the force of a record, blended with the one before."""
        f = _predicted(record, at)
        left = 1.0 - (now - self._since) / record.pause if record.pause > 0.0 else 0.0
        if left <= 0.0:
            return f
        g = self._gap
        return f[0] + left * g[0], f[1] + left * g[1], f[2] + left * g[2]

    @property
    def position(self) -> NDArray[np.float64]:
        """Where the tool is [m]."""
        return np.array(self._tool)

    @property
    def force(self) -> NDArray[np.float64]:
        """The force [N] on the tool after the last step of the simulation; the force on the body is its opposite."""
        return np.array(self._record.force)

    def force_after(self, seconds: float) -> NDArray[np.float64]:
        """Return the force [N] on the tool `seconds` after the last step, extrapolated linearly from the last two.

        Georgii (2007): f + (s/dt) (f - f_before), for at most one step.
        """
        record, seconds = self._record, number(seconds, "the seconds after a step")
        part = min(max(seconds / record.dt, 0.0), 1.0) if record.dt > 0.0 else 0.0
        return np.array(record.force) + part * (np.array(record.force) - np.array(record.before))

    def remove(self) -> None:
        """Detach from the body; removing it twice is no error."""
        for pull in self.springs:
            pull.remove()
        super().remove()

    # --- used only by the thread that steps the body --------------------------------------------------------

    def read_target(self) -> None:
        """Use the tool's current position in the next step."""
        self._target = self._tool
        for pull, offset in zip(self.springs, self._offsets, strict=True):
            pull.target = np.array(self._target) + offset

    def publish_force(self, stepper: Stepper, dt: float) -> None:
        """Publish a record of the step of `dt` [s] that was done; 0 stands for a static solve."""
        function(getattr(stepper, "compliance_response", None), "'compliance_response' of a stepper")
        dt = number(dt, "dt", low=0.0, unit="s")
        force = -np.sum([pull.force for pull in self.springs], axis=0)
        if dt > 0.0:
            self._update_stiffness(stepper, dt)
        now, last = perf_counter(), self._record
        self._record = _Record(
            self._target,
            _triple(force),
            last.force,
            _triple(self._coupled_stiffness),
            dt,
            now,
            now - last.written,
        )

    def _update_stiffness(self, stepper: Stepper, dt: float) -> None:
        """Estimate the stiffness at the tool: along all axes at first, then along one axis every few steps."""
        axes: Sequence[int] = range(3) if self._updates == 0 else ()
        if self._updates and self._updates % _COMPLIANCE_INTERVAL == 0:
            axes = (self._updates // _COMPLIANCE_INTERVAL % 3,)
        self._updates += 1
        for axis in axes:
            load = np.zeros_like(stepper.positions)
            for pull in self.springs:
                load[pull.nodes, axis] += pull.stiffness * pull.weights
            moved = stepper.compliance_response(load, dt)
            if moved is None:
                continue
            rest = sum(
                pull.stiffness * (1.0 - float(pull.weights @ moved[pull.nodes, axis]))
                for pull in self.springs
            )
            self._coupled_stiffness[axis] = min(max(rest, 0.0), self.stiffness)


def _triple(vector: NDArray[np.float64]) -> _Triple:
    x, y, z = vector.tolist()
    return x, y, z


def _predicted(record: _Record, at: _Triple) -> _Triple:
    f, k, p = record.force, record.stiffness, record.position
    return f[0] - k[0] * (at[0] - p[0]), f[1] - k[1] * (at[1] - p[1]), f[2] - k[2] * (at[2] - p[2])


def _less(a: _Triple, b: _Triple) -> _Triple:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
