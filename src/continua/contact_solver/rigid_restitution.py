"""Compiled restitution of rigid bodies: impacts are propagated from pair to pair."""

from __future__ import annotations

from math import sqrt

import numpy as np

from continua.contact_solver.rigid_contact_layout import (
    FRICTION,
    GAP,
    NORMAL_MASS,
    POSITION_IMPULSE,
    RESTITUTION,
    TARGET_VELOCITY,
    TOTAL_IMPULSE,
    apply_friction,
    apply_impulse,
    relative_velocity,
)
from continua.numerics import inline

_MAX_ROUNDS = 64  # of impact propagation in one substep


@inline
def _rebound_speed(A, V, C, c, a, b, h, rest_speed):
    """Return the separation speed of a contact after an impact, or 0 if there is no impact in this substep.

    The impact happens where the gap closes. The returned speed is corrected for the present height, so that the body
    rises as high as from an impact at that point.
    """
    ux, uy, uz = relative_velocity(V, C, c, a, b)
    u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
    pull = 0.0
    for d in range(3):
        pull -= C[c, d] * (A[a, d] - A[b, d])
    gap = C[c, GAP]
    if u > -rest_speed or gap + h * (u - h * pull) >= 0.0:
        return 0.0
    e = C[c, RESTITUTION]
    height = max(gap, 0.0)
    return sqrt(max(0.0, e * e * (u * u + 2.0 * pull * height) - 2.0 * pull * height))


@inline
def propagate_impacts(V, M, A, AB, C, first, h, rest_speed):
    """Propagate impacts from pair to pair until nothing approaches faster than `rest_speed` (sequential impacts).

    All contacts of one pair take part in its impact together: they are swept until each separates at its speed. A pair
    is visited again only if one of its bodies had another impact since.
    """
    speeds, sums = np.empty(16), np.empty(16)
    last_impact, last_visit = np.zeros(V.shape[0], np.int64), np.full(first.shape[0], -1, np.int64)
    count = 0
    for _ in range(_MAX_ROUNDS):
        done = True
        for p in range(first.shape[0] - 1):
            start, end = first[p], first[p + 1]
            if C[start, RESTITUTION] == 0.0:
                continue
            a, b = AB[start, 0], AB[start, 1]
            if last_impact[a] <= last_visit[p] and last_impact[b] <= last_visit[p]:
                continue
            last_visit[p] = count
            limit = 0.0
            for c in range(start, end):
                speeds[c - start] = _rebound_speed(A, V, C, c, a, b, h, rest_speed)
                limit = max(limit, speeds[c - start])
                sums[c - start] = 0.0
                C[c, TARGET_VELOCITY] = C[c, POSITION_IMPULSE] = 0.0
            if limit == 0.0:
                continue
            done = False
            count += 1
            last_impact[a] = count if M[a, 0] > 0.0 else 0
            last_impact[b] = count if M[b, 0] > 0.0 else 0
            for _sweeps in range(1 if end == start + 1 else 12):
                for c in range(start, end):
                    if speeds[c - start] == 0.0:
                        continue
                    ux, uy, uz = relative_velocity(V, C, c, a, b)
                    u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
                    new = max(0.0, sums[c - start] - C[c, NORMAL_MASS] * (u - speeds[c - start]))
                    s = new - sums[c - start]
                    sums[c - start] = new
                    apply_impulse(V, M, C, c, a, b, s * C[c, 0], s * C[c, 1], s * C[c, 2])
                    apply_friction(V, M, C, c, a, b, C[c, FRICTION] * new, TARGET_VELOCITY)
            for c in range(start, end):
                C[c, TOTAL_IMPULSE] += sums[c - start]
                C[c, TOTAL_IMPULSE + 1] += C[c, TARGET_VELOCITY]
                C[c, TOTAL_IMPULSE + 2] += C[c, POSITION_IMPULSE]
        if done:
            return
