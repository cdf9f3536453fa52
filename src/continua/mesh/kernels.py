"""Compiled functions of meshes: sorted faces and edges, colouring, embedded surfaces, smoothing of nodes."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair


@kernel
def unique_rows(rows, count):
    """Find the different rows of an integer table by a counting sort on each column, last column first.

    Args:
        rows: int32, shape [m, k], values from 0 to `count` - 1.
        count: Number of possible values.

    Returns:
        The different rows in lexicographic order [u, k]; for each row the number of its group [m]; the
        rows' numbers in sorted order [m] (stable); the start of each group in that order [u + 1].
    """
    m, k = rows.shape
    order = np.arange(m).astype(np.int32)
    other = np.empty(m, np.int32)
    for column in range(k - 1, -1, -1):
        start = np.zeros(count + 1, np.int32)
        for i in range(m):
            start[rows[i, column] + 1] += 1
        for v in range(count):
            start[v + 1] += start[v]
        for i in range(m):
            row = order[i]
            value = rows[row, column]
            other[start[value]] = row
            start[value] += 1
        order, other = other, order
    group = np.empty(m, np.int32)
    starts = np.empty(m + 1, np.int32)
    groups = 0
    for i in range(m):
        fresh = i == 0
        if not fresh:
            for c in range(k):
                if rows[order[i], c] != rows[order[i - 1], c]:
                    fresh = True
        if fresh:
            starts[groups] = i
            groups += 1
        group[order[i]] = groups - 1
    starts[groups] = m
    different = np.empty((groups, k), np.int32)
    for g in range(groups):
        for c in range(k):
            different[g, c] = rows[order[starts[g]], c]
    return different, group, order, starts[: groups + 1].copy()


@kernel
def invert_table(table, count):
    """List for each value from 0 to `count` - 1 the rows of `table` [m, k] that hold it, as CSR."""
    m, k = table.shape
    indptr = np.zeros(count + 1, np.int32)
    for i in range(m):
        for c in range(k):
            indptr[table[i, c] + 1] += 1
    for v in range(count):
        indptr[v + 1] += indptr[v]
    place = indptr[:-1].copy()
    indices = np.empty(m * k, np.int32)
    for i in range(m):
        for c in range(k):
            v = table[i, c]
            indices[place[v]] = i
            place[v] += 1
    return indptr, indices


@kernel
def color_nodes(indptr, indices):
    """Give each node the smallest colour that none of its earlier neighbours has (greedy, in order)."""
    n = indptr.size - 1
    colors = np.full(n, -1, np.int32)
    mark = np.full(n + 1, -1, np.int32)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            c = colors[indices[p]]
            if c >= 0:
                mark[c] = i
        c = 0
        while mark[c] == i:
            c += 1
        colors[i] = c
    return colors


@kernel
def color_elements(cells, indptr, indices):
    """Give each element the smallest colour that no earlier element with a common node has."""
    m, k = cells.shape
    colors = np.full(m, -1, np.int32)
    mark = np.full(m + 1, -1, np.int32)
    for e in range(m):
        for j in range(k):
            v = cells[e, j]
            for p in range(indptr[v], indptr[v + 1]):
                c = colors[indices[p]]
                if c >= 0:
                    mark[c] = e
        c = 0
        while mark[c] == e:
            c += 1
        colors[e] = c
    return colors


@kernel_pair
def interpolate(nodes, weights, x, result):
    """Mix the positions x of four nodes for each carried point."""
    for q in prange(nodes.shape[0]):
        for d in range(3):
            total = 0.0
            for c in range(4):
                total += weights[q, c] * x[nodes[q, c], d]
            result[q, d] = total


@kernel_pair
def area_vectors(triangles, x, result):
    """Compute each triangle's normal times its area."""
    for t in prange(triangles.shape[0]):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ux, uy, uz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        vx, vy, vz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        result[t, 0] = 0.5 * (uy * vz - uz * vy)
        result[t, 1] = 0.5 * (uz * vx - ux * vz)
        result[t, 2] = 0.5 * (ux * vy - uy * vx)


@kernel_pair
def gather_rows(indptr, indices, rows, result):
    """Add up the rows listed for each entry of a CSR table."""
    for i in prange(indptr.size - 1):
        for d in range(3):
            total = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                total += rows[indices[p], d]
            result[i, d] = total


@kernel_pair
def interpolate_normals(faces, corners, mix, tilt, own, area, nodal, facial, x, result):
    """Compute unit normals of carried points from the coarse surface.

    The normal is `mix` of the area-weighted normals of the face's corners, plus `own` times the face's own,
    plus the `tilt` of the corner positions. The first two grow with the area and the last with the length, so
    each is divided by how much the face has grown.
    """
    for q in prange(faces.size):
        f = faces[q]
        ax, ay, az = facial[f, 0], facial[f, 1], facial[f, 2]
        growth = np.sqrt(ax * ax + ay * ay + az * az) / area[f]
        if growth <= 0.0:
            growth = 1.0
        side = np.sqrt(growth)
        square = 0.0
        for d in range(3):
            total = own[q] * facial[f, d]
            lean = 0.0
            for c in range(3):
                total += mix[q, c] * nodal[corners[f, c], d]
                lean += tilt[q, c] * x[corners[f, c], d]
            value = total / growth + lean / side
            result[q, d] = value
            square += value * value
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for d in range(3):
                result[q, d] *= scale


@inline
def _largest_cosine(points, tets, e):
    """Return the cosine of the smallest dihedral angle of tet e, or 2 if it is not positive."""
    i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
    ax, ay, az = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    bx, by, bz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    cx, cy, cz = points[l, 0] - points[i, 0], points[l, 1] - points[i, 1], points[l, 2] - points[i, 2]
    # Inward normals of the faces opposite nodes 1, 2, 3; the one opposite node 0 is minus their sum.
    px, py, pz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    qx, qy, qz = cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax
    rx, ry, rz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    if ax * px + ay * py + az * pz <= 0.0:
        return 2.0
    sx, sy, sz = -px - qx - rx, -py - qy - ry, -pz - qz - rz
    p = np.sqrt(px * px + py * py + pz * pz)
    q = np.sqrt(qx * qx + qy * qy + qz * qz)
    r = np.sqrt(rx * rx + ry * ry + rz * rz)
    s = np.sqrt(sx * sx + sy * sy + sz * sz)
    first = max(-(px * qx + py * qy + pz * qz) / (p * q), -(px * rx + py * ry + pz * rz) / (p * r))
    second = max(-(qx * rx + qy * ry + qz * rz) / (q * r), -(px * sx + py * sy + pz * sz) / (p * s))
    third = max(-(qx * sx + qy * sy + qz * sz) / (q * s), -(rx * sx + ry * sy + rz * sz) / (r * s))
    return max(first, max(second, third))


@inline
def _radius_edge(points, tets, e):
    """Return circumradius over shortest edge of tet e, or a huge number if its volume is not positive."""
    i, j, k, l = tets[e, 0], tets[e, 1], tets[e, 2], tets[e, 3]
    ax, ay, az = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    bx, by, bz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    cx, cy, cz = points[l, 0] - points[i, 0], points[l, 1] - points[i, 1], points[l, 2] - points[i, 2]
    px, py, pz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    qx, qy, qz = cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax
    rx, ry, rz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    determinant = ax * px + ay * py + az * pz
    if determinant <= 0.0:
        return 1e300
    a, b, c = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, cx * cx + cy * cy + cz * cz
    ux, uy, uz = a * px + b * qx + c * rx, a * py + b * qy + c * ry, a * pz + b * qz + c * rz
    ab = (ax - bx) ** 2 + (ay - by) ** 2 + (az - bz) ** 2
    bc = (bx - cx) ** 2 + (by - cy) ** 2 + (bz - cz) ** 2
    ca = (cx - ax) ** 2 + (cy - ay) ** 2 + (cz - az) ** 2
    shortest = min(min(min(a, b), min(c, ab)), min(bc, ca))
    return np.sqrt((ux * ux + uy * uy + uz * uz) / shortest) / (2.0 * determinant)


@inline
def _shape_cost(points, tets, e, by_sine, by_ratio):
    """Return how badly tet e is shaped: the larger of two weighted measures, or a huge number if it is inverted."""
    cosine = _largest_cosine(points, tets, e)
    if cosine >= 1.0:
        return 1e300
    cost = by_sine / np.sqrt(1.0 - cosine * cosine)
    if by_ratio > 0.0:
        cost = max(cost, by_ratio * _radius_edge(points, tets, e))
    return cost


@kernel
def smooth_nodes(points, tets, indptr, indices, nodes, by_sine, by_ratio):
    """Move each listed node, in place, where the worst shape around it is better; count the moves.

    The cost of a shape is `by_sine` over the sine of its smallest dihedral angle (at most 71 degrees), or circumradius
    over shortest edge times `by_ratio`, whichever is larger.

    Tried are shorter and shorter steps along the axes and towards the mean of the neighbouring nodes.
    """
    moved = 0
    for node in nodes:
        center = np.zeros(3)
        size = 0.0
        worst = 0.0
        count = 0
        for p in range(indptr[node], indptr[node + 1]):
            e = indices[p]
            worst = max(worst, _shape_cost(points, tets, e, by_sine, by_ratio))
            for c in range(4):
                other = tets[e, c]
                if other != node:
                    count += 1
                    square = 0.0
                    for d in range(3):
                        center[d] += points[other, d]
                        square += (points[other, d] - points[node, d]) ** 2
                    size += np.sqrt(square)
        center /= count
        step = 0.5 * size / count
        improved = False
        for _ in range(8):
            for direction in range(7):
                before = points[node].copy()
                for d in range(3):
                    if direction == 6:
                        points[node, d] += (center[d] - before[d]) * min(1.0, 2.0 * step * count / size)
                    elif direction // 2 == d:
                        points[node, d] += step if direction % 2 == 0 else -step
                here = 0.0
                for p in range(indptr[node], indptr[node + 1]):
                    here = max(here, _shape_cost(points, tets, indices[p], by_sine, by_ratio))
                if here < worst * (1.0 - 1e-6):
                    worst = here
                    improved = True
                else:
                    points[node] = before
            step *= 0.5
        if improved:
            moved += 1
    return moved


@inline
def _fold(points, i, j, k, nx, ny, nz):
    """Return how far triangle i, j, k turns away from a unit normal: 0 if it goes straight on, 2 if it folds back.

    And twice its area.
    """
    ux, uy, uz = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    vx, vy, vz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    area = np.sqrt(x * x + y * y + z * z)
    if area <= 0.0:
        return 2.0, 0.0
    return 1.0 - (x * nx + y * ny + z * nz) / area, area


@inline
def _inner_normal(points, middle, outer, i, k):
    """Return the unit normal of the triangle on edge i, k of a polygon: outside if k = i + 1, else the chosen one."""
    if k == i + 1:
        return outer[i, 0], outer[i, 1], outer[i, 2]
    j = middle[i, k]
    ux, uy, uz = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    vx, vy, vz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = np.sqrt(x * x + y * y + z * z)
    if length <= 0.0:
        return 0.0, 0.0, 0.0
    return x / length, y / length, z / length


@kernel
def fill_polygon(points, outer):
    """Join the corners of a closed polygon by triangles that fold as little as they can (Liepa 2003).

    The largest fold counts first, then the area.

    Args:
        points: Corners, shape [n, 3].
        outer: Unit normal of the triangle beyond the edge from each corner to the next, shape [n, 3].

    Returns:
        Triangles, shape [n - 2, 3].
    """
    n = points.shape[0]
    folds, areas = np.zeros((n, n)), np.zeros((n, n))
    middle = np.zeros((n, n), np.int32)
    for width in range(2, n):
        for i in range(n - width):
            k = i + width
            folds[i, k], areas[i, k] = np.inf, np.inf
            for j in range(i + 1, k):
                ax, ay, az = _inner_normal(points, middle, outer, i, j)
                bx, by, bz = _inner_normal(points, middle, outer, j, k)
                fold, area = _fold(points, i, j, k, ax, ay, az)
                fold = max(fold, _fold(points, i, j, k, bx, by, bz)[0])
                if width == n - 1:
                    last = outer[n - 1]
                    fold = max(fold, _fold(points, i, j, k, last[0], last[1], last[2])[0])
                fold = max(fold, max(folds[i, j], folds[j, k]))
                area += areas[i, j] + areas[j, k]
                if fold < folds[i, k] or (fold == folds[i, k] and area < areas[i, k]):
                    folds[i, k], areas[i, k] = fold, area
                    middle[i, k] = j
    triangles = np.empty((n - 2, 3), np.int32)
    spans = np.empty((n, 2), np.int32)
    spans[0, 0], spans[0, 1] = 0, n - 1
    top, count = 1, 0
    while top > 0:
        top -= 1
        i, k = spans[top, 0], spans[top, 1]
        if k - i < 2:
            continue
        j = middle[i, k]
        triangles[count, 0], triangles[count, 1], triangles[count, 2] = i, j, k
        count += 1
        spans[top, 0], spans[top, 1] = i, j
        spans[top + 1, 0], spans[top + 1, 1] = j, k
        top += 2
    return triangles
