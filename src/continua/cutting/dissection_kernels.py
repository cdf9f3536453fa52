"""Compiled functions that dissect cells along the triangles of a cut surface.

Cells are small tetrahedra that fill elements. They are divided by splitting edges: an edge that crosses a plane gets a
point, and all cells around it are divided there. Points are shared by number, and the edges of a cell are split in an
order that all cells agree upon, so the cells of adjacent elements always fit each other, and which side of a plane a
point lies on is decided once. Rounding moves points, but never opens gaps.
"""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel

__all__ = ["elements_near", "flag_facets", "split_cells"]

_PAIRS = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])


@inline
def _overlaps(a, b, c, d, e, f, region, count, margin):
    """Return whether a box and that of a region overlap."""
    for k in range(3):
        low, high = region[0, k], region[0, k]
        for i in range(1, count):
            low, high = min(low, region[i, k]), max(high, region[i, k])
        if k == 0 and (high < a - margin or low > d + margin):
            return False
        if k == 1 and (high < b - margin or low > e + margin):
            return False
        if k == 2 and (high < c - margin or low > f + margin):
            return False
    return True


@kernel
def elements_near(points, cells, regions, counts, origins, normals, margin):
    """Return a mask of the elements [m] whose boxes overlap a region and whose corners do not lie on one side of it."""
    near = np.zeros(len(cells), np.bool_)
    for e in range(len(cells)):
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for i in range(4):
            for k in range(3):
                low[k] = min(low[k], points[cells[e, i], k])
                high[k] = max(high[k], points[cells[e, i], k])
        for r in range(len(counts)):
            if not _overlaps(
                low[0], low[1], low[2], high[0], high[1], high[2], regions[r], counts[r], margin
            ):
                continue
            above, below = False, False
            for i in range(4):
                d = 0.0
                for k in range(3):
                    d += (points[cells[e, i], k] - origins[r, k]) * normals[r, k]
                above |= d >= -margin
                below |= d <= margin
            if above and below:
                near[e] = True
                break
    return near


@inline
def _distance(p, points, origin, normal, tolerance, distance, stamp, op):
    """Return the signed distance of point p from a plane; zero within the tolerance. It is computed once."""
    if stamp[p] != op:
        d = 0.0
        for k in range(3):
            d += (points[p, k] - origin[k]) * normal[k]
        distance[p] = 0.0 if abs(d) <= tolerance else d
        stamp[p] = op
    return distance[p]


@inline
def _separated(axis, section, size, region, count, margin):
    """Return whether an axis separates two sets of points that overlap by less than a margin along it."""
    length = np.sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2])
    if length == 0.0:
        return False
    low0, high0, low1, high1 = np.inf, -np.inf, np.inf, -np.inf
    for i in range(size):
        s = section[i, 0] * axis[0] + section[i, 1] * axis[1] + section[i, 2] * axis[2]
        low0, high0 = min(low0, s), max(high0, s)
    for i in range(count):
        s = region[i, 0] * axis[0] + region[i, 1] * axis[1] + region[i, 2] * axis[2]
        low1, high1 = min(low1, s), max(high1, s)
    return low1 - high0 > -margin * length or low0 - high1 > -margin * length


@inline
def _across(p, q, normal, axis):
    """Set axis = normal x (q - p)."""
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    axis[0] = normal[1] * z - normal[2] * y
    axis[1] = normal[2] * x - normal[0] * z
    axis[2] = normal[0] * y - normal[1] * x


@inline
def _meets(section, size, region, count, normal, margin, axis):
    """Return whether a section of a cell by a plane meets a region (triangle or segment) of the plane."""
    for i in range(count):
        for j in range(i):
            _across(region[j], region[i], normal, axis)
            if _separated(axis, section, size, region, count, margin):
                return False
            if count == 2:
                for k in range(3):
                    axis[k] = region[1, k] - region[0, k]
                if _separated(axis, section, size, region, count, margin):
                    return False
    for i in range(size):
        for j in range(i):
            _across(section[j], section[i], normal, axis)
            if _separated(axis, section, size, region, count, margin):
                return False
    return True


@inline
def _find(keys, values, key):
    """Return the value of a key in a table of open addresses, or -1."""
    mask = len(keys) - 1
    at = (key ^ (key >> 29)) * 0x9E3779B1 & mask
    while keys[at] != -1:
        if keys[at] == key:
            return values[at]
        at = (at + 1) & mask
    return -1


@inline
def _put(keys, values, key, value):
    """Store the value of a new key."""
    mask = len(keys) - 1
    at = (key ^ (key >> 29)) * 0x9E3779B1 & mask
    while keys[at] != -1:
        at = (at + 1) & mask
    keys[at] = key
    values[at] = value


@inline
def _edge_key(p, q):
    return (np.int64(min(p, q)) << 31) | np.int64(max(p, q))


@kernel
def split_cells(points, cells, owner, flags, boxes, nodes, regions, counts, origins, normals, tolerance):
    """Divide cells so that none crosses a region (a triangle or a segment in a plane) that meets it.

    Args:
        points: Points [m], shape [p, 3].
        cells: Points of the cells, shape [s, 4].
        owner: The element of each cell, numbered from 0 without gaps, shape [s].
        flags: Bit i is set where the face opposite corner i lies on a cut, shape [s].
        boxes: Smallest and largest coordinates of each element [m], shape [m, 6].
        nodes: Numbers of the elements' corners, from 0 without gaps, shape [m, 4].
        regions: Corners of the regions [m], shape [r, 3, 3].
        counts: Number of these corners, 2 or 3, shape [r].
        origins: A point of the plane of each region [m], shape [r, 3].
        normals: Unit normal of that plane, shape [r, 3].
        tolerance: Distance below which a point lies on a plane [m].

    Returns:
        The new points, cells, owners and flags.
    """
    m, cell_count, point_count = len(boxes), len(cells), len(points)
    head = np.full(m, -1, np.int64)
    follow = np.full(cell_count, -1, np.int64)
    for c in range(cell_count - 1, -1, -1):
        follow[c] = head[owner[c]]
        head[owner[c]] = c
    # elements around each node
    start = np.zeros((nodes.max() + 2) if m else 1, np.int64)
    for e in range(m):
        for i in range(4):
            start[nodes[e, i] + 1] += 1
    for v in range(len(start) - 1):
        start[v + 1] += start[v]
    fill = start.copy()
    around = np.empty(4 * m, np.int64)
    for e in range(m):
        for i in range(4):
            around[fill[nodes[e, i]]] = e
            fill[nodes[e, i]] += 1
    distance, stamp = np.zeros(point_count), np.full(point_count, -1, np.int64)
    seen = np.full(m, -1, np.int64)
    near, hit = np.empty(m, np.int64), np.empty(64, np.int64)
    section, axis = np.empty((8, 3)), np.empty(3)
    for op in range(len(counts)):
        region, count, origin, normal = regions[op], counts[op], origins[op], normals[op]
        near_count = 0
        hits = 0
        for e in range(m):
            if not _overlaps(
                boxes[e, 0],
                boxes[e, 1],
                boxes[e, 2],
                boxes[e, 3],
                boxes[e, 4],
                boxes[e, 5],
                region,
                count,
                tolerance,
            ):
                continue
            found = False
            c = head[e]
            while c >= 0:
                above, below = False, False
                for i in range(4):
                    d = _distance(cells[c, i], points, origin, normal, tolerance, distance, stamp, op)
                    above |= d > 0.0
                    below |= d < 0.0
                if above and below:
                    size = 0
                    for i in range(4):
                        p = cells[c, i]
                        if distance[p] == 0.0:
                            for k in range(3):
                                section[size, k] = points[p, k]
                            size += 1
                        for j in range(i):
                            q = cells[c, j]
                            if distance[p] * distance[q] < 0.0:
                                s = distance[p] / (distance[p] - distance[q])
                                for k in range(3):
                                    section[size, k] = points[p, k] + s * (points[q, k] - points[p, k])
                                size += 1
                    # the border of a surface lies on faces of cells that its triangles have made, and is met there
                    depth = tolerance if count == 3 else -tolerance
                    if _meets(section, size, region, count, normal, depth, axis):
                        found = True
                        if hits == len(hit):
                            more = np.empty(2 * hits, np.int64)
                            more[:hits] = hit
                            hit = more
                        hit[hits] = c
                        hits += 1
                c = follow[c]
            if found:
                near[near_count] = e
                near_count += 1
        if hits == 0:
            continue
        table = 16
        while table < 8 * hits:
            table *= 2
        keys, values = np.full(table, -1, np.int64), np.empty(table, np.int64)
        for h in range(hits):
            c = hit[h]
            for i in range(4):
                for j in range(i):
                    p, q = min(cells[c, i], cells[c, j]), max(cells[c, i], cells[c, j])
                    if distance[p] * distance[q] >= 0.0:
                        continue
                    key = _edge_key(p, q)
                    if _find(keys, values, key) >= 0:
                        continue
                    if point_count == len(points):
                        wider = np.empty((2 * point_count + 16, 3))
                        wider[:point_count] = points
                        points = wider
                        longer = np.empty(2 * point_count + 16)
                        longer[:point_count] = distance
                        distance = longer
                        stamps = np.full(2 * point_count + 16, -1, np.int64)
                        stamps[:point_count] = stamp
                        stamp = stamps
                    s = distance[p] / (distance[p] - distance[q])
                    for k in range(3):
                        points[point_count, k] = points[p, k] + s * (points[q, k] - points[p, k])
                    distance[point_count], stamp[point_count] = 0.0, op
                    _put(keys, values, key, point_count)
                    point_count += 1
        for h in range(near_count):
            for i in range(4):
                v = nodes[near[h], i]
                for place in range(start[v], start[v + 1]):
                    e = around[place]
                    if seen[e] == op:
                        continue
                    seen[e] = op
                    c = head[e]
                    while c >= 0:
                        # the marked edge with the smallest key is split first, in every cell around it
                        best, left, right, middle = np.int64(-1), 0, 0, np.int64(-1)
                        for a in range(4):
                            dp = _distance(
                                cells[c, a], points, origin, normal, tolerance, distance, stamp, op
                            )
                            for b in range(a):
                                if dp * distance[cells[c, b]] < 0.0:
                                    key = _edge_key(cells[c, a], cells[c, b])
                                    if best < 0 or key < best:
                                        value = _find(keys, values, key)
                                        if value >= 0:
                                            best, left, right, middle = key, a, b, value
                        if best < 0:
                            c = follow[c]
                            continue
                        if cell_count == len(cells):
                            size = 2 * cell_count + 16
                            more_cells = np.empty((size, 4), cells.dtype)
                            more_cells[:cell_count] = cells
                            cells = more_cells
                            more_owner = np.empty(size, owner.dtype)
                            more_owner[:cell_count] = owner
                            owner = more_owner
                            more_flags = np.empty(size, flags.dtype)
                            more_flags[:cell_count] = flags
                            flags = more_flags
                            more_follow = np.empty(size, np.int64)
                            more_follow[:cell_count] = follow
                            follow = more_follow
                        for k in range(4):
                            cells[cell_count, k] = cells[c, k]
                        owner[cell_count], flags[cell_count] = owner[c], flags[c]
                        follow[cell_count] = follow[c]
                        follow[c] = cell_count
                        # the new face lies opposite the corner that each child keeps
                        cells[c, right] = middle
                        flags[c] &= ~(1 << left)
                        cells[cell_count, left] = middle
                        flags[cell_count] &= ~(1 << right)
                        cell_count += 1
    return (
        points[:point_count].copy(),
        cells[:cell_count].copy(),
        owner[:cell_count].copy(),
        flags[:cell_count].copy(),
    )


@kernel
def flag_facets(points, cells, flags, regions, origins, normals, tolerance):
    """Set the flags of the cells' faces that lie in triangles; returns how many were set.

    The cells do not cross the triangles. The arguments are those of `split_cells`, regions triangles only.
    """
    boxes = np.empty((len(cells), 6))
    for c in range(len(cells)):
        for k in range(3):
            low, high = points[cells[c, 0], k], points[cells[c, 0], k]
            for i in range(1, 4):
                low, high = min(low, points[cells[c, i], k]), max(high, points[cells[c, i], k])
            boxes[c, k], boxes[c, 3 + k] = low, high
    total = 0
    center, axis, on = np.empty(3), np.empty(3), np.empty(4, np.bool_)
    for r in range(len(regions)):
        region, origin, normal = regions[r], origins[r], normals[r]
        for c in range(len(cells)):
            if not _overlaps(
                boxes[c, 0],
                boxes[c, 1],
                boxes[c, 2],
                boxes[c, 3],
                boxes[c, 4],
                boxes[c, 5],
                region,
                3,
                tolerance,
            ):
                continue
            count = 0
            for i in range(4):
                d = 0.0
                for k in range(3):
                    d += (points[cells[c, i], k] - origin[k]) * normal[k]
                on[i] = abs(d) <= tolerance
                count += on[i]
            if count < 3:
                continue
            for face in range(4):
                flat = True
                center[:] = 0.0
                for i in range(4):
                    if i != face:
                        flat &= on[i]
                        for k in range(3):
                            center[k] += points[cells[c, i], k] / 3.0
                if not flat:
                    continue
                inside = True
                for i in range(3):
                    _across(region[i], region[(i + 1) % 3], normal, axis)
                    s = 0.0
                    for k in range(3):
                        s += (center[k] - region[i, k]) * axis[k]
                    if s < -tolerance * np.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2):
                        inside = False
                if inside:
                    total += 1
                    flags[c] |= 1 << face
    return total
