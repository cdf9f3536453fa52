"""Compiled building of boundary maps: distances in bricks of a regular grid become flat pieces or cubic splines."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd32 import load4s, splat4s, store4s

BRICK = 8  # cells along a side of a brick
PER_RADIUS = 4  # nodes for each kernel radius
MARGIN = 7  # nodes before a brick that its coefficients depend on: 1 spline, 2 filter, 4 kernel
WIDE = 23  # nodes along a side of the neighbourhood of a brick
DEEP = 24  # the same along z, padded
COARSE = 13  # every second node along a side of the neighbourhood
FINE = 19  # half-step nodes along a side that a brick's own nodes depend on
VALUES = 15  # nodes along a side whose values are filtered
POINTS = 11  # coefficients along a side of a brick
SPLINE, FLAT, EMPTY = 0, 1, 2


@inline
def node_at(a, b, c, log, counts, places, nodes, ends):
    """Return what is kept at node (a, b, c) of bricks with 2^log nodes along a side.

    Where nothing is kept it is one of `ends`: outside the wall, deep inside, beyond the grid.
    """
    x, y, z = a >> log, b >> log, c >> log
    if x < 0 or y < 0 or z < 0 or x >= counts[0] or y >= counts[1] or z >= counts[2]:
        return ends[2]
    place = places[(x * counts[1] + y) * counts[2] + z]
    if place < 0:
        return ends[-1 - place]
    mask = (1 << log) - 1
    return nodes[place, ((((a & mask) << log) + (b & mask)) << log) + (c & mask)]


@inline
def copy_run(a, b, c, count, log, counts, places, nodes, ends, target, start):
    """Copy what is kept at nodes (a, b, c), (a, b, c + 1), ... into `target` from `start` on."""
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
        place = -3 if outside or z < 0 or z >= counts[2] else places[column + z]
        if place < 0:
            value = ends[-1 - place]
            for m in range(many):
                target[start + k + m] = value
        else:
            for m in range(many):
                target[start + k + m] = nodes[place, line + first + m]
        k += many


@inline
def flat_piece(scratch, spacing, ceiling, floor, tolerance, plane):
    """Look whether distances cut off at `ceiling` and `floor` are those of one plane; return what the brick is.

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
    if lowest >= ceiling:
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
                guess = min(max(guess, floor), ceiling)
                if abs(min(max(scratch[i, j, k], floor), ceiling) - guess) > tolerance:
                    return SPLINE
    plane[0], plane[1], plane[2], plane[3] = gx, gy, gz, start
    return FLAT


@kernel_pair
def classify(wanted, counts, places, nodes, ends, spacing, ceiling, floor, tolerance, kinds, planes):
    """Tell for each wanted brick [m, 3] whether it is empty, flat or needs a spline, and its plane [m, 4] if flat.

    Distances are given at every second node, shape [k, 64], `spacing` [m] apart.
    """
    for m in prange(wanted.shape[0]):
        flat = np.empty(COARSE * COARSE * COARSE, np.float32)
        plane = np.zeros(4, np.float32)
        bi, bj, bk = 4 * wanted[m, 0] - 4, 4 * wanted[m, 1] - 4, 4 * wanted[m, 2] - 4
        for i in range(COARSE):
            for j in range(COARSE):
                start = (i * COARSE + j) * COARSE
                copy_run(bi + i, bj + j, bk, COARSE, 2, counts, places, nodes, ends, flat, start)
        kinds[m] = flat_piece(
            flat.reshape((COARSE, COARSE, COARSE)), spacing, ceiling, floor, tolerance, plane
        )
        for c in range(4):
            planes[m, c] = plane[c]


@kernel_pair
def find_sharp(bricks, counts, places, nodes, ends, low, high, least, sharp):
    """Tell for each brick [m, 3] whether the distance has a kink at one of its nodes between `low` and `high`."""
    for m in prange(bricks.shape[0]):
        bi, bj, bk = 8 * bricks[m, 0], 8 * bricks[m, 1], 8 * bricks[m, 2]
        found = False
        for i in range(8):
            for j in range(8):
                for k in range(8):
                    a, b, c = bi + i, bj + j, bk + k
                    here = node_at(a, b, c, 3, counts, places, nodes, ends)
                    if found or here < low or here > high:
                        continue
                    for axis in range(3):
                        x, y, z = axis == 0, axis == 1, axis == 2
                        before = node_at(a - x, b - y, c - z, 3, counts, places, nodes, ends)
                        after = node_at(a + x, b + y, c + z, 3, counts, places, nodes, ends)
                        if abs(before + after - 2.0 * here) > least:
                            found = True
        sharp[m] = found


@inline
def looked_up(distance, gamma, depth, scale):
    """Return gamma at a distance, from a table that begins at -depth and has `scale` entries a metre."""
    last = gamma.shape[0] - 1
    place = min(max((distance + depth) * scale, np.float32(0.0)), np.float32(last))
    low = min(int(place), last - 1)
    return gamma[low] + (place - np.float32(low)) * (gamma[low + 1] - gamma[low])


@kernel_pair
def weigh(nodes, gamma, depth, scale, heavy):
    """Write gamma of all distances, shape [k, 512]."""
    for m in prange(nodes.shape[0]):
        for k in range(512):
            heavy[m, k] = looked_up(nodes[m, k], gamma, depth, scale)


@kernel_pair
def weigh_fine(which, fine, gamma, depth, scale, heavy):
    """Write gamma at the nodes of some bricks from distances half a step apart, shape [m, 19 x 19 x 19].

    Along each axis the weights -1/16, 1/4, 5/8, 1/4, -1/16: cubics stay, and a wave of the nodes' spacing vanishes.
    """
    a, b, c = np.float32(-1.0 / 16.0), np.float32(0.25), np.float32(0.625)
    for m in prange(which.shape[0]):
        full = np.empty((FINE, FINE, FINE), np.float32)
        for i in range(FINE):
            for j in range(FINE):
                for k in range(FINE):
                    full[i, j, k] = looked_up(fine[m, (i * FINE + j) * FINE + k], gamma, depth, scale)
        first = np.empty((8, FINE, FINE), np.float32)
        for i in range(8):
            for j in range(FINE):
                for k in range(FINE):
                    first[i, j, k] = (
                        a * (full[2 * i, j, k] + full[2 * i + 4, j, k])
                        + b * (full[2 * i + 1, j, k] + full[2 * i + 3, j, k])
                        + c * full[2 * i + 2, j, k]
                    )
        for i in range(8):
            second = np.empty((8, FINE), np.float32)
            for j in range(8):
                for k in range(FINE):
                    second[j, k] = (
                        a * (first[i, 2 * j, k] + first[i, 2 * j + 4, k])
                        + b * (first[i, 2 * j + 1, k] + first[i, 2 * j + 3, k])
                        + c * first[i, 2 * j + 2, k]
                    )
            for j in range(8):
                for k in range(8):
                    heavy[which[m], (i * 8 + j) * 8 + k] = (
                        a * (second[j, 2 * k] + second[j, 2 * k + 4])
                        + b * (second[j, 2 * k + 1] + second[j, 2 * k + 3])
                        + c * second[j, 2 * k + 2]
                    )


@inline
def _filtered(values, result):
    """Turn values [15, 15, 16] at nodes into coefficients [11, 11, 11] of a cubic spline that takes them.

    Along each axis 1 - d/6 + d d/36, with d the second difference: the first terms of the inverse of 1 + d/6.
    """
    a, b, c = np.float32(1.0 / 36.0), np.float32(-10.0 / 36.0), np.float32(54.0 / 36.0)
    first = np.empty((POINTS, VALUES, 16), np.float32)
    for i in range(POINTS):
        for j in range(VALUES):
            for k in range(16):
                first[i, j, k] = (
                    a * (values[i, j, k] + values[i + 4, j, k])
                    + b * (values[i + 1, j, k] + values[i + 3, j, k])
                    + c * values[i + 2, j, k]
                )
    second = np.empty((POINTS, POINTS, 16), np.float32)
    for i in range(POINTS):
        for j in range(POINTS):
            for k in range(16):
                second[i, j, k] = (
                    a * (first[i, j, k] + first[i, j + 4, k])
                    + b * (first[i, j + 1, k] + first[i, j + 3, k])
                    + c * first[i, j + 2, k]
                )
    for i in range(POINTS):
        for j in range(POINTS):
            for k in range(POINTS):
                result[(i * POINTS + j) * POINTS + k] = (
                    a * (second[i, j, k] + second[i, j, k + 4])
                    + b * (second[i, j, k + 1] + second[i, j, k + 3])
                    + c * second[i, j, k + 2]
                )


@inline
def gather(bi, bj, bk, counts, places, nodes, ends, scratch):
    """Copy what is kept around a brick into `scratch` [WIDE * WIDE * DEEP + 16]."""
    for i in range(WIDE):
        for j in range(WIDE):
            a, b, c = 8 * bi - MARGIN + i, 8 * bj - MARGIN + j, 8 * bk - MARGIN
            copy_run(a, b, c, WIDE, 3, counts, places, nodes, ends, scratch, (i * WIDE + j) * DEEP)


@kernel_pair
def splines(wanted, counts, places, heavy, ends, offsets, weights, result):
    """Make the spline coefficients of bricks: sums of `weights` times gamma over the nodes around.

    Args:
        wanted: Bricks, shape [m, 3].
        counts: Bricks along each axis.
        places: Where each brick's nodes are in `heavy`; -1 if nowhere, -2 deep inside.
        heavy: Gamma at the nodes, shape [k, 512].
        ends: Gamma where none is kept: outside, inside, beyond the grid.
        offsets: Of the nodes in the kernel's ball, in a flat array [23, 23, 24].
        weights: Of these nodes.
        result: Receives coefficients, shape [m, 1331].
    """
    for m in prange(wanted.shape[0]):
        scratch = np.zeros(WIDE * WIDE * DEEP + 16, np.float32)
        gather(wanted[m, 0], wanted[m, 1], wanted[m, 2], counts, places, heavy, ends, scratch)
        flat = np.zeros(VALUES * VALUES * 16, np.float32)
        for i in range(VALUES):
            for j in range(VALUES):
                base = ((i + 4) * WIDE + j + 4) * DEEP + 4
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
        _filtered(flat.reshape((VALUES, VALUES, 16)), result[m])


@kernel_pair
def distance_splines(wanted, counts, places, nodes, ends, limit, result):
    """Make spline coefficients [m, 1331] of the distance itself, cut off at `limit` [m] on both sides."""
    for m in prange(wanted.shape[0]):
        scratch = np.zeros(WIDE * WIDE * DEEP + 16, np.float32)
        gather(wanted[m, 0], wanted[m, 1], wanted[m, 2], counts, places, nodes, ends, scratch)
        values = np.zeros((VALUES, VALUES, 16), np.float32)
        for i in range(VALUES):
            for j in range(VALUES):
                for k in range(16):
                    value = scratch[((i + 4) * WIDE + j + 4) * DEEP + 4 + k]
                    values[i, j, k] = min(max(value, -limit), limit)
        _filtered(values, result[m])
