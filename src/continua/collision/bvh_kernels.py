"""Compiled bounding volume hierarchies: refitting boxes to a motion, and queries of what overlaps a box."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel

__all__ = [
    "find_overlapping_surfaces",
    "fit_surfaces",
    "list_cells_in_zones",
    "list_near_cells",
    "query_box",
    "refit",
    "refit_large",
]

STACK = 64  # deeper than any balanced tree of 32-bit numbers


@inline
def _fit_leaf(tree, leaf, wide, x0, x1):
    """Fit the box of a leaf around its cells in the motion from x0 to x1, widened by `wide`."""
    lx, ly, lz, hx, hy, hz = 1e300, 1e300, 1e300, -1e300, -1e300, -1e300
    for q in range(tree.leaf_range[leaf, 0], tree.leaf_range[leaf, 1]):
        for k in range(tree.cells.shape[1]):
            p = tree.cells[tree.order[q], k]
            lx, hx = min(lx, min(x0[p, 0], x1[p, 0])), max(hx, max(x0[p, 0], x1[p, 0]))
            ly, hy = min(ly, min(x0[p, 1], x1[p, 1])), max(hy, max(x0[p, 1], x1[p, 1]))
            lz, hz = min(lz, min(x0[p, 2], x1[p, 2])), max(hz, max(x0[p, 2], x1[p, 2]))
    node = tree.leaf_node[leaf]
    tree.boxes[node, 0], tree.boxes[node, 1], tree.boxes[node, 2] = lx - wide, ly - wide, lz - wide
    tree.boxes[node, 3], tree.boxes[node, 4], tree.boxes[node, 5] = hx + wide, hy + wide, hz + wide


@kernel
def refit(tree, which, widening, x0, x1):
    """Fit the boxes of some surfaces to the motion from x0 to x1.

    Args:
        tree: The trees, a `Bvh`.
        which: Whether a surface's tree is to be fitted, shape [m].
        widening: By how much the boxes of each surface are widened [m].
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
    """
    for m in range(which.shape[0]):
        if which[m]:
            for leaf in range(tree.first_leaf[m], tree.first_leaf[m] + tree.leaf_count[m]):
                _fit_leaf(tree, leaf, widening[m], x0, x1)
            _fit_inner_nodes(tree, m)


@kernel(parallel=True)
def refit_large(tree, which, widening, x0, x1):
    """Do the same as `refit`, where there are many leaves."""
    for leaf in prange(tree.leaf_node.shape[0]):
        if which[tree.leaf_surface[leaf]]:
            _fit_leaf(tree, leaf, widening[tree.leaf_surface[leaf]], x0, x1)
    for m in range(which.shape[0]):
        if which[m]:
            _fit_inner_nodes(tree, m)


@inline
def _fit_inner_nodes(tree, m):
    """Fit the other boxes of a surface around their two children, from the leaves up."""
    boxes = tree.boxes
    for node in range(tree.leaf_count[m] - 2, -1, -1):
        a, one, two = tree.root[m] + node, tree.root[m] + 2 * node + 1, tree.root[m] + 2 * node + 2
        for i in range(3):
            boxes[a, i] = min(boxes[one, i], boxes[two, i])
            boxes[a, 3 + i] = max(boxes[one, 3 + i], boxes[two, 3 + i])


@kernel
def fit_surfaces(points, first, which, x0, x1, swept):
    """Fit a box around the paths of all points of some surfaces; one without points gets a box that overlaps none.

    Returns the largest coordinate of all surfaces [m].

    Args:
        points: The points of all surfaces, one after the other.
        first: The first of each surface, and the end.
        which: Whether a surface's box is to be fitted.
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        swept: Receives smallest and largest coordinates, shape [m, 6].
    """
    for m in range(which.shape[0]):
        if not which[m]:
            continue
        lx, ly, lz, hx, hy, hz = 1e300, 1e300, 1e300, -1e300, -1e300, -1e300
        for q in range(first[m], first[m + 1]):
            p = points[q]
            lx, hx = min(lx, min(x0[p, 0], x1[p, 0])), max(hx, max(x0[p, 0], x1[p, 0]))
            ly, hy = min(ly, min(x0[p, 1], x1[p, 1])), max(hy, max(x0[p, 1], x1[p, 1]))
            lz, hz = min(lz, min(x0[p, 2], x1[p, 2])), max(hz, max(x0[p, 2], x1[p, 2]))
        swept[m, 0], swept[m, 1], swept[m, 2] = lx, ly, lz
        swept[m, 3], swept[m, 4], swept[m, 5] = hx, hy, hz
    largest = 0.0
    for m in range(which.shape[0]):
        if first[m] < first[m + 1]:
            for i in range(6):
                largest = max(largest, abs(swept[m, i]))
    return largest


@inline
def overlaps(boxes, node, lx, ly, lz, hx, hy, hz):
    """Return whether a box overlaps that from (lx, ly, lz) to (hx, hy, hz)."""
    return (
        lx <= boxes[node, 3]
        and hx >= boxes[node, 0]
        and ly <= boxes[node, 4]
        and hy >= boxes[node, 1]
        and lz <= boxes[node, 5]
        and hz >= boxes[node, 2]
    )


@inline
def query_box(boxes, root, leaf_count, leaf_range, first_leaf, order, lx, ly, lz, hx, hy, hz, stack, found):
    """Write the cells of the leaves that overlap a box to `found` and return their number."""
    count = 0
    if leaf_count == 0 or not overlaps(boxes, root, lx, ly, lz, hx, hy, hz):
        return count
    stack[0] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if node >= leaf_count - 1:
            leaf = first_leaf + node - (leaf_count - 1)
            for q in range(leaf_range[leaf, 0], leaf_range[leaf, 1]):
                found[count] = order[q]
                count += 1
            continue
        for child in range(2 * node + 2, 2 * node, -1):
            if overlaps(boxes, root + child, lx, ly, lz, hx, hy, hz):
                stack[depth] = child
                depth += 1
    return count


@kernel
def find_overlapping_surfaces(
    allowed, leaf_count, swept, widening, is_static, fitted, extent, ptr, partner, to_fit
):
    """List for every surface those whose box its own overlaps, and whose trees must be fitted; returns their number.

    Args:
        allowed: Whether cells of the row are to be looked up in the tree of the column, shape [m, m].
        leaf_count: Leaves of each tree; 0 is no tree.
        swept: Box around the path of each whole surface, shape [m, 6].
        widening: By how much each surface is widened [m].
        is_static: Whether a surface never moves: its tree is fitted again only if it has to be wider.
        fitted: By how much the boxes of each tree are wider than the surface [m], also changed.
        extent: Receives the widened boxes, shape [m, 6].
        ptr: Receives the start of each surface's partners, shape [m + 1].
        partner: Receives the partners, shape [m * m].
        to_fit: Receives whether a surface's tree must be fitted, shape [m].
    """
    surfaces = swept.shape[0]
    for a in range(surfaces):
        to_fit[a] = False
        for i in range(3):
            extent[a, i], extent[a, 3 + i] = swept[a, i] - widening[a], swept[a, 3 + i] + widening[a]
    count = 0
    for a in range(surfaces):
        ptr[a] = count
        for b in range(surfaces):
            if (
                allowed[a, b]
                and leaf_count[b] > 0
                and overlaps(
                    extent, b, extent[a, 0], extent[a, 1], extent[a, 2],
                    extent[a, 3], extent[a, 4], extent[a, 5],
                )
            ):  # fmt: skip
                partner[count] = b
                count += 1
                to_fit[b] = not is_static[b] or widening[b] > fitted[b]
    ptr[surfaces] = count
    for b in range(surfaces):
        if to_fit[b]:
            fitted[b] = widening[b]
    return count


@inline
def _is_larger(one, i, other, j):
    """Return whether the longest side of box i is longer than that of box j."""
    a = max(one[i, 3] - one[i, 0], max(one[i, 4] - one[i, 1], one[i, 5] - one[i, 2]))
    b = max(other[j, 3] - other[j, 0], max(other[j, 4] - other[j, 1], other[j, 5] - other[j, 2]))
    return a > b


@inline
def _mark_near(own, m, tree, b, radius, stack, mark):
    """Mark the cells of surface m in the leaves of its tree that overlap leaves of surface b in another tree."""
    count, others = own.leaf_count[m], tree.leaf_count[b]
    stack[0, 0] = stack[0, 1] = 0
    depth = 1
    while depth > 0:
        depth -= 1
        i, j = stack[depth, 0], stack[depth, 1]
        at, to = own.root[m] + i, tree.root[b] + j
        if not overlaps(
            tree.boxes, to,
            own.boxes[at, 0] - radius, own.boxes[at, 1] - radius, own.boxes[at, 2] - radius,
            own.boxes[at, 3] + radius, own.boxes[at, 4] + radius, own.boxes[at, 5] + radius,
        ):  # fmt: skip
            continue
        is_leaf, to_leaf = i >= count - 1, j >= others - 1
        if is_leaf:
            leaf = own.first_leaf[m] + i - (count - 1)
            begin, end = own.leaf_range[leaf, 0], own.leaf_range[leaf, 1]
            if begin == end or mark[own.order[begin]] == 1:
                continue
            if to_leaf:
                for q in range(begin, end):
                    mark[own.order[q]] = 1
                continue
        if not is_leaf and (to_leaf or _is_larger(own.boxes, at, tree.boxes, to)):
            stack[depth, 0], stack[depth, 1] = 2 * i + 1, j
            stack[depth + 1, 0], stack[depth + 1, 1] = 2 * i + 2, j
        else:
            stack[depth, 0], stack[depth, 1] = i, 2 * j + 1
            stack[depth + 1, 0], stack[depth + 1, 1] = i, 2 * j + 2
        depth += 2


@kernel
def list_near_cells(cells, first, own, tree, ptr, partner, x0, x1, radius, mark, near):
    """List the cells whose path may touch the tree of a partner, in their order; returns their number.

    Args:
        cells: Points of each cell [c, k], surface after surface.
        first: First cell of each surface, and the end, shape [m + 1].
        own: Trees over the cells of those surfaces that have one here; of the others each cell is looked at.
        tree: Trees of the partners.
        ptr: Start of each surface's partners.
        partner: The partners.
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        radius: Radius of each surface [m].
        mark: Zeros, before and after, shape [c].
        near: Receives the cells, shape [c].
    """
    count = 0
    stack = np.empty((2 * STACK, 2), np.int32)
    for m in range(first.shape[0] - 1):
        if ptr[m] == ptr[m + 1]:
            continue
        r = radius[m]
        if own.leaf_count[m] > 0:
            for j in range(ptr[m], ptr[m + 1]):
                _mark_near(own, m, tree, partner[j], r, stack, mark)
            for i in range(first[m], first[m + 1]):
                if mark[i] == 1:
                    near[count] = i
                    count += 1
                    mark[i] = 0
            continue
        for i in range(first[m], first[m + 1]):
            lx, ly, lz, hx, hy, hz = 1e300, 1e300, 1e300, -1e300, -1e300, -1e300
            for k in range(cells.shape[1]):
                p = cells[i, k]
                lx, hx = min(lx, min(x0[p, 0], x1[p, 0])), max(hx, max(x0[p, 0], x1[p, 0]))
                ly, hy = min(ly, min(x0[p, 1], x1[p, 1])), max(hy, max(x0[p, 1], x1[p, 1]))
                lz, hz = min(lz, min(x0[p, 2], x1[p, 2])), max(hz, max(x0[p, 2], x1[p, 2]))
            for j in range(ptr[m], ptr[m + 1]):
                root = tree.root[partner[j]]
                if overlaps(tree.boxes, root, lx - r, ly - r, lz - r, hx + r, hy + r, hz + r):
                    near[count] = i
                    count += 1
                    break
    return count


@kernel
def list_cells_in_zones(cells, first, skip, ptr, partner, x0, x1, widening, extent, inside):
    """List the cells of surfaces whose path comes near a surface that theirs may touch; returns their number.

    Args:
        cells: Points of each cell [c, k], surface after surface.
        first: First cell of each surface, and the end, shape [m + 1].
        skip: Surfaces that are not looked at, shape [m].
        ptr: Start of each surface's partners.
        partner: The partners.
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        widening: By which the cells of each surface are widened [m].
        extent: Box around each whole surface over the step, shape [m, 6].
        inside: Receives the cells, shape [c].
    """
    surfaces = first.shape[0] - 1
    zone = np.empty((surfaces, 6))  # the box around all surfaces that each may touch
    zone[:, :3], zone[:, 3:] = 1e300, -1e300
    for m in range(surfaces):
        for j in range(ptr[m], ptr[m + 1]):
            b = partner[j]
            for i in range(3):
                zone[m, i], zone[b, i] = min(zone[m, i], extent[b, i]), min(zone[b, i], extent[m, i])
                zone[m, 3 + i] = max(zone[m, 3 + i], extent[b, 3 + i])
                zone[b, 3 + i] = max(zone[b, 3 + i], extent[m, 3 + i])
    count = 0
    for m in range(surfaces):
        if skip[m] or zone[m, 0] > zone[m, 3]:
            continue
        r = widening[m]
        for i in range(first[m], first[m + 1]):
            lx, ly, lz, hx, hy, hz = 1e300, 1e300, 1e300, -1e300, -1e300, -1e300
            for k in range(cells.shape[1]):
                p = cells[i, k]
                lx, hx = min(lx, min(x0[p, 0], x1[p, 0])), max(hx, max(x0[p, 0], x1[p, 0]))
                ly, hy = min(ly, min(x0[p, 1], x1[p, 1])), max(hy, max(x0[p, 1], x1[p, 1]))
                lz, hz = min(lz, min(x0[p, 2], x1[p, 2])), max(hz, max(x0[p, 2], x1[p, 2]))
            if overlaps(zone, m, lx - r, ly - r, lz - r, hx + r, hy + r, hz + r):
                inside[count] = i
                count += 1
    return count
