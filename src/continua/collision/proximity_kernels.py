"""Compiled proximity queries: vertices close to triangles and edges close to edges.

Most worlds have closed surfaces of whole bodies only. Kernels then get None for the `SurfaceKinds`, and what two-sided
surfaces and pieces of bodies need is not compiled.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.collision.bvh_kernels import STACK, query_box
from continua.numerics import cross3, dot3, inline, kernel, kernel_pair
from continua.numerics.closest_points import (
    closest_point_triangle,
    closest_points_segments,
    row3,
    sub3,
    triangle_normal,
)

__all__ = [
    "FLAT_SINE",
    "PARALLEL_SINE2",
    "are_pieces",
    "classify_edges",
    "edge_edge_candidates",
    "gather_chunks",
    "is_ridge_towards",
    "join_pairs",
    "pair_keys",
    "vertex_face",
    "vertex_face_candidates",
    "vertex_faces",
    "vertex_normals",
]

CHUNK = 128  # vertices or edges per task of a thread
_MAX_TRIANGLES = 48  # candidate triangles of one vertex
_ZERO_WEIGHT = 1e-9  # weights below this count as zero
FLAT_SINE = 0.035  # sine of 2 degrees: vertices handle the contacts of flatter edges
PARALLEL_SINE2 = 1e-5  # squared sine of two edges below which the vertices handle the contact
_END_FRACTION = 1e-4  # fraction of an edge near its ends that is left to vertices
_FACING = 0.25  # cosine of a face with the direction of a contact of pieces, at least
_COINCIDENT = 0.3  # fraction of `min_distance` below which the direction between closest points is not used
_SAME_PLACE = 0.1  # fraction of `min_distance` within which distances of pieces count as equal
_PARALLEL_COSINE = 1.0 - 1e-6  # of the normals of two triangles in one plane


@inline
def _fold_sine(x, a, b, triangles, one, two, normal):
    """Return the sine of the angle between triangles at the edge a b, 1 if it is folded by more than a right angle.

    `normal` is that of triangle `one`.
    """
    origin = row3(x, a)
    along = sub3(row3(x, b), origin)
    inward = cross3(normal, along)
    first, second, height, size = 0.0, 0.0, 0.0, 1e-300
    for i in range(3):
        p, q = triangles[one, i], triangles[two, i]
        if p != a and p != b:
            first = dot3(inward, sub3(row3(x, p), origin))
        if q != a and q != b:
            arm = sub3(row3(x, q), origin)
            up = cross3(arm, along)
            second, height = dot3(inward, arm), abs(dot3(normal, arm))
            size = sqrt(dot3(up, up) / max(dot3(along, along), 1e-300)) + 1e-300
    return 1.0 if first * second > 0.0 else height / size


@kernel_pair
def classify_edges(
    some, edges, triangles, edge_triangles, x, flat_sine, always_flat, surface, two_sided, outward, edge_kind
):
    """Classify some edges by whether they can touch another edge first, and find their outward direction.

    Args:
        some: The edges to be classified.
        edges: Points of the edges [e, 2].
        triangles: Points of the triangles [k, 3].
        edge_triangles: The triangles of each edge, or -1, shape [e, 2].
        x: Positions [m], shape [n, 3].
        flat_sine: Sine of the angle up to which two triangles count as flat.
        always_flat: Sine of the angle up to which they are flat even if the edge was in contact before.
        surface: Surface of each edge, shape [e].
        two_sided: Whether each surface is two-sided, or None if none is: every bend is a ridge on one of its sides.
        outward: Receives the mean normal of the two triangles of each edge, shape [e, 3].
        edge_kind: Receives 1 for a ridge, 3 for a nearly flat ridge, 2 for an edge with fewer than two triangles or the
            bend of a two-sided surface, 6 for a nearly flat such bend, 0 for flat edges and valleys.
    """
    for k in prange(some.shape[0]):
        e = some[k]
        one, two = edge_triangles[e, 0], edge_triangles[e, 1]
        outward[e] = 0.0
        edge_kind[e] = 2
        if one < 0 or two < 0:
            continue
        n1 = triangle_normal(
            row3(x, triangles[one, 0]), row3(x, triangles[one, 1]), row3(x, triangles[one, 2])
        )
        n2 = triangle_normal(
            row3(x, triangles[two, 0]), row3(x, triangles[two, 1]), row3(x, triangles[two, 2])
        )
        n = (n1[0] + n2[0], n1[1] + n2[1], n1[2] + n2[2])
        length = max(sqrt(dot3(n, n)), 1e-300)
        for i in range(3):
            outward[e, i] = n[i] / length
        rise = 0.0  # height of the other triangle above the plane of the first
        size = 1e-300
        for i in range(3):
            p = triangles[two, i]
            if p != edges[e, 0] and p != edges[e, 1]:
                arm = sub3(row3(x, p), row3(x, edges[e, 0]))
                rise = dot3(arm, n1)
                along = sub3(row3(x, edges[e, 1]), row3(x, edges[e, 0]))
                up = cross3(arm, along)
                size = sqrt(dot3(up, up) / max(dot3(along, along), 1e-300)) + 1e-300
        edge_kind[e] = 1 if rise < -flat_sine * size else (3 if rise < -always_flat * size else 0)
        if two_sided is not None:  # noqa: SIM102  this condition alone leaves out the branch when it is compiled
            if two_sided[surface[e]]:
                bend = _fold_sine(x, edges[e, 0], edges[e, 1], triangles, one, two, n1)
                edge_kind[e] = 2 if bend > flat_sine else (6 if bend > always_flat else 0)


@kernel
def vertex_normals(triangles, x, normals):
    """Add up the triangles' area vectors at their points; the result [n, 3] is not scaled."""
    normals[:] = 0.0
    for t in range(triangles.shape[0]):
        a = row3(x, triangles[t, 0])
        n = cross3(sub3(row3(x, triangles[t, 1]), a), sub3(row3(x, triangles[t, 2]), a))
        for k in range(3):
            for i in range(3):
                normals[triangles[t, k], i] += n[i]


@inline
def _outside_box(x, w, cell, width, lx, ly, lz, hx, hy, hz):
    """Return whether a moving cell stays outside a box."""
    for i in range(3):
        low, high = 1e300, -1e300
        for k in range(width):
            a = x[cell[k], i]
            b = a + w[cell[k], i]
            low = min(low, min(a, b))
            high = max(high, max(a, b))
        if i == 0 and (low > hx or high < lx):
            return True
        if i == 1 and (low > hy or high < ly):
            return True
        if i == 2 and (low > hz or high < lz):
            return True
    return False


@inline
def vertex_face(x, w, p, v, a, b, c):
    """Return weights, normal, signed distance, number of zero weights and approach of a point and a triangle."""
    pa, pb, pc = row3(x, a), row3(x, b), row3(x, c)
    weights = closest_point_triangle(p, pa, pb, pc)
    away = (
        p[0] - weights[0] * pa[0] - weights[1] * pb[0] - weights[2] * pc[0],
        p[1] - weights[0] * pa[1] - weights[1] * pb[1] - weights[2] * pc[1],
        p[2] - weights[0] * pa[2] - weights[1] * pb[2] - weights[2] * pc[2],
    )
    d = sqrt(dot3(away, away))
    normal = triangle_normal(pa, pb, pc)
    zero = 0
    for k in range(3):
        if weights[k] < _ZERO_WEIGHT:
            zero += 1
    gap = d
    if zero == 0 and dot3(normal, normal) > 0.5:
        gap = dot3(away, normal)
    elif d > 1e-14 * (abs(p[0]) + abs(p[1]) + abs(p[2]) + 1e-290):
        normal = (away[0] / d, away[1] / d, away[2] / d)
    speed = 0.0
    for i in range(3):
        rel = w[v, i] - weights[0] * w[a, i] - weights[1] * w[b, i] - weights[2] * w[c, i]
        speed += normal[i] * rel
    return weights, normal, gap, zero, speed


@inline
def _distance_to_plane(x, w, p, v, cell, weights, normal):
    """Return the height of a point above its closest point on a triangle, along `normal`, and its approach."""
    gap, speed = 0.0, 0.0
    for i in range(3):
        gap += normal[i] * (
            p[i] - weights[0] * x[cell[0], i] - weights[1] * x[cell[1], i] - weights[2] * x[cell[2], i]
        )
        speed += normal[i] * (
            w[v, i] - weights[0] * w[cell[0], i] - weights[1] * w[cell[1], i] - weights[2] * w[cell[2], i]
        )
    return gap, speed


@inline
def vertex_faces(kinds, triangles, x, v, normal):
    """Return whether a triangle of point v faces against `normal`: the point can then touch what is there."""
    for k in range(kinds.point_ptr[v], kinds.point_ptr[v + 1]):
        cell = triangles[kinds.point_triangles[k]]
        if dot3(triangle_normal(row3(x, cell[0]), row3(x, cell[1]), row3(x, cell[2])), normal) < -_FACING:
            return True
    return False


@inline
def is_ridge_towards(topology, x, e, a, b, normal, sign):
    """Return whether the edge e from a to b is a ridge whose outside is along `normal` times `sign`."""
    one, two = topology.edge_triangles[e, 0], topology.edge_triangles[e, 1]
    if one < 0 or two < 0:
        return True
    t = topology.triangles
    n1 = triangle_normal(row3(x, t[one, 0]), row3(x, t[one, 1]), row3(x, t[one, 2]))
    n2 = triangle_normal(row3(x, t[two, 0]), row3(x, t[two, 1]), row3(x, t[two, 2]))
    for i in range(3):
        if t[two, i] != a and t[two, i] != b and dot3(n1, sub3(row3(x, t[two, i]), row3(x, a))) > 0.0:
            return False  # a valley
    if _fold_sine(x, a, b, t, one, two, n1) <= FLAT_SINE:
        return False
    n = (n1[0] + n2[0], n1[1] + n2[1], n1[2] + n2[2])
    return sign * dot3(n, normal) > _FACING * sqrt(dot3(n, n))


@inline
def are_pieces(kinds, m, b):
    """Return whether two surfaces are different pieces of one body."""
    return m != b and kinds.body[m] >= 0 and kinds.body[m] == kinds.body[b]


@inline
def _rises_above(x, cell, other, normal, tolerance):
    """Return whether the triangle `other` rises above the plane of `cell`."""
    a = row3(x, cell[0])
    one = dot3(normal, sub3(row3(x, other[0]), a))
    two = dot3(normal, sub3(row3(x, other[1]), a))
    three = dot3(normal, sub3(row3(x, other[2]), a))
    return max(one, max(two, three)) > tolerance


@inline
def _is_duplicate_of_piece(a, count, cells, x, tri, dist, zeros, kept, fits, tolerance):
    """Return whether the contact of a point with a triangle of another piece is not needed.

    Of triangles that meet in a ridge the one that the point is farthest outside counts, as a point touches a convex
    body if it touches one of its planes; of those in a valley all count, and of those in one plane the first.
    """
    na = (kept[a, 3], kept[a, 4], kept[a, 5])
    for b in range(count):
        if b == a or not _share_vertex(cells[tri[a]], cells[tri[b]]):
            continue
        if zeros[a] > 0 and dist[b] < dist[a] - tolerance:
            return True
        if fits[b] == 0:
            continue
        nb = (kept[b, 3], kept[b, 4], kept[b, 5])
        if dot3(na, nb) > _PARALLEL_COSINE:
            if zeros[a] > 0 and (b < a or zeros[b] == 0):
                return True
        elif (
            kept[b, 6] > kept[a, 6] + tolerance
            and (zeros[a] > 0 or kept[a, 6] < -tolerance)
            and not _rises_above(x, cells[tri[a]], cells[tri[b]], na, tolerance)
        ):
            return True
    return False


@inline
def _rest_vertex_distance2(rest, v, a, b, c):
    p, pa, pb, pc = row3(rest, v), row3(rest, a), row3(rest, b), row3(rest, c)
    weights = closest_point_triangle(p, pa, pb, pc)
    total = 0.0
    for i in range(3):
        total += (p[i] - weights[0] * pa[i] - weights[1] * pb[i] - weights[2] * pc[i]) ** 2
    return total


@inline
def _feature(cell, edge, weights, zero):
    """Return a number that identifies the corner, edge or triangle on which a point with `weights` lies."""
    if zero == 0:
        return 0
    if zero == 1:
        for k in range(3):
            if weights[k] < _ZERO_WEIGHT:
                return 1 + 2 * np.int64(edge[(k + 1) % 3])
    best = 0
    for k in range(1, 3):
        if weights[k] > weights[best]:
            best = k
    return 2 + 2 * np.int64(cell[best])


@inline
def _share_vertex(one, two):
    for i in range(3):
        for j in range(3):
            if one[i] == two[j]:
                return True
    return False


@inline
def _is_duplicate(a, count, cells, tri, dist, zeros, features):
    """Return whether candidate a is the same feature as an earlier one, or an adjacent triangle is closer."""
    for b in range(count):
        if b == a or zeros[a] == 0:
            continue
        if features[a] == features[b]:
            if b < a:
                return True
        elif dist[b] < dist[a] * (1.0 - 1e-9) and _share_vertex(cells[tri[a]], cells[tri[b]]):
            return True
    return False


@kernel_pair
def vertex_face_candidates(
    tree, topology, kinds, x, w, near, min_distance, slack, max_distance, normals, counts, ids, values
):
    """Find the vertices that are close to triangles, or come close to them in the motion from x to x + w.

    A vertex and a triangle are a candidate if their distance minus their approach is below `min_distance` (1 + slack),
    and their distance is below `max_distance`. Of adjacent triangles only the closest counts; a point on a shared edge
    or corner counts once. A vertex behind a triangle counts up to a depth of `min_distance`; a two-sided triangle has
    no such side. Pairs within one surface count only if they are farther than 1.5 `min_distance` apart at rest, and if
    the vertex faces the triangle.

    Pieces of one body may lie on each other and slide along each other with no distance between them. There the
    direction between closest points is not defined: when they are very close, or overlap, the normal is that of the
    triangle, also beyond its edges. And a vertex in a face that slides past an edge does not touch it: a pair counts
    if one of the vertex's own triangles faces against the normal.

    Args:
        tree: Trees of the triangles, fitted to the motion.
        topology: The surfaces.
        kinds: Which are two-sided or pieces, or None.
        x: Positions [m], shape [n, 3].
        w: Displacements expected in the step [m], shape [n, 3].
        near: The vertices, and the surfaces against whose triangles they are tested; see `NearCells`.
        min_distance: Distance that two surfaces keep [m], shape [m, m].
        slack: Fraction of `min_distance` by which pairs are found earlier.
        max_distance: Largest distance of a pair of two surfaces [m], shape [m, m].
        normals: Normals of the points, of any length, shape [n, 3]; not used if no surface may touch itself.
        counts: Receives the number of pairs of each chunk; if it exceeds the capacity, call again with more.
        ids: Receives vertex, corners, the kind of feature, the surfaces and the side, shape [chunks, capacity, 8]. The
            side is that of a two-sided triangle on which the vertex is: 1 is the side of its normal; 0 is not known, as
            the closest point is on an edge or a corner, or it is not two-sided.
        values: Receives the corners' weights, the normal and the distance, shape [chunks, capacity, 8].
    """
    for chunk in prange(counts.shape[0]):
        stack, found = np.empty(STACK, np.int32), np.empty(tree.cells.shape[0], np.int32)
        tri, zeros = np.empty(_MAX_TRIANGLES, np.int32), np.empty(_MAX_TRIANGLES, np.int32)
        features, dist = np.empty(_MAX_TRIANGLES, np.int64), np.empty(_MAX_TRIANGLES)
        kept = np.empty((_MAX_TRIANGLES, 7))
        sides, fits = np.zeros(_MAX_TRIANGLES, np.int32), np.zeros(_MAX_TRIANGLES, np.int32)
        written = 0
        for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, near.cells.shape[0])):
            i = near.cells[item]
            v, m = topology.vertices[i], topology.vertex_surface[i]
            p = row3(x, v)
            q = (p[0] + w[v, 0], p[1] + w[v, 1], p[2] + w[v, 2])
            for j in range(near.ptr[m], near.ptr[m + 1]):
                b = near.partner[j]
                reach = min_distance[m, b] * (1.0 + slack)
                rr = topology.radius[m] + topology.radius[b]
                wide = reach + rr
                lx, hx = min(p[0], q[0]) - topology.radius[m], max(p[0], q[0]) + topology.radius[m]
                ly, hy = min(p[1], q[1]) - topology.radius[m], max(p[1], q[1]) + topology.radius[m]
                lz, hz = min(p[2], q[2]) - topology.radius[m], max(p[2], q[2]) + topology.radius[m]
                total = query_box(
                    tree.boxes, tree.root[b], tree.leaf_count[b], tree.leaf_range, tree.first_leaf[b], tree.order,
                    lx, ly, lz, hx, hy, hz, stack, found,
                )  # fmt: skip
                lx, ly, lz = min(p[0], q[0]) - wide, min(p[1], q[1]) - wide, min(p[2], q[2]) - wide
                hx, hy, hz = max(p[0], q[0]) + wide, max(p[1], q[1]) + wide, max(p[2], q[2]) + wide
                count = 0
                one_sided = True
                if kinds is not None:
                    one_sided = not kinds.two_sided[b]
                for k in range(total):
                    t = found[k]
                    cell = tree.cells[t]
                    if cell[0] == v or cell[1] == v or cell[2] == v:
                        continue
                    if _outside_box(x, w, cell, 3, lx, ly, lz, hx, hy, hz):
                        continue
                    weights, normal, gap, zero, speed = vertex_face(x, w, p, v, cell[0], cell[1], cell[2])
                    if kinds is not None:
                        side, fit, distance = 0, 0, abs(gap)
                        if not one_sided and zero == 0:
                            side = 1
                            if gap < 0.0:
                                side, gap, speed = -1, -gap, -speed
                                normal = (-normal[0], -normal[1], -normal[2])
                        if one_sided and are_pieces(kinds, m, b):
                            if gap < _COINCIDENT * min_distance[m, b]:
                                normal = triangle_normal(row3(x, cell[0]), row3(x, cell[1]), row3(x, cell[2]))
                                gap, speed = _distance_to_plane(x, w, p, v, cell, weights, normal)
                                if zero > 0 and gap < -_SAME_PLACE * min_distance[m, b]:
                                    continue  # beside the triangle, not behind it
                                fit = 1
                            if not vertex_faces(kinds, tree.cells, x, v, normal):
                                continue
                        if not one_sided and (m == b or are_pieces(kinds, m, b)):
                            rest = _rest_vertex_distance2(topology.rest, v, cell[0], cell[1], cell[2])
                            if rest < (1.5 * min_distance[m, b] + rr) ** 2:
                                continue
                    gap -= rr
                    if (
                        gap > max_distance[m, b]
                        or gap + min(speed, 0.0) > reach
                        or gap < -rr - min_distance[m, b]
                    ):
                        continue
                    if m == b and one_sided:
                        if dot3(normal, row3(normals, v)) > 0.0:
                            continue
                        if (
                            _rest_vertex_distance2(topology.rest, v, cell[0], cell[1], cell[2])
                            < (1.5 * min_distance[m, b]) ** 2
                        ):
                            continue
                    slot = count
                    if count == _MAX_TRIANGLES:  # replace the farthest
                        for c in range(_MAX_TRIANGLES):
                            if dist[c] > dist[slot % _MAX_TRIANGLES]:
                                slot = c
                        slot %= _MAX_TRIANGLES
                        if abs(gap) >= dist[slot]:
                            continue
                    else:
                        count += 1
                    tri[slot], zeros[slot], dist[slot] = t, zero, abs(gap)
                    if kinds is not None:
                        sides[slot], fits[slot] = side, fit
                        if fit == 1:
                            dist[slot] = distance
                    features[slot] = _feature(cell, topology.triangle_edges[t], weights, zero)
                    for c in range(3):
                        kept[slot, c], kept[slot, 3 + c] = weights[c], normal[c]
                    kept[slot, 6] = gap
                for k in range(count):
                    if fits[k] == 1:
                        same = _SAME_PLACE * min_distance[m, b]
                        if _is_duplicate_of_piece(
                            k, count, tree.cells, x, tri, dist, zeros, kept, fits, same
                        ):
                            continue
                        zeros[k] = 0  # its key is that of the triangle
                    elif _is_duplicate(k, count, tree.cells, tri, dist, zeros, features):
                        continue
                    if written < ids.shape[1]:
                        ids[chunk, written, 0] = v
                        for c in range(3):
                            ids[chunk, written, 1 + c] = tree.cells[tri[k], c]
                        ids[chunk, written, 4] = zeros[k]
                        ids[chunk, written, 5], ids[chunk, written, 6] = m, b
                        ids[chunk, written, 7] = sides[k]
                        for c in range(7):
                            values[chunk, written, c] = kept[k, c]
                        values[chunk, written, 7] = 0.0
                    written += 1
        counts[chunk] = written


@inline
def _edge_edge(x, w, a0, a1, b0, b1):
    """Return s, t, unit cross product, signed distance along it, and whether the closest points lie inside both."""
    p0, p1, q0, q1 = row3(x, a0), row3(x, a1), row3(x, b0), row3(x, b1)
    s, t = closest_points_segments(p0, p1, q0, q1)
    u, v = sub3(p1, p0), sub3(q1, q0)
    n = cross3(u, v)
    size2 = dot3(n, n)
    inside = _END_FRACTION < s < 1.0 - _END_FRACTION and _END_FRACTION < t < 1.0 - _END_FRACTION
    if not inside or size2 <= PARALLEL_SINE2 * dot3(u, u) * dot3(v, v):
        return s, t, n, 0.0, False
    size = sqrt(size2)
    n = (n[0] / size, n[1] / size, n[2] / size)
    away = (
        p0[0] + s * u[0] - q0[0] - t * v[0],
        p0[1] + s * u[1] - q0[1] - t * v[1],
        p0[2] + s * u[2] - q0[2] - t * v[2],
    )
    return s, t, n, dot3(n, away), True


@inline
def _rest_edge_distance2(rest, a0, a1, b0, b1):
    p0, p1, q0, q1 = row3(rest, a0), row3(rest, a1), row3(rest, b0), row3(rest, b1)
    s, t = closest_points_segments(p0, p1, q0, q1)
    total = 0.0
    for i in range(3):
        total += (p0[i] + s * (p1[i] - p0[i]) - q0[i] - t * (q1[i] - q0[i])) ** 2
    return total


@kernel_pair
def edge_edge_candidates(
    tree,
    topology,
    kinds,
    x,
    w,
    near,
    min_distance,
    slack,
    max_distance,
    outward,
    edge_kind,
    counts,
    ids,
    values,
):
    """Find the edges that are close to edges, or will be in the motion to x + w; see `vertex_face_candidates`.

    Only ridges and open edges can touch before a vertex does, and only in their inner parts; parallel edges touch
    at their ends, which are vertices. The normal points to the outside of the second edge, or of the first if only
    that has one; between edges without an outside it points to the side on which the first edge is.

    Args:
        outward: Mean normals of the edges' triangles, shape [e, 3].
        edge_kind: See `classify_edges`, shape [e].
        counts: Receives the number of pairs of each chunk.
        ids: Receives the ends of both edges, 3 (4 if one is nearly flat), the surfaces and 0, shape
            [chunks, capacity, 8].
        values: Receives s, t, 0, the normal, the distance and 0, shape [chunks, capacity, 8].
    """
    for chunk in prange(counts.shape[0]):
        stack, found = np.empty(STACK, np.int32), np.empty(tree.cells.shape[0], np.int32)
        written = 0
        for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, near.cells.shape[0])):
            e = near.cells[item]
            m = tree.surface[e]
            if edge_kind[e] == 0:
                continue
            a0, a1 = tree.cells[e, 0], tree.cells[e, 1]
            r = topology.radius[m]
            lx = min(min(x[a0, 0], x[a0, 0] + w[a0, 0]), min(x[a1, 0], x[a1, 0] + w[a1, 0])) - r
            ly = min(min(x[a0, 1], x[a0, 1] + w[a0, 1]), min(x[a1, 1], x[a1, 1] + w[a1, 1])) - r
            lz = min(min(x[a0, 2], x[a0, 2] + w[a0, 2]), min(x[a1, 2], x[a1, 2] + w[a1, 2])) - r
            hx = max(max(x[a0, 0], x[a0, 0] + w[a0, 0]), max(x[a1, 0], x[a1, 0] + w[a1, 0])) + r
            hy = max(max(x[a0, 1], x[a0, 1] + w[a0, 1]), max(x[a1, 1], x[a1, 1] + w[a1, 1])) + r
            hz = max(max(x[a0, 2], x[a0, 2] + w[a0, 2]), max(x[a1, 2], x[a1, 2] + w[a1, 2])) + r
            for j in range(near.ptr[m], near.ptr[m + 1]):
                b = near.partner[j]
                reach = min_distance[m, b] * (1.0 + slack)
                rr = r + topology.radius[b]
                wide = reach + topology.radius[b]
                one_sided = True
                if kinds is not None:
                    one_sided = not kinds.two_sided[b]
                total = query_box(
                    tree.boxes, tree.root[b], tree.leaf_count[b], tree.leaf_range, tree.first_leaf[b], tree.order,
                    lx, ly, lz, hx, hy, hz, stack, found,
                )  # fmt: skip
                for k in range(total):
                    f = found[k]
                    if edge_kind[f] == 0 or (m == b and f <= e):
                        continue
                    b0, b1 = tree.cells[f, 0], tree.cells[f, 1]
                    if a0 in (b0, b1) or a1 in (b0, b1):
                        continue
                    if _outside_box(
                        x, w, tree.cells[f], 2,
                        lx - wide, ly - wide, lz - wide, hx + wide, hy + wide, hz + wide,
                    ):  # fmt: skip
                        continue
                    s, t, n, gap, inside = _edge_edge(x, w, a0, a1, b0, b1)
                    if not inside:
                        continue
                    turn = gap
                    if edge_kind[f] & 1:
                        turn = dot3(n, row3(outward, f))
                    elif edge_kind[e] & 1:
                        turn = -dot3(n, row3(outward, e))
                    if turn < 0.0:
                        n, gap = (-n[0], -n[1], -n[2]), -gap
                    if edge_kind[e] & 1 and dot3(n, row3(outward, e)) > 0.0:
                        continue  # they face away from each other
                    gap -= rr
                    speed = 0.0
                    for i in range(3):
                        rel = w[a0, i] + s * (w[a1, i] - w[a0, i]) - w[b0, i] - t * (w[b1, i] - w[b0, i])
                        speed += n[i] * rel
                    if (
                        gap > max_distance[m, b]
                        or gap + min(speed, 0.0) > reach
                        or gap < -rr - min_distance[m, b]
                    ):
                        continue
                    if kinds is not None:  # noqa: SIM102  this condition alone leaves out the branch when it is compiled
                        if not one_sided and (m == b or are_pieces(kinds, m, b)):
                            rest = _rest_edge_distance2(topology.rest, a0, a1, b0, b1)
                            if rest < (1.5 * min_distance[m, b] + rr) ** 2:
                                continue
                    if (
                        m == b
                        and one_sided
                        and _rest_edge_distance2(topology.rest, a0, a1, b0, b1)
                        < (1.5 * min_distance[m, b]) ** 2
                    ):
                        continue
                    if written < ids.shape[1]:
                        ids[chunk, written, 0], ids[chunk, written, 1] = a0, a1
                        ids[chunk, written, 2], ids[chunk, written, 3] = b0, b1
                        nearly_flat = edge_kind[e] in (3, 6) or edge_kind[f] in (3, 6)
                        ids[chunk, written, 4] = 4 if nearly_flat else 3
                        ids[chunk, written, 5], ids[chunk, written, 6] = m, b
                        ids[chunk, written, 7] = 0
                        values[chunk, written, 0], values[chunk, written, 1] = s, t
                        values[chunk, written, 2] = 0.0
                        for c in range(3):
                            values[chunk, written, 3 + c] = n[c]
                        values[chunk, written, 6], values[chunk, written, 7] = gap, 0.0
                    written += 1
        counts[chunk] = written


@kernel
def gather_chunks(counts, ids, values, all_ids, all_values):
    """Concatenate the pairs of all chunks."""
    row = 0
    for chunk in range(counts.shape[0]):
        for k in range(counts[chunk]):
            all_ids[row] = ids[chunk, k]
            all_values[row] = values[chunk, k]
            row += 1


@kernel
def pair_keys(point_ids, ids, weights, keys):
    """Compute a hash of each pair's points and side; that of two vertices does not depend on their order.

    Args:
        point_ids: Number of each point.
        ids: Numbers of the pairs from the kernels above, shape [c, 8].
        weights: Weights of their points, shape [c, 4].
        keys: Receives the hashes, shape [c].
    """
    nodes = np.empty(4, np.int64)
    for c in range(ids.shape[0]):
        for k in range(4):
            nodes[k] = point_ids[ids[c, k]]
        if ids[c, 4] == 2:
            best = 1
            for k in range(2, 4):
                if weights[c, k] < weights[c, best]:
                    best = k
            one, other = nodes[0], nodes[best]
            nodes[0] = min(one, other)
            nodes[1] = nodes[2] = nodes[3] = max(one, other)
        side = ids[c, 7] % 3  # not negative
        tag = (1 if ids[c, 4] >= 3 else 2) + 4 * side
        # spread over all bits: the next step would else mistake the sides of one point for those of another
        mixed = np.uint64(tag) * np.uint64(0xD6E8FEB86659FD93)
        for k in range(4):  # Fowler-Noll-Vo on integers instead of bytes, with a final mix
            mixed = (mixed ^ np.uint64(nodes[k])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        keys[c] = np.int64(mixed >> np.uint64(2))


@kernel
def join_pairs(face_ids, face_values, edge_ids, edge_values, ids, values, weights):
    """Write the pairs of vertices and triangles, and then those of edges, one after the other, with their weights."""
    faces = face_ids.shape[0]
    for c in range(faces + edge_ids.shape[0]):
        if c < faces:
            ids[c], values[c] = face_ids[c], face_values[c]
            weights[c, 0] = 1.0
            for k in range(3):
                weights[c, 1 + k] = -values[c, k]
        else:
            ids[c], values[c] = edge_ids[c - faces], edge_values[c - faces]
            s, t = values[c, 0], values[c, 1]
            weights[c, 0], weights[c, 1], weights[c, 2], weights[c, 3] = 1.0 - s, s, t - 1.0, -t
