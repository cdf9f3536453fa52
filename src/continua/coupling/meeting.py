"""The meeting of all bodies of a world: contacts are found, solved and remembered here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.contact import (
    ALONE,
    Answer,
    BodyStep,
    BodySystem,
    BodyVelocities,
    Contact,
    Conversation,
    FailedPartError,
    Obstacles,
    PairTable,
    Shape,
    SurfaceContacts,
    advance,
)
from continua.contact.row_kernels import match_keys
from continua.coupling.encounter import Encounter
from continua.coupling.members import Member, SoftMember
from continua.frames import StepReport
from continua.solids import SoftBody
from continua.surroundings import Surroundings

__all__ = ["Meeting"]


@dataclass(eq=False)
class _Memory:
    """Forces of the contacts of the last step by their keys, in order."""

    keys: NDArray[np.int64]
    forces: NDArray[np.float64]


def _nothing() -> _Memory:
    return _Memory(np.zeros(0, np.int64), np.zeros((0, 3)))


class Meeting:
    """Steps the bodies of a world, and lets them touch colliders and each other.

    Args:
        bodies: The soft bodies with their numbers in the world.
        shapes: The colliders.
        contact: What the user says about contact.
        names: Names of all bodies of the world and of the colliders, in the order of their numbers.
        surroundings: Gravity and time.
    """

    def __init__(
        self,
        bodies: Sequence[tuple[int, SoftBody]],
        shapes: Sequence[Shape],
        contact: Contact,
        names: Sequence[str],
        things: Sequence[Any],
        surroundings: Surroundings,
    ) -> None:
        self.obstacles = Obstacles(shapes)
        self._shapes = tuple(shapes)
        self.table = PairTable.of(contact, names, things)
        self.contact = contact
        self._surroundings = surroundings
        self._first_collider = len(things) - len(shapes)
        self.members: list[Member] = [SoftMember(body, number) for number, body in bodies]
        self._alone = [member for member in self.members if not self._can_touch(member)]
        self._group = [member for member in self.members if member not in self._alone]
        self.surfaces = SurfaceContacts(
            [member.surface for member in self._group], shapes, contact, self.table
        )
        said = self.surfaces.check_start([member.places for member in self._group], surroundings.time)
        if said:
            warnings.warn(said, stacklevel=4)
        self._memory, self._saved = _nothing(), _nothing()
        self.failing: BodyStep | None = None

    def step(self, dt: float) -> dict[int, StepReport]:
        """Advance all bodies by `dt` [s]; returns the reports by the bodies' numbers."""
        time = self._surroundings.time
        reports: dict[int, StepReport] = {}
        for member in self._alone:
            (reports[member.number],) = advance([member.begin(dt)], time, dt, ALONE)
        if self._group:
            told = advance([member.begin(dt) for member in self._group], time, dt, self)
            for member, report in zip(self._group, told, strict=True):
                reports[member.number] = member.complete(report)
        return reports

    def _can_touch(self, member: Member) -> bool:
        """Return whether a body can touch a collider, another soft body, or itself."""
        touch = self.table.touch[member.number]
        others = [other.number for other in self.members]
        return bool(touch[others].any() or touch[self._first_collider :].any())

    # --- the driver of a group's step ---------------------------------------------------------------------

    def save(self) -> None:
        """Remember the contacts."""
        self._saved = self._memory

    def restore(self) -> None:
        """Go back to the contacts that were saved."""
        self._memory = self._saved

    def part(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        """Let all bodies of a group do one part, and answer what they ask."""
        meet = Encounter(self._group, self, time, dt)
        talks = [step.part(time, dt) for step in steps]
        asked: dict[int, BodySystem | BodyVelocities] = {}
        for i in range(len(talks)):
            self._go_on(steps, talks, asked, i, None)
        while asked:
            answers = meet.answer(asked)
            for i, answer in answers.items():
                del asked[i]
                self._go_on(steps, talks, asked, i, answer)
        keys, forces = meet.finish()
        self._memory = _Memory(keys, forces)

    def _go_on(
        self,
        steps: Sequence[BodyStep],
        talks: Sequence[Conversation],
        asked: dict[int, BodySystem | BodyVelocities],
        i: int,
        answer: Answer | None,
    ) -> None:
        try:
            asked[i] = next(talks[i]) if answer is None else talks[i].send(answer)
        except StopIteration:
            return
        except FailedPartError:
            self.failing = steps[i]
            raise

    def recall(self, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the forces [N] of the last step at contacts with these keys, shape [c, 3]; zero for new ones."""
        forces = np.zeros((len(keys), 3))
        match_keys(self._memory.keys, self._memory.forces, keys, forces)
        return forces

    def obstacles_of(self, number: int) -> Obstacles | None:
        """Return the colliders that the body of this number can touch, or None."""
        touch = self.table.touch[number, self._first_collider :]
        shapes = [shape for shape, can in zip(self._shapes, touch, strict=True) if can]
        return Obstacles(shapes) if shapes else None

    # --- state ------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray]:
        """Return what goes from step to step."""
        return {"contact_keys": self._memory.keys.copy(), "contact_forces": self._memory.forces.copy()}

    def restore_state(self, keys: NDArray, forces: NDArray) -> None:
        """Take over a state."""
        self._memory = _Memory(np.asarray(keys, np.int64).copy(), np.asarray(forces, np.float64).copy())

    def forget(self) -> None:
        """Forget all contacts."""
        self._memory = _nothing()

    def collider_number(self, shape: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the numbers of colliders in the table of pairs."""
        return self._first_collider + shape

    def speed_scale(self, dt: float) -> float:
        """Return the speed [m/s] that gravity gives in a step."""
        return float(np.linalg.norm(self._surroundings.gravity)) * dt
