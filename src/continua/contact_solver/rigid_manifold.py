"""Compiled contact manifolds of rigid bodies: from contact points of pairs to solver rows, with warm starting."""

from __future__ import annotations

from math import sqrt

from continua.contact_solver.rigid_contact_layout import (
    ANCHOR_LOCAL_A,
    ANCHOR_LOCAL_B,
    ANCHOR_WEIGHT,
    ANCHOR_WORLD_A,
    ANCHOR_WORLD_B,
    COLUMNS,
    FRICTION,
    IMPULSE,
    RESTITUTION,
    T1,
    T2,
)
from continua.geometry.primitive_kernels import BOX, CAPSULE, CYLINDER, MESH, SPHERE, to_local
from continua.numerics import inline, kernel

__all__ = ["build_contacts", "store_warm_start"]


@inline
def _set_anchor(kind, size, R, i, x, y, z, C, c, local_column, world_column):
    """Set the anchor of a contact point, given from the centre of instance i in world axes.

    The local part rotates with the body: the centre of a sphere, a point on the axis of a capsule or cylinder. The rest
    does not rotate, so that the contact does not move along a round surface.
    """
    lx, ly, lz = to_local(R, i, x, y, z)
    k = kind[i]
    if k == SPHERE:
        lx, ly, lz = 0.0, 0.0, 0.0
    elif k in (CAPSULE, CYLINDER):
        lx, ly, lz = 0.0, 0.0, min(max(lz, -size[i, 1]), size[i, 1])
    C[c, local_column], C[c, local_column + 1], C[c, local_column + 2] = lx, ly, lz
    C[c, world_column] = x - (R[i, 0] * lx + R[i, 1] * ly + R[i, 2] * lz)
    C[c, world_column + 1] = y - (R[i, 3] * lx + R[i, 4] * ly + R[i, 5] * lz)
    C[c, world_column + 2] = z - (R[i, 6] * lx + R[i, 7] * ly + R[i, 8] * lz)


@inline
def _is_rolling_shape(k):
    """Return 1 for round bodies, on which the contact point rolls, 0 for flat ones, -1 for unbounded ones."""
    if k in (SPHERE, CAPSULE, CYLINDER):
        return 1.0
    return 0.0 if k in (BOX, MESH) else -1.0


@inline
def _tangents(C, c):
    """Write two unit tangents."""
    x, y, z = C[c, 0], C[c, 1], C[c, 2]
    if abs(x) < 0.57735:
        s = 1.0 / sqrt(y * y + z * z)
        ux, uy, uz = 0.0, z * s, -y * s
    else:
        s = 1.0 / sqrt(x * x + y * y)
        ux, uy, uz = -y * s, x * s, 0.0
    C[c, T1], C[c, T1 + 1], C[c, T1 + 2] = ux, uy, uz
    C[c, T2], C[c, T2 + 1], C[c, T2 + 2] = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux


@inline
def _match_warm_start(C, c, feature, x, y, z, reach, warm_start, start, end, h):
    """Start from the impulse of the same point in the last step: the closest, or that of the same feature."""
    best, least = -1, reach * reach
    for m in range(start, end):
        dx, dy, dz = warm_start[m, 1] - x, warm_start[m, 2] - y, warm_start[m, 3] - z
        d = dx * dx + dy * dy + dz * dz
        if d < least and warm_start[m, 0] >= 0.0:
            best, least = m, d
    if best < 0:
        for m in range(start, end):
            if warm_start[m, 0] == feature:
                best = m
    if best >= 0:
        warm_start[best, 0] = -1.0  # used
        fx, fy, fz = warm_start[best, 5], warm_start[best, 6], warm_start[best, 7]
        C[c, IMPULSE] = h * warm_start[best, 4]
        C[c, IMPULSE + 1] = h * (C[c, T1] * fx + C[c, T1 + 1] * fy + C[c, T1 + 2] * fz)
        C[c, IMPULSE + 2] = h * (C[c, T2] * fx + C[c, T2 + 1] * fy + C[c, T2 + 2] * fz)


@kernel
def build_contacts(
    pairs, counts, positions, normals, gaps, features, friction, restitution, kind, size, radius, X, R,
    previous_pair, previous_first, warm_start, h, AB, C, first, contact_feature
):  # fmt: skip
    """Fill the rows of C; return the number of pairs with contacts.

    Args:
        pairs: Close pairs, sorted [p, 2].
        counts: Contact points of each.
        positions: See `narrow_phase.collide_pairs`, as normals, gaps and features.
        normals: See positions.
        gaps: See positions.
        features: See positions.
        friction: Of each pair.
        restitution: Of each pair.
        kind: Of each instance, as size, radius, X, R.
        size: See kind.
        radius: See kind.
        X: See kind.
        R: See kind.
        previous_pair: Index of each pair in the last step, or -1.
        previous_first: First row of `warm_start` of each pair of the last step, and the end.
        warm_start: The contacts of the last step [m, 8], see `store_warm_start`.
        h: Length of a substep [s].
        AB: Written, see `rigid_pgs`.
        C: Written.
        first: First contact of each pair with contacts, written.
        contact_feature: Feature number of each contact, written.
    """
    c, touching_pairs = 0, 0
    for p in range(pairs.shape[0]):
        if counts[p] == 0:
            continue
        a, b = pairs[p, 0], pairs[p, 1]
        first[touching_pairs] = c
        touching_pairs += 1
        for k in range(counts[p]):
            for d in range(COLUMNS):
                C[c, d] = 0.0
            AB[c, 0], AB[c, 1] = a, b
            contact_feature[c] = features[p, k]
            nx, ny, nz = normals[p, k, 0], normals[p, k, 1], normals[p, k, 2]
            C[c, 0], C[c, 1], C[c, 2] = nx, ny, nz
            _tangents(C, c)
            C[c, FRICTION], C[c, RESTITUTION] = friction[p], restitution[p]
            C[c, ANCHOR_WEIGHT] = min(
                max(0.5 + 0.5 * (_is_rolling_shape(kind[a]) - _is_rolling_shape(kind[b])), 0.0), 1.0
            )
            half = 0.5 * gaps[p, k]
            x, y, z = positions[p, k, 0] - X[a, 0], positions[p, k, 1] - X[a, 1], positions[p, k, 2] - X[a, 2]
            _set_anchor(
                kind,
                size,
                R,
                a,
                x + half * nx,
                y + half * ny,
                z + half * nz,
                C,
                c,
                ANCHOR_LOCAL_A,
                ANCHOR_WORLD_A,
            )
            if previous_pair[p] >= 0:
                lx, ly, lz = to_local(R, a, x, y, z)
                _match_warm_start(
                    C, c, features[p, k], lx, ly, lz, 0.1 * radius[a],
                    warm_start, previous_first[previous_pair[p]], previous_first[previous_pair[p] + 1], h,
                )  # fmt: skip
            x, y, z = positions[p, k, 0] - X[b, 0], positions[p, k, 1] - X[b, 1], positions[p, k, 2] - X[b, 2]
            _set_anchor(
                kind,
                size,
                R,
                b,
                x - half * nx,
                y - half * ny,
                z - half * nz,
                C,
                c,
                ANCHOR_LOCAL_B,
                ANCHOR_WORLD_B,
            )
            c += 1
    first[touching_pairs] = c
    return touching_pairs


@kernel
def store_warm_start(X, R, AB, C, contact_feature, h, warm_start):
    """Write the warm start of the next step [c, 8]: feature, point on the first body, normal and tangential forces."""
    for c in range(C.shape[0]):
        a = AB[c, 0]
        x, y, z = C[c, ANCHOR_LOCAL_A], C[c, ANCHOR_LOCAL_A + 1], C[c, ANCHOR_LOCAL_A + 2]
        sx, sy, sz = to_local(R, a, C[c, ANCHOR_WORLD_A], C[c, ANCHOR_WORLD_A + 1], C[c, ANCHOR_WORLD_A + 2])
        warm_start[c, 0] = contact_feature[c]
        warm_start[c, 1], warm_start[c, 2], warm_start[c, 3] = x + sx, y + sy, z + sz
        p, q = C[c, IMPULSE + 1] / h, C[c, IMPULSE + 2] / h
        warm_start[c, 4] = C[c, IMPULSE] / h
        for d in range(3):
            warm_start[c, 5 + d] = p * C[c, T1 + d] + q * C[c, T2 + d]
