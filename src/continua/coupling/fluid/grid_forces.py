"""Rigid bodies and colliders as obstacles of grid fluids, and the forces of the fluids on the bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.coupling.fluid.grid_monolithic import LiquidRigidCoupling
from continua.coupling.fluid.rigid_obstacle import RigidObstacle
from continua.coupling.fluid.sph_boundary import RigidImpulseAccumulator, added_mass_volume
from continua.environment import Environment
from continua.geometry import Shape
from continua.grid_fluids import GridFluid, Liquid
from continua.grid_fluids.pressure.wall_forces import obstacle_force
from continua.rigid import RigidInstances

__all__ = ["GridForceCoupling", "couple_grid_fluids"]


class GridForceCoupling:
    """Forces of a grid fluid on rigid bodies, weakly coupled.

    Force and torque are computed for bodies that keep their velocity during the step; `RigidImpulseAccumulator`
    stabilises light bodies by added mass. In a plane flow the force acts over the depth of the body.

    Args:
        fluid: The fluid.
        obstacles: The shapes of the bodies among its obstacles.
    """

    def __init__(self, fluid: GridFluid, obstacles: Sequence[RigidObstacle]) -> None:
        self.fluid = fluid
        self._pairs = [
            (shape, RigidImpulseAccumulator(shape.group, shape.index, 1.0))
            for shape in obstacles
            if shape.group.motion is None
        ]

    def begin_step(self, dt: float) -> None:
        """Begin a step of `dt` [s]; the accumulators are already empty."""

    def accumulate(self, duration: float, dt: float) -> None:
        """Accumulate the impulses of a sub-step of `duration` [s] in a step of `dt` [s]."""
        flow = self.fluid.flow
        by_shape = {id(obstacle.shape): obstacle for obstacle in flow.domain.cut_cells.obstacles}
        for shape, accumulator in self._pairs:
            obstacle = by_shape.get(id(shape))
            if obstacle is None or not obstacle.contains_corner:
                continue
            solid = shape.group.geometry
            force = obstacle_force(flow, obstacle, accumulator.velocity()[0], flow.domain.obstacle_time)
            if flow.domain.grid.dim == 2:
                force *= float(np.ptp(solid.surface.points[:, 2]))
            moved = flow.density * added_mass_volume(solid) * duration / dt
            accumulator.add_impulse(duration * force[:3], duration * force[3:], moved)

    def apply(self, dt: float) -> None:
        """Apply the accumulated impulses to the bodies, as forces over their next step of `dt` [s]."""
        for shape, accumulator in self._pairs:
            impulse, added_mass = accumulator.take_impulse()
            if impulse.any() or added_mass > 0.0:
                count, row = shape.group.count, np.arange(shape.group.count)[:, None] == shape.index
                forces = np.where(row, impulse / dt, 0.0)
                shape.group.add_external_force(
                    forces[:, :3], forces[:, 3:], np.where(row[:, 0], added_mass, np.zeros(count))
                )

    def clear(self) -> None:
        """Clear accumulated impulses and added mass."""
        for _, accumulator in self._pairs:
            accumulator.clear()
            accumulator.previous_added_mass = 0.0

    def state(self) -> dict[str, NDArray]:
        """Return the state that is kept between steps."""
        if not self._pairs:
            return {}
        accumulators = [accumulator for _, accumulator in self._pairs]
        return {
            "previous_added_mass": np.array([a.previous_added_mass for a in accumulators]),
            "previous_velocity": np.stack([a.previous_velocity for a in accumulators]),
        }

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state; missing entries are zero."""
        self.clear()
        for number, (_, accumulator) in enumerate(self._pairs):
            if "previous_added_mass" in state:
                accumulator.previous_added_mass = float(state["previous_added_mass"][number])
                accumulator.previous_velocity = np.array(state["previous_velocity"][number])

    def follow(self, before: Any) -> None:
        """Take over the added mass of the bodies that stay, after others were added or removed."""
        old = {id(shape): accumulator for shape, accumulator in before._pairs}
        for shape, accumulator in self._pairs:
            if id(shape) in old:
                accumulator.previous_added_mass = old[id(shape)].previous_added_mass
                accumulator.previous_velocity = old[id(shape)].previous_velocity.copy()


def couple_grid_fluids(
    fluids: Sequence[GridFluid],
    bodies: Sequence[RigidInstances],
    colliders: Sequence[Shape],
    environment: Environment,
    running: Sequence[GridFluid] = (),
) -> None:
    """Make rigid bodies and colliders obstacles of grid fluids, and couple the fluids' forces to the bodies.

    Fluids that are `running` have been coupled to other bodies and colliders of the same world until now, and go on.
    """
    for fluid in fluids:
        runs = any(fluid is other for other in running)
        known = {
            (id(shape.group), shape.index): shape
            for shape in (fluid.world_obstacles if runs else ())
            if isinstance(shape, RigidObstacle)
        }
        shapes = [
            known.get((id(group), number)) or RigidObstacle(group, number, environment, name=group.name)
            for group in bodies
            for number in range(group.count)
        ]
        before = fluid.obstacle_forces if runs else None
        fluid.set_world_obstacles([*shapes, *colliders], running=runs)
        if isinstance(fluid, Liquid):
            coupling = LiquidRigidCoupling(fluid, shapes, environment)
            fluid.obstacle_forces = fluid.flow.floating_bodies = coupling if shapes else None
        else:
            fluid.obstacle_forces = GridForceCoupling(fluid, shapes) if shapes else None
        if fluid.obstacle_forces is not None and before is not None:
            fluid.obstacle_forces.follow(before)
