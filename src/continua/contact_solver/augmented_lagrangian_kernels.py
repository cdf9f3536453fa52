"""Compiled functions of the contact solver: projection onto friction cones, line search, and contact terms of matrices.

Matrices are stored as in `linalg.block_kernels`: nine values per block, column by column.
"""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel


@inline
def _inverse_times(blocks, k, a0, a1, a2):
    """Return the inverse of a symmetric 3x3 block times a vector; zero if the block is singular."""
    b = blocks[k]
    c0 = b[4] * b[8] - b[5] * b[5]
    c1 = b[5] * b[2] - b[1] * b[8]
    c2 = b[1] * b[5] - b[4] * b[2]
    det = b[0] * c0 + b[1] * c1 + b[2] * c2
    if not det > 0.0:
        return 0.0, 0.0, 0.0
    c3 = b[0] * b[8] - b[2] * b[2]
    c4 = b[1] * b[2] - b[0] * b[5]
    c5 = b[0] * b[4] - b[1] * b[1]
    return (
        (c0 * a0 + c1 * a1 + c2 * a2) / det,
        (c1 * a0 + c3 * a1 + c4 * a2) / det,
        (c2 * a0 + c4 * a1 + c5 * a2) / det,
    )


@kernel
def compliance(ptr, row, block, blocks, diagonal, fixed, out):
    """Set out[c] to the mean of the diagonal of G D^-1 G^T [1/kg], with D the diagonal blocks of the matrix."""
    for c in range(ptr.shape[0] - 1):
        total = 0.0
        for e in range(ptr[c], ptr[c + 1]):
            i = row[e]
            if fixed[i] == 1:
                continue
            g = block[e]
            for k in range(3):
                x, y, z = _inverse_times(blocks, diagonal[i], g[3 * k], g[3 * k + 1], g[3 * k + 2])
                total += g[3 * k] * x + g[3 * k + 1] * y + g[3 * k + 2] * z
        out[c] = total / 3.0


@inline
def _project(x0, x1, x2, mu):
    """Project x onto Coulomb's cone; also return the region: 0 at the tip, 1 inside, 2 on the side."""
    size = np.sqrt(x1 * x1 + x2 * x2)
    if x0 >= 0.0 and size <= mu * x0:
        return x0, x1, x2, 1
    if mu * size <= -x0:
        return 0.0, 0.0, 0.0, 0
    k = (x0 + mu * size) / (1.0 + mu * mu)
    part = mu * k / size if size > 0.0 else 0.0
    return k, part * x1, part * x2, 2


@inline
def _project_one(u0, u1, u2, bound, mu, equality, r, multiplier):
    """Return the impulse at a relative velocity, and its region of the cone."""
    x0 = multiplier[0] - r * (u0 + bound)
    x1 = multiplier[1] - r * u1
    x2 = multiplier[2] - r * u2
    if equality:
        return (x0 if equality & 1 else 0.0), (x1 if equality & 2 else 0.0), (x2 if equality & 4 else 0.0), 1
    return _project(x0, x1, x2, mu)


@kernel
def project_friction_cone(u, bound, friction, bilateral, rho, multiplier, impulse, hessian):
    """Set the impulses at relative velocities u by projection onto the friction cones, and their derivatives.

    `hessian` [c, 6] is minus the derivative: (nn, n1, n2, 11, 12, 22), with 1 and 2 the tangents.
    """
    for c in range(u.shape[0]):
        r, mu, equality = rho[c], friction[c], bilateral[c]
        h = hessian[c]
        h[:] = 0.0
        if r == 0.0:
            impulse[c, 0], impulse[c, 1], impulse[c, 2] = 0.0, 0.0, 0.0
            continue
        p0, p1, p2, region = _project_one(u[c, 0], u[c, 1], u[c, 2], bound[c], mu, equality, r, multiplier[c])
        impulse[c, 0], impulse[c, 1], impulse[c, 2] = p0, p1, p2
        if equality:
            h[0] = r if equality & 1 else 0.0
            h[3] = r if equality & 2 else 0.0
            h[5] = r if equality & 4 else 0.0
        elif region == 1:
            h[0], h[3], h[5] = r, r, r
        elif region == 2:
            x1, x2 = multiplier[c, 1] - r * u[c, 1], multiplier[c, 2] - r * u[c, 2]
            size = np.sqrt(x1 * x1 + x2 * x2)
            d1, d2 = (x1 / size, x2 / size) if size > 0.0 else (0.0, 0.0)
            a = r / (1.0 + mu * mu)
            t = r * mu * p0 / size if size > 0.0 else 0.0
            h[0], h[1], h[2] = a, a * mu * d1, a * mu * d2
            h[3] = a * mu * mu * d1 * d1 + t * (1.0 - d1 * d1)
            h[4] = (a * mu * mu - t) * d1 * d2
            h[5] = a * mu * mu * d2 * d2 + t * (1.0 - d2 * d2)


@inline
def _contact_work(length, u, change, bound, friction, bilateral, rho, multiplier):
    """Return the work of the impulses at u + length change along the change."""
    total = 0.0
    for c in range(u.shape[0]):
        if rho[c] == 0.0:
            continue
        e0, e1, e2 = change[c, 0], change[c, 1], change[c, 2]
        u0, u1, u2 = u[c, 0] + length * e0, u[c, 1] + length * e1, u[c, 2] + length * e2
        p0, p1, p2, _ = _project_one(u0, u1, u2, bound[c], friction[c], bilateral[c], rho[c], multiplier[c])
        total += p0 * e0 + p1 * e1 + p2 * e2
    return total


@kernel
def line_search(linear, square, u, change, bound, friction, bilateral, rho, multiplier):
    """Return the step length along a Newton step: the slope is linear + length square minus the contacts' work.

    The slope increases with the length, from below zero. A full step is taken unless the function rises at its end.
    """
    start = linear - _contact_work(0.0, u, change, bound, friction, bilateral, rho, multiplier)
    end = linear + square - _contact_work(1.0, u, change, bound, friction, bilateral, rho, multiplier)
    if end <= 0.1 * abs(start) or not start < 0.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        value = (
            linear
            + middle * square
            - _contact_work(middle, u, change, bound, friction, bilateral, rho, multiplier)
        )
        if abs(value) <= 0.1 * abs(start):
            return middle
        if value > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@kernel
def dot(a, b):
    """Return the sum of products of two arrays [n, 3], in order."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i, 0] * b[i, 0] + a[i, 1] * b[i, 1] + a[i, 2] * b[i, 2]
    return total


@kernel
def convergence_error(
    u,
    change,
    length,
    slip,
    friction,
    rho,
    compliance,
    before,
    hessian,
    impulse,
    multiplier,
    row_tolerance_scale,
):
    """Return the errors of the contacts after a step, as relative velocities [m/s].

    The first is the Newton error, the deviation of the impulses from their linearisation (times the compliance of the
    contacts); the second the multiplier error, the deviation of impulses and slip speeds from those assumed in the
    step. Both are weighted by `row_tolerance_scale`.
    """
    newton_error = 0.0
    multiplier_error = 0.0
    for c in range(u.shape[0]):
        if rho[c] == 0.0:
            continue
        h = hessian[c]
        e0, e1, e2 = length * change[c, 0], length * change[c, 1], length * change[c, 2]
        f0 = before[c, 0] - h[0] * e0 - h[1] * e1 - h[2] * e2 - impulse[c, 0]
        f1 = before[c, 1] - h[1] * e0 - h[3] * e1 - h[4] * e2 - impulse[c, 1]
        f2 = before[c, 2] - h[2] * e0 - h[4] * e1 - h[5] * e2 - impulse[c, 2]
        newton_error = max(
            newton_error, row_tolerance_scale[c] * compliance[c] * max(abs(f0), max(abs(f1), abs(f2)))
        )
        g0 = abs(impulse[c, 0] - multiplier[c, 0])
        g1 = abs(impulse[c, 1] - multiplier[c, 1])
        g2 = abs(impulse[c, 2] - multiplier[c, 2])
        multiplier_error = max(multiplier_error, row_tolerance_scale[c] * max(g0, max(g1, g2)) / rho[c])
        if impulse[c, 0] > 0.0 and friction[c] > 0.0:
            speed = friction[c] * np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
            multiplier_error = max(multiplier_error, row_tolerance_scale[c] * abs(speed - slip[c]))
    return newton_error, multiplier_error


@inline
def _add_product(g, h, f, out, k):
    """Add G^T H F to block k of `out`, column by column."""
    for j in range(3):
        a0 = h[0] * f[j] + h[1] * f[3 + j] + h[2] * f[6 + j]
        a1 = h[1] * f[j] + h[3] * f[3 + j] + h[4] * f[6 + j]
        a2 = h[2] * f[j] + h[4] * f[3 + j] + h[5] * f[6 + j]
        for i in range(3):
            out[k, 3 * j + i] += g[i] * a0 + g[3 + i] * a1 + g[6 + i] * a2


@kernel
def add_diagonal_hessian(ptr, row, block, hessian, diagonal, blocks):
    """Add the diagonal blocks of G^T H G to a matrix."""
    for c in range(ptr.shape[0] - 1):
        h = hessian[c]
        if h[0] == 0.0 and h[3] == 0.0 and h[5] == 0.0:
            continue
        for e in range(ptr[c], ptr[c + 1]):
            _add_product(block[e], h, block[e], blocks, diagonal[row[e]])


@kernel
def add_contact_hessian(ptr, block, hessian, couplings, blocks):
    """Add G^T H G to a matrix; `couplings` are the indices of the blocks, contact by contact."""
    q = 0
    for c in range(ptr.shape[0] - 1):
        h = hessian[c]
        if h[0] == 0.0 and h[3] == 0.0 and h[5] == 0.0:
            q += (ptr[c + 1] - ptr[c]) ** 2
            continue
        for e in range(ptr[c], ptr[c + 1]):
            for f in range(ptr[c], ptr[c + 1]):
                _add_product(block[e], h, block[f], blocks, couplings[q])
                q += 1


@kernel
def coupling_places(ptr, row, indptr, indices, couplings):
    """Find the indices of the blocks that couple the rows of each contact, in a pattern that has them all."""
    q = 0
    for c in range(ptr.shape[0] - 1):
        for e in range(ptr[c], ptr[c + 1]):
            i = row[e]
            for f in range(ptr[c], ptr[c + 1]):
                couplings[q] = indptr[i] + np.searchsorted(indices[indptr[i] : indptr[i + 1]], row[f])
                q += 1


@kernel
def coupling_keys(ptr, row, count, keys):
    """Write the couplings i != j of the contacts as i * count + j; returns their number."""
    q = 0
    for c in range(ptr.shape[0] - 1):
        for e in range(ptr[c], ptr[c + 1]):
            for f in range(ptr[c], ptr[c + 1]):
                if row[e] != row[f]:
                    keys[q] = np.int64(row[e]) * count + row[f]
                    q += 1
    return q


@kernel
def merge_pattern(indptr, indices, keys, merged_indptr, merged_indices, place, diagonal):
    """Merge sorted extra couplings into a pattern; `place` receives its blocks' indices. Returns their number."""
    count = np.int64(indptr.shape[0] - 1)
    q = 0
    m = 0
    for i in range(count):
        k = indptr[i]
        while True:
            base = np.int64(indices[k]) if k < indptr[i + 1] else count
            extra = keys[q] - i * count if q < keys.shape[0] and keys[q] < (i + 1) * count else count
            if base == count and extra == count:
                break
            column = min(base, extra)
            if column == i:
                diagonal[i] = m
            merged_indices[m] = column
            if base == column:
                place[k] = m
                k += 1
            if extra == column:
                q += 1
            m += 1
        merged_indptr[i + 1] = m
    return m


@kernel
def effective_masses(ptr, row, block, inverse_mass, out):
    """Set out[c] to the effective masses 1 / (g D^-1 g) [kg] of the three directions; zero where nothing can move."""
    for c in range(ptr.shape[0] - 1):
        for k in range(3):
            total = 0.0
            for e in range(ptr[c], ptr[c + 1]):
                w = inverse_mass[row[e]]
                g0, g1, g2 = block[e, 3 * k], block[e, 3 * k + 1], block[e, 3 * k + 2]
                total += g0 * (w[0] * g0 + w[3] * g1 + w[6] * g2)
                total += g1 * (w[1] * g0 + w[4] * g1 + w[7] * g2)
                total += g2 * (w[2] * g0 + w[5] * g1 + w[8] * g2)
            out[c, k] = 1.0 / total if total > 0.0 else 0.0


@kernel
def gauss_seidel_velocities(
    ptr, row, block, offset, target, friction, inverse_mass, effective, sweeps, impulse, V
):
    """Gauss-Seidel for impulses that change velocities by a lumped mass: u_n >= target, and friction.

    Args:
        ptr: First entries of the contacts, see `ConstraintRows`.
        row: Rows.
        block: Blocks.
        offset: Offsets.
        target: Least normal velocity [c].
        friction: Coulomb's coefficients [c].
        inverse_mass: Inverse masses of the rows [N, 9].
        effective: Effective masses of the three directions [c, 3].
        sweeps: Sweeps.
        impulse: Impulses, changed in place [c, 3].
        V: Velocities, changed in place.
    """
    for _ in range(sweeps):
        for c in range(ptr.shape[0] - 1):
            u0, u1, u2 = offset[c, 0] - target[c], offset[c, 1], offset[c, 2]
            for e in range(ptr[c], ptr[c + 1]):
                g = block[e]
                v0, v1, v2 = V[row[e], 0], V[row[e], 1], V[row[e], 2]
                u0 += g[0] * v0 + g[1] * v1 + g[2] * v2
                u1 += g[3] * v0 + g[4] * v1 + g[5] * v2
                u2 += g[6] * v0 + g[7] * v1 + g[8] * v2
            p0 = max(0.0, impulse[c, 0] - effective[c, 0] * u0)
            p1 = impulse[c, 1] - effective[c, 1] * u1
            p2 = impulse[c, 2] - effective[c, 2] * u2
            size = np.sqrt(p1 * p1 + p2 * p2)
            limit = friction[c] * p0
            if size > limit:
                p1 *= limit / size
                p2 *= limit / size
            d0, d1, d2 = p0 - impulse[c, 0], p1 - impulse[c, 1], p2 - impulse[c, 2]
            impulse[c, 0], impulse[c, 1], impulse[c, 2] = p0, p1, p2
            for e in range(ptr[c], ptr[c + 1]):
                g = block[e]
                i = row[e]
                w = inverse_mass[i]
                a0 = g[0] * d0 + g[3] * d1 + g[6] * d2
                a1 = g[1] * d0 + g[4] * d1 + g[7] * d2
                a2 = g[2] * d0 + g[5] * d1 + g[8] * d2
                V[i, 0] += w[0] * a0 + w[3] * a1 + w[6] * a2
                V[i, 1] += w[1] * a0 + w[4] * a1 + w[7] * a2
                V[i, 2] += w[2] * a0 + w[5] * a1 + w[8] * a2


@kernel
def solve_diagonal_contacts(row, frame, offset, bound, friction, bilateral, fixed, impulse, x_offset, x):
    """Remove the remaining error of contacts of one free row each: u_n + bound = 0, and u_t = 0 where they stick.

    The change is below the tolerance of the solve; without it nodes would creep, or end inside.
    """
    for _ in range(20):
        largest = 0.0
        for c in range(row.shape[0]):
            i = row[c]
            p0 = impulse[c, 0]
            if not p0 > 0.0 or bilateral[c] or fixed[i] != 0:
                continue
            limit = (1.0 - 1e-9) * friction[c] * p0
            sticks = impulse[c, 1] ** 2 + impulse[c, 2] ** 2 < limit * limit
            v0, v1, v2 = x_offset[i, 0] + x[i, 0], x_offset[i, 1] + x[i, 1], x_offset[i, 2] + x[i, 2]
            for k in range(3 if sticks else 1):
                d0, d1, d2 = frame[c, 3 * k], frame[c, 3 * k + 1], frame[c, 3 * k + 2]
                u = d0 * v0 + d1 * v1 + d2 * v2 + offset[c, k]
                if k == 0:
                    u += bound[c]
                largest = max(largest, abs(u))
                x[i, 0] -= u * d0
                x[i, 1] -= u * d1
                x[i, 2] -= u * d2
        if largest < 1e-15:
            break
