"""Bodies that step together because they may touch within the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.contact import (
    Answer,
    BodyStep,
    BodySystem,
    BodyVelocities,
    Conversation,
    FailedPartError,
)
from continua.contact.row_kernels import match_keys
from continua.coupling.encounter import Encounter
from continua.coupling.members import SoftMember
from continua.coupling.rigid_member import RigidMember

if TYPE_CHECKING:
    from continua.coupling.meeting import Meeting

__all__ = ["Gathering", "Memory"]


@dataclass(frozen=True, eq=False)
class Memory:
    """Forces of contacts [N], shape [c, 3], by their keys, in order."""

    keys: NDArray[np.int64]
    forces: NDArray[np.float64]

    @classmethod
    def nothing(cls) -> Memory:
        """Return the memory of no contacts."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 3)))

    @classmethod
    def joined(cls, parts: Sequence[Memory]) -> Memory:
        """Return what several remember, in order."""
        if len(parts) < 2:
            return parts[0] if parts else cls.nothing()
        keys = np.concatenate([part.keys for part in parts])
        forces = np.concatenate([part.forces for part in parts])
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], forces[order])


class Gathering:
    """The driver of a group's step: contacts are found, solved and remembered here.

    Args:
        meeting: Knows obstacles, pairs and surfaces.
        soft: The soft bodies of the group.
        rigid: Its rigid pieces, or None.
        memory: The contacts of the last step.
    """

    def __init__(
        self, meeting: Meeting, soft: Sequence[SoftMember], rigid: RigidMember | None, memory: Memory
    ) -> None:
        self.meeting, self.soft, self.rigid = meeting, tuple(soft), rigid
        self.memory = self._saved = memory
        self.failing: BodyStep | None = None

    def begin(self, dt: float) -> list[BodyStep]:
        """Return the steps of all bodies, the rigid ones as the last."""
        steps: list[BodyStep] = [member.begin(dt) for member in self.soft]
        if self.rigid is not None:
            steps.append(self.rigid.begin(dt))
        return steps

    def save(self) -> None:
        """Remember the contacts."""
        self._saved = self.memory

    def restore(self) -> None:
        """Go back to the contacts that were saved; what pressed until then did not happen."""
        self.memory = self._saved
        for member in self.soft:
            member.forget()
        if self.rigid is not None:
            self.rigid.forget()

    def recall(self, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the forces [N] of the last step at contacts with these keys, shape [c, 3]; zero for new ones."""
        forces = np.zeros((len(keys), 3))
        match_keys(self.memory.keys, self.memory.forces, keys, forces)
        return forces

    def part(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        """Let all bodies of the group do one part, and answer what they ask."""
        if self.meeting.solids is not None and self.rigid is None:
            pieces = self.meeting.solids.system.pieces
            pieces.refresh()
            pieces.drive(time, dt)
        meet = Encounter(self, time, dt)
        talks = [step.part(time, dt) for step in steps]
        asked: dict[int, BodySystem | BodyVelocities] = {}
        for i in range(len(talks)):
            self._go_on(steps, talks, asked, i, None)
        while asked:
            answers = meet.answer(asked)
            for i, answer in answers.items():
                del asked[i]
                self._go_on(steps, talks, asked, i, answer)
        self.memory = Memory(*meet.finish())

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
