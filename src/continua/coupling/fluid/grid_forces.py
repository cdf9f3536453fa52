"""Rigid bodies and colliders as obstacles of grid fluids, and the forces of the fluids on the bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact import Shape
from continua.coupling.fluid.grid_monolithic import LiquidRigidCoupling
from continua.coupling.fluid.rigid_obstacle import RigidObstacle
from continua.coupling.wet import RigidCarrier, fluid_moved
from continua.grid_fluids import GridFluid, Liquid
from continua.grid_fluids.pressure.wall_forces import obstacle_force
from continua.rigid import RigidGroup
from continua.surroundings import Surroundings

__all__ = ["GridForceCoupling", "couple_grid_fluids"]


class GridForceCoupling:
    """Forces of a grid fluid on rigid bodies, weakly coupled.

    Force and torque are computed for bodies that keep their velocity during the step; `RigidCarrier` stabilises light
    bodies by added mass. In a plane flow the force acts over the depth of the body.

    Args:
        fluid: The fluid.
        obstacles: The shapes of the bodies among its obstacles.
    """

    def __init__(self, fluid: GridFluid, obstacles: Sequence[RigidObstacle]) -> None:
        self.fluid = fluid
        self._pairs = [
            (shape, RigidCarrier(shape.group, shape.index, 1.0))
            for shape in obstacles
            if shape.group.motion is None
        ]

    def begin_step(self, dt: float) -> None:
        """Begin a step of `dt` [s]; the accumulators are already empty."""

    def accumulate(self, duration: float, dt: float) -> None:
        """Accumulate the impulses of a sub-step of `duration` [s] in a step of `dt` [s]."""
        flow = self.fluid.flow
        by_shape = {id(obstacle.shape): obstacle for obstacle in flow.domain.cut_cells.obstacles}
        for shape, carrier in self._pairs:
            obstacle = by_shape.get(id(shape))
            if obstacle is None or not obstacle.contains_corner:
                continue
            solid = shape.group.solid
            force = obstacle_force(flow, obstacle, carrier.velocity()[0], flow.domain.obstacle_time)
            if flow.domain.grid.dim == 2:
                force *= float(np.ptp(solid.surface.points[:, 2]))
            moved = flow.density * fluid_moved(solid) * duration / dt
            carrier.receive(duration * force[:3], duration * force[3:], moved)

    def apply(self, dt: float) -> None:
        """Apply the accumulated impulses to the bodies, as forces over their next step of `dt` [s]."""
        for shape, carrier in self._pairs:
            impulse, burden = carrier.given()
            if impulse.any() or burden > 0.0:
                count, row = shape.group.count, np.arange(shape.group.count)[:, None] == shape.index
                forces = np.where(row, impulse / dt, 0.0)
                shape.group.add_force(
                    forces[:, :3], forces[:, 3:], np.where(row[:, 0], burden, np.zeros(count))
                )

    def clear(self) -> None:
        """Clear accumulated impulses and added mass."""
        for _, carrier in self._pairs:
            carrier.forget()
            carrier.owed = 0.0

    def state(self) -> dict[str, NDArray]:
        """Return the state that is kept between steps."""
        if not self._pairs:
            return {}
        carriers = [carrier for _, carrier in self._pairs]
        return {
            "owed": np.array([c.owed for c in carriers]),
            "before": np.stack([c.before for c in carriers]),
        }

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state; missing entries are zero."""
        self.clear()
        for number, (_, carrier) in enumerate(self._pairs):
            if "owed" in state:
                carrier.owed = float(state["owed"][number])
                carrier.before = np.array(state["before"][number])


def couple_grid_fluids(
    fluids: Sequence[GridFluid],
    bodies: Sequence[RigidGroup],
    colliders: Sequence[Shape],
    surroundings: Surroundings,
) -> None:
    """Make rigid bodies and colliders obstacles of grid fluids, and couple the fluids' forces to the bodies."""
    for fluid in fluids:
        shapes = [
            RigidObstacle(group, number, surroundings, name=group.name)
            for group in bodies
            for number in range(group.count)
        ]
        fluid.set_world_obstacles([*shapes, *colliders])
        if isinstance(fluid, Liquid):
            coupling = LiquidRigidCoupling(fluid, shapes, surroundings)
            fluid.obstacle_forces = fluid.flow.floating_bodies = coupling if shapes else None
        else:
            fluid.obstacle_forces = GridForceCoupling(fluid, shapes) if shapes else None
