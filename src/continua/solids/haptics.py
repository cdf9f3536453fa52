"""A tool in a user's hand: it moves a thousand times a second, while the body steps when it can.

The tool is coupled to the body by springs. The simulation takes the tool's position at the start of a step, and after
it leaves a small record that never changes: where the tool was, the force on it, and how that force changes when the
tool moves (the springs and the body's own give, over one step). Between steps the force is f(p) = f0 - K (p - p0). What
a new record says otherwise is faded in over the time of a step, so the hand feels no jump.

One thread moves the tool; another steps the body. They share two references, each written by one of them, and wait for
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.solids.handles import Attachment, Pull

if TYPE_CHECKING:
    from continua.solids.attachments import Attachments
    from continua.solids.integrators import Stepper

__all__ = ["Handle"]

_Triple = tuple[float, float, float]
_EVERY = 4  # steps from one look at the body's give to the next; each looks along one axis


@dataclass(frozen=True, slots=True)
class _Record:
    """What the simulation knows of a tool after a step; see the module."""

    position: _Triple
    force: _Triple
    before: _Triple
    stiffness: _Triple
    dt: float
    written: float
    pause: float


class Handle(Attachment):
    """A tool that holds a body; `move` it from any one thread, at any rate, and feel its force.

    Attributes:
        springs: The pulls that couple it to the body.
        stiffness: Stiffness of the coupling [N/m].
    """

    def __init__(self, body: Attachments, pulls: Sequence[Pull], position: NDArray[np.float64]) -> None:
        super().__init__(body, inf)
        self.springs = tuple(pulls)
        self._offsets = [pull.target - position for pull in self.springs]
        self.stiffness = float(sum(pull.stiffness for pull in self.springs))
        self._tool: _Triple = _triple(position)
        zero = (0.0, 0.0, 0.0)
        self._give = np.full(3, self.stiffness)
        self._looks = 0
        self._taken = self._tool
        self._record = _Record(self._tool, zero, zero, _triple(self._give), 0.0, perf_counter(), 0.0)
        # of the thread that moves the tool
        self._seen = self._record
        self._gap: _Triple = zero
        self._since = 0.0

    def move(self, position: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Move the tool to a position [m] and return the force on it [N]: what the hand feels.

        Takes some microseconds and waits for nothing, whatever the simulation does.
        """
        x, y, z = (float(c) for c in position)
        if not (isfinite(x) and isfinite(y) and isfinite(z)):
            raise InputError(f"a handle's position must be three finite numbers, not {position!r}")
        self._tool = at = (x, y, z)
        record, now = self._record, perf_counter()
        if record is not self._seen:
            self._gap = _less(self._felt(self._seen, at, now), _predicted(record, at))
            self._seen, self._since = record, now
        return np.array(self._felt(record, at, now))

    def _felt(self, record: _Record, at: _Triple, now: float) -> _Triple:
        """Return the force of a record, with what is left of the way from the one before."""
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
        """The force [N] on the tool after the last step of the simulation; that on the body is its opposite."""
        return np.array(self._record.force)

    def force_after(self, seconds: float) -> NDArray[np.float64]:
        """Return the force [N] on the tool `seconds` after the last step, on the line through the last two.

        Georgii (2007) feeds a device with it: f + (s/dt) (f - f_before). It goes no further than one step.
        """
        record = self._record
        part = min(max(seconds / record.dt, 0.0), 1.0) if record.dt > 0.0 else 0.0
        return np.array(record.force) + part * (np.array(record.force) - np.array(record.before))

    def remove(self) -> None:
        """Let go of the body; doing so twice is no error."""
        for pull in self.springs:
            pull.remove()
        super().remove()

    # --- of the thread that steps the body ----------------------------------------------------------------

    def take(self) -> None:
        """Take the tool's position over for the next step."""
        self._taken = self._tool
        for pull, offset in zip(self.springs, self._offsets, strict=True):
            pull.target = np.array(self._taken) + offset

    def publish(self, stepper: Stepper, dt: float) -> None:
        """Leave a record of the step of `dt` [s] that was done; 0 stands for an equilibrium."""
        force = -np.sum([pull.force for pull in self.springs], axis=0)
        if dt > 0.0:
            self._look(stepper, dt)
        now, last = perf_counter(), self._record
        self._record = _Record(
            self._taken, _triple(force), last.force, _triple(self._give), dt, now, now - last.written
        )

    def _look(self, stepper: Stepper, dt: float) -> None:
        """Find how the force changes with the tool's position: along all axes at first, then along one now and then."""
        axes: Sequence[int] = range(3) if self._looks == 0 else ()
        if self._looks and self._looks % _EVERY == 0:
            axes = (self._looks // _EVERY % 3,)
        self._looks += 1
        for axis in axes:
            load = np.zeros_like(stepper.positions)
            for pull in self.springs:
                load[pull.nodes, axis] += pull.stiffness * pull.weights
            moved = stepper.give(load, dt)
            if moved is None:
                continue
            rest = sum(
                pull.stiffness * (1.0 - float(pull.weights @ moved[pull.nodes, axis]))
                for pull in self.springs
            )
            self._give[axis] = min(max(rest, 0.0), self.stiffness)


def _triple(vector: NDArray[np.float64]) -> _Triple:
    x, y, z = vector.tolist()
    return x, y, z


def _predicted(record: _Record, at: _Triple) -> _Triple:
    f, k, p = record.force, record.stiffness, record.position
    return f[0] - k[0] * (at[0] - p[0]), f[1] - k[1] * (at[1] - p[1]), f[2] - k[2] * (at[2] - p[2])


def _less(a: _Triple, b: _Triple) -> _Triple:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
