"""Compiled point location: which element holds a point, and the nearest place of a surface to one outside."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.closest_points import closest_point_triangle, row3


@inline
def _barycentric(points, tets, e, x, y, z):
    """Return the four barycentric coordinates of (x, y, z) in tet e."""
    i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
    ox, oy, oz = points[i, 0], points[i, 1], points[i, 2]
    ax, ay, az = points[j, 0] - ox, points[j, 1] - oy, points[j, 2] - oz
    bx, by, bz = points[k, 0] - ox, points[k, 1] - oy, points[k, 2] - oz
    cx, cy, cz = points[l, 0] - ox, points[l, 1] - oy, points[l, 2] - oz
    dx, dy, dz = x - ox, y - oy, z - oz
    ux, uy, uz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    inverse = 1.0 / (ax * ux + ay * uy + az * uz)
    b1 = (dx * ux + dy * uy + dz * uz) * inverse
    vx, vy, vz = dy * cz - dz * cy, dz * cx - dx * cz, dx * cy - dy * cx
    b2 = (ax * vx + ay * vy + az * vz) * inverse
    wx, wy, wz = by * dz - bz * dy, bz * dx - bx * dz, bx * dy - by * dx
    b3 = (ax * wx + ay * wy + az * wz) * inverse
    return 1.0 - b1 - b2 - b3, b1, b2, b3


@kernel_pair
def locate(points, tets, lower, upper, order, starts, queries, tolerance, element, weights):
    """Find for each query the tet in which its smallest barycentric coordinate is largest.

    `element` becomes -1 where that coordinate is below -`tolerance`: the query lies outside.
    """
    inner = starts.size - 2
    for q in prange(queries.shape[0]):
        x, y, z = queries[q, 0], queries[q, 1], queries[q, 2]
        best = -tolerance
        element[q] = -1
        stack = np.empty(64, np.int32)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if (
                x < lower[node, 0]
                or y < lower[node, 1]
                or z < lower[node, 2]
                or x > upper[node, 0]
                or y > upper[node, 1]
                or z > upper[node, 2]
            ):
                continue
            if node < inner:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node + 2
                top += 2
                continue
            for p in range(starts[node - inner], starts[node - inner + 1]):
                e = order[p]
                b0, b1, b2, b3 = _barycentric(points, tets, e, x, y, z)
                smallest = min(min(b0, b1), min(b2, b3))
                if smallest > best or (smallest == best and element[q] < 0):
                    best = smallest
                    element[q] = e
                    weights[q, 0], weights[q, 1], weights[q, 2], weights[q, 3] = b0, b1, b2, b3


@inline
def _box_distance(lower, upper, node, x, y, z):
    """Return the squared distance from a point to a box."""
    dx = max(0.0, max(lower[node, 0] - x, x - upper[node, 0]))
    dy = max(0.0, max(lower[node, 1] - y, y - upper[node, 1]))
    dz = max(0.0, max(lower[node, 2] - z, z - upper[node, 2]))
    return dx * dx + dy * dy + dz * dz


@inline
def _triangle(points, triangles, t, p):
    """Return where triangle t is nearest to p, barycentric, and the squared distance."""
    a, b, c = row3(points, triangles[t, 0]), row3(points, triangles[t, 1]), row3(points, triangles[t, 2])
    w = closest_point_triangle(p, a, b, c)
    dx = p[0] - a[0] - w[1] * (b[0] - a[0]) - w[2] * (c[0] - a[0])
    dy = p[1] - a[1] - w[1] * (b[1] - a[1]) - w[2] * (c[1] - a[1])
    dz = p[2] - a[2] - w[1] * (b[2] - a[2]) - w[2] * (c[2] - a[2])
    return w[0], w[1], w[2], dx * dx + dy * dy + dz * dz


@kernel_pair
def nearest_triangles(
    points, triangles, lower, upper, order, starts, normals, pieces,
    queries, directions, groups, allowed, nearest, weights, distances,
):  # fmt: skip
    """Find for each query the nearest triangle that faces its direction and is of an allowed piece.

    A triangle counts if the dot product of its normal with the query's direction is positive (a zero
    direction accepts all) and `allowed[group of the query, piece of the triangle]` is true. `nearest` is -1
    where no triangle counts.
    """
    inner = starts.size - 2
    for q in prange(queries.shape[0]):
        x, y, z = queries[q, 0], queries[q, 1], queries[q, 2]
        nx, ny, nz = directions[q, 0], directions[q, 1], directions[q, 2]
        free = nx == 0.0 and ny == 0.0 and nz == 0.0
        best = np.inf
        nearest[q] = -1
        stack = np.empty(64, np.int32)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            if _box_distance(lower, upper, node, x, y, z) >= best:
                continue
            if node < inner:
                left, right = 2 * node + 1, 2 * node + 2
                if _box_distance(lower, upper, left, x, y, z) < _box_distance(lower, upper, right, x, y, z):
                    left, right = right, left
                stack[top] = left
                stack[top + 1] = right
                top += 2
                continue
            for p in range(starts[node - inner], starts[node - inner + 1]):
                t = order[p]
                if not allowed[groups[q], pieces[t]]:
                    continue
                facing = normals[t, 0] * nx + normals[t, 1] * ny + normals[t, 2] * nz
                if not free and facing <= 0.0:
                    continue
                b0, b1, b2, distance = _triangle(points, triangles, t, (x, y, z))
                if distance < best or (distance == best and t < nearest[q]):
                    best = distance
                    nearest[q] = t
                    weights[q, 0], weights[q, 1], weights[q, 2] = b0, b1, b2
        distances[q] = np.sqrt(best)


@kernel_pair
def best_outside(points, tets, indptr, indices, triangles, queries, nearest, element, weights):
    """Choose a tet for each query that has none yet, among those around its nearest triangle's nodes.

    The tet with the smallest w = max(0, -b_0, ..., -b_3) wins, so that weights extrapolate as little as
    possible.
    """
    for q in prange(queries.shape[0]):
        if element[q] >= 0:
            continue
        x, y, z = queries[q, 0], queries[q, 1], queries[q, 2]
        best = np.inf
        for corner in range(3):
            node = triangles[nearest[q], corner]
            for p in range(indptr[node], indptr[node + 1]):
                e = indices[p]
                b0, b1, b2, b3 = _barycentric(points, tets, e, x, y, z)
                w = max(0.0, -min(min(b0, b1), min(b2, b3)))
                if w < best:
                    best = w
                    element[q] = e
                    weights[q, 0], weights[q, 1], weights[q, 2], weights[q, 3] = b0, b1, b2, b3
