"""Compiled functions of the semismooth Newton method: local compliance, predicted impulses, linearised contacts.

Symmetric 3x3 matrices of contacts are stored as six values (nn, n1, n2, 11, 12, 22), with 1 and 2 the tangents.
"""

from __future__ import annotations

import numpy as np

from continua.numerics import inline, kernel

SEPARATION_SLACK = 0.01
"""Part of the speed at which contacts move overlapping surfaces apart that they may be off."""

ACTIVE_SWEEPS = 8
"""Most sweeps over the active contacts between sweeps over all."""

OPEN, STICKS, SLIDES, BILATERAL = 0, 1, 2, 3
"""States of a contact."""


@inline
def _times(w, x0, x1, x2):
    return (
        w[0] * x0 + w[1] * x1 + w[2] * x2,
        w[1] * x0 + w[3] * x1 + w[4] * x2,
        w[2] * x0 + w[4] * x1 + w[5] * x2,
    )


@kernel
def local_compliance(ptr, row, block, node_compliance, out):
    """Set out[c] to G C G^T of each contact [1/kg], with C the compliance of single rows, six values each."""
    for c in range(ptr.shape[0] - 1):
        for q in range(6):
            out[c, q] = 0.0
        for e in range(ptr[c], ptr[c + 1]):
            g, w = block[e], node_compliance[row[e]]
            x0, x1, x2 = _times(w, g[0], g[1], g[2])
            y0, y1, y2 = _times(w, g[3], g[4], g[5])
            z0, z1, z2 = _times(w, g[6], g[7], g[8])
            out[c, 0] += g[0] * x0 + g[1] * x1 + g[2] * x2
            out[c, 1] += g[3] * x0 + g[4] * x1 + g[5] * x2
            out[c, 2] += g[6] * x0 + g[7] * x1 + g[8] * x2
            out[c, 3] += g[3] * y0 + g[4] * y1 + g[5] * y2
            out[c, 4] += g[6] * y0 + g[7] * y1 + g[8] * y2
            out[c, 5] += g[6] * z0 + g[7] * z1 + g[8] * z2


@inline
def _solve_symmetric(w, v0, v1, v2):
    """Return -W^-1 v, or zero if W is singular."""
    a, b, c, d, e, f = w[0], w[1], w[2], w[3], w[4], w[5]
    c00, c01, c02 = d * f - e * e, c * e - b * f, b * e - c * d
    det = a * c00 + b * c01 + c * c02
    if not det > 1e-13 * a * d * f:
        return 0.0, 0.0, 0.0, False
    s = -1.0 / det
    return (
        s * (c00 * v0 + c01 * v1 + c02 * v2),
        s * (c01 * v0 + (a * f - c * c) * v1 + (b * c - a * e) * v2),
        s * (c02 * v0 + (b * c - a * e) * v1 + (a * d - b * b) * v2),
        True,
    )


@inline
def _solve_coulomb(w, v0, v1, v2, mu, p1, p2):
    """Return the impulse of one contact with Coulomb's law, given its compliance W and its velocity without impulse.

    `v0` includes the bound; `p1` and `p2` are a guess of the friction impulse. Where the contact slides, the tangential
    impulse p is opposite to the tangential velocity: with the normal impulse eliminated, (S + s I) p = -t for a factor
    s >= 0, which Newton's method finds from |p| = mu p_n.
    """
    if v0 >= 0.0 or not w[0] > 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0 or not w[3] + w[5] > 0.0:
        return -v0 / w[0], 0.0, 0.0
    x0, x1, x2, good = _solve_symmetric(w, v0, v1, v2)
    if good and x0 > 0.0 and x1 * x1 + x2 * x2 <= mu * mu * x0 * x0:
        return x0, x1, x2
    a, b, d = w[3] - w[1] * w[1] / w[0], w[4] - w[1] * w[2] / w[0], w[5] - w[2] * w[2] / w[0]
    t1, t2 = v1 - w[1] * v0 / w[0], v2 - w[2] * v0 / w[0]
    low, high = 0.0 if good else 1e-9 * (w[3] + w[5]), np.inf  # else S is singular
    s, size = low, p1 * p1 + p2 * p2
    if size > 0.0:
        s = max(low, -(p1 * (t1 + a * p1 + b * p2) + p2 * (t2 + b * p1 + d * p2)) / size)
    for _ in range(40):
        scale = 1.0 / ((a + s) * (d + s) - b * b)
        p1, p2 = scale * (b * t2 - (d + s) * t1), scale * (b * t1 - (a + s) * t2)
        q0 = -(v0 + w[1] * p1 + w[2] * p2) / w[0]
        size = np.sqrt(p1 * p1 + p2 * p2)
        if not size > 0.0:
            break
        ratio = mu * q0 / size - 1.0  # nearly linear in s, as |p| is nearly proportional to 1 / (const + s)
        if abs(ratio) <= 1e-12:
            break
        if ratio > 0.0:
            high = s
        else:
            low = s
        e1, e2 = scale * (b * p2 - (d + s) * p1), scale * (b * p1 - (a + s) * p2)  # dp / ds
        slope = -mu * ((w[1] * e1 + w[2] * e2) / w[0] + q0 * (p1 * e1 + p2 * e2) / (size * size)) / size
        before = s
        s = s - ratio / slope if slope > 0.0 else np.inf
        if not low < s < high:
            s = 0.5 * (low + high) if high < np.inf else 2.0 * before + w[3] + w[5]
        if s == before:
            break
    q0 = max(0.0, -(v0 + w[1] * p1 + w[2] * p2) / w[0])
    size, limit = np.sqrt(p1 * p1 + p2 * p2), mu * q0
    if size > limit:  # exactly on the cone
        p1 *= limit / size
        p2 *= limit / size
    return q0, p1, p2


@inline
def _solve_bilateral(w, v0, v1, v2, mask):
    """Return the impulse of a joint that sets the velocities of the directions in `mask` to zero."""
    if mask == 7:
        x0, x1, x2, _ = _solve_symmetric(w, v0, v1, v2)
        return x0, x1, x2
    p0, p1, p2 = 0.0, 0.0, 0.0
    for _ in range(20 if mask & (mask - 1) else 1):  # Gauss-Seidel if there is more than one direction
        if mask & 1 and w[0] > 0.0:
            p0 = -(v0 + w[1] * p1 + w[2] * p2) / w[0]
        if mask & 2 and w[3] > 0.0:
            p1 = -(v1 + w[1] * p0 + w[4] * p2) / w[3]
        if mask & 4 and w[5] > 0.0:
            p2 = -(v2 + w[2] * p0 + w[4] * p1) / w[5]
    return p0, p1, p2


@kernel
def predict_impulses(
    ptr, row, block, u, bound, friction, bilateral, compliance, regularisation, node_compliance, touched, tolerance,
    reduction, max_sweeps, impulse, change,
):  # fmt: skip
    """Find impulses of contacts that obey Coulomb's law where each row moves by its own compliance only.

    Gauss-Seidel sweeps over the contacts, each of which is solved exactly. Between sweeps over all contacts are some
    over those which have an impulse.

    Args:
        ptr: First entries of the contacts, see `ConstraintRows`.
        row: Rows of V.
        block: Blocks of G.
        u: Relative velocities at the impulses of the start [c, 3].
        bound: b in u_n + b >= 0, shape [c].
        friction: Coulomb's coefficients [c].
        bilateral: Directions that are equalities, see `ConstraintRows`.
        compliance: Compliance of the contacts [c, 6], see `local_compliance`.
        regularisation: What is added to their normal compliance [c].
        node_compliance: Compliance of the rows [n, 6].
        touched: The rows that occur.
        tolerance: Change of a relative velocity in a sweep [m/s] at which to stop.
        reduction: The same as a fraction of the change in the first sweep.
        max_sweeps: Most sweeps.
        impulse: Impulses, changed in place [c, 3].
        change: Work space: changes of the velocities of the rows [n, 3].

    Returns:
        The error of the start: by how much relative velocities deviate from Coulomb's law at its impulses [m/s], which
        is by how much each contact alone would change its velocity.
    """
    for k in range(touched.shape[0]):
        i = touched[k]
        change[i, 0], change[i, 1], change[i, 2] = 0.0, 0.0, 0.0
    count = ptr.shape[0] - 1
    first_change = 0.0
    error = 0.0
    w = np.zeros(6)
    active, active_count, partial = np.empty(count, np.int32), 0, 0
    for sweep in range(-1, max_sweeps):  # the first one finds the error of the start and changes nothing
        largest = 0.0
        is_full = sweep <= 0 or partial == 0
        for k in range(count if is_full else active_count):
            c = k if is_full else active[k]
            if not compliance[c, 0] + compliance[c, 3] + compliance[c, 5] > 0.0:
                impulse[c, 0], impulse[c, 1], impulse[c, 2] = 0.0, 0.0, 0.0
                continue
            u0, u1, u2 = u[c, 0], u[c, 1], u[c, 2]
            for e in range(ptr[c], ptr[c + 1]):
                g, i = block[e], row[e]
                u0 += g[0] * change[i, 0] + g[1] * change[i, 1] + g[2] * change[i, 2]
                u1 += g[3] * change[i, 0] + g[4] * change[i, 1] + g[5] * change[i, 2]
                u2 += g[6] * change[i, 0] + g[7] * change[i, 1] + g[8] * change[i, 2]
            p0, p1, p2 = impulse[c, 0], impulse[c, 1], impulse[c, 2]
            if p0 == 0.0 and p1 == 0.0 and p2 == 0.0 and u0 + bound[c] >= 0.0 and bilateral[c] == 0:
                continue
            for q in range(6):
                w[q] = compliance[c, q]
            y0, y1, y2 = _times(w, p0, p1, p2)
            v0, v1, v2 = u0 - y0 + bound[c], u1 - y1, u2 - y2  # without this impulse
            w[0] += regularisation[c]
            if bilateral[c]:
                q0, q1, q2 = _solve_bilateral(w, v0, v1, v2, bilateral[c])
            else:
                q0, q1, q2 = _solve_coulomb(w, v0, v1, v2, friction[c], p1, p2)
            d0, d1, d2 = q0 - p0, q1 - p1, q2 - p2
            y0, y1, y2 = _times(w, d0, d1, d2)
            if sweep < 0:
                slack = SEPARATION_SLACK * max(0.0, -bound[c])
                largest = max(largest, max(abs(y0), max(abs(y1), abs(y2))) - slack)
                continue
            largest = max(largest, max(abs(y0), max(abs(y1), abs(y2))))
            impulse[c, 0], impulse[c, 1], impulse[c, 2] = q0, q1, q2
            for e in range(ptr[c], ptr[c + 1]):
                g, i = block[e], row[e]
                a0, a1, a2 = _times(
                    node_compliance[i],
                    g[0] * d0 + g[3] * d1 + g[6] * d2,
                    g[1] * d0 + g[4] * d1 + g[7] * d2,
                    g[2] * d0 + g[5] * d1 + g[8] * d2,
                )
                change[i, 0] += a0
                change[i, 1] += a1
                change[i, 2] += a2
        if sweep < 0:
            error = largest
            if not np.isfinite(error):
                break
            continue
        if sweep == 0:
            first_change = largest
        if not np.isfinite(largest):
            break
        is_small = largest <= max(tolerance, reduction * first_change)
        if is_full:
            if is_small:
                break
            active_count = 0
            for c in range(count):
                if impulse[c, 0] != 0.0 or bilateral[c] != 0:
                    active[active_count] = c
                    active_count += 1
            partial = ACTIVE_SWEEPS
        else:
            partial = 0 if is_small else partial - 1
    return error


@kernel
def linearise_contacts(
    u,
    bound,
    friction,
    bilateral,
    rho,
    regularisation,
    impulse,
    coupled,
    state,
    derivative,
    symmetric,
    expected,
):
    """Linearise the contacts at predicted impulses, with the state that these say: open, sticking, or sliding.

    The impulse at relative velocities u + d is `expected` - `derivative` d.

    Args:
        u: Relative velocities [c, 3].
        bound: b in u_n + b >= 0, shape [c].
        friction: Coulomb's coefficients [c].
        bilateral: Directions that are equalities.
        rho: Penalty of the contacts [kg], shape [c].
        regularisation: Compliance that is added to the normal direction [1/kg], shape [c].
        impulse: The predicted impulses [c, 3].
        coupled: Whether friction follows the normal impulse, or stays as it was predicted.
        state: Receives the states [c].
        derivative: Receives minus the derivatives of the impulses, row by row [c, 9]; not symmetric where a contact
            slides, as friction follows from the normal impulse.
        symmetric: Receives their symmetric positive part, without that [c, 6].
        expected: Receives the impulses at u [c, 3].
    """
    for c in range(u.shape[0]):
        h, s = derivative[c], symmetric[c]
        for q in range(9):
            h[q] = 0.0
        for q in range(6):
            s[q] = 0.0
        r = rho[c]
        p0, p1, p2 = impulse[c, 0], impulse[c, 1], impulse[c, 2]
        expected[c, 0], expected[c, 1], expected[c, 2] = 0.0, 0.0, 0.0
        state[c] = OPEN
        if r == 0.0:
            continue
        if bilateral[c]:
            state[c] = BILATERAL
            u0 = u[c, 0] + bound[c]
            if bilateral[c] & 1:
                h[0], s[0], expected[c, 0] = r, r, p0 - r * u0
            if bilateral[c] & 2:
                h[4], s[3], expected[c, 1] = r, r, p1 - r * u[c, 1]
            if bilateral[c] & 4:
                h[8], s[5], expected[c, 2] = r, r, p2 - r * u[c, 2]
            continue
        if not p0 > 0.0:
            continue
        stiffness = r / (1.0 + r * regularisation[c])
        n = (p0 - r * (u[c, 0] + bound[c])) / (1.0 + r * regularisation[c])
        h[0], s[0], expected[c, 0] = stiffness, stiffness, n
        mu = friction[c]
        size = np.sqrt(p1 * p1 + p2 * p2)
        if size < (1.0 - 1e-9) * mu * p0:
            state[c] = STICKS
            h[4], h[8], s[3], s[5] = r, r, r, r
            expected[c, 1], expected[c, 2] = p1 - r * u[c, 1], p2 - r * u[c, 2]
            continue
        state[c] = SLIDES
        if not size > 0.0:
            continue
        d1, d2 = p1 / size, p2 / size
        speed = np.sqrt(u[c, 1] ** 2 + u[c, 2] ** 2)
        g = min(r, mu * p0 / speed) if speed > 0.0 else r  # the direction turns with the velocity
        a, b, d = g * (1.0 - d1 * d1), -g * d1 * d2, g * (1.0 - d2 * d2)
        if coupled:
            h[3], h[6] = mu * stiffness * d1, mu * stiffness * d2
        else:
            n = p0
        h[4], h[5], h[7], h[8] = a, b, b, d
        s[3], s[4], s[5] = a, b, d
        expected[c, 1] = mu * n * d1 - a * u[c, 1] - b * u[c, 2]
        expected[c, 2] = mu * n * d2 - b * u[c, 1] - d * u[c, 2]


@kernel
def add_contact_diagonal(
    ptr, row, block, symmetric, which, touched, factor, relaxation, blocks, diagonal, fixed, extra, inverse, scaled
):  # fmt: skip
    """Add the diagonal blocks of G^T H G to the preconditioner of the rows `touched`.

    Args:
        ptr: First entries of the contacts.
        row: Rows of V.
        block: Blocks of G.
        symmetric: The matrices H [c, 6].
        which: The contacts that are not open.
        touched: The rows that occur.
        factor: Factor of the diagonal blocks.
        relaxation: Relaxation of the preconditioner.
        blocks: Blocks of the matrix.
        diagonal: Index of its diagonal blocks.
        fixed: Rows that are fixed (1), or partly (2); these keep their preconditioner.
        extra: Receives what was added, six values per row [n, 6].
        inverse: Preconditioner, see `ssor_kernels.diagonal_blocks`.
        scaled: The same.
    """
    for k in range(touched.shape[0]):
        for q in range(6):
            extra[touched[k], q] = 0.0
    for k in range(which.shape[0]):
        c = which[k]
        h = symmetric[c]
        for e in range(ptr[c], ptr[c + 1]):
            g, i = block[e], row[e]
            if fixed[i] != 0:
                continue
            x0, x1, x2 = _times(h, factor * g[0], factor * g[3], factor * g[6])
            y0, y1, y2 = _times(h, factor * g[1], factor * g[4], factor * g[7])
            z0, z1, z2 = _times(h, factor * g[2], factor * g[5], factor * g[8])
            extra[i, 0] += g[0] * x0 + g[3] * x1 + g[6] * x2
            extra[i, 1] += g[0] * y0 + g[3] * y1 + g[6] * y2
            extra[i, 2] += g[0] * z0 + g[3] * z1 + g[6] * z2
            extra[i, 3] += g[1] * y0 + g[4] * y1 + g[7] * y2
            extra[i, 4] += g[1] * z0 + g[4] * z1 + g[7] * z2
            extra[i, 5] += g[2] * z0 + g[5] * z1 + g[8] * z2
    keep = 2.0 / relaxation - 1.0
    for k in range(touched.shape[0]):
        i = touched[k]
        if fixed[i] != 0:
            continue
        b, x = blocks[diagonal[i]], extra[i]
        m0, m1, m2, m3, m4, m5 = b[0] + x[0], b[1] + x[1], b[2] + x[2], b[4] + x[3], b[5] + x[4], b[8] + x[5]
        c0, c1, c2 = m3 * m5 - m4 * m4, m4 * m2 - m1 * m5, m1 * m4 - m3 * m2
        det = m0 * c0 + m1 * c1 + m2 * c2
        if not det > 0.0:
            continue
        f = relaxation / det
        inverse[i, 0], inverse[i, 1], inverse[i, 2] = f * c0, f * c1, f * c2
        inverse[i, 3] = f * (m0 * m5 - m2 * m2)
        inverse[i, 4] = f * (m1 * m2 - m0 * m4)
        inverse[i, 5] = f * (m0 * m3 - m1 * m1)
        scaled[i, 0], scaled[i, 1], scaled[i, 2] = keep * m0, keep * m1, keep * m2
        scaled[i, 3], scaled[i, 4], scaled[i, 5] = keep * m3, keep * m4, keep * m5


@kernel
def inverse_norm(inverse, a):
    """Return the square of the norm of a [n, 3] with symmetric blocks [n, 6] as the metric, in order.

    Blocks that are singular up to rounding, as those of locked rows, may make the sum slightly negative.
    """
    total = 0.0
    for i in range(a.shape[0]):
        x0, x1, x2 = _times(inverse[i], a[i, 0], a[i, 1], a[i, 2])
        total += a[i, 0] * x0 + a[i, 1] * x1 + a[i, 2] * x2
    return max(total, 0.0)


@kernel
def append_rigid_motions(ptr, row, block, body, positions, centers, new_ptr, new_row, new_block):
    """Append to the entries of each contact those of the rigid motions of its bodies.

    Args:
        ptr: First entries of the contacts, see `ConstraintRows`.
        row: Rows of V.
        block: Blocks of G.
        body: Body of each row whose rigid motion is meant, or -1, shape [n].
        positions: Positions of the rows [m], shape [n, 3].
        centers: Centres of mass of the bodies [m], shape [k, 3].
        new_ptr: Receives the first entries.
        new_row: Receives the rows; those of the velocity and the angular velocity of body b are n + 2 b and the next.
        new_block: Receives the blocks.

    Returns:
        The number of entries.
    """
    n = body.shape[0]
    q = 0
    for c in range(ptr.shape[0] - 1):
        new_ptr[c] = q
        for e in range(ptr[c], ptr[c + 1]):
            new_row[q] = row[e]
            new_block[q] = block[e]
            q += 1
        first = q
        for e in range(ptr[c], ptr[c + 1]):
            i = row[e]
            b = body[i]
            if b < 0:
                continue
            at = first
            while at < q and new_row[at] != n + 2 * b:
                at += 2
            if at == q:
                new_row[q], new_row[q + 1] = n + 2 * b, n + 2 * b + 1
                for k in range(9):
                    new_block[q, k] = 0.0
                    new_block[q + 1, k] = 0.0
                q += 2
            r0, r1, r2 = (
                positions[i, 0] - centers[b, 0],
                positions[i, 1] - centers[b, 1],
                positions[i, 2] - centers[b, 2],
            )
            for k in range(3):  # g . (w x r) = w . (r x g)
                g0, g1, g2 = block[e, 3 * k], block[e, 3 * k + 1], block[e, 3 * k + 2]
                new_block[at, 3 * k] += g0
                new_block[at, 3 * k + 1] += g1
                new_block[at, 3 * k + 2] += g2
                new_block[at + 1, 3 * k] += r1 * g2 - r2 * g1
                new_block[at + 1, 3 * k + 1] += r2 * g0 - r0 * g2
                new_block[at + 1, 3 * k + 2] += r0 * g1 - r1 * g0
    new_ptr[ptr.shape[0] - 1] = q
    return q


@kernel
def add_balancing_impulses(first, end, constant, response, inverse, mass_arms, factor, x, out):
    """Add a factor times the impulses that balance the internal forces of bodies, see `MomentBalance`.

    Args:
        first: First row of each balanced body [k].
        end: Their last rows + 1.
        constant: Constant part of the moments [N m s], shape [k, 3].
        response: How they depend on x [n, 9].
        inverse: Inverse moments of inertia [k, 3, 3].
        mass_arms: Arms of the rows times the mass [n, 3].
        factor: Factor of the impulses.
        x: The solution [n, 3].
        out: Receives the impulses [n, 3].
    """
    for b in range(first.shape[0]):
        t0, t1, t2 = constant[b, 0], constant[b, 1], constant[b, 2]
        for i in range(first[b], end[b]):
            r = response[i]
            t0 += r[0] * x[i, 0] + r[3] * x[i, 1] + r[6] * x[i, 2]
            t1 += r[1] * x[i, 0] + r[4] * x[i, 1] + r[7] * x[i, 2]
            t2 += r[2] * x[i, 0] + r[5] * x[i, 1] + r[8] * x[i, 2]
        m = inverse[b]
        w0 = -factor * (m[0, 0] * t0 + m[0, 1] * t1 + m[0, 2] * t2)
        w1 = -factor * (m[1, 0] * t0 + m[1, 1] * t1 + m[1, 2] * t2)
        w2 = -factor * (m[2, 0] * t0 + m[2, 1] * t1 + m[2, 2] * t2)
        for i in range(first[b], end[b]):
            a = mass_arms[i]
            out[i, 0] += w1 * a[2] - w2 * a[1]
            out[i, 1] += w2 * a[0] - w0 * a[2]
            out[i, 2] += w0 * a[1] - w1 * a[0]


@kernel
def block_sums(indptr, blocks, first, end, sums):
    """Sum the blocks of the rows first[b]..end[b]-1 for each b, column by column [k, 9]."""
    for b in range(first.shape[0]):
        for q in range(9):
            sums[b, q] = 0.0
        for k in range(indptr[first[b]], indptr[end[b]]):
            for q in range(9):
                sums[b, q] += blocks[k, q]


@kernel
def restore_momenta(first, end, arms, translation, rotation, residual, x):
    """Move balanced bodies so that net impulse and moment of the residual of their systems vanish.

    Args:
        first: First row of each balanced body [k].
        end: Their last rows + 1.
        arms: Arms of the rows from the centre of mass [m], shape [n, 3].
        translation: Inverse of the impulse that translations need [k, 3, 3].
        rotation: Inverse of the moments that rotations need [k, 3, 3].
        residual: The residual [n, 3].
        x: The solution, changed in place [n, 3].
    """
    for b in range(first.shape[0]):
        s0, s1, s2 = 0.0, 0.0, 0.0
        t0, t1, t2 = 0.0, 0.0, 0.0
        for i in range(first[b], end[b]):
            a, f = arms[i], residual[i]
            s0 += f[0]
            s1 += f[1]
            s2 += f[2]
            t0 += a[1] * f[2] - a[2] * f[1]
            t1 += a[2] * f[0] - a[0] * f[2]
            t2 += a[0] * f[1] - a[1] * f[0]
        m = translation[b]
        v0 = m[0, 0] * s0 + m[0, 1] * s1 + m[0, 2] * s2
        v1 = m[1, 0] * s0 + m[1, 1] * s1 + m[1, 2] * s2
        v2 = m[2, 0] * s0 + m[2, 1] * s1 + m[2, 2] * s2
        m = rotation[b]
        w0 = m[0, 0] * t0 + m[0, 1] * t1 + m[0, 2] * t2
        w1 = m[1, 0] * t0 + m[1, 1] * t1 + m[1, 2] * t2
        w2 = m[2, 0] * t0 + m[2, 1] * t1 + m[2, 2] * t2
        for i in range(first[b], end[b]):
            a = arms[i]
            x[i, 0] += v0 + (w1 * a[2] - w2 * a[1])
            x[i, 1] += v1 + (w2 * a[0] - w0 * a[2])
            x[i, 2] += v2 + (w0 * a[1] - w1 * a[0])
