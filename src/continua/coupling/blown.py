"""Rigid bodies and colliders of a world in its fluids on grids: obstacles that move, and that the fluids push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.contact import MeshShape, Shape
from continua.contact.rigid_shapes import BALL
from continua.contact.shapes import Pose
from continua.coupling.wet import RigidCarrier, fluid_moved
from continua.eulerian import GridFluid
from continua.eulerian.wall_forces import force_on
from continua.rigid import RigidGroup
from continua.rigid.turning import as_matrix, from_quaternions
from continua.surroundings import Surroundings

__all__ = ["Blown", "Follower", "let_flow_around"]


@dataclass(frozen=True, eq=False)
class Follower(Shape):
    """The shape of one copy of a rigid group, always where the copy is.

    At later times than now it goes on with the velocity the copy has, so that a fluid that is stepped first knows how
    fast its walls move.

    Attributes:
        group: The rigid bodies.
        number: Which of them.
        surroundings: What tells the time.
    """

    kind = "rigid body"
    group: RigidGroup
    number: int
    surroundings: Surroundings
    _inner: MeshShape | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.group.solid.kind != BALL and self.group.solid.field is None:
            object.__setattr__(self, "_inner", MeshShape(self.group.solid.surface))

    def pose(self, time: float) -> Pose:
        """Return where the body is now, or will be at `time` [s] if it keeps its velocity."""
        group, n = self.group, self.number
        if group.motion is not None:
            x, q = group.pose_at(time)
            return Pose(from_quaternions(q[n : n + 1])[0], x[n])
        state = group.state()
        ahead = time - self.surroundings.time
        velocity = state["velocities"][n]
        turn = as_matrix(ahead * velocity[3:]) @ from_quaternions(state["quaternions"][n : n + 1])[0]
        return Pose(turn, state["centers"][n] + ahead * velocity[:3])

    def bounds(self) -> NDArray[np.float64]:
        """Return the box around the body in its own axes [m], shape [2, 3]."""
        points = self.group.solid.surface.points
        return np.stack([points.min(axis=0), points.max(axis=0)])

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and unit normals in the body's own axes."""
        solid = self.group.solid
        if solid.kind == BALL:
            length = np.linalg.norm(points, axis=1)
            return length - solid.size[0], points / np.maximum(length, 1e-300)[:, None]
        return solid.distances(points) if self._inner is None else self._inner.distances(points)

    def description(self) -> Mapping[str, object]:
        """Return its surface; the body itself is drawn, so nobody asks for it."""
        surface = self.group.solid.surface
        return {"kind": "mesh", "points": surface.points, "triangles": surface.triangles}


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

    def gather(self, part: float, dt: float) -> None:
        """Gather the impulses of a sub-step of `part` [s] in a step of `dt` [s]."""
        flow = self.fluid.flow
        by_shape = {id(obstacle.shape): obstacle for obstacle in flow.cut.obstacles}
        for shape, carrier in self._pairs:
            obstacle = by_shape.get(id(shape))
            if obstacle is None or not obstacle.is_inside:
                continue
            solid = shape.group.solid
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
    bodies: Sequence[RigidGroup],
    colliders: Sequence[Shape],
    surroundings: Surroundings,
) -> None:
    """Make rigid bodies and colliders obstacles of fluids on grids, and let these push the bodies."""
    shapes = [
        Follower(group, number, surroundings, name=group.name)
        for group in bodies
        for number in range(group.count)
    ]
    for fluid in fluids:
        fluid.flow_around([*shapes, *colliders])
        fluid.pushed = Blown(fluid, shapes) if shapes else None
