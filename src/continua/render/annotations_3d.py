"""Optional 3D annotations of a picture: arrows of contact forces, and rods at joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame

__all__ = ["force_arrows", "force_scale", "joint_rods", "largest_force"]

_LONG, _MAX_LENGTH = 0.45, 0.9  # arrows of large forces and the limit, relative to the scene's radius
_MIN_FORCE = 1e-9  # N; smaller forces are round-off
_SIDES, _BALL = 10, 2.5  # of a rod: sides, and the ratio of the ball's radius to its own


def largest_force(body: BodyFrame) -> float:
    """Return the largest contact force magnitude on a body [N]."""
    if body.contacts is None or not len(body.contacts):
        return 0.0
    return float(np.linalg.norm(body.contacts.forces, axis=1).max())


def force_scale(tops: list[float], radius: float) -> float:
    """Return the arrow length per force [m/N] for a sequence; 0 without contact forces.

    Args:
        tops: The largest force of each frame [N].
        radius: Half the diagonal of the bounding box [m].
    """
    significant = [top for top in tops if top > _MIN_FORCE]
    # the few frames of an impact must not shrink all other arrows
    return _LONG * radius / float(np.quantile(significant, 0.8)) if significant else 0.0


def force_arrows(frame: Frame, scale: float, radius: float) -> NDArray[np.float64]:
    """Return an arrow per contact force, from the contact point along the force [m], shape [k, 2, 3].

    The length of arrows is limited to fit the picture.
    """
    empty = np.zeros((0, 3))
    contacts = [body.contacts for body in frame if body.contacts is not None]
    points = np.concatenate([empty, *(found.points for found in contacts)])
    vectors = scale * np.concatenate([empty, *(found.forces for found in contacts)])
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors * np.minimum(1.0, _MAX_LENGTH * radius / np.maximum(length, 1e-300))
    return np.stack([points, points + vectors], axis=1)


def joint_rods(
    lines: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return thin rods along lines [k, 2, 3] with a ball at the start of each: vertices, normals, triangles."""
    along = lines[:, 1] - lines[:, 0]
    length = np.linalg.norm(along, axis=1)
    lines, along = lines[length > 0.0], along[length > 0.0] / length[length > 0.0, None]
    helper = np.where(np.abs(along[:, 1:2]) < 0.9, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    across = np.cross(helper, along)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    beyond = np.cross(along, across)
    turn = 2 * np.pi * np.arange(_SIDES) / _SIDES
    ring = np.cos(turn)[:, None] * across[:, None] + np.sin(turn)[:, None] * beyond[:, None]  # [k, s, 3]
    # rings along a line: position on it, thickness, axial offset, and axial component of the normal
    tilt = np.linspace(-0.49 * np.pi, np.arccos(1.0 / _BALL), 7)
    ball = [(0.0, _BALL * np.cos(t), _BALL * np.sin(t), np.sin(t)) for t in tilt]
    profile = [*ball, (0.0, 1.0, ball[-1][2], 0.0), (1.0, 1.0, 0.0, 0.0)]
    points, normals = [], []
    for part, thick, shift, lean in profile:
        middle = lines[:, 0] + part * (lines[:, 1] - lines[:, 0]) + radius * shift * along
        points.append(middle[:, None] + radius * thick * ring)
        normals.append(np.sqrt(1.0 - lean**2) * ring + lean * along[:, None])
    rings = len(profile)
    place = np.arange(rings * _SIDES).reshape(rings, _SIDES)
    a, b = place[:-1], np.roll(place, -1, axis=1)[:-1]
    c, d = place[1:], np.roll(place, -1, axis=1)[1:]
    one = np.concatenate([np.stack([a, b, d], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)])
    count = rings * _SIDES
    triangles = one[None] + count * np.arange(len(lines))[:, None, None]
    return (
        np.stack(points, axis=1).reshape(-1, 3),
        np.stack(normals, axis=1).reshape(-1, 3),
        triangles.reshape(-1, 3).astype(np.int32),
    )
