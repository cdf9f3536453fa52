"""Two boxes: the separating axis of minimum overlap, and the manifold by clipping one face against the other."""

from __future__ import annotations

from math import sqrt

from continua.numerics import inline

__all__ = ["box_box"]

_FACE_PREFERENCE = 1e-3  # edges must separate more than faces by this fraction of the boxes' size


@inline
def _face_axis(size, X, R, i, j, axis):
    """Return the separation along axis `axis` of box i, and the sign with which it points from j to i."""
    ux, uy, uz = R[i, axis], R[i, 3 + axis], R[i, 6 + axis]
    along = (X[i, 0] - X[j, 0]) * ux + (X[i, 1] - X[j, 1]) * uy + (X[i, 2] - X[j, 2]) * uz
    reach = size[i, axis]
    for k in range(3):
        reach += size[j, k] * abs(R[j, k] * ux + R[j, 3 + k] * uy + R[j, 6 + k] * uz)
    return abs(along) - reach, -1.0 if along < 0.0 else 1.0


@inline
def _projected_radius(size, R, i, x, y, z):
    return (
        size[i, 0] * abs(R[i, 0] * x + R[i, 3] * y + R[i, 6] * z)
        + size[i, 1] * abs(R[i, 1] * x + R[i, 4] * y + R[i, 7] * z)
        + size[i, 2] * abs(R[i, 2] * x + R[i, 5] * y + R[i, 8] * z)
    )


@inline
def _clip(scratch, side, count, axis, sign, limit):
    """Clip a polygon in scratch[side] (u, v, height) with sign * coordinate <= limit; return side and count."""
    other, kept = 1 - side, 0
    for k in range(count):
        m = k + 1 if k + 1 < count else 0
        a = sign * scratch[side, k, axis] - limit
        b = sign * scratch[side, m, axis] - limit
        if a <= 0.0 and kept < 16:
            for d in range(4):
                scratch[other, kept, d] = scratch[side, k, d]
            kept += 1
        if (a < 0.0 < b or b < 0.0 < a) and kept < 16:
            t = a / (a - b)
            for d in range(3):
                scratch[other, kept, d] = scratch[side, k, d] + t * (
                    scratch[side, m, d] - scratch[side, k, d]
                )
            # a clipped corner is numbered by the edge and the side that clipped it
            scratch[other, kept, 3] = 4.0 + 8.0 * k + (2 * axis + (1 if sign > 0 else 0))
            kept += 1
    return other, kept


@inline
def _face_manifold(size, X, R, i, j, axis, sign, flip, margin, found, scratch):
    """Clip the face of box j that faces the face `sign` * `axis` of box i; `flip` is the sign towards the first box."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    nx, ny, nz = sign * R[i, axis], sign * R[i, 3 + axis], sign * R[i, 6 + axis]
    face, most = 0, -2.0
    for k in range(3):
        c = abs(R[j, k] * nx + R[j, 3 + k] * ny + R[j, 6 + k] * nz)
        if c > most + 1e-9:
            face, most = k, c
    side_sign = -1.0 if R[j, face] * nx + R[j, 3 + face] * ny + R[j, 6 + face] * nz > 0.0 else 1.0
    p, q = (face + 1) % 3, (face + 2) % 3
    for corner in range(4):  # around the face
        a = size[j, p] if corner == 1 or corner == 2 else -size[j, p]
        b = size[j, q] if corner >= 2 else -size[j, q]
        c = side_sign * size[j, face]
        x = X[j, 0] - X[i, 0] + a * R[j, p] + b * R[j, q] + c * R[j, face]
        y = X[j, 1] - X[i, 1] + a * R[j, 3 + p] + b * R[j, 3 + q] + c * R[j, 3 + face]
        z = X[j, 2] - X[i, 2] + a * R[j, 6 + p] + b * R[j, 6 + q] + c * R[j, 6 + face]
        scratch[0, corner, 0] = x * R[i, u] + y * R[i, 3 + u] + z * R[i, 6 + u]
        scratch[0, corner, 1] = x * R[i, v] + y * R[i, 3 + v] + z * R[i, 6 + v]
        scratch[0, corner, 2] = x * nx + y * ny + z * nz - size[i, axis]
        scratch[0, corner, 3] = corner
    side, count = 0, 4
    for cut in range(4):
        along = cut >> 1
        limit = size[i, u] if along == 0 else size[i, v]
        side, count = _clip(scratch, side, count, along, 1.0 if cut & 1 else -1.0, limit)
    added = 0
    for k in range(count):
        gap = scratch[side, k, 2]
        if gap < margin and added < found.shape[0]:
            a, b, c = scratch[side, k, 0], scratch[side, k, 1], size[i, axis] + 0.5 * gap
            found[added, 0] = X[i, 0] + a * R[i, u] + b * R[i, v] + c * nx
            found[added, 1] = X[i, 1] + a * R[i, 3 + u] + b * R[i, 3 + v] + c * ny
            found[added, 2] = X[i, 2] + a * R[i, 6 + u] + b * R[i, 6 + v] + c * nz
            found[added, 3], found[added, 4], found[added, 5] = flip * nx, flip * ny, flip * nz
            found[added, 6] = gap
            found[added, 7] = 64.0 * (2 * axis + (1 if sign > 0 else 0)) + scratch[side, k, 3]
            added += 1
    return added


@inline
def _edge_contact(size, X, R, i, j, a, b, nx, ny, nz, gap, found):
    """Add the contact of edge direction a of box i with edge direction b of box j; n points from j to i."""
    px, py, pz = X[i, 0], X[i, 1], X[i, 2]
    qx, qy, qz = X[j, 0], X[j, 1], X[j, 2]
    for k in range(3):
        if k != a:
            s = -size[i, k] if R[i, k] * nx + R[i, 3 + k] * ny + R[i, 6 + k] * nz > 0.0 else size[i, k]
            px, py, pz = px + s * R[i, k], py + s * R[i, 3 + k], pz + s * R[i, 6 + k]
        if k != b:
            s = size[j, k] if R[j, k] * nx + R[j, 3 + k] * ny + R[j, 6 + k] * nz > 0.0 else -size[j, k]
            qx, qy, qz = qx + s * R[j, k], qy + s * R[j, 3 + k], qz + s * R[j, 6 + k]
    ux, uy, uz = R[i, a], R[i, 3 + a], R[i, 6 + a]
    vx, vy, vz = R[j, b], R[j, 3 + b], R[j, 6 + b]
    wx, wy, wz = px - qx, py - qy, pz - qz
    c = ux * vx + uy * vy + uz * vz
    p, q = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    s = (c * q - p) / (1.0 - c * c)
    s = min(max(s, -size[i, a]), size[i, a])
    x, y, z = px + s * ux, py + s * uy, pz + s * uz
    found[0, 0], found[0, 1], found[0, 2] = x - 0.5 * gap * nx, y - 0.5 * gap * ny, z - 0.5 * gap * nz
    found[0, 3], found[0, 4], found[0, 5] = nx, ny, nz
    found[0, 6], found[0, 7] = gap, 1000.0 + 3 * a + b
    return 1


@inline
def box_box(size, X, R, i, j, margin, found, scratch):
    """Write the contact points of boxes i and j to `found`; return their number.

    The axis of largest separation (or smallest overlap) decides: a face of one clips the closest face of the other, or
    two edges touch in one point. Faces are preferred to edges that separate hardly more.
    """
    best, sign, axis = -1e300, 1.0, 0
    for k in range(6):
        one, other = (i, j) if k < 3 else (j, i)
        gap, s = _face_axis(size, X, R, one, other, k % 3)
        if gap > margin:
            return 0
        if gap > best + (1e-6 * size[i, 0] if k == 3 else 0.0):
            best, sign, axis = gap, s, k
    wx, wy, wz = X[i, 0] - X[j, 0], X[i, 1] - X[j, 1], X[i, 2] - X[j, 2]
    ea, eb, ex, ey, ez, edge = -1, -1, 0.0, 0.0, 0.0, -1e300
    for a in range(3):
        for b in range(3):
            x = R[i, 3 + a] * R[j, 6 + b] - R[i, 6 + a] * R[j, 3 + b]
            y = R[i, 6 + a] * R[j, b] - R[i, a] * R[j, 6 + b]
            z = R[i, a] * R[j, 3 + b] - R[i, 3 + a] * R[j, b]
            length = sqrt(x * x + y * y + z * z)
            if length < 1e-3:
                continue
            x, y, z = x / length, y / length, z / length
            along = x * wx + y * wy + z * wz
            gap = abs(along) - _projected_radius(size, R, i, x, y, z) - _projected_radius(size, R, j, x, y, z)
            if gap > margin:
                return 0
            if gap > edge:
                edge, ea, eb = gap, a, b
                s = -1.0 if along < 0.0 else 1.0
                ex, ey, ez = s * x, s * y, s * z
    preference = _FACE_PREFERENCE * (size[i, 0] + size[i, 1] + size[i, 2])
    if ea >= 0 and edge > best + preference:
        return _edge_contact(size, X, R, i, j, ea, eb, ex, ey, ez, edge, found)
    if axis < 3:
        # the normal of the face of i that faces j is opposite to the normal from j to i
        return _face_manifold(size, X, R, i, j, axis, -sign, -1.0, margin, found, scratch)
    return _face_manifold(size, X, R, j, i, axis - 3, -sign, 1.0, margin, found, scratch)
