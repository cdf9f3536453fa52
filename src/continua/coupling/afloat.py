"""Rigid bodies of a world in its liquids on grids: they float, sink and are carried along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from continua.coupling.follower import Course, Follower
from continua.eulerian import Liquid
from continua.eulerian.riders import Rider
from continua.numerics.rotations import matrices_from_quaternions
from continua.surroundings import Surroundings

__all__ = ["Afloat"]

_MOST_HELD = 2.0  # weights of a body and of what it displaces that contacts are taken to go on to hold


class Afloat:
    """The rigid bodies in a liquid; their velocities are found together with the pressure.

    The liquid sees a body half a sub-step ahead: in its own step it moves with the mean of its old and new velocity, so
    that forces of the middle of the step neither feed nor damp its swings.

    What else acts on a body than gravity and the liquid, such as contacts and joints, is known only after its own step.
    It is taken to act as it did in the step before, so that a body that lies on the ground stands still for the liquid.

    Args:
        fluid: The liquid.
        followers: The shapes of the bodies among its obstacles, with a course.
        surroundings: Gravity and time.
    """

    def __init__(self, fluid: Liquid, followers: Sequence[Follower], surroundings: Surroundings) -> None:
        self.fluid, self._surroundings = fluid, surroundings
        self._shapes = [shape for shape in followers if shape.group.motion is None]
        n = len(self._shapes)
        self._held = np.zeros((n, 6))  # velocity that contacts gave in the last step
        self._expected = np.full(
            (n, 6), np.nan
        )  # velocity after the last step, had they given the same again
        self._sums = np.zeros((n, 6))
        self._riders: list[Rider] = []
        self._dt = self._part = 0.0

    def begin(self, dt: float) -> None:
        """Begin a step of `dt` [s]: all bodies are where they are."""
        self._dt, self._part = dt, 0.0
        self._sums[:] = 0.0
        gravity = float(np.linalg.norm(self._surroundings.gravity))
        for number, shape in enumerate(self._shapes):
            group, copy = shape.group, shape.number
            state = group.state()
            turn = matrices_from_quaternions(state["quaternions"][copy : copy + 1])[0]
            velocity = state["velocities"][copy].copy()
            shape.set_course(Course(self._surroundings.time, state["centers"][copy].copy(), turn, velocity))
            if np.isnan(self._expected[number]).any():
                continue
            held = self._held[number] + velocity - self._expected[number]
            heavier = 1.0 + self.fluid.flow.density * group.geometry.volume / group.mass_each
            radius = float(np.sqrt(group.geometry.inertia.mean()))
            size = max(float(np.linalg.norm(held[:3])), radius * float(np.linalg.norm(held[3:])))
            most = _MOST_HELD * gravity * heavier * dt
            self._held[number] = held * (most / size if size > most else 1.0)

    def set_out(self, dt: float) -> Sequence[Rider]:
        """Return the bodies for a sub-step of `dt` [s]."""
        self._riders = []
        flat = self.fluid.grid.dim == 2
        for shape in self._shapes:
            group, course = shape.group, shape.course
            assert course is not None
            course.go_on(self._part)
            if self._part == 0.0:
                course.lead(0.5 * dt)
            inverse = np.zeros((6, 6))
            inverse[:3, :3] = np.eye(3) / group.mass_each
            inverse[3:, 3:] = (course.turn / (group.mass_each * group.geometry.inertia)) @ course.turn.T
            depth = float(np.ptp(group.geometry.surface.points[:, 2])) if flat else 1.0
            self._riders.append(Rider(shape, course.center.copy(), inverse, depth))
        self._part = dt
        return self._riders

    def depart(self) -> None:
        """Let the bodies go on as if there were no pressure, but what lifts them."""
        for number, (shape, rider) in enumerate(zip(self._shapes, self._riders, strict=True)):
            assert shape.course is not None
            free = shape.course.velocity + self._part / self._dt * self._held[number]
            free[:3] += self._part * self._surroundings.gravity
            shape.course.velocity = free + rider.inverse @ rider.lift
            self._sums[number] += rider.lift

    def arrive(self) -> None:
        """Let the bodies go on with the impulses they received."""
        for number, (shape, rider) in enumerate(zip(self._shapes, self._riders, strict=True)):
            assert shape.course is not None
            shape.course.velocity = shape.course.velocity + rider.inverse @ rider.impulse
            self._sums[number] += rider.impulse

    def gather(self, part: float, dt: float) -> None:
        """Hear of a sub-step of `part` [s] in a step of `dt` [s]; `arrive` did what there is to do."""

    def give(self, dt: float) -> None:
        """Give the bodies the impulses of the sub-steps, as forces over their next step of `dt` [s]."""
        for number, shape in enumerate(self._shapes):
            assert shape.course is not None
            self._expected[number] = shape.course.velocity
            shape.set_course(None)
            if self._sums[number].any():
                row = np.arange(shape.group.count)[:, None] == shape.number
                pushes = np.where(row, self._sums[number] / dt, 0.0)
                shape.group.add_force(pushes[:, :3], pushes[:, 3:])

    def forget(self) -> None:
        """Drop what goes from step to step."""
        self._held[:], self._expected[:] = 0.0, np.nan
        for shape in self._shapes:
            shape.set_course(None)

    def state(self) -> dict[str, NDArray]:
        """Return what goes from step to step."""
        return {"held": self._held.copy(), "expected": self._expected.copy()} if self._shapes else {}

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Take over a state; what it lacks is nothing."""
        self.forget()
        if "held" in state and "expected" in state:
            self._held[:], self._expected[:] = state["held"], state["expected"]
