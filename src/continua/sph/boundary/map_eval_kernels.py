"""Compiled evaluation of boundary maps: what particles feel of a wall, and what the wall feels of them."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd32 import load4s, row4s, splat4s, sum4s

GROUP = 512  # particles that one task handles
NONE = np.float32(0.0)


@inline
def profile_at(distance, table):
    """Return a flat wall's value, and its slope [1/m], from the table's cubic pieces."""
    t = (distance * table.inverse + table.depth) * table.per_radius
    if t >= table.last:
        return NONE, NONE
    rate = table.inverse * table.per_radius
    if t <= NONE:  # deeper than the table: it goes on as a line
        return table.profile[0] + t * table.profile[1], table.profile[1] * rate
    k = int(t)
    t -= np.float32(k)
    a, da = table.profile[2 * k], table.profile[2 * k + 1]
    b, db = table.profile[2 * k + 2], table.profile[2 * k + 3]
    two, three = np.float32(2.0), np.float32(3.0)
    c2 = three * (b - a) - two * da - db
    c3 = two * (a - b) + da + db
    return a + t * (da + t * (c2 + t * c3)), (da + t * (two * c2 + three * t * c3)) * rate


@inline
def _weights(t):
    """Return the cubic B-spline's four weights at t in 0..1, and their slopes."""
    one, s = np.float32(1.0), np.float32(1.0) - t
    sixth, half = np.float32(1.0 / 6.0), np.float32(0.5)
    w0, w3 = s * s * s * sixth, t * t * t * sixth
    w1 = np.float32(2.0 / 3.0) - t * t * (one - half * t)
    w2 = np.float32(2.0 / 3.0) - s * s * (one - half * s)
    d1, d2 = t * (np.float32(1.5) * t - np.float32(2.0)), s * (np.float32(2.0) - np.float32(1.5) * s)
    return row4s(w0, w1, w2, w3), row4s(-half * s * s, d1, d2, half * t * t), w0, w1, w2, w3, d1, d2


@inline
def spline_at(coefficients, base, u, v, w, inverse):
    """Return value and gradient [1/m] of a brick's spline; u, v and w count cells from the brick's corner."""
    i, j, k = min(int(u), 7), min(int(v), 7), min(int(w), 7)
    tx, ty = u - np.float32(i), v - np.float32(j)
    wz, dz, _, _, _, _, _, _ = _weights(w - np.float32(k))
    _, _, x0, x1, x2, x3, dx1, dx2 = _weights(tx)
    _, _, y0, y1, y2, y3, dy1, dy2 = _weights(ty)
    half, sx, sy = np.float32(0.5), np.float32(1.0) - tx, np.float32(1.0) - ty
    e0, e3 = -half * sx * sx, half * tx * tx
    f0, f3 = -half * sy * sy, half * ty * ty
    start = np.uint64(base + (i * 11 + j) * 11 + k)
    value, slope_x, slope_y = splat4s(NONE), splat4s(NONE), splat4s(NONE)
    for a in range(np.uint64(4)):
        wx = x0 if a == 0 else (x1 if a == 1 else (x2 if a == 2 else x3))
        ex = e0 if a == 0 else (dx1 if a == 1 else (dx2 if a == 2 else e3))
        at = start + np.uint64(121) * a
        c0, c1 = load4s(coefficients, at), load4s(coefficients, at + np.uint64(11))
        c2, c3 = load4s(coefficients, at + np.uint64(22)), load4s(coefficients, at + np.uint64(33))
        line = c0 * y0 + c1 * y1 + c2 * y2 + c3 * y3
        value = value + line * wx
        slope_x = slope_x + line * ex
        slope_y = slope_y + (c0 * f0 + c1 * dy1 + c2 * dy2 + c3 * f3) * wx
    return (
        sum4s(value * wz),
        sum4s(slope_x * wz) * inverse,
        sum4s(slope_y * wz) * inverse,
        sum4s(value * dz) * inverse,
    )


@inline
def at_distance(volume, distance, table):
    """Return volume times kernel at a distance, and its slope with the volume held (Bender and others 2019)."""
    ih = table.inverse
    q = max(distance * ih, np.float32(0.1))
    a, b = max(np.float32(1.0) - q, NONE), max(np.float32(0.5) - q, NONE)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih
    value = scale * np.float32(2.0) * (a * a * a - np.float32(4.0) * b * b * b)
    slope = scale * ih * (np.float32(24.0) * b * b - np.float32(6.0) * a * a)
    return volume * value, volume * slope


@inline
def brick_of(x, y, z, table):
    """Return where a point lies: the brick's mark, and cells from the brick's corner along x, y and z."""
    u, v, w = (
        (x - table.low_x) * table.cells,
        (y - table.low_y) * table.cells,
        (z - table.low_z) * table.cells,
    )
    eighth = np.float32(0.125)
    i, j, k = int(np.floor(u * eighth)), int(np.floor(v * eighth)), int(np.floor(w * eighth))
    if i < 0 or j < 0 or k < 0 or i >= table.counts[0] or j >= table.counts[1] or k >= table.counts[2]:
        return table.beyond, u, v, w
    mark = table.marks[(i * table.counts[1] + j) * table.counts[2] + k]
    eight = np.float32(8.0)
    return mark, u - eight * np.float32(i), v - eight * np.float32(j), w - eight * np.float32(k)


@inline
def map_at(x, y, z, table):
    """Return what the wall adds to the relative density at a point of its own axes [m], and the gradient [1/m]."""
    mark, u, v, w = brick_of(x, y, z, table)
    if mark == -1:
        return NONE, NONE, NONE, NONE
    if mark == -2:
        return table.deepest, NONE, NONE, NONE
    if mark < 0:
        p = 4 * (-3 - mark)
        nx, ny, nz = table.planes[p], table.planes[p + 1], table.planes[p + 2]
        distance = nx * x + ny * y + nz * z + table.planes[p + 3]
        value, slope = profile_at(distance, table)
        if table.lumped:
            value, slope = at_distance(value, distance, table)
        return value, slope * nx, slope * ny, slope * nz
    base = 1331 * mark
    value, gx, gy, gz = spline_at(table.coefficients, base, u, v, w, table.cells)
    if value <= NONE:
        return NONE, NONE, NONE, NONE
    if table.lumped:
        distance, nx, ny, nz = spline_at(table.distances, base, u, v, w, table.cells)
        value, slope = at_distance(value, distance, table)
        length = np.sqrt(nx * nx + ny * ny + nz * nz)
        slope = slope / max(length, np.float32(1e-3))
        return value, slope * nx, slope * ny, slope * nz
    return value, gx, gy, gz


@inline
def distance_at(x, y, z, table):
    """Return the distance to the wall's (inset) surface at a point of its own axes [m]; far from it a large number."""
    mark, u, v, w = brick_of(x, y, z, table)
    large = np.float32(1e30)
    if mark == -1:
        return large
    if mark == -2:
        return -large
    if mark < 0:
        p = 4 * (-3 - mark)
        return table.planes[p] * x + table.planes[p + 1] * y + table.planes[p + 2] * z + table.planes[p + 3]
    distance, _, _, _ = spline_at(table.distances, 1331 * mark, u, v, w, table.cells)
    return distance


@inline
def placed(x, y, z, pose, table):
    """Return the map's value and gradient at a point of the fluid; pose holds turn (rows of 3) and shift [m], [12]."""
    x, y, z = x - pose[9], y - pose[10], z - pose[11]
    value, gx, gy, gz = map_at(
        pose[0] * x + pose[3] * y + pose[6] * z,
        pose[1] * x + pose[4] * y + pose[7] * z,
        pose[2] * x + pose[5] * y + pose[8] * z,
        table,
    )
    return (
        value,
        pose[0] * gx + pose[1] * gy + pose[2] * gz,
        pose[3] * gx + pose[4] * gy + pose[5] * gz,
        pose[6] * gx + pose[7] * gy + pose[8] * gz,
    )


@kernel_pair
def values(points, table, density, gradient):
    """Evaluate a map at points [4 n] of its own axes: densities [n] and gradients [4 n]."""
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(group * GROUP, min(n, (group + 1) * GROUP)):
            value, gx, gy, gz = map_at(points[4 * i], points[4 * i + 1], points[4 * i + 2], table)
            density[i] = value
            gradient[4 * i], gradient[4 * i + 1], gradient[4 * i + 2] = gx, gy, gz


@kernel_pair
def add_map(rows, low, high, pose, table, motion, moving, gradient, density, rate, drift):
    """Add what particles feel of a map.

    Args:
        rows: Particles, shape [4 n].
        low: Lowest corner of the box around all that the map reaches [m], shape [3].
        high: Highest corner.
        pose: Turn and shift of the wall, shape [12].
        table: The map.
        motion: Velocity of the wall's points: motion[:, :3] @ x + motion[:, 3], shape [12].
        moving: Whether it moves.
        gradient: Receives the gradient [1/m], shape [4 n].
        density: Receives the part of the relative density, shape [n].
        rate: Receives its rate by the wall's motion [1/s], shape [n].
        drift: Receives the wall's velocity times its part of the density, shape [4 n].
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = rows[4 * i], rows[4 * i + 1], rows[4 * i + 2]
            if (
                x < low[0]
                or y < low[1]
                or z < low[2]
                or x > high[0]
                or y > high[1]
                or z > high[2]
            ):  # fmt: skip
                continue
            value, gx, gy, gz = placed(x, y, z, pose, table)
            if value <= NONE:
                continue
            density[i] += value
            gradient[4 * i] += gx
            gradient[4 * i + 1] += gy
            gradient[4 * i + 2] += gz
            if moving:
                vx = motion[0] * x + motion[1] * y + motion[2] * z + motion[3]
                vy = motion[4] * x + motion[5] * y + motion[6] * z + motion[7]
                vz = motion[8] * x + motion[9] * y + motion[10] * z + motion[11]
                rate[i] -= gx * vx + gy * vy + gz * vz
                drift[4 * i] += value * vx
                drift[4 * i + 1] += value * vy
                drift[4 * i + 2] += value * vz


@kernel_pair
def find_inside(rows, low, high, pose, table, density, watched, limit, found):
    """Mark the particles whose distance to the map's surface is below `limit` [m].

    Only particles are looked at that felt more than `watched` of walls at the start of the step. The other arguments
    are those of `add_map`.
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = rows[4 * i], rows[4 * i + 1], rows[4 * i + 2]
            if density[i] <= watched or x < low[0] or y < low[1] or z < low[2]:
                continue
            if x > high[0] or y > high[1] or z > high[2]:
                continue
            x, y, z = x - pose[9], y - pose[10], z - pose[11]
            distance = distance_at(
                pose[0] * x + pose[3] * y + pose[6] * z,
                pose[1] * x + pose[4] * y + pose[7] * z,
                pose[2] * x + pose[5] * y + pose[8] * z,
                table,
            )
            found[i] = distance < limit
