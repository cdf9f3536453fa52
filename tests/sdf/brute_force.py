"""Slow and obvious distance to a mesh: every triangle, every edge, and the solid angle for the sign."""

from __future__ import annotations

import numpy as np


def distance(points, mesh):
    """Unsigned distances [n] by the plane of each triangle where the foot lies inside, and by all edges."""
    result = np.full(len(points), np.inf)
    corners = mesh.points[mesh.triangles]
    for a, b, c in corners:
        normal = np.cross(b - a, c - a)
        area = np.linalg.norm(normal)
        if area > 0.0:
            normal = normal / area
            height = (points - a) @ normal
            foot = points - height[:, None] * normal
            inside = np.ones(len(points), bool)
            for p, q in ((a, b), (b, c), (c, a)):
                inside &= np.cross(q - p, foot - p) @ normal >= 0.0
            result = np.where(inside, np.minimum(result, np.abs(height)), result)
        for p, q in ((a, b), (b, c), (c, a)):
            along = np.clip((points - p) @ (q - p) / max(float((q - p) @ (q - p)), 1e-300), 0.0, 1.0)
            result = np.minimum(result, np.linalg.norm(points - p - along[:, None] * (q - p), axis=1))
    return result


def winding(points, mesh):
    """Generalised winding numbers [n]: the sum of solid angles (van Oosterom and Strackee 1983) over 4 pi."""
    total = np.zeros(len(points))
    for corners in mesh.points[mesh.triangles]:
        a, b, c = corners[:, None, :] - points[None]
        x, y, z = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        top = np.einsum("ij,ij->i", a, np.cross(b, c))
        dots = [np.einsum("ij,ij->i", p, q) for p, q in ((a, b), (b, c), (c, a))]
        total += np.arctan2(top, x * y * z + dots[0] * z + dots[1] * x + dots[2] * y)
    return total / (2.0 * np.pi)


def signed_distance(points, mesh):
    """Signed distances [n], negative inside."""
    return np.where(winding(points, mesh) > 0.5, -1.0, 1.0) * distance(points, mesh)
