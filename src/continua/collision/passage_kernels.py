"""Compiled search for pairs that would pass through each other, however close they are at the start."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.collision.ccd_kernels import _relative_motion, _stays_on_one_side, _time_of_impact
from continua.numerics import inline, kernel_pair
from continua.numerics.closest_points import closest_point_triangle, closest_points_segments, row3

__all__ = ["confirm_passages"]

_PER_TASK = 64  # pairs
_KEPT = 0.5  # fraction of their distance at the start that pairs may lose before they count


@inline
def _start_distance(x, a, b, c, d, is_triangle):
    """Return the distance of vertex a from the triangle b c d, or of the edges a b and c d."""
    pa, pb, pc, pd = row3(x, a), row3(x, b), row3(x, c), row3(x, d)
    total = 0.0
    if is_triangle:
        w = closest_point_triangle(pa, pb, pc, pd)
        for i in range(3):
            total += (pa[i] - w[0] * pb[i] - w[1] * pc[i] - w[2] * pd[i]) ** 2
    else:
        s, t = closest_points_segments(pa, pb, pc, pd)
        for i in range(3):
            total += (pa[i] + s * (pb[i] - pa[i]) - pc[i] - t * (pd[i] - pc[i])) ** 2
    return sqrt(total)


@kernel_pair
def confirm_passages(x0, x1, nodes, is_triangle, separation, times):
    """Find which pairs come closer than `separation`, or half of their distance at the start where that is less.

    Args:
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        nodes: Vertex and corners, or the ends of two edges, shape [c, 4].
        is_triangle: Which of the two.
        separation: Distance that counts [m], shape [c].
        times: Receives the first times at which they do, as fractions of the step; 2 is never; shape [c].
    """
    count = nodes.shape[0]
    for task in prange(-(-count // _PER_TASK)):
        work, along, axes, stack = np.empty((6, 3)), np.empty((6, 6)), np.empty((6, 3)), np.empty((256, 6))
        for k in range(task * _PER_TASK, min((task + 1) * _PER_TASK, count)):
            a, b, c, d = nodes[k, 0], nodes[k, 1], nodes[k, 2], nodes[k, 3]
            kept = min(separation[k], _KEPT * _start_distance(x0, a, b, c, d, is_triangle))
            scale = _relative_motion(x0, x1, a, b, c, d, is_triangle, work)
            times[k] = 2.0
            if not _stays_on_one_side(work, kept, scale):
                times[k], _, _ = _time_of_impact(work, along, axes, stack, is_triangle, kept, scale)
