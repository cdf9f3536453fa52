"""Rigid bodies and colliders of a world in its fluids on grids: obstacles that move, and that the fluids push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from continua.coupling.afloat import Afloat
from continua.coupling.follower import Follower
from continua.coupling.wet import RigidCarrier, fluid_moved
from continua.eulerian import GridFluid, Liquid
from continua.eulerian.wall_forces import force_on
from continua.geometry import Shape
from continua.rigid import RigidInstances
from continua.surroundings import Surroundings

__all__ = ["Blown", "let_flow_around"]


class Blown:
    """The rigid bodies in a fluid, and what it does to them.

    Force and torque are found for bodies that keep their velocity during the step; see `RigidCarrier` for what that
    means for light ones. In a plane a body is pushed over its own depth.

    Args:
        fluid: The fluid.
        followers: The shapes of the bodies among its obstacles.
    """

    def __init__(self, fluid: GridFluid, followers: Sequence[Follower]) -> None:
        self.fluid = fluid
        self._pairs = [
            (shape, RigidCarrier(shape.group, shape.number, 1.0))
            for shape in followers
            if shape.group.motion is None
        ]

    def begin(self, dt: float) -> None:
        """Begin a step of `dt` [s]; the carriers have dropped what they gathered before."""

    def gather(self, part: float, dt: float) -> None:
        """Gather the impulses of a sub-step of `part` [s] in a step of `dt` [s]."""
        flow = self.fluid.flow
        by_shape = {id(obstacle.shape): obstacle for obstacle in flow.cut.obstacles}
        for shape, carrier in self._pairs:
            obstacle = by_shape.get(id(shape))
            if obstacle is None or not obstacle.is_inside:
                continue
            solid = shape.group.geometry
            push = force_on(flow, obstacle, carrier.velocity()[0], flow.placed)
            if flow.grid.dim == 2:
                push *= float(np.ptp(solid.surface.points[:, 2]))
            moved = flow.density * fluid_moved(solid) * part / dt
            carrier.receive(part * push[:3], part * push[3:], moved)

    def give(self, dt: float) -> None:
        """Give the bodies what was gathered, as forces over their next step of `dt` [s]."""
        for shape, carrier in self._pairs:
            impulse, burden = carrier.given()
            if impulse.any() or burden > 0.0:
                count, row = shape.group.count, np.arange(shape.group.count)[:, None] == shape.number
                pushes = np.where(row, impulse / dt, 0.0)
                shape.group.add_force(
                    pushes[:, :3], pushes[:, 3:], np.where(row[:, 0], burden, np.zeros(count))
                )

    def forget(self) -> None:
        """Drop what was gathered, and what is owed."""
        for _, carrier in self._pairs:
            carrier.forget()
            carrier.owed = 0.0

    def state(self) -> dict[str, NDArray]:
        """Return what goes from step to step."""
        if not self._pairs:
            return {}
        carriers = [carrier for _, carrier in self._pairs]
        return {
            "owed": np.array([c.owed for c in carriers]),
            "before": np.stack([c.before for c in carriers]),
        }

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Take over a state; what it lacks is nothing."""
        self.forget()
        for number, (_, carrier) in enumerate(self._pairs):
            if "owed" in state:
                carrier.owed = float(state["owed"][number])
                carrier.before = np.array(state["before"][number])


def let_flow_around(
    fluids: Sequence[GridFluid],
    bodies: Sequence[RigidInstances],
    colliders: Sequence[Shape],
    surroundings: Surroundings,
) -> None:
    """Make rigid bodies and colliders obstacles of fluids on grids, and let these push the bodies."""
    for fluid in fluids:
        shapes = [
            Follower(group, number, surroundings, name=group.name)
            for group in bodies
            for number in range(group.count)
        ]
        fluid.flow_around([*shapes, *colliders])
        if isinstance(fluid, Liquid):
            afloat = Afloat(fluid, shapes, surroundings)
            fluid.pushed = fluid.flow.riders = afloat if shapes else None
        else:
            fluid.pushed = Blown(fluid, shapes) if shapes else None
