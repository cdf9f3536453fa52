"""The contracts of the time loop: systems advance bodies, couplings join systems.

A `System` takes all bodies of a world of one or several kinds and advances them together. A `Coupling` lets systems act
on each other. A `World` knows neither the kinds of bodies nor the classes here that are derived for them: it finds
them in `continua.registry`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from continua.short_repr import ShortRepr, counted
from continua.validation import number, whole_number

if TYPE_CHECKING:
    from continua.body import Body
    from continua.contact_solver import Contact
    from continua.environment import Environment
    from continua.frames import BodyFrame, Field, Overlap, StepReport
    from continua.geometry import Shape

__all__ = ["Coupling", "System", "WorldContext", "check_settle"]


def check_settle(rtol: float, max_newton: int, steps: int | None) -> tuple[float, int, int | None]:
    """Return the arguments of `World.settle` as numbers, or raise InputError."""
    rtol = number(rtol, "the rtol of settle", above=0.0)
    max_newton = whole_number(max_newton, "the max_newton of settle", low=1, high=10**6)
    if steps is not None:
        steps = whole_number(steps, "the steps of settle", low=1, high=10**6)
    return rtol, max_newton, steps


@dataclass(frozen=True, eq=False, repr=False)
class WorldContext(ShortRepr):
    """What the systems of a world have in common.

    Attributes:
        bodies: All bodies of the world, in its order; the index is the number of a body in contact pairs.
        colliders: The shapes that bodies can touch.
        contact: Contact options.
        joints: What joins rigid bodies, from `continua.joints`.
        environment: Gravity, wind and time.
        before: The systems and couplings of the same world, by class, before bodies or colliders were added or removed;
            empty for a new world. Only for the time in which the new ones are made.
    """

    bodies: tuple[Body, ...]
    colliders: tuple[Shape, ...]
    contact: Contact
    joints: tuple[Any, ...]
    environment: Environment
    before: dict[type, Any] = field(default_factory=dict)


class System:
    """Advances the bodies of one or several kinds that must be solved together.

    A derived class sets `kinds`, defines `step`, and is registered with `registry.register_system`. The other methods
    have defaults for a system that keeps no data besides its bodies. When bodies or colliders are added to its world or
    removed, it is made anew; `WorldContext.before` has the one before.

    Args:
        bodies: The bodies of the world that it takes.
        context: What it shares with the other systems.

    Attributes:
        kinds: Classes of bodies that it takes, subclasses included.
        order: Systems of lower order are stepped first. Those that push others (fluids: 10 and 20) come before those
            that are pushed (solids: 30), so that a push acts in the same step.
        fields: Names of the fields that frames of its bodies compute on request.
        state_prefix: Start of its keys in the state of a world; None makes it from the name of the class.
    """

    kinds: ClassVar[tuple[type, ...]] = ()
    order: ClassVar[int] = 0
    fields: ClassVar[tuple[str, ...]] = ()
    state_prefix: ClassVar[str | None] = None

    def __init__(self, bodies: Sequence[Any], context: WorldContext) -> None:
        self._bodies: tuple[Any, ...] = tuple(bodies)
        self.context = context

    @classmethod
    def make(cls, bodies: Sequence[Any], context: WorldContext) -> Self | None:
        """Return the system of these bodies, or None if the world does not need it."""
        return cls(bodies, context) if bodies else None

    @classmethod
    def takes(cls, body: Any) -> bool:
        """Return whether it advances a body of none of its `kinds`, because of what the body offers."""
        return False

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies that it advances."""
        return self._bodies

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {counted(len(self.bodies), 'body')}>"

    # --- one step -----------------------------------------------------------------------------------------

    @abstractmethod
    def step(self, dt: float) -> Sequence[StepReport]:
        """Advance all bodies by `dt` [s] and return a report for each.

        If it raises, all of its bodies are in the state before the step.
        """

    def finish_step(self) -> None:
        """Clear what acts during one step of the world only; called after every step, also after one that failed."""

    def settle(self, rtol: float, max_newton: int, steps: int | None) -> Sequence[Any]:
        """Put the bodies that have one at their static equilibrium; return a report for each.

        A report has the name of its `body` and `warnings`, as `solids.StaticReport` does. See `World.settle`.
        """
        return ()

    # --- state ------------------------------------------------------------------------------------------

    def snapshot(self) -> Any:
        """Return everything that a step changes, for `rollback`."""
        return [body.state() for body in self.bodies]

    def rollback(self, snapshot: Any) -> None:
        """Go back to a `snapshot`, after another system failed in the same step."""
        for body, state in zip(self.bodies, snapshot, strict=True):
            body.restore(state)

    def state(self) -> dict[str, Any]:
        """Return what a bitwise identical restart needs besides the states of the bodies: arrays and numbers."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`; the bodies are restored already."""

    def reset(self) -> None:
        """Put the bodies and the system back to their start."""
        for body in self.bodies:
            body.reset()

    def remap(self, body: Body, change: Any) -> None:
        """Follow a change of topology of any body of the world: its nodes and elements are others from now on."""

    # --- what surrounds it --------------------------------------------------------------------------------

    def set_temporary_colliders(self, shapes: Sequence[Shape]) -> None:
        """Let the bodies touch these shapes too, until the next call."""

    def obstacles(self) -> Iterable[Shape]:
        """Return shapes of its own that frames show besides the colliders of the world."""
        return ()

    def overlaps(self) -> Iterable[Overlap]:
        """Return what intersects or is inverted at the present positions; see `World.overlaps`."""
        return ()

    def frame_fields(
        self, frames: Mapping[str, BodyFrame]
    ) -> Mapping[str, Mapping[str, tuple[str, Callable[[], Field]]]]:
        """Return fields of its bodies that depend on other bodies, by body and name: unit, and a function.

        The function is called on request, when the bodies may have moved on: it uses the `frames` of the bodies.
        """
        return {}

    def joint_lines(self) -> NDArray[np.float64]:
        """Return a line from each joint to the centre of each of its bodies [m], shape [k, 2, 3]."""
        return np.zeros((0, 2, 3))


class Coupling:
    """Lets systems act on each other.

    A derived class is registered with `registry.register_coupling`. It acts before and after the steps of the systems,
    or it steps some of them itself: those of `drives`, in its own `step`, at the place of the first of them.

    Attributes:
        joins: The classes of the systems that must be in the world for the coupling to be made.
        order: Couplings of lower order are made and called first.
        state_prefix: Start of its keys in the state of a world; None makes it from the name of the class.
        drives: The systems that it steps.
    """

    joins: ClassVar[tuple[type[System], ...]] = ()
    order: ClassVar[int] = 0
    state_prefix: ClassVar[str | None] = None
    drives: tuple[System, ...] = ()

    @classmethod
    @abstractmethod
    def make(cls, systems: Mapping[type[System], System], context: WorldContext) -> Self | None:
        """Return the coupling of the systems of a world, by their classes, or None if there is nothing to join."""

    def before_step(self, dt: float) -> None:
        """Act before the systems are stepped by `dt` [s]."""

    def step(self, dt: float) -> Sequence[StepReport]:
        """Advance the systems of `drives` by `dt` [s], by default in turn; return the reports of their bodies.

        If it raises, they are in the state before the step, and so is the coupling.
        """
        before = self.snapshot()
        reports: list[StepReport] = []
        try:
            for system in self.drives:
                reports += system.step(dt)
        except Exception:
            self.rollback(before)
            raise
        return reports

    def after_step(self, dt: float) -> None:
        """Act after the systems were stepped by `dt` [s]."""

    def snapshot(self) -> Any:
        """Return everything that a step changes, for `rollback`: that of the systems it drives, and its own."""
        return [system.snapshot() for system in self.drives], self.state()

    def rollback(self, snapshot: Any) -> None:
        """Go back to a `snapshot`."""
        systems, own = snapshot
        for system, state in zip(self.drives, systems, strict=True):
            system.rollback(state)
        self.restore(own)

    def state(self) -> dict[str, Any]:
        """Return what a bitwise identical restart needs: arrays and numbers."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`; bodies and systems are restored already."""

    def reset(self) -> None:
        """Clear what is kept between steps, before the bodies go back to their start."""

    def remap(self, body: Body, change: Any) -> None:
        """Follow a change of topology of a body, after the systems did."""
