"""The interface of a flow, as bodies and couplings use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.grid_fluids.pressure.multigrid import MultigridReport
from continua.grid_fluids.viscosity import Viscosity

__all__ = ["GridFlow", "SubstepReport"]


@dataclass
class SubstepReport:
    """Report of a sub-step: its length [s], the pressure solve, and the viscous solves."""

    dt: float
    pressure: MultigridReport
    viscous: list[MultigridReport] = field(default_factory=list)


class GridFlow(Protocol):
    """A flow on a grid: its domain, its fields, and its time step.

    Attributes:
        domain: Grid, boundary conditions and obstacles.
        fields: Velocity, scalars and pressure.
        density: Density [kg/m3].
        viscosity: Dynamic viscosity [Pa s].
        slip: Whether obstacles are free-slip.
        viscous_solver: The viscous solver of the last step, or None without viscosity.
    """

    domain: FlowDomain
    fields: StaggeredFields
    density: float
    viscosity: float
    slip: bool
    viscous_solver: Viscosity | None

    def change_obstacles(self, obstacles: Sequence[Any], time: float = 0.0) -> None:
        """Replace the obstacles of the running flow."""

    def substep_count(self, dt: float, cfl: float) -> int:
        """Return the number of sub-steps that `dt` [s] requires."""

    def step(
        self, dt: float, time: float = 0.0, forces: Callable[[float], None] | None = None
    ) -> SubstepReport:
        """Advance by a sub-step of `dt` [s] from `time` [s]; `forces(dt)` may change the velocity."""

    def warnings(self) -> list[str]:
        """Return warnings about the last step."""

    def summary(self) -> dict[str, int | str]:
        """Return what is particular to the flow, for overviews."""

    def state_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of the arrays that a state must have, by key; None is any size."""

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bitwise identical restart needs."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`."""

    def reset(self) -> None:
        """Set all fields to zero."""
