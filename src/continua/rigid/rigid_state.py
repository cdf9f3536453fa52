"""The state of all rigid instances in arrays: those of the bodies first, then the parts of colliders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Box, Capsule, Cylinder, Plane, Shape, Sphere
from continua.geometry.primitive_kernels import (
    BOX,
    CAPSULE,
    CYLINDER,
    GENERIC_SHAPE,
    INVERTED_SPHERE,
    MESH,
    NO_SHAPE,
    PLANE,
    SPHERE,
)
from continua.numerics.rotations import (
    axis_frame,
    matrices_from_quaternions,
    quaternion_from_matrix,
    rotation_matrix,
    rotation_vectors,
)
from continua.rigid.body import RigidInstances
from continua.rigid.geometry import RigidGeometry

__all__ = ["RigidState"]

_MARGIN_FRACTION = 0.02  # contacts are detected within this fraction of the smallest radius


class RigidState:
    """Poses, velocities, masses and shapes of all instances; the bodies' own arrays are views of these.

    Attributes:
        bodies: The rigid bodies.
        colliders: The colliders.
        count: Number of instances of bodies; the parts of colliders follow, and last the world itself.
        starts: First instance of each body, and the end.
        X: Positions [m], shape [n, 3].
        Q: Orientations as quaternions (w, x, y, z), shape [n, 4].
        R: The same as rotation matrices row by row, shape [n, 9].
        V: Velocities [m/s] and angular velocities [rad/s], shape [n, 6].
        M: One over the mass, and the inverse inertia in world axes (xx, yy, zz, xy, xz, yz), shape [n, 7].
        J: Principal moments of inertia, shape [n, 3].
        owner: Number of the body, or (after the bodies) of the collider of each instance, shape [n].
        kind: Kind of shape, see `geometry.primitive_kernels`, shape [n].
        size: Its size, shape [n, 3].
        radius: Largest distance from the centre to the surface [m], shape [n].
        min_radius: Smallest such distance, shape [n].
        contact_margin: Distance within which contacts are detected [m], shape [n].
        mass: Masses with added mass [kg], shape [n].
        is_dynamic: Whether forces and contacts move an instance, shape [n].
    """

    def __init__(self, bodies: Sequence[RigidInstances], colliders: Sequence[Shape]) -> None:
        self.bodies, self.colliders = tuple(bodies), tuple(colliders)
        counts = [body.count for body in bodies]
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        self.count = int(self.starts[-1])
        # a hollow box is six planes, so that contacts in its edges and corners have all their normals
        self._collider_parts = [
            (k, *part) for k, shape in enumerate(colliders) for part in _primitives_of(shape)
        ]
        n = self.count + len(self._collider_parts) + 1  # the last is the world itself, which has no contacts
        self.X, self.Q, self.V = np.zeros((n, 3)), np.zeros((n, 4)), np.zeros((n, 6))
        self.R, self.M, self.J = np.zeros((n, 9)), np.zeros((n, 7)), np.ones((n, 3))
        self.owner, self.kind = np.zeros(n, np.int32), np.zeros(n, np.int32)
        self.size, self.radius, self.min_radius = np.zeros((n, 3)), np.zeros(n), np.zeros(n)
        self.is_dynamic = np.zeros(n, np.bool_)
        self.mass, self._known_mass = np.ones(n), np.zeros(len(bodies))
        for number, body in enumerate(bodies):
            self._add_body(number, body)
        for i, (number, kind, size, rotation, center) in enumerate(self._collider_parts, self.count):
            self.owner[i] = len(bodies) + number
            self.kind[i], self.size[i] = kind, size
            self.X[i], self.Q[i] = center, quaternion_from_matrix(rotation)
            reach = {
                BOX: np.linalg.norm(size),
                CAPSULE: size[0] + size[1],
                CYLINDER: np.hypot(size[0], size[1]),
            }
            self.radius[i] = reach.get(kind, size[0] if kind in (SPHERE, INVERTED_SPHERE) else 0.0)
        self.kind[-1], self.Q[-1, 0] = NO_SHAPE, 1.0
        self._moving_colliders = [
            i
            for i, part in enumerate(self._collider_parts)
            if colliders[part[0]].motion is not None and part[1] != NO_SHAPE
        ]
        self._driven_bodies = [i for i, body in enumerate(bodies) if body.motion is not None]
        smallest = self.min_radius[: self.count].min() if self.count else 0.0
        self.min_radius[self.count :] = np.inf
        self.contact_margin = np.where(
            np.arange(n) < self.count, _MARGIN_FRACTION * self.min_radius, 0.5 * _MARGIN_FRACTION * smallest
        )
        self.update_derived()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for number, body in enumerate(self.bodies):
            self._share_arrays(number, body)

    def _share_arrays(self, number: int, body: RigidInstances) -> slice:
        """Make the arrays of a body views of those of all, and return its rows."""
        rows = slice(self.starts[number], self.starts[number + 1])
        for own, whole in (("_x", self.X), ("_q", self.Q), ("_v", self.V)):
            whole[rows] = getattr(body, own)
            setattr(body, own, whole[rows])
        return rows

    def _add_body(self, number: int, body: RigidInstances) -> None:
        rows = self._share_arrays(number, body)
        self.owner[rows], self.kind[rows], self.size[rows] = number, body.geometry.kind, body.geometry.size
        self.radius[rows], self.min_radius[rows] = body.geometry.radius, body.geometry.min_radius
        self.is_dynamic[rows] = body.motion is None
        self._update_mass(number, body)

    def _update_mass(self, number: int, body: RigidInstances) -> None:
        """Set the masses of a body's instances, with their added mass."""
        rows = slice(self.starts[number], self.starts[number + 1])
        self._known_mass[number] = body.mass_each if body._added_mass is None else np.nan
        self.mass[rows] = body._effective_masses
        self.J[rows] = self.mass[rows, None] * body.geometry.inertia
        if body.motion is None:
            self.M[rows, 0] = 1.0 / self.mass[rows]

    def rest_poses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [n, 3] and rotations [n, 3, 3] at the start."""
        x, q = self.X.copy(), self.Q.copy()
        for body, start in zip(self.bodies, self.starts, strict=False):
            x[start : start + body.count], q[start : start + body.count] = body.rest_centers, body._rest_q
        return x, matrices_from_quaternions(q)

    def geometry(self, i: int) -> RigidGeometry | None:
        """Return the geometry of instance i, or None for a collider."""
        return self.bodies[self.owner[i]].geometry if i < self.count else None

    def bounds(self, i: int) -> NDArray[np.float64] | None:
        """Return the bounding box of instance i in its own axes, or None if it is unbounded, shape [2, 3]."""
        if self.kind[i] in (BOX, MESH):
            return np.stack([-self.size[i], self.size[i]])
        if self.kind[i] == GENERIC_SHAPE:
            box = getattr(self.colliders[self._collider_parts[i - self.count][0]], "bounds", lambda: None)()
            return None if box is None else np.asarray(box)
        if self.kind[i] in (PLANE, INVERTED_SPHERE):
            return None
        half = np.full(3, self.size[i, 0])
        half[2] += self.size[i, 1]
        return np.stack([-half, half])

    def rows_of(self, before: RigidState) -> NDArray[np.int64]:
        """Return the row of each row of another state, by the same body or collider; -1 for those that are gone."""
        rows = np.full(len(before.X), -1, np.int64)
        for start, body in zip(before.starts, before.bodies, strict=False):
            for own_start, own in zip(self.starts, self.bodies, strict=False):
                if own is body:
                    rows[start : start + body.count] = own_start + np.arange(body.count)
        parts = [(id(self.colliders[part[0]]), i) for i, part in enumerate(self._collider_parts, self.count)]
        for i, part in enumerate(before._collider_parts, before.count):
            collider = before.colliders[part[0]]
            number = sum(other[0] == part[0] for other in before._collider_parts[: i - before.count])
            own_parts = [row for which, row in parts if which == id(collider)]
            if number < len(own_parts):
                rows[i] = own_parts[number]
        rows[-1] = len(self.X) - 1
        return rows

    def update_derived(self) -> None:
        """Update rotations and inverse inertias after the bodies' poses or masses were changed."""
        for number, body in enumerate(self.bodies):
            if body._added_mass is not None or self._known_mass[number] != body.mass_each:
                self._update_mass(number, body)
        rotations = matrices_from_quaternions(self.Q)
        self.R[:] = rotations.reshape(-1, 9)
        free = np.flatnonzero(self.is_dynamic)
        inverse = np.einsum("kij,kj,klj->kil", rotations[free], 1.0 / self.J[free], rotations[free])
        for column, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
            self.M[free, 1 + column] = inverse[:, i, j]

    def set_kinematic(self, time: float, dt: float) -> None:
        """Set the poses of prescribed motions at `time` [s], and the velocities that lead to those at `time` + dt."""
        for number in self._driven_bodies:
            body = self.bodies[number]
            rows = slice(self.starts[number], self.starts[number + 1])
            self._set_motion(rows, *body.pose_at(time), *body.pose_at(time + dt), dt)
        for number in self._moving_colliders:
            shape, rest = self.colliders[self._collider_parts[number][0]], self._collider_parts[number]
            i = self.count + number
            now, then = (self._collider_pose(shape, rest, t) for t in (time, time + dt))
            self._set_motion(slice(i, i + 1), *now, *then, dt)

    @staticmethod
    def _collider_pose(
        shape: Shape, rest: tuple, time: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        pose = shape.pose(time)
        assert pose is not None
        *_, rotation, center = rest
        return (pose.rotation @ center + pose.translation)[None], quaternion_from_matrix(
            pose.rotation @ rotation
        )[None]

    def _set_motion(
        self, rows: slice, x: NDArray, q: NDArray, x_then: NDArray, q_then: NDArray, dt: float
    ) -> None:
        self.X[rows], self.Q[rows] = x, q
        rotations = matrices_from_quaternions(q)
        self.R[rows] = rotations.reshape(-1, 9)
        if dt > 0.0:
            self.V[rows, :3] = (x_then - x) / dt
            self.V[rows, 3:] = (
                rotation_vectors(matrices_from_quaternions(q_then) @ np.swapaxes(rotations, 1, 2)) / dt
            )


_Primitive = tuple[int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _primitives_of(shape: Shape) -> list[_Primitive]:
    """Return kind, size, axes (columns) and centre of the primitives of a collider at rest."""
    if not (isinstance(shape, Box) and shape.inside and shape.rounding == 0.0):
        return [_primitive_of(shape)]
    walls = []
    for axis, half in zip(shape.axes, 0.5 * np.array(shape.size), strict=True):
        for side in (-1.0, 1.0):
            point = np.array(shape.center) + side * half * axis
            walls.append((PLANE, np.zeros(3), axis_frame(-side * axis).T, point))
    return walls


def _primitive_of(shape: Shape) -> _Primitive:
    """Return kind, size, axes (columns) and centre of a collider at rest."""
    if shape.deforms:  # refused where a rigid body could touch it
        return NO_SHAPE, np.zeros(3), np.eye(3), np.zeros(3)
    plain = not getattr(shape, "inside", False) and getattr(shape, "rounding", 0.0) == 0.0
    match shape:
        case Plane():
            return PLANE, np.zeros(3), axis_frame(np.array(shape.normal)).T, np.array(shape.point)
        case Sphere():
            return (
                SPHERE if plain else INVERTED_SPHERE,
                np.array([shape.radius, 0, 0]),
                np.eye(3),
                np.array(shape.center),
            )
        case Box() if plain:
            return (
                BOX,
                0.5 * np.array(shape.size),
                rotation_matrix(np.array(shape.rotate)),
                np.array(shape.center),
            )
        case Cylinder() if plain:
            frame = axis_frame(np.array(shape.axis)).T
            return CYLINDER, np.array([shape.radius, 0.5 * shape.height, 0]), frame, np.array(shape.center)
        case Capsule() if plain:
            segment = np.subtract(shape.end, shape.start)
            length = float(np.linalg.norm(segment))
            frame = axis_frame(segment / length).T
            return (
                CAPSULE,
                np.array([shape.radius, 0.5 * length, 0]),
                frame,
                0.5 * np.add(shape.start, shape.end),
            )
    return GENERIC_SHAPE, np.zeros(3), np.eye(3), np.zeros(3)
