"""The coupling of particle fluids with soft and rigid bodies: solids are stepped after every sub-step of the fluids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from continua.coupling.contact.system import SolidSystem
from continua.coupling.fluid.sph_boundary import SphBodyCoupling
from continua.environment import Environment
from continua.frames import StepReport
from continua.registry import register_coupling
from continua.sph import FluidSystem
from continua.system import Coupling, System, WorldContext

__all__ = ["SphCoupling"]


@register_coupling
class SphCoupling(Coupling):
    """Makes soft and rigid bodies boundaries of the fluids, and steps both.

    Args:
        fluids: The fluids.
        solids: The soft and rigid bodies.
        environment: Gravity and time.
    """

    joins: ClassVar = (FluidSystem, SolidSystem)
    order: ClassVar = 10
    state_prefix: ClassVar = "world/sph_coupling/"

    def __init__(self, fluids: FluidSystem, solids: SolidSystem, environment: Environment) -> None:
        self.drives = (fluids, solids)
        self._fluids, self._solids, self._environment = fluids, solids, environment
        self.boundaries = SphBodyCoupling(fluids, solids.rigid_bodies, solids.soft_bodies)

    @classmethod
    def make(cls, systems: Mapping[type[System], System], context: WorldContext) -> Self:
        """Return the coupling of the two systems."""
        fluids, solids = systems[FluidSystem], systems[SolidSystem]
        assert isinstance(fluids, FluidSystem)
        assert isinstance(solids, SolidSystem)
        made, before = cls(fluids, solids, context.environment), context.before.get(cls)
        if before is not None:  # bodies that stay keep their added mass
            made.restore(before.state())
        return made

    def step(self, dt: float) -> list[StepReport]:
        """Advance the fluids by `dt` [s], and the bodies after each sub-step, with the impulses they received in it."""
        start = self._environment.time
        parts: list[Sequence[StepReport]] = []
        loads = self._solids.external_forces()

        def after_substep(done: float, sub: float) -> None:
            self._environment.time = start + done
            try:
                self.boundaries.apply(sub)
                parts.append(self._solids.step(sub))
            finally:
                self._environment.time = start
                self._solids.set_external_forces(loads)

        before = self.snapshot()
        try:
            reports = self._fluids.step(dt, after_substep)
        except Exception:
            self.rollback(before)
            raise
        by_name: dict[str, list[StepReport]] = {}
        for part in parts:
            for report in part:
                by_name.setdefault(report.body, []).append(report)
        return [*reports, *(_joined(own, dt) for own in by_name.values())]

    def state(self) -> dict[str, Any]:
        """Return added mass and velocities of the last sub-step."""
        return self.boundaries.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state; missing entries become zero."""
        self.boundaries.restore(state)

    def reset(self) -> None:
        """Discard impulses and the added mass of the last sub-step."""
        self.boundaries.clear()

    def remap(self, body: Any, change: Any) -> None:
        """Rebuild the boundary of a soft body whose surface has changed."""
        self.boundaries.remap(body, change)


def _joined(parts: Sequence[StepReport], dt: float) -> StepReport:
    """Return the report of a body's step of `dt` [s] that was done in parts."""
    return replace(
        parts[-1],
        dt=dt,
        substeps=sum(part.substeps for part in parts),
        newton_iterations=sum(part.newton_iterations for part in parts),
        iterations=sum(part.iterations for part in parts),
        residual=max(part.residual for part in parts),
        converged=all(part.converged for part in parts),
        seconds=sum(part.seconds for part in parts),
        warnings=tuple(dict.fromkeys(text for part in parts for text in part.warnings)),
    )
