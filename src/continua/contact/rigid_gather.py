"""Compiled book-keeping of rigid contacts: from touching points of pairs to rows for the sweeps, with their memory."""

from __future__ import annotations

from math import sqrt

from continua.contact.impulses import (
    COLUMNS,
    CORE_A,
    CORE_B,
    FRICTION,
    IMPULSE,
    RESTITUTION,
    SHARE,
    SHIFT_A,
    SHIFT_B,
    T1,
    T2,
)
from continua.contact.rigid_shapes import BALL, BOX, CYLINDER, MESH, ROD, into
from continua.numerics import inline, kernel

__all__ = ["gather_contacts", "keep_contacts"]


@inline
def _anchor(kind, size, R, i, x, y, z, C, c, core, shift):
    """Fix a place, given from the centre of piece i in world axes, to what does not slide on a round surface.

    A ball keeps its centre, a rod and a cylinder a place on their axis; the rest of the way does not turn with them.
    """
    lx, ly, lz = into(R, i, x, y, z)
    k = kind[i]
    if k == BALL:
        lx, ly, lz = 0.0, 0.0, 0.0
    elif k in (ROD, CYLINDER):
        lx, ly, lz = 0.0, 0.0, min(max(lz, -size[i, 1]), size[i, 1])
    C[c, core], C[c, core + 1], C[c, core + 2] = lx, ly, lz
    C[c, shift] = x - (R[i, 0] * lx + R[i, 1] * ly + R[i, 2] * lz)
    C[c, shift + 1] = y - (R[i, 3] * lx + R[i, 4] * ly + R[i, 5] * lz)
    C[c, shift + 2] = z - (R[i, 6] * lx + R[i, 7] * ly + R[i, 8] * lz)


@inline
def _slides(k):
    """Return 1 for round pieces, on which the touching place goes along, 0 for flat ones, -1 for endless ones."""
    if k in (BALL, ROD, CYLINDER):
        return 1.0
    return 0.0 if k in (BOX, MESH) else -1.0


@inline
def _tangents(C, c):
    """Write two unit vectors across the normal."""
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
def _remember(C, c, feature, x, y, z, reach, memory, start, end, h):
    """Take over the impulse that the same point had in the last step: the nearest, or the one of its number."""
    best, least = -1, reach * reach
    for m in range(start, end):
        dx, dy, dz = memory[m, 1] - x, memory[m, 2] - y, memory[m, 3] - z
        d = dx * dx + dy * dy + dz * dz
        if d < least and memory[m, 0] >= 0.0:
            best, least = m, d
    if best < 0:
        for m in range(start, end):
            if memory[m, 0] == feature:
                best = m
    if best >= 0:
        memory[best, 0] = -1.0  # taken
        fx, fy, fz = memory[best, 5], memory[best, 6], memory[best, 7]
        C[c, IMPULSE] = h * memory[best, 4]
        C[c, IMPULSE + 1] = h * (C[c, T1] * fx + C[c, T1 + 1] * fy + C[c, T1 + 2] * fz)
        C[c, IMPULSE + 2] = h * (C[c, T2] * fx + C[c, T2 + 1] * fy + C[c, T2 + 2] * fz)


@kernel
def gather_contacts(
    pairs, counts, places, normals, gaps, features, friction, restitution, kind, size, radius, X, R,
    old, old_first, memory, h, AB, C, first, feature_of
):  # fmt: skip
    """Fill the rows of C; return how many pairs touch.

    Args:
        pairs: Near pairs, sorted [p, 2].
        counts: Touching points of each.
        places: See `rigid_pairs.meet_pairs`, as normals, gaps and features.
        normals: See places.
        gaps: See places.
        features: See places.
        friction: Of each pair.
        restitution: Of each pair.
        kind: Of each piece, as size, radius, X, R.
        size: See kind.
        radius: See kind.
        X: See kind.
        R: See kind.
        old: For each pair its number in the last step, or -1.
        old_first: First row of `memory` of each pair of the last step, and the end.
        memory: The contacts of the last step [m, 8], see `keep_contacts`.
        h: Length of a small step [s].
        AB: Written, see `sweeps`.
        C: Written.
        first: First contact of each touching pair, written.
        feature_of: Number of each contact, written.
    """
    c, touching = 0, 0
    for p in range(pairs.shape[0]):
        if counts[p] == 0:
            continue
        a, b = pairs[p, 0], pairs[p, 1]
        first[touching] = c
        touching += 1
        for k in range(counts[p]):
            for d in range(COLUMNS):
                C[c, d] = 0.0
            AB[c, 0], AB[c, 1] = a, b
            feature_of[c] = features[p, k]
            nx, ny, nz = normals[p, k, 0], normals[p, k, 1], normals[p, k, 2]
            C[c, 0], C[c, 1], C[c, 2] = nx, ny, nz
            _tangents(C, c)
            C[c, FRICTION], C[c, RESTITUTION] = friction[p], restitution[p]
            C[c, SHARE] = min(max(0.5 + 0.5 * (_slides(kind[a]) - _slides(kind[b])), 0.0), 1.0)
            half = 0.5 * gaps[p, k]
            x, y, z = places[p, k, 0] - X[a, 0], places[p, k, 1] - X[a, 1], places[p, k, 2] - X[a, 2]
            _anchor(kind, size, R, a, x + half * nx, y + half * ny, z + half * nz, C, c, CORE_A, SHIFT_A)
            if old[p] >= 0:
                lx, ly, lz = into(R, a, x, y, z)
                _remember(
                    C, c, features[p, k], lx, ly, lz, 0.1 * radius[a],
                    memory, old_first[old[p]], old_first[old[p] + 1], h,
                )  # fmt: skip
            x, y, z = places[p, k, 0] - X[b, 0], places[p, k, 1] - X[b, 1], places[p, k, 2] - X[b, 2]
            _anchor(kind, size, R, b, x - half * nx, y - half * ny, z - half * nz, C, c, CORE_B, SHIFT_B)
            c += 1
    first[touching] = c
    return touching


@kernel
def keep_contacts(X, R, AB, C, feature_of, h, memory):
    """Write what the next step must know [c, 8]: number, place on the first piece, forces along and across."""
    for c in range(C.shape[0]):
        a = AB[c, 0]
        x, y, z = C[c, CORE_A], C[c, CORE_A + 1], C[c, CORE_A + 2]
        sx, sy, sz = into(R, a, C[c, SHIFT_A], C[c, SHIFT_A + 1], C[c, SHIFT_A + 2])
        memory[c, 0] = feature_of[c]
        memory[c, 1], memory[c, 2], memory[c, 3] = x + sx, y + sy, z + sz
        p, q = C[c, IMPULSE + 1] / h, C[c, IMPULSE + 2] / h
        memory[c, 4] = C[c, IMPULSE] / h
        for d in range(3):
            memory[c, 5 + d] = p * C[c, T1 + d] + q * C[c, T2 + d]
