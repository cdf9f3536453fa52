"""Compiled contact solver of rigid bodies: projected Gauss-Seidel in substeps, warm-started.

A step is divided into substeps (Macklin et al. 2019): in each, forces are applied, sweeps over the contacts update the
velocities of the two bodies so that their gap does not become negative and friction stays in Coulomb's cone, and the
bodies move. Overlaps are removed by separate correction velocities W that never become velocities. Gaps and lever arms
are current in every substep, as each contact has an anchor on both bodies.

Arrays: X [n, 3] positions, Q [n, 4] quaternions (w, x, y, z), R [n, 9] rotations, V [n, 6] velocity and angular
velocity, M [n, 7] one over the mass and the inverse inertia in world axes (xx, yy, zz, xy, xz, yz), J [n, 3] principal
moments of inertia. C [c, 44] holds the contacts, one row each, with the columns named in `rigid_contact_layout`; AB
[c, 2] their instances.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from continua.contact_solver.rigid_contact_layout import (
    FRICTION,
    GAP,
    IMPULSE,
    NORMAL_MASS,
    POSITION_IMPULSE,
    TARGET_VELOCITY,
    TOTAL_IMPULSE,
    apply_friction,
    apply_impulse,
    apply_inverse_inertia,
    cross,
    relative_velocity,
    rotate,
    update_contacts,
)
from continua.contact_solver.rigid_restitution import propagate_impacts
from continua.numerics import inline, kernel

__all__ = ["begin_substep", "end_substep", "pgs_substeps", "trial_pose"]

# roles of instances in a solve; those that are solved for are odd
EXCLUDED, DYNAMIC, KINEMATIC, JOINED = range(4)


@inline
def _warm_start(V, M, AB, C):
    """Apply the impulses of the last substep."""
    for c in range(C.shape[0]):
        p, q, r = C[c, IMPULSE], C[c, IMPULSE + 1], C[c, IMPULSE + 2]
        if p == 0.0:
            continue
        x = p * C[c, 0] + q * C[c, 3] + r * C[c, 6]
        y = p * C[c, 1] + q * C[c, 4] + r * C[c, 7]
        z = p * C[c, 2] + q * C[c, 5] + r * C[c, 8]
        apply_impulse(V, M, C, c, AB[c, 0], AB[c, 1], x, y, z)


@inline
def _velocity_sweep(V, M, AB, C, h, forward):
    """Do one Gauss-Seidel sweep over the contacts, with friction."""
    count = C.shape[0]
    for k in range(count):
        c = k if forward else count - 1 - k
        a, b = AB[c, 0], AB[c, 1]
        ux, uy, uz = relative_velocity(V, C, c, a, b)
        u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz + max(C[c, GAP], 0.0) / h
        before = C[c, IMPULSE]
        p = max(0.0, before - C[c, NORMAL_MASS] * u)
        C[c, IMPULSE] = p
        p -= before
        if p != 0.0:
            apply_impulse(V, M, C, c, a, b, p * C[c, 0], p * C[c, 1], p * C[c, 2])
        if C[c, IMPULSE] > 0.0 or C[c, IMPULSE + 1] != 0.0 or C[c, IMPULSE + 2] != 0.0:
            apply_friction(V, M, C, c, a, b, C[c, FRICTION] * C[c, IMPULSE], IMPULSE + 1)


@inline
def _correct_positions(V, W, M, AB, C, h, correction_rate, max_correction_speed, sweeps):
    """Find the correction velocities W that remove the remaining overlaps; they never become velocities."""
    count = C.shape[0]
    W[:] = 0.0
    for c in range(count):
        ux, uy, uz = relative_velocity(V, C, c, AB[c, 0], AB[c, 1])
        gap = C[c, GAP] / h + C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
        C[c, TARGET_VELOCITY] = gap if gap > 0.0 else max(correction_rate * gap, -max_correction_speed)
        C[c, POSITION_IMPULSE] = 0.0
    for s in range(sweeps):
        for k in range(count):
            c = k if s % 2 == 0 else count - 1 - k
            a, b = AB[c, 0], AB[c, 1]
            ux, uy, uz = relative_velocity(W, C, c, a, b)
            u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz + C[c, TARGET_VELOCITY]
            before = C[c, POSITION_IMPULSE]
            p = max(0.0, before - C[c, NORMAL_MASS] * u)
            C[c, POSITION_IMPULSE] = p
            p -= before
            if p != 0.0:
                apply_impulse(W, M, C, c, a, b, p * C[c, 0], p * C[c, 1], p * C[c, 2])


@inline
def _apply_springs(X, R, V, M, spring_bodies, springs, role, h):
    """Apply damped springs to points of bodies implicitly (springs: point, target, stiffness, damping, force)."""
    for s in range(spring_bodies.shape[0]):
        i = spring_bodies[s]
        rx, ry, rz = rotate(R, i, springs, s, 0)
        k, d = springs[s, 6], springs[s, 7]
        if not role[i] & 1 or k == 0.0:
            continue
        wx, wy, wz = cross(V[i, 3], V[i, 4], V[i, 5], rx, ry, rz)
        # inverse effective mass, an upper bound for all directions
        lever = rx * rx + ry * ry + rz * rz
        soft = M[i, 0] + lever * max(M[i, 1], max(M[i, 2], M[i, 3]))
        scale = h / (1.0 + soft * h * (d + h * k))
        fx = scale * (k * (springs[s, 3] - X[i, 0] - rx - h * (V[i, 0] + wx)) - d * (V[i, 0] + wx))
        fy = scale * (k * (springs[s, 4] - X[i, 1] - ry - h * (V[i, 1] + wy)) - d * (V[i, 1] + wy))
        fz = scale * (k * (springs[s, 5] - X[i, 2] - rz - h * (V[i, 2] + wz)) - d * (V[i, 2] + wz))
        springs[s, 8], springs[s, 9], springs[s, 10] = fx / h, fy / h, fz / h
        m = M[i, 0]
        V[i, 0], V[i, 1], V[i, 2] = V[i, 0] + m * fx, V[i, 1] + m * fy, V[i, 2] + m * fz
        sx, sy, sz = cross(rx, ry, rz, fx, fy, fz)
        sx, sy, sz = apply_inverse_inertia(M, i, sx, sy, sz)
        V[i, 3], V[i, 4], V[i, 5] = V[i, 3] + sx, V[i, 4] + sy, V[i, 5] + sz


@inline
def _apply_accelerations(V, A, role, h):
    """Apply the accelerations A [n, 6] of gravity and loads."""
    for i in range(V.shape[0]):
        if role[i] & 1:
            for d in range(6):
                V[i, d] += h * A[i, d]


@inline
def _quaternion_to_matrix(Q, R, i):
    w, x, y, z = Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3]
    R[i, 0], R[i, 1], R[i, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    R[i, 3], R[i, 4], R[i, 5] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    R[i, 6], R[i, 7], R[i, 8] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@inline
def _update_inverse_inertia(R, M, J, i):
    """Write the inverse inertia of instance i in world axes."""
    p, q, r = 1.0 / J[i, 0], 1.0 / J[i, 1], 1.0 / J[i, 2]
    a, b, c, d, e, f, g, k, m = (
        R[i, 0],
        R[i, 1],
        R[i, 2],
        R[i, 3],
        R[i, 4],
        R[i, 5],
        R[i, 6],
        R[i, 7],
        R[i, 8],
    )
    M[i, 1] = p * a * a + q * b * b + r * c * c
    M[i, 2] = p * d * d + q * e * e + r * f * f
    M[i, 3] = p * g * g + q * k * k + r * m * m
    M[i, 4] = p * a * d + q * b * e + r * c * f
    M[i, 5] = p * a * g + q * b * k + r * c * m
    M[i, 6] = p * d * g + q * e * k + r * f * m


@inline
def _rotate_quaternion(w, x, y, z, sx, sy, sz):
    """Return a unit quaternion rotated by the rotation vector s."""
    angle = sqrt(sx * sx + sy * sy + sz * sz)
    half = 0.5 * angle
    k = np.sin(half) / angle if angle > 1e-8 else 0.5 - angle * angle / 48.0
    c = np.cos(half)
    sx, sy, sz = k * sx, k * sy, k * sz
    nw = c * w - sx * x - sy * y - sz * z
    nx = c * x + sx * w + sy * z - sz * y
    ny = c * y + sy * w + sz * x - sx * z
    nz = c * z + sz * w + sx * y - sy * x
    s = 1.0 / sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
    return nw * s, nx * s, ny * s, nz * s


@inline
def _angular_velocity(w, x, y, z, J, i, lx, ly, lz):
    """Return the angular velocity of instance i with angular momentum l at the orientation (w, x, y, z)."""
    # to own axes: rotate by the conjugate
    tx, ty, tz = 2 * (lz * y - ly * z), 2 * (lx * z - lz * x), 2 * (ly * x - lx * y)
    ox = lx - w * tx + (tz * y - ty * z)
    oy = ly - w * ty + (tx * z - tz * x)
    oz = lz - w * tz + (ty * x - tx * y)
    ox, oy, oz = ox / J[i, 0], oy / J[i, 1], oz / J[i, 2]
    tx, ty, tz = 2 * (y * oz - z * oy), 2 * (z * ox - x * oz), 2 * (x * oy - y * ox)
    return ox + w * tx + (y * tz - z * ty), oy + w * ty + (z * tx - x * tz), oz + w * tz + (x * ty - y * tx)


@inline
def _integrate_rotation(Q, R, V, M, J, i, h):
    """Rotate instance i for a time h, conserving its angular momentum to the last digit (implicit midpoint).

    Its energy stays between the bounds given by the momentum and the largest and smallest inertia, whatever h is: a
    fast top cannot become unstable.
    """
    wx, wy, wz = V[i, 3], V[i, 4], V[i, 5]
    w, x, y, z = Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3]
    j0, j1, j2 = J[i, 0], J[i, 1], J[i, 2]
    if M[i, 0] > 0.0 and not (j0 == j1 and j1 == j2) and (wx != 0.0 or wy != 0.0 or wz != 0.0):
        # angular momentum: R J R^T omega
        ax, ay, az = (
            R[i, 0] * wx + R[i, 3] * wy + R[i, 6] * wz,
            R[i, 1] * wx + R[i, 4] * wy + R[i, 7] * wz,
            R[i, 2] * wx + R[i, 5] * wy + R[i, 8] * wz,
        )
        ax, ay, az = j0 * ax, j1 * ay, j2 * az
        lx = R[i, 0] * ax + R[i, 1] * ay + R[i, 2] * az
        ly = R[i, 3] * ax + R[i, 4] * ay + R[i, 5] * az
        lz = R[i, 6] * ax + R[i, 7] * ay + R[i, 8] * az
        for _ in range(3):
            mw, mx, my, mz = _rotate_quaternion(w, x, y, z, 0.5 * h * wx, 0.5 * h * wy, 0.5 * h * wz)
            wx, wy, wz = _angular_velocity(mw, mx, my, mz, J, i, lx, ly, lz)
        w, x, y, z = _rotate_quaternion(w, x, y, z, h * wx, h * wy, h * wz)
        V[i, 3], V[i, 4], V[i, 5] = _angular_velocity(w, x, y, z, J, i, lx, ly, lz)
    else:
        w, x, y, z = _rotate_quaternion(w, x, y, z, h * wx, h * wy, h * wz)
    Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3] = w, x, y, z
    _quaternion_to_matrix(Q, R, i)


@inline
def _integrate(X, Q, R, V, W, M, J, A, AB, C, role, h, in_flight):
    """Move instances with their velocities and corrections; those without contact follow exact parabolas."""
    for i in range(X.shape[0]):
        in_flight[i] = role[i] == DYNAMIC
    for c in range(C.shape[0]):
        if C[c, IMPULSE] > 0.0:
            in_flight[AB[c, 0]] = in_flight[AB[c, 1]] = False
            for d in range(3):
                C[c, TOTAL_IMPULSE + d] += C[c, IMPULSE + d]
    for i in range(X.shape[0]):
        if role[i] == EXCLUDED:
            continue
        back = 0.5 * h * h if in_flight[i] else 0.0
        for d in range(3):
            X[i, d] += h * (V[i, d] + W[i, d]) - back * A[i, d]
        if V[i, 3] != 0.0 or V[i, 4] != 0.0 or V[i, 5] != 0.0:
            _integrate_rotation(Q, R, V, M, J, i, h)
            if M[i, 0] > 0.0:
                _update_inverse_inertia(R, M, J, i)
        if W[i, 3] != 0.0 or W[i, 4] != 0.0 or W[i, 5] != 0.0:
            Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3] = _rotate_quaternion(
                Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3], h * W[i, 3], h * W[i, 4], h * W[i, 5]
            )
            _quaternion_to_matrix(Q, R, i)
            _update_inverse_inertia(R, M, J, i)


@kernel
def pgs_substeps(
    X,
    Q,
    R,
    V,
    W,
    M,
    J,
    A,
    AB,
    C,
    first,
    spring_bodies,
    springs,
    role,
    h,
    substeps,
    sweeps,
    correction_rate,
    max_correction_speed,
    rest_speed,
    has_restitution,
    in_flight,
):
    """Do `substeps` substeps of length h [s].

    Args:
        X: See the top of the file for X, Q, R, V, M, J, AB, C.
        Q: See X.
        R: See X.
        V: See X.
        W: Scratch, like V.
        M: See X.
        J: See X.
        A: Linear and angular accelerations, shape [n, 6].
        AB: See X.
        C: See X.
        first: First contact of each pair, and the end.
        spring_bodies: Instances that springs act on [s].
        springs: The springs [s, 11]: point in own axes, target, stiffness, damping, force (written).
        role: Role of each instance: EXCLUDED, DYNAMIC or KINEMATIC, shape [n].
        h: Length of a substep [s].
        substeps: Number of substeps.
        sweeps: Sweeps per substep.
        correction_rate: Fraction of an overlap that is removed in a substep.
        max_correction_speed: Largest speed with which overlaps are removed [m/s].
        rest_speed: Speed below which nothing bounces [m/s].
        has_restitution: Whether any contact has restitution.
        in_flight: Scratch, one flag per instance.
    """
    for _ in range(substeps):
        update_contacts(X, R, M, AB, C)
        if has_restitution:
            propagate_impacts(V, M, A, AB, C, first, h, rest_speed)
        _apply_accelerations(V, A, role, h)
        _apply_springs(X, R, V, M, spring_bodies, springs, role, h)
        _warm_start(V, M, AB, C)
        for k in range(sweeps):
            _velocity_sweep(V, M, AB, C, h, k % 2 == 0)
        _correct_positions(V, W, M, AB, C, h, correction_rate, max_correction_speed, 1)
        _integrate(X, Q, R, V, W, M, J, A, AB, C, role, h, in_flight)


@kernel
def begin_substep(X, R, V, M, A, AB, C, first, spring_bodies, springs, role, h, rest_speed, has_restitution):
    """Begin a substep of a direct solve: update contacts, impacts, and forces; see `pgs_substeps`."""
    update_contacts(X, R, M, AB, C)
    if has_restitution:
        propagate_impacts(V, M, A, AB, C, first, h, rest_speed)
    _apply_accelerations(V, A, role, h)
    _apply_springs(X, R, V, M, spring_bodies, springs, role, h)


@kernel
def end_substep(X, Q, R, V, W, M, J, A, AB, C, role, h, in_flight):
    """End a substep of a direct solve: move all instances; see `pgs_substeps`."""
    _integrate(X, Q, R, V, W, M, J, A, AB, C, role, h, in_flight)


@kernel
def trial_pose(X, Q, R, V, M, J, role, h, X2, Q2, R2, V2):
    """Write the poses of instances after a time h with velocities V."""
    for i in range(X.shape[0]):
        for d in range(3):
            X2[i, d] = X[i, d]
        for d in range(9):
            R2[i, d] = R[i, d]
        if role[i] == EXCLUDED:
            continue
        for d in range(3):
            X2[i, d] += h * V[i, d]
            V2[i, 3 + d] = V[i, 3 + d]
        for d in range(4):
            Q2[i, d] = Q[i, d]
        _integrate_rotation(Q2, R2, V2, M, J, i, h)
