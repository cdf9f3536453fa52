"""Two convex bodies: the axis of largest separation or smallest overlap, from their support functions.

The signed distance of convex shapes is the largest separation n.(x_i - x_j) - h_i(-n) - h_j(n) over all directions n,
with the support functions h. It has ridges where n is perpendicular to an axis of a body: there a side or an edge
touches. So each of these circles is searched first, and from the best direction a pattern search follows: on a ridge
such a search alone would get stuck, at the maximum of a ridge it does not.
"""

from __future__ import annotations

from math import cos, sin, sqrt

from continua.geometry.primitive_kernels import BOX, distance, to_local, to_world
from continua.numerics import inline

__all__ = ["min_separation_axis"]

_DIRECTIONS = 8
_ANGLE_TOLERANCE = 2e-5  # rad, final step of the pattern search
_CORE_FRACTION = 0.7  # fraction of the size at which bodies that overlap a little do not
_PROJECTIONS = 24
_CIRCLE_SAMPLES = 24  # samples on a circle
_BISECTIONS = 18  # of the angle between two samples
_FLAT_COSINE = 1e-3  # a component below this counts as zero


@inline
def _support(kind, size, R, i, x, y, z):
    """Return the support function of body i (a box or a cylinder) about its centre."""
    x, y, z = to_local(R, i, x, y, z)
    if kind[i] == BOX:
        return size[i, 0] * abs(x) + size[i, 1] * abs(y) + size[i, 2] * abs(z)
    return size[i, 0] * sqrt(x * x + y * y) + size[i, 1] * abs(z)


@inline
def _separation(kind, size, X, R, i, j, x, y, z):
    along = x * (X[i, 0] - X[j, 0]) + y * (X[i, 1] - X[j, 1]) + z * (X[i, 2] - X[j, 2])
    return along - _support(kind, size, R, i, x, y, z) - _support(kind, size, R, j, x, y, z)


@inline
def _oriented_axis(X, i, j, x, y, z):
    """Return a unit direction along (x, y, z), from j to i rather than back; zero stays zero."""
    length = sqrt(x * x + y * y + z * z)
    if length < 1e-9:
        return 0.0, 0.0, 0.0
    along = x * (X[i, 0] - X[j, 0]) + y * (X[i, 1] - X[j, 1]) + z * (X[i, 2] - X[j, 2])
    s = -1.0 / length if along < 0.0 else 1.0 / length
    return s * x, s * y, s * z


@inline
def _candidate_axis(kind, R, X, i, j, k):
    """Return one of 16 candidate axes: between the centres, the axes of both, and their cross products."""
    if k == 0:
        return _oriented_axis(X, i, j, X[i, 0] - X[j, 0], X[i, 1] - X[j, 1], X[i, 2] - X[j, 2])
    if k < 7:
        body, axis = (i, k - 1) if k < 4 else (j, k - 4)
        if kind[body] != BOX and axis != 2:
            return 0.0, 0.0, 0.0
        return _oriented_axis(X, i, j, R[body, axis], R[body, 3 + axis], R[body, 6 + axis])
    a, b = (k - 7) // 3, (k - 7) % 3
    if (kind[i] != BOX and a != 2) or (kind[j] != BOX and b != 2):
        return 0.0, 0.0, 0.0
    x = R[i, 3 + a] * R[j, 6 + b] - R[i, 6 + a] * R[j, 3 + b]
    y = R[i, 6 + a] * R[j, b] - R[i, a] * R[j, 6 + b]
    z = R[i, a] * R[j, 3 + b] - R[i, 3 + a] * R[j, b]
    return _oriented_axis(X, i, j, x, y, z)


@inline
def _project_to_core(kind, size, X, R, i, x, y, z):
    """Return the point of the core of body i closest to a point."""
    lx, ly, lz = to_local(R, i, x - X[i, 0], y - X[i, 1], z - X[i, 2])
    d, nx, ny, nz = distance(
        kind[i],
        _CORE_FRACTION * size[i, 0],
        _CORE_FRACTION * size[i, 1],
        _CORE_FRACTION * size[i, 2],
        lx,
        ly,
        lz,
    )
    if d <= 0.0:
        return x, y, z
    nx, ny, nz = to_world(R, i, nx, ny, nz)
    return x - d * nx, y - d * ny, z - d * nz


@inline
def _core_axis(kind, size, X, R, i, j):
    """Return the direction from the core of j to that of i, by alternating projections."""
    px, py, pz = X[i, 0], X[i, 1], X[i, 2]
    qx, qy, qz = px, py, pz
    for _ in range(_PROJECTIONS):
        qx, qy, qz = _project_to_core(kind, size, X, R, j, px, py, pz)
        px, py, pz = _project_to_core(kind, size, X, R, i, qx, qy, qz)
    x, y, z = px - qx, py - qy, pz - qz
    length = sqrt(x * x + y * y + z * z)
    if length < 1e-9:
        return 0.0, 0.0, 0.0
    return x / length, y / length, z / length


@inline
def _refine_axis(kind, size, X, R, i, j, x, y, z, best):
    """Refine a direction by pattern search; return the separation and the direction."""
    step, phase = 0.3, 0.0
    while step > _ANGLE_TOLERANCE:
        # two tangents
        if abs(x) < 0.57735:
            s = 1.0 / sqrt(y * y + z * z)
            ux, uy, uz = 0.0, z * s, -y * s
        else:
            s = 1.0 / sqrt(x * x + y * y)
            ux, uy, uz = -y * s, x * s, 0.0
        vx, vy, vz = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
        bx, by, bz, found = x, y, z, best
        for k in range(_DIRECTIONS):
            angle = phase + 6.283185307179586 * k / _DIRECTIONS
            c, s = step * cos(angle), step * sin(angle)
            px, py, pz = x + c * ux + s * vx, y + c * uy + s * vy, z + c * uz + s * vz
            length = sqrt(px * px + py * py + pz * pz)
            px, py, pz = px / length, py / length, pz / length
            gap = _separation(kind, size, X, R, i, j, px, py, pz)
            if gap > found:
                found, bx, by, bz = gap, px, py, pz
        if found > best:
            best, x, y, z = found, bx, by, bz
        else:
            step *= 0.75
        phase += 1.0
    return best, x, y, z


@inline
def _search_circle(kind, size, X, R, i, j, body, axis, x, y, z, best):
    """Search the directions perpendicular to an axis of a body; return the best separation and its direction."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    found, at = -1e300, 0.0
    for k in range(_CIRCLE_SAMPLES):
        angle = 6.283185307179586 * k / _CIRCLE_SAMPLES
        gap = _on_circle(kind, size, X, R, i, j, body, u, v, angle)
        if gap > found:
            found, at = gap, angle
    step = 6.283185307179586 / _CIRCLE_SAMPLES
    for _ in range(_BISECTIONS):
        step *= 0.5
        less = _on_circle(kind, size, X, R, i, j, body, u, v, at - step)
        more = _on_circle(kind, size, X, R, i, j, body, u, v, at + step)
        if less > found and less >= more:
            found, at = less, at - step
        elif more > found:
            found, at = more, at + step
    if found <= best:
        return best, x, y, z
    c, s = cos(at), sin(at)
    return (
        found,
        c * R[body, u] + s * R[body, v],
        c * R[body, 3 + u] + s * R[body, 3 + v],
        c * R[body, 6 + u] + s * R[body, 6 + v],
    )


@inline
def _on_circle(kind, size, X, R, i, j, body, u, v, angle):
    c, s = cos(angle), sin(angle)
    return _separation(
        kind,
        size,
        X,
        R,
        i,
        j,
        c * R[body, u] + s * R[body, v],
        c * R[body, 3 + u] + s * R[body, 3 + v],
        c * R[body, 6 + u] + s * R[body, 6 + v],
    )


@inline
def _support_point(kind, size, R, i, x, y, z):
    """Return the support point of body i along a direction, from its centre, and whether it is unique."""
    lx, ly, lz = to_local(R, i, x, y, z)
    sharp = True
    if kind[i] == BOX:
        px = size[i, 0] * (0.0 if abs(lx) < _FLAT_COSINE else (1.0 if lx > 0.0 else -1.0))
        py = size[i, 1] * (0.0 if abs(ly) < _FLAT_COSINE else (1.0 if ly > 0.0 else -1.0))
        pz = size[i, 2] * (0.0 if abs(lz) < _FLAT_COSINE else (1.0 if lz > 0.0 else -1.0))
        sharp = abs(lx) >= _FLAT_COSINE and abs(ly) >= _FLAT_COSINE and abs(lz) >= _FLAT_COSINE
    else:
        rho = sqrt(lx * lx + ly * ly)
        px, py = (size[i, 0] * lx / rho, size[i, 0] * ly / rho) if rho > _FLAT_COSINE else (0.0, 0.0)
        pz = size[i, 1] * (0.0 if abs(lz) < _FLAT_COSINE else (1.0 if lz > 0.0 else -1.0))
        sharp = rho > _FLAT_COSINE and abs(lz) >= _FLAT_COSINE
    px, py, pz = to_world(R, i, px, py, pz)
    return px, py, pz, sharp


@inline
def min_separation_axis(kind, size, X, R, i, j):
    """Return the signed distance of two boxes or cylinders, the normal from j to i, and the contact point."""
    best, x, y, z = -1e300, 0.0, 1.0, 0.0
    for k in range(16):
        px, py, pz = _candidate_axis(kind, R, X, i, j, k)
        if px == 0.0 and py == 0.0 and pz == 0.0:
            continue
        gap = _separation(kind, size, X, R, i, j, px, py, pz)
        if gap > best:
            best, x, y, z = gap, px, py, pz
    for k in range(6):
        body, axis = (i, k) if k < 3 else (j, k - 3)
        if kind[body] == BOX or axis == 2:
            best, x, y, z = _search_circle(kind, size, X, R, i, j, body, axis, x, y, z, best)
    best, x, y, z = _refine_axis(kind, size, X, R, i, j, x, y, z, best)
    px, py, pz = _core_axis(kind, size, X, R, i, j)
    if px != 0.0 or py != 0.0 or pz != 0.0:
        gap = _separation(kind, size, X, R, i, j, px, py, pz)
        gap, px, py, pz = _refine_axis(kind, size, X, R, i, j, px, py, pz, gap)
        if gap > best:
            best, x, y, z = gap, px, py, pz
    ax, ay, az, sharp = _support_point(kind, size, R, i, -x, -y, -z)
    bx, by, bz, edge = _support_point(kind, size, R, j, x, y, z)
    s = 1.0 if sharp else (0.0 if edge else 0.5)
    t = 1.0 - s
    half = 0.5 * best * (t - s)
    px = s * (X[i, 0] + ax) + t * (X[j, 0] + bx) + half * x
    py = s * (X[i, 1] + ay) + t * (X[j, 1] + by) + half * y
    pz = s * (X[i, 2] + az) + t * (X[j, 2] + bz) + half * z
    return best, x, y, z, px, py, pz
