"""Rigid boundaries: colliders, and rigid bodies that move the fluid and are moved by it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Shape
from continua.geometry.shape import Pose
from continua.sph.boundary.akinci import make_akinci_boundary
from continua.sph.boundary.interface import PUSH_OUT, FluidState, apply_friction
from continua.sph.boundary.map_boundary import make_map_boundary, shape_bounds
from continua.sph.boundary.methods import BoundaryMethod, BoundaryParticles
from continua.sph.boundary.model import BoundaryModel, BoundaryPose, BoundarySums

__all__ = ["RigidBoundary", "RigidBoundaryBody", "make_boundary_model"]


class RigidBoundaryBody(Protocol):
    """A rigid body that is a boundary of the fluid."""

    @property
    def name(self) -> str:
        """Name of the body."""

    @property
    def owner(self) -> object:
        """The body in the world."""

    def pose(self) -> Pose:
        """Return the pose of the body's local axes."""

    def velocity(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return its centre of mass [m], the velocity there [m/s] and the angular velocity [rad/s]."""

    def add_impulse(
        self,
        impulse: NDArray[np.float64],
        moment: NDArray[np.float64],
        wetted_area: float = 0.0,
        drag: float = 0.0,
    ) -> None:
        """Add an impulse [N s] and its moment about the centre of mass [N m s].

        `wetted_area` [kg/m] is the sum over particles of their mass times the gradient of the boundary's part of their
        density: about 0.6 times the fluid's density in kg/m3 times the wetted area in m2. `drag` [kg] is the viscous
        impulse for each m/s by which the body is faster than the particles next to it.
        """


@dataclass(eq=False)
class RigidBoundary:
    """A shape as a boundary: a collider, or the shape of a rigid body.

    Attributes:
        shape: The shape; that of a body is given in the body's local axes.
        model: Its samples or map.
        body: The rigid body, or None for a collider.
        slip: Slip length [m].
    """

    shape: Shape
    model: BoundaryModel
    body: RigidBoundaryBody | None = None
    slip: float = 0.0
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"'{self.body.name}'" if self.body is not None else f"a {self.shape.kind}"

    @property
    def owner(self) -> object:
        """The collider or body whose surface it is."""
        return self.shape if self.body is None else self.body.owner

    def _pose(self, time: float) -> Pose:
        pose = self.shape.pose(time) if self.body is None else self.body.pose()
        return Pose(np.eye(3), np.zeros(3)) if pose is None else pose

    def _motion(self, origin: NDArray, time: float, dt: float) -> NDArray[np.float64] | None:
        """Return the velocity of the boundary's points as a matrix [3, 4] over positions from `origin` [m].

        It is None at rest.
        """
        if self.body is not None:
            center, velocity, angular_velocity = self.body.velocity()
            x, y, z = angular_velocity
            cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            matrix = np.column_stack([cross, velocity + cross @ (origin - center)])
            return matrix if np.any(matrix) else None
        now, then = self.shape.pose(time), self.shape.pose(time + dt)
        if now is None or then is None or dt <= 0.0:
            return None
        turn = then.rotation @ now.rotation.T
        shift = turn @ (origin - now.translation) + then.translation - origin
        matrix = np.column_stack([turn - np.eye(3), shift]) / dt
        return matrix if np.any(matrix) else None

    def _boundary_pose(self, origin: NDArray, time: float, dt: float) -> BoundaryPose:
        pose, matrix = self._pose(time), self._motion(origin, time, dt)
        motion = None if matrix is None else matrix.astype(np.float32).ravel()
        return BoundaryPose(pose.rotation, pose.translation - origin, motion)

    def add_to(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], origin: NDArray, time: float, dt: float
    ) -> None:
        """Add the boundary's contributions to each particle."""
        self._add(sums, xyzp, self._boundary_pose(origin, time, dt), sums.copy_parts())

    def _add(
        self,
        sums: BoundarySums,
        xyzp: NDArray[np.float32],
        pose: BoundaryPose,
        previous: tuple[NDArray[np.float32], NDArray[np.float32]],
    ) -> None:
        """Add all contributions to sums that were `previous`."""
        self.model.add_to(sums, xyzp, pose)
        sums.add_drag(previous, self.model.profile, self.slip)

    def needs_forces(self, friction: bool) -> bool:
        """Return whether there is a body or friction."""
        return friction or self.body is not None

    def apply_fluid_forces(
        self, fluid: FluidState, scratch: BoundarySums, origin: NDArray, time: float, dt: float
    ) -> None:
        """Apply friction to the fluid, and all impulses to the body (Koschier and Bender 2017).

        A particle's impulse on the boundary is V p dt grad(rho_B), at the particle; friction removes at most the slip.
        """
        pose = self._boundary_pose(origin, time, dt)
        scratch.clear(len(fluid.masses))
        self._add(scratch, fluid.xyzp, pose, scratch.copy_parts())
        near = np.flatnonzero(scratch.density > 0.0)
        x = fluid.xyzp.reshape(-1, 4)[near, :3].astype(np.float64)
        gradient = scratch.gradient.reshape(-1, 4)[near, :3].astype(np.float64)
        impulses = (fluid.volume * fluid.pressures[near].astype(np.float64))[:, None] * gradient
        if fluid.friction > 0.0 or fluid.drag > 0.0:
            normal_impulse = np.linalg.norm(impulses, axis=1)
            impulses += apply_friction(fluid, near, gradient, _velocities_at(pose, x), normal_impulse)
        resistance = 0.0
        if fluid.viscous_coupling is not None:
            weight, velocities = fluid.viscous_coupling
            u = velocities.reshape(-1, 4)[near, :3].astype(np.float64)
            drag = scratch.drag[near, None] * u - scratch.drag_velocity.reshape(-1, 4)[near, :3]
            impulses += weight[near, None] * drag
            resistance = float(weight[near].astype(np.float64) @ scratch.drag[near])
        wetted_area = float(fluid.masses[near] @ np.linalg.norm(gradient, axis=1))
        self._add_impulses(x + origin, impulses, wetted_area, resistance)

    def _add_impulses(
        self,
        points: NDArray[np.float64],
        impulses: NDArray[np.float64],
        wetted_area: float = 0.0,
        drag: float = 0.0,
    ) -> None:
        if self.body is None or len(points) == 0:
            return
        center, _, _ = self.body.velocity()
        moment = np.cross(points - center, impulses).sum(axis=0)
        self.body.add_impulse(impulses.sum(axis=0), moment, wetted_area, drag)

    def resolve_penetration(
        self, fluid: FluidState, sums: BoundarySums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> NDArray[np.float64]:
        """Move penetrating particles back to the surface; return the depth of each [m]."""
        pose = self._boundary_pose(origin, time, dt)
        near = self.model.penetration_candidates(sums, fluid.xyzp, pose, 0.1 * diameter)
        if len(near) == 0:
            return np.zeros(0)
        xyzp, velocities = fluid.xyzp.reshape(-1, 4), fluid.velocities.reshape(-1, 4)
        local = (xyzp[near, :3].astype(np.float64) - pose.translation) @ pose.rotation
        distances, normals = self.shape.distances(local)
        inside = np.flatnonzero(distances < 0.0)
        if len(inside) == 0:
            return np.zeros(0)
        indices, n = near[inside], normals[inside] @ pose.rotation.T
        x = xyzp[indices, :3].astype(np.float64) + (PUSH_OUT * diameter - distances[inside])[:, None] * n
        xyzp[indices, :3] = x
        before = velocities[indices, :3].astype(np.float64)
        inward = np.minimum(((before - _velocities_at(pose, x)) * n).sum(axis=1), 0.0)
        velocities[indices, :3] = before - inward[:, None] * n
        self._add_impulses(x + origin, fluid.masses[indices, None] * (before - velocities[indices, :3]))
        return -distances[inside]

    def max_speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the boundary's largest speed at points [k, 3] around the fluid [m/s]."""
        matrix = self._motion(np.zeros(3), time, dt)
        if matrix is None:
            return 0.0
        if self.body is not None:  # a small body's points are near it, not at the corners of the fluid
            pose, (low, high) = self._pose(time), shape_bounds(self.shape)
            corners = np.stack(np.meshgrid(*zip(low, high), indexing="ij"), axis=-1).reshape(-1, 3)
            corners = corners @ pose.rotation.T + pose.translation
        return float(np.linalg.norm(corners @ matrix[:, :3].T + matrix[:, 3], axis=1).max())

    def signed_distances(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the boundary [m], negative inside."""
        pose = self._pose(time)
        return self.shape.distances((points - pose.translation) @ pose.rotation)[0]

    def nbytes(self) -> int:
        """Return the memory of the boundary model [bytes]."""
        return self.model.nbytes()


def _velocities_at(pose: BoundaryPose, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boundary's velocities [m/s] at points [k, 3] relative to the fluid's origin."""
    if pose.motion is None:
        return np.zeros_like(x)
    matrix = pose.motion.reshape(3, 4).astype(np.float64)
    return x @ matrix[:, :3].T + matrix[:, 3]


def make_boundary_model(shape: Shape, radius: float, method: BoundaryMethod) -> BoundaryModel:
    """Return the model of a shape in its local axes; the kernel `radius` [m] is twice the particles' diameter."""
    if isinstance(method, BoundaryParticles):
        return make_akinci_boundary(shape, radius, 0.5 * radius)
    return make_map_boundary(shape, radius, method)
