"""Compiled closest points of points, triangles and segments, robust for every position and degenerate shape.

Points are tuples of three numbers. The functions return the barycentric weights of the closest points; none divides
by zero.
"""

from __future__ import annotations

from math import sqrt

from continua.numerics.kernel import inline, kernel
from continua.numerics.mat3 import cross3, dot3

__all__ = [
    "closest_point_segment",
    "closest_point_triangle",
    "closest_point_triangles",
    "closest_points_segments",
    "row3",
    "sub3",
    "triangle_normal",
]

_FLAT = 1e-13  # squared sine, well above rounding, below which a triangle is a line, and two segments are parallel
_TINY = 1e-300


@inline
def row3(x, i):
    """Return row i of an array [n, 3]."""
    return (x[i, 0], x[i, 1], x[i, 2])


@inline
def sub3(a, b):
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def closest_point_segment(p, a, b):
    """Return the parameter of the point of the segment from a to b closest to p, from 0 to 1."""
    u = sub3(b, a)
    length2 = dot3(u, u)
    if length2 <= _TINY:
        return 0.0
    return min(max(dot3(sub3(p, a), u) / length2, 0.0), 1.0)


@inline
def _distance2(p, a, b, s):
    """Return the squared distance of p from the point at parameter s of the segment from a to b."""
    x = p[0] - a[0] - s * (b[0] - a[0])
    y = p[1] - a[1] - s * (b[1] - a[1])
    z = p[2] - a[2] - s * (b[2] - a[2])
    return x * x + y * y + z * z


@inline
def closest_point_triangle(p, a, b, c):
    """Return the barycentric weights of the point of the triangle a b c closest to p."""
    u, v, w = sub3(b, a), sub3(c, a), sub3(p, a)
    uu, uv, vv = dot3(u, u), dot3(u, v), dot3(v, v)
    det = uu * vv - uv * uv
    if det > _FLAT * uu * vv and det > _TINY:
        wu, wv = dot3(w, u), dot3(w, v)
        s, t = (vv * wu - uv * wv) / det, (uu * wv - uv * wu) / det
        if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
            return (1.0 - s - t, s, t)
    s0, s1, s2 = (
        closest_point_segment(p, a, b),
        closest_point_segment(p, b, c),
        closest_point_segment(p, c, a),
    )
    d0, d1, d2 = _distance2(p, a, b, s0), _distance2(p, b, c, s1), _distance2(p, c, a, s2)
    if d0 <= d1 and d0 <= d2:
        return (1.0 - s0, s0, 0.0)
    if d1 <= d2:
        return (0.0, 1.0 - s1, s1)
    return (s2, 0.0, 1.0 - s2)


@inline
def closest_points_segments(a0, a1, b0, b1):
    """Return the parameters of the closest points of two segments, from 0 at the first end to 1 at the second.

    Parallel segments have many; the result is one at an end (Lumelsky 1985).
    """
    u, v, w = sub3(a1, a0), sub3(b1, b0), sub3(a0, b0)
    uu, uv, vv = dot3(u, u), dot3(u, v), dot3(v, v)
    wu, wv = dot3(w, u), dot3(w, v)
    if uu <= _TINY:
        return 0.0, closest_point_segment(a0, b0, b1)
    if vv <= _TINY:
        return closest_point_segment(b0, a0, a1), 0.0
    det = uu * vv - uv * uv
    s = 0.0
    if det > _FLAT * uu * vv:
        s = min(max((uv * wv - vv * wu) / det, 0.0), 1.0)
    t = (uv * s + wv) / vv
    if t < 0.0:
        return min(max(-wu / uu, 0.0), 1.0), 0.0
    if t > 1.0:
        return min(max((uv - wu) / uu, 0.0), 1.0), 1.0
    return s, t


@inline
def triangle_normal(a, b, c):
    """Return the unit normal of a triangle, or zero if it has no area."""
    n = cross3(sub3(b, a), sub3(c, a))
    length = sqrt(dot3(n, n))
    if length <= _TINY:
        return (0.0, 0.0, 0.0)
    return (n[0] / length, n[1] / length, n[2] / length)


@kernel
def closest_point_triangles(point, corners, weights):
    """Fill the barycentric weights [k, 3] of the point of each triangle, with corners [k, 3, 3], closest to `point`."""
    p = (point[0], point[1], point[2])
    for k in range(corners.shape[0]):
        w = closest_point_triangle(p, row3(corners[k], 0), row3(corners[k], 1), row3(corners[k], 2))
        weights[k, 0], weights[k, 1], weights[k, 2] = w
