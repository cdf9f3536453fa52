"""Drives the steps of bodies that may touch each other within a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.constraint_row_kernels import match_keys
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.fail_safe import FailSafe
from continua.coupling.contact.rigid_adapter import RigidInstancesAdapter
from continua.coupling.contact.substep_solve import ContactSubstep
from continua.timestepping import (
    BodyStep,
    SolveResult,
    StepCoroutine,
    StepRequest,
    SubstepError,
)

if TYPE_CHECKING:
    from continua.coupling.contact.stepper import ContactStepper

__all__ = ["GroupDriver", "WarmStart"]


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Forces of the contacts of a step, from which those of the next start.

    The key of a contact is made of the numbers of its bodies and of nodes within them, so that it stays the same when
    another body changes.

    Attributes:
        keys: Sorted keys of the contacts, shape [c].
        forces: Their forces in the contacts' frames [N], shape [c, 3].
        participants: Numbers of the bodies or colliders on their two sides, and for a contact of a single node with a
            collider or rigid body that node; -1 is none; shape [c, 3].
    """

    keys: NDArray[np.int64]
    forces: NDArray[np.float64]
    participants: NDArray[np.int32]

    @classmethod
    def empty(cls) -> WarmStart:
        """Return the warm start of no contacts."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3), np.int32))

    @classmethod
    def joined(cls, parts: Sequence[WarmStart]) -> WarmStart:
        """Return several warm starts in one, sorted by keys."""
        if len(parts) < 2:
            return parts[0] if parts else cls.empty()
        keys = np.concatenate([part.keys for part in parts])
        forces = np.concatenate([part.forces for part in parts])
        participants = np.concatenate([part.participants for part in parts])
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], forces[order], participants[order])

    def remap(self, number: int, nodes: NDArray[np.integer] | None = None) -> WarmStart:
        """Return the warm start after the mesh of body `number` has changed; the contacts of other bodies stay.

        Args:
            number: Number of the body.
            nodes: The new number of each of its old nodes, -1 for nodes that are gone, shape [n]. Contacts of single
                nodes with colliders and rigid bodies then stay with their nodes. None drops all contacts of the body.
        """
        keys, participants = self.keys.copy(), self.participants.copy()
        stay = (participants[:, :2] != number).all(axis=1)
        if nodes is not None:
            single = np.flatnonzero(~stay & (participants[:, 2] >= 0))
            old = participants[single, 2]
            new = np.asarray(nodes, np.int64)[old]
            keys[single] += new - old
            participants[single, 2] = new
            stay[single] = new >= 0
        order = np.flatnonzero(stay)[np.argsort(keys[stay], kind="stable")]
        return WarmStart(keys[order], self.forces[order], participants[order])

    def renumber(
        self, numbers: NDArray[np.int64], first_collider: int, count: int, same_rigid: bool
    ) -> WarmStart:
        """Return the warm start after bodies and colliders have got other numbers.

        Contacts of nodes with colliders follow theirs. The keys of others come from the numbers of both sides, so that
        these stay if the numbers do; those with rigid bodies stay if `same_rigid`.

        Args:
            numbers: The new number of each old body and collider, -1 for those that are gone.
            first_collider: The old number of the first collider.
            count: New number of bodies and colliders.
            same_rigid: Whether the rigid bodies, joints and colliders are the same.
        """
        keys, participants = self.keys.copy(), self.participants.copy()
        old = participants[:, :2].astype(np.int64)
        new = np.where(old >= 0, numbers[old], -1)
        collider = (participants[:, 2] >= 0) & (old[:, 1] >= first_collider)
        stay = np.where(collider, (new >= 0).all(axis=1), (new == old).all(axis=1))
        if not same_rigid:  # the keys of contacts with rigid bodies begin above and below those of others
            is_rigid = ~collider & ((keys < 0) | (participants[:, 2] >= 0))
            stay &= ~is_rigid
        shift = (new[:, 0] * count + new[:, 1]) - (old[:, 0] * len(numbers) + old[:, 1])
        keys[collider] += shift[collider] * 2**32
        participants[:, :2] = new
        order = np.flatnonzero(stay)[np.argsort(keys[stay], kind="stable")]
        return WarmStart(keys[order], self.forces[order], participants[order])


class GroupDriver:
    """The driver of a group's step: detects and solves the contacts of its substeps.

    Args:
        stepper: Has the colliders, pairs and surfaces.
        soft: The soft bodies of the group.
        rigid: Its rigid instances, or None.
        warm_start: The contacts of the last step.
    """

    def __init__(
        self,
        stepper: ContactStepper,
        soft: Sequence[DeformableAdapter],
        rigid: RigidInstancesAdapter | None,
        warm_start: WarmStart,
    ) -> None:
        self.stepper, self.soft, self.rigid = stepper, tuple(soft), rigid
        self.warm_start = self._saved = warm_start
        self.failing: BodyStep | None = None
        self.has_fail_safe = any(body.surface.two_sided and body.can_be_corrected for body in soft)
        """Whether what contact cannot keep apart is stopped by the fail-safe: sheets do not pass, ever."""
        self.deadline = inf  # of the contact solves of a step, see `perf_counter`

    def begin_step(self, dt: float) -> list[BodyStep]:
        """Return the steps of all bodies, that of the rigid instances last."""
        budget = self.stepper.contact.budget_ms
        self.deadline = inf if budget is None else perf_counter() + 1e-3 * budget
        steps: list[BodyStep] = [body.begin_step(dt) for body in self.soft]
        if self.rigid is not None:
            steps.append(self.rigid.begin_step(dt))
        return steps

    def save(self) -> None:
        """Save the warm start."""
        self._saved = self.warm_start

    def restore(self) -> None:
        """Restore what was saved and clear the accumulated contact forces."""
        self.warm_start = self._saved
        for body in self.soft:
            body.clear_contact()
        if self.rigid is not None:
            self.rigid.clear_contact()

    def warm_start_forces(self, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the forces [N] of the last step at contacts with these keys, shape [c, 3]; zero for new ones."""
        forces = np.zeros((len(keys), 3))
        match_keys(self.warm_start.keys, self.warm_start.forces, keys, forces)
        return forces

    def substep(self, steps: Sequence[BodyStep], time: float, dt: float) -> None:
        """Do one substep of all bodies of the group and resolve their requests."""
        if self.stepper.rigid_surfaces is not None and self.rigid is None:
            state = self.stepper.rigid_surfaces.system.rigid_state
            state.update_derived()
            state.set_kinematic(time, dt)
        contact = ContactSubstep(self, time, dt)
        fail_safe = FailSafe(self, time, dt) if self.has_fail_safe else None
        coroutines = [step.substep(time, dt) for step in steps]
        requests: dict[int, StepRequest] = {}
        for i in range(len(coroutines)):
            self._resume(steps, coroutines, requests, i, None)
        while requests:
            results = contact.resolve_requests(requests)
            for i, result in results.items():
                del requests[i]
                self._resume(steps, coroutines, requests, i, result)
        if fail_safe is not None:
            held = [
                contact.held.get(i) if body.can_be_corrected else None for i, body in enumerate(self.soft)
            ]
            note = fail_safe.run(held, contact.clear_ends)
            for body in self.soft if note else ():
                body.add_note(note)
        self.warm_start = WarmStart(*contact.finish())

    def _resume(
        self,
        steps: Sequence[BodyStep],
        coroutines: Sequence[StepCoroutine],
        requests: dict[int, StepRequest],
        i: int,
        result: SolveResult | None,
    ) -> None:
        try:
            requests[i] = next(coroutines[i]) if result is None else coroutines[i].send(result)
        except StopIteration:
            return
        except SubstepError:
            self.failing = steps[i]
            raise
