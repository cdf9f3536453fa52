"""A spring between the mouse and a patch of a body's surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.frames import BodyFrame
from continua.studio.farthest_points import farthest_points

if TYPE_CHECKING:
    from continua.deformable import Pull
    from continua.rigid import RigidInstances, RigidPull
    from continua.solids import SoftBody

__all__ = ["DragSpring", "face_of_triangle"]

_PATCH_RADIUS = 0.15  # relative to the cube root of the body's volume
_MAX_POINTS = 10


class DragSpring:
    """Springs from several points of a surface patch to a common moving target.

    One spring at one point would pull a spike out of a soft body and invert its elements; a patch
    distributes the same stiffness over up to ten points, with more of it at nearer ones.

    Args:
        body: The body to pull; a rigid one is pulled by one spring.
        frame: A frame of it, for its surface.
        triangle: The surface triangle under the cursor.
        weights: Barycentric weights of the point under the cursor.
        target: Target of that point [m].
    """

    def __init__(
        self,
        body: SoftBody | RigidInstances,
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
            raise InputError("the barycentric weights of a pulled point must be at least 0 and not all 0")
        own = np.maximum(own, 0.0) / np.maximum(own, 0.0).sum()
        self._pulls: list[Pull | RigidPull] = []
        if frame.kind == "rigid":  # it does not deform, so one spring is enough
            self._pulls.append(body.pull_face(triangle, own))
        else:
            self._attach_patch(body, frame, triangle, own)
        self._start = np.stack([pull.target for pull in self._pulls])
        self.target = target

    def _attach_patch(self, body: Any, frame: BodyFrame, triangle: int, own: NDArray[np.float64]) -> None:
        others, shares = _patch(frame, triangle, own, _PATCH_RADIUS * body.mesh.volume ** (1.0 / 3.0))
        stiffness = body.pull_stiffness * shares
        self._pulls.append(body.pull_face(triangle, own, stiffness=float(stiffness[0])))
        for other, share in zip(others, stiffness[1:], strict=True):
            self._pulls.append(body.pull_face(int(other), np.full(3, 1.0 / 3.0), stiffness=float(share)))

    @property
    def target(self) -> NDArray[np.float64]:
        """Target of the pulled point [m]; set it to drag."""
        return self._pulls[0].target

    @target.setter
    def target(self, value: ArrayLike) -> None:
        offset = np.asarray(value, dtype=np.float64) - self._start[0]
        for pull, start in zip(self._pulls, self._start, strict=True):
            pull.target = start + offset

    @property
    def force(self) -> NDArray[np.float64]:
        """The current force on the body [N], shape [3]."""
        return np.sum([pull.force for pull in self._pulls], axis=0)

    def remove(self) -> None:
        """Remove the springs."""
        for pull in self._pulls:
            pull.remove()


def face_of_triangle(body: Any, triangle: int) -> int:
    """Return the boundary face of a soft body that a surface triangle belongs to."""
    if not hasattr(body, "face_centers"):
        raise InputError(f"only faces of soft bodies can be loaded, and '{body.name}' is not one")
    if not 0 <= triangle < len(body.triangles):
        raise InputError(f"the surface has triangles 0 to {len(body.triangles) - 1}, not {triangle}")
    # every face has the same number of triangles, stored consecutively
    return triangle * len(body.face_centers) // len(body.triangles)


def _patch(
    frame: BodyFrame, triangle: int, weights: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return triangles that sample a patch around a point, and the stiffness shares of the point and of each."""
    corners = frame.rest_positions[frame.triangles]
    point = weights @ corners[triangle]
    centers = corners.mean(axis=1)
    distances = np.linalg.norm(centers - point, axis=1)
    near = np.flatnonzero(distances < radius)
    others = near[farthest_points(centers[near], _MAX_POINTS - 1, distances[near])]
    falloff = (1.0 - (distances[others] / radius) ** 2) ** 2
    shares = np.concatenate([[1.0], np.maximum(falloff, 0.05)])
    return others, shares / shares.sum()
