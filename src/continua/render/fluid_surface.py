"""Fluid particles as a body with a reconstructed surface, for pictures and files that need triangles."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from continua.frames import CHANGES_EVERY_FRAME, BodyFields, BodyFrame, Field
from continua.sph.surface_reconstruction import reconstruct_surface

__all__ = ["with_fluid_surface"]

_NEAREST = 4  # particles that a surface point interpolates, weighted by inverse distance


def with_fluid_surface(body: BodyFrame) -> BodyFrame:
    """Return the body with a surface: itself if it has one, else one reconstructed around its particles.

    Fields are interpolated from the particles nearest to each surface point.

    Raises:
        MissingExtraError: The body is a fluid and pysplashsurf is not installed.
    """
    if body.point_radius is None or not len(body.positions):
        return body
    mesh = reconstruct_surface(body.positions, body.point_radius)
    points = np.asarray(mesh.points)
    near = min(_NEAREST, len(body.positions))
    distances, neighbours = cKDTree(body.positions).query(points, k=near)
    distances, neighbours = distances.reshape(len(points), near), neighbours.reshape(len(points), near)
    weights = 1.0 / np.maximum(distances, 1e-3 * body.point_radius)
    weights /= weights.sum(axis=1, keepdims=True)
    fields = {}
    for name in body.fields:
        field = body.fields[name]
        values = np.asarray(field.values, dtype=np.float64)[neighbours]
        fields[name] = Field(np.einsum("ij,ij...->i...", weights, values).astype(np.float32), field.unit)
    return BodyFrame(
        name=body.name,
        kind=body.kind,
        positions=points,
        rest_positions=points,
        cells={},
        triangles=mesh.triangles,
        fields=BodyFields(fields),
        color=body.color,
        energy=body.energy,
        topology_version=CHANGES_EVERY_FRAME,
    )
