"""Compiled narrow phase of rigid bodies: up to four contact points (eight with meshes) per pair.

A contact point has a position half-way between the two surfaces, a normal from the second body to the first, a gap
(negative where they overlap) and a feature number that identifies it in later steps. Pairs are independent: each is
written by one thread.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
from numba import prange

from continua.collision.rigid.box_box import box_box
from continua.collision.rigid.sat_convex import min_separation_axis
from continua.geometry.primitive_kernels import (
    BOX,
    CAPSULE,
    CYLINDER,
    INVERTED_SPHERE,
    PLANE,
    SPHERE,
    distance_at,
    to_local,
    to_world,
)
from continua.numerics import inline, kernel_pair

__all__ = ["MAX_CONTACTS_PER_PAIR", "add_contact_point", "collide_pairs", "reduce_manifold"]

MAX_CONTACTS_PER_PAIR = 8
_SCRATCH = 48
_MISSED_FRACTION = 1e-4  # fraction of the sizes by which found points may be farther than the closest point
_GOLDEN = 0.5 * (sqrt(5.0) - 1.0)


@inline
def add_contact_point(found, count, margin, px, py, pz, nx, ny, nz, gap, feature):
    """Add a contact point if its gap is below `margin`; return the number of points."""
    if gap < margin and count < found.shape[0]:
        found[count, 0], found[count, 1], found[count, 2] = px, py, pz
        found[count, 3], found[count, 4], found[count, 5] = nx, ny, nz
        found[count, 6], found[count, 7] = gap, feature
        return count + 1
    return count


@inline
def _collide_point(kind, size, X, R, j, radius, x, y, z, flip, found, count, margin, feature):
    """Collide a sphere of `radius` (0 is a point) of one body with body j; `flip` is -1 where j comes first."""
    d, nx, ny, nz = distance_at(kind, size, X, R, j, x, y, z)
    gap = d - radius
    back = radius + 0.5 * gap
    return add_contact_point(
        found, count, margin, x - back * nx, y - back * ny, z - back * nz,
        flip * nx, flip * ny, flip * nz, gap, feature,
    )  # fmt: skip


@inline
def _closest_on_segment(kind, size, X, R, j, ax, ay, az, bx, by, bz):
    """Return the parameter of a segment (0 to 1) with the smallest distance to the convex body j (golden section)."""
    low, high = 0.0, 1.0
    s, t = high - _GOLDEN, low + _GOLDEN
    fs = distance_at(kind, size, X, R, j, ax + s * (bx - ax), ay + s * (by - ay), az + s * (bz - az))[0]
    ft = distance_at(kind, size, X, R, j, ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az))[0]
    for _ in range(30):
        if fs < ft:
            high, t, ft = t, s, fs
            s = high - _GOLDEN * (high - low)
            fs = distance_at(kind, size, X, R, j, ax + s * (bx - ax), ay + s * (by - ay), az + s * (bz - az))[
                0
            ]
        else:
            low, s, fs = s, t, ft
            t = low + _GOLDEN * (high - low)
            ft = distance_at(kind, size, X, R, j, ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az))[
                0
            ]
    return 0.5 * (low + high)


@inline
def _capsule_any(kind, size, X, R, i, j, flip, found, count, margin):
    """Collide capsule i with body j of any other kind: both ends, and the closest point between them."""
    r, h = size[i, 0], size[i, 1]
    ux, uy, uz = R[i, 2] * h, R[i, 5] * h, R[i, 8] * h
    x, y, z = X[i, 0], X[i, 1], X[i, 2]
    count = _collide_point(kind, size, X, R, j, r, x - ux, y - uy, z - uz, flip, found, count, margin, 0)
    count = _collide_point(kind, size, X, R, j, r, x + ux, y + uy, z + uz, flip, found, count, margin, 1)
    if kind[j] != PLANE and kind[j] != INVERTED_SPHERE:
        t = _closest_on_segment(kind, size, X, R, j, x - ux, y - uy, z - uz, x + ux, y + uy, z + uz)
        if 0.01 < t < 0.99:
            s = 2.0 * t - 1.0
            count = _collide_point(
                kind, size, X, R, j, r, x + s * ux, y + s * uy, z + s * uz, flip, found, count, margin, 2
            )
    return count


@inline
def _capsules_at(size, X, R, i, j, s, t, found, count, margin, feature):
    """Collide capsules i and j at parameters s and t along their axes (-1 to 1)."""
    si, tj = s * size[i, 1], t * size[j, 1]
    ax, ay, az = X[i, 0] + si * R[i, 2], X[i, 1] + si * R[i, 5], X[i, 2] + si * R[i, 8]
    bx, by, bz = X[j, 0] + tj * R[j, 2], X[j, 1] + tj * R[j, 5], X[j, 2] + tj * R[j, 8]
    dx, dy, dz = ax - bx, ay - by, az - bz
    d = sqrt(dx * dx + dy * dy + dz * dz)
    if d > 0.0:
        dx, dy, dz = dx / d, dy / d, dz / d
    else:  # the axes intersect: separate along the direction normal to both
        dx = R[i, 5] * R[j, 8] - R[i, 8] * R[j, 5]
        dy = R[i, 8] * R[j, 2] - R[i, 2] * R[j, 8]
        dz = R[i, 2] * R[j, 5] - R[i, 5] * R[j, 2]
        e = sqrt(dx * dx + dy * dy + dz * dz)
        if e > 0.0:
            dx, dy, dz = dx / e, dy / e, dz / e
        else:
            dx, dy, dz = R[i, 0], R[i, 3], R[i, 6]
    gap = d - size[i, 0] - size[j, 0]
    back = size[i, 0] + 0.5 * gap
    return add_contact_point(
        found, count, margin, ax - back * dx, ay - back * dy, az - back * dz, dx, dy, dz, gap, feature
    )


@inline
def _capsule_capsule(size, X, R, i, j, found, count, margin):
    """Collide two capsules: the closest points, and where they are parallel the ends of their common range."""
    hi, hj = size[i, 1], size[j, 1]
    c = R[i, 2] * R[j, 2] + R[i, 5] * R[j, 5] + R[i, 8] * R[j, 8]
    wx, wy, wz = X[i, 0] - X[j, 0], X[i, 1] - X[j, 1], X[i, 2] - X[j, 2]
    p = R[i, 2] * wx + R[i, 5] * wy + R[i, 8] * wz
    q = R[j, 2] * wx + R[j, 5] * wy + R[j, 8] * wz
    sine = 1.0 - c * c
    if sine > 1e-3:
        s = min(max((c * q - p) / sine, -hi), hi)
        t = min(max(c * s + q, -hj), hj)
        s = min(max(c * t - p, -hi), hi)
        t = min(max(c * s + q, -hj), hj)
        return _capsules_at(size, X, R, i, j, s / hi, t / hj, found, count, margin, 0)
    ends = abs(c) * hj
    low, high = max(-hi, -p * 1.0 - ends), min(hi, -p * 1.0 + ends)
    if low > high:  # end to end
        low = high = min(max(-p, -hi), hi)
    t = min(max(c * low + q, -hj), hj)
    count = _capsules_at(size, X, R, i, j, low / hi, t / hj, found, count, margin, 0)
    if high > low:
        t = min(max(c * high + q, -hj), hj)
        count = _capsules_at(size, X, R, i, j, high / hi, t / hj, found, count, margin, 1)
    return count


@inline
def _corners_any(kind, size, X, R, i, j, flip, found, count, margin, feature):
    """Collide the corners of box i with body j."""
    for corner in range(8):
        x = size[i, 0] if corner & 1 else -size[i, 0]
        y = size[i, 1] if corner & 2 else -size[i, 1]
        z = size[i, 2] if corner & 4 else -size[i, 2]
        x, y, z = to_world(R, i, x, y, z)
        count = _collide_point(
            kind, size, X, R, j, 0.0, X[i, 0] + x, X[i, 1] + y, X[i, 2] + z, flip,
            found, count, margin, feature + corner,
        )  # fmt: skip
    return count


@inline
def _edges_any(kind, size, X, R, i, j, flip, found, count, margin, feature):
    """Collide the interiors of the twelve edges of box i with the convex body j."""
    for edge in range(12):
        axis = edge >> 2
        u, v = (axis + 1) % 3, (axis + 2) % 3
        p = size[i, u] if edge & 1 else -size[i, u]
        q = size[i, v] if edge & 2 else -size[i, v]
        cx = X[i, 0] + p * R[i, u] + q * R[i, v]
        cy = X[i, 1] + p * R[i, 3 + u] + q * R[i, 3 + v]
        cz = X[i, 2] + p * R[i, 6 + u] + q * R[i, 6 + v]
        h = size[i, axis]
        ax, ay, az = cx - h * R[i, axis], cy - h * R[i, 3 + axis], cz - h * R[i, 6 + axis]
        bx, by, bz = cx + h * R[i, axis], cy + h * R[i, 3 + axis], cz + h * R[i, 6 + axis]
        max_gap = h + margin
        if distance_at(kind, size, X, R, j, cx, cy, cz)[0] > max_gap:
            continue
        t = _closest_on_segment(kind, size, X, R, j, ax, ay, az, bx, by, bz)
        if 0.01 < t < 0.99:
            count = _collide_point(
                kind, size, X, R, j, 0.0, ax + t * (bx - ax), ay + t * (by - ay), az + t * (bz - az), flip,
                found, count, margin, feature + edge,
            )  # fmt: skip
    return count


@inline
def _rims_any(kind, size, X, R, i, j, flip, found, count, margin, feature):
    """Collide the rims of cylinder i with body j: four fixed points, and the deepest one."""
    r, h = size[i, 0], size[i, 1]
    for end in range(2):
        z = h if end else -h
        x, y, w = to_world(R, i, 0.0, 0.0, z)
        _, nx, ny, nz = distance_at(kind, size, X, R, j, X[i, 0] + x, X[i, 1] + y, X[i, 2] + w)
        lx, ly, _ = to_local(R, i, -nx, -ny, -nz)
        length = sqrt(lx * lx + ly * ly)
        for spot in range(5):
            if spot < 4:
                lx4, ly4 = cos(0.5 * pi * spot), sin(0.5 * pi * spot)
            elif length > 1e-12:
                lx4, ly4 = lx / length, ly / length
            else:
                continue
            x, y, w = to_world(R, i, r * lx4, r * ly4, z)
            count = _collide_point(
                kind, size, X, R, j, 0.0, X[i, 0] + x, X[i, 1] + y, X[i, 2] + w, flip,
                found, count, margin, feature + 5 * end + spot,
            )  # fmt: skip
    return count


@inline
def _cylinder_sides(size, X, R, i, j, found, count, margin):
    """Collide the round sides of two cylinders at the closest points of their axes."""
    hi, hj = size[i, 1], size[j, 1]
    c = R[i, 2] * R[j, 2] + R[i, 5] * R[j, 5] + R[i, 8] * R[j, 8]
    sine = 1.0 - c * c
    if sine < 1e-3:
        return count
    wx, wy, wz = X[i, 0] - X[j, 0], X[i, 1] - X[j, 1], X[i, 2] - X[j, 2]
    p = R[i, 2] * wx + R[i, 5] * wy + R[i, 8] * wz
    q = R[j, 2] * wx + R[j, 5] * wy + R[j, 8] * wz
    s = (c * q - p) / sine
    t = c * s + q
    if abs(s) < hi and abs(t) < hj:
        return _capsules_at(size, X, R, i, j, s / hi, t / hj, found, count, margin, 40)
    return count


@inline
def _add_closest_point(kind, size, X, R, i, j, found, count, margin):
    """Add the closest point if rims, corners and edges gave no point, or only points farther away."""
    slack = _MISSED_FRACTION * (size[i, 0] + size[j, 0])
    gap, nx, ny, nz, x, y, z = min_separation_axis(kind, size, X, R, i, j)
    for k in range(count):
        if found[k, 6] < gap + slack:
            return count
    return add_contact_point(found, count, margin, x, y, z, nx, ny, nz, gap, 50)


@inline
def reduce_manifold(found, count, max_count, selected):
    """Select up to `max_count` of the points: the deepest, then repeatedly the one farthest from those selected.

    Points with different normals count as far apart, so that a body held from two sides keeps both.
    """
    if count <= max_count:
        for k in range(count):
            selected[k] = k
        return count
    best = 0
    for k in range(count):
        if found[k, 6] < found[best, 6]:
            best = k
    size = 0.0
    for k in range(count):
        size = max(size, _separation2(found, k, best, 0.0))
    selected[0] = best
    for n in range(1, max_count):
        best, most = -1, -1.0
        for k in range(count):
            least = np.inf
            for m in range(n):
                least = min(least, _separation2(found, k, selected[m], size))
            # overlapping points count more than close ones
            least *= 1.0 if found[k, 6] <= 0.0 else 0.25
            if least > most:
                best, most = k, least
        if most <= 1e-6 * size:
            return n
        selected[n] = best
    return max_count


@inline
def _separation2(found, k, m, size):
    dx, dy, dz = found[k, 0] - found[m, 0], found[k, 1] - found[m, 1], found[k, 2] - found[m, 2]
    dot = found[k, 3] * found[m, 3] + found[k, 4] * found[m, 4] + found[k, 5] * found[m, 5]
    return dx * dx + dy * dy + dz * dz + size * (1.0 - dot)


@inline
def _collide_pair(kind, size, X, R, i, j, margin, found, scratch):
    """Find all contact points of bodies i and j; the kind of i is not above that of j."""
    ki, kj = kind[i], kind[j]
    if ki == SPHERE:
        return _collide_point(
            kind, size, X, R, j, size[i, 0], X[i, 0], X[i, 1], X[i, 2], 1.0, found, 0, margin, 0
        )
    if ki == BOX and kj == BOX:
        return box_box(size, X, R, i, j, margin, found, scratch)
    if ki == CAPSULE and kj == CAPSULE:
        return _capsule_capsule(size, X, R, i, j, found, 0, margin)
    if ki == CAPSULE:
        return _capsule_any(kind, size, X, R, i, j, 1.0, found, 0, margin)
    if kj == CAPSULE:
        return _capsule_any(kind, size, X, R, j, i, -1.0, found, 0, margin)
    count = 0
    if ki == BOX:
        count = _corners_any(kind, size, X, R, i, j, 1.0, found, count, margin, 0)
        if kj == CYLINDER:
            count = _edges_any(kind, size, X, R, i, j, 1.0, found, count, margin, 8)
    if ki == CYLINDER:
        count = _rims_any(kind, size, X, R, i, j, 1.0, found, count, margin, 20)
    if kj == CYLINDER:
        count = _rims_any(kind, size, X, R, j, i, -1.0, found, count, margin, 30)
        if ki == CYLINDER:
            count = _cylinder_sides(size, X, R, i, j, found, count, margin)
        count = _add_closest_point(kind, size, X, R, i, j, found, count, margin)
    return count


@kernel_pair
def collide_pairs(pairs, max_gap, kind, size, X, R, counts, positions, normals, gaps, features):
    """Find the contact points of every pair.

    Args:
        pairs: Indices of the bodies [p, 2]; the kind of the first is not above that of the second.
        max_gap: Largest gap of interest for each pair [m], shape [p].
        kind: Kind of each body [n].
        size: Its size [n, 3].
        X: Positions [n, 3].
        R: Rotations [n, 9].
        counts: Contact points of each pair, written.
        positions: Their positions [p, MAX_CONTACTS_PER_PAIR, 3], written.
        normals: From the second body to the first [p, MAX_CONTACTS_PER_PAIR, 3], written.
        gaps: Signed distances [p, MAX_CONTACTS_PER_PAIR], written.
        features: Feature numbers [p, MAX_CONTACTS_PER_PAIR], written.
    """
    chunk = 64
    for block in prange((pairs.shape[0] + chunk - 1) // chunk):
        found = np.empty((_SCRATCH, 8))
        scratch = np.empty((2, 16, 4))
        selected = np.empty(MAX_CONTACTS_PER_PAIR, np.int64)
        for p in range(block * chunk, min(pairs.shape[0], (block + 1) * chunk)):
            count = _collide_pair(kind, size, X, R, pairs[p, 0], pairs[p, 1], max_gap[p], found, scratch)
            count = reduce_manifold(found, count, 4, selected)
            counts[p] = count
            for k in range(count):
                m = selected[k]
                for d in range(3):
                    positions[p, k, d] = found[m, d]
                    normals[p, k, d] = found[m, 3 + d]
                gaps[p, k] = found[m, 6]
                features[p, k] = int(found[m, 7])
