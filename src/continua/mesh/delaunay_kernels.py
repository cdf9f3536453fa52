"""Compiled functions of the plane Delaunay refinement: exact predicates, insertion of points and segments, refinement.

Points have integer coordinates of at most 2^27 in size, so that both predicates are exact in 64-bit integers.

A triangulation is a tuple of arrays: `points` [p, 2]; `corners` [t, 3], counter-clockwise; `neighbours` [t, 3], where
entry i lies across the edge opposite corner i, or is -1; `fixed` [t, 3], 1 + the number of the segment that this edge
is a part of, or 0; `inside` [t], 1 in the domain; `triangle_of` [p], a triangle at each point; `counts`, the numbers of
points and of triangles.
"""

from __future__ import annotations

import math

import numpy as np

from continua.numerics import inline, kernel

__all__ = [
    "clear_of_segments",
    "crossing_segments",
    "find_domain",
    "insert_points",
    "insert_segments",
    "refine",
]

_HALF = 1 << 29


@inline
def orientation(points, a, b, c):
    """Return twice the signed area of the triangle a, b, c."""
    return (points[b, 0] - points[a, 0]) * (points[c, 1] - points[a, 1]) - (points[b, 1] - points[a, 1]) * (
        points[c, 0] - points[a, 0]
    )


@inline
def in_circle(points, a, b, c, d):
    """Return 1 if d lies inside the circle through a, b, c (counter-clockwise), 0 if on it, -1 outside.

    The determinant is a sum of three products of 58 bits each; halves of 29 bits hold them exactly.
    """
    ax, ay = points[a, 0] - points[d, 0], points[a, 1] - points[d, 1]
    bx, by = points[b, 0] - points[d, 0], points[b, 1] - points[d, 1]
    cx, cy = points[c, 0] - points[d, 0], points[c, 1] - points[d, 1]
    high, middle, low = 0, 0, 0
    for k in range(3):
        if k == 0:
            square, cross = ax * ax + ay * ay, bx * cy - by * cx
        elif k == 1:
            square, cross = bx * bx + by * by, cx * ay - cy * ax
        else:
            square, cross = cx * cx + cy * cy, ax * by - ay * bx
        s1 = square // _HALF
        s0 = square - s1 * _HALF
        m1 = cross // _HALF
        m0 = cross - m1 * _HALF
        high += s1 * m1
        middle += s1 * m0 + s0 * m1
        low += s0 * m0
    carry = low // _HALF
    low -= carry * _HALF
    middle += carry
    carry = middle // _HALF
    middle -= carry * _HALF
    high += carry
    if high > 0 or (high == 0 and (middle > 0 or low > 0)):
        return 1
    if high < 0:
        return -1
    return 0


@inline
def corner_of(corners, t, v):
    """Return the local number of point v in triangle t, or -1."""
    for i in range(3):
        if corners[t, i] == v:
            return i
    return -1


@inline
def side_towards(neighbours, t, other):
    """Return the local number of the edge of triangle t across which `other` lies."""
    for i in range(3):
        if neighbours[t, i] == other:
            return i
    return -1


@kernel
def crossing_segments(points, segments):
    """Return two segments that meet outside of a common end, or (-1, -1); points on segments count.

    Args:
        points: int64, shape [p, 2].
        segments: int32, shape [s, 2].
    """
    for i in range(len(segments)):
        a, b = segments[i, 0], segments[i, 1]
        x0, x1 = min(points[a, 0], points[b, 0]), max(points[a, 0], points[b, 0])
        y0, y1 = min(points[a, 1], points[b, 1]), max(points[a, 1], points[b, 1])
        for j in range(i + 1, len(segments)):
            c, d = segments[j, 0], segments[j, 1]
            if max(points[c, 0], points[d, 0]) < x0 or min(points[c, 0], points[d, 0]) > x1:
                continue
            if max(points[c, 1], points[d, 1]) < y0 or min(points[c, 1], points[d, 1]) > y1:
                continue
            common = -1
            if a in (c, d):
                common, p = a, b
            elif b in (c, d):
                common, p = b, a
            if common >= 0:
                q = d if c == common else c
                dot = (points[p, 0] - points[common, 0]) * (points[q, 0] - points[common, 0]) + (
                    points[p, 1] - points[common, 1]
                ) * (points[q, 1] - points[common, 1])
                if orientation(points, common, p, q) == 0 and dot > 0:
                    return i, j
                continue
            o1, o2 = orientation(points, a, b, c), orientation(points, a, b, d)
            o3, o4 = orientation(points, c, d, a), orientation(points, c, d, b)
            if ((o1 >= 0 and o2 <= 0) or (o1 <= 0 and o2 >= 0)) and (
                (o3 >= 0 and o4 <= 0) or (o3 <= 0 and o4 >= 0)
            ):
                return i, j
    return -1, -1


@inline
def locate(mesh, start, x, y, stop_at_segments):
    """Walk from a triangle towards the point (x, y); return the triangle, and the fixed edge that blocks, or -1."""
    points, corners, neighbours, fixed = mesh[0], mesh[1], mesh[2], mesh[3]
    t = start
    limit = 4 * mesh[6][1] + 100
    for step in range(limit):
        moved = False
        for k in range(3):
            i = (k + step) % 3
            a, b = corners[t, (i + 1) % 3], corners[t, (i + 2) % 3]
            turn = (points[b, 0] - points[a, 0]) * (y - points[a, 1]) - (points[b, 1] - points[a, 1]) * (
                x - points[a, 0]
            )
            if turn < 0 or (turn == 0 and stop_at_segments and fixed[t, i] > 0):
                if stop_at_segments and fixed[t, i] > 0:
                    return t, i
                if neighbours[t, i] < 0:
                    return -1, -1
                t = neighbours[t, i]
                moved = True
                break
        if not moved:
            return t, -1
    return -1, -1


@inline
def find_cavity(mesh, v, t, edge, cavity, mark, stamp):
    """Collect the triangles whose circle holds point v and that see it, from t on; return their number.

    `edge` is the edge of t that v splits, or -1.
    """
    points, corners, neighbours, fixed = mesh[0], mesh[1], mesh[2], mesh[3]
    cavity[0] = t
    mark[t] = stamp
    count = 1
    if edge >= 0:
        other = neighbours[t, edge]
        cavity[1] = other
        mark[other] = stamp
        count = 2
    done = 0
    while done < count:
        here = cavity[done]
        done += 1
        for i in range(3):
            n = neighbours[here, i]
            if fixed[here, i] > 0 or n < 0 or mark[n] == stamp:
                continue
            if in_circle(points, corners[n, 0], corners[n, 1], corners[n, 2], v) <= 0:
                continue
            sees = True
            for k in range(3):
                u, w = corners[n, (k + 1) % 3], corners[n, (k + 2) % 3]
                sees = sees and (fixed[n, k] == 0 or orientation(points, u, w, v) > 0)
            if sees:
                cavity[count] = n
                mark[n] = stamp
                count += 1
    return count


@inline
def fill_cavity(mesh, v, t, edge, cavity, count, mark, stamp, rim, start_of):
    """Replace the triangles of a cavity by a fan around point v; return the number of new triangles, 0 if it failed.

    The new triangles are in the first places of `cavity`.
    """
    points, corners, neighbours, fixed, inside, triangle_of, counts = mesh
    first, second, segment = -1, -1, 0
    if edge >= 0:
        first, second, segment = corners[t, (edge + 1) % 3], corners[t, (edge + 2) % 3], fixed[t, edge]
    sides = 0
    for c in range(count):
        here = cavity[c]
        for i in range(3):
            n = neighbours[here, i]
            split = edge >= 0 and fixed[here, i] == segment and segment > 0
            if split:
                a, b = corners[here, (i + 1) % 3], corners[here, (i + 2) % 3]
                split = (a == first and b == second) or (a == second and b == first)
            if split:
                continue
            if n >= 0 and mark[n] == stamp and fixed[here, i] == 0:
                continue
            a, b = corners[here, (i + 1) % 3], corners[here, (i + 2) % 3]
            if orientation(points, a, b, v) <= 0:
                return 0
            rim[sides, 0], rim[sides, 1], rim[sides, 2] = a, b, n
            rim[sides, 3] = side_towards(neighbours, n, here) if n >= 0 else -1
            rim[sides, 4], rim[sides, 5] = fixed[here, i], inside[here]
            sides += 1
    if sides != count + 2:
        return 0
    for k in range(sides):
        if k < count:
            new = cavity[k]
        else:
            new = counts[1]
            counts[1] += 1
            cavity[k] = new
        a, b, n = rim[k, 0], rim[k, 1], rim[k, 2]
        corners[new, 0], corners[new, 1], corners[new, 2] = a, b, v
        neighbours[new, 2] = n
        fixed[new, 2] = rim[k, 4]
        inside[new] = rim[k, 5]
        if n >= 0:
            neighbours[n, rim[k, 3]] = new
        fixed[new, 0] = segment if b in (first, second) else 0
        fixed[new, 1] = segment if a in (first, second) else 0
        start_of[a] = new
        triangle_of[a] = new
    triangle_of[v] = cavity[0]
    for k in range(sides):
        new = cavity[k]
        following = start_of[corners[new, 1]]
        neighbours[new, 0] = following
        neighbours[following, 1] = new
    return sides


@kernel
def insert_points(mesh, order, cavity, mark, rim, start_of):
    """Insert points into the triangulation of the four corners of a square; return the number inserted.

    Args:
        mesh: The triangulation, which holds all points.
        order: Numbers of the points in the order of insertion, shape [k].
        cavity: Scratch, shape [t].
        mark: Scratch, shape [t].
        rim: Scratch, shape [t, 6].
        start_of: Scratch, shape [p].
    """
    last = 0
    for k in range(len(order)):
        v = order[k]
        t, _ = locate(mesh, last, mesh[0][v, 0], mesh[0][v, 1], False)
        if t < 0:
            return k
        count = find_cavity(mesh, v, t, -1, cavity, mark, k + 1)
        if fill_cavity(mesh, v, t, -1, cavity, count, mark, k + 1, rim, start_of) == 0:
            return k
        last = cavity[0]
    return len(order)


@inline
def flip(mesh, t, i):
    """Replace the edge opposite corner i of triangle t by the other diagonal."""
    corners, neighbours, fixed, triangle_of = mesh[1], mesh[2], mesh[3], mesh[5]
    n = neighbours[t, i]
    j = side_towards(neighbours, n, t)
    a, b, c, d = corners[t, i], corners[t, (i + 1) % 3], corners[t, (i + 2) % 3], corners[n, j]
    bd, bd_fixed = neighbours[n, (j + 1) % 3], fixed[n, (j + 1) % 3]
    dc, dc_fixed = neighbours[n, (j + 2) % 3], fixed[n, (j + 2) % 3]
    ca, ca_fixed = neighbours[t, (i + 1) % 3], fixed[t, (i + 1) % 3]
    ab, ab_fixed = neighbours[t, (i + 2) % 3], fixed[t, (i + 2) % 3]
    if bd >= 0:
        neighbours[bd, side_towards(neighbours, bd, n)] = t
    if ca >= 0:
        neighbours[ca, side_towards(neighbours, ca, t)] = n
    corners[t, 0], corners[t, 1], corners[t, 2] = a, b, d
    neighbours[t, 0], neighbours[t, 1], neighbours[t, 2] = bd, n, ab
    fixed[t, 0], fixed[t, 1], fixed[t, 2] = bd_fixed, 0, ab_fixed
    corners[n, 0], corners[n, 1], corners[n, 2] = a, d, c
    neighbours[n, 0], neighbours[n, 1], neighbours[n, 2] = dc, ca, t
    fixed[n, 0], fixed[n, 1], fixed[n, 2] = dc_fixed, ca_fixed, 0
    triangle_of[a], triangle_of[b], triangle_of[c], triangle_of[d] = t, t, n, t


@inline
def find_edge(mesh, a, b):
    """Return the triangle in which b follows a counter-clockwise, and the edge between; -1, -1 without one."""
    corners, neighbours = mesh[1], mesh[2]
    start = mesh[5][a]
    t = start
    while True:
        i = corner_of(corners, t, a)
        if corners[t, (i + 1) % 3] == b:
            return t, (i + 2) % 3
        t = neighbours[t, (i + 1) % 3]
        if t == start:
            return -1, -1
        if t < 0:
            break
    t = start  # a is a corner of the square: the triangles on the other side of the first
    while True:
        t = neighbours[t, (corner_of(corners, t, a) + 2) % 3]
        if t < 0:
            return -1, -1
        i = corner_of(corners, t, a)
        if corners[t, (i + 1) % 3] == b:
            return t, (i + 2) % 3


@kernel
def insert_segments(mesh, segments, queue):
    """Make every segment an edge by flips (Sloan 1993), and then the others Delaunay again; return the number made.

    Args:
        mesh: The triangulation.
        segments: int32, shape [s, 2]; no two of them cross, and no point lies on one.
        queue: Scratch, shape [q, 2].
    """
    points, corners, neighbours, fixed, _inside, triangle_of, counts = mesh
    size = len(queue)
    for s in range(len(segments)):
        a, b = segments[s, 0], segments[s, 1]
        t, i = find_edge(mesh, a, b)
        if t < 0:
            head, tail = 0, 0
            start = triangle_of[a]
            t = start
            while True:  # the triangle at a through which the segment leaves
                i = corner_of(corners, t, a)
                u, w = corners[t, (i + 1) % 3], corners[t, (i + 2) % 3]
                if orientation(points, a, b, u) < 0 and orientation(points, a, b, w) > 0:
                    break
                t = neighbours[t, (i + 1) % 3]
                if t == start or t < 0:
                    return s
            while True:
                if fixed[t, i] > 0:
                    return s
                queue[tail % size, 0], queue[tail % size, 1] = u, w
                tail += 1
                n = neighbours[t, i]
                far = corners[n, side_towards(neighbours, n, t)]
                t = n
                if far == b:
                    break
                side = orientation(points, a, b, far)
                if side == 0 or tail >= size:
                    return s
                if side > 0:
                    i = corner_of(corners, t, w)
                    w = far
                else:
                    i = corner_of(corners, t, u)
                    u = far
            while head < tail:
                u, w = queue[head % size, 0], queue[head % size, 1]
                head += 1
                t, i = find_edge(mesh, u, w)
                if t < 0:
                    return s
                p = corners[t, i]
                n = neighbours[t, i]
                q = corners[n, side_towards(neighbours, n, t)]
                if orientation(points, p, u, q) > 0 and orientation(points, q, w, p) > 0:
                    flip(mesh, t, i)
                    left, right = orientation(points, a, b, p), orientation(points, a, b, q)
                    if (left > 0 and right < 0) or (left < 0 and right > 0):
                        if left > 0:
                            p, q = q, p
                        queue[tail % size, 0], queue[tail % size, 1] = p, q
                        tail += 1
                else:
                    queue[tail % size, 0], queue[tail % size, 1] = u, w
                    tail += 1
            t, i = find_edge(mesh, a, b)
            if t < 0:
                return s
        fixed[t, i] = s + 1
        n = neighbours[t, i]
        fixed[n, side_towards(neighbours, n, t)] = s + 1
    changed = True
    while changed:
        changed = False
        for t in range(counts[1]):
            for i in range(3):
                n = neighbours[t, i]
                if n < 0 or fixed[t, i] > 0:
                    continue
                far = corners[n, side_towards(neighbours, n, t)]
                if in_circle(points, corners[t, 0], corners[t, 1], corners[t, 2], far) > 0:
                    flip(mesh, t, i)
                    changed = True
    return len(segments)


@kernel
def find_domain(mesh, is_loop, queue):
    """Mark the triangles that an odd number of loops surround.

    Args:
        mesh: The triangulation; its points 0 to 3 are the corners of the square around all others.
        is_loop: Whether segment s is part of the outline or of a hole, shape [s].
        queue: Scratch, shape [t].
    """
    neighbours, fixed, inside, triangle_of, counts = mesh[2], mesh[3], mesh[4], mesh[5], mesh[6]
    for t in range(counts[1]):
        inside[t] = 2
    queue[0] = triangle_of[0]
    inside[queue[0]] = 0
    done, count = 0, 1
    while done < count:
        t = queue[done]
        done += 1
        for i in range(3):
            n = neighbours[t, i]
            if n < 0 or inside[n] != 2:
                continue
            crosses = fixed[t, i] > 0 and is_loop[fixed[t, i] - 1]
            inside[n] = 1 - inside[t] if crosses else inside[t]
            queue[count] = n
            count += 1


@inline
def encroaches(points, a, b, p):
    """Return whether point p lies inside the circle whose diameter is the segment a, b."""
    return (points[a, 0] - points[p, 0]) * (points[b, 0] - points[p, 0]) + (points[a, 1] - points[p, 1]) * (
        points[b, 1] - points[p, 1]
    ) < 0


@inline
def distance2(points, a, b):
    """Return the squared distance of two points."""
    dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
    return dx * dx + dy * dy


@inline
def split_point(points, v, a, b, sharp):
    """Set point v between a and b: in the middle, or on a circle around an end that is the corner of a sharp angle.

    The radii of these circles are powers of two, so that pieces of both sides of a sharp angle get equal lengths and
    stop encroaching on each other (Ruppert 1995, section 6).
    """
    ratio = 0.5
    if sharp[a] != sharp[b]:
        length = math.sqrt(float(distance2(points, a, b)))
        radius = 2.0 ** round(math.log2(0.5 * length))
        ratio = radius / length if sharp[a] else 1.0 - radius / length
    for k in range(2):
        points[v, k] = points[a, k] + np.int64(round(ratio * (points[b, k] - points[a, k])))


@kernel
def refine(mesh, marked, settings, sharp, segment_of, ends, cavity, mark, rim, start_of, triangles, edges):
    """Refine the domain (Ruppert 1995): split encroached segments, insert centres of flat and of marked triangles.

    New points are off-centres (Uengoer 2009) where these are nearer than the centre of the circle.

    Args:
        mesh: The triangulation, with room for more points.
        marked: Whether a triangle is to be split for its size, shape [t].
        settings: Cosine of the least angle, the distance of off-centres per edge length, the most points.
        sharp: Whether a point is the corner of a sharp angle between segments, shape [p].
        segment_of: The segment that a point was inserted on, or -1; shape [p].
        ends: The ends of each segment, shape [s, 2].
        cavity: Scratch, shape [t].
        mark: Scratch, shape [t], zero at the start.
        rim: Scratch, shape [t, 6].
        start_of: Scratch, shape [p].
        triangles: Scratch, a queue of triangles, shape [q].
        edges: Scratch, a stack of triangles, shape [t].

    Returns:
        0 when done, 1 if there are more points than asked for.
    """
    points, corners, _neighbours, fixed, inside, _triangle_of, counts = mesh
    cosine, off_centre, most = settings[0], settings[1], int(settings[2])
    size = len(triangles)
    head, tail, depth = 0, 0, 0
    queued = np.zeros(len(corners), np.uint8)
    on_stack = np.zeros(len(corners), np.uint8)
    for t in range(counts[1]):
        if inside[t] == 1:
            triangles[tail % size] = t
            queued[t] = 1
            tail += 1
            edges[depth] = t
            on_stack[t] = 1
            depth += 1
    stamp = 0
    while depth > 0 or head < tail:
        if counts[0] + 1 > most:
            return 1
        new_count = 0
        split_t, split_i = -1, -1
        if depth > 0:
            depth -= 1
            t = edges[depth]
            on_stack[t] = 0
            for i in range(3):
                if fixed[t, i] > 0:
                    a, b = corners[t, (i + 1) % 3], corners[t, (i + 2) % 3]
                    if encroaches(points, a, b, corners[t, i]) and distance2(points, a, b) > 64:
                        split_t, split_i = t, i
            if split_t < 0:
                continue
        else:
            t = triangles[head % size]
            head += 1
            queued[t] = 0
            if inside[t] != 1:
                continue
            # the shortest edge p q lies opposite the smallest angle
            short, least = 0, distance2(points, corners[t, 1], corners[t, 2])
            for i in range(1, 3):
                d = distance2(points, corners[t, (i + 1) % 3], corners[t, (i + 2) % 3])
                if d < least:
                    short, least = i, d
            r, p, q = corners[t, short], corners[t, (short + 1) % 3], corners[t, (short + 2) % 3]
            px, py = float(points[p, 0] - points[r, 0]), float(points[p, 1] - points[r, 1])
            qx, qy = float(points[q, 0] - points[r, 0]), float(points[q, 1] - points[r, 1])
            pp, qq = px * px + py * py, qx * qx + qy * qy
            flat = px * qx + py * qy > cosine * math.sqrt(pp * qq)
            if flat and segment_of[p] >= 0 and segment_of[q] >= 0 and segment_of[p] != segment_of[q]:
                # pieces of two segments that meet in a sharp angle: nothing can be better there
                e, f = segment_of[p], segment_of[q]
                for i in range(2):
                    for j in range(2):
                        c = ends[e, i]
                        if c == ends[f, j]:
                            d0, d1 = distance2(points, p, c), distance2(points, q, c)
                            if abs(d0 - d1) < 1e-3 * d0:
                                flat = False
            if not (flat or marked[t]):
                continue
            if least <= 64:
                continue
            double = 2.0 * (px * qy - py * qx)
            x, y = (pp * qy - qq * py) / double, (qq * px - pp * qx) / double
            if flat:
                mx, my = 0.5 * (px + qx), 0.5 * (py + qy)
                dx, dy = x - mx, y - my
                along = math.sqrt(dx * dx + dy * dy)
                reach = off_centre * math.sqrt(float(least))
                if along > reach:
                    x, y = mx + dx * reach / along, my + dy * reach / along
            x, y = x + float(points[r, 0]), y + float(points[r, 1])
            if abs(x) > 1e8 or abs(y) > 1e8:
                continue
            xi, yi = np.int64(round(x)), np.int64(round(y))
            at, blocked = locate(mesh, t, xi, yi, True)
            if at < 0:
                continue
            if not flat:  # too large: a side that is the longest edge has to be split itself
                long = 0
                for i in range(1, 3):
                    if distance2(points, corners[t, (i + 1) % 3], corners[t, (i + 2) % 3]) > distance2(
                        points, corners[t, (long + 1) % 3], corners[t, (long + 2) % 3]
                    ):
                        long = i
                if fixed[t, long] > 0:
                    at, blocked = t, long
            if blocked >= 0:
                split_t, split_i = at, blocked
            else:
                v = counts[0]
                points[v, 0], points[v, 1] = xi, yi
                same = False
                for i in range(3):
                    same = same or distance2(points, corners[at, i], v) == 0
                if same:
                    continue
                stamp += 1
                count = find_cavity(mesh, v, at, -1, cavity, mark, stamp)
                for c in range(count):
                    here = cavity[c]
                    for i in range(3):
                        if fixed[here, i] > 0 and encroaches(
                            points, corners[here, (i + 1) % 3], corners[here, (i + 2) % 3], v
                        ):
                            split_t, split_i = here, i
                if split_t < 0:
                    new_count = fill_cavity(mesh, v, at, -1, cavity, count, mark, stamp, rim, start_of)
                    if new_count == 0:
                        continue
                    counts[0] += 1
                    segment_of[v] = -1
                    sharp[v] = False
            if split_t >= 0:
                a, b = corners[split_t, (split_i + 1) % 3], corners[split_t, (split_i + 2) % 3]
                if distance2(points, a, b) <= 64:
                    continue
                if queued[t] == 0:  # look at the flat triangle again
                    triangles[tail % size] = t
                    queued[t] = 1
                    tail += 1
        if split_t >= 0:
            a, b = corners[split_t, (split_i + 1) % 3], corners[split_t, (split_i + 2) % 3]
            v = counts[0]
            segment = fixed[split_t, split_i]
            split_point(points, v, a, b, sharp)
            stamp += 1
            count = find_cavity(mesh, v, split_t, split_i, cavity, mark, stamp)
            new_count = fill_cavity(mesh, v, split_t, split_i, cavity, count, mark, stamp, rim, start_of)
            if new_count == 0:
                return 2
            counts[0] += 1
            segment_of[v] = segment - 1
            sharp[v] = False
        for c in range(new_count):
            new = cavity[c]
            marked[new] = False
            if inside[new] != 1:
                continue
            if queued[new] == 0:
                triangles[tail % size] = new
                queued[new] = 1
                tail += 1
            if on_stack[new] == 0:
                edges[depth] = new
                on_stack[new] = 1
                depth += 1
    return 0


@kernel
def clear_of_segments(candidates, points, segments, is_loop, distance):
    """Return which candidates lie in the domain and at least `distance` from every segment, shape [k].

    Args:
        candidates: Points in rows: those of one row follow each other and have the same y; float64, shape [k, 2].
        points: Ends of segments, float64, shape [p, 2].
        segments: int32, shape [s, 2].
        is_loop: Whether segment s is part of the outline or of a hole, shape [s].
        distance: Least distance [m].
    """
    keep = np.zeros(len(candidates), np.bool_)
    near = np.empty(len(segments), np.int64)
    begin = 0
    while begin < len(candidates):
        y = candidates[begin, 1]
        end = begin
        while end < len(candidates) and candidates[end, 1] == y:
            end += 1
        count = 0
        for s in range(len(segments)):
            ya, yb = points[segments[s, 0], 1], points[segments[s, 1], 1]
            if min(ya, yb) <= y + distance and max(ya, yb) >= y - distance:
                near[count] = s
                count += 1
        for k in range(begin, end):
            x = candidates[k, 0]
            odd, clear = False, True
            for n in range(count):
                s = near[n]
                ax, ay = points[segments[s, 0], 0], points[segments[s, 0], 1]
                bx, by = points[segments[s, 1], 0], points[segments[s, 1], 1]
                if is_loop[s] and (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
                    odd = not odd
                dx, dy = bx - ax, by - ay
                t = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)
                t = min(1.0, max(0.0, t))
                ex, ey = x - ax - t * dx, y - ay - t * dy
                if ex * ex + ey * ey < distance * distance:
                    clear = False
            keep[k] = odd and clear
        begin = end
    return keep
