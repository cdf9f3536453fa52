"""Edges and corners of colliders, which a soft surface can touch between its own nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.collision.broad_phase import CollisionSurface
from continua.geometry import AnimatedMeshShape, Box, Capsule, Cylinder, MeshShape, Shape, Sphere
from continua.geometry.shape_meshes import revolved_triangles

__all__ = ["collider_edges"]

_MAX_RADIUS_IN_EDGES = (
    4.0  # nodes alone find the contacts of a collider that is rounder than this many edge lengths
)


def collider_edges(shape: Shape, edge_length: float) -> CollisionSurface | None:
    """Return the features of a collider that bodies with edges of `edge_length` [m] can touch between nodes, or None.

    A rounded box is a smaller box with a radius; a small sphere is a vertex with a radius, a thin capsule an edge with
    a radius. A shape that deforms is its triangles at time 0. A plane, a hollow shape and a wide round shape have
    nothing that fits between nodes, and a wide cylinder only the edges of its ends.
    """
    name = shape.kind
    no_triangles = np.zeros((0, 3), np.int32)
    if getattr(shape, "inside", False):
        return None
    if isinstance(shape, AnimatedMeshShape):
        surface = shape.animation.surface
        return CollisionSurface(
            shape.positions_at(0.0),
            surface.triangles,
            radius=shape.rounding,
            name=name,
            is_dynamic=False,
            two_sided=bool(shape.two_sided),
        )
    if isinstance(shape, MeshShape):
        surface = shape.surface
        return _static(surface.points, surface.triangles, radius=shape.rounding, name=name)
    if isinstance(shape, Box):
        half = 0.5 * np.asarray(shape.size) - shape.rounding
        corner = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        points = (corner * half) @ shape.axes + shape.origin
        return _static(points, _BOX_TRIANGLES, radius=shape.rounding, name=name)
    if isinstance(shape, Cylinder):
        radius, end = shape.radius - shape.rounding, 0.5 * shape.height - shape.rounding
        points, triangles = revolved_triangles(np.array([[radius, -end], [radius, end]]), 32)
        points = points @ shape.axes + shape.origin
        ring = np.arange(64, dtype=np.int32)  # without the centres of its ends
        whole = _static(points, triangles, vertices=ring, radius=shape.rounding, name=name)
        if shape.radius >= _MAX_RADIUS_IN_EDGES * edge_length:
            assert whole.edges is not None
            low = whole.edges < 32
            whole.keep_edges(low[:, 0] == low[:, 1])
        return whole
    if isinstance(shape, Capsule) and shape.radius < _MAX_RADIUS_IN_EDGES * edge_length:
        ends = np.array([shape.start, shape.end])
        edge = np.array([[0, 1]], np.int32)
        return _static(ends, no_triangles, edges=edge, radius=shape.radius, name=name)
    if isinstance(shape, Sphere) and shape.radius < _MAX_RADIUS_IN_EDGES * edge_length:
        center = np.array([shape.center])
        return _static(center, no_triangles, vertices=np.zeros(1, np.int32), radius=shape.radius, name=name)
    return None


def _static(
    points: NDArray[np.float64],
    triangles: NDArray[np.int32],
    *,
    edges: NDArray[np.int32] | None = None,
    vertices: NDArray[np.int32] | None = None,
    radius: float,
    name: str,
) -> CollisionSurface:
    return CollisionSurface(
        points,
        triangles,
        edges=edges,
        vertices=vertices,
        radius=radius,
        name=name,
        is_dynamic=False,
        keep_flat_edges=False,
    )


# Corners are numbered 4 x + 2 y + z; counter-clockwise seen from outside.
_BOX_TRIANGLES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]],
    dtype=np.int32,
)  # fmt: skip
