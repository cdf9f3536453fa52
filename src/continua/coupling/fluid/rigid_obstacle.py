"""Rigid bodies as obstacles of grid fluids: their shapes at present and extrapolated poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from continua.environment import Environment
from continua.geometry import MeshShape, Shape
from continua.geometry.primitive_kernels import SPHERE
from continua.geometry.shape import Pose
from continua.numerics.rotations import matrices_from_quaternions, rotation_matrix
from continua.rigid import RigidInstances

__all__ = ["RigidObstacle", "RigidTrajectory"]


@dataclass(eq=False)
class RigidTrajectory:
    """Pose and velocity of a body at a time.

    Attributes:
        time: Time of the pose [s].
        center: Centre of mass [m].
        turn: Rotation matrix, shape [3, 3].
        velocity: Velocity [m/s] and angular velocity [rad/s], shape [6].
    """

    time: float
    center: NDArray[np.float64]
    turn: NDArray[np.float64]
    velocity: NDArray[np.float64]

    def pose(self, time: float) -> Pose:
        """Return the pose at `time` [s] for a constant velocity."""
        ahead = time - self.time
        return Pose(
            rotation_matrix(ahead * self.velocity[3:]) @ self.turn, self.center + ahead * self.velocity[:3]
        )

    def advance_pose(self, dt: float) -> None:
        """Advance the pose by `dt` [s], but not the time."""
        pose = self.pose(self.time + dt)
        self.center, self.turn = pose.translation, pose.rotation

    def advance(self, dt: float) -> None:
        """Advance pose and time by `dt` [s]."""
        pose = self.pose(self.time + dt)
        self.time, self.center, self.turn = self.time + dt, pose.translation, pose.rotation


@dataclass(frozen=True, eq=False)
class RigidObstacle(Shape):
    """The shape of one instance of a rigid group, at the pose of the instance.

    At later times the pose is extrapolated with the current velocity, so that a fluid that is stepped first knows the
    velocity of its walls.

    Attributes:
        group: The rigid bodies.
        index: Index of the instance.
        environment: Gravity and time of the world.
        trajectory: Trajectory during a step of a liquid that moves the body, or None.
    """

    kind = "rigid body"
    group: RigidInstances
    index: int
    environment: Environment
    trajectory: RigidTrajectory | None = field(init=False, default=None)
    _mesh_shape: MeshShape | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.group.geometry.kind != SPHERE and self.group.geometry.field is None:
            object.__setattr__(self, "_mesh_shape", MeshShape(self.group.geometry.surface))

    def set_trajectory(self, trajectory: RigidTrajectory | None) -> None:
        """Set the trajectory; None returns to the body's own pose."""
        object.__setattr__(self, "trajectory", trajectory)

    def pose(self, time: float) -> Pose:
        """Return the pose of the body at `time` [s], extrapolated with its velocity."""
        if self.trajectory is not None:
            return self.trajectory.pose(time)
        group, n = self.group, self.index
        if group.motion is not None:
            x, q = group.pose_at(time)
            return Pose(matrices_from_quaternions(q[n : n + 1])[0], x[n])
        state = group.state()
        ahead = time - self.environment.time
        velocity = state["velocities"][n]
        turn = (
            rotation_matrix(ahead * velocity[3:])
            @ matrices_from_quaternions(state["quaternions"][n : n + 1])[0]
        )
        return Pose(turn, state["centers"][n] + ahead * velocity[:3])

    def bounds(self) -> NDArray[np.float64]:
        """Return the bounding box in body axes [m], shape [2, 3]."""
        points = self.group.geometry.surface.points
        return np.stack([points.min(axis=0), points.max(axis=0)])

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances and unit normals in body axes."""
        solid = self.group.geometry
        if solid.kind == SPHERE:
            length = np.linalg.norm(points, axis=1)
            return length - solid.size[0], points / np.maximum(length, 1e-300)[:, None]
        return solid.distances(points) if self._mesh_shape is None else self._mesh_shape.distances(points)

    def description(self) -> Mapping[str, object]:
        """Return its surface; not used, since the body itself is drawn."""
        surface = self.group.geometry.surface
        return {"kind": "mesh", "points": surface.points, "triangles": surface.triangles}
