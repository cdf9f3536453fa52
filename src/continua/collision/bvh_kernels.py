"""Compiled bounding volume hierarchies: refitting boxes to a motion, and queries of what overlaps a box."""

from __future__ import annotations

from numba import prange

from continua.numerics import inline, kernel, kernel_pair

__all__ = ["find_overlapping_surfaces", "query_box", "refit_inner_nodes", "refit_leaves"]

STACK = 64  # deeper than any balanced tree of 32-bit numbers


@kernel_pair
def refit_leaves(cells, order, leaf_range, leaf_node, margin, x0, x1, boxes):
    """Fit every leaf's box [6] around its cells in the motion from x0 to x1, widened by its `margin`.

    Args:
        cells: Points of each cell [c, k].
        order: Cells in the order of the leaves.
        leaf_range: First cell and end of each leaf in `order`, shape [leaves, 2].
        leaf_node: The box of each leaf.
        margin: Of each leaf [m].
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        boxes: Smallest and largest coordinates, shape [boxes, 6].
    """
    for leaf in prange(leaf_node.shape[0]):
        node = leaf_node[leaf]
        for i in range(3):
            low, high = 1e300, -1e300
            for q in range(leaf_range[leaf, 0], leaf_range[leaf, 1]):
                for k in range(cells.shape[1]):
                    p = cells[order[q], k]
                    low = min(low, min(x0[p, i], x1[p, i]))
                    high = max(high, max(x0[p, i], x1[p, i]))
            boxes[node, i] = low - margin[leaf]
            boxes[node, 3 + i] = high + margin[leaf]


@kernel
def refit_inner_nodes(root, leaf_count, boxes):
    """Fit all other boxes around their two children, from the leaves up."""
    for m in range(root.shape[0]):
        for node in range(leaf_count[m] - 2, -1, -1):
            a, one, two = root[m] + node, root[m] + 2 * node + 1, root[m] + 2 * node + 2
            for i in range(3):
                boxes[a, i] = min(boxes[one, i], boxes[two, i])
                boxes[a, 3 + i] = max(boxes[one, 3 + i], boxes[two, 3 + i])


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
def find_overlapping_surfaces(allowed, root, leaf_count, boxes, extent, ptr, partner):
    """List for every surface those whose tree its box overlaps; returns their total number.

    Args:
        allowed: Whether cells of the row are to be looked up in the tree of the column, shape [m, m].
        root: Root of each tree.
        leaf_count: Leaves of each tree; 0 is no tree.
        boxes: Boxes of the trees [boxes, 6].
        extent: Box around each whole surface over the step, shape [m, 6].
        ptr: Receives the start of each surface's partners, shape [m + 1].
        partner: Receives the partners, shape [m * m].
    """
    count = 0
    for a in range(allowed.shape[0]):
        ptr[a] = count
        for b in range(allowed.shape[0]):
            if (
                allowed[a, b]
                and leaf_count[b] > 0
                and overlaps(
                    boxes, root[b], extent[a, 0], extent[a, 1], extent[a, 2],
                    extent[a, 3], extent[a, 4], extent[a, 5],
                )
            ):  # fmt: skip
                partner[count] = b
                count += 1
    ptr[allowed.shape[0]] = count
    return count
