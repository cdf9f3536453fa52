"""Rigid bodies and colliders of a world in its fluids on grids: the fluids see them as obstacles that move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.contact import MeshShape, Shape
from continua.contact.rigid_shapes import BALL
from continua.contact.shapes import Pose
from continua.eulerian import GridFluid
from continua.rigid import RigidGroup
from continua.rigid.turning import as_matrix, from_quaternions
from continua.surroundings import Surroundings

__all__ = ["Follower", "let_flow_around"]


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


def let_flow_around(
    fluids: Sequence[GridFluid],
    bodies: Sequence[RigidGroup],
    colliders: Sequence[Shape],
    surroundings: Surroundings,
) -> None:
    """Make rigid bodies and colliders obstacles of fluids on grids."""
    shapes: list[Shape] = [
        Follower(group, number, surroundings, name=group.name)
        for group in bodies
        for number in range(group.count)
    ]
    for fluid in fluids:
        fluid.flow_around([*shapes, *colliders])
