"""Compiled generalised winding numbers by a tree: near triangles one by one, far ones as a whole."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair
from continua.sdf.bvh_kernels import COUNT_BITS, STACK

MOMENTS = 16  # of each child: middle, area vector, first moment of the area vectors, radius
FAR = 3.0  # distance in radii from which on a part counts as a whole


@inline
def _add_triangle(c, out):
    """Add the area vector, and the area times the middle."""
    ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
    vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
    x, y, z = 0.5 * (uy * vz - uz * vy), 0.5 * (uz * vx - ux * vz), 0.5 * (ux * vy - uy * vx)
    area = np.sqrt(x * x + y * y + z * z)
    out[3] += x
    out[4] += y
    out[5] += z
    for d in range(3):
        out[d] += area * (c[d] + c[3 + d] + c[6 + d]) / 3.0
    return area


@inline
def _leaf_moments(corners, first, count, out):
    """Fill the moments of some triangles and return their area."""
    for d in range(MOMENTS):
        out[d] = 0.0
    area = 0.0
    for t in range(first, first + count):
        area += _add_triangle(corners[t], out)
    if area > 0.0:
        for d in range(3):
            out[d] /= area
    for t in range(first, first + count):
        c = corners[t]
        ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
        vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
        x, y, z = 0.5 * (uy * vz - uz * vy), 0.5 * (uz * vx - ux * vz), 0.5 * (ux * vy - uy * vx)
        for d in range(3):
            arm = (c[d] + c[3 + d] + c[6 + d]) / 3.0 - out[d]
            out[6 + 3 * d] += arm * x
            out[7 + 3 * d] += arm * y
            out[8 + 3 * d] += arm * z
    return area


@kernel
def moments(tree, areas, result):
    """Fill the moments of both children of every inner node, shape [i, 2, 16]; `areas` [i, 2] is scratch."""
    for node in range(tree.links.shape[0] - 1, -1, -1):  # children have higher numbers than their parents
        for side in range(2):
            link = tree.links[node, side]
            out = result[node, side]
            if link < 0:
                code = -1 - link
                first, count = code >> COUNT_BITS, code & (2**COUNT_BITS - 1)
                areas[node, side] = _leaf_moments(tree.corners, first, count, out)
            else:
                a, b = areas[link, 0], areas[link, 1]
                areas[node, side] = a + b
                for d in range(3):
                    out[d] = (a * result[link, 0, d] + b * result[link, 1, d]) / (a + b)
                for d in range(3, 15):
                    out[d] = result[link, 0, d] + result[link, 1, d]
                for child in range(2):
                    for d in range(3):
                        arm = result[link, child, d] - out[d]
                        for e in range(3):
                            out[6 + 3 * d + e] += arm * result[link, child, 3 + e]
            square = 0.0
            box = tree.nodes[node, 6 * side : 6 * side + 6]
            for d in range(3):
                reach = max(out[d] - box[d], box[d + 3] - out[d])
                square += reach * reach
            out[15] = np.sqrt(square)


@inline
def _solid_angle(c, x, y, z):
    """Return half the solid angle of a triangle seen from a point (van Oosterom and Strackee 1983)."""
    ax, ay, az = c[0] - x, c[1] - y, c[2] - z
    bx, by, bz = c[3] - x, c[4] - y, c[5] - z
    cx, cy, cz = c[6] - x, c[7] - y, c[8] - z
    a = np.sqrt(ax * ax + ay * ay + az * az)
    b = np.sqrt(bx * bx + by * by + bz * bz)
    d = np.sqrt(cx * cx + cy * cy + cz * cz)
    top = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    ab, bc, ca = ax * bx + ay * by + az * bz, bx * cx + by * cy + bz * cz, cx * ax + cy * ay + cz * az
    return np.arctan2(top, a * b * d + ab * d + bc * a + ca * b)


@inline
def winding_number(tree, parts, x, y, z, stack):
    """Return the generalised winding number at a point (Jacobson 2013; far parts to second order, Barill 2018).

    Args:
        tree: A `TriangleBvh`.
        parts: The tree's `moments`.
        x: Place [m], with `y` and `z`.
        y: See `x`.
        z: See `x`.
        stack: Scratch, int64 [96] at least.
    """
    near, far = 0.0, 0.0
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        for side in range(2):
            part = parts[node, side]
            rx, ry, rz = part[0] - x, part[1] - y, part[2] - z
            square = rx * rx + ry * ry + rz * rz
            link = tree.links[node, side]
            if square > (FAR * part[15]) ** 2:
                inverse = 1.0 / np.sqrt(square)
                cube = inverse * inverse * inverse
                far += (rx * part[3] + ry * part[4] + rz * part[5]) * cube
                far += (part[6] + part[10] + part[14]) * cube
                turned = (
                    rx * (part[6] * rx + part[7] * ry + part[8] * rz)
                    + ry * (part[9] * rx + part[10] * ry + part[11] * rz)
                    + rz * (part[12] * rx + part[13] * ry + part[14] * rz)
                )
                far -= 3.0 * turned * cube * inverse * inverse
            elif link >= 0:
                stack[top] = link
                top += 1
            else:
                code = -1 - link
                first = code >> COUNT_BITS
                for t in range(first, first + (code & (2**COUNT_BITS - 1))):
                    near += _solid_angle(tree.corners[t], x, y, z)
    return near / (2.0 * np.pi) + far / (4.0 * np.pi)


@kernel_pair
def winding_numbers(tree, parts, points, result):
    """Fill the winding numbers of points [n, 3]."""
    for chunk in prange((points.shape[0] + 63) // 64):
        stack = np.empty(STACK, np.int64)
        for q in range(64 * chunk, min(64 * chunk + 64, points.shape[0])):
            result[q] = winding_number(tree, parts, points[q, 0], points[q, 1], points[q, 2], stack)
