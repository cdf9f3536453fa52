"""Drives the steps of bodies that may touch each other within a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.constraint_row_kernels import match_keys
from continua.coupling.contact.rigid_adapter import RigidInstancesAdapter
from continua.coupling.contact.soft_adapter import SoftBodyAdapter
from continua.coupling.contact.substep_solve import ContactSubstep
from continua.timestepping import (
    BodyStep,
    SolveResult,
    StepCoroutine,
    SubstepError,
    VelocityProjection,
    VelocitySystem,
)

if TYPE_CHECKING:
    from continua.coupling.contact.stepper import ContactStepper

__all__ = ["GroupDriver", "WarmStart"]


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Forces of contacts [N], shape [c, 3], with their sorted keys."""

    keys: NDArray[np.int64]
    forces: NDArray[np.float64]

    @classmethod
    def empty(cls) -> WarmStart:
        """Return the warm start of no contacts."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 3)))

    @classmethod
    def joined(cls, parts: Sequence[WarmStart]) -> WarmStart:
        """Return several warm starts in one, sorted by keys."""
        if len(parts) < 2:
            return parts[0] if parts else cls.empty()
        keys = np.concatenate([part.keys for part in parts])
        forces = np.concatenate([part.forces for part in parts])
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], forces[order])


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
        soft: Sequence[SoftBodyAdapter],
        rigid: RigidInstancesAdapter | None,
        warm_start: WarmStart,
    ) -> None:
        self.stepper, self.soft, self.rigid = stepper, tuple(soft), rigid
        self.warm_start = self._saved = warm_start
        self.failing: BodyStep | None = None

    def begin_step(self, dt: float) -> list[BodyStep]:
        """Return the steps of all bodies, that of the rigid instances last."""
        steps: list[BodyStep] = [body.begin_step(dt) for body in self.soft]
        if self.rigid is not None:
            steps.append(self.rigid.begin_step(dt))
        return steps

    def save(self) -> None:
        """Save the warm start."""
        self._saved = self.warm_start

    def restore(self) -> None:
        """Restore the saved warm start and clear the accumulated contact forces."""
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
        coroutines = [step.substep(time, dt) for step in steps]
        requests: dict[int, VelocitySystem | VelocityProjection] = {}
        for i in range(len(coroutines)):
            self._resume(steps, coroutines, requests, i, None)
        while requests:
            results = contact.resolve_requests(requests)
            for i, result in results.items():
                del requests[i]
                self._resume(steps, coroutines, requests, i, result)
        self.warm_start = WarmStart(*contact.finish())

    def _resume(
        self,
        steps: Sequence[BodyStep],
        coroutines: Sequence[StepCoroutine],
        requests: dict[int, VelocitySystem | VelocityProjection],
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
