"""Compiled evaluation of boundary maps at particles."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.simd.f32x4 import load4s, row4s, splat4s, sum4s

GROUP = 512  # particles that one task handles
ZERO = np.float32(0.0)


@inline
def profile_at(distance, table):
    """Return the value of a flat boundary and its derivative [1/m], from the table's cubic pieces."""
    t = (distance * table.inverse + table.depth) * table.per_radius
    if t >= table.last_index:
        return ZERO, ZERO
    rate = table.inverse * table.per_radius
    if t <= ZERO:  # deeper than the table: continued linearly
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
def _bspline_weights(t):
    """Return the four weights of the cubic B-spline at t in 0..1, and their derivatives."""
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
    wz, dz, _, _, _, _, _, _ = _bspline_weights(w - np.float32(k))
    _, _, x0, x1, x2, x3, dx1, dx2 = _bspline_weights(tx)
    _, _, y0, y1, y2, y3, dy1, dy2 = _bspline_weights(ty)
    half, sx, sy = np.float32(0.5), np.float32(1.0) - tx, np.float32(1.0) - ty
    e0, e3 = -half * sx * sx, half * tx * tx
    f0, f3 = -half * sy * sy, half * ty * ty
    start = np.uint64(base + (i * 11 + j) * 11 + k)
    value, slope_x, slope_y = splat4s(ZERO), splat4s(ZERO), splat4s(ZERO)
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
def volume_kernel(volume, distance, table):
    """Return volume times kernel at a distance, and its derivative at constant volume (Bender and others 2019)."""
    ih = table.inverse
    q = max(distance * ih, np.float32(0.1))
    a, b = max(np.float32(1.0) - q, ZERO), max(np.float32(0.5) - q, ZERO)
    scale = np.float32(8.0 / np.pi) * ih * ih * ih
    value = scale * np.float32(2.0) * (a * a * a - np.float32(4.0) * b * b * b)
    slope = scale * ih * (np.float32(24.0) * b * b - np.float32(6.0) * a * a)
    return volume * value, volume * slope


@inline
def locate_brick(x, y, z, table):
    """Return the code of the brick that contains a point, and the offset from its corner in cells along x, y and z."""
    u, v, w = (
        (x - table.low_x) * table.cells,
        (y - table.low_y) * table.cells,
        (z - table.low_z) * table.cells,
    )
    eighth = np.float32(0.125)
    i, j, k = int(np.floor(u * eighth)), int(np.floor(v * eighth)), int(np.floor(w * eighth))
    if i < 0 or j < 0 or k < 0 or i >= table.counts[0] or j >= table.counts[1] or k >= table.counts[2]:
        return table.outside_code, u, v, w
    code = table.codes[(i * table.counts[1] + j) * table.counts[2] + k]
    eight = np.float32(8.0)
    return code, u - eight * np.float32(i), v - eight * np.float32(j), w - eight * np.float32(k)


@inline
def map_at(x, y, z, table):
    """Return the boundary's part of the relative density at a point in local axes [m], and the gradient [1/m]."""
    code, u, v, w = locate_brick(x, y, z, table)
    if code == -1:
        return ZERO, ZERO, ZERO, ZERO
    if code == -2:
        return table.deepest, ZERO, ZERO, ZERO
    if code < 0:
        p = 4 * (-3 - code)
        nx, ny, nz = table.planes[p], table.planes[p + 1], table.planes[p + 2]
        distance = nx * x + ny * y + nz * z + table.planes[p + 3]
        value, slope = profile_at(distance, table)
        if table.is_volume_map:
            value, slope = volume_kernel(value, distance, table)
        return value, slope * nx, slope * ny, slope * nz
    base = 1331 * code
    value, gx, gy, gz = spline_at(table.coefficients, base, u, v, w, table.cells)
    if value <= ZERO:
        return ZERO, ZERO, ZERO, ZERO
    if table.is_volume_map:
        distance, nx, ny, nz = spline_at(table.distances, base, u, v, w, table.cells)
        value, slope = volume_kernel(value, distance, table)
        length = np.sqrt(nx * nx + ny * ny + nz * nz)
        slope = slope / max(length, np.float32(1e-3))
        return value, slope * nx, slope * ny, slope * nz
    return value, gx, gy, gz


@inline
def distance_at(x, y, z, table):
    """Return the distance to the inset surface at a point in local axes [m]; far away a large number."""
    code, u, v, w = locate_brick(x, y, z, table)
    large = np.float32(1e30)
    if code == -1:
        return large
    if code == -2:
        return -large
    if code < 0:
        p = 4 * (-3 - code)
        return table.planes[p] * x + table.planes[p + 1] * y + table.planes[p + 2] * z + table.planes[p + 3]
    distance, _, _, _ = spline_at(table.distances, 1331 * code, u, v, w, table.cells)
    return distance


@inline
def map_at_pose(x, y, z, pose, table):
    """Return value and gradient at a point of the fluid; `pose` [12] is the rotation (rows) and translation [m]."""
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
def evaluate_map(points, table, density, gradient):
    """Evaluate a map at points [4 n] in local axes: densities [n] and gradients [4 n]."""
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(group * GROUP, min(n, (group + 1) * GROUP)):
            value, gx, gy, gz = map_at(points[4 * i], points[4 * i + 1], points[4 * i + 2], table)
            density[i] = value
            gradient[4 * i], gradient[4 * i + 1], gradient[4 * i + 2] = gx, gy, gz


@kernel_pair
def add_map(xyzp, low, high, pose, table, motion, moving, gradient, density, rate, weighted_velocity):
    """Add the contributions of a map to each particle.

    Args:
        xyzp: Particles, shape [4 n].
        low: Lowest corner of the bounding box of the map's support [m], shape [3].
        high: Highest corner.
        pose: Rotation and translation of the boundary, shape [12].
        table: The map.
        motion: Velocity of the boundary's points: motion[:, :3] @ x + motion[:, 3], shape [12].
        moving: Whether it moves.
        gradient: Receives the gradient [1/m], shape [4 n].
        density: Receives the part of the relative density, shape [n].
        rate: Receives its rate due to the boundary's motion [1/s], shape [n].
        weighted_velocity: Receives the boundary's velocity times its part of the density, shape [4 n].
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = xyzp[4 * i], xyzp[4 * i + 1], xyzp[4 * i + 2]
            if (
                x < low[0]
                or y < low[1]
                or z < low[2]
                or x > high[0]
                or y > high[1]
                or z > high[2]
            ):  # fmt: skip
                continue
            value, gx, gy, gz = map_at_pose(x, y, z, pose, table)
            if value <= ZERO:
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
                weighted_velocity[4 * i] += value * vx
                weighted_velocity[4 * i + 1] += value * vy
                weighted_velocity[4 * i + 2] += value * vz


@kernel_pair
def mark_close_particles(xyzp, low, high, pose, table, density, min_density, limit, close):
    """Mark the particles whose distance to the map's surface is below `limit` [m].

    Only particles whose boundary part of the density was above `min_density` at the start of the step are checked. The
    other arguments are those of `add_map`.
    """
    n = density.shape[0]
    for group in prange((n + GROUP - 1) // GROUP):
        for i in range(np.uint64(group * GROUP), np.uint64(min(n, (group + 1) * GROUP))):
            x, y, z = xyzp[4 * i], xyzp[4 * i + 1], xyzp[4 * i + 2]
            if density[i] <= min_density or x < low[0] or y < low[1] or z < low[2]:
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
            close[i] = distance < limit
