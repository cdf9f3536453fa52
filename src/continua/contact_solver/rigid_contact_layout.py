"""Compiled contacts of rigid bodies: the columns of the contact array, lever arms, effective masses, and impulses.

Arrays as in `rigid_pgs`.
"""

from __future__ import annotations

from math import sqrt

from continua.geometry.primitive_kernels import to_world
from continua.numerics import inline

# columns of C
NORMAL = 0  # 3, and the tangents
T1 = 3
T2 = 6
LEVER_A = 9  # 3, from the centre of the first body
LEVER_B = 12  # 3
NORMAL_MASS = 15  # along the normal
INV11, INV12, INV22 = 16, 17, 18  # inverse of the tangential 2x2 matrix
SLIP_MASS = 19  # one over its largest eigenvalue
GAP = 20
IMPULSE = 21  # 3, normal and tangential
FRICTION = 24
RESTITUTION = 25
ANCHOR_LOCAL_A = 26  # 3, in own axes: rotates with the body
ANCHOR_WORLD_A = 29  # 3, in world axes: does not rotate
ANCHOR_LOCAL_B = 32
ANCHOR_WORLD_B = 35
TARGET_VELOCITY = 38
POSITION_IMPULSE = 39
ANCHOR_WEIGHT = 40  # weight of the first body's anchor in the contact point
TOTAL_IMPULSE = 41  # 3, the sum of all impulses of the step, normal and tangential
COLUMNS = 44


@inline
def rotate(R, i, C, c, k):
    """Return the vector at C[c, k:k + 3], given in the axes of instance i, in world axes."""
    return to_world(R, i, C[c, k], C[c, k + 1], C[c, k + 2])


@inline
def cross(ax, ay, az, bx, by, bz):
    """Return the cross product of two vectors."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inline
def apply_inverse_inertia(M, i, x, y, z):
    """Return the inverse inertia of instance i times a vector."""
    return (
        M[i, 1] * x + M[i, 4] * y + M[i, 5] * z,
        M[i, 4] * x + M[i, 2] * y + M[i, 6] * z,
        M[i, 5] * x + M[i, 6] * y + M[i, 3] * z,
    )


@inline
def contact_gap(X, R, C, c, a, b):
    """Return the distance of the two anchors of a contact along its normal, and the contact point."""
    ax, ay, az = rotate(R, a, C, c, ANCHOR_LOCAL_A)
    bx, by, bz = rotate(R, b, C, c, ANCHOR_LOCAL_B)
    ax, ay, az = (
        X[a, 0] + ax + C[c, ANCHOR_WORLD_A],
        X[a, 1] + ay + C[c, ANCHOR_WORLD_A + 1],
        X[a, 2] + az + C[c, ANCHOR_WORLD_A + 2],
    )
    bx, by, bz = (
        X[b, 0] + bx + C[c, ANCHOR_WORLD_B],
        X[b, 1] + by + C[c, ANCHOR_WORLD_B + 1],
        X[b, 2] + bz + C[c, ANCHOR_WORLD_B + 2],
    )
    gap = C[c, 0] * (ax - bx) + C[c, 1] * (ay - by) + C[c, 2] * (az - bz)
    s, t = C[c, ANCHOR_WEIGHT], 1.0 - C[c, ANCHOR_WEIGHT]
    return gap, s * ax + t * bx, s * ay + t * by, s * az + t * bz


@inline
def inverse_effective_mass(M, a, b, C, c, i, j):
    """Return direction i of the contact's frame times its inverse mass matrix times direction j."""
    ix, iy, iz = C[c, i], C[c, i + 1], C[c, i + 2]
    jx, jy, jz = C[c, j], C[c, j + 1], C[c, j + 2]
    total = (M[a, 0] + M[b, 0]) * (ix * jx + iy * jy + iz * jz)
    for side in range(2):
        body, lever = (a, LEVER_A) if side == 0 else (b, LEVER_B)
        rx, ry, rz = C[c, lever], C[c, lever + 1], C[c, lever + 2]
        px, py, pz = cross(rx, ry, rz, ix, iy, iz)
        qx, qy, qz = cross(rx, ry, rz, jx, jy, jz)
        sx, sy, sz = apply_inverse_inertia(M, body, qx, qy, qz)
        total += px * sx + py * sy + pz * sz
    return total


@inline
def update_contacts(X, R, M, AB, C):
    """Update lever arms, gaps and effective masses of all contacts at the current poses."""
    for c in range(C.shape[0]):
        a, b = AB[c, 0], AB[c, 1]
        gap, x, y, z = contact_gap(X, R, C, c, a, b)
        C[c, GAP] = gap
        C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2] = x - X[a, 0], y - X[a, 1], z - X[a, 2]
        C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2] = x - X[b, 0], y - X[b, 1], z - X[b, 2]
        C[c, NORMAL_MASS] = 1.0 / inverse_effective_mass(M, a, b, C, c, NORMAL, NORMAL)
        k11, k22 = (
            inverse_effective_mass(M, a, b, C, c, T1, T1),
            inverse_effective_mass(M, a, b, C, c, T2, T2),
        )
        k12 = inverse_effective_mass(M, a, b, C, c, T1, T2)
        scale = 1.0 / (k11 * k22 - k12 * k12)
        C[c, INV11], C[c, INV12], C[c, INV22] = k22 * scale, -k12 * scale, k11 * scale
        half, off = 0.5 * (k11 + k22), 0.5 * (k11 - k22)
        C[c, SLIP_MASS] = 1.0 / (half + sqrt(off * off + k12 * k12))


@inline
def relative_velocity(V, C, c, a, b):
    """Return the velocity of the first body relative to the second at the contact."""
    ax, ay, az = cross(V[a, 3], V[a, 4], V[a, 5], C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2])
    bx, by, bz = cross(V[b, 3], V[b, 4], V[b, 5], C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2])
    return V[a, 0] - V[b, 0] + ax - bx, V[a, 1] - V[b, 1] + ay - by, V[a, 2] - V[b, 2] + az - bz


@inline
def apply_impulse(V, M, C, c, a, b, x, y, z):
    """Apply an impulse to the first body and its opposite to the second."""
    if M[a, 0] > 0.0:
        sx, sy, sz = cross(C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2], x, y, z)
        sx, sy, sz = apply_inverse_inertia(M, a, sx, sy, sz)
        m = M[a, 0]
        V[a, 0], V[a, 1], V[a, 2] = V[a, 0] + m * x, V[a, 1] + m * y, V[a, 2] + m * z
        V[a, 3], V[a, 4], V[a, 5] = V[a, 3] + sx, V[a, 4] + sy, V[a, 5] + sz
    if M[b, 0] > 0.0:
        sx, sy, sz = cross(C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2], x, y, z)
        sx, sy, sz = apply_inverse_inertia(M, b, sx, sy, sz)
        m = M[b, 0]
        V[b, 0], V[b, 1], V[b, 2] = V[b, 0] - m * x, V[b, 1] - m * y, V[b, 2] - m * z
        V[b, 3], V[b, 4], V[b, 5] = V[b, 3] - sx, V[b, 4] - sy, V[b, 5] - sz


@inline
def apply_friction(V, M, C, c, a, b, limit, k):
    """Update the tangential impulse (columns k, k + 1) so that the contact sticks, or slips at the cone's boundary.

    Where it slips, the change is the same multiple of the slip in all directions, so that friction opposes it exactly.
    """
    ux, uy, uz = relative_velocity(V, C, c, a, b)
    u = C[c, 3] * ux + C[c, 4] * uy + C[c, 5] * uz
    v = C[c, 6] * ux + C[c, 7] * uy + C[c, 8] * uz
    p0, q0 = C[c, k], C[c, k + 1]
    p, q = p0 - C[c, INV11] * u - C[c, INV12] * v, q0 - C[c, INV12] * u - C[c, INV22] * v
    if p * p + q * q > limit * limit:
        p, q = p0 - C[c, SLIP_MASS] * u, q0 - C[c, SLIP_MASS] * v
        length = sqrt(p * p + q * q)
        if length > limit:
            p, q = p * limit / length, q * limit / length
    C[c, k], C[c, k + 1] = p, q
    p, q = p - p0, q - q0
    apply_impulse(
        V, M, C, c, a, b,
        p * C[c, 3] + q * C[c, 6], p * C[c, 4] + q * C[c, 7], p * C[c, 5] + q * C[c, 8],
    )  # fmt: skip
