"""All rigid pieces of a world in arrays: the bodies' copies first, then the obstacles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact import Box, Capsule, Cylinder, Plane, Shape, Sphere
from continua.contact.outlines import axis_frame
from continua.contact.rigid_shapes import BALL, BOX, CYLINDER, HOLLOW, MESH, NOTHING, OTHER, PLANE, ROD
from continua.mesh.transform import rotation_matrix
from continua.rigid.body import RigidGroup
from continua.rigid.solid import Solid
from continua.rigid.turning import from_quaternions, to_quaternion

__all__ = ["Pieces"]

_SLACK = 0.02  # contacts are kept within this part of a piece's least radius


class Pieces:
    """Poses, velocities, masses and shapes of all pieces; the bodies' own arrays are views of these.

    Attributes:
        bodies: The rigid bodies.
        colliders: The obstacles.
        count: Number of pieces that belong to bodies; those of obstacles follow.
        X: Positions [m], shape [n, 3].
        Q: Attitudes as quaternions (w, x, y, z), shape [n, 4].
        R: The same as rotation matrices row by row, shape [n, 9].
        V: Velocities [m/s] and angular velocities [rad/s], shape [n, 6].
        M: One over the mass, and the inverse inertia in world axes (xx, yy, zz, xy, xz, yz), shape [n, 7].
        J: Principal moments of inertia, shape [n, 3].
        group: Number of the body or (counted on) the collider of each piece, shape [n].
        kind: Kind of shape, see `contact.rigid_shapes`, shape [n].
        size: Its size, shape [n, 3].
        radius: Largest distance from the centre to the surface [m], shape [n].
        thin: Least such distance, shape [n].
        moves: Whether a piece can be moved by others, shape [n].
    """

    def __init__(self, bodies: Sequence[RigidGroup], colliders: Sequence[Shape]) -> None:
        self.bodies, self.colliders = tuple(bodies), tuple(colliders)
        counts = [body.count for body in bodies]
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        self.count = int(self.starts[-1])
        # a hollow box is six walls: each holds what touches it, so that nothing slips in its edges and corners
        self._rest = [(k, *part) for k, shape in enumerate(colliders) for part in _obstacles(shape)]
        n = self.count + len(self._rest) + 1  # the last is the world itself, which touches nothing
        self.X, self.Q, self.V = np.zeros((n, 3)), np.zeros((n, 4)), np.zeros((n, 6))
        self.R, self.M, self.J = np.zeros((n, 9)), np.zeros((n, 7)), np.ones((n, 3))
        self.group, self.kind = np.zeros(n, np.int32), np.zeros(n, np.int32)
        self.size, self.radius, self.thin = np.zeros((n, 3)), np.zeros(n), np.zeros(n)
        self.moves = np.zeros(n, np.bool_)
        self.mass, self._known = np.ones(n), np.zeros(len(bodies))
        for number, body in enumerate(bodies):
            self._take_body(number, body)
        for i, (number, kind, size, turn, center) in enumerate(self._rest, self.count):
            self.group[i] = len(bodies) + number
            self.kind[i], self.size[i] = kind, size
            self.X[i], self.Q[i] = center, to_quaternion(turn)
            reach = {BOX: np.linalg.norm(size), ROD: size[0] + size[1], CYLINDER: np.hypot(size[0], size[1])}
            self.radius[i] = reach.get(kind, size[0] if kind in (BALL, HOLLOW) else 0.0)
        self.kind[-1], self.Q[-1, 0] = NOTHING, 1.0
        self.moving = [i for i, part in enumerate(self._rest) if colliders[part[0]].motion is not None]
        self.driven = [i for i, body in enumerate(bodies) if body.motion is not None]
        least = self.thin[: self.count].min() if self.count else 0.0
        self.thin[self.count :] = np.inf
        self.slack = np.where(np.arange(n) < self.count, _SLACK * self.thin, 0.5 * _SLACK * least)
        self.refresh()

    def _take_body(self, number: int, body: RigidGroup) -> None:
        rows = slice(self.starts[number], self.starts[number + 1])
        for own, whole in (("_x", self.X), ("_q", self.Q), ("_v", self.V)):
            whole[rows] = getattr(body, own)
            setattr(body, own, whole[rows])
        self.group[rows], self.kind[rows], self.size[rows] = number, body.solid.kind, body.solid.size
        self.radius[rows], self.thin[rows] = body.solid.radius, body.solid.thin
        self.moves[rows] = body.motion is None
        self._weigh(number, body)

    def _weigh(self, number: int, body: RigidGroup) -> None:
        """Take over the masses of a body's copies, with what they have to move along."""
        rows = slice(self.starts[number], self.starts[number + 1])
        self._known[number] = body.mass_each if body._burden is None else np.nan
        self.mass[rows] = body._moved_masses
        self.J[rows] = self.mass[rows, None] * body.solid.inertia
        if body.motion is None:
            self.M[rows, 0] = 1.0 / self.mass[rows]

    def rest(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return positions [n, 3] and rotations [n, 3, 3] at the start."""
        x, q = self.X.copy(), self.Q.copy()
        for body, start in zip(self.bodies, self.starts, strict=False):
            x[start : start + body.count], q[start : start + body.count] = body._rest_x, body._rest_q
        return x, from_quaternions(q)

    def solid(self, i: int) -> Solid | None:
        """Return the solid of piece i, or None for an obstacle."""
        return self.bodies[self.group[i]].solid if i < self.count else None

    def bounds(self, i: int) -> NDArray[np.float64] | None:
        """Return the box that holds piece i in its own axes, or None if it has no end, shape [2, 3]."""
        if self.kind[i] in (BOX, MESH):
            return np.stack([-self.size[i], self.size[i]])
        if self.kind[i] == OTHER:
            box = getattr(self.colliders[self._rest[i - self.count][0]], "bounds", lambda: None)()
            return None if box is None else np.asarray(box)
        if self.kind[i] in (PLANE, HOLLOW):
            return None
        half = np.full(3, self.size[i, 0])
        half[2] += self.size[i, 1]
        return np.stack([-half, half])

    def refresh(self) -> None:
        """Work out rotations and inverse inertias anew, after the bodies' poses or masses were changed from outside."""
        for number, body in enumerate(self.bodies):
            if body._burden is not None or self._known[number] != body.mass_each:
                self._weigh(number, body)
        turns = from_quaternions(self.Q)
        self.R[:] = turns.reshape(-1, 9)
        free = np.flatnonzero(self.moves)
        inverse = np.einsum("kij,kj,klj->kil", turns[free], 1.0 / self.J[free], turns[free])
        for column, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
            self.M[free, 1 + column] = inverse[:, i, j]

    def drive(self, time: float, dt: float) -> None:
        """Put what moves as told where it is at `time` [s], with the velocity that leads on to `time` + dt."""
        for number in self.driven:
            body = self.bodies[number]
            rows = slice(self.starts[number], self.starts[number + 1])
            self._lead(rows, *body.pose_at(time), *body.pose_at(time + dt), dt)
        for number in self.moving:
            shape, rest = self.colliders[self._rest[number][0]], self._rest[number]
            i = self.count + number
            now, then = (self._carried(shape, rest, t) for t in (time, time + dt))
            self._lead(slice(i, i + 1), *now, *then, dt)

    @staticmethod
    def _carried(shape: Shape, rest: tuple, time: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        pose = shape.pose(time)
        assert pose is not None
        *_, turn, center = rest
        return (pose.turn @ center + pose.shift)[None], to_quaternion(pose.turn @ turn)[None]

    def _lead(self, rows: slice, x: NDArray, q: NDArray, x_then: NDArray, q_then: NDArray, dt: float) -> None:
        self.X[rows], self.Q[rows] = x, q
        turns = from_quaternions(q)
        self.R[rows] = turns.reshape(-1, 9)
        if dt > 0.0:
            self.V[rows, :3] = (x_then - x) / dt
            self.V[rows, 3:] = _turning(from_quaternions(q_then) @ np.swapaxes(turns, 1, 2)) / dt


def _turning(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation vectors [k, 3] of rotation matrices [k, 3, 3]."""
    q = np.stack([to_quaternion(turn) for turn in turns])
    length = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(length, q[:, 0])
    return q[:, 1:] * np.where(length > 1e-12, angle / np.maximum(length, 1e-300), 2.0)[:, None]


_Part = tuple[int, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _obstacles(shape: Shape) -> list[_Part]:
    """Return kind, size, axes (columns) and centre of an obstacle at rest, or of its parts."""
    if not (isinstance(shape, Box) and shape.inside and shape.rounding == 0.0):
        return [_obstacle(shape)]
    walls = []
    for axis, half in zip(shape._frame, 0.5 * np.array(shape.size), strict=True):
        for side in (-1.0, 1.0):
            point = np.array(shape.center) + side * half * axis
            walls.append((PLANE, np.zeros(3), axis_frame(-side * axis).T, point))
    return walls


def _obstacle(shape: Shape) -> _Part:
    """Return kind, size, axes (columns) and centre of an obstacle at rest."""
    plain = not getattr(shape, "inside", False) and getattr(shape, "rounding", 0.0) == 0.0
    match shape:
        case Plane():
            return PLANE, np.zeros(3), axis_frame(np.array(shape.normal)).T, np.array(shape.point)
        case Sphere():
            return (
                BALL if plain else HOLLOW,
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
            way = np.subtract(shape.end, shape.start)
            length = float(np.linalg.norm(way))
            frame = axis_frame(way / length).T
            return ROD, np.array([shape.radius, 0.5 * length, 0]), frame, 0.5 * np.add(shape.start, shape.end)
    return OTHER, np.zeros(3), np.eye(3), np.zeros(3)
