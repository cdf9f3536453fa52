"""All grid fluids of a world, advanced one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from continua.frames import StepReport
from continua.geometry import Shape
from continua.grid_fluids.bodies.grid_fluid import GridFluid
from continua.registry import register_system
from continua.system import System

__all__ = ["GridFluidSystem"]


@register_system
class GridFluidSystem(System):
    """The grid fluids of a world; they do not meet each other.

    Colliders and rigid bodies become their obstacles in `coupling.fluid`.
    """

    kinds: ClassVar = (GridFluid,)
    order: ClassVar = 10

    def step(self, dt: float) -> list[StepReport]:
        """Advance all fluids by `dt` [s]; if one fails, all are back in their state before the step."""
        before = self.snapshot() if len(self.bodies) > 1 else None
        try:
            return [fluid.step(dt) for fluid in self.bodies]
        except Exception:
            if before is not None:
                self.rollback(before)
            raise

    def obstacles(self) -> Iterable[Shape]:
        """Return the fluids' own obstacles."""
        return [shape for fluid in self.bodies for shape in fluid.obstacles]
