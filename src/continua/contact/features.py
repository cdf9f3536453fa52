"""The edges and corners of obstacles, which a soft surface can meet between its own nodes."""

from __future__ import annotations

import numpy as np

from continua.contact.broad import Member
from continua.contact.outlines import revolved
from continua.contact.shapes import Shape, Sphere
from continua.contact.shapes_mesh import MeshShape
from continua.contact.shapes_round import Box, Capsule, Cylinder

__all__ = ["shape_member"]

_SMALL = 4.0  # an obstacle rounder than this many edge lengths is met by nodes alone


def shape_member(shape: Shape, edge_length: float) -> Member | None:
    """Return what bodies with edges of `edge_length` [m] can meet of a shape other than by their nodes, or None.

    A rounded box is a smaller box with a radius; a small sphere is a point with a radius, a thin capsule an edge with
    one. A plane, a hollow shape and one that is wide and round have nothing that fits between nodes.
    """
    name = shape.kind
    none = np.zeros((0, 3), np.int32)
    if getattr(shape, "inside", False):
        return None
    if isinstance(shape, MeshShape):
        surface = shape.surface
        return Member(
            surface.points, surface.triangles, radius=shape.rounding, name=name, moves=False, flat=False
        )
    if isinstance(shape, Box):
        half = 0.5 * np.asarray(shape.size) - shape.rounding
        corner = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        points = (corner * half) @ shape._frame + shape._center
        return Member(points, _BOX, radius=shape.rounding, name=name, moves=False, flat=False)
    if isinstance(shape, Cylinder):
        radius, end = shape.radius - shape.rounding, 0.5 * shape.height - shape.rounding
        points, triangles = revolved(np.array([[radius, -end], [radius, end]]), 32)
        points = points @ shape._frame + shape._center
        ring = np.arange(64, dtype=np.int32)  # without the middles of its ends
        return Member(
            points, triangles, points=ring, radius=shape.rounding, name=name, moves=False, flat=False
        )
    if isinstance(shape, Capsule) and shape.radius < _SMALL * edge_length:
        ends = np.array([shape.start, shape.end])
        edge = np.array([[0, 1]], np.int32)
        return Member(ends, none, edges=edge, radius=shape.radius, name=name, moves=False, flat=False)
    if isinstance(shape, Sphere) and shape.radius < _SMALL * edge_length:
        middle = np.array([shape.center])
        return Member(
            middle,
            none,
            points=np.zeros(1, np.int32),
            radius=shape.radius,
            name=name,
            moves=False,
            flat=False,
        )
    return None


# Corners are numbered 4 x + 2 y + z; counter-clockwise seen from outside.
_BOX = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]],
    dtype=np.int32,
)  # fmt: skip
