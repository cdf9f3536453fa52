"""Compiled direct solver for contacts and joints of rigid bodies: augmented Lagrangian with an active set.

The unknowns are the velocities V of all instances of an island. A row requires u + b = 0, or u + b >= 0, with
u = J V; its impulse is l. With a penalty rho each solve of

    (M + sum_active rho J^T J) V = M v + sum_active J^T (l - rho b) + sum_fixed J^T l,    then  l <- l - rho (u + b)

reduces the residual of the rows by about 1/rho, whatever the number of bodies, their masses and the redundancy of the
rows, so that two or three solves are exact. The matrix is factored once per active set. A contact has three rows: the
normal row is active while its impulse is positive; the two tangential rows stick (active) or slip. Slipping rows are a
drag l = -k u with k = friction * l_n / |u| from the previous solve, which converges to Coulomb friction.
"""

from __future__ import annotations

from math import sqrt

from continua.contact_solver.block_cholesky import factor_in_place, find_block, solve_in_place
from continua.contact_solver.rigid_contact_layout import FRICTION, GAP, IMPULSE, LEVER_A, LEVER_B
from continua.numerics import inline, kernel

__all__ = ["ROW", "solve_island", "store_impulses", "write_contact_rows"]

ROW = 8  # columns of `row`: bias, impulse, penalty, smallest and largest impulse, friction, state, residual u + b
BIAS, LAMBDA, RHO, MIN_IMPULSE, MAX_IMPULSE, MU, STATE, RESIDUAL = range(8)
DRAG, INV_MASS = (
    MIN_IMPULSE,
    MAX_IMPULSE,
)  # for contacts: drag of slipping tangents; inverse mass, at the normal
INACTIVE, ACTIVE, SLIP = 0.0, 1.0, 2.0
_FALLBACK_SWEEPS = 30
_REST_SPEED = 1e-9  # m/s: slower slip counts as sticking
_DRAG_RTOL = 1e-6  # relative change of the drag below which no new solve is needed


@inline
def _row_velocity(J, ab, m, V):
    total = 0.0
    a, b = ab[m, 0], ab[m, 1]
    for d in range(6):
        total += J[m, d] * V[a, d] + J[m, 6 + d] * V[b, d]
    return total


@inline
def _row_inverse_mass(M, i, J, m, k):
    """Return J M^-1 J^T of one side of row m."""
    x, y, z = J[m, k + 3], J[m, k + 4], J[m, k + 5]
    sx = M[i, 1] * x + M[i, 4] * y + M[i, 5] * z
    sy = M[i, 4] * x + M[i, 2] * y + M[i, 6] * z
    sz = M[i, 5] * x + M[i, 6] * y + M[i, 3] * z
    line = J[m, k] * J[m, k] + J[m, k + 1] * J[m, k + 1] + J[m, k + 2] * J[m, k + 2]
    return M[i, 0] * line + x * sx + y * sy + z * sz


@kernel
def write_contact_rows(C, AB, numbers, h, ab, J, row):
    """Write three rows for each of the contacts `numbers` of C (see `rigid_pgs`), at the start of the arrays."""
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
            row[m, MIN_IMPULSE], row[m, MAX_IMPULSE] = 0.0, 0.0


@kernel
def store_impulses(C, numbers, row):
    """Write the impulses of rows back to the contacts."""
    for k in range(numbers.shape[0]):
        for t in range(3):
            C[numbers[k], IMPULSE + t] = row[3 * k + t, LAMBDA]


@inline
def _add_block(L, at, J, m, p, q, rho, transposed):
    for i in range(6):
        for j in range(6):
            L[at, 6 * i + j] += rho * (J[m, q + i] * J[m, p + j] if transposed else J[m, p + i] * J[m, q + j])


@inline
def _assemble(R, M, moments, node, instances, ptr, pattern, J, ab, row, L):
    """Put M + sum_active rho J^T J into the blocks."""
    L[:] = 0.0
    for k in range(instances.shape[0]):
        i = instances[k]
        at = ptr[node[i]]
        mass = 1.0 / M[i, 0]
        for d in range(3):
            L[at, 7 * d] = mass
        for r in range(3):
            for c in range(3):
                total = 0.0
                for m in range(3):
                    total += R[i, 3 * r + m] * moments[i, m] * R[i, 3 * c + m]
                L[at, 6 * (3 + r) + 3 + c] = total
    for m in range(row.shape[0]):
        if row[m, STATE] == INACTIVE:
            continue
        rho = row[m, RHO] if row[m, STATE] == ACTIVE else row[m, DRAG]
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
def _friction_state(row, m, excess):
    """Return whether the tangents of an active contact stick or slip.

    A contact that became active in this solve slips. A slipping contact may stick again, once in a solve, if the
    impulses of its pair are so far below their cones that they would stop it.
    """
    u, v = row[m + 1, RESIDUAL], row[m + 2, RESIDUAL]
    if row[m + 1, STATE] == INACTIVE:
        return SLIP
    if row[m + 1, STATE] == SLIP:
        if row[m + 2, INV_MASS] == 0.0 and sqrt(u * u + v * v) + excess * row[m, INV_MASS] <= 0.0:
            row[m + 2, INV_MASS] = 1.0
            return ACTIVE
        return SLIP
    p, q = row[m + 1, LAMBDA], row[m + 2, LAMBDA]
    limit = row[m, MU] * row[m, LAMBDA]
    return SLIP if p * p + q * q > limit * limit * (1.0 + 1e-9) else ACTIVE


@inline
def _guess_slip(row, ab, M, start, end):
    """Guess whether the contacts of a pair slip: whether friction is too small to stop their motion."""
    friction_limit, speed, inv_mass = 0.0, 0.0, M[ab[3 * start, 0], 0] + M[ab[3 * start, 1], 0]
    for k in range(start, end):
        m = 3 * k
        impulse = (
            row[m, LAMBDA]
            if row[m, LAMBDA] > 0.0
            else max(-row[m, RESIDUAL], 0.0) / (inv_mass * (end - start))
        )
        friction_limit += row[m, MU] * impulse
        u, v = row[m + 1, RESIDUAL], row[m + 2, RESIDUAL]
        speed = max(speed, sqrt(u * u + v * v))
    return speed > 1.01 * friction_limit * inv_mass and speed > _REST_SPEED


@inline
def _excess(row, start, end):
    """Return by how much the friction impulses of a pair's slipping contacts exceed their cones, summed up."""
    total = 0.0
    for k in range(start, end):
        m = 3 * k
        p, q = row[m + 1, LAMBDA], row[m + 2, LAMBDA]
        size, limit = sqrt(p * p + q * q), row[m, MU] * max(row[m, LAMBDA], 0.0)
        if row[m, STATE] == ACTIVE and (row[m + 1, STATE] == SLIP or size > limit):
            total += size - limit
    return total


@inline
def _update_drag(row, m, excess):
    """Update the drag of a slipping contact; return whether it changed.

    Impulses of the pair above their cones make it slip faster, impulses below slower.
    """
    limit = row[m, MU] * max(row[m, LAMBDA], 0.0)
    u, v = row[m + 1, RESIDUAL], row[m + 2, RESIDUAL]
    speed = sqrt(u * u + v * v)
    new = speed + excess * row[m, INV_MASS]
    if row[m + 1, STATE] == SLIP:
        new = max(new, 0.2 * speed)
    new = limit / max(new, _REST_SPEED)
    if row[m + 1, STATE] == SLIP and abs(new - row[m + 1, DRAG]) <= _DRAG_RTOL * new:
        return False
    row[m + 1, DRAG] = row[m + 2, DRAG] = new
    return True


@inline
def _update_active_set(row, ab, M, contacts, tolerance, first):
    """Update the active set; return whether it changed.

    Args:
        row: The rows; RESIDUAL holds u + b.
        ab: Their instances.
        M: See `rigid_pgs`.
        contacts: Number of contacts, three rows each, before the rows of joints.
        tolerance: Approach speed that counts as zero [m/s].
        first: Whether only the impulses of the last step are known, not the velocities.
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
            slips = first and _guess_slip(row, ab, M, start, end)
        # a tolerance keeps contacts that just touch from switching on and off
        new = ACTIVE if row[m, LAMBDA] > 0.0 or row[m, RESIDUAL] < -tolerance else INACTIVE
        if new != row[m, STATE]:
            row[m, STATE] = new
            changed = True
        friction = INACTIVE
        if new == ACTIVE and row[m, MU] > 0.0:
            friction = (SLIP if slips else ACTIVE) if first else _friction_state(row, m, excess)
            if friction == SLIP and _update_drag(row, m, excess):
                changed = True
        if friction != row[m + 1, STATE]:
            row[m + 1, STATE] = row[m + 2, STATE] = friction
            changed = True
        if friction == INACTIVE:
            row[m + 1, LAMBDA] = row[m + 2, LAMBDA] = 0.0
        if new == INACTIVE:
            row[m, LAMBDA] = 0.0
    for m in range(3 * contacts, row.shape[0]):
        impulse = (
            row[m, LAMBDA] if row[m, STATE] == ACTIVE else row[m, LAMBDA] - row[m, RHO] * row[m, RESIDUAL]
        )
        new = ACTIVE if row[m, MIN_IMPULSE] < impulse < row[m, MAX_IMPULSE] else INACTIVE
        if new != row[m, STATE]:
            row[m, STATE] = new
            changed = True
        if new == INACTIVE:
            row[m, LAMBDA] = row[m, MIN_IMPULSE] if impulse <= row[m, MIN_IMPULSE] else row[m, MAX_IMPULSE]
    return changed


@inline
def _apply_row_impulse(V, M, i, J, m, k, amount):
    """Apply an impulse of row m to instance i, whose part of the Jacobian starts at column k."""
    x, y, z = amount * J[m, k + 3], amount * J[m, k + 4], amount * J[m, k + 5]
    for d in range(3):
        V[i, d] += M[i, 0] * amount * J[m, k + d]
    V[i, 3] += M[i, 1] * x + M[i, 4] * y + M[i, 5] * z
    V[i, 4] += M[i, 4] * x + M[i, 2] * y + M[i, 6] * z
    V[i, 5] += M[i, 5] * x + M[i, 6] * y + M[i, 3] * z


@inline
def _apply_impulses(V0, V, M, node, instances, J, ab, row):
    """Write the velocities that result from the current impulses, by Newton's law to the last digit."""
    for k in range(instances.shape[0]):
        for d in range(6):
            V[instances[k], d] = V0[instances[k], d]
    for m in range(row.shape[0]):
        amount = row[m, LAMBDA]
        if amount != 0.0:
            if node[ab[m, 0]] >= 0:
                _apply_row_impulse(V, M, ab[m, 0], J, m, 0, amount)
            if node[ab[m, 1]] >= 0:
                _apply_row_impulse(V, M, ab[m, 1], J, m, 6, amount)


@inline
def _update_multipliers(ptr, pattern, L, node, J, ab, row, x):
    """Update the impulses by a solve with the factored matrix for the speeds in RESIDUAL."""
    x[:] = 0.0
    for m in range(row.shape[0]):
        if row[m, STATE] == INACTIVE:
            continue
        change = -row[m, RHO] * row[m, RESIDUAL]
        if row[m, STATE] == SLIP:
            change = -row[m, DRAG] * row[m, RESIDUAL] - row[m, LAMBDA]
        a, b = node[ab[m, 0]], node[ab[m, 1]]
        if a >= 0:
            for d in range(6):
                x[a, d] += change * J[m, d]
        if b >= 0:
            for d in range(6):
                x[b, d] += change * J[m, 6 + d]
    solve_in_place(ptr, pattern, L, x)
    for m in range(row.shape[0]):
        if row[m, STATE] == INACTIVE:
            continue
        u = row[m, RESIDUAL]
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
def _set_impulse(V, M, node, J, ab, row, m, new):
    """Set the impulse of row m and update the velocities."""
    amount = new - row[m, LAMBDA]
    row[m, LAMBDA] = new
    if amount != 0.0:
        if node[ab[m, 0]] >= 0:
            _apply_row_impulse(V, M, ab[m, 0], J, m, 0, amount)
        if node[ab[m, 1]] >= 0:
            _apply_row_impulse(V, M, ab[m, 1], J, m, 6, amount)


@inline
def _pgs_sweeps(V, M, node, J, ab, row, contacts, penalty, sweeps):
    """Do projected Gauss-Seidel sweeps over all rows, where the active set does not converge."""
    for _ in range(sweeps):
        for k in range(contacts):
            m = 3 * k
            u = _row_velocity(J, ab, m, V) + row[m, BIAS]
            _set_impulse(V, M, node, J, ab, row, m, max(0.0, row[m, LAMBDA] - row[m, RHO] / penalty * u))
            limit = row[m, MU] * row[m, LAMBDA]
            step = min(row[m + 1, RHO], row[m + 2, RHO]) / penalty
            p = row[m + 1, LAMBDA] - step * _row_velocity(J, ab, m + 1, V)
            q = row[m + 2, LAMBDA] - step * _row_velocity(J, ab, m + 2, V)
            size = sqrt(p * p + q * q)
            if size > limit:
                p, q = p * limit / size, q * limit / size
            _set_impulse(V, M, node, J, ab, row, m + 1, p)
            _set_impulse(V, M, node, J, ab, row, m + 2, q)
        for m in range(3 * contacts, row.shape[0]):
            u = _row_velocity(J, ab, m, V) + row[m, BIAS]
            new = row[m, LAMBDA] - row[m, RHO] / penalty * u
            _set_impulse(V, M, node, J, ab, row, m, min(max(new, row[m, MIN_IMPULSE]), row[m, MAX_IMPULSE]))


@inline
def _project_cones(row, contacts):
    """Project impulses outside their friction cones onto these."""
    for k in range(contacts):
        m = 3 * k
        row[m, LAMBDA] = max(row[m, LAMBDA], 0.0)
        p, q, limit = row[m + 1, LAMBDA], row[m + 2, LAMBDA], row[m, MU] * row[m, LAMBDA]
        size = sqrt(p * p + q * q)
        if size > limit:
            row[m + 1, LAMBDA], row[m + 2, LAMBDA] = p * limit / size, q * limit / size


@kernel
def solve_island(
    V0, V, R, M, moments, node, instances, ptr, pattern, L, J, ab, row, contacts, penalty, tolerance,
    max_solves, refactor, x,
):  # fmt: skip
    """Solve for the velocities of an island's instances and the impulses of its rows; return the number of solves.

    Args:
        V0: Velocities without the rows' impulses, shape [n, 6].
        V: Velocities of all instances, shape [n, 6]; those of the island are written.
        R: Rotations [n, 9].
        M: See `rigid_pgs`.
        moments: Principal moments of inertia [n, 3].
        node: Row of each instance in the factor, -1 for others [n].
        instances: Instances in the factor.
        ptr: See `block_cholesky`, as pattern.
        pattern: See ptr.
        L: The factor; reused from the last call unless `refactor`.
        J: Jacobians of the rows for both instances [m, 12].
        ab: The instances of each row [m, 2].
        row: The rows [m, 8], with the columns above; impulses in and out.
        contacts: Number of contacts, three rows each; they come first.
        penalty: Penalty of a row relative to its effective mass.
        tolerance: Accepted residual speed of active rows [m/s].
        max_solves: Most solves.
        refactor: Whether to assemble and factor the matrix; otherwise only biases have changed since the last call.
        x: Scratch [k, 6].
    """
    start = row[:, LAMBDA].copy()
    if refactor:
        for m in range(row.shape[0]):
            weight = 0.0
            if node[ab[m, 0]] >= 0:
                weight += _row_inverse_mass(M, ab[m, 0], J, m, 0)
            if node[ab[m, 1]] >= 0:
                weight += _row_inverse_mass(M, ab[m, 1], J, m, 6)
            row[m, RHO] = penalty / max(weight, 1e-300)
            row[m, RESIDUAL] = _row_velocity(J, ab, m, V0) + row[m, BIAS]
            row[m, STATE] = -1.0
        for k in range(contacts):
            row[3 * k, INV_MASS] = M[ab[3 * k, 0], 0] + M[ab[3 * k, 1], 0]
            row[3 * k + 2, INV_MASS] = 0.0
        _update_active_set(row, ab, M, contacts, tolerance, True)
        _assemble(R, M, moments, node, instances, ptr, pattern, J, ab, row, L)
        factor_in_place(ptr, pattern, L)
    for solve in range(max_solves):
        _apply_impulses(V0, V, M, node, instances, J, ab, row)
        left = 0.0
        for m in range(row.shape[0]):
            row[m, RESIDUAL] = _row_velocity(J, ab, m, V) + row[m, BIAS]
            if row[m, STATE] == ACTIVE:
                left = max(left, abs(row[m, RESIDUAL]))
        if solve > 0 or not refactor:
            changed = solve > 0 and _update_active_set(row, ab, M, contacts, tolerance, False)
            if not changed and left <= tolerance:
                return solve
            if changed:
                _apply_impulses(V0, V, M, node, instances, J, ab, row)
                for m in range(row.shape[0]):
                    row[m, RESIDUAL] = _row_velocity(J, ab, m, V) + row[m, BIAS]
                _assemble(R, M, moments, node, instances, ptr, pattern, J, ab, row, L)
                factor_in_place(ptr, pattern, L)
        _update_multipliers(ptr, pattern, L, node, J, ab, row, x)
    # the active set does not converge: restart with Gauss-Seidel sweeps
    row[:, LAMBDA] = start
    _project_cones(row, contacts)
    _apply_impulses(V0, V, M, node, instances, J, ab, row)
    _pgs_sweeps(V, M, node, J, ab, row, contacts, penalty, _FALLBACK_SWEEPS)
    return max_solves
