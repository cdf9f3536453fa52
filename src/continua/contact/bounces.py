"""Compiled bounces of rigid pieces: hits are handed on from pair to pair."""

from __future__ import annotations

from math import sqrt

import numpy as np

from continua.contact.impulses import (
    FRICTION,
    GAP,
    MASS,
    RESTITUTION,
    SHIFT,
    TOTAL,
    WANTED,
    push,
    relative,
    rub,
)
from continua.numerics import inline

_ROUNDS = 64  # of hits handed on in one small step


@inline
def _bounce_speed(A, V, C, c, a, b, h, slow):
    """Return the speed with which a contact must part now, or 0 if its pieces do not hit each other.

    The hit is where the gap closes: there the speed is that of the fall, and the speed given back is that which,
    from the present height, leads to the same top as from there.
    """
    ux, uy, uz = relative(V, C, c, a, b)
    u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
    pull = 0.0
    for d in range(3):
        pull -= C[c, d] * (A[a, d] - A[b, d])
    gap = C[c, GAP]
    if u > -slow or gap + h * (u - h * pull) >= 0.0:
        return 0.0
    e = C[c, RESTITUTION]
    height = max(gap, 0.0)
    return sqrt(max(0.0, e * e * (u * u + 2.0 * pull * height) - 2.0 * pull * height))


@inline
def hits(V, M, A, AB, C, first, h, slow):
    """Hand on hits from pair to pair until nothing comes nearer faster than `slow` (sequential impacts).

    All contacts of one pair take part in its hit together: they are swept until each parts as it must. A pair is
    looked at again only if one of its pieces was hit since.
    """
    speeds, sums = np.empty(16), np.empty(16)
    struck, seen = np.zeros(V.shape[0], np.int64), np.full(first.shape[0], -1, np.int64)
    count = 0
    for _ in range(_ROUNDS):
        quiet = True
        for p in range(first.shape[0] - 1):
            start, end = first[p], first[p + 1]
            if C[start, RESTITUTION] == 0.0:
                continue
            a, b = AB[start, 0], AB[start, 1]
            if struck[a] <= seen[p] and struck[b] <= seen[p]:
                continue
            seen[p] = count
            most = 0.0
            for c in range(start, end):
                speeds[c - start] = _bounce_speed(A, V, C, c, a, b, h, slow)
                most = max(most, speeds[c - start])
                sums[c - start] = 0.0
                C[c, WANTED] = C[c, SHIFT] = 0.0
            if most == 0.0:
                continue
            quiet = False
            count += 1
            struck[a] = count if M[a, 0] > 0.0 else 0
            struck[b] = count if M[b, 0] > 0.0 else 0
            for _sweeps in range(1 if end == start + 1 else 12):
                for c in range(start, end):
                    if speeds[c - start] == 0.0:
                        continue
                    ux, uy, uz = relative(V, C, c, a, b)
                    u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
                    new = max(0.0, sums[c - start] - C[c, MASS] * (u - speeds[c - start]))
                    s = new - sums[c - start]
                    sums[c - start] = new
                    push(V, M, C, c, a, b, s * C[c, 0], s * C[c, 1], s * C[c, 2])
                    rub(V, M, C, c, a, b, C[c, FRICTION] * new, WANTED)
            for c in range(start, end):
                C[c, TOTAL] += sums[c - start]
                C[c, TOTAL + 1] += C[c, WANTED]
                C[c, TOTAL + 2] += C[c, SHIFT]
        if quiet:
            return
