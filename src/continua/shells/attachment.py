"""Nodes of cloth that follow the surface of another body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.numerics.closest_points import closest_point_triangles
from continua.validation import shortened

__all__ = ["FollowBody"]


class FollowBody:
    """A motion of nodes with the triangles of a body that are closest to them, at the distance that they have now.

    Between the steps of the world the body moves on with the velocity of the last step.

    Args:
        body: The body: any with positions and triangles.
        points: Where the nodes are now [m], shape [k, 3].
        clock: The cloth, whose environment tells the time.
    """

    def __init__(self, body: Any, points: NDArray[np.float64], clock: Any) -> None:
        if not (hasattr(body, "positions") and len(getattr(body, "triangles", ())) > 0):
            raise InputError(f"cloth can be attached to a body with a surface, not to {shortened(body)}")
        self._body, self._clock = body, clock
        x, triangles = np.asarray(body.positions), np.asarray(body.triangles)
        corners = x[triangles]
        self._nodes = np.empty((len(points), 3), np.int32)
        self._weights = np.empty((len(points), 3))
        weights = np.empty((len(triangles), 3))
        for i, point in enumerate(points):
            closest_point_triangles(np.ascontiguousarray(point), corners, weights)
            distance = np.linalg.norm(np.einsum("kc,kci->ki", weights, corners) - point, axis=1)
            best = int(distance.argmin())
            self._nodes[i], self._weights[i] = triangles[best], weights[best]
        frames, origins = self._frames(x)
        self._offsets = np.einsum("kij,ki->kj", frames, points - origins)

    def _frames(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a frame of every triangle, with the axes as columns, and the point that the weights tell."""
        corners = x[self._nodes]
        first = corners[:, 1] - corners[:, 0]
        normal = np.cross(first, corners[:, 2] - corners[:, 0])
        first = first / np.maximum(np.linalg.norm(first, axis=1), 1e-300)[:, None]
        normal = normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        frames = np.stack([first, np.cross(normal, first), normal], axis=2)
        return frames, np.einsum("kc,kci->ki", self._weights, corners)

    def _now(self) -> NDArray[np.float64]:
        frames, origins = self._frames(np.asarray(self._body.positions))
        place: NDArray[np.float64] = origins + np.einsum("kij,kj->ki", frames, self._offsets)
        return place

    def __call__(self, time: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where the nodes are at `time` [s]."""
        place = self._now()
        velocities = getattr(self._body, "velocities", None)
        ahead = time - self._clock._environment.time
        if ahead > 0.0 and velocities is not None and np.shape(velocities) == np.shape(self._body.positions):
            place = place + ahead * np.einsum(
                "kc,kci->ki", self._weights, np.asarray(velocities)[self._nodes]
            )
        return place
