"""Compiled building of the tree of boxes around triangles."""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel

BINS = 16
LEAF = 4  # triangles of a leaf, unless they lie at one place
STACK = 96  # more than the tree is deep
COUNT_BITS = 4  # of a leaf's link: how many triangles it has


@inline
def _half_area(box):
    """Return half the surface of a box, or 0 if nothing is in it."""
    x, y, z = box[3] - box[0], box[4] - box[1], box[5] - box[2]
    if x < 0.0:
        return 0.0
    return x * y + y * z + z * x


@inline
def _clear(box):
    for d in range(3):
        box[d] = np.inf
        box[d + 3] = -np.inf


@inline
def _widen(box, other):
    for d in range(3):
        box[d] = min(box[d], other[d])
        box[d + 3] = max(box[d + 3], other[d + 3])


@inline
def _best_split(boxes, order, begin, end, lower, upper, bins, counts, right):
    """Return axis and bin of the split with the smallest sum of area times count; axis -1 if none helps."""
    best, best_axis, best_bin = np.inf, -1, 0
    box = np.empty(6)
    for axis in range(3):
        extent = upper[axis] - lower[axis]
        if not extent > 0.0:
            continue
        for b in range(BINS):
            _clear(bins[b])
            counts[b] = 0
        for p in range(begin, end):
            t = order[p]
            middle = 0.5 * (boxes[t, axis] + boxes[t, axis + 3])
            b = min(BINS - 1, int(BINS * ((middle - lower[axis]) / extent)))
            counts[b] += 1
            _widen(bins[b], boxes[t])
        _clear(box)
        for b in range(BINS - 1, 0, -1):
            _widen(box, bins[b])
            right[b] = _half_area(box)
        _clear(box)
        before = 0
        for b in range(BINS - 1):
            _widen(box, bins[b])
            before += counts[b]
            if before == 0 or before == end - begin:
                continue
            cost = _half_area(box) * before + right[b + 1] * (end - begin - before)
            if cost < best:
                best, best_axis, best_bin = cost, axis, b
    return best_axis, best_bin


@inline
def _partition(boxes, order, begin, end, axis, last, lower, extent, other):
    """Move the triangles of the bins up to `last` to the front, keeping their order; return where they end."""
    place, kept = begin, 0
    for p in range(begin, end):
        t = order[p]
        middle = 0.5 * (boxes[t, axis] + boxes[t, axis + 3])
        if min(BINS - 1, int(BINS * ((middle - lower) / extent))) <= last:
            order[place] = t
            place += 1
        else:
            other[kept] = t
            kept += 1
    for i in range(kept):
        order[place + i] = other[i]
    return place


@kernel
def build(boxes, nodes, links, order):
    """Build a binary tree over triangles by the surface-area heuristic in bins.

    Args:
        boxes: Bounds of each triangle, lower then upper, shape [k, 6].
        nodes: Receives for each inner node the bounds of its two children, shape [>= k, 12].
        links: Receives the children of each inner node: a node's number, or for a leaf -1 minus
            (first * 16 + count) of its triangles in `order`; shape [>= k, 2].
        order: Receives the triangles' numbers, leaf after leaf, shape [k].

    Returns:
        The number of inner nodes. The first one is the root; its parts may be one leaf twice.
    """
    k = boxes.shape[0]
    bins, counts, right = np.empty((BINS, 6)), np.empty(BINS, np.int64), np.empty(BINS)
    other = np.empty(k, np.int32)
    lower, upper = np.empty(3), np.empty(3)
    jobs = np.empty((STACK, 5), np.int64)  # begin, end, where the link belongs (node and side), depth
    for t in range(k):
        order[t] = t
    used = 0
    jobs[0, :] = 0
    jobs[0, 1], jobs[0, 2] = k, -1
    top = 1
    while top > 0:
        top -= 1
        job = jobs[top]
        begin, end, parent, side, depth = job[0], job[1], job[2], job[3], job[4]
        count = end - begin
        if parent >= 0:
            box = nodes[parent, 6 * side : 6 * side + 6]
            _clear(box)
            for p in range(begin, end):
                _widen(box, boxes[order[p]])
            if count <= LEAF:
                links[parent, side] = -1 - (begin * 2**COUNT_BITS + count)
                continue
            links[parent, side] = used
        node = used
        used += 1
        for d in range(3):
            lower[d], upper[d] = np.inf, -np.inf
        for p in range(begin, end):
            t = order[p]
            for d in range(3):
                middle = 0.5 * (boxes[t, d] + boxes[t, d + 3])
                lower[d] = min(lower[d], middle)
                upper[d] = max(upper[d], middle)
        axis, last = -1, 0
        if depth < 48:  # further down halves, so that no stack overflows
            axis, last = _best_split(boxes, order, begin, end, lower, upper, bins, counts, right)
        middle_place = (begin + end) // 2
        if axis >= 0:
            extent = upper[axis] - lower[axis]
            middle_place = _partition(boxes, order, begin, end, axis, last, lower[axis], extent, other)
        for side in range(2):
            job = jobs[top + 1 - side]
            job[0], job[1] = (begin, middle_place) if side == 0 else (middle_place, end)
            job[2], job[3], job[4] = node, side, depth + 1
        top += 2
    return used
