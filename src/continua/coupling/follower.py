"""The shapes of rigid bodies in a fluid: always where the bodies are, and ahead of them where they will be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.geometry import MeshShape, Shape
from continua.geometry.primitive_kernels import SPHERE
from continua.geometry.shape import Pose
from continua.numerics.rotations import matrices_from_quaternions, rotation_matrix
from continua.rigid import RigidInstances
from continua.surroundings import Surroundings

__all__ = ["Course", "Follower"]


@dataclass(eq=False)
class Course:
    """Where a body is on its way, and how fast.

    Attributes:
        time: When it is there [s].
        center: Its centre [m].
        turn: Its axes, shape [3, 3].
        velocity: Velocity [m/s] and angular velocity [rad/s], shape [6].
    """

    time: float
    center: NDArray[np.float64]
    turn: NDArray[np.float64]
    velocity: NDArray[np.float64]

    def pose(self, time: float) -> Pose:
        """Return where it is at `time` [s] with this velocity."""
        ahead = time - self.time
        return Pose(
            rotation_matrix(ahead * self.velocity[3:]) @ self.turn, self.center + ahead * self.velocity[:3]
        )

    def lead(self, dt: float) -> None:
        """Be already where it would be `dt` [s] later."""
        there = self.pose(self.time + dt)
        self.center, self.turn = there.translation, there.rotation

    def go_on(self, dt: float) -> None:
        """Go on by `dt` [s]."""
        there = self.pose(self.time + dt)
        self.time, self.center, self.turn = self.time + dt, there.translation, there.rotation


@dataclass(frozen=True, eq=False)
class Follower(Shape):
    """The shape of one copy of a rigid group, always where the copy is.

    At later times than now it goes on with the velocity the copy has, so that a fluid that is stepped first knows how
    fast its walls move.

    Attributes:
        group: The rigid bodies.
        number: Which of them.
        surroundings: What tells the time.
        course: How it goes on while a liquid is stepped that moves it, or None.
    """

    kind = "rigid body"
    group: RigidInstances
    number: int
    surroundings: Surroundings
    course: Course | None = field(init=False, default=None)
    _inner: MeshShape | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.group.geometry.kind != SPHERE and self.group.geometry.field is None:
            object.__setattr__(self, "_inner", MeshShape(self.group.geometry.surface))

    def set_course(self, course: Course | None) -> None:
        """Follow another course from now on; None is the body's own."""
        object.__setattr__(self, "course", course)

    def pose(self, time: float) -> Pose:
        """Return where the body is now, or will be at `time` [s] if it keeps its velocity."""
        if self.course is not None:
            return self.course.pose(time)
        group, n = self.group, self.number
        if group.motion is not None:
            x, q = group.pose_at(time)
            return Pose(matrices_from_quaternions(q[n : n + 1])[0], x[n])
        state = group.state()
        ahead = time - self.surroundings.time
        velocity = state["velocities"][n]
        turn = (
            rotation_matrix(ahead * velocity[3:])
            @ matrices_from_quaternions(state["quaternions"][n : n + 1])[0]
        )
        return Pose(turn, state["centers"][n] + ahead * velocity[:3])

    def bounds(self) -> NDArray[np.float64]:
        """Return the box around the body in its own axes [m], shape [2, 3]."""
        points = self.group.geometry.surface.points
        return np.stack([points.min(axis=0), points.max(axis=0)])

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and unit normals in the body's own axes."""
        solid = self.group.geometry
        if solid.kind == SPHERE:
            length = np.linalg.norm(points, axis=1)
            return length - solid.size[0], points / np.maximum(length, 1e-300)[:, None]
        return solid.distances(points) if self._inner is None else self._inner.distances(points)

    def description(self) -> Mapping[str, object]:
        """Return its surface; the body itself is drawn, so nobody asks for it."""
        surface = self.group.geometry.surface
        return {"kind": "mesh", "points": surface.points, "triangles": surface.triangles}
