"""The coupling of grid fluids with the rigid bodies and colliders of a world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from continua.coupling.contact.system import SolidSystem
from continua.coupling.fluid.grid_forces import couple_grid_fluids
from continua.errors import warn_user
from continua.grid_fluids.system import GridFluidSystem
from continua.registry import register_coupling
from continua.sph import FluidSystem
from continua.system import Coupling, System, WorldContext

__all__ = ["GridFluidCoupling"]


@register_coupling
class GridFluidCoupling(Coupling):
    """Makes rigid bodies and colliders obstacles of the grid fluids, and lets the fluids push the bodies.

    Each fluid applies and stores its forces itself, see `GridFluid.obstacle_forces`.
    """

    joins: ClassVar = (GridFluidSystem,)
    order: ClassVar = 20

    @classmethod
    def make(cls, systems: Mapping[type[System], System], context: WorldContext) -> Self:
        """Couple the fluids with what can be an obstacle, and warn of bodies that cannot."""
        solids, particles = systems.get(SolidSystem), systems.get(FluidSystem)
        rigid = solids.rigid_bodies if isinstance(solids, SolidSystem) else ()
        soft = solids.soft_bodies if isinstance(solids, SolidSystem) else ()
        before = context.before.get(GridFluidSystem)
        known = () if before is None else before.bodies
        couple_grid_fluids(
            systems[GridFluidSystem].bodies, rigid, context.colliders, context.environment, known
        )
        unaware = [kind for kind, some in (("particle fluids", particles), ("soft bodies", soft)) if some]
        if unaware:
            warn_user(
                "fluids on grids interact with rigid bodies and colliders, but not yet with "
                f"{' and '.join(unaware)}"
            )
        return cls()
