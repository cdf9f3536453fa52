"""Compiled contact solve of rigid pieces: projected Gauss-Seidel sweeps in small steps, warm-started.

A step is done in several small ones (Macklin and others 2019): in each the forces act, every contact in turn changes
the velocities of its two pieces so that they do not come nearer than their gap allows and rub by Coulomb's cone, the
pieces move, and one more sweep without the push that takes overlaps away leaves velocities that belong to touching
only (Catto 2023, "relax"). Gaps and lever arms are those of the moment, as each contact keeps a place on both pieces.

Arrays: X [n, 3] positions, Q [n, 4] quaternions (w, x, y, z), R [n, 9] rotations, V [n, 6] velocity and angular
velocity, M [n, 7] one over the mass and the inverse inertia in world axes (xx, yy, zz, xy, xz, yz), J [n, 3] principal
moments of inertia. C [c, 42] holds the contacts, one row each, with the columns named below; AB [c, 2] their pieces.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from continua.numerics import inline, kernel

__all__ = ["COLUMNS", "FRICTION", "IMPULSE", "NORMAL", "RESTITUTION", "advance"]

# columns of C
NORMAL = 0  # 3, and the tangents
T1 = 3
T2 = 6
LEVER_A = 9  # 3, from the centre of the first piece
LEVER_B = 12  # 3
MASS = 15  # along the normal
INV11, INV12, INV22 = 16, 17, 18  # inverse of the 2x2 matrix across it
SLIP_MASS = 19  # one over its largest eigenvalue
GAP = 20
IMPULSE = 21  # 3, along the normal and across
FRICTION = 24
RESTITUTION = 25
CORE_A = 26  # 3, in own axes: turns with the piece
SHIFT_A = 29  # 3, in world axes: does not
CORE_B = 32
SHIFT_B = 35
WANTED = 38
SHIFT = 39
SHARE = 40  # of the first piece's place in the point where impulses act
COLUMNS = 42

NOT_MINE, FREE, LED, JOINED = (
    0,
    1,
    2,
    3,
)  # what a solve does with a piece: nothing, moves it (odd), moves it as told
_ROUNDS = 64  # of hits handed on in one small step


@inline
def _turned(R, i, C, c, k):
    x, y, z = C[c, k], C[c, k + 1], C[c, k + 2]
    return (
        R[i, 0] * x + R[i, 1] * y + R[i, 2] * z,
        R[i, 3] * x + R[i, 4] * y + R[i, 5] * z,
        R[i, 6] * x + R[i, 7] * y + R[i, 8] * z,
    )


@inline
def _cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@inline
def _spun(M, i, x, y, z):
    """Return the inverse inertia of piece i times a vector."""
    return (
        M[i, 1] * x + M[i, 4] * y + M[i, 5] * z,
        M[i, 4] * x + M[i, 2] * y + M[i, 6] * z,
        M[i, 5] * x + M[i, 6] * y + M[i, 3] * z,
    )


@inline
def _gap(X, R, C, c, a, b):
    """Return how far the two places of a contact are apart along its normal, and the point where impulses act."""
    ax, ay, az = _turned(R, a, C, c, CORE_A)
    bx, by, bz = _turned(R, b, C, c, CORE_B)
    ax, ay, az = (
        X[a, 0] + ax + C[c, SHIFT_A],
        X[a, 1] + ay + C[c, SHIFT_A + 1],
        X[a, 2] + az + C[c, SHIFT_A + 2],
    )
    bx, by, bz = (
        X[b, 0] + bx + C[c, SHIFT_B],
        X[b, 1] + by + C[c, SHIFT_B + 1],
        X[b, 2] + bz + C[c, SHIFT_B + 2],
    )
    gap = C[c, 0] * (ax - bx) + C[c, 1] * (ay - by) + C[c, 2] * (az - bz)
    s, t = C[c, SHARE], 1.0 - C[c, SHARE]
    return gap, s * ax + t * bx, s * ay + t * by, s * az + t * bz


@inline
def _weight(M, a, b, C, c, i, j):
    """Return direction i of the contact's frame times its inverse mass matrix times direction j."""
    ix, iy, iz = C[c, i], C[c, i + 1], C[c, i + 2]
    jx, jy, jz = C[c, j], C[c, j + 1], C[c, j + 2]
    total = (M[a, 0] + M[b, 0]) * (ix * jx + iy * jy + iz * jz)
    for side in range(2):
        body, lever = (a, LEVER_A) if side == 0 else (b, LEVER_B)
        rx, ry, rz = C[c, lever], C[c, lever + 1], C[c, lever + 2]
        px, py, pz = _cross(rx, ry, rz, ix, iy, iz)
        qx, qy, qz = _cross(rx, ry, rz, jx, jy, jz)
        sx, sy, sz = _spun(M, body, qx, qy, qz)
        total += px * sx + py * sy + pz * sz
    return total


@inline
def _prepare(X, R, M, AB, C):
    """Work out lever arms, gaps and masses of all contacts at the pieces' present places."""
    for c in range(C.shape[0]):
        a, b = AB[c, 0], AB[c, 1]
        gap, x, y, z = _gap(X, R, C, c, a, b)
        C[c, GAP] = gap
        C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2] = x - X[a, 0], y - X[a, 1], z - X[a, 2]
        C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2] = x - X[b, 0], y - X[b, 1], z - X[b, 2]
        C[c, MASS] = 1.0 / _weight(M, a, b, C, c, NORMAL, NORMAL)
        k11, k22 = _weight(M, a, b, C, c, T1, T1), _weight(M, a, b, C, c, T2, T2)
        k12 = _weight(M, a, b, C, c, T1, T2)
        scale = 1.0 / (k11 * k22 - k12 * k12)
        C[c, INV11], C[c, INV12], C[c, INV22] = k22 * scale, -k12 * scale, k11 * scale
        half, off = 0.5 * (k11 + k22), 0.5 * (k11 - k22)
        C[c, SLIP_MASS] = 1.0 / (half + sqrt(off * off + k12 * k12))


@inline
def _relative(V, C, c, a, b):
    """Return the velocity of the first piece relative to the second where they touch."""
    ax, ay, az = _cross(V[a, 3], V[a, 4], V[a, 5], C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2])
    bx, by, bz = _cross(V[b, 3], V[b, 4], V[b, 5], C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2])
    return V[a, 0] - V[b, 0] + ax - bx, V[a, 1] - V[b, 1] + ay - by, V[a, 2] - V[b, 2] + az - bz


@inline
def _hit(V, M, C, c, a, b, x, y, z):
    """Add an impulse to the first piece and its opposite to the second."""
    if M[a, 0] > 0.0:
        sx, sy, sz = _cross(C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2], x, y, z)
        sx, sy, sz = _spun(M, a, sx, sy, sz)
        m = M[a, 0]
        V[a, 0], V[a, 1], V[a, 2] = V[a, 0] + m * x, V[a, 1] + m * y, V[a, 2] + m * z
        V[a, 3], V[a, 4], V[a, 5] = V[a, 3] + sx, V[a, 4] + sy, V[a, 5] + sz
    if M[b, 0] > 0.0:
        sx, sy, sz = _cross(C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2], x, y, z)
        sx, sy, sz = _spun(M, b, sx, sy, sz)
        m = M[b, 0]
        V[b, 0], V[b, 1], V[b, 2] = V[b, 0] - m * x, V[b, 1] - m * y, V[b, 2] - m * z
        V[b, 3], V[b, 4], V[b, 5] = V[b, 3] - sx, V[b, 4] - sy, V[b, 5] - sz


@inline
def _warm(V, M, AB, C):
    """Let the impulses of the last small step act again."""
    for c in range(C.shape[0]):
        p, q, r = C[c, IMPULSE], C[c, IMPULSE + 1], C[c, IMPULSE + 2]
        if p == 0.0:
            continue
        x = p * C[c, 0] + q * C[c, 3] + r * C[c, 6]
        y = p * C[c, 1] + q * C[c, 4] + r * C[c, 7]
        z = p * C[c, 2] + q * C[c, 5] + r * C[c, 8]
        _hit(V, M, C, c, AB[c, 0], AB[c, 1], x, y, z)


@inline
def _rub(V, M, C, c, a, b, most, k):
    """Change the impulse across the normal (columns k, k + 1) so that the places stick, or slip at the cone's edge.

    Where it slips the change is the same multiple of the slip in all directions, so that friction opposes it exactly.
    """
    ux, uy, uz = _relative(V, C, c, a, b)
    u = C[c, 3] * ux + C[c, 4] * uy + C[c, 5] * uz
    v = C[c, 6] * ux + C[c, 7] * uy + C[c, 8] * uz
    p0, q0 = C[c, k], C[c, k + 1]
    p, q = p0 - C[c, INV11] * u - C[c, INV12] * v, q0 - C[c, INV12] * u - C[c, INV22] * v
    if p * p + q * q > most * most:
        p, q = p0 - C[c, SLIP_MASS] * u, q0 - C[c, SLIP_MASS] * v
        length = sqrt(p * p + q * q)
        if length > most:
            p, q = p * most / length, q * most / length
    C[c, k], C[c, k + 1] = p, q
    p, q = p - p0, q - q0
    _hit(
        V, M, C, c, a, b,
        p * C[c, 3] + q * C[c, 6], p * C[c, 4] + q * C[c, 7], p * C[c, 5] + q * C[c, 8],
    )  # fmt: skip


@inline
def _sweep(V, M, AB, C, h, forward):
    """Let every contact in turn do its part: what comes nearer than its gap is stopped, and it rubs."""
    count = C.shape[0]
    for k in range(count):
        c = k if forward else count - 1 - k
        a, b = AB[c, 0], AB[c, 1]
        ux, uy, uz = _relative(V, C, c, a, b)
        u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz + max(C[c, GAP], 0.0) / h
        before = C[c, IMPULSE]
        p = max(0.0, before - C[c, MASS] * u)
        C[c, IMPULSE] = p
        p -= before
        if p != 0.0:
            _hit(V, M, C, c, a, b, p * C[c, 0], p * C[c, 1], p * C[c, 2])
        if C[c, IMPULSE] > 0.0 or C[c, IMPULSE + 1] != 0.0 or C[c, IMPULSE + 2] != 0.0:
            _rub(V, M, C, c, a, b, C[c, FRICTION] * C[c, IMPULSE], IMPULSE + 1)


@inline
def _part(V, W, M, AB, C, h, rate, fastest, sweeps):
    """Find the shifts W h that take away the overlaps that the velocities leave; they never become velocities."""
    count = C.shape[0]
    W[:] = 0.0
    for c in range(count):
        ux, uy, uz = _relative(V, C, c, AB[c, 0], AB[c, 1])
        gap = C[c, GAP] / h + C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
        C[c, WANTED] = gap if gap > 0.0 else max(rate * gap, -fastest)
        C[c, SHIFT] = 0.0
    for s in range(sweeps):
        for k in range(count):
            c = k if s % 2 == 0 else count - 1 - k
            a, b = AB[c, 0], AB[c, 1]
            ux, uy, uz = _relative(W, C, c, a, b)
            u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz + C[c, WANTED]
            before = C[c, SHIFT]
            p = max(0.0, before - C[c, MASS] * u)
            C[c, SHIFT] = p
            p -= before
            if p != 0.0:
                _hit(W, M, C, c, a, b, p * C[c, 0], p * C[c, 1], p * C[c, 2])


@inline
def _bounce_speed(A, V, C, c, a, b, h, slow):
    """Return the speed with which a contact must part now, or 0 if its pieces do not hit each other.

    The hit is where the gap closes: there the speed is that of the fall, and the speed given back is that which,
    from the present height, leads to the same top as from there.
    """
    ux, uy, uz = _relative(V, C, c, a, b)
    u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
    pull = 0.0
    for d in range(3):
        pull -= C[c, d] * (A[a, d] - A[b, d])
    gap = C[c, GAP]
    if u > -slow or gap + h * (u - h * pull) >= 0.0:
        return 0.0
    e = C[c, RESTITUTION]
    height = max(gap, 0.0)
    return sqrt(max(0.0, e * e * (u * u + 2.0 * pull * height) - 2.0 * pull * height))


@inline
def _hits(V, M, A, AB, C, first, h, slow, speeds, sums):
    """Hand on hits from pair to pair until nothing comes nearer faster than `slow` (sequential impacts).

    All contacts of one pair take part in its hit together: they are swept until each parts as it must.
    """
    for _ in range(_ROUNDS):
        quiet = True
        for p in range(first.shape[0] - 1):
            start, end = first[p], first[p + 1]
            if C[start, RESTITUTION] == 0.0:
                continue
            a, b = AB[start, 0], AB[start, 1]
            most = 0.0
            for c in range(start, end):
                speeds[c - start] = _bounce_speed(A, V, C, c, a, b, h, slow)
                most = max(most, speeds[c - start])
                sums[c - start] = 0.0
                C[c, WANTED] = C[c, SHIFT] = 0.0
            if most == 0.0:
                continue
            quiet = False
            for _sweeps in range(1 if end == start + 1 else 12):
                for c in range(start, end):
                    if speeds[c - start] == 0.0:
                        continue
                    ux, uy, uz = _relative(V, C, c, a, b)
                    u = C[c, 0] * ux + C[c, 1] * uy + C[c, 2] * uz
                    new = max(0.0, sums[c - start] - C[c, MASS] * (u - speeds[c - start]))
                    s = new - sums[c - start]
                    sums[c - start] = new
                    _hit(V, M, C, c, a, b, s * C[c, 0], s * C[c, 1], s * C[c, 2])
                    _rub(V, M, C, c, a, b, C[c, FRICTION] * new, WANTED)
        if quiet:
            return


@inline
def _pulls(X, R, V, M, pulled, P, mine, h):
    """Let springs with dampers draw points of pieces to targets, implicitly (P: point, target, stiffness, damping)."""
    for s in range(pulled.shape[0]):
        i = pulled[s]
        rx, ry, rz = _turned(R, i, P, s, 0)
        k, d = P[s, 6], P[s, 7]
        if not mine[i] & 1 or k == 0.0:
            continue
        wx, wy, wz = _cross(V[i, 3], V[i, 4], V[i, 5], rx, ry, rz)
        # one over the effective mass, the same in all directions: the largest there is
        lever = rx * rx + ry * ry + rz * rz
        soft = M[i, 0] + lever * max(M[i, 1], max(M[i, 2], M[i, 3]))
        scale = h / (1.0 + soft * h * (d + h * k))
        fx = scale * (k * (P[s, 3] - X[i, 0] - rx - h * (V[i, 0] + wx)) - d * (V[i, 0] + wx))
        fy = scale * (k * (P[s, 4] - X[i, 1] - ry - h * (V[i, 1] + wy)) - d * (V[i, 1] + wy))
        fz = scale * (k * (P[s, 5] - X[i, 2] - rz - h * (V[i, 2] + wz)) - d * (V[i, 2] + wz))
        P[s, 8], P[s, 9], P[s, 10] = fx / h, fy / h, fz / h
        m = M[i, 0]
        V[i, 0], V[i, 1], V[i, 2] = V[i, 0] + m * fx, V[i, 1] + m * fy, V[i, 2] + m * fz
        sx, sy, sz = _cross(rx, ry, rz, fx, fy, fz)
        sx, sy, sz = _spun(M, i, sx, sy, sz)
        V[i, 3], V[i, 4], V[i, 5] = V[i, 3] + sx, V[i, 4] + sy, V[i, 5] + sz


@inline
def _forces(V, A, mine, h):
    """Let gravity and the given forces act: A [n, 6] are accelerations."""
    for i in range(V.shape[0]):
        if mine[i] & 1:
            for d in range(6):
                V[i, d] += h * A[i, d]


@inline
def _matrix(Q, R, i):
    w, x, y, z = Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3]
    R[i, 0], R[i, 1], R[i, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    R[i, 3], R[i, 4], R[i, 5] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    R[i, 6], R[i, 7], R[i, 8] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@inline
def _inertia(R, M, J, i):
    """Write the inverse inertia of piece i in world axes."""
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
def _spin_by(w, x, y, z, sx, sy, sz):
    """Return a quaternion turned by the rotation vector s, of length 1."""
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
def _slower(w, x, y, z, J, i, lx, ly, lz):
    """Return the angular velocity of piece i with angular momentum l at the attitude (w, x, y, z)."""
    # into own axes: rotate by the conjugate
    tx, ty, tz = 2 * (lz * y - ly * z), 2 * (lx * z - lz * x), 2 * (ly * x - lx * y)
    ox = lx - w * tx + (tz * y - ty * z)
    oy = ly - w * ty + (tx * z - tz * x)
    oz = lz - w * tz + (ty * x - tx * y)
    ox, oy, oz = ox / J[i, 0], oy / J[i, 1], oz / J[i, 2]
    tx, ty, tz = 2 * (y * oz - z * oy), 2 * (z * ox - x * oz), 2 * (x * oy - y * ox)
    return ox + w * tx + (y * tz - z * ty), oy + w * ty + (z * tx - x * tz), oz + w * tz + (x * ty - y * tx)


@inline
def _turn(Q, R, V, M, J, i, h):
    """Turn piece i for a time h with its angular momentum kept to the last digit (implicit midpoint).

    Its energy lies between what the momentum makes with the largest and the smallest inertia, whatever h is: a fast
    top cannot blow up.
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
            mw, mx, my, mz = _spin_by(w, x, y, z, 0.5 * h * wx, 0.5 * h * wy, 0.5 * h * wz)
            wx, wy, wz = _slower(mw, mx, my, mz, J, i, lx, ly, lz)
        w, x, y, z = _spin_by(w, x, y, z, h * wx, h * wy, h * wz)
        V[i, 3], V[i, 4], V[i, 5] = _slower(w, x, y, z, J, i, lx, ly, lz)
    else:
        w, x, y, z = _spin_by(w, x, y, z, h * wx, h * wy, h * wz)
    Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3] = w, x, y, z
    _matrix(Q, R, i)


@inline
def _move(X, Q, R, V, W, M, J, A, AB, C, mine, h, free):
    """Move pieces with their velocities and shifts; those that nothing presses on fly along exact parabolas."""
    for i in range(X.shape[0]):
        free[i] = mine[i] == FREE
    for c in range(C.shape[0]):
        if C[c, IMPULSE] > 0.0:
            free[AB[c, 0]] = free[AB[c, 1]] = False
    for i in range(X.shape[0]):
        if mine[i] == NOT_MINE:
            continue
        back = 0.5 * h * h if free[i] else 0.0
        for d in range(3):
            X[i, d] += h * (V[i, d] + W[i, d]) - back * A[i, d]
        if V[i, 3] != 0.0 or V[i, 4] != 0.0 or V[i, 5] != 0.0:
            _turn(Q, R, V, M, J, i, h)
            if M[i, 0] > 0.0:
                _inertia(R, M, J, i)
        if W[i, 3] != 0.0 or W[i, 4] != 0.0 or W[i, 5] != 0.0:
            Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3] = _spin_by(
                Q[i, 0], Q[i, 1], Q[i, 2], Q[i, 3], h * W[i, 3], h * W[i, 4], h * W[i, 5]
            )
            _matrix(Q, R, i)
            _inertia(R, M, J, i)


@kernel
def advance(
    X, Q, R, V, W, M, J, A, AB, C, first, pulled, P, mine, h, steps, sweeps, rate, fastest, slow, bouncy, free
):
    """Do a step in `steps` small ones of length h [s].

    Args:
        X: See the top of the file for X, Q, R, V, M, J, AB, C.
        Q: See X.
        R: See X.
        V: See X.
        W: Scratch, like V.
        M: See X.
        J: See X.
        A: Accelerations and angular accelerations by forces, shape [n, 6].
        AB: See X.
        C: See X.
        first: First contact of each pair, and the end.
        pulled: Pieces that springs pull at [s].
        P: The springs [s, 11]: point in own axes, target, stiffness, damping, force (written).
        mine: What to do with each piece: NOT_MINE, FREE or LED, shape [n].
        h: Length of a small step [s].
        steps: Their number.
        sweeps: Sweeps with the push out of overlaps in each.
        rate: Part of an overlap that is to go in a small step.
        fastest: Largest speed with which overlaps go [m/s].
        slow: Speed below which nothing bounces [m/s].
        bouncy: Whether any contact has a restitution.
        free: Scratch, one flag a piece.
    """
    speeds, sums = np.empty(16), np.empty(16)
    for _ in range(steps):
        _prepare(X, R, M, AB, C)
        if bouncy:
            _hits(V, M, A, AB, C, first, h, slow, speeds, sums)
        _forces(V, A, mine, h)
        _pulls(X, R, V, M, pulled, P, mine, h)
        _warm(V, M, AB, C)
        for k in range(sweeps):
            _sweep(V, M, AB, C, h, k % 2 == 0)
        _part(V, W, M, AB, C, h, rate, fastest, 1)
        _move(X, Q, R, V, W, M, J, A, AB, C, mine, h, free)


@kernel
def begin_small(X, R, V, M, A, AB, C, first, pulled, P, mine, h, slow, bouncy):
    """Begin a small step of a direct solve: contacts at their places, hits, and the forces; see `advance`."""
    _prepare(X, R, M, AB, C)
    if bouncy:
        _hits(V, M, A, AB, C, first, h, slow, np.empty(16), np.empty(16))
    _forces(V, A, mine, h)
    _pulls(X, R, V, M, pulled, P, mine, h)


@kernel
def end_small(X, Q, R, V, W, M, J, A, AB, C, mine, h, free):
    """End a small step of a direct solve: all move; see `advance`."""
    _move(X, Q, R, V, W, M, J, A, AB, C, mine, h, free)


@kernel
def try_move(X, Q, R, V, M, J, mine, h, X2, Q2, R2, V2):
    """Write where pieces would be after a time h with velocities V."""
    for i in range(X.shape[0]):
        for d in range(3):
            X2[i, d] = X[i, d]
        for d in range(9):
            R2[i, d] = R[i, d]
        if mine[i] == NOT_MINE:
            continue
        for d in range(3):
            X2[i, d] += h * V[i, d]
            V2[i, 3 + d] = V[i, 3 + d]
        for d in range(4):
            Q2[i, d] = Q[i, d]
        _turn(Q2, R2, V2, M, J, i, h)
