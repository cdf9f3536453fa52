"""Compiled building of boundary maps: distances in bricks of a regular grid become planes or cubic splines."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x4 import load4s, splat4s, store4s

BRICK = 8  # cells along a side of a brick
NODES_PER_RADIUS = 4  # nodes per kernel radius
MARGIN = 7  # nodes before a brick that its coefficients depend on: 1 spline, 2 filter, 4 kernel
NEIGHBOURHOOD = 23  # nodes along a side of the neighbourhood of a brick
PADDED = 24  # the same along z, padded
COARSE = 13  # every second node along a side of the neighbourhood
HALF_STEP_NODES = 19  # half-step nodes along a side that a brick's own nodes depend on
VALUES = 15  # nodes along a side whose values are filtered
COEFFICIENTS = 11  # coefficients along a side of a brick
SPLINE, FLAT, EMPTY = 0, 1, 2


@inline
def node_value(a, b, c, log, counts, brick_rows, nodes, fill_values):
    """Return the value stored at node (a, b, c) of bricks with 2^log nodes along a side.

    Where none is stored it is one of `fill_values`: outside the boundary, deep inside, outside the grid.
    """
    x, y, z = a >> log, b >> log, c >> log
    if x < 0 or y < 0 or z < 0 or x >= counts[0] or y >= counts[1] or z >= counts[2]:
        return fill_values[2]
    row = brick_rows[(x * counts[1] + y) * counts[2] + z]
    if row < 0:
        return fill_values[-1 - row]
    mask = (1 << log) - 1
    return nodes[row, ((((a & mask) << log) + (b & mask)) << log) + (c & mask)]


@inline
def copy_run(a, b, c, count, log, counts, brick_rows, nodes, fill_values, target, start):
    """Copy the values at nodes (a, b, c), (a, b, c + 1), ... into `target` from `start` on."""
    mask = (1 << log) - 1
    x, y = a >> log, b >> log
    outside = x < 0 or y < 0 or x >= counts[0] or y >= counts[1]
    column = (x * counts[1] + y) * counts[2]
    line = (((a & mask) << log) + (b & mask)) << log
    k = 0
    while k < count:
        z = (c + k) >> log
        first = (c + k) & mask
        many = min(mask + 1 - first, count - k)
        row = -3 if outside or z < 0 or z >= counts[2] else brick_rows[column + z]
        if row < 0:
            value = fill_values[-1 - row]
            for m in range(many):
                target[start + k + m] = value
        else:
            for m in range(many):
                target[start + k + m] = nodes[row, line + first + m]
        k += many


@inline
def fit_plane(scratch, spacing, upper, lower, tolerance, plane):
    """Check whether distances clamped to `lower` and `upper` are those of one plane; return the kind of the brick.

    `plane` receives the normal and the distance of the plane at the scratch's first node.
    """
    best, si, sj, sk = np.float32(1e30), 1, 1, 1
    lowest = np.float32(1e30)
    for i in range(COARSE):
        for j in range(COARSE):
            for k in range(COARSE):
                value = scratch[i, j, k]
                lowest = min(lowest, value)
                inner = 0 < i < COARSE - 1 and 0 < j < COARSE - 1 and 0 < k < COARSE - 1
                if inner and abs(value) < best:
                    best, si, sj, sk = abs(value), i, j, k
    if lowest >= upper:
        return EMPTY
    gx = scratch[si + 1, sj, sk] - scratch[si - 1, sj, sk]
    gy = scratch[si, sj + 1, sk] - scratch[si, sj - 1, sk]
    gz = scratch[si, sj, sk + 1] - scratch[si, sj, sk - 1]
    length = np.sqrt(gx * gx + gy * gy + gz * gz)
    if abs(length - 2.0 * spacing) > 1e-3 * spacing:
        return SPLINE
    gx, gy, gz = gx / length, gy / length, gz / length
    start = scratch[si, sj, sk] - spacing * (si * gx + sj * gy + sk * gz)
    for i in range(COARSE):
        for j in range(COARSE):
            for k in range(COARSE):
                guess = start + spacing * (i * gx + j * gy + k * gz)
                guess = min(max(guess, lower), upper)
                if abs(min(max(scratch[i, j, k], lower), upper) - guess) > tolerance:
                    return SPLINE
    plane[0], plane[1], plane[2], plane[3] = gx, gy, gz, start
    return FLAT


@kernel_pair
def classify(
    targets, counts, brick_rows, nodes, fill_values, spacing, upper, lower, tolerance, kinds, planes
):
    """Find for each target brick [m, 3] whether it is empty, flat or needs a spline, and its plane [m, 4] if flat.

    Distances are given at every second node, shape [k, 64], `spacing` [m] apart.
    """
    for m in prange(targets.shape[0]):
        flat = np.empty(COARSE * COARSE * COARSE, np.float32)
        plane = np.zeros(4, np.float32)
        bi, bj, bk = 4 * targets[m, 0] - 4, 4 * targets[m, 1] - 4, 4 * targets[m, 2] - 4
        for i in range(COARSE):
            for j in range(COARSE):
                start = (i * COARSE + j) * COARSE
                copy_run(bi + i, bj + j, bk, COARSE, 2, counts, brick_rows, nodes, fill_values, flat, start)
        kinds[m] = fit_plane(flat.reshape((COARSE, COARSE, COARSE)), spacing, upper, lower, tolerance, plane)
        for c in range(4):
            planes[m, c] = plane[c]


@kernel_pair
def find_kinks(bricks, counts, brick_rows, nodes, fill_values, low, high, threshold, has_kink):
    """Find for each brick [m, 3] whether the distance has a kink at one of its nodes between `low` and `high`."""
    for m in prange(bricks.shape[0]):
        bi, bj, bk = 8 * bricks[m, 0], 8 * bricks[m, 1], 8 * bricks[m, 2]
        found = False
        for i in range(8):
            for j in range(8):
                for k in range(8):
                    a, b, c = bi + i, bj + j, bk + k
                    here = node_value(a, b, c, 3, counts, brick_rows, nodes, fill_values)
                    if found or here < low or here > high:
                        continue
                    for axis in range(3):
                        x, y, z = axis == 0, axis == 1, axis == 2
                        before = node_value(a - x, b - y, c - z, 3, counts, brick_rows, nodes, fill_values)
                        after = node_value(a + x, b + y, c + z, 3, counts, brick_rows, nodes, fill_values)
                        if abs(before + after - 2.0 * here) > threshold:
                            found = True
        has_kink[m] = found


@inline
def interpolate_table(distance, gamma, depth, scale):
    """Return gamma at a distance, from a table that begins at -depth and has `scale` entries per metre."""
    last = gamma.shape[0] - 1
    position = min(max((distance + depth) * scale, np.float32(0.0)), np.float32(last))
    low = min(int(position), last - 1)
    return gamma[low] + (position - np.float32(low)) * (gamma[low + 1] - gamma[low])


@kernel_pair
def node_weights_from_table(nodes, gamma, depth, scale, node_weights):
    """Write gamma at all distances, shape [k, 512]."""
    for m in prange(nodes.shape[0]):
        for k in range(512):
            node_weights[m, k] = interpolate_table(nodes[m, k], gamma, depth, scale)


@kernel_pair
def filtered_node_weights(which, fine, gamma, depth, scale, node_weights):
    """Write gamma at the nodes of some bricks, filtered from distances half a step apart, shape [m, 19 x 19 x 19].

    The weights along each axis are -1/16, 1/4, 5/8, 1/4, -1/16: they preserve cubics and remove the Nyquist frequency.
    """
    a, b, c = np.float32(-1.0 / 16.0), np.float32(0.25), np.float32(0.625)
    for m in prange(which.shape[0]):
        full = np.empty((HALF_STEP_NODES, HALF_STEP_NODES, HALF_STEP_NODES), np.float32)
        for i in range(HALF_STEP_NODES):
            for j in range(HALF_STEP_NODES):
                for k in range(HALF_STEP_NODES):
                    full[i, j, k] = interpolate_table(
                        fine[m, (i * HALF_STEP_NODES + j) * HALF_STEP_NODES + k], gamma, depth, scale
                    )
        first = np.empty((8, HALF_STEP_NODES, HALF_STEP_NODES), np.float32)
        for i in range(8):
            for j in range(HALF_STEP_NODES):
                for k in range(HALF_STEP_NODES):
                    first[i, j, k] = (
                        a * (full[2 * i, j, k] + full[2 * i + 4, j, k])
                        + b * (full[2 * i + 1, j, k] + full[2 * i + 3, j, k])
                        + c * full[2 * i + 2, j, k]
                    )
        for i in range(8):
            second = np.empty((8, HALF_STEP_NODES), np.float32)
            for j in range(8):
                for k in range(HALF_STEP_NODES):
                    second[j, k] = (
                        a * (first[i, 2 * j, k] + first[i, 2 * j + 4, k])
                        + b * (first[i, 2 * j + 1, k] + first[i, 2 * j + 3, k])
                        + c * first[i, 2 * j + 2, k]
                    )
            for j in range(8):
                for k in range(8):
                    node_weights[which[m], (i * 8 + j) * 8 + k] = (
                        a * (second[j, 2 * k] + second[j, 2 * k + 4])
                        + b * (second[j, 2 * k + 1] + second[j, 2 * k + 3])
                        + c * second[j, 2 * k + 2]
                    )


@inline
def _bspline_prefilter(values, result):
    """Convert values [15, 15, 16] at nodes into coefficients [11, 11, 11] of the cubic spline that interpolates them.

    Along each axis 1 - d/6 + d d/36, with d the second difference: the first terms of the inverse of 1 + d/6.
    """
    a, b, c = np.float32(1.0 / 36.0), np.float32(-10.0 / 36.0), np.float32(54.0 / 36.0)
    first = np.empty((COEFFICIENTS, VALUES, 16), np.float32)
    for i in range(COEFFICIENTS):
        for j in range(VALUES):
            for k in range(16):
                first[i, j, k] = (
                    a * (values[i, j, k] + values[i + 4, j, k])
                    + b * (values[i + 1, j, k] + values[i + 3, j, k])
                    + c * values[i + 2, j, k]
                )
    second = np.empty((COEFFICIENTS, COEFFICIENTS, 16), np.float32)
    for i in range(COEFFICIENTS):
        for j in range(COEFFICIENTS):
            for k in range(16):
                second[i, j, k] = (
                    a * (first[i, j, k] + first[i, j + 4, k])
                    + b * (first[i, j + 1, k] + first[i, j + 3, k])
                    + c * first[i, j + 2, k]
                )
    for i in range(COEFFICIENTS):
        for j in range(COEFFICIENTS):
            for k in range(COEFFICIENTS):
                result[(i * COEFFICIENTS + j) * COEFFICIENTS + k] = (
                    a * (second[i, j, k] + second[i, j, k + 4])
                    + b * (second[i, j, k + 1] + second[i, j, k + 3])
                    + c * second[i, j, k + 2]
                )


@inline
def copy_neighbourhood(bi, bj, bk, counts, brick_rows, nodes, fill_values, scratch):
    """Copy the values around a brick into `scratch` [NEIGHBOURHOOD * NEIGHBOURHOOD * PADDED + 16]."""
    for i in range(NEIGHBOURHOOD):
        for j in range(NEIGHBOURHOOD):
            a, b, c = 8 * bi - MARGIN + i, 8 * bj - MARGIN + j, 8 * bk - MARGIN
            copy_run(
                a,
                b,
                c,
                NEIGHBOURHOOD,
                3,
                counts,
                brick_rows,
                nodes,
                fill_values,
                scratch,
                (i * NEIGHBOURHOOD + j) * PADDED,
            )


@kernel_pair
def spline_coefficients(targets, counts, brick_rows, node_weights, fill_values, offsets, weights, result):
    """Compute spline coefficients of bricks: sums of `weights` times gamma over the surrounding nodes.

    Args:
        targets: Bricks, shape [m, 3].
        counts: Bricks along each axis.
        brick_rows: Row of each brick in `node_weights`; -1 if it has none, -2 deep inside.
        node_weights: Gamma at the nodes, shape [k, 512].
        fill_values: Gamma where none is stored: outside, inside, outside the grid.
        offsets: Of the nodes in the kernel's support, in a flat array [23, 23, 24].
        weights: Of these nodes.
        result: Receives coefficients, shape [m, 1331].
    """
    for m in prange(targets.shape[0]):
        scratch = np.zeros(NEIGHBOURHOOD * NEIGHBOURHOOD * PADDED + 16, np.float32)
        copy_neighbourhood(
            targets[m, 0],
            targets[m, 1],
            targets[m, 2],
            counts,
            brick_rows,
            node_weights,
            fill_values,
            scratch,
        )
        flat = np.zeros(VALUES * VALUES * 16, np.float32)
        for i in range(VALUES):
            for j in range(VALUES):
                base = ((i + 4) * NEIGHBOURHOOD + j + 4) * PADDED + 4
                s0, s1 = splat4s(np.float32(0.0)), splat4s(np.float32(0.0))
                s2, s3 = splat4s(np.float32(0.0)), splat4s(np.float32(0.0))
                for s in range(np.uint64(offsets.shape[0])):
                    start, w = np.uint64(base + offsets[s]), weights[s]
                    s0 = s0 + load4s(scratch, start) * w
                    s1 = s1 + load4s(scratch, start + np.uint64(4)) * w
                    s2 = s2 + load4s(scratch, start + np.uint64(8)) * w
                    s3 = s3 + load4s(scratch, start + np.uint64(12)) * w
                row = (i * VALUES + j) * 16
                store4s(flat, row, s0)
                store4s(flat, row + 4, s1)
                store4s(flat, row + 8, s2)
                store4s(flat, row + 12, s3)
        _bspline_prefilter(flat.reshape((VALUES, VALUES, 16)), result[m])


@kernel_pair
def distance_spline_coefficients(targets, counts, brick_rows, nodes, fill_values, limit, result):
    """Compute spline coefficients [m, 1331] of the distance itself, clamped to `limit` [m] on both sides."""
    for m in prange(targets.shape[0]):
        scratch = np.zeros(NEIGHBOURHOOD * NEIGHBOURHOOD * PADDED + 16, np.float32)
        copy_neighbourhood(
            targets[m, 0], targets[m, 1], targets[m, 2], counts, brick_rows, nodes, fill_values, scratch
        )
        values = np.zeros((VALUES, VALUES, 16), np.float32)
        for i in range(VALUES):
            for j in range(VALUES):
                for k in range(16):
                    value = scratch[((i + 4) * NEIGHBOURHOOD + j + 4) * PADDED + 4 + k]
                    values[i, j, k] = min(max(value, -limit), limit)
        _bspline_prefilter(values, result[m])
