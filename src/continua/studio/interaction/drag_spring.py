"""A hand that holds a patch of a body's surface and drags it about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.frames import BodyFrame
from continua.studio.farthest_points import spread

if TYPE_CHECKING:
    from continua.rigid import RigidGroup, RigidPull
    from continua.solids import Pull, SoftBody

__all__ = ["Hand", "face_under"]

_REACH = 0.15  # radius of the patch, relative to the cube root of the body's volume
_POINTS = 10


class Hand:
    """Springs from several points of a patch to a target that moves them all alike.

    One spring at one point would draw a thorn out of a soft body and turn its elements inside out; a patch
    shares the same spring constant among up to ten points, the nearer ones getting more of it.

    Args:
        body: The body to hold; a rigid one is held by one spring.
        frame: A snapshot of it, for its surface.
        triangle: The surface triangle under the cursor.
        weights: Barycentric weights of the point under the cursor.
        target: Where that point is drawn to [m].
    """

    def __init__(
        self,
        body: SoftBody | RigidGroup,
        frame: BodyFrame,
        triangle: int,
        weights: ArrayLike,
        target: ArrayLike,
    ) -> None:
        if not 0 <= triangle < len(frame.triangles):
            raise InputError(f"the surface has triangles 0 to {len(frame.triangles) - 1}, not {triangle}")
        if frame.kind in ("grid", "liquid"):
            raise InputError(
                f"'{frame.name}' is a fluid on a grid, which cannot be pulled; change its obstacles instead"
            )
        own = np.asarray(weights, dtype=np.float64)
        if own.min() < -1e-3 or not own.sum() > 0.0:
            raise InputError("the weights of a held point must be at least 0 and not all 0")
        own = np.maximum(own, 0.0) / np.maximum(own, 0.0).sum()
        self._pulls: list[Pull | RigidPull] = []
        if frame.kind == "rigid":  # one spring cannot draw a thorn out of it
            self._pulls.append(body.pull_face(triangle, own))
        else:
            self._pull_patch(body, frame, triangle, own)
        self._start = np.stack([pull.target for pull in self._pulls])
        self.target = target

    def _pull_patch(self, body: Any, frame: BodyFrame, triangle: int, own: NDArray[np.float64]) -> None:
        others, shares = _patch(frame, triangle, own, _REACH * body.mesh.volume ** (1.0 / 3.0))
        stiffness = body.pull_stiffness * shares
        self._pulls.append(body.pull_face(triangle, own, stiffness=float(stiffness[0])))
        for other, share in zip(others, stiffness[1:], strict=True):
            self._pulls.append(body.pull_face(int(other), np.full(3, 1.0 / 3.0), stiffness=float(share)))

    @property
    def target(self) -> NDArray[np.float64]:
        """Where the held point is drawn to [m]; set it to drag."""
        return self._pulls[0].target

    @target.setter
    def target(self, value: ArrayLike) -> None:
        shift = np.asarray(value, dtype=np.float64) - self._start[0]
        for pull, start in zip(self._pulls, self._start, strict=True):
            pull.target = start + shift

    @property
    def force(self) -> NDArray[np.float64]:
        """The force on the body now [N], shape [3]."""
        return np.sum([pull.force for pull in self._pulls], axis=0)

    def remove(self) -> None:
        """Let go."""
        for pull in self._pulls:
            pull.remove()


def face_under(body: Any, triangle: int) -> int:
    """Return the face of a soft body that a triangle of its surface belongs to."""
    if not hasattr(body, "face_centers"):
        raise InputError(f"only soft bodies have faces to press on, and '{body.name}' is none")
    if not 0 <= triangle < len(body.triangles):
        raise InputError(f"the surface has triangles 0 to {len(body.triangles) - 1}, not {triangle}")
    return (
        triangle * len(body.face_centers) // len(body.triangles)
    )  # each face has as many, one after the other


def _patch(
    frame: BodyFrame, triangle: int, weights: NDArray[np.float64], reach: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return triangles spread over a patch around a point, and the shares of the point and of each."""
    corners = frame.rest_positions[frame.triangles]
    point = weights @ corners[triangle]
    centers = corners.mean(axis=1)
    distances = np.linalg.norm(centers - point, axis=1)
    near = np.flatnonzero(distances < reach)
    others = near[spread(centers[near], _POINTS - 1, distances[near])]
    falloff = (1.0 - (distances[others] / reach) ** 2) ** 2
    shares = np.concatenate([[1.0], np.maximum(falloff, 0.05)])
    return others, shares / shares.sum()
