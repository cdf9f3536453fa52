"""Compiled MINRES (Paige and Saunders 1975) for symmetric systems with two fields, preconditioned by blocks.

The system is [[A, B^T], [B, -C]] with constraints on the first field. All vectors are flat: three numbers per node of
the first field, then one per dof of the second. The preconditioner is symmetric positive definite and block diagonal:
for A the identity, the inverse diagonal blocks, symmetric over-relaxation, or an operator that the caller applies; for
the Schur complement an inverse diagonal.

Every sum runs over chunks of fixed size whose partial results are added in order: results are bitwise identical for any
number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.linalg.block_kernels import CHUNK, blocks_times, ordered_sum, project_free, symmetric_times
from continua.numerics import inline, kernel_pair

NONE, JACOBI, SSOR, EXTERNAL = range(4)
"""Preconditioners of the first field."""

START, LANCZOS, PRECONDITIONED = range(3)
"""Where the kernel resumes."""

APPLY_PRECONDITIONER, CHECK, ITERATION_LIMIT, LEAST_SQUARES, NOT_DEFINITE, NOT_FINITE = range(6)
"""Why the kernel returns."""

(
    ITERATION, RESUME, GAMMA, GAMMA_OLD, COS, COS_OLD, SIN, SIN_OLD, ETA, NORM2, DELTA, RESIDUAL, RESIDUAL2,
    SLOPE, STATE_SIZE,
) = range(15)  # fmt: skip
"""Scalars of the iteration that live between calls."""

_LEAST_SQUARES = 1e-11  # |K r| / (|K| |r|) below which r is in the nullspace
_SMALL_SLOPE = 1e-6  # the same from which on a singular system may soon diverge: look at the true residual
_CHECK_EVERY = 100  # iterations between two true residuals


@inline
def _operator_row(system, flat, zu, zp, i):
    """Return row i of the first field of K z, in the free directions."""
    s0, s1, s2 = blocks_times(
        flat, system.indices, zu, uint32(system.indptr[i]), uint32(system.indptr[i + uint64(1)])
    )
    for k in range(uint32(system.t_indptr[i]), uint32(system.t_indptr[i + uint64(1)])):
        q = zp[uint32(system.t_indices[k])]
        s0 += system.t_values[k, 0] * q
        s1 += system.t_values[k, 1] * q
        s2 += system.t_values[k, 2] * q
    return project_free(system.fixed, system.projections, i, s0, s1, s2)


@inline
def _second_row(system, zu, zp, i):
    """Return row i of the second field of K z, B z_u - C z_p."""
    total = 0.0
    for k in range(uint32(system.b_indptr[i]), uint32(system.b_indptr[i + uint64(1)])):
        j = uint32(system.b_indices[k])
        total += (
            system.b_values[k, 0] * zu[j, 0]
            + system.b_values[k, 1] * zu[j, 1]
            + system.b_values[k, 2] * zu[j, 2]
        )
    for k in range(uint32(system.c_indptr[i]), uint32(system.c_indptr[i + uint64(1)])):
        total -= system.c_values[k] * zp[uint32(system.c_indices[k])]
    return total


@kernel_pair
def true_residual(system, rhs, x, r, partial):
    """Set r = b - K x in the free directions, and return the squares of norms.

    Returns those of r in both fields, then of |K| |x| + |b| in both fields: times the unit roundoff, the latter bound
    the rounding errors of r. `partial` is work space [chunks, 2].
    """
    n = system.indptr.shape[0] - 1
    m = system.b_indptr.shape[0] - 1
    flat = system.blocks.reshape(-1)
    xu = x[: 3 * n].reshape(n, 3)
    xp = x[3 * n :]
    first = (n + CHUNK - 1) // CHUNK
    for c in prange(partial.shape[0]):
        total = 0.0
        size = 0.0
        if c < first:
            for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                s0, s1, s2 = _operator_row(system, flat, xu, xp, i)
                at = uint64(3) * i
                f0, f1, f2 = project_free(
                    system.fixed, system.projections, i, rhs[at], rhs[at + uint64(1)], rhs[at + uint64(2)]
                )
                r0, r1, r2 = f0 - s0, f1 - s1, f2 - s2
                r[at], r[at + uint64(1)], r[at + uint64(2)] = r0, r1, r2
                total += r0 * r0 + r1 * r1 + r2 * r2
                if system.fixed[i] != 1:
                    a0, a1, a2 = abs(f0), abs(f1), abs(f2)
                    for k in range(uint32(system.indptr[i]), uint32(system.indptr[i + uint64(1)])):
                        j = uint32(system.indices[k])
                        x0, x1, x2 = abs(xu[j, 0]), abs(xu[j, 1]), abs(xu[j, 2])
                        b = system.blocks[k]
                        a0 += abs(b[0]) * x0 + abs(b[3]) * x1 + abs(b[6]) * x2
                        a1 += abs(b[1]) * x0 + abs(b[4]) * x1 + abs(b[7]) * x2
                        a2 += abs(b[2]) * x0 + abs(b[5]) * x1 + abs(b[8]) * x2
                    for k in range(uint32(system.t_indptr[i]), uint32(system.t_indptr[i + uint64(1)])):
                        q = abs(xp[uint32(system.t_indices[k])])
                        a0 += abs(system.t_values[k, 0]) * q
                        a1 += abs(system.t_values[k, 1]) * q
                        a2 += abs(system.t_values[k, 2]) * q
                    size += a0 * a0 + a1 * a1 + a2 * a2
        else:
            for i in range(uint64((c - first) * CHUNK), uint64(min(m, (c - first + 1) * CHUNK))):
                at = uint64(3 * n) + i
                value = rhs[at] - _second_row(system, xu, xp, i)
                r[at] = value
                total += value * value
                a = abs(rhs[at])
                for k in range(uint32(system.b_indptr[i]), uint32(system.b_indptr[i + uint64(1)])):
                    j = uint32(system.b_indices[k])
                    for d in range(3):
                        a += abs(system.b_values[k, d]) * abs(xu[j, d])
                for k in range(uint32(system.c_indptr[i]), uint32(system.c_indptr[i + uint64(1)])):
                    a += abs(system.c_values[k]) * abs(xp[uint32(system.c_indices[k])])
                size += a * a
        partial[c, 0] = total
        partial[c, 1] = size
    return (
        ordered_sum(partial[:first, 0]),
        ordered_sum(partial[first:, 0]),
        ordered_sum(partial[:first, 1]),
        ordered_sum(partial[first:, 1]),
    )


@kernel_pair
def schur_diagonal(system, inverse, schur):
    """Set `schur` to the diagonal of C + B D^-1 B^T, with the inverse diagonal blocks D^-1 of A in `inverse`."""
    m = system.b_indptr.shape[0] - 1
    for c in prange((m + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(m, (c + 1) * CHUNK)):
            total = 0.0
            for k in range(system.b_indptr[i], system.b_indptr[i + 1]):
                b0, b1, b2 = system.b_values[k, 0], system.b_values[k, 1], system.b_values[k, 2]
                y0, y1, y2 = symmetric_times(inverse, system.b_indices[k], b0, b1, b2)
                total += b0 * y0 + b1 * y1 + b2 * y2
            for k in range(system.c_indptr[i], system.c_indptr[i + 1]):
                if system.c_indices[k] == i:
                    total += system.c_values[k]
            schur[i] = total


@inline
def _forward(flat, system, parts, inverse, ru, y, lo, hi):
    """Solve (D/w + L) y = r in one part (see `ssor_kernels`)."""
    for i in range(uint64(lo), uint64(hi)):
        s0, s1, s2 = blocks_times(
            flat, system.indices, y, uint32(parts.inner[i, 0]), uint32(parts.diagonal[i])
        )
        s0, s1, s2 = symmetric_times(inverse, i, ru[i, 0] - s0, ru[i, 1] - s1, ru[i, 2] - s2)
        y[i, 0], y[i, 1], y[i, 2] = s0, s1, s2


@inline
def _backward(flat, system, parts, inverse, scaled, y, z, lo, hi):
    """Solve (D/w + L^T) z = K y in one part, K = (2/w - 1) D."""
    count = uint64(hi) - uint64(lo)
    for back in range(count):
        i = uint64(lo) + (count - uint64(1) - back)
        k0, k1, k2 = symmetric_times(scaled, i, y[i, 0], y[i, 1], y[i, 2])
        s0, s1, s2 = blocks_times(
            flat, system.indices, z, uint32(parts.diagonal[i]) + uint32(1), uint32(parts.inner[i, 1])
        )
        s0, s1, s2 = symmetric_times(inverse, i, k0 - s0, k1 - s1, k2 - s2)
        z[i, 0], z[i, 1], z[i, 2] = s0, s1, s2


@kernel_pair
def minres(
    system, preconditioner, kind, inverse, scaled, schur_inverse, nullspace, V, Z, W, x, r, y, limits, state, partial
):  # fmt: skip
    """Iterate from the residual in r until a test stops it; return why (`CHECK` for a look at the true residual).

    With an external preconditioner the kernel also returns whenever `Z[1]` must be set to the preconditioned `V[1]`,
    and resumes there in the next call. The names follow Elman, Silvester and Wathen (2014), algorithm 4.1. r is updated
    by its recurrence, r <- s^2 r + c eta v / gamma, so that its norm is known in the original norm of both fields.

    Args:
        system: `SaddlePointArrays`.
        preconditioner: Parts of the rows of A for symmetric over-relaxation (`SsorParts`).
        kind: NONE, JACOBI, SSOR or EXTERNAL.
        inverse: Inverse diagonal blocks of A, over-relaxed for SSOR, shape [n, 6].
        scaled: K of SSOR, shape [n, 6].
        schur_inverse: Inverse diagonal of the second field, shape [m].
        nullspace: Orthonormal vectors of the nullspace, shape [k, 3 n + m].
        V, Z, W: Two vectors each: Lanczos vectors, preconditioned ones and search directions. V[1], Z[1] and W[1]
            are the newest.
        x: Solution, updated.
        r: Residual, updated.
        y: Work space [n, 3] of SSOR.
        limits: Norms of r and of its second field at which to stop, and the largest number of iterations.
        state: Scalars between calls.
        partial: Work space [chunks, 2].
    """
    n = system.indptr.shape[0] - 1
    m = system.b_indptr.shape[0] - 1
    size = 3 * n + m
    flat = system.blocks.reshape(-1)
    first = (n + CHUNK - 1) // CHUNK
    chunks = partial.shape[0]
    parts = preconditioner.starts.shape[0] - 1
    while True:
        if state[RESUME] == START:
            for c in prange((size + 3 * CHUNK - 1) // (3 * CHUNK)):
                for i in range(uint64(c * 3 * CHUNK), uint64(min(size, (c + 1) * 3 * CHUNK))):
                    V[0, i], V[1, i] = 0.0, r[i]
                    W[0, i], W[1, i] = 0.0, 0.0
                    Z[0, i] = 0.0
            state[GAMMA] = 0.0
        elif state[RESUME] == LANCZOS:
            # v_next = K z - (delta / gamma) v - (gamma / gamma_old) v_old, in place of v_old
            if state[ITERATION] >= limits[2]:
                return ITERATION_LIMIT
            zu = Z[0, : 3 * n].reshape(n, 3)
            zp = Z[0, 3 * n :]
            back = state[GAMMA] / state[GAMMA_OLD] if state[GAMMA_OLD] > 0.0 else 0.0
            for c in prange(chunks):
                total = 0.0
                if c < first:
                    for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                        s0, s1, s2 = _operator_row(system, flat, zu, zp, i)
                        at = uint64(3) * i
                        total += zu[i, 0] * s0 + zu[i, 1] * s1 + zu[i, 2] * s2
                        V[0, at] = s0 - back * V[0, at]
                        V[0, at + uint64(1)] = s1 - back * V[0, at + uint64(1)]
                        V[0, at + uint64(2)] = s2 - back * V[0, at + uint64(2)]
                else:
                    for i in range(uint64((c - first) * CHUNK), uint64(min(m, (c - first + 1) * CHUNK))):
                        s = _second_row(system, zu, zp, i)
                        at = uint64(3 * n) + i
                        total += zp[i] * s
                        V[0, at] = s - back * V[0, at]
                partial[c, 0] = total
            delta = ordered_sum(partial[:, 0])
            forward = delta / state[GAMMA]
            for c in prange((size + 3 * CHUNK - 1) // (3 * CHUNK)):
                for i in range(uint64(c * 3 * CHUNK), uint64(min(size, (c + 1) * 3 * CHUNK))):
                    v = V[1, i]
                    V[1, i] = V[0, i] - forward * v
                    V[0, i] = v
            state[DELTA] = delta
        if state[RESUME] < PRECONDITIONED:
            for k in range(
                nullspace.shape[0]
            ):  # residuals of a symmetric matrix are orthogonal to its nullspace
                for c in prange(chunks):
                    total = 0.0
                    lo, hi = c * 3 * CHUNK, min(3 * n, (c + 1) * 3 * CHUNK)
                    if c >= first:
                        lo, hi = 3 * n + (c - first) * CHUNK, 3 * n + min(m, (c - first + 1) * CHUNK)
                    for i in range(uint64(lo), uint64(hi)):
                        total += nullspace[k, i] * V[1, i]
                    partial[c, 0] = total
                component = ordered_sum(partial[:, 0])
                for c in prange((size + 3 * CHUNK - 1) // (3 * CHUNK)):
                    for i in range(uint64(c * 3 * CHUNK), uint64(min(size, (c + 1) * 3 * CHUNK))):
                        V[1, i] -= component * nullspace[k, i]
            vu = V[1, : 3 * n].reshape(n, 3)
            nu = Z[1, : 3 * n].reshape(n, 3)
            if kind == SSOR:
                for part in prange(parts):
                    lo, hi = preconditioner.starts[part], preconditioner.starts[part + 1]
                    _forward(flat, system, preconditioner, inverse, vu, y, lo, hi)
                    _backward(flat, system, preconditioner, inverse, scaled, y, nu, lo, hi)
            elif kind == JACOBI:
                for c in prange(first):
                    for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                        z0, z1, z2 = symmetric_times(inverse, i, vu[i, 0], vu[i, 1], vu[i, 2])
                        nu[i, 0], nu[i, 1], nu[i, 2] = z0, z1, z2
            elif kind == NONE:
                for c in prange(first):
                    for i in range(uint64(c * CHUNK), uint64(min(n, (c + 1) * CHUNK))):
                        nu[i, 0], nu[i, 1], nu[i, 2] = vu[i, 0], vu[i, 1], vu[i, 2]
            else:
                state[RESUME] = PRECONDITIONED + state[RESUME]  # whether this is the start
                return APPLY_PRECONDITIONER
        begin = state[RESUME] == START
        if state[RESUME] >= PRECONDITIONED:
            begin = state[RESUME] == PRECONDITIONED + START
        for c in prange(chunks):
            total = 0.0
            if c < first:
                for i in range(uint64(c * 3 * CHUNK), uint64(min(3 * n, (c + 1) * 3 * CHUNK))):
                    total += Z[1, i] * V[1, i]
            else:
                for i in range(uint64((c - first) * CHUNK), uint64(min(m, (c - first + 1) * CHUNK))):
                    at = uint64(3 * n) + i
                    Z[1, at] = schur_inverse[i] * V[1, at]
                    total += Z[1, at] * V[1, at]
            partial[c, 0] = total
        square = ordered_sum(partial[:, 0])
        if not np.isfinite(square):
            return NOT_FINITE
        if square < 0.0:
            return NOT_DEFINITE
        gamma = np.sqrt(square)
        if begin:
            if gamma == 0.0:
                return NOT_DEFINITE  # a residual that the preconditioner does not see
            state[GAMMA], state[GAMMA_OLD], state[ETA], state[NORM2] = gamma, 0.0, gamma, 0.0
            state[COS], state[COS_OLD], state[SIN], state[SIN_OLD] = 1.0, 1.0, 0.0, 0.0
            state[SLOPE] = _SMALL_SLOPE
            scale = 1.0 / gamma
            for c in prange((size + 3 * CHUNK - 1) // (3 * CHUNK)):
                for i in range(uint64(c * 3 * CHUNK), uint64(min(size, (c + 1) * 3 * CHUNK))):
                    Z[0, i] = scale * Z[1, i]
            state[RESUME] = LANCZOS
            continue
        # rotations of the Lanczos matrix, then directions, solution and residual
        delta = state[DELTA]
        cos, cos_old, sin, sin_old = state[COS], state[COS_OLD], state[SIN], state[SIN_OLD]
        alpha0 = cos * delta - cos_old * sin * state[GAMMA]
        alpha1 = np.sqrt(alpha0 * alpha0 + gamma * gamma)
        alpha2 = sin * delta + cos_old * cos * state[GAMMA]
        alpha3 = sin_old * state[GAMMA]
        state[NORM2] += delta * delta + gamma * gamma + state[GAMMA] * state[GAMMA] * (state[GAMMA_OLD] > 0.0)
        slope = np.sqrt(alpha0 * alpha0 + cos * gamma * cos * gamma)  # |K r| / |r|
        if slope <= _LEAST_SQUARES * np.sqrt(state[NORM2]) or alpha1 == 0.0:
            return LEAST_SQUARES
        check = slope < state[SLOPE] * np.sqrt(state[NORM2])
        if check:
            state[SLOPE] = 0.1 * slope / np.sqrt(state[NORM2])
        new_cos, new_sin = alpha0 / alpha1, gamma / alpha1
        step = new_cos * state[ETA]
        eta = -new_sin * state[ETA]
        keep = new_sin * new_sin
        scale = 1.0 / gamma if gamma > 0.0 else 0.0
        add = new_cos * eta * scale
        inv = 1.0 / alpha1
        for c in prange(chunks):
            total = 0.0
            lo, hi = c * 3 * CHUNK, min(3 * n, (c + 1) * 3 * CHUNK)
            if c >= first:
                lo, hi = 3 * n + (c - first) * CHUNK, 3 * n + min(m, (c - first + 1) * CHUNK)
            for i in range(uint64(lo), uint64(hi)):
                w = inv * (Z[0, i] - alpha3 * W[0, i] - alpha2 * W[1, i])
                W[0, i] = W[1, i]
                W[1, i] = w
                x[i] += step * w
                value = keep * r[i] + add * V[1, i]
                r[i] = value
                Z[0, i] = scale * Z[1, i]
                total += value * value
            partial[c, 0] = total
        state[RESIDUAL] = ordered_sum(partial[:first, 0])
        state[RESIDUAL2] = ordered_sum(partial[first:, 0])
        state[COS_OLD], state[COS], state[SIN_OLD], state[SIN] = cos, new_cos, sin, new_sin
        state[GAMMA_OLD], state[GAMMA], state[ETA] = state[GAMMA], gamma, eta
        state[ITERATION] += 1.0
        state[RESUME] = LANCZOS
        norm2 = state[RESIDUAL] + state[RESIDUAL2]
        small = norm2 <= limits[0] * limits[0] and state[RESIDUAL2] <= limits[1] * limits[1]
        if small or check or gamma == 0.0 or state[ITERATION] % _CHECK_EVERY == 0.0:
            return CHECK
