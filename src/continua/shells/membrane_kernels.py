"""Compiled functions for the stretching of triangles in space.

The deformation gradient of a triangle is the 3x2 matrix F = (x_1 - x_0, x_2 - x_0) D^-1, with D the same edges at rest
in two axes of the rest triangle (Irving 2007, 2.4). Whatever the law, a triangle leaves a record: columns 0-26 are the
blocks (0, 1), (0, 2) and (1, 2) of its stiffness, row by row; 27-32 the elastic forces of corners 1 and 2; 33 the
energy. The other blocks follow, since a translation does no work.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.numerics import inline, kernel_pair

RECORD = 34
CHUNK = 64
LEAST_STRETCH = 1e-2
"""Stretch below which the stiffness against motions along the normal is bounded."""


@inline
def deformation(x, triangles, rest_inverse, e):
    """Return F (column by column) of triangle e."""
    i, j, k = uint32(triangles[e, 0]), uint32(triangles[e, 1]), uint32(triangles[e, 2])
    a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    b0, b1, b2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    r0, r1, r2, r3 = rest_inverse[0, e], rest_inverse[1, e], rest_inverse[2, e], rest_inverse[3, e]
    return (
        a0 * r0 + b0 * r2,
        a1 * r0 + b1 * r2,
        a2 * r0 + b2 * r2,
        a0 * r1 + b0 * r3,
        a1 * r1 + b1 * r3,
        a2 * r1 + b2 * r3,
    )


@inline
def positive_part(s00, s01, s11):
    """Return the positive semidefinite part of a symmetric 2x2 matrix."""
    mean = 0.5 * (s00 + s11)
    half = 0.5 * (s00 - s11)
    radius = np.sqrt(half * half + s01 * s01)
    low, high = mean - radius, mean + radius
    if low >= 0.0:
        return s00, s01, s11
    if high <= 0.0:
        return 0.0, 0.0, 0.0
    scale = 0.5 * high / radius
    return scale * (radius + half), scale * s01, scale * (radius - half)


@inline
def _add_strain_forms(records, e, at, u, v, g0, g1, h0, h1, stiffness):
    """Write the block of corners with rest gradients g and h: the strain forms of one times C times those of the other.

    The derivatives of the strains (E_00, E_11, 2 E_01) by a corner with gradient g are the vectors g_0 u, g_1 v and
    g_1 u + g_0 v.
    """
    c00, c01, c11, c22, s00, s01, s11 = stiffness
    stress = s00 * g0 * h0 + s01 * (g0 * h1 + g1 * h0) + s11 * g1 * h1
    a = c00 * g0 * h0 + c22 * g1 * h1  # factor of u u^T
    b = c01 * g0 * h1 + c22 * g1 * h0  # of u v^T
    c = c01 * g1 * h0 + c22 * g0 * h1  # of v u^T
    d = c11 * g1 * h1 + c22 * g0 * h0  # of v v^T
    for r in range(3):
        p, q = a * u[r] + c * v[r], b * u[r] + d * v[r]
        records[e, at + 3 * r] = p * u[0] + q * v[0]
        records[e, at + 3 * r + 1] = p * u[1] + q * v[1]
        records[e, at + 3 * r + 2] = p * u[2] + q * v[2]
    records[e, at] += stress
    records[e, at + 4] += stress
    records[e, at + 8] += stress


@kernel_pair
def green_records(x, triangles, rest_inverse, volumes, constants, records):
    """Fill the records of triangles whose stress is linear in Green's strain E = (F^T F - I)/2, beyond a limit stiffer.

    S_00 = c_00 E_00 + c_01 E_11, S_11 = c_01 E_00 + c_11 E_11, S_01 = 2 c_22 E_01; where E_00 or E_11 is above its
    limit the stress gains c times the excess. The force of corner a is V F S g_a. For a definite stiffness S is
    replaced by its positive part, that of tension.

    Args:
        x: Positions [m], shape [n, 3].
        triangles: Shape [m, 3].
        rest_inverse: See `Membrane`, shape [4, m].
        volumes: Rest volumes [m3], shape [m].
        constants: c_00, c_01, c_11, c_22 [Pa], limits of E_00 and E_11, factor of the stiffness beyond, shape [m, 7].
        records: Result, shape [m, 34].
    """
    count = triangles.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for e in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            u0, u1, u2, v0, v1, v2 = deformation(x, triangles, rest_inverse, e)
            w = volumes[e]
            c00, c01, c11, c22 = (
                w * constants[e, 0],
                w * constants[e, 1],
                w * constants[e, 2],
                w * constants[e, 3],
            )
            e00 = 0.5 * (u0 * u0 + u1 * u1 + u2 * u2 - 1.0)
            e11 = 0.5 * (v0 * v0 + v1 * v1 + v2 * v2 - 1.0)
            e01 = 0.5 * (u0 * v0 + u1 * v1 + u2 * v2)
            s00, s11, s01 = c00 * e00 + c01 * e11, c01 * e00 + c11 * e11, 2.0 * c22 * e01
            energy = 0.5 * (s00 * e00 + s11 * e11 + 2.0 * s01 * e01)
            above0, above1 = e00 - constants[e, 4], e11 - constants[e, 5]
            if above0 > 0.0:
                more = constants[e, 6] * c00
                s00 += more * above0
                energy += 0.5 * more * above0 * above0
                c00 += more
            if above1 > 0.0:
                more = constants[e, 6] * c11
                s11 += more * above1
                energy += 0.5 * more * above1 * above1
                c11 += more
            records[e, 33] = energy
            a0, a1 = rest_inverse[0, e], rest_inverse[1, e]
            b0, b1 = rest_inverse[2, e], rest_inverse[3, e]
            ta, tb = s00 * a0 + s01 * a1, s01 * a0 + s11 * a1
            records[e, 27] = u0 * ta + v0 * tb
            records[e, 28] = u1 * ta + v1 * tb
            records[e, 29] = u2 * ta + v2 * tb
            ta, tb = s00 * b0 + s01 * b1, s01 * b0 + s11 * b1
            records[e, 30] = u0 * ta + v0 * tb
            records[e, 31] = u1 * ta + v1 * tb
            records[e, 32] = u2 * ta + v2 * tb
            s00, s01, s11 = positive_part(s00, s01, s11)
            stiffness = (c00, c01, c11, c22, s00, s01, s11)
            u, v = (u0, u1, u2), (v0, v1, v2)
            o0, o1 = -(a0 + b0), -(a1 + b1)
            _add_strain_forms(records, e, 0, u, v, o0, o1, a0, a1, stiffness)
            _add_strain_forms(records, e, 9, u, v, o0, o1, b0, b1, stiffness)
            _add_strain_forms(records, e, 18, u, v, a0, a1, b0, b1, stiffness)


@inline
def _unit(x, y, z, scale):
    """Return the length of a vector and its direction, a zero one if it is far shorter than `scale`."""
    length = np.sqrt(x * x + y * y + z * z)
    if length <= 1e-12 * scale or length == 0.0:
        return length, 0.0, 0.0, 0.0
    return length, x / length, y / length, z / length


@inline
def _any_normal(x, y, z):
    """Return a unit vector orthogonal to a unit vector."""
    if abs(x) < 0.6:
        length = np.sqrt(y * y + z * z)
        return 0.0, z / length, -y / length
    length = np.sqrt(x * x + z * z)
    return -z / length, 0.0, x / length


@inline
def frame(u0, u1, u2, v0, v1, v2):
    """Return an orthonormal pair q, p in the plane of F = (u, v), and r_00, r_01, r_11 with F = (q, p) R.

    R is upper triangular with a diagonal that is not negative. Triangles that are lines or points have a frame too.
    """
    scale = abs(u0) + abs(u1) + abs(u2) + abs(v0) + abs(v1) + abs(v2)
    r00, q0, q1, q2 = _unit(u0, u1, u2, scale)
    if q0 == 0.0 and q1 == 0.0 and q2 == 0.0:
        r00 = 0.0
        length, p0, p1, p2 = _unit(v0, v1, v2, 0.0)
        if length == 0.0:
            p0 = 1.0
        q0, q1, q2 = _any_normal(p0, p1, p2)
        return (q0, q1, q2), (p0, p1, p2), 0.0, q0 * v0 + q1 * v1 + q2 * v2, length
    r01 = q0 * v0 + q1 * v1 + q2 * v2
    r11, p0, p1, p2 = _unit(v0 - r01 * q0, v1 - r01 * q1, v2 - r01 * q2, scale)
    if p0 == 0.0 and p1 == 0.0 and p2 == 0.0:
        r11 = 0.0
        p0, p1, p2 = _any_normal(q0, q1, q2)
    return (q0, q1, q2), (p0, p1, p2), r00, r01, r11


@kernel_pair
def reduce_to_plane(x, triangles, rest_inverse, flipped, frames, columns):
    """Turn the deformation of triangles into their plane, F = (q, p) R, so that laws of plane bodies apply.

    Args:
        x: Positions [m], shape [n, 3].
        triangles: Shape [m, 3].
        rest_inverse: See `Membrane`, shape [4, m].
        flipped: Whether a triangle faces the wrong way: then p is turned, and det R < 0. Shape [m], or None.
        frames: Result: q, p and r_00, r_01, r_11, shape [m, 9].
        columns: Result: the columns of the plane deformation gradient, and zero, as three nodes each, shape [3 m, 3].
    """
    count = triangles.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for e in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            u0, u1, u2, v0, v1, v2 = deformation(x, triangles, rest_inverse, e)
            q, p, r00, r01, r11 = frame(u0, u1, u2, v0, v1, v2)
            sign = -1.0 if flipped is not None and flipped[e] else 1.0
            r11 *= sign
            for c in range(3):
                frames[e, c] = q[c]
                frames[e, 3 + c] = sign * p[c]
                columns[3 * e, c] = 0.0
                columns[3 * e + 1, c] = 0.0
                columns[3 * e + 2, c] = 0.0
            frames[e, 6], frames[e, 7], frames[e, 8] = r00, r01, r11
            columns[3 * e, 0] = r00
            columns[3 * e + 1, 0] = r01
            columns[3 * e + 1, 1] = r11


@inline
def _add_plane_forms(records, e, at, q, p, n, g0, g1, h0, h1, T, s):
    """Write the block of corners with rest gradients g and h: that of motions in the plane, and of those along n."""
    m00 = g0 * (T[0] * h0 + T[1] * h1) + g1 * (T[1] * h0 + T[4] * h1)
    m01 = g0 * (T[2] * h0 + T[3] * h1) + g1 * (T[5] * h0 + T[6] * h1)
    m10 = g0 * (T[2] * h0 + T[5] * h1) + g1 * (T[3] * h0 + T[6] * h1)
    m11 = g0 * (T[7] * h0 + T[8] * h1) + g1 * (T[8] * h0 + T[9] * h1)
    along = s[0] * g0 * h0 + s[1] * (g0 * h1 + g1 * h0) + s[2] * g1 * h1
    for r in range(3):
        a, b, c = m00 * q[r] + m10 * p[r], m01 * q[r] + m11 * p[r], along * n[r]
        records[e, at + 3 * r] = a * q[0] + b * p[0] + c * n[0]
        records[e, at + 3 * r + 1] = a * q[1] + b * p[1] + c * n[1]
        records[e, at + 3 * r + 2] = a * q[2] + b * p[2] + c * n[2]


@kernel_pair
def records_from_plane(points, frames, rest_inverse, volumes, records):
    """Fill the records of triangles from the law evaluated in their plane.

    A motion along the normal n changes F by n a^T, and the stress F S by n (S a)^T: its stiffness is S, of which the
    positive part is taken.

    Args:
        points: Records of `materials.point_kernels` in plane stress, shape [m, 64].
        frames: See `reduce_to_plane`, shape [m, 9].
        rest_inverse: See `Membrane`, shape [4, m].
        volumes: Rest volumes [m3], shape [m].
        records: Result, shape [m, 34].
    """
    count = points.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for e in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            w = volumes[e]
            q, p = (frames[e, 0], frames[e, 1], frames[e, 2]), (frames[e, 3], frames[e, 4], frames[e, 5])
            n = (q[1] * p[2] - q[2] * p[1], q[2] * p[0] - q[0] * p[2], q[0] * p[1] - q[1] * p[0])
            P00, P01, P10, P11 = w * points[e, 9], w * points[e, 10], w * points[e, 12], w * points[e, 13]
            a0, a1 = rest_inverse[0, e], rest_inverse[1, e]
            b0, b1 = rest_inverse[2, e], rest_inverse[3, e]
            for c in range(3):
                records[e, 27 + c] = q[c] * (P00 * a0 + P01 * a1) + p[c] * (P10 * a0 + P11 * a1)
                records[e, 30 + c] = q[c] * (P00 * b0 + P01 * b1) + p[c] * (P10 * b0 + P11 * b1)
            records[e, 33] = w * points[e, 63]
            # upper half of the tangent, row by row from column 18: rows and columns 0 (00), 1 (01), 3 (10), 4 (11)
            T = (
                w * points[e, 18], w * points[e, 19], w * points[e, 21], w * points[e, 22],
                w * points[e, 27], w * points[e, 29], w * points[e, 30],
                w * points[e, 42], w * points[e, 43], w * points[e, 48],
            )  # fmt: skip
            r00, r11 = frames[e, 6], frames[e, 8]
            bound = LEAST_STRETCH
            down = r11 if abs(r11) > bound else (bound if r11 >= 0.0 else -bound)
            s10, s11 = P10 / down, P11 / down
            over = max(r00, bound)
            s00, s01 = (P00 - frames[e, 7] * s10) / over, (P01 - frames[e, 7] * s11) / over
            s = positive_part(s00, 0.5 * (s01 + s10), s11)
            o0, o1 = -(a0 + b0), -(a1 + b1)
            _add_plane_forms(records, e, 0, q, p, n, o0, o1, a0, a1, T, s)
            _add_plane_forms(records, e, 9, q, p, n, o0, o1, b0, b1, T, s)
            _add_plane_forms(records, e, 18, q, p, n, a0, a1, b0, b1, T, s)
