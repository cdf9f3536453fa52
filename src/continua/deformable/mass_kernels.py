"""Compiled functions of mass and momentum: the mass matrix, the update of a step, and its momentum balance."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import kernel, kernel_pair

CHUNK = 128  # rows per chunk of products
_LONG_CHUNK = 4096  # rows per chunk of passes that only add and copy


@kernel_pair
def mass_times(indptr, indices, mass, x, y):
    """Set y = M x for the scalar mass matrix applied to each component."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            for k in range(uint32(indptr[i]), uint32(indptr[i + uint64(1)])):
                j = uint32(indices[k])
                s0 += mass[k] * x[j, 0]
                s1 += mass[k] * x[j, 1]
                s2 += mass[k] * x[j, 2]
            y[i, 0] = s0
            y[i, 1] = s1
            y[i, 2] = s2


@kernel
def gather_mass(
    inc_indptr, inc_codes, slots, corners, element_mass, reference, indptr, lumped, diagonal, mass
):
    """Set the scalar mass of every block: element mass times the reference table, or row sums on the diagonal."""
    mass[:] = 0.0
    for i in range(indptr.shape[0] - 1):
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // corners
            a = inc_codes[q] % corners
            for b in range(corners):
                k = diagonal[i] if lumped else indptr[i] + slots[q, b]
                mass[k] += element_mass[e] * reference[a, b]


@kernel
def gather_tables(inc_indptr, inc_codes, slots, corners, tables, indptr, lumped, diagonal, mass):
    """Set the scalar mass of every block from the elements' tables [m, k, k], or their row sums on the diagonal."""
    mass[:] = 0.0
    for i in range(indptr.shape[0] - 1):
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // corners
            a = inc_codes[q] % corners
            for b in range(corners):
                k = diagonal[i] if lumped else indptr[i] + slots[q, b]
                mass[k] += tables[e, a, b]


@kernel_pair
def set_gravity(node_mass, gravity, force):
    """Set force = mass times gravity."""
    n = node_mass.shape[0]
    for c in prange((n + _LONG_CHUNK - 1) // _LONG_CHUNK):
        for i in range(c * _LONG_CHUNK, min(n, (c + 1) * _LONG_CHUNK)):
            for a in range(3):
                force[i, a] = node_mass[i] * gravity[a]


@kernel_pair
def extrapolate(now, before, curved, guess, guess_directions):
    """Extrapolate `now` [n, 3] and the states `before` it [3, n, 3]: linearly, plus `curved` second differences.

    `guess_directions` [2, n, 3] become the second and the third difference of all four states.
    """
    n = now.shape[0]
    for c in prange((n + _LONG_CHUNK - 1) // _LONG_CHUNK):
        for i in range(c * _LONG_CHUNK, min(n, (c + 1) * _LONG_CHUNK)):
            for a in range(3):
                first = now[i, a] - before[0, i, a]
                second = first - (before[0, i, a] - before[1, i, a])
                guess[i, a] = now[i, a] + first + curved * second
                guess_directions[0, i, a] = second
                guess_directions[1, i, a] = second - (
                    before[0, i, a] - 2.0 * before[1, i, a] + before[2, i, a]
                )


@kernel_pair
def commit_step(positions, velocities, before, x, v):
    """Set x and v to the result of a step, and shift the history `before` by one."""
    n = x.shape[0]
    for c in prange((n + _LONG_CHUNK - 1) // _LONG_CHUNK):
        for i in range(c * _LONG_CHUNK, min(n, (c + 1) * _LONG_CHUNK)):
            for a in range(3):
                before[2, i, a] = before[1, i, a]
                before[1, i, a] = before[0, i, a]
                before[0, i, a] = v[i, a]
                x[i, a] = positions[i, a]
                v[i, a] = velocities[i, a]


@kernel_pair
def advance_positions(positions, velocities, dt, moved):
    """Set moved = positions + dt velocities."""
    n = positions.shape[0]
    for c in prange((n + _LONG_CHUNK - 1) // _LONG_CHUNK):
        for i in range(c * _LONG_CHUNK, min(n, (c + 1) * _LONG_CHUNK)):
            for a in range(3):
                moved[i, a] = positions[i, a] + dt * velocities[i, a]


@kernel_pair
def max_relative_displacement(positions, moved, velocities):
    """Return the largest displacement of a node relative to the first node; infinite if anything is not finite."""
    n = positions.shape[0]
    chunks = (n + _LONG_CHUNK - 1) // _LONG_CHUNK
    longest = np.zeros(chunks)
    for c in prange(chunks):
        most = 0.0
        for i in range(c * _LONG_CHUNK, min(n, (c + 1) * _LONG_CHUNK)):
            square = 0.0
            for a in range(3):
                d = (moved[i, a] - positions[i, a]) - (moved[0, a] - positions[0, a])
                square += d * d
                if not np.isfinite(moved[i, a]) or not np.isfinite(velocities[i, a]):
                    square = np.inf
            if not square <= most:
                most = square
        longest[c] = most
    result = 0.0
    for c in range(chunks):
        if not longest[c] <= result:
            result = longest[c]
    return np.sqrt(result)


@kernel
def rigid_residual(positions, node_mass, mass_positions, impulse):
    """Return net impulse, its moment about the centre of mass, mass, moments of inertia [3, 3] and that centre.

    Args:
        positions: Node positions x [n, 3].
        node_mass: Row sums of the mass matrix [n].
        mass_positions: M x [n, 3].
        impulse: Impulse of the elastic forces in this step [n, 3].
    """
    n = positions.shape[0]
    center = np.zeros(3)
    total = 0.0
    for i in range(n):
        total += node_mass[i]
        for c in range(3):
            center[c] += mass_positions[i, c]
    center /= total
    net = np.zeros(3)
    torque = np.zeros(3)
    inertia = np.zeros((3, 3))
    for i in range(n):
        rx = positions[i, 0] - center[0]
        ry = positions[i, 1] - center[1]
        rz = positions[i, 2] - center[2]
        sx = mass_positions[i, 0] - node_mass[i] * center[0]
        sy = mass_positions[i, 1] - node_mass[i] * center[1]
        sz = mass_positions[i, 2] - node_mass[i] * center[2]
        for c in range(3):
            net[c] += impulse[i, c]
        torque[0] += ry * impulse[i, 2] - rz * impulse[i, 1]
        torque[1] += rz * impulse[i, 0] - rx * impulse[i, 2]
        torque[2] += rx * impulse[i, 1] - ry * impulse[i, 0]
        inertia[0, 0] += ry * sy + rz * sz
        inertia[1, 1] += rx * sx + rz * sz
        inertia[2, 2] += rx * sx + ry * sy
        inertia[0, 1] -= 0.5 * (rx * sy + ry * sx)
        inertia[0, 2] -= 0.5 * (rx * sz + rz * sx)
        inertia[1, 2] -= 0.5 * (ry * sz + rz * sy)
    inertia[1, 0] = inertia[0, 1]
    inertia[2, 0] = inertia[0, 2]
    inertia[2, 1] = inertia[1, 2]
    return net, torque, total, inertia, center


@kernel
def moment_response(
    indptr, indices, blocks, mass, positions, node_mass, mass_positions, gain, arms, mass_arms, response
):
    """Find how the moment of a body's internal forces about its centre of mass depends on the solution of a step.

    With Q the rotations e_k x r, one column for each axis, the moment is Q^T (gain M - A) x and a constant.

    Args:
        indptr: Row starts of the matrix A.
        indices: Its columns.
        blocks: Its blocks, column by column [b, 9].
        mass: Scalar mass of every block [b].
        positions: Node positions x [n, 3].
        node_mass: Row sums of the mass matrix [n].
        mass_positions: M x [n, 3].
        gain: Factor of the mass in A.
        arms: Receives the arms r from the centre of mass [m], shape [n, 3].
        mass_arms: Receives M r [n, 3].
        response: Receives (gain M - A) Q, row by row [n, 9].

    Returns:
        By how much A resists rotations more than the mass does, Q^T (A - gain M) Q, shape [3, 3].
    """
    n = positions.shape[0]
    center = np.zeros(3)
    total = 0.0
    for i in range(n):
        total += node_mass[i]
        for c in range(3):
            center[c] += mass_positions[i, c]
    center /= total
    for i in range(n):
        for c in range(3):
            arms[i, c] = positions[i, c] - center[c]
            mass_arms[i, c] = mass_positions[i, c] - node_mass[i] * center[c]
    for i in range(n):
        for c in range(3):
            s0, s1, s2 = 0.0, 0.0, 0.0
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                b0, b1, b2 = blocks[k, c], blocks[k, 3 + c], blocks[k, 6 + c]
                s0 += arms[j, 1] * b2 - arms[j, 2] * b1
                s1 += arms[j, 2] * b0 - arms[j, 0] * b2
                s2 += arms[j, 0] * b1 - arms[j, 1] * b0
            response[i, 3 * c], response[i, 3 * c + 1], response[i, 3 * c + 2] = -s0, -s1, -s2
        m0, m1, m2 = gain * mass_arms[i, 0], gain * mass_arms[i, 1], gain * mass_arms[i, 2]
        response[i, 1] += m2
        response[i, 2] -= m1
        response[i, 3] -= m2
        response[i, 5] += m0
        response[i, 6] += m1
        response[i, 7] -= m0
    resistance = np.zeros((3, 3))
    for i in range(n):
        r, b = arms[i], response[i]
        for k in range(3):
            resistance[0, k] -= r[1] * b[6 + k] - r[2] * b[3 + k]
            resistance[1, k] -= r[2] * b[k] - r[0] * b[6 + k]
            resistance[2, k] -= r[0] * b[3 + k] - r[1] * b[k]
    return resistance
