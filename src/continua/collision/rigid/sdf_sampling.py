"""Compiled contacts of meshes: sample points of one body, in a hierarchy of spheres, in the distance of another.

A sphere whose centre is farther from the other body than its radius is skipped with all its points (Koschier 2018). The
distance is that of a tree of triangles, a fitted field, or a primitive. Tasks are independent: each is written by one
thread.

The closest point alone would not hold a sphere in a corner. Along the normal away from a wall the closest point stays
the same until another wall is as close: so a second query farther out finds that wall, and a third the next.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import prange

from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR, add_contact_point, reduce_manifold
from continua.geometry.primitive_kernels import distance
from continua.numerics import inline, kernel, kernel_pair
from continua.sdf.bvh_kernels import STACK
from continua.sdf.kernels import closest_from, signed_on_triangle, value_and_gradient

__all__ = [
    "EXACT_MESH",
    "FITTED_FIELD",
    "MAX_WALLS",
    "PRIMITIVE",
    "SAME_WALL_COSINE",
    "WALL_SEARCH_OFFSET",
    "merge_tasks",
    "reduce_points",
    "sample_sdf_contacts",
]  # fmt: skip

PRIMITIVE, EXACT_MESH, FITTED_FIELD = 0, 1, 2  # sources of the distance
_SCRATCH = 512
_REDUCED_COUNT = 16  # points kept of a full scratch
MAX_WALLS = 3  # most walls that a sphere touches
WALL_SEARCH_OFFSET = (0.5, 2.0)  # radii and largest gaps away from a wall, where the next one is searched
SAME_WALL_COSINE = 0.95  # cosine above which two normals belong to one wall
_WALL_FEATURE_STRIDE = 8192  # stride of the feature numbers of a point's walls


@inline
def _signed_distance(mode, tree, table, kind, size, sign, surface_offset, x, y, z, hint, stack):
    """Return distance and unit normal of the target in its own axes, and the triangle to start the next query from."""
    if mode == EXACT_MESH:
        hint, _ = closest_from(tree, x, y, z, hint, stack)
        d, nx, ny, nz, _, _, _, _ = signed_on_triangle(tree, hint, x, y, z)
    elif mode == FITTED_FIELD:
        d, nx, ny, nz = value_and_gradient(table, x, y, z)
        length = sqrt(nx * nx + ny * ny + nz * nz)
        if length > 0.0:
            nx, ny, nz = nx / length, ny / length, nz / length
        else:
            nx, ny, nz = 0.0, 1.0, 0.0
    else:
        d, nx, ny, nz = distance(kind, size[0], size[1], size[2], x, y, z)
    return sign * (d - surface_offset), sign * nx, sign * ny, sign * nz, hint


@inline
def _find_more_walls(
    mode,
    tree,
    table,
    kind,
    size,
    sign,
    surface_offset,
    distance_error,
    x,
    y,
    z,
    radius,
    max_gap,
    hint,
    stack,
    walls,
):
    """Find more walls that a sphere at (x, y, z) touches besides walls[0] (normal, distance); return their number."""
    offset_out = WALL_SEARCH_OFFSET[0] * radius + WALL_SEARCH_OFFSET[1] * max_gap
    for known in range(1, MAX_WALLS):
        px, py, pz = x, y, z
        for k in range(known):
            px, py, pz = (
                px + offset_out * walls[k, 0],
                py + offset_out * walls[k, 1],
                pz + offset_out * walls[k, 2],
            )
        d, nx, ny, nz, hint = _signed_distance(
            mode, tree, table, kind, size, sign, surface_offset, px, py, pz, hint, stack
        )
        for k in range(known):
            if nx * walls[k, 0] + ny * walls[k, 1] + nz * walls[k, 2] > SAME_WALL_COSINE:
                return known
        gap = d + nx * (x - px) + ny * (y - py) + nz * (z - pz)
        if gap - radius >= max_gap:
            return known
        off = _signed_distance(
            mode,
            tree,
            table,
            kind,
            size,
            sign,
            surface_offset,
            px - d * nx,
            py - d * ny,
            pz - d * nz,
            hint,
            stack,
        )[0]
        if (
            abs(off) > 2.0 * distance_error + 1e-6 * radius
        ):  # not on the surface: fitted gradients are inaccurate far away
            return known
        walls[known, 0], walls[known, 1], walls[known, 2], walls[known, 3] = nx, ny, nz, gap
    return MAX_WALLS


@inline
def _box_distance(box, x, y, z):
    """Return the distance from a box [2, 3], 0 inside."""
    a = max(0.0, max(box[0, 0] - x, x - box[1, 0]))
    b = max(0.0, max(box[0, 1] - y, y - box[1, 1]))
    c = max(0.0, max(box[0, 2] - z, z - box[1, 2]))
    return sqrt(a * a + b * b + c * c)


@inline
def _reduce_scratch(found, count, selected):
    """Reduce a full scratch to points far apart, with the deepest among them."""
    kept = reduce_manifold(found, count, _REDUCED_COUNT, selected)
    for k in range(kept):  # in ascending order, so that nothing is overwritten before it is read
        least = k
        for m in range(k + 1, kept):
            if selected[m] < selected[least]:
                least = m
        selected[k], selected[least] = selected[least], selected[k]
    for k in range(kept):
        for d in range(8):
            found[k, d] = found[selected[k], d]
    return kept


@kernel_pair
def sample_sdf_contacts(
    mode, tree, table, kind, size, sign, surface_offset, box, distance_error, tasks, max_gap, X, R, FX, FR,
    points, spheres, links, start, end, point_radius, group, counts, result
):  # fmt: skip
    """Find the sample points of bodies that are close to one kind of target.

    Args:
        mode: PRIMITIVE, EXACT_MESH or FITTED_FIELD.
        tree: A `TriangleBvh`, used if `mode` is EXACT_MESH.
        table: A `FieldTable`, used if `mode` is FITTED_FIELD.
        kind: Kind of a primitive target.
        size: Its size [3].
        sign: -1 where the target is hollow, else 1.
        surface_offset: Outward offset of the target's surface [m].
        box: Bounding box of the target in its own axes [m], shape [2, 3].
        distance_error: Largest error of a distance [m].
        tasks: Sampled instance, and 1 if it is the second of its pair, else 0 [t, 2].
        max_gap: Largest gap of interest [m], shape [t].
        X: Positions of instances [n, 3].
        R: Rotations of instances [n, 9].
        FX: Origins of the target's axes [t, 3].
        FR: Rotations of the target's axes [t, 9].
        points: See `rigid.surface_samples.Samples`, as spheres and links: those of all bodies, one after the other.
        spheres: See points.
        links: See points.
        start: First sphere of each body.
        end: Behind the last one.
        point_radius: Radius of the sample points of each body [m].
        group: Body of each instance [n].
        counts: Contact points of each task, written.
        result: Position, normal from the second to the first body, gap and feature number
            [t, MAX_CONTACTS_PER_PAIR, 8], written.
    """
    for t in prange(tasks.shape[0]):
        found, selected, stack = np.empty((_SCRATCH, 8)), np.empty(_SCRATCH, np.int64), np.empty((2, STACK))
        walls = np.empty((MAX_WALLS, 4))
        i, second = tasks[t, 0], tasks[t, 1]
        body = group[i]
        radius, flip = point_radius[body], 1.0 - 2.0 * second
        # from the sampled instance's axes to the target's: p -> A p + b
        A, b = np.empty((3, 3)), np.empty(3)
        for r in range(3):
            b[r] = 0.0
            for c in range(3):
                b[r] += FR[t, 3 * c + r] * (X[i, c] - FX[t, c])
                A[r, c] = 0.0
                for k in range(3):
                    A[r, c] += FR[t, 3 * k + r] * R[i, 3 * k + c]
        hint, count = 0, 0
        node = start[body]
        while node < end[body]:
            px, py, pz = spheres[node, 0], spheres[node, 1], spheres[node, 2]
            x = A[0, 0] * px + A[0, 1] * py + A[0, 2] * pz + b[0]
            y = A[1, 0] * px + A[1, 1] * py + A[1, 2] * pz + b[1]
            z = A[2, 0] * px + A[2, 1] * py + A[2, 2] * pz + b[2]
            far = spheres[node, 3] + radius + max_gap[t] + distance_error
            if _box_distance(box, x, y, z) > far + surface_offset:
                node = links[node, 2]
                continue
            d, _, _, _, hint = _signed_distance(
                mode, tree, table, kind, size, sign, surface_offset, x, y, z, hint, stack
            )
            if d > far:
                node = links[node, 2]
                continue
            for s in range(links[node, 0], links[node, 0] + links[node, 1]):
                px, py, pz = points[s, 0], points[s, 1], points[s, 2]
                x = A[0, 0] * px + A[0, 1] * py + A[0, 2] * pz + b[0]
                y = A[1, 0] * px + A[1, 1] * py + A[1, 2] * pz + b[1]
                z = A[2, 0] * px + A[2, 1] * py + A[2, 2] * pz + b[2]
                d, nx, ny, nz, hint = _signed_distance(
                    mode, tree, table, kind, size, sign, surface_offset, x, y, z, hint, stack
                )
                if d - radius >= max_gap[t]:
                    continue
                walls[0, 0], walls[0, 1], walls[0, 2], walls[0, 3] = nx, ny, nz, d
                known = 1
                if radius > 0.0:
                    known = _find_more_walls(
                        mode, tree, table, kind, size, sign, surface_offset, distance_error,
                        x, y, z, radius, max_gap[t], hint, stack, walls,
                    )  # fmt: skip
                for w in range(known):
                    if count == _SCRATCH:
                        count = _reduce_scratch(found, count, selected)
                    nx, ny, nz, d = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
                    back = radius + 0.5 * (d - radius)
                    qx, qy, qz = x - back * nx, y - back * ny, z - back * nz
                    wx = FX[t, 0] + FR[t, 0] * qx + FR[t, 1] * qy + FR[t, 2] * qz
                    wy = FX[t, 1] + FR[t, 3] * qx + FR[t, 4] * qy + FR[t, 5] * qz
                    wz = FX[t, 2] + FR[t, 6] * qx + FR[t, 7] * qy + FR[t, 8] * qz
                    mx = flip * (FR[t, 0] * nx + FR[t, 1] * ny + FR[t, 2] * nz)
                    my = flip * (FR[t, 3] * nx + FR[t, 4] * ny + FR[t, 5] * nz)
                    mz = flip * (FR[t, 6] * nx + FR[t, 7] * ny + FR[t, 8] * nz)
                    number = 2 * (s - links[start[body], 0]) + second + _WALL_FEATURE_STRIDE * w
                    count = add_contact_point(
                        found, count, max_gap[t], wx, wy, wz, mx, my, mz, d - radius, number
                    )
            node += 1
        kept = reduce_manifold(found, count, MAX_CONTACTS_PER_PAIR, selected)
        counts[t] = kept
        for k in range(kept):
            for c in range(8):
                result[t, k, c] = found[selected[k], c]


@kernel
def reduce_points(rows, first, counts, result):
    """Select points far apart for each task, whose points are rows[first[t]:first[t + 1]] (8 columns)."""
    for t in range(counts.shape[0]):
        own = rows[first[t] : first[t + 1]]
        selected = np.empty(MAX_CONTACTS_PER_PAIR, np.int64)
        kept = reduce_manifold(own, own.shape[0], MAX_CONTACTS_PER_PAIR, selected)
        counts[t] = kept
        for k in range(kept):
            for c in range(8):
                result[t, k, c] = own[selected[k], c]


@kernel
def merge_tasks(pair, task_counts, task_found, counts, positions, normals, gaps, features):
    """Merge the points of the tasks of each pair; tasks of one pair follow each other.

    Args:
        pair: The pair of each task, ascending.
        task_counts: See `sample_sdf_contacts`, as task_found.
        task_found: See task_counts.
        counts: See `narrow_phase.collide_pairs`, as positions, normals, gaps and features; written for these pairs.
        positions: See counts.
        normals: See counts.
        gaps: See counts.
        features: See counts.
    """
    found, selected = np.empty((2 * MAX_CONTACTS_PER_PAIR, 8)), np.empty(2 * MAX_CONTACTS_PER_PAIR, np.int64)
    t = 0
    while t < pair.shape[0]:
        p, count = pair[t], 0
        while t < pair.shape[0] and pair[t] == p:
            for k in range(task_counts[t]):
                for c in range(8):
                    found[count, c] = task_found[t, k, c]
                count += 1
            t += 1
        counts[p] = reduce_manifold(found, count, MAX_CONTACTS_PER_PAIR, selected)
        for k in range(counts[p]):
            m = selected[k]
            for c in range(3):
                positions[p, k, c], normals[p, k, c] = found[m, c], found[m, 3 + c]
            gaps[p, k], features[p, k] = found[m, 6], int(found[m, 7])
