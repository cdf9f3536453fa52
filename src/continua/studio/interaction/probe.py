"""A rigid ball on the cursor that pushes bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.geometry import Sphere
from continua.motion import Motion
from continua.solids import SoftBody

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["Probe"]

_MAX_SPEED = 20.0  # radii per second
_FRICTION = 0.3
_MAX_RETREAT_STEPS = 200
_CONTACT_MARGIN = 0.15  # of the radius, within which a face counts as in contact


class Probe:
    """A ball that collides with soft and rigid bodies; it follows a target at a limited speed.

    Args:
        world: The world to add it to.
        client: The client that controls it.
        position: Initial target [m].
        radius: Its radius [m].
        retreat: Direction in which it is first moved out of bodies.

    Attributes:
        target: Target position [m].
    """

    def __init__(
        self, world: World, client: int, position: ArrayLike, radius: float, retreat: ArrayLike
    ) -> None:
        self.client = client
        self.radius = float(radius)
        self.target = np.asarray(position, dtype=np.float64)
        self._world = world
        self._from = self._to = _retreat_from_bodies(
            world, self.target, self.radius, np.asarray(retreat, dtype=np.float64)
        )
        self._start, self._length = world.time, 1.0
        self._remove_collider = world.add_temporary_collider(
            Sphere(radius=self.radius, friction=_FRICTION, name="tool", motion=Motion(self._motion))
        )

    @property
    def position(self) -> NDArray[np.float64]:
        """Current position [m]."""
        return self._position_at(self._world.time)

    @property
    def force(self) -> NDArray[np.float64]:
        """Force on it [N]: minus the contact forces at the nodes of the soft faces that it touches."""
        total = np.zeros(3)
        for body in self._world.soft_bodies:
            forces = body.contact_forces
            if not forces.any():
                continue
            near = (
                _distances(body.positions[body.triangles], self.position)
                < (1.0 + _CONTACT_MARGIN) * self.radius
            )
            total -= forces[np.unique(body.triangles[near])].sum(axis=0)
        return total

    def plan_step(self, world: World) -> None:
        """Plan the motion in the next step, as far as the speed limit allows."""
        self._from, self._start, self._length = self.position, world.time, world.dt
        offset = self.target - self._from
        length, limit = float(np.linalg.norm(offset)), _MAX_SPEED * self.radius * world.dt
        self._to = self._from + (offset if length <= limit else offset * (limit / length))

    def remove(self) -> None:
        """Remove it from the world."""
        self._remove_collider()

    def describe(self) -> dict[str, Any]:
        """Return position, radius and force, ready for JSON."""
        return {
            "position": [float(part) for part in self.position],
            "radius": self.radius,
            "force": [float(part) for part in self.force],
        }

    def _position_at(self, time: float) -> NDArray[np.float64]:
        share = min(max((time - self._start) / self._length, 0.0), 1.0)
        return self._from + share * (self._to - self._from)

    def _motion(self, time: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        return rest + self._position_at(time)


def _distances(corners: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances of a point from triangles with `corners` [n, 3, 3], shape [n]."""
    a, edges = corners, np.roll(corners, -1, axis=1) - corners
    lengths = np.maximum(np.einsum("nij,nij->ni", edges, edges), 1e-300)
    share = np.clip(np.einsum("nij,nij->ni", point - a, edges) / lengths, 0.0, 1.0)
    to_edges = np.linalg.norm(a + share[..., None] * edges - point, axis=2).min(axis=1)
    normals = np.cross(edges[:, 0], -edges[:, 2])
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    sides = np.einsum("nij,nij->ni", np.cross(edges, point - a), normals[:, None, :])
    height = np.abs(np.einsum("nj,nj->n", point - a[:, 0], normals))
    return np.where((sides >= 0.0).all(axis=1), height, to_edges)


def _retreat_from_bodies(
    world: World, position: NDArray, radius: float, retreat: NDArray
) -> NDArray[np.float64]:
    """Return the first position along `retreat` at which the ball is outside of all bodies."""
    surfaces = [
        np.asarray(body.positions)[np.unique(body.triangles)]
        for body in world.bodies
        if isinstance(body, SoftBody)
    ]
    surfaces += [frame.positions for frame in world.frame() if frame.kind == "rigid"]
    points = np.concatenate([np.zeros((0, 3)), *surfaces])
    length = float(np.linalg.norm(retreat))
    step = (retreat / length if length > 0.0 else np.array([0.0, 1.0, 0.0])) * 0.25 * radius
    for _ in range(_MAX_RETREAT_STEPS):
        if not len(points) or np.linalg.norm(points - position, axis=1).min() > 1.02 * radius:
            break
        position = position + step
    return position
