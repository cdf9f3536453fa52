"""The walls around a fluid: colliders and bodies, where they are, and what they and the fluid do to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry import Plane, Shape
from continua.geometry.shape import Pose
from continua.sph.boundary import BoundaryModel, Place, WallModel, WallParticles, WallSums
from continua.sph.grid import CellGrid
from continua.sph.mapped import mapped_wall, shape_bounds
from continua.sph.sampled import sampled_wall

__all__ = [
    "OUT",
    "Carrier",
    "Pressing",
    "ShapeWall",
    "Wall",
    "check_room",
    "check_start",
    "rub",
    "wall_model",
]

OUT = 1e-3  # of the diameter: how far out of a wall particles are put that had entered it
_SPREAD = 1e-6  # of the diameter: how deep a particle may start in a wall


class Carrier(Protocol):
    """A body that carries a wall: the fluid moves it, and it moves the fluid."""

    @property
    def name(self) -> str:
        """Name of the body."""

    def pose(self) -> Pose:
        """Return where the wall's own axes are now."""

    def velocity(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return its centre [m], the velocity there [m/s] and the angular velocity [rad/s]."""

    def receive(self, impulse: NDArray[np.float64], moment: NDArray[np.float64], wet: float = 0.0) -> None:
        """Take an impulse [N s] and a moment of impulse about the centre [N m s].

        `wet` [kg/m] is the sum of the masses of particles times the gradients of the density that they feel: about
        0.6 times the fluid's density in kg/m3 and the area that it touches in m2.
        """


@dataclass
class Pressing:
    """What the fluid did in a sub-step, for walls to feel it.

    Attributes:
        rows: Particles, shape [4 n].
        velocities: Their velocities with all pushes [m/s], shape [4 n]; friction changes them.
        pressures: Pressures times time of both solves together [Pa s], shape [n].
        masses: Of the particles [kg], shape [n].
        volume: Of a particle [m3].
        friction: Coulomb's coefficient.
        drag: Friction a slip speed [s/m].
        grid: The cells in which the particles are sorted.
        sticky: What walls drag by viscosity: momentum for each unit of density and speed [kg], shape [n], and the
            velocities that belong to it [4 n]; or None.
    """

    rows: NDArray[np.float32]
    velocities: NDArray[np.float32]
    pressures: NDArray[np.float32]
    masses: NDArray[np.float64]
    volume: float
    friction: float
    drag: float
    grid: CellGrid
    sticky: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None


class Wall(Protocol):
    """One wall: a shape, or the skin of a soft body."""

    name: str

    def add_to(
        self, walls: WallSums, rows: NDArray[np.float32], origin: NDArray, time: float, dt: float
    ) -> None:
        """Add what particles feel of the wall."""

    def wants_pressing(self, pressing: bool) -> bool:
        """Return whether `press` has something to do, with friction or without."""

    def press(self, fluid: Pressing, scratch: WallSums, origin: NDArray, time: float, dt: float) -> None:
        """Rub the fluid, and let the carrier feel pressure and friction."""

    def put_back(
        self, fluid: Pressing, walls: WallSums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> NDArray[np.float64]:
        """Move particles that have entered the wall back to its surface; return how deep each was [m]."""

    def speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the wall's largest speed at points [k, 3] around the fluid [m/s]."""

    def depths(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the wall [m], negative inside."""

    def nbytes(self) -> int:
        """Return the memory of the wall's model [bytes]."""


@dataclass(eq=False)
class ShapeWall:
    """A shape as a wall: a collider, or with a carrier a rigid body.

    Attributes:
        shape: The shape; that of a carrier is in the carrier's own axes.
        model: What it is made of.
        carrier: The body that carries it.
    """

    shape: Shape
    model: WallModel
    carrier: Carrier | None = None
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = f"'{self.carrier.name}'" if self.carrier is not None else f"a {self.shape.kind}"

    def _pose(self, time: float) -> Pose:
        pose = self.shape.pose(time) if self.carrier is None else self.carrier.pose()
        return Pose(np.eye(3), np.zeros(3)) if pose is None else pose

    def _motion(self, origin: NDArray, time: float, dt: float) -> NDArray[np.float64] | None:
        """Return how the wall's points move, as rows [3, 4] over positions from `origin` [m], or None at rest."""
        if self.carrier is not None:
            center, velocity, spin = self.carrier.velocity()
            x, y, z = spin
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

    def _place(self, origin: NDArray, time: float, dt: float) -> Place:
        pose, motion = self._pose(time), self._motion(origin, time, dt)
        rows = None if motion is None else motion.astype(np.float32).ravel()
        return Place(pose.rotation, pose.translation - origin, rows)

    def add_to(
        self, walls: WallSums, rows: NDArray[np.float32], origin: NDArray, time: float, dt: float
    ) -> None:
        """Add what particles feel of the wall."""
        self.model.add_to(walls, rows, self._place(origin, time, dt))

    def wants_pressing(self, pressing: bool) -> bool:
        """Return whether there is a carrier or friction."""
        return pressing or self.carrier is not None

    def press(self, fluid: Pressing, scratch: WallSums, origin: NDArray, time: float, dt: float) -> None:
        """Rub the fluid, and let the carrier feel pressure and friction (Koschier and Bender 2017).

        A particle's impulse on the wall is V p dt grad(rho_B), at the particle; friction takes at most the slip.
        """
        place = self._place(origin, time, dt)
        scratch.clear(len(fluid.masses))
        self.model.add_to(scratch, fluid.rows, place)
        near = np.flatnonzero(scratch.density > 0.0)
        x = fluid.rows.reshape(-1, 4)[near, :3].astype(np.float64)
        gradient = scratch.gradient.reshape(-1, 4)[near, :3].astype(np.float64)
        impulses = (fluid.volume * fluid.pressures[near].astype(np.float64))[:, None] * gradient
        if fluid.friction > 0.0 or fluid.drag > 0.0:
            pressed = np.linalg.norm(impulses, axis=1)
            impulses += rub(fluid, near, gradient, _speeds(place, x), pressed)
        if fluid.sticky is not None:
            weight, velocities = fluid.sticky
            u = velocities.reshape(-1, 4)[near, :3].astype(np.float64)
            slip = scratch.density[near, None] * u - scratch.drift.reshape(-1, 4)[near, :3]
            impulses += weight[near, None] * slip
        self._receive(x + origin, impulses, float(fluid.masses[near] @ np.linalg.norm(gradient, axis=1)))

    def _receive(self, points: NDArray[np.float64], impulses: NDArray[np.float64], wet: float = 0.0) -> None:
        if self.carrier is None or len(points) == 0:
            return
        center, _, _ = self.carrier.velocity()
        self.carrier.receive(impulses.sum(axis=0), np.cross(points - center, impulses).sum(axis=0), wet)

    def put_back(
        self, fluid: Pressing, walls: WallSums, origin: NDArray, time: float, dt: float, diameter: float
    ) -> NDArray[np.float64]:
        """Move particles that have entered the wall back to its surface; return how deep each was [m]."""
        place = self._place(origin, time, dt)
        near = self.model.suspects(walls, fluid.rows, place, 0.1 * diameter)
        if len(near) == 0:
            return np.zeros(0)
        rows, velocities = fluid.rows.reshape(-1, 4), fluid.velocities.reshape(-1, 4)
        local = (rows[near, :3].astype(np.float64) - place.shift) @ place.turn
        gaps, normals = self.shape.distances(local)
        inside = np.flatnonzero(gaps < 0.0)
        if len(inside) == 0:
            return np.zeros(0)
        who, n = near[inside], normals[inside] @ place.turn.T
        x = rows[who, :3].astype(np.float64) + (OUT * diameter - gaps[inside])[:, None] * n
        rows[who, :3] = x
        before = velocities[who, :3].astype(np.float64)
        into = np.minimum(((before - _speeds(place, x)) * n).sum(axis=1), 0.0)
        velocities[who, :3] = before - into[:, None] * n
        self._receive(x + origin, fluid.masses[who, None] * (before - velocities[who, :3]))
        return -gaps[inside]

    def speed(self, corners: NDArray[np.float64], time: float, dt: float) -> float:
        """Return the wall's largest speed at points [k, 3] around the fluid [m/s]."""
        matrix = self._motion(np.zeros(3), time, dt)
        if matrix is None:
            return 0.0
        if self.carrier is not None:  # a small body's points are near it, not at the corners of the fluid
            pose, (low, high) = self._pose(time), shape_bounds(self.shape)
            corners = np.stack(np.meshgrid(*zip(low, high), indexing="ij"), axis=-1).reshape(-1, 3)
            corners = corners @ pose.rotation.T + pose.translation
        return float(np.linalg.norm(corners @ matrix[:, :3].T + matrix[:, 3], axis=1).max())

    def depths(self, points: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Return signed distances of points [n, 3] to the wall [m], negative inside."""
        pose = self._pose(time)
        return self.shape.distances((points - pose.translation) @ pose.rotation)[0]

    def nbytes(self) -> int:
        """Return the memory of the wall's model [bytes]."""
        return self.model.nbytes()


def _speeds(place: Place, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how fast a wall moves at points [k, 3] from the fluid's origin [m/s]."""
    if place.motion is None:
        return np.zeros_like(x)
    matrix = place.motion.reshape(3, 4).astype(np.float64)
    return x @ matrix[:, :3].T + matrix[:, 3]


def rub(
    fluid: Pressing, near: NDArray, gradient: NDArray, wall: NDArray, pressed: NDArray
) -> NDArray[np.float64]:
    """Slow the slip of particles along a wall; return the impulses on the wall [N s], shape [k, 3].

    Args:
        fluid: The particles; their velocities change.
        near: Numbers of those at the wall, shape [k].
        gradient: Gradient of the wall's part of their density [1/m], shape [k, 3].
        wall: Velocities of the wall there [m/s], shape [k, 3].
        pressed: By how much they are pressed against it [N s], shape [k].
    """
    normal = gradient / np.maximum(np.linalg.norm(gradient, axis=1), 1e-30)[:, None]
    velocities = fluid.velocities.reshape(-1, 4)
    slip = velocities[near, :3].astype(np.float64) - wall
    slip -= (slip * normal).sum(axis=1)[:, None] * normal
    speed = np.linalg.norm(slip, axis=1)[:, None]
    masses = fluid.masses[near, None]
    lost = np.minimum((fluid.friction + fluid.drag * speed) * pressed[:, None] / masses, speed)
    before = velocities[near, :3]
    velocities[near, :3] = before - lost * slip / np.maximum(speed, 1e-30)
    return masses * (before.astype(np.float64) - velocities[near, :3])


def wall_model(shape: Shape, radius: float, boundary: BoundaryModel) -> WallModel:
    """Return the model of a shape at rest for a kernel of `radius` [m], twice the particles' diameter."""
    if isinstance(boundary, WallParticles):
        return sampled_wall(shape, radius, 0.5 * radius)
    return mapped_wall(shape, radius, boundary)


def check_room(shape: Shape, diameter: float) -> None:
    """Refuse a container in which particles have no room."""
    if isinstance(shape, Plane) or not getattr(shape, "inside", False):
        return
    size: Any = getattr(shape, "size", None)
    if size is None:
        low, high = shape_bounds(shape)
        size = np.round(high - low, 6).tolist()
    if min(size) < 2.0 * diameter:
        raise InputError(
            f"particles of radius {0.5 * diameter:g} m are too large for a {shape.kind} of size {list(size)} m; "
            "use a smaller particle_radius"
        )


def check_start(
    walls: list[Wall], name: str, points: NDArray[np.float64], diameter: float, time: float
) -> None:
    """Refuse fluid that starts inside a wall."""
    for wall in walls:
        depths = wall.depths(points, time) if len(points) else np.zeros(0)
        inside = int((depths < -_SPREAD * diameter).sum())
        if inside:
            raise InputError(
                f"{inside} of {len(points)} particles of '{name}' start inside {wall.name}; move the fluid or the "
                f"{'body' if wall.name.startswith(chr(39)) else 'collider'} apart"
            )
