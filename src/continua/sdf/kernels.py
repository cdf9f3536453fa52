"""Compiled distance queries: the nearest point of a mesh, and the value and gradient of a fitted field.

All functions that other rooms' kernels may call take the plain arrays of a `TriangleBvh` or a `FieldTable` as one
named tuple, and one point as three numbers.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel, kernel_pair
from continua.sdf.bvh_kernels import COUNT_BITS, STACK

CHUNK = 256  # queries that one thread answers one after the other, each starting from the answer before


@inline
def _box_distance(box, first, x, y, z):
    """Return the squared distance from a point to the box at `box[first:first + 6]`."""
    dx = max(0.0, max(box[first] - x, x - box[first + 3]))
    dy = max(0.0, max(box[first + 1] - y, y - box[first + 4]))
    dz = max(0.0, max(box[first + 2] - z, z - box[first + 5]))
    return dx * dx + dy * dy + dz * dz


@inline
def closest_on_triangle(c, x, y, z):
    """Find where a triangle with corners c [9 or more] is nearest to a point (Ericson 2005).

    Returns:
        Weights of the second and third corner, the feature (0 face, 1-3 edges 0-1, 1-2, 2-0, 4-6 corners), and
        the offset of the point from there.
    """
    ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
    vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
    px, py, pz = x - c[0], y - c[1], z - c[2]
    d1, d2 = ux * px + uy * py + uz * pz, vx * px + vy * py + vz * pz
    if d1 <= 0.0 and d2 <= 0.0:
        return 0.0, 0.0, 4, px, py, pz
    qx, qy, qz = x - c[3], y - c[4], z - c[5]
    d3, d4 = ux * qx + uy * qy + uz * qz, vx * qx + vy * qy + vz * qz
    if d3 >= 0.0 and d4 <= d3:
        return 1.0, 0.0, 5, qx, qy, qz
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s = d1 / (d1 - d3)
        return s, 0.0, 1, px - s * ux, py - s * uy, pz - s * uz
    rx, ry, rz = x - c[6], y - c[7], z - c[8]
    d5, d6 = ux * rx + uy * ry + uz * rz, vx * rx + vy * ry + vz * rz
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 1.0, 6, rx, ry, rz
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s = d2 / (d2 - d6)
        return 0.0, s, 3, px - s * vx, py - s * vy, pz - s * vz
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 1.0 - s, s, 2, qx - s * (vx - ux), qy - s * (vy - uy), qz - s * (vz - uz)
    scale = 1.0 / (va + vb + vc)
    s, r = vb * scale, vc * scale
    return s, r, 0, px - s * ux - r * vx, py - s * uy - r * vy, pz - s * uz - r * vz


@inline
def closest_from(tree, x, y, z, hint, stack):
    """Find the triangle of a `TriangleBvh` nearest to a point, starting from a guess.

    Args:
        tree: A `TriangleBvh`.
        x: Place [m], with `y` and `z`.
        y: See `x`.
        z: See `x`.
        hint: A triangle, in the order of the tree, that may be near; any is right.
        stack: Scratch, float64 [2, 96] at least.

    Returns:
        The triangle in the order of the tree, of several equally near the first, and the squared distance [m2].
    """
    nodes, links, corners = tree.nodes, tree.links, tree.corners
    winner = hint
    _, _, _, ox, oy, oz = closest_on_triangle(corners[hint], x, y, z)
    best = ox * ox + oy * oy + oz * oz
    node, top = 0, 0
    while True:
        # Follow the nearer child down to a leaf, and note the other one if it may hold something nearer.
        while node >= 0:
            box = nodes[node]
            left, right = _box_distance(box, 0, x, y, z), _box_distance(box, 6, x, y, z)
            near, far = links[node, 0], links[node, 1]
            if right < left:
                near, far, left, right = far, near, right, left
            # A little slack: the bounds must not hide a triangle just as near because of round-off.
            limit = best * (1.0 + 1e-14)
            if right <= limit:
                stack[0, top] = right
                stack[1, top] = far
                top += 1
            if left > limit:
                break
            node = near
        if node < 0:
            code = -1 - node
            first = code >> COUNT_BITS
            for t in range(first, first + (code & (2**COUNT_BITS - 1))):
                c = corners[t]
                height = (x - c[0]) * c[9] + (y - c[1]) * c[10] + (z - c[2]) * c[11]
                if height * height * (1.0 - 1e-12) > best:
                    continue  # its whole plane is too far away
                _, _, _, ox, oy, oz = closest_on_triangle(corners[t], x, y, z)
                distance = ox * ox + oy * oy + oz * oz
                if distance < best or (distance == best and t < winner):
                    best, winner = distance, t
        node = 0
        while top > 0:
            top -= 1
            if stack[0, top] <= best * (1.0 + 1e-14):
                node = int(stack[1, top])
                break
        if node == 0:
            return winner, best


@inline
def signed_on_triangle(tree, t, x, y, z):
    """Return the signed distance to triangle t (order of the tree), its gradient and the nearest point.

    The sign is that of the offset along the pseudo-normal of the nearest feature. Where the offset has no direction
    of its own (at the surface) or the nearest feature is the face, the gradient is that normal.

    Returns:
        Distance [m], gradient (three numbers), nearest point (three numbers) [m], feature.
    """
    _, _, feature, ox, oy, oz = closest_on_triangle(tree.corners[t], x, y, z)
    row = tree.features[t, feature]
    nx, ny, nz = tree.normals[row, 0], tree.normals[row, 1], tree.normals[row, 2]
    distance = np.sqrt(ox * ox + oy * oy + oz * oz)
    sign = 1.0
    if ox * nx + oy * ny + oz * nz < 0.0:
        sign = -1.0
    if feature > 0:
        size = max(abs(x), max(abs(y), abs(z)))
        if distance > 1e-12 * size:
            nx, ny, nz = sign * ox / distance, sign * oy / distance, sign * oz / distance
    return sign * distance, nx, ny, nz, x - ox, y - oy, z - oz, feature


@inline
def closest_on_mesh(tree, x, y, z):
    """Return the signed distance from a point to a mesh, its gradient, the nearest point and its triangle.

    For one point; many near one another are faster with `closest_from` and `signed_on_triangle`.

    Args:
        tree: A `TriangleBvh`.
        x: Place [m], with `y` and `z`.
        y: See `x`.
        z: See `x`.

    Returns:
        Distance [m], gradient (three numbers), nearest point (three numbers) [m], triangle's number in the mesh.
    """
    t, _ = closest_from(tree, x, y, z, 0, np.empty((2, STACK)))
    distance, gx, gy, gz, cx, cy, cz, _ = signed_on_triangle(tree, t, x, y, z)
    return distance, gx, gy, gz, cx, cy, cz, tree.order[t]


@kernel_pair
def signed_distances(tree, points, visit, winners, distances):
    """Fill `winners` (triangle in the order of the tree) and signed `distances` of points, in order of `visit`."""
    n = visit.size
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        stack = np.empty((2, STACK))
        hint = 0
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            q = visit[i]
            x, y, z = points[q, 0], points[q, 1], points[q, 2]
            hint, _ = closest_from(tree, x, y, z, hint, stack)
            winners[q] = hint
            distances[q] = signed_on_triangle(tree, hint, x, y, z)[0]


@kernel_pair
def gradients_and_features(tree, points, winners, gradients, nearest, features):
    """Fill gradients, nearest points and features of points whose triangles are known."""
    for q in prange(points.shape[0]):
        x, y, z = points[q, 0], points[q, 1], points[q, 2]
        answer = signed_on_triangle(tree, winners[q], x, y, z)
        gradients[q, 0], gradients[q, 1], gradients[q, 2] = answer[1], answer[2], answer[3]
        nearest[q, 0], nearest[q, 1], nearest[q, 2] = answer[4], answer[5], answer[6]
        features[q] = answer[7]


@kernel_pair
def z_order(points, lower, scale, keys):
    """Compute for each point the place on a space-filling curve: bits of the three coordinates in turn."""
    for q in prange(points.shape[0]):
        key = np.int64(0)
        for d in range(3):
            value = min(1023.0, max(0.0, (points[q, d] - lower[d]) * scale))
            number = np.int64(value)
            number = (number | (number << 16)) & 0x030000FF
            number = (number | (number << 8)) & 0x0300F00F
            number = (number | (number << 4)) & 0x030C30C3
            number = (number | (number << 2)) & 0x09249249
            key |= number << (2 - d)
        keys[q] = key


@inline
def find_cell(table, x, y, z):
    """Return the leaf that holds a point, the point's place in it from -1 to 1 on each axis, and 2 / its size.

    The point must lie in the field's box; on a face between two cells the upper one is taken.
    """
    grid, nodes, frame = table.grid, table.nodes, table.frame
    inverse = frame[3]
    fx, fy, fz = (x - frame[0]) * inverse, (y - frame[1]) * inverse, (z - frame[2]) * inverse
    i = min(max(int(fx), 0), grid[0] - 1)
    j = min(max(int(fy), 0), grid[1] - 1)
    k = min(max(int(fz), 0), grid[2] - 1)
    fx, fy, fz = fx - i, fy - j, fz - k
    node = nodes[(i * grid[1] + j) * grid[2] + k]
    while node >= 0:
        fx, fy, fz, inverse = 2.0 * fx, 2.0 * fy, 2.0 * fz, 2.0 * inverse
        if fx >= 1.0:
            node += 4
            fx -= 1.0
        if fy >= 1.0:
            node += 2
            fy -= 1.0
        if fz >= 1.0:
            node += 1
            fz -= 1.0
        node = nodes[node]
    return -1 - node, 2.0 * fx - 1.0, 2.0 * fy - 1.0, 2.0 * fz - 1.0, 2.0 * inverse


@inline
def _polynomial(c, end, degree, x, y, z):
    """Return sum c x^i y^j z^k over i + j + k <= degree by Horner's rule.

    The coefficients stand before `end`, in lexicographic order of (i, j, k), and are taken from the last on.
    """
    q = end
    total = 0.0
    for a in range(degree + 1):  # i = degree - a
        middle = 0.0
        for b in range(a + 1):  # j = a - b
            inner = 0.0
            for _ in range(b + 1):
                q -= 1
                inner = inner * z + c[q]
            middle = middle * y + inner
        total = total * x + middle
    return total


@inline
def _polynomial_gradient(c, end, degree, x, y, z):
    """Return the value of the polynomial and its three derivatives, see `_polynomial`."""
    q = end
    v, vx, vy, vz = 0.0, 0.0, 0.0, 0.0
    for a in range(degree + 1):
        m, my, mz = 0.0, 0.0, 0.0
        for b in range(a + 1):
            n, nz = 0.0, 0.0
            for _ in range(b + 1):
                q -= 1
                nz = nz * z + n
                n = n * z + c[q]
            my = my * y + m
            mz = mz * y + nz
            m = m * y + n
        vx = vx * x + v
        vy = vy * x + my
        vz = vz * x + mz
        v = v * x + m
    return v, vx, vy, vz


@inline
def _inside_value_and_gradient(table, x, y, z):
    leaf, fx, fy, fz, scale = find_cell(table, x, y, z)
    degree = int(table.degrees[leaf])
    v, gx, gy, gz = _polynomial_gradient(table.coefficients, table.ends[leaf], degree, fx, fy, fz)
    return v, gx * scale, gy * scale, gz * scale


@inline
def _clamp(table, x, y, z):
    """Return the point of the field's box nearest to (x, y, z)."""
    frame, grid = table.frame, table.grid
    size = 1.0 / frame[3]
    cx = min(max(x, frame[0]), frame[0] + grid[0] * size)
    cy = min(max(y, frame[1]), frame[1] + grid[1] * size)
    cz = min(max(z, frame[2]), frame[2] + grid[2] * size)
    return cx, cy, cz


@inline
def _beyond(v, gx, gy, gz, ox, oy, oz):
    """Continue a field beyond its box by an offset o from the box, where it has value v and gradient g.

    Outside of a body its nearest point v g / |g| away stays the nearest one; inside, the field goes on as a plane.
    """
    length = np.sqrt(gx * gx + gy * gy + gz * gz)
    if not length > 0.0:
        distance = np.sqrt(ox * ox + oy * oy + oz * oz)
        return v + distance, ox / distance, oy / distance, oz / distance
    nx, ny, nz = gx / length, gy / length, gz / length
    if v <= 0.0:
        return v + nx * ox + ny * oy + nz * oz, nx, ny, nz
    px, py, pz = v * nx + ox, v * ny + oy, v * nz + oz
    distance = np.sqrt(px * px + py * py + pz * pz)
    return distance, px / distance, py / distance, pz / distance


@inline
def value_and_gradient(table, x, y, z):
    """Return the value [m] of a fitted field at one point and its gradient, three numbers.

    Args:
        table: A `FieldTable`, that is `DistanceField.table`.
        x: Place [m], with `y` and `z`. Outside of the field's box the field is continued.
        y: See `x`.
        z: See `x`.
    """
    cx, cy, cz = _clamp(table, x, y, z)
    v, gx, gy, gz = _inside_value_and_gradient(table, cx, cy, cz)
    if cx != x or cy != y or cz != z:
        return _beyond(v, gx, gy, gz, x - cx, y - cy, z - cz)
    return v, gx, gy, gz


@inline
def value(table, x, y, z):
    """Return the value [m] of a fitted field at one point; see `value_and_gradient`."""
    cx, cy, cz = _clamp(table, x, y, z)
    if cx != x or cy != y or cz != z:
        return value_and_gradient(table, x, y, z)[0]
    leaf, fx, fy, fz, _ = find_cell(table, x, y, z)
    return _polynomial(table.coefficients, table.ends[leaf], int(table.degrees[leaf]), fx, fy, fz)


@kernel_pair
def field_values(table, points, result):
    """Fill the field's values at points [n, 3]."""
    for q in prange(points.shape[0]):
        result[q] = value(table, points[q, 0], points[q, 1], points[q, 2])


@kernel_pair
def field_gradients(table, points, values, gradients):
    """Fill the field's values and gradients at points [n, 3]."""
    for q in prange(points.shape[0]):
        v, gx, gy, gz = value_and_gradient(table, points[q, 0], points[q, 1], points[q, 2])
        values[q] = v
        gradients[q, 0], gradients[q, 1], gradients[q, 2] = gx, gy, gz


@kernel
def field_cells(table, points, result):
    """Fill the leaves that hold points [n, 3] of the box."""
    for q in range(points.shape[0]):
        result[q] = find_cell(table, points[q, 0], points[q, 1], points[q, 2])[0]
