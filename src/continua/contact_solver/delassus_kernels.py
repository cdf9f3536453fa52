"""Compiled functions of the contact solve in impulses: Delassus blocks and nonlinear Gauss-Seidel with friction.

The Delassus operator is the sum of one dense matrix per body, over the contacts in which the body takes part. Matrices
stand one after the other in a flat array: that of body b, of order 3 m, begins at `start[b]`, and the impulses on its
contacts begin at 3 `first[b]` in arrays over all pairs of bodies and contacts ("members").
"""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel


@kernel
def compliance_of_contacts(ptr, row, block, low, high, node_index, compliance, scale, members, out):
    """Set `out` [3 m, 3 m] to scale G C G^T of the contacts `members` of one body.

    Args:
        ptr: First entries of the contacts, see `ConstraintRows`.
        row: Rows of V.
        block: Blocks of G.
        low: First row of the body.
        high: End of its rows.
        node_index: Index in `compliance` of each of its rows, shape [n].
        compliance: C, the responses of the body's nodes to unit loads, shape [3 k, 3 k].
        scale: Factor of C.
        members: The contacts, shape [m].
        out: The result.
    """
    size = compliance.shape[0]
    half = np.zeros((3, size))  # G C of one contact
    for a in range(members.shape[0]):
        for i in range(3):
            for k in range(size):
                half[i, k] = 0.0
        c = members[a]
        for e in range(ptr[c], ptr[c + 1]):
            if row[e] < low or row[e] >= high:
                continue
            node = 3 * node_index[row[e] - low]
            for i in range(3):
                g0, g1, g2 = block[e, 3 * i], block[e, 3 * i + 1], block[e, 3 * i + 2]
                for k in range(size):
                    half[i, k] += (
                        g0 * compliance[node, k] + g1 * compliance[node + 1, k] + g2 * compliance[node + 2, k]
                    )
        for b in range(members.shape[0]):
            d = members[b]
            for i in range(3):
                out[3 * a + i, 3 * b] = 0.0
                out[3 * a + i, 3 * b + 1] = 0.0
                out[3 * a + i, 3 * b + 2] = 0.0
            for e in range(ptr[d], ptr[d + 1]):
                if row[e] < low or row[e] >= high:
                    continue
                node = 3 * node_index[row[e] - low]
                for j in range(3):
                    g0, g1, g2 = block[e, 3 * j], block[e, 3 * j + 1], block[e, 3 * j + 2]
                    for i in range(3):
                        out[3 * a + i, 3 * b + j] += scale * (
                            g0 * half[i, node] + g1 * half[i, node + 1] + g2 * half[i, node + 2]
                        )


@inline
def _solve_3x3(w, v0, v1, v2):
    """Return -W^-1 v for a symmetric W."""
    a, b, c, d, e, f = w[0], w[1], w[2], w[4], w[5], w[8]
    c00, c01, c02 = d * f - e * e, c * e - b * f, b * e - c * d
    det = a * c00 + b * c01 + c * c02
    if not det > 0.0:
        return 0.0, 0.0, 0.0
    s = -1.0 / det
    return (
        s * (c00 * v0 + c01 * v1 + c02 * v2),
        s * (c01 * v0 + (a * f - c * c) * v1 + (b * c - a * e) * v2),
        s * (c02 * v0 + (b * c - a * e) * v1 + (a * d - b * b) * v2),
    )


@inline
def _solve_contact(w, v0, v1, v2, mu, p1, p2):
    """Return the impulse of one contact with Coulomb's law, given its Delassus block and its velocity without impulse.

    `v0` includes the bound. `p1` and `p2` are a guess of the friction impulse.
    """
    if v0 >= 0.0 or not w[0] > 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0 or not w[4] + w[8] > 0.0:
        return -v0 / w[0], 0.0, 0.0
    x0, x1, x2 = _solve_3x3(w, v0, v1, v2)
    if x0 > 0.0 and x1 * x1 + x2 * x2 <= mu * mu * x0 * x0:
        return x0, x1, x2
    # It slides: normal and tangential impulses in turn.
    middle, spread = 0.5 * (w[4] + w[8]), 0.5 * (w[4] - w[8])
    rate = 1.0 / (middle + np.sqrt(spread * spread + w[5] * w[5]))
    q0 = 0.0
    for _ in range(60):
        q0 = max(0.0, -(v0 + w[1] * p1 + w[2] * p2) / w[0])
        y1 = p1 - rate * (v1 + w[1] * q0 + w[4] * p1 + w[5] * p2)
        y2 = p2 - rate * (v2 + w[2] * q0 + w[5] * p1 + w[8] * p2)
        size = np.sqrt(y1 * y1 + y2 * y2)
        limit = mu * q0
        if size > limit:
            y1 *= limit / size
            y2 *= limit / size
        change = abs(y1 - p1) + abs(y2 - p2)
        p1, p2 = y1, y2
        if change <= 1e-14 * (limit + size):
            break
    return q0, p1, p2


HISTORY = 5
"""Sweeps whose changes are combined to accelerate Gauss-Seidel."""

PROXIMAL = 1e-3
"""Part of a contact's own compliance that keeps its impulse near that of the start. It makes impulses of redundant
contacts unique; at the solution, where impulses stay as they are, it has no effect."""


@inline
def _solve_small(matrix, rhs, n):
    """Solve a symmetric positive definite system of up to HISTORY equations in place, by elimination."""
    for k in range(n):
        for i in range(k + 1, n):
            f = matrix[i, k] / matrix[k, k]
            for j in range(k, n):
                matrix[i, j] -= f * matrix[k, j]
            rhs[i] -= f * rhs[k]
    for back in range(n):
        k = n - 1 - back
        for j in range(k + 1, n):
            rhs[k] -= matrix[k, j] * rhs[j]
        rhs[k] /= matrix[k, k]


@inline
def _accelerate(impulse, change, weight, friction, states, changes, kept, newest, matrix, rhs):
    """Replace the impulses after a sweep by a combination with those of earlier sweeps (Anderson 1965).

    `states` and `changes` hold the last `kept` sweeps in turn, the newest of them at `newest`. The combination has the
    smallest change, as far as changes are linear; the result is put back into the friction cones.
    """
    count = impulse.shape[0]
    for i in range(kept):
        for j in range(i + 1):
            total = 0.0
            for c in range(count):
                for k in range(3):
                    total += weight[c] * (changes[i, c, k] - change[c, k]) * (changes[j, c, k] - change[c, k])
            matrix[i, j] = total
            matrix[j, i] = total
    for i in range(kept):
        total = 0.0
        for c in range(count):
            for k in range(3):
                total += weight[c] * (changes[i, c, k] - change[c, k]) * change[c, k]
        rhs[i] = -total
    largest = 0.0
    for i in range(kept):
        largest = max(largest, matrix[i, i])
    for i in range(kept):
        matrix[i, i] += 1e-9 * largest + 1e-300
    _solve_small(matrix, rhs, kept)
    for c in range(count):
        for k in range(3):
            value = impulse[c, k]
            for i in range(kept):
                value += rhs[i] * (states[i, c, k] - impulse[c, k])
            states[newest, c, k] = impulse[c, k]  # the slot of the oldest, which has been used
            impulse[c, k] = value
        impulse[c, 0] = max(impulse[c, 0], 0.0)
        limit = friction[c] * impulse[c, 0]
        size = np.sqrt(impulse[c, 1] ** 2 + impulse[c, 2] ** 2)
        if size > limit:
            impulse[c, 1] *= limit / size
            impulse[c, 2] *= limit / size


@inline
def _change_of_velocity(slots, first, start, order, delassus, change):
    """Return how the changes of all impulses change the relative velocity of a contact with these places."""
    d0, d1, d2 = 0.0, 0.0, 0.0
    for side in range(2):
        k = slots[side]
        if k < 0:
            continue
        b = order[k]
        size = 3 * (first[b + 1] - first[b])
        at = start[b] + 3 * (k - first[b]) * size
        base = 3 * first[b]
        for j in range(size):
            d = change[base + j]
            d0 += delassus[at + j] * d
            d1 += delassus[at + size + j] * d
            d2 += delassus[at + 2 * size + j] * d
    return d0, d1, d2


@kernel
def gauss_seidel(
    u, bound, friction, slot, first, start, order, delassus, diagonal, tolerance, max_sweeps, impulse, work
):  # fmt: skip
    """Find impulses of contacts with Coulomb's law by Gauss-Seidel sweeps with Anderson acceleration.

    Args:
        u: Relative velocities at the impulses of the start [c, 3].
        bound: b in u_n + b >= 0, shape [c].
        friction: Coulomb's coefficients [c].
        slot: Places of each contact in its bodies' lists, counted over all members; -1 is none; shape [c, 2].
        first: First member of each body, and the end, shape [bodies + 1].
        start: First entry of each body's matrix, shape [bodies].
        order: The body of each member, shape [members].
        delassus: The matrices.
        diagonal: Diagonal blocks of the whole operator [c, 9].
        tolerance: Change of a relative velocity in a sweep [m/s] at which to stop.
        max_sweeps: Most sweeps.
        impulse: Impulses, changed in place [c, 3].
        work: Impulses minus those of the start, for every member; zeros at the start [members, 3].

    Returns:
        The number of sweeps, and the change in the last [m/s].
    """
    count = u.shape[0]
    flat = work.reshape(-1)
    initial = impulse.copy()
    before = impulse.copy()
    change = np.zeros((count, 3))
    states, changes = np.zeros((HISTORY, count, 3)), np.zeros((HISTORY, count, 3))
    matrix, rhs = np.zeros((HISTORY, HISTORY)), np.zeros(HISTORY)
    weight = np.zeros(count)
    for c in range(count):
        weight[c] = diagonal[c, 0] + diagonal[c, 4] + diagonal[c, 8]
    w = np.zeros(9)
    open_since = np.zeros(count, np.int64)
    kept = 0
    written = 0
    least = np.inf
    largest = 0.0
    sweep = 0
    while sweep < max_sweeps:
        largest = 0.0
        for c in range(count):
            if impulse[c, 0] == 0.0 and open_since[c] > 0 and sweep % 8 != 0:
                continue
            d0, d1, d2 = _change_of_velocity(slot[c], first, start, order, delassus, flat)
            u0, u1, u2 = u[c, 0] + d0, u[c, 1] + d1, u[c, 2] + d2
            p0, p1, p2 = impulse[c, 0], impulse[c, 1], impulse[c, 2]
            for k in range(9):
                w[k] = (1.0 + PROXIMAL) * diagonal[c, k]
            # velocity without this impulse, with the proximal term
            a0 = p0 + PROXIMAL * initial[c, 0]
            a1 = p1 + PROXIMAL * initial[c, 1]
            a2 = p2 + PROXIMAL * initial[c, 2]
            g = diagonal[c]
            v0 = u0 + bound[c] - (g[0] * a0 + g[1] * a1 + g[2] * a2)
            v1 = u1 - (g[1] * a0 + g[4] * a1 + g[5] * a2)
            v2 = u2 - (g[2] * a0 + g[5] * a1 + g[8] * a2)
            q0, q1, q2 = _solve_contact(w, v0, v1, v2, friction[c], p1, p2)
            open_since[c] = 1 if q0 == 0.0 and p0 == 0.0 else 0
            d0, d1, d2 = q0 - p0, q1 - p1, q2 - p2
            impulse[c, 0], impulse[c, 1], impulse[c, 2] = q0, q1, q2
            for side in range(2):
                k = slot[c, side]
                if k >= 0:
                    work[k, 0] = q0 - initial[c, 0]
                    work[k, 1] = q1 - initial[c, 1]
                    work[k, 2] = q2 - initial[c, 2]
            largest = max(largest, abs(g[0] * d0 + g[1] * d1 + g[2] * d2))
            largest = max(largest, abs(g[1] * d0 + g[4] * d1 + g[5] * d2))
            largest = max(largest, abs(g[2] * d0 + g[5] * d1 + g[8] * d2))
        sweep += 1
        if largest <= tolerance or sweep == max_sweeps:
            break
        square = 0.0
        for c in range(count):
            for k in range(3):
                change[c, k] = impulse[c, k] - before[c, k]
                square += weight[c] * change[c, k] * change[c, k]
        if square > 4.0 * least:
            kept = 0  # the combination made it worse
            written = 0
        least = min(least, square)
        newest = written % HISTORY
        if kept > 0:
            _accelerate(impulse, change, weight, friction, states, changes, kept, newest, matrix, rhs)
        else:
            for c in range(count):
                for k in range(3):
                    states[newest, c, k] = impulse[c, k]
        for c in range(count):
            for k in range(3):
                changes[newest, c, k] = change[c, k]
                before[c, k] = impulse[c, k]
            for side in range(2):
                k = slot[c, side]
                if k >= 0:
                    for i in range(3):
                        work[k, i] = impulse[c, i] - initial[c, i]
        written += 1
        kept = min(kept + 1, HISTORY)
    return sweep, largest


@kernel
def predicted_change(slot, first, start, order, delassus, work, out):
    """Set out[c] to the Delassus operator times the change of the impulses, of every member in `work`."""
    flat = work.reshape(-1)
    for c in range(slot.shape[0]):
        out[c, 0], out[c, 1], out[c, 2] = _change_of_velocity(slot[c], first, start, order, delassus, flat)


@kernel
def turn_blocks(blocks, rows, columns, left, right, out):
    """Set block (a, b) of `out` to L_a B R_b^T with B the block (rows[a], columns[b]) of `blocks`.

    Args:
        blocks: A matrix of 3x3 blocks.
        rows: Its block rows, shape [k].
        columns: Its block columns, shape [m].
        left: The matrices L [k, 3, 3].
        right: The matrices R [m, 3, 3].
        out: The result [3 k, 3 m].
    """
    half = np.zeros((3, 3))
    for a in range(rows.shape[0]):
        r = 3 * rows[a]
        for b in range(columns.shape[0]):
            c = 3 * columns[b]
            for i in range(3):
                for j in range(3):
                    half[i, j] = (
                        left[a, i, 0] * blocks[r, c + j]
                        + left[a, i, 1] * blocks[r + 1, c + j]
                        + left[a, i, 2] * blocks[r + 2, c + j]
                    )
            for i in range(3):
                for j in range(3):
                    out[3 * a + i, 3 * b + j] = (
                        half[i, 0] * right[b, j, 0]
                        + half[i, 1] * right[b, j, 1]
                        + half[i, 2] * right[b, j, 2]
                    )


@kernel
def turn_matrix(indptr, indices, blocks, rotations, out):
    """Set block (i, j) of `out` to R_i^T A R_j with A the block of a sparse matrix; blocks [b, 9] by columns."""
    half = np.zeros((3, 3))
    for i in range(indptr.shape[0] - 1):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for a in range(3):
                for b in range(3):
                    half[a, b] = (
                        rotations[i, 0, a] * blocks[e, 3 * b]
                        + rotations[i, 1, a] * blocks[e, 3 * b + 1]
                        + rotations[i, 2, a] * blocks[e, 3 * b + 2]
                    )
            for a in range(3):
                for b in range(3):
                    out[e, 3 * b + a] = (
                        half[a, 0] * rotations[j, 0, b]
                        + half[a, 1] * rotations[j, 1, b]
                        + half[a, 2] * rotations[j, 2, b]
                    )


@kernel
def neighbour_moments(indptr, indices, nodes, rest, x, out):
    """Set out[k] to the sum of (x_j - x_i) (X_j - X_i)^T over the neighbours j of node i = nodes[k] in a matrix."""
    for k in range(nodes.shape[0]):
        i = nodes[k]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            for a in range(3):
                for b in range(3):
                    out[k, a, b] += (x[j, a] - x[i, a]) * (rest[j, b] - rest[i, b])


@kernel
def add_secant(matrix, members, step, response, product):
    """Correct a symmetric matrix so that it gives the true response to a step, by the BFGS formula.

    Args:
        matrix: The matrix [3 m, 3 m], changed in place.
        members: The contacts of its rows [m].
        step: The step of all contacts [c, 3].
        response: The true response of all contacts [c, 3].
        product: Work space [3 m].
    """
    m = members.shape[0]
    curvature, model = 0.0, 0.0
    for a in range(3 * m):
        total = 0.0
        for b in range(3 * m):
            total += matrix[a, b] * step[members[b // 3], b % 3]
        product[a] = total
        s = step[members[a // 3], a % 3]
        model += s * total
        curvature += s * response[members[a // 3], a % 3]
    if not (model > 0.0 and curvature > 1e-3 * model):
        return
    for a in range(3 * m):
        f = response[members[a // 3], a % 3] / curvature
        g = product[a] / model
        for b in range(3 * m):
            matrix[a, b] += f * response[members[b // 3], b % 3] - g * product[b]
