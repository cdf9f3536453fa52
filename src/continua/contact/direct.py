"""Compiled direct solve of contacts and joints of rigid pieces: augmented Lagrangian with an active set.

Unknown are the velocities V of all pieces of an island. A row asks u + b = 0, or u + b >= 0, with u = J V; its
impulse is l. With a weight rho each solve of

    (M + sum_active rho J^T J) V = M v + sum_active J^T (l - rho b) + sum_fixed J^T l,    then  l <- l - rho (u + b)

reduces what is left of the rows by about 1/rho, whatever the number of pieces, their masses and the redundancy of the
rows, so that two or three are exact. The matrix is factored once for a set of active rows. A contact is three rows:
its normal one is active while its impulse presses, its two tangents stick (active) or slip: then they are a drag
l = -k u with k = friction * l_n / |u| from the solve before, which at the end is Coulomb's friction against the slip.
"""

from __future__ import annotations

from math import sqrt

from continua.contact.block_factor import factor_in_place, find_block, solve_in_place
from continua.contact.impulses import FRICTION, GAP, IMPULSE, LEVER_A, LEVER_B
from continua.numerics import inline, kernel

__all__ = ["CONTACT", "HELD", "ROW", "contact_rows_of", "solve_rows", "take_impulses"]

HELD, CONTACT = 0, 1  # kinds of rows
ROW = 8  # columns of `row`: bias, impulse, weight, least and largest impulse, friction, state, scratch
BIAS, LAMBDA, RHO, LEAST, MOST, MU, STATE, SPARE = range(8)
DRAG, SOFT = LEAST, MOST  # of contacts: the drag of slipping tangents; one over the mass, at the normal
OFF, ON, SLIP = 0.0, 1.0, 2.0
_SWEEPS = 30
_STILL = 1e-9  # m/s: slower slip is none
_SAME = 1e-6  # relative change of a drag that needs no new solve


@inline
def _row_velocity(J, ab, m, V):
    total = 0.0
    a, b = ab[m, 0], ab[m, 1]
    for d in range(6):
        total += J[m, d] * V[a, d] + J[m, 6 + d] * V[b, d]
    return total


@inline
def _inverse_mass(M, i, J, m, k):
    """Return J_k M_i^-1 J_k^T of one side."""
    x, y, z = J[m, k + 3], J[m, k + 4], J[m, k + 5]
    sx = M[i, 1] * x + M[i, 4] * y + M[i, 5] * z
    sy = M[i, 4] * x + M[i, 2] * y + M[i, 6] * z
    sz = M[i, 5] * x + M[i, 6] * y + M[i, 3] * z
    line = J[m, k] * J[m, k] + J[m, k + 1] * J[m, k + 1] + J[m, k + 2] * J[m, k + 2]
    return M[i, 0] * line + x * sx + y * sy + z * sz


@kernel
def contact_rows_of(C, AB, numbers, h, ab, J, row):
    """Write three rows for each of the contacts `numbers` of C (see `sweeps`), at the start of the arrays."""
    for k in range(numbers.shape[0]):
        c = numbers[k]
        for t in range(3):
            m = 3 * k + t
            ab[m, 0], ab[m, 1] = AB[c, 0], AB[c, 1]
            x, y, z = C[c, 3 * t], C[c, 3 * t + 1], C[c, 3 * t + 2]
            J[m, 0], J[m, 1], J[m, 2] = x, y, z
            J[m, 6], J[m, 7], J[m, 8] = -x, -y, -z
            rx, ry, rz = C[c, LEVER_A], C[c, LEVER_A + 1], C[c, LEVER_A + 2]
            J[m, 3], J[m, 4], J[m, 5] = ry * z - rz * y, rz * x - rx * z, rx * y - ry * x
            rx, ry, rz = C[c, LEVER_B], C[c, LEVER_B + 1], C[c, LEVER_B + 2]
            J[m, 9], J[m, 10], J[m, 11] = rz * y - ry * z, rx * z - rz * x, ry * x - rx * y
            row[m, BIAS] = max(C[c, GAP], 0.0) / h if t == 0 else 0.0
            row[m, LAMBDA] = C[c, IMPULSE + t]
            row[m, MU] = C[c, FRICTION]
            row[m, LEAST], row[m, MOST] = 0.0, 0.0


@kernel
def take_impulses(C, numbers, row):
    """Write the impulses of rows back to the contacts."""
    for k in range(numbers.shape[0]):
        for t in range(3):
            C[numbers[k], IMPULSE + t] = row[3 * k + t, LAMBDA]


@inline
def _add_block(L, at, J, m, p, q, rho, turned):
    for i in range(6):
        for j in range(6):
            L[at, 6 * i + j] += rho * (J[m, q + i] * J[m, p + j] if turned else J[m, p + i] * J[m, q + j])


@inline
def _assemble(R, M, moment, node, pieces, ptr, pattern, J, ab, row, L):
    """Put M + sum_active rho J^T J into the blocks."""
    L[:] = 0.0
    for k in range(pieces.shape[0]):
        i = pieces[k]
        at = ptr[node[i]]
        mass = 1.0 / M[i, 0]
        for d in range(3):
            L[at, 7 * d] = mass
        for r in range(3):
            for c in range(3):
                total = 0.0
                for m in range(3):
                    total += R[i, 3 * r + m] * moment[i, m] * R[i, 3 * c + m]
                L[at, 6 * (3 + r) + 3 + c] = total
    for m in range(row.shape[0]):
        if row[m, STATE] == OFF:
            continue
        rho = row[m, RHO] if row[m, STATE] == ON else row[m, DRAG]
        a, b = node[ab[m, 0]], node[ab[m, 1]]
        if a >= 0:
            _add_block(L, ptr[a], J, m, 0, 0, rho, False)
        if b >= 0:
            _add_block(L, ptr[b], J, m, 6, 6, rho, False)
        if a >= 0 and b >= 0:
            if a > b:
                _add_block(L, find_block(ptr, pattern, a, b), J, m, 0, 6, rho, False)
            else:
                _add_block(L, find_block(ptr, pattern, b, a), J, m, 0, 6, rho, True)


@inline
def _side(row, m, excess):
    """Return whether the tangents of a pressing contact stick or slip.

    What began to press in this solve slips as it does. What slips may stick again, once in a solve, if the pair's
    impulses stay so far below their cones that they would stop it.
    """
    u, v = row[m + 1, SPARE], row[m + 2, SPARE]
    if row[m + 1, STATE] == OFF:
        return SLIP
    if row[m + 1, STATE] == SLIP:
        if row[m + 2, SOFT] == 0.0 and sqrt(u * u + v * v) + excess * row[m, SOFT] <= 0.0:
            row[m + 2, SOFT] = 1.0
            return ON
        return SLIP
    p, q = row[m + 1, LAMBDA], row[m + 2, LAMBDA]
    most = row[m, MU] * row[m, LAMBDA]
    return SLIP if p * p + q * q > most * most * (1.0 + 1e-9) else ON


@inline
def _slips_at_first(row, ab, M, start, end):
    """Guess whether the contacts of a pair slip: whether their cones could hold what moves them."""
    could, speed, soft = 0.0, 0.0, M[ab[3 * start, 0], 0] + M[ab[3 * start, 1], 0]
    for k in range(start, end):
        m = 3 * k
        press = row[m, LAMBDA] if row[m, LAMBDA] > 0.0 else max(-row[m, SPARE], 0.0) / (soft * (end - start))
        could += row[m, MU] * press
        u, v = row[m + 1, SPARE], row[m + 2, SPARE]
        speed = max(speed, sqrt(u * u + v * v))
    return speed > 1.01 * could * soft and speed > _STILL


@inline
def _excess(row, start, end):
    """Return by how much the impulses across the normals of a pair's slipping contacts exceed their cones in all."""
    total = 0.0
    for k in range(start, end):
        m = 3 * k
        p, q = row[m + 1, LAMBDA], row[m + 2, LAMBDA]
        size, most = sqrt(p * p + q * q), row[m, MU] * max(row[m, LAMBDA], 0.0)
        if row[m, STATE] == ON and (row[m + 1, STATE] == SLIP or size > most):
            total += size - most
    return total


@inline
def _renew_drag(row, m, excess):
    """Work out the drag of a slipping contact anew; return whether it is another one.

    What the pair's impulses are above their cones will make it slip faster, what they are below slower.
    """
    most = row[m, MU] * max(row[m, LAMBDA], 0.0)
    u, v = row[m + 1, SPARE], row[m + 2, SPARE]
    speed = sqrt(u * u + v * v)
    new = speed + excess * row[m, SOFT]
    if row[m + 1, STATE] == SLIP:
        new = max(new, 0.2 * speed)
    new = most / max(new, _STILL)
    if row[m + 1, STATE] == SLIP and abs(new - row[m + 1, DRAG]) <= _SAME * new:
        return False
    row[m + 1, DRAG] = row[m + 2, DRAG] = new
    return True


@inline
def _choose(row, ab, M, contacts, tolerance, first):
    """Decide which rows act; return whether that changed.

    Args:
        row: The rows; SPARE holds u + b.
        ab: Their pieces.
        M: See `sweeps`.
        contacts: Number of contacts, three rows each, before the rows of joints.
        tolerance: Speed below which nothing comes nearer [m/s].
        first: Whether only the impulses of the last step are known, not velocities.
    """
    changed = False
    start, end, excess, slips = 0, 0, 0.0, False
    for k in range(contacts):
        m = 3 * k
        if k == end:  # the next pair
            start = k
            while end < contacts and ab[3 * end, 0] == ab[m, 0] and ab[3 * end, 1] == ab[m, 1]:
                end += 1
            excess = 0.0 if first else _excess(row, start, end)
            slips = first and _slips_at_first(row, ab, M, start, end)
        # what just touches neither comes nor goes: a little speed decides
        new = ON if row[m, LAMBDA] > 0.0 or row[m, SPARE] < -tolerance else OFF
        if new != row[m, STATE]:
            row[m, STATE] = new
            changed = True
        side = OFF
        if new == ON and row[m, MU] > 0.0:
            side = (SLIP if slips else ON) if first else _side(row, m, excess)
            if side == SLIP and _renew_drag(row, m, excess):
                changed = True
        if side != row[m + 1, STATE]:
            row[m + 1, STATE] = row[m + 2, STATE] = side
            changed = True
        if side == OFF:
            row[m + 1, LAMBDA] = row[m + 2, LAMBDA] = 0.0
        if new == OFF:
            row[m, LAMBDA] = 0.0
    for m in range(3 * contacts, row.shape[0]):
        press = row[m, LAMBDA] if row[m, STATE] == ON else row[m, LAMBDA] - row[m, RHO] * row[m, SPARE]
        new = ON if row[m, LEAST] < press < row[m, MOST] else OFF
        if new != row[m, STATE]:
            row[m, STATE] = new
            changed = True
        if new == OFF:
            row[m, LAMBDA] = row[m, LEAST] if press <= row[m, LEAST] else row[m, MOST]
    return changed


@inline
def _push(V, M, i, J, m, k, amount):
    """Add an impulse of row m to piece i, whose part of the Jacobian starts at column k."""
    x, y, z = amount * J[m, k + 3], amount * J[m, k + 4], amount * J[m, k + 5]
    for d in range(3):
        V[i, d] += M[i, 0] * amount * J[m, k + d]
    V[i, 3] += M[i, 1] * x + M[i, 4] * y + M[i, 5] * z
    V[i, 4] += M[i, 4] * x + M[i, 2] * y + M[i, 6] * z
    V[i, 5] += M[i, 5] * x + M[i, 6] * y + M[i, 3] * z


@inline
def _velocities(V0, V, M, node, pieces, J, ab, row):
    """Write the velocities that the present impulses make: to the last digit those of Newton's law."""
    for k in range(pieces.shape[0]):
        for d in range(6):
            V[pieces[k], d] = V0[pieces[k], d]
    for m in range(row.shape[0]):
        amount = row[m, LAMBDA]
        if amount != 0.0:
            if node[ab[m, 0]] >= 0:
                _push(V, M, ab[m, 0], J, m, 0, amount)
            if node[ab[m, 1]] >= 0:
                _push(V, M, ab[m, 1], J, m, 6, amount)


@inline
def _improve(ptr, pattern, L, node, J, ab, row, x):
    """Change the impulses by what the factored matrix says about the speeds that are left in SPARE."""
    x[:] = 0.0
    for m in range(row.shape[0]):
        if row[m, STATE] == OFF:
            continue
        push = -row[m, RHO] * row[m, SPARE]
        if row[m, STATE] == SLIP:
            push = -row[m, DRAG] * row[m, SPARE] - row[m, LAMBDA]
        a, b = node[ab[m, 0]], node[ab[m, 1]]
        if a >= 0:
            for d in range(6):
                x[a, d] += push * J[m, d]
        if b >= 0:
            for d in range(6):
                x[b, d] += push * J[m, 6 + d]
    solve_in_place(ptr, pattern, L, x)
    for m in range(row.shape[0]):
        if row[m, STATE] == OFF:
            continue
        u = row[m, SPARE]
        a, b = node[ab[m, 0]], node[ab[m, 1]]
        if a >= 0:
            for d in range(6):
                u += x[a, d] * J[m, d]
        if b >= 0:
            for d in range(6):
                u += x[b, d] * J[m, 6 + d]
        if row[m, STATE] == SLIP:
            row[m, LAMBDA] = -row[m, DRAG] * u
        else:
            row[m, LAMBDA] -= row[m, RHO] * u


@inline
def _change(V, M, node, J, ab, row, m, new):
    """Give row m another impulse, with what that does to the velocities."""
    amount = new - row[m, LAMBDA]
    row[m, LAMBDA] = new
    if amount != 0.0:
        if node[ab[m, 0]] >= 0:
            _push(V, M, ab[m, 0], J, m, 0, amount)
        if node[ab[m, 1]] >= 0:
            _push(V, M, ab[m, 1], J, m, 6, amount)


@inline
def _sweep_rows(V, M, node, J, ab, row, contacts, stiff, sweeps):
    """Let every row in turn do its part, many times: projected Gauss-Seidel, for sets that do not settle."""
    for _ in range(sweeps):
        for k in range(contacts):
            m = 3 * k
            u = _row_velocity(J, ab, m, V) + row[m, BIAS]
            _change(V, M, node, J, ab, row, m, max(0.0, row[m, LAMBDA] - row[m, RHO] / stiff * u))
            most = row[m, MU] * row[m, LAMBDA]
            step = min(row[m + 1, RHO], row[m + 2, RHO]) / stiff
            p = row[m + 1, LAMBDA] - step * _row_velocity(J, ab, m + 1, V)
            q = row[m + 2, LAMBDA] - step * _row_velocity(J, ab, m + 2, V)
            size = sqrt(p * p + q * q)
            if size > most:
                p, q = p * most / size, q * most / size
            _change(V, M, node, J, ab, row, m + 1, p)
            _change(V, M, node, J, ab, row, m + 2, q)
        for m in range(3 * contacts, row.shape[0]):
            u = _row_velocity(J, ab, m, V) + row[m, BIAS]
            new = row[m, LAMBDA] - row[m, RHO] / stiff * u
            _change(V, M, node, J, ab, row, m, min(max(new, row[m, LEAST]), row[m, MOST]))


@inline
def _into_cones(row, contacts):
    """Put impulses that lie outside of their cones onto them."""
    for k in range(contacts):
        m = 3 * k
        row[m, LAMBDA] = max(row[m, LAMBDA], 0.0)
        p, q, most = row[m + 1, LAMBDA], row[m + 2, LAMBDA], row[m, MU] * row[m, LAMBDA]
        size = sqrt(p * p + q * q)
        if size > most:
            row[m + 1, LAMBDA], row[m + 2, LAMBDA] = p * most / size, q * most / size


@kernel
def solve_rows(
    V0, V, R, M, moment, node, pieces, ptr, pattern, L, J, ab, row, contacts, stiff, tolerance, most, fresh, x
):  # fmt: skip
    """Find the velocities of an island's pieces and the impulses of its rows; return the number of solves.

    Args:
        V0: Velocities without the rows' impulses, shape [n, 6].
        V: Velocities of all pieces, shape [n, 6]; those of the island are written.
        R: Rotations [n, 9].
        M: See `sweeps`.
        moment: Principal moments of inertia [n, 3].
        node: Place of each piece in the factor, -1 for what is not in it [n].
        pieces: Pieces in it.
        ptr: See `block_factor`, as pattern.
        pattern: See ptr.
        L: The factor; kept from the last call unless `fresh`.
        J: Jacobians of the rows on both pieces [m, 12].
        ab: The pieces of each row [m, 2].
        row: The rows [m, 8], see the names of the columns; impulses in and out.
        contacts: Number of contacts, three rows each; they come first.
        stiff: Weight of a row relative to its own mass.
        tolerance: Speed that may be left of active rows [m/s].
        most: Most solves.
        fresh: Whether the matrix must be made anew; otherwise only biases have changed since the last call.
        x: Scratch [pieces, 6].
    """
    start = row[:, LAMBDA].copy()
    if fresh:
        for m in range(row.shape[0]):
            weight = 0.0
            if node[ab[m, 0]] >= 0:
                weight += _inverse_mass(M, ab[m, 0], J, m, 0)
            if node[ab[m, 1]] >= 0:
                weight += _inverse_mass(M, ab[m, 1], J, m, 6)
            row[m, RHO] = stiff / max(weight, 1e-300)
            row[m, SPARE] = _row_velocity(J, ab, m, V0) + row[m, BIAS]
            row[m, STATE] = -1.0
        for k in range(contacts):
            row[3 * k, SOFT] = M[ab[3 * k, 0], 0] + M[ab[3 * k, 1], 0]
            row[3 * k + 2, SOFT] = 0.0
        _choose(row, ab, M, contacts, tolerance, True)
        _assemble(R, M, moment, node, pieces, ptr, pattern, J, ab, row, L)
        factor_in_place(ptr, pattern, L)
    for solve in range(most):
        _velocities(V0, V, M, node, pieces, J, ab, row)
        left = 0.0
        for m in range(row.shape[0]):
            row[m, SPARE] = _row_velocity(J, ab, m, V) + row[m, BIAS]
            if row[m, STATE] == ON:
                left = max(left, abs(row[m, SPARE]))
        if solve > 0 or not fresh:
            changed = solve > 0 and _choose(row, ab, M, contacts, tolerance, False)
            if not changed and left <= tolerance:
                return solve
            if changed:
                _velocities(V0, V, M, node, pieces, J, ab, row)
                for m in range(row.shape[0]):
                    row[m, SPARE] = _row_velocity(J, ab, m, V) + row[m, BIAS]
                _assemble(R, M, moment, node, pieces, ptr, pattern, J, ab, row, L)
                factor_in_place(ptr, pattern, L)
        _improve(ptr, pattern, L, node, J, ab, row, x)
    # the set of active rows does not settle: go back, and let sweeps find a way
    row[:, LAMBDA] = start
    _into_cones(row, contacts)
    _velocities(V0, V, M, node, pieces, J, ab, row)
    _sweep_rows(V, M, node, J, ab, row, contacts, stiff, _SWEEPS)
    return most
