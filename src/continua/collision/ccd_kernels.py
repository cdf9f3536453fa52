"""Compiled continuous collision detection: the time of impact of two features on straight paths; and intersections.

A vertex and a triangle, or two edges, collide where F(t, u, v) = D(t) - u E(t) - v G(t) is zero, with D, E and G linear
in time. Along any fixed direction F takes its extremes over a box of (t, u, v) at the box's corners, so a box in which
the range of some direction excludes zero (by more than the separation and the rounding) contains no impact. Bisection
of boxes from the earliest time on therefore never misses one (Snyder 1992; Wang et al. 2021). The directions are the
axes and the normals at three times, which exclude most pairs at once: they stay on one side of each other's plane.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.collision.bvh_kernels import STACK, query_box
from continua.collision.proximity_kernels import (
    CHUNK,
    PARALLEL_SINE2,
    are_pieces,
    is_ridge_towards,
    vertex_face,
    vertex_faces,
)
from continua.numerics import cross3, dot3, inline, kernel, kernel_pair
from continua.numerics.closest_points import row3, sub3, triangle_normal

__all__ = ["ccd_edge_edge", "ccd_vertex_face", "edge_face_intersections", "times_of_impact"]

_DIRECTIONS = 6
_MAX_BOXES = 20_000
_ROUNDING = 1e-14
_VOLUME_ROUNDING = 8e-16
_HEIGHT_ROUNDING = 4e-15  # rounding of coordinates, by which points of a flat sheet are off its plane
_AT_START = 2.0  # separations within which pieces of one body count as touching from the start


@inline
def _max_coordinate(a, most):
    return max(most, max(abs(a[0]), max(abs(a[1]), abs(a[2]))))


@inline
def _store(rows, k, a):
    rows[k, 0], rows[k, 1], rows[k, 2] = a[0], a[1], a[2]


@inline
def _directions(work, axes):
    """Fill `axes` [6, 3] with the coordinate axes and the normals E x G at times 0, 1/2 and 1 (or axes again)."""
    axes[:] = 0.0
    for k in range(3):
        axes[k, k] = 1.0
        e = (
            work[1, 0] + 0.5 * k * (work[4, 0] - work[1, 0]),
            work[1, 1] + 0.5 * k * (work[4, 1] - work[1, 1]),
            work[1, 2] + 0.5 * k * (work[4, 2] - work[1, 2]),
        )
        g = (
            work[2, 0] + 0.5 * k * (work[5, 0] - work[2, 0]),
            work[2, 1] + 0.5 * k * (work[5, 1] - work[2, 1]),
            work[2, 2] + 0.5 * k * (work[5, 2] - work[2, 2]),
        )
        n = cross3(e, g)
        size = sqrt(dot3(n, n))
        if size > 0.0:
            _store(axes, 3 + k, (n[0] / size, n[1] / size, n[2] / size))
        else:
            axes[3 + k, k] = 1.0


@inline
def _excluded(along, t0, t1, u0, u1, v0, v1, slack):
    """Return whether some direction proves that F is not zero in a box; `along` [6, 6] is D, E, G at 0 and 1."""
    for k in range(_DIRECTIONS):
        low, high = 1e300, -1e300
        for side in range(2):
            t = t0 if side == 0 else t1
            d = along[k, 0] + t * (along[k, 3] - along[k, 0])
            e = along[k, 1] + t * (along[k, 4] - along[k, 1])
            g = along[k, 2] + t * (along[k, 5] - along[k, 2])
            low = min(low, d - max(u0 * e, u1 * e) - max(v0 * g, v1 * g))
            high = max(high, d - min(u0 * e, u1 * e) - min(v0 * g, v1 * g))
        if low > slack or high < -slack:
            return True
    return False


@inline
def _time_of_impact(work, along, axes, stack, is_triangle, separation, scale):
    """Return the first time at which D - u E - v G comes within `separation` of zero, and u and v; 2 is never.

    Args:
        work: D, E and G at the start and at the end, shape [6, 3].
        along: Scratch for their components along the directions, shape [6, 6].
        axes: Scratch for the directions, shape [6, 3].
        stack: Scratch for boxes, shape [s, 6].
        is_triangle: Whether u + v <= 1.
        separation: Distance that counts as an impact [m].
        scale: Largest coordinate of the points, for rounding [m].
    """
    _directions(work, axes)
    for k in range(_DIRECTIONS):
        for j in range(6):
            along[k, j] = axes[k, 0] * work[j, 0] + axes[k, 1] * work[j, 1] + axes[k, 2] * work[j, 2]
    size_t = size_u = size_v = 0.0
    for i in range(3):
        move = 0.0
        for j in range(3):
            move += abs(work[3 + j, i] - work[j, i])
        size_t = max(size_t, move)
        size_u = max(size_u, max(abs(work[1, i]), abs(work[4, i])))
        size_v = max(size_v, max(abs(work[2, i]), abs(work[5, i])))
    slack = separation + _ROUNDING * scale
    fine = max(0.25 * separation, 1e-6 * (size_u + size_v) + 4.0 * _ROUNDING * scale)
    best, best_u, best_v = 2.0, 0.0, 0.0
    stack[0, 0] = stack[0, 2] = stack[0, 4] = 0.0
    stack[0, 1] = stack[0, 3] = stack[0, 5] = 1.0
    depth, boxes = 1, 0
    while depth > 0:
        depth -= 1
        t0, t1 = stack[depth, 0], stack[depth, 1]
        u0, u1, v0, v1 = stack[depth, 2], stack[depth, 3], stack[depth, 4], stack[depth, 5]
        if t0 >= best or (is_triangle and u0 + v0 > 1.0):
            continue
        boxes += 1
        if _excluded(along, t0, t1, u0, u1, v0, v1, slack):
            continue
        wt, wu, wv = (t1 - t0) * size_t, (u1 - u0) * size_u, (v1 - v0) * size_v
        if (wt <= fine and wu <= fine and wv <= fine) or boxes > _MAX_BOXES or depth + 2 > stack.shape[0]:
            best, best_u, best_v = t0, 0.5 * (u0 + u1), 0.5 * (v0 + v1)
            continue
        for half in range(2):  # the earlier half of the time on top of the stack
            row = depth + half
            stack[row, 0], stack[row, 1], stack[row, 2] = t0, t1, u0
            stack[row, 3], stack[row, 4], stack[row, 5] = u1, v0, v1
            if wt >= wu and wt >= wv:
                stack[row, 0 if half == 0 else 1] = 0.5 * (t0 + t1)
            elif wu >= wv:
                stack[row, 2 if half == 0 else 3] = 0.5 * (u0 + u1)
            else:
                stack[row, 4 if half == 0 else 5] = 0.5 * (v0 + v1)
        depth += 2
    return best, best_u, best_v


@inline
def _stays_on_one_side(work, separation, scale):
    """Return whether the normal at the start alone shows that there is no impact, as it does for most pairs.

    `_time_of_impact` comes to the same result with all directions; see there for the arguments.
    """
    n = cross3(row3(work, 1), row3(work, 2))
    low, high = 1e300, -1e300
    for side in range(2):
        d = dot3(n, row3(work, 3 * side))
        e, g = dot3(n, row3(work, 3 * side + 1)), dot3(n, row3(work, 3 * side + 2))
        low = min(low, d - max(0.0, e) - max(0.0, g))
        high = max(high, d - min(0.0, e) - min(0.0, g))
    slack = 1.000001 * separation + 4.0 * _ROUNDING * scale
    apart = max(low, -high)
    return apart > 0.0 and apart * apart > slack * slack * dot3(n, n)


@inline
def _relative_motion(x0, x1, a, b, c, d, is_triangle, work):
    """Write D, E and G of vertex a and triangle b c d, or of the edges a b and c d; returns the coordinates' size."""
    scale = 0.0
    for side in range(2):
        x = x0 if side == 0 else x1
        pa, pb, pc, pd = row3(x, a), row3(x, b), row3(x, c), row3(x, d)
        scale = _max_coordinate(pd, _max_coordinate(pc, _max_coordinate(pb, _max_coordinate(pa, scale))))
        if is_triangle:
            _store(work, 3 * side, sub3(pa, pb))
            _store(work, 3 * side + 1, sub3(pc, pb))
            _store(work, 3 * side + 2, sub3(pd, pb))
        else:
            _store(work, 3 * side, sub3(pa, pc))
            _store(work, 3 * side + 1, sub3(pa, pb))
            _store(work, 3 * side + 2, sub3(pd, pc))
    return scale


@inline
def _impact_normal(work, t, u, v):
    """Return the unit normal of an impact, to the side from which it came, and the initial distance along it."""
    e = (
        work[1, 0] + t * (work[4, 0] - work[1, 0]),
        work[1, 1] + t * (work[4, 1] - work[1, 1]),
        work[1, 2] + t * (work[4, 2] - work[1, 2]),
    )
    g = (
        work[2, 0] + t * (work[5, 0] - work[2, 0]),
        work[2, 1] + t * (work[5, 1] - work[2, 1]),
        work[2, 2] + t * (work[5, 2] - work[2, 2]),
    )
    start = (
        work[0, 0] - u * work[1, 0] - v * work[2, 0],
        work[0, 1] - u * work[1, 1] - v * work[2, 1],
        work[0, 2] - u * work[1, 2] - v * work[2, 2],
    )
    move = (
        work[3, 0] - u * work[4, 0] - v * work[5, 0] - start[0],
        work[3, 1] - u * work[4, 1] - v * work[5, 1] - start[1],
        work[3, 2] - u * work[4, 2] - v * work[5, 2] - start[2],
    )
    n = cross3(e, g)
    size, speed = sqrt(dot3(n, n)), sqrt(dot3(move, move))
    if size <= 1e-10 * sqrt(dot3(e, e) * dot3(g, g)) or abs(dot3(n, move)) <= 1e-6 * size * speed:
        n = start if dot3(start, start) > 1e-24 * dot3(e, e) else (-move[0], -move[1], -move[2])
        size = sqrt(dot3(n, n))
        if size == 0.0:
            return (0.0, 1.0, 0.0), 0.0
    sign = -1.0 if dot3(n, move) > 0.0 else 1.0
    n = (sign * n[0] / size, sign * n[1] / size, sign * n[2] / size)
    return n, dot3(n, start)


@inline
def _sine2(work):
    """Return the squared sine of the angle between E and G at the start."""
    e, g = row3(work, 1), row3(work, 2)
    n = cross3(e, g)
    return dot3(n, n) / max(dot3(e, e) * dot3(g, g), 1e-300)


@kernel
def times_of_impact(x0, x1, stencils, is_triangle, separation, times, parameters):
    """Find the time of impact of every vertex and triangle, or two edges, of `stencils` [c, 4]; 2 is never.

    Args:
        x0: Positions at the start [m], shape [n, 3].
        x1: Positions at the end [m], shape [n, 3].
        stencils: Vertex and corners, or the ends of two edges, shape [c, 4].
        is_triangle: Which of the two.
        separation: Distance that counts as an impact [m].
        times: Receives the times of impact as fractions of the step, shape [c].
        parameters: Receives u and v, shape [c, 2].
    """
    work, along, axes, stack = np.empty((6, 3)), np.empty((6, 6)), np.empty((6, 3)), np.empty((256, 6))
    for k in range(stencils.shape[0]):
        scale = _relative_motion(
            x0, x1, stencils[k, 0], stencils[k, 1], stencils[k, 2], stencils[k, 3], is_triangle, work
        )
        times[k], parameters[k, 0], parameters[k, 1] = _time_of_impact(
            work, along, axes, stack, is_triangle, separation, scale
        )


@inline
def _swept_box(x0, x1, a, b, widen):
    """Return the box around the paths of two points."""
    lx = min(min(x0[a, 0], x1[a, 0]), min(x0[b, 0], x1[b, 0])) - widen
    ly = min(min(x0[a, 1], x1[a, 1]), min(x0[b, 1], x1[b, 1])) - widen
    lz = min(min(x0[a, 2], x1[a, 2]), min(x0[b, 2], x1[b, 2])) - widen
    hx = max(max(x0[a, 0], x1[a, 0]), max(x0[b, 0], x1[b, 0])) + widen
    hy = max(max(x0[a, 1], x1[a, 1]), max(x0[b, 1], x1[b, 1])) + widen
    hz = max(max(x0[a, 2], x1[a, 2]), max(x0[b, 2], x1[b, 2])) + widen
    return lx, ly, lz, hx, hy, hz


@inline
def _edge_outside(x0, x1, a, b, lx, ly, lz, hx, hy, hz):
    """Return whether the box around the paths of two points lies outside another box."""
    kx, ky, kz, gx, gy, gz = _swept_box(x0, x1, a, b, 0.0)
    return kx > hx or gx < lx or ky > hy or gy < ly or kz > hz or gz < lz


@inline
def _triangle_outside(x0, x1, a, b, c, lx, ly, lz, hx, hy, hz):
    """Return whether the box around the path of a triangle lies outside another box."""
    kx, ky, kz, gx, gy, gz = _swept_box(x0, x1, a, b, 0.0)
    mx, my, mz, nx, ny, nz = _swept_box(x0, x1, c, c, 0.0)
    return (
        min(kx, mx) > hx
        or max(gx, nx) < lx
        or min(ky, my) > hy
        or max(gy, ny) < ly
        or min(kz, mz) > hz
        or max(gz, nz) < lz
    )


@kernel_pair
def ccd_vertex_face(tree, topology, kinds, x0, x1, near, separation, margin, counts, ids, values):
    """Find the vertices that hit triangles on the path from x0 to x1; see `proximity_kernels.vertex_face_candidates`.

    Pieces of one body that are as close as that along the normal from the start are left to proximity: they may lie
    on each other and slide. Of the others those count whose vertex comes from outside and has a triangle that faces
    against the normal.

    Args:
        kinds: Which surfaces are two-sided or pieces, or None.
        separation: Distance of two surfaces that counts as an impact [m], shape [m, m].
        margin: Widening of the boxes of each surface [m], shape [m].
        values: Receives the corners' weights, the normal, the distance at the start, and the time of impact.
    """
    for chunk in prange(counts.shape[0]):
        stack, found = np.empty(STACK, np.int32), np.empty(tree.cells.shape[0], np.int32)
        work, along, axes, box_stack = (
            np.empty((6, 3)),
            np.empty((6, 6)),
            np.empty((6, 3)),
            np.empty((256, 6)),
        )
        written = 0
        for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, near.cells.shape[0])):
            i = near.cells[item]
            v, m = topology.vertices[i], topology.vertex_surface[i]
            lx, ly, lz, hx, hy, hz = _swept_box(x0, x1, v, v, topology.radius[m])
            for j in range(near.ptr[m], near.ptr[m + 1]):
                b = near.partner[j]
                wide = margin[b]
                total = query_box(
                    tree.boxes, tree.root[b], tree.leaf_count[b], tree.leaf_range, tree.first_leaf[b], tree.order,
                    lx, ly, lz, hx, hy, hz, stack, found,
                )  # fmt: skip
                for k in range(total):
                    t0, t1, t2 = tree.cells[found[k], 0], tree.cells[found[k], 1], tree.cells[found[k], 2]
                    if t0 == v or t1 == v or t2 == v:
                        continue
                    if _triangle_outside(
                        x0, x1, t0, t1, t2,
                        lx - wide, ly - wide, lz - wide, hx + wide, hy + wide, hz + wide,
                    ):  # fmt: skip
                        continue
                    scale = _relative_motion(x0, x1, v, t0, t1, t2, True, work)
                    if _stays_on_one_side(work, separation[m, b], scale):
                        continue
                    time, u, w = _time_of_impact(work, along, axes, box_stack, True, separation[m, b], scale)
                    if time > 1.0:
                        continue
                    side = 0
                    if kinds is not None:
                        if kinds.two_sided[b]:
                            start = vertex_face(x0, x0, row3(x0, v), v, t0, t1, t2)
                            if start[3] == 0:
                                side = 1 if start[2] >= 0.0 else -1
                        elif are_pieces(kinds, m, b):
                            n, gap = _impact_normal(work, time, u, w)
                            outward = triangle_normal(row3(x0, t0), row3(x0, t1), row3(x0, t2))
                            if not (
                                gap > _AT_START * separation[m, b]
                                and dot3(n, outward) > 0.0
                                and vertex_faces(kinds, tree.cells, x0, v, n)
                            ):
                                continue
                    if written < ids.shape[1]:
                        n, gap = _impact_normal(work, time, u, w)
                        ids[chunk, written, 0], ids[chunk, written, 1] = v, t0
                        ids[chunk, written, 2], ids[chunk, written, 3] = t1, t2
                        ids[chunk, written, 4], ids[chunk, written, 7] = 0, side
                        ids[chunk, written, 5], ids[chunk, written, 6] = m, b
                        values[chunk, written, 0] = 1.0 - u - w
                        values[chunk, written, 1], values[chunk, written, 2] = u, w
                        for c in range(3):
                            values[chunk, written, 3 + c] = n[c]
                        values[chunk, written, 6] = gap - topology.radius[m] - topology.radius[b]
                        values[chunk, written, 7] = time
                    written += 1
        counts[chunk] = written


@kernel_pair
def ccd_edge_edge(tree, topology, kinds, x0, x1, near, separation, margin, counts, ids, values):
    """Find the edges that hit edges on the path from x0 to x1; see `proximity_kernels.edge_edge_candidates`.

    Of the edges of pieces of one body only ridges count that face each other and do not lie on each other, as in
    `ccd_vertex_face`.

    Args:
        kinds: Which surfaces are two-sided or pieces, or None.
        separation: Distance of two surfaces that counts as an impact [m], shape [m, m].
        margin: Widening of the boxes of each surface [m], shape [m].
        values: Receives s, t, 0, the normal, the distance at the start, and the time of impact.
    """
    for chunk in prange(counts.shape[0]):
        stack, found = np.empty(STACK, np.int32), np.empty(tree.cells.shape[0], np.int32)
        work, along, axes, box_stack = (
            np.empty((6, 3)),
            np.empty((6, 6)),
            np.empty((6, 3)),
            np.empty((256, 6)),
        )
        written = 0
        for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, near.cells.shape[0])):
            e = near.cells[item]
            m = tree.surface[e]
            a0, a1 = tree.cells[e, 0], tree.cells[e, 1]
            lx, ly, lz, hx, hy, hz = _swept_box(x0, x1, a0, a1, topology.radius[m])
            for j in range(near.ptr[m], near.ptr[m + 1]):
                b = near.partner[j]
                wide = margin[b]
                total = query_box(
                    tree.boxes, tree.root[b], tree.leaf_count[b], tree.leaf_range, tree.first_leaf[b], tree.order,
                    lx, ly, lz, hx, hy, hz, stack, found,
                )  # fmt: skip
                for k in range(total):
                    b0, b1 = tree.cells[found[k], 0], tree.cells[found[k], 1]
                    if (m == b and found[k] <= e) or a0 in (b0, b1) or a1 in (b0, b1):
                        continue
                    if _edge_outside(
                        x0, x1, b0, b1, lx - wide, ly - wide, lz - wide, hx + wide, hy + wide, hz + wide
                    ):
                        continue
                    scale = _relative_motion(x0, x1, a0, a1, b0, b1, False, work)
                    if _stays_on_one_side(work, separation[m, b], scale):
                        continue
                    time, s, t = _time_of_impact(work, along, axes, box_stack, False, separation[m, b], scale)
                    if time > 1.0:
                        continue
                    if kinds is not None:  # noqa: SIM102  this condition alone leaves out the branch when it is compiled
                        if not kinds.two_sided[b] and are_pieces(kinds, m, b):
                            n, gap = _impact_normal(work, time, s, t)
                            if not (
                                gap > _AT_START * separation[m, b]
                                and _sine2(work) > PARALLEL_SINE2
                                and is_ridge_towards(topology, x0, e, a0, a1, n, -1.0)
                                and is_ridge_towards(topology, x0, found[k], b0, b1, n, 1.0)
                            ):
                                continue
                    if written < ids.shape[1]:
                        n, gap = _impact_normal(work, time, s, t)
                        ids[chunk, written, 0], ids[chunk, written, 1] = a0, a1
                        ids[chunk, written, 2], ids[chunk, written, 3] = b0, b1
                        ids[chunk, written, 4], ids[chunk, written, 7] = 3, 0
                        ids[chunk, written, 5], ids[chunk, written, 6] = m, b
                        values[chunk, written, 0], values[chunk, written, 1] = s, t
                        values[chunk, written, 2] = 0.0
                        for c in range(3):
                            values[chunk, written, 3 + c] = n[c]
                        values[chunk, written, 6] = gap - topology.radius[m] - topology.radius[b]
                        values[chunk, written, 7] = time
                    written += 1
        counts[chunk] = written


@inline
def _signed_volume(a, b, c, d):
    """Return six times the volume of a tetrahedron, or 0 where rounding leaves its sign open (Shewchuk 1997)."""
    p, q, r = sub3(b, a), sub3(c, a), sub3(d, a)
    n = cross3(q, r)
    volume = dot3(p, n)
    size = (
        abs(p[0]) * (abs(q[1] * r[2]) + abs(q[2] * r[1]))
        + abs(p[1]) * (abs(q[2] * r[0]) + abs(q[0] * r[2]))
        + abs(p[2]) * (abs(q[0] * r[1]) + abs(q[1] * r[0]))
    )
    return volume if abs(volume) > _VOLUME_ROUNDING * size else 0.0


@inline
def _segment_pierces_triangle(p, q, a, b, c):
    """Return whether a segment p q pierces a triangle, or its rim; its ends are certainly on different sides.

    Of the edges and triangles of a flat sheet none pierces another, in any orientation.
    """
    n = cross3(sub3(b, a), sub3(c, a))
    rounding = _HEIGHT_ROUNDING * _max_coordinate(p, _max_coordinate(q, 0.0)) * sqrt(dot3(n, n))
    above, below = _signed_volume(a, b, c, p), _signed_volume(a, b, c, q)
    if (above > 0.0) == (below > 0.0) or min(abs(above), abs(below)) <= rounding:
        return False
    one, two, three = _signed_volume(p, q, a, b), _signed_volume(p, q, b, c), _signed_volume(p, q, c, a)
    if one == 0.0 and two == 0.0 and three == 0.0:
        return False
    return min(one, min(two, three)) >= 0.0 or max(one, max(two, three)) <= 0.0


@kernel_pair
def edge_face_intersections(edges, tree, x, near, counts, ids, values):
    """Find edges that pierce triangles with which they share no point.

    Args:
        edges: Trees of the edges.
        tree: Trees of the triangles, fitted to x.
        x: Positions [m], shape [n, 3].
        near: The edges, and the surfaces against whose triangles they are tested; see `NearCells`.
        counts: Receives the number found in each chunk of edges.
        ids: Receives edge, triangle, three zeros and the surfaces, shape [chunks, capacity, 8].
        values: Not used.
    """
    for chunk in prange(counts.shape[0]):
        stack, found = np.empty(STACK, np.int32), np.empty(tree.cells.shape[0], np.int32)
        written = 0
        for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, near.cells.shape[0])):
            e = near.cells[item]
            m = edges.surface[e]
            a0, a1 = edges.cells[e, 0], edges.cells[e, 1]
            p, q = row3(x, a0), row3(x, a1)
            for j in range(near.ptr[m], near.ptr[m + 1]):
                b = near.partner[j]
                total = query_box(
                    tree.boxes, tree.root[b], tree.leaf_count[b], tree.leaf_range, tree.first_leaf[b], tree.order,
                    min(p[0], q[0]), min(p[1], q[1]), min(p[2], q[2]),
                    max(p[0], q[0]), max(p[1], q[1]), max(p[2], q[2]), stack, found,
                )  # fmt: skip
                for k in range(total):
                    cell = tree.cells[found[k]]
                    shared = False
                    for c in range(3):
                        if cell[c] == a0 or cell[c] == a1:
                            shared = True
                    if shared or not _segment_pierces_triangle(
                        p, q, row3(x, cell[0]), row3(x, cell[1]), row3(x, cell[2])
                    ):
                        continue
                    if written < ids.shape[1]:
                        ids[chunk, written] = 0
                        ids[chunk, written, 0], ids[chunk, written, 1] = e, found[k]
                        ids[chunk, written, 5], ids[chunk, written, 6] = m, b
                        values[chunk, written] = 0.0
                    written += 1
        counts[chunk] = written
