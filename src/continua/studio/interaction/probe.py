"""A rigid ball on the cursor that pokes what it meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.contact import Sphere
from continua.motion import Motion
from continua.solids import SoftBody

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["Probe"]

_FASTEST = 20.0  # radii a second
_FRICTION = 0.3
_BACK_STEPS = 200
_MARGIN = 0.15  # of the radius, within which a face counts as touched


class Probe:
    """A ball that soft and rigid bodies touch; it follows a target at a limited speed.

    Args:
        world: The world to put it into.
        client: The page that has it in its hand.
        place: Where it is wanted [m].
        radius: Its radius [m].
        back: Direction in which it is moved out of bodies at first.

    Attributes:
        target: Where it is to go [m].
    """

    def __init__(self, world: World, client: int, place: ArrayLike, radius: float, back: ArrayLike) -> None:
        self.client = client
        self.radius = float(radius)
        self.target = np.asarray(place, dtype=np.float64)
        self._world = world
        self._from = self._to = _outside(world, self.target, self.radius, np.asarray(back, dtype=np.float64))
        self._start, self._length = world.time, 1.0
        self._return = world.lend(
            Sphere(radius=self.radius, friction=_FRICTION, name="tool", motion=Motion(self._at))
        )

    @property
    def place(self) -> NDArray[np.float64]:
        """Where it is now [m]."""
        return self._where(self._world.time)

    @property
    def force(self) -> NDArray[np.float64]:
        """The force on it [N]: minus what contact does to the nodes of the faces of soft bodies that it touches."""
        total = np.zeros(3)
        for body in self._world.soft_bodies:
            forces = body.contact_forces
            if not forces.any():
                continue
            near = _distances(body.positions[body.triangles], self.place) < (1.0 + _MARGIN) * self.radius
            total -= forces[np.unique(body.triangles[near])].sum(axis=0)
        return total

    def aim(self, world: World) -> None:
        """Plan the way of the next step, as far as the speed allows."""
        self._from, self._start, self._length = self.place, world.time, world.dt
        way = self.target - self._from
        length, most = float(np.linalg.norm(way)), _FASTEST * self.radius * world.dt
        self._to = self._from + (way if length <= most else way * (most / length))

    def remove(self) -> None:
        """Take it out of the world."""
        self._return()

    def describe(self) -> dict[str, Any]:
        """Return place, radius and force, ready for JSON."""
        return {
            "place": [float(part) for part in self.place],
            "radius": self.radius,
            "force": [float(part) for part in self.force],
        }

    def _where(self, time: float) -> NDArray[np.float64]:
        share = min(max((time - self._start) / self._length, 0.0), 1.0)
        return self._from + share * (self._to - self._from)

    def _at(self, time: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        return rest + self._where(time)


def _distances(corners: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of a point from triangles with `corners` [n, 3, 3], shape [n]."""
    a, ways = corners, np.roll(corners, -1, axis=1) - corners
    lengths = np.maximum(np.einsum("nij,nij->ni", ways, ways), 1e-300)
    share = np.clip(np.einsum("nij,nij->ni", point - a, ways) / lengths, 0.0, 1.0)
    edges = np.linalg.norm(a + share[..., None] * ways - point, axis=2).min(axis=1)
    normals = np.cross(ways[:, 0], -ways[:, 2])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    sides = np.einsum("nij,nij->ni", np.cross(ways, point - a), normals[:, None, :])
    height = np.abs(np.einsum("nj,nj->n", point - a[:, 0], normals))
    return np.where((sides >= 0.0).all(axis=1), height, edges)


def _outside(world: World, place: NDArray, radius: float, back: NDArray) -> NDArray[np.float64]:
    """Return the first place on the way back at which the ball is in no body."""
    surfaces = [
        np.asarray(body.positions)[np.unique(body.triangles)]
        for body in world.bodies
        if isinstance(body, SoftBody)
    ]
    surfaces += [frame.positions for frame in world.frame() if frame.kind == "rigid"]
    points = np.concatenate([np.zeros((0, 3)), *surfaces])
    length = float(np.linalg.norm(back))
    step = (back / length if length > 0.0 else np.array([0.0, 1.0, 0.0])) * 0.25 * radius
    for _ in range(_BACK_STEPS):
        if not len(points) or np.linalg.norm(points - place, axis=1).min() > 1.02 * radius:
            break
        place = place + step
    return place
