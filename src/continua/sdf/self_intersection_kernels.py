"""Compiled search for triangles of a surface that pass through each other.

The corners come moved by tiny random ways. So an edge never passes exactly through an edge or a corner, as in parts
that are each other's mirror image; what only touches is told apart by how far the ends of an edge are on both sides.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.sdf.bvh_kernels import COUNT_BITS, STACK


@inline
def _volume(p, i, q, j, r, k, s, l):
    """Return six times the volume of a tetrahedron; its corners are p[3 i:], q[3 j:], r[3 k:] and s[3 l:]."""
    ax, ay, az = q[3 * j] - p[3 * i], q[3 * j + 1] - p[3 * i + 1], q[3 * j + 2] - p[3 * i + 2]
    bx, by, bz = r[3 * k] - p[3 * i], r[3 * k + 1] - p[3 * i + 1], r[3 * k + 2] - p[3 * i + 2]
    cx, cy, cz = s[3 * l] - p[3 * i], s[3 * l + 1] - p[3 * i + 1], s[3 * l + 2] - p[3 * i + 2]
    return ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)


@inline
def _edge_crosses(a, i, b, slack):
    """Tell whether the edge of triangle a from corner i to the next passes through the inside of triangle b."""
    j = (i + 1) % 3
    first, last = _volume(a, i, b, 0, b, 1, b, 2), _volume(a, j, b, 0, b, 1, b, 2)
    if first * last >= 0.0:
        return False
    ux, uy, uz = b[3] - b[0], b[4] - b[1], b[5] - b[2]
    vx, vy, vz = b[6] - b[0], b[7] - b[1], b[8] - b[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    if min(abs(first), abs(last)) <= slack * sqrt(nx * nx + ny * ny + nz * nz):
        return False
    u = _volume(a, i, a, j, b, 0, b, 1)
    v = _volume(a, i, a, j, b, 1, b, 2)
    w = _volume(a, i, a, j, b, 2, b, 0)
    return min(u, min(v, w)) > 0.0 or max(u, max(v, w)) < 0.0


@inline
def _cross(a, nodes_a, b, nodes_b, slack):
    """Tell whether an edge of one triangle, without a node of the other, passes through the other."""
    for _ in range(2):
        for i in range(3):
            start, end = nodes_a[i], nodes_a[(i + 1) % 3]
            shared = False
            for k in range(3):
                if nodes_b[k] == start or nodes_b[k] == end:
                    shared = True
            if not shared and _edge_crosses(a, i, b, slack):
                return True
        a, b, nodes_a, nodes_b = b, a, nodes_b, nodes_a
    return False


@kernel_pair
def count_crossings(tree, slack, crossings):
    """Count for each triangle, in the order of the tree, the others with a higher number that it passes through.

    `slack` is the distance [m] from a triangle's plane below which a point counts as lying in it.
    """
    for t in prange(tree.corners.shape[0]):
        a = tree.corners[t]
        found = 0
        lower, upper = np.empty(3), np.empty(3)
        for d in range(3):
            lower[d] = min(a[d], min(a[3 + d], a[6 + d]))
            upper[d] = max(a[d], max(a[3 + d], a[6 + d]))
        stack = np.empty(STACK, np.int64)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if node < 0:
                first = (-1 - node) >> COUNT_BITS
                for other in range(max(first, t + 1), first + ((-1 - node) & (2**COUNT_BITS - 1))):
                    if _cross(a, tree.features[t, 4:], tree.corners[other], tree.features[other, 4:], slack):
                        found += 1
                continue
            box = tree.nodes[node]
            for side in range(2):
                apart = False
                for d in range(3):
                    if upper[d] < box[6 * side + d] or lower[d] > box[6 * side + 3 + d]:
                        apart = True
                if not apart:
                    stack[top] = tree.links[node, side]
                    top += 1
        crossings[t] = found
