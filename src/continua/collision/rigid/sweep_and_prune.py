"""Compiled broad phase of rigid bodies: sweep and prune of boxes around their motion in a step."""

from __future__ import annotations

from math import sqrt

from continua.geometry.primitive_kernels import (
    BOX,
    CAPSULE,
    CYLINDER,
    INVERTED_SPHERE,
    MESH,
    NO_SHAPE,
    PLANE,
    SPHERE,
)
from continua.numerics import inline, kernel

__all__ = ["find_overlapping_pairs", "pair_margins", "swept_boxes"]


@inline
def _half_extent(kind, size, R, i, d):
    """Return half the extent of instance i along world axis d [m]."""
    k = kind[i]
    row = 3 * d
    if k == SPHERE:
        return size[i, 0]
    if k in (BOX, MESH):
        return size[i, 0] * abs(R[i, row]) + size[i, 1] * abs(R[i, row + 1]) + size[i, 2] * abs(R[i, row + 2])
    u = R[i, row + 2]
    if k == CAPSULE:
        return abs(u) * size[i, 1] + size[i, 0]
    if k == CYLINDER:
        return abs(u) * size[i, 1] + size[i, 0] * sqrt(max(0.0, 1.0 - u * u))
    if k == NO_SHAPE:
        return -1e300
    return 1e300  # planes and unbounded shapes


@kernel
def swept_boxes(kind, size, X, R, V, radius, margin, dt, low, high):
    """Fill the boxes [n, 3] around the motion of each instance in a step of `dt`, widened by `margin` [n]."""
    for i in range(X.shape[0]):
        growth = margin[i]
        if kind[i] != SPHERE:
            angular_speed = sqrt(V[i, 3] * V[i, 3] + V[i, 4] * V[i, 4] + V[i, 5] * V[i, 5])
            growth += min(dt * angular_speed, 2.0) * radius[i]
        for d in range(3):
            h = _half_extent(kind, size, R, i, d) + growth
            travel = dt * V[i, d]
            low[i, d] = X[i, d] - h + min(travel, 0.0)
            high[i, d] = X[i, d] + h + max(travel, 0.0)


@kernel
def find_overlapping_pairs(order, axis, low, high, is_dynamic, group, collide, kind, excluded_pairs, pairs):
    """Find all pairs of boxes that overlap; return their number, which may be more than `pairs` can hold.

    Args:
        order: Instances sorted by their lower ends along `axis` [n].
        axis: The axis to sweep along.
        low: Lower ends of the boxes [n, 3].
        high: Upper ends [n, 3].
        is_dynamic: Whether an instance is dynamic [n].
        group: Body or collider of each instance [n].
        collide: Whether two of these can touch at all [k, k].
        kind: Kinds; the lower one comes first in a pair [n].
        excluded_pairs: Sorted keys i * n + j, i < j, of pairs that must not collide.
        pairs: Written, shape [most, 2].
    """
    n = order.shape[0]
    u, v = (axis + 1) % 3, (axis + 2) % 3
    count = 0
    for one in range(n):
        i = order[one]
        for other in range(one + 1, n):
            j = order[other]
            if low[j, axis] > high[i, axis]:
                break
            if (
                low[j, u] > high[i, u]
                or low[i, u] > high[j, u]
                or low[j, v] > high[i, v]
                or low[i, v] > high[j, v]
            ):
                continue
            if not (is_dynamic[i] or is_dynamic[j]) or not collide[group[i], group[j]]:
                continue
            if excluded_pairs.shape[0] and _contains(excluded_pairs, min(i, j) * n + max(i, j)):
                continue
            if count < pairs.shape[0]:
                first = i < j if kind[i] == kind[j] else kind[i] < kind[j]
                pairs[count, 0] = i if first else j
                pairs[count, 1] = j if first else i
            count += 1
    return count


@inline
def _contains(values, value):
    low, high = 0, values.shape[0]
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < values.shape[0] and values[low] == value


@kernel
def pair_margins(pairs, kind, V, radius, margin, dt, max_gap):
    """Fill the largest gap [m] at which each pair may touch within `dt`."""
    for p in range(pairs.shape[0]):
        i, j = pairs[p, 0], pairs[p, 1]
        dx, dy, dz = V[i, 0] - V[j, 0], V[i, 1] - V[j, 1], V[i, 2] - V[j, 2]
        travel = sqrt(dx * dx + dy * dy + dz * dz)
        for k in (i, j):
            if kind[k] != SPHERE and kind[k] != PLANE and kind[k] != INVERTED_SPHERE:
                angular_speed = sqrt(V[k, 3] * V[k, 3] + V[k, 4] * V[k, 4] + V[k, 5] * V[k, 5])
                travel += min(angular_speed, 2.0 / dt) * radius[k]
        max_gap[p] = margin[i] + margin[j] + dt * travel
