"""Compiled primitives of rigid bodies: their kinds and signed distances.

A primitive has a pose (position, and a rotation matrix as nine numbers row by row) and a size of three numbers in its
own axes: a sphere (radius, -, -), a box (half lengths), a capsule and a cylinder (radius, half length along its own z,
-), a plane (its free side is along its own z), an inverted, hollow sphere (radius, -, -).
"""

from __future__ import annotations

from math import sqrt

from continua.numerics import inline, kernel

__all__ = [
    "BOX",
    "CAPSULE",
    "CYLINDER",
    "GENERIC_SHAPE",
    "INVERTED_SPHERE",
    "MESH",
    "NO_SHAPE",
    "PLANE",
    "SPHERE",
]

SPHERE, BOX, CAPSULE, CYLINDER, MESH, PLANE, INVERTED_SPHERE, GENERIC_SHAPE, NO_SHAPE = range(9)


@inline
def to_local(R, i, x, y, z):
    """Return R[i]^T (x, y, z): from world to own axes."""
    return (
        R[i, 0] * x + R[i, 3] * y + R[i, 6] * z,
        R[i, 1] * x + R[i, 4] * y + R[i, 7] * z,
        R[i, 2] * x + R[i, 5] * y + R[i, 8] * z,
    )


@inline
def to_world(R, i, x, y, z):
    """Return R[i] (x, y, z): from own to world axes."""
    return (
        R[i, 0] * x + R[i, 1] * y + R[i, 2] * z,
        R[i, 3] * x + R[i, 4] * y + R[i, 5] * z,
        R[i, 6] * x + R[i, 7] * y + R[i, 8] * z,
    )


@inline
def _sign(value):
    return -1.0 if value < 0.0 else 1.0


@inline
def _box_distance(s0, s1, s2, x, y, z):
    a, b, c = abs(x) - s0, abs(y) - s1, abs(z) - s2
    most = max(a, max(b, c))
    if most > 0.0:
        a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
        d = sqrt(a * a + b * b + c * c)
        return d, a / d * _sign(x), b / d * _sign(y), c / d * _sign(z)
    if a == most:
        return most, _sign(x), 0.0, 0.0
    if b == most:
        return most, 0.0, _sign(y), 0.0
    return most, 0.0, 0.0, _sign(z)


@inline
def _cylinder_distance(radius, half, x, y, z):
    rho = sqrt(x * x + y * y)
    ux, uy = (x / rho, y / rho) if rho > 0.0 else (1.0, 0.0)
    a, b = rho - radius, abs(z) - half
    if a > 0.0 and b > 0.0:
        d = sqrt(a * a + b * b)
        return d, a / d * ux, a / d * uy, b / d * _sign(z)
    if a > b:
        return a, ux, uy, 0.0
    return b, 0.0, 0.0, _sign(z)


@inline
def _sphere_distance(radius, x, y, z):
    d = sqrt(x * x + y * y + z * z)
    if d > 0.0:
        return d - radius, x / d, y / d, z / d
    return -radius, 0.0, 0.0, 1.0


@inline
def distance(kind, s0, s1, s2, x, y, z):
    """Return signed distance and unit normal (three numbers) of a shape at a point in its own axes."""
    if kind == SPHERE:
        return _sphere_distance(s0, x, y, z)
    if kind == BOX:
        return _box_distance(s0, s1, s2, x, y, z)
    if kind == CAPSULE:
        return _sphere_distance(s0, x, y, z - min(max(z, -s1), s1))
    if kind == CYLINDER:
        return _cylinder_distance(s0, s1, x, y, z)
    if kind == INVERTED_SPHERE:
        d, nx, ny, nz = _sphere_distance(s0, x, y, z)
        return -d, -nx, -ny, -nz
    return z, 0.0, 0.0, 1.0


@inline
def distance_at(kind, size, X, R, i, x, y, z):
    """Return signed distance and normal in world axes of instance i at a point of the world."""
    lx, ly, lz = to_local(R, i, x - X[i, 0], y - X[i, 1], z - X[i, 2])
    d, nx, ny, nz = distance(kind[i], size[i, 0], size[i, 1], size[i, 2], lx, ly, lz)
    nx, ny, nz = to_world(R, i, nx, ny, nz)
    return d, nx, ny, nz


@kernel
def distance_points(kind, size, points, gaps, normals):
    """Fill signed distances [n] and normals [n, 3] of a shape at points [n, 3] in its own axes."""
    for i in range(points.shape[0]):
        d, nx, ny, nz = distance(kind, size[0], size[1], size[2], points[i, 0], points[i, 1], points[i, 2])
        gaps[i] = d
        normals[i, 0], normals[i, 1], normals[i, 2] = nx, ny, nz
