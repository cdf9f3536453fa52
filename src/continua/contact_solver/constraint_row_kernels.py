"""Compiled constraint rows: filling them, relative velocities, and the transpose."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel


@inline
def tangent_frame(n0, n1, n2, frame, c):
    """Write n and two tangents into `frame[c]`; they depend on the normal alone."""
    # Duff et al. 2017: no branch but the sign, smooth away from n2 = 0
    sign = 1.0 if n2 >= 0.0 else -1.0
    a = -1.0 / (sign + n2)
    b = n0 * n1 * a
    frame[c, 0], frame[c, 1], frame[c, 2] = n0, n1, n2
    frame[c, 3], frame[c, 4], frame[c, 5] = 1.0 + sign * n0 * n0 * a, sign * b, -sign * n0
    frame[c, 6], frame[c, 7], frame[c, 8] = b, sign + n1 * n1 * a, -n1


@kernel
def fill_rows(normals, points, soft_rows, soft_weights, rigid_rows, rigid_signs, centers, surface_velocity, ptr, row,
              block, offset, frame):  # fmt: skip
    """Fill the entries of contacts; a row of -1 is none. Returns the number of entries."""
    e = 0
    for c in range(normals.shape[0]):
        tangent_frame(normals[c, 0], normals[c, 1], normals[c, 2], frame, c)
        for k in range(soft_rows.shape[1]):
            if soft_rows[c, k] < 0:
                continue
            row[e] = soft_rows[c, k]
            for i in range(9):
                block[e, i] = soft_weights[c, k] * frame[c, i]
            e += 1
        for k in range(rigid_rows.shape[1]):
            if rigid_rows[c, k] < 0:
                continue
            sign = rigid_signs[c, k]
            r0 = points[c, 0] - centers[c, k, 0]
            r1 = points[c, 1] - centers[c, k, 1]
            r2 = points[c, 2] - centers[c, k, 2]
            row[e] = rigid_rows[c, k]
            row[e + 1] = rigid_rows[c, k] + 1
            for i in range(3):  # d . (w x r) = w . (r x d)
                d0, d1, d2 = frame[c, 3 * i], frame[c, 3 * i + 1], frame[c, 3 * i + 2]
                block[e, 3 * i], block[e, 3 * i + 1], block[e, 3 * i + 2] = sign * d0, sign * d1, sign * d2
                block[e + 1, 3 * i] = sign * (r1 * d2 - r2 * d1)
                block[e + 1, 3 * i + 1] = sign * (r2 * d0 - r0 * d2)
                block[e + 1, 3 * i + 2] = sign * (r0 * d1 - r1 * d0)
            e += 2
        ptr[c + 1] = e
        for i in range(3):
            offset[c, i] = 0.0
            for j in range(3):
                offset[c, i] -= frame[c, 3 * i + j] * surface_velocity[c, j]
    return e


@kernel
def relative_velocities(ptr, row, block, offset, velocities, out):
    """Set out[c] to the relative velocity of contact c in its own frame [m/s]."""
    for c in range(ptr.shape[0] - 1):
        u0, u1, u2 = offset[c, 0], offset[c, 1], offset[c, 2]
        for e in range(ptr[c], ptr[c + 1]):
            g = block[e]
            v0, v1, v2 = velocities[row[e], 0], velocities[row[e], 1], velocities[row[e], 2]
            u0 += g[0] * v0 + g[1] * v1 + g[2] * v2
            u1 += g[3] * v0 + g[4] * v1 + g[5] * v2
            u2 += g[6] * v0 + g[7] * v1 + g[8] * v2
        out[c, 0], out[c, 1], out[c, 2] = u0, u1, u2


@kernel
def apply_transpose(ptr, row, block, impulse, out):
    """Add G^T times the impulses of the contacts [N s] to the rows of `out`."""
    for c in range(ptr.shape[0] - 1):
        p0, p1, p2 = impulse[c, 0], impulse[c, 1], impulse[c, 2]
        if p0 == 0.0 and p1 == 0.0 and p2 == 0.0:
            continue
        for e in range(ptr[c], ptr[c + 1]):
            g = block[e]
            i = row[e]
            out[i, 0] += g[0] * p0 + g[3] * p1 + g[6] * p2
            out[i, 1] += g[1] * p0 + g[4] * p1 + g[7] * p2
            out[i, 2] += g[2] * p0 + g[5] * p1 + g[8] * p2


@kernel
def match_keys(old_keys, old_values, keys, values):
    """Set values[c] to the old value of the same key (old keys are sorted), or to zero."""
    for c in range(keys.shape[0]):
        at = np.searchsorted(old_keys, keys[c])
        found = at < old_keys.shape[0] and old_keys[at] == keys[c]
        for i in range(values.shape[1]):
            values[c, i] = old_values[at, i] if found else 0.0
