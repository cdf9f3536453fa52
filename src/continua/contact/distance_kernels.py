"""Compiled distances between points, triangles and segments, for any position and any degenerate shape.

Points are tuples of three numbers. All functions give the weights of the nearest points, from which everything else
follows; none divides by zero.
"""

from __future__ import annotations

from math import sqrt

from continua.numerics import cross3, dot3, inline

__all__ = ["at", "between_segments", "minus", "on_segment", "on_triangle", "triangle_normal"]

_FLAT = 1e-13  # squared sine, well above rounding, below which a triangle is a line, and two segments are parallel
_TINY = 1e-300


@inline
def at(x, i):
    """Return row i of an array [n, 3]."""
    return (x[i, 0], x[i, 1], x[i, 2])


@inline
def minus(a, b):
    """Return a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def on_segment(p, a, b):
    """Return the part of the way from a to b at which p is nearest, from 0 to 1."""
    u = minus(b, a)
    length2 = dot3(u, u)
    if length2 <= _TINY:
        return 0.0
    return min(max(dot3(minus(p, a), u) / length2, 0.0), 1.0)


@inline
def _way2(p, a, b, s):
    """Return the squared distance of p from the point at s on the way from a to b."""
    x = p[0] - a[0] - s * (b[0] - a[0])
    y = p[1] - a[1] - s * (b[1] - a[1])
    z = p[2] - a[2] - s * (b[2] - a[2])
    return x * x + y * y + z * z


@inline
def on_triangle(p, a, b, c):
    """Return the weights of the corners at the point of the triangle that is nearest to p."""
    u, v, w = minus(b, a), minus(c, a), minus(p, a)
    uu, uv, vv = dot3(u, u), dot3(u, v), dot3(v, v)
    det = uu * vv - uv * uv
    if det > _FLAT * uu * vv and det > _TINY:
        wu, wv = dot3(w, u), dot3(w, v)
        s, t = (vv * wu - uv * wv) / det, (uu * wv - uv * wu) / det
        if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
            return (1.0 - s - t, s, t)
    s0, s1, s2 = on_segment(p, a, b), on_segment(p, b, c), on_segment(p, c, a)
    d0, d1, d2 = _way2(p, a, b, s0), _way2(p, b, c, s1), _way2(p, c, a, s2)
    if d0 <= d1 and d0 <= d2:
        return (1.0 - s0, s0, 0.0)
    if d1 <= d2:
        return (0.0, 1.0 - s1, s1)
    return (s2, 0.0, 1.0 - s2)


@inline
def between_segments(a0, a1, b0, b1):
    """Return the nearest points of two segments as parts of the way from first to second end.

    Of parallel ones, which have many, it is one at an end (Lumelsky 1985).
    """
    u, v, w = minus(a1, a0), minus(b1, b0), minus(a0, b0)
    uu, uv, vv = dot3(u, u), dot3(u, v), dot3(v, v)
    wu, wv = dot3(w, u), dot3(w, v)
    if uu <= _TINY:
        return 0.0, on_segment(a0, b0, b1)
    if vv <= _TINY:
        return on_segment(b0, a0, a1), 0.0
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
    n = cross3(minus(b, a), minus(c, a))
    length = sqrt(dot3(n, n))
    if length <= _TINY:
        return (0.0, 0.0, 0.0)
    return (n[0] / length, n[1] / length, n[2] / length)
