"""What pictures show besides bodies when asked: arrows of contact forces, and rods that lead to joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame

__all__ = ["arrow_lines", "force_scale", "largest_force", "rods"]

_LONG, _LONGEST = 0.45, 0.9  # arrows of large forces and of all, as parts of the scene's radius
_NONE = 1e-9  # N: smaller forces are rounding
_SIDES, _KNOB = 10, 2.5  # of a rod: sides, and the knob's radius against its own


def largest_force(body: BodyFrame) -> float:
    """Return the size of the largest contact force on a body [N]."""
    if body.contacts is None or not len(body.contacts):
        return 0.0
    return float(np.linalg.norm(body.contacts.forces, axis=1).max())


def force_scale(tops: list[float], radius: float) -> float:
    """Return the length of an arrow for its force [m/N] that suits a sequence; 0 if nothing ever presses.

    Args:
        tops: The largest force of each frame [N].
        radius: Half the diagonal of all that moves [m].
    """
    some = [top for top in tops if top > _NONE]
    # the few frames of an impact would leave tiny arrows to all others
    return _LONG * radius / float(np.quantile(some, 0.8)) if some else 0.0


def arrow_lines(frame: Frame, scale: float, radius: float) -> NDArray[np.float64]:
    """Return an arrow for each contact force on a body, from where it acts along the force [m], shape [k, 2, 3].

    Arrows of very large forces are cut off at a length that fits the picture.
    """
    none = np.zeros((0, 3))
    told = [body.contacts for body in frame if body.contacts is not None]
    points = np.concatenate([none, *(contacts.points for contacts in told)])
    ways = scale * np.concatenate([none, *(contacts.forces for contacts in told)])
    length = np.linalg.norm(ways, axis=1, keepdims=True)
    ways = ways * np.minimum(1.0, _LONGEST * radius / np.maximum(length, 1e-300))
    return np.stack([points, points + ways], axis=1)


def rods(
    lines: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return thin rods along lines [k, 2, 3] with a knob at the start of each: vertices, normals and triangles."""
    along = lines[:, 1] - lines[:, 0]
    length = np.linalg.norm(along, axis=1)
    lines, along = lines[length > 0.0], along[length > 0.0] / length[length > 0.0, None]
    helper = np.where(np.abs(along[:, 1:2]) < 0.9, [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])
    across = np.cross(helper, along)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    beyond = np.cross(along, across)
    turn = 2 * np.pi * np.arange(_SIDES) / _SIDES
    ring = np.cos(turn)[:, None] * across[:, None] + np.sin(turn)[:, None] * beyond[:, None]  # [k, s, 3]
    # rings along a line: place on it, thickness, and how far the normal leans along it
    tilt = np.linspace(-0.49 * np.pi, np.arccos(1.0 / _KNOB), 7)
    knob = [(0.0, _KNOB * np.cos(t), _KNOB * np.sin(t), np.sin(t)) for t in tilt]
    profile = [*knob, (0.0, 1.0, knob[-1][2], 0.0), (1.0, 1.0, 0.0, 0.0)]
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
