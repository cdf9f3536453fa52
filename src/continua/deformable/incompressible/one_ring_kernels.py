"""Compiled one-ring operators: node volumes, the divergence D = dV/dx, its transpose, and projections onto contacts."""

from __future__ import annotations

import numpy as np
from numba import prange, uint32, uint64

from continua.numerics import inline, kernel, kernel_pair

CHUNK = 256  # rows per chunk


@kernel_pair
def tet_volumes(x, cells, volume, gradient):
    """Set the signed volume of every tetrahedron, and its gradient in the node positions [m, 12].

    The gradients are cofactors of the edges, without a division: they are finite for flat and inverted tetrahedra.
    """
    m = cells.shape[0]
    for c in prange((m + CHUNK - 1) // CHUNK):
        for e in range(c * CHUNK, min(m, (c + 1) * CHUNK)):
            i, j, k, l = cells[e, 0], cells[e, 1], cells[e, 2], cells[e, 3]
            a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            b0, b1, b2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
            c0, c1, c2 = x[l, 0] - x[i, 0], x[l, 1] - x[i, 1], x[l, 2] - x[i, 2]
            g = gradient[e]
            g[3], g[4], g[5] = (b1 * c2 - b2 * c1) / 6.0, (b2 * c0 - b0 * c2) / 6.0, (b0 * c1 - b1 * c0) / 6.0
            g[6], g[7], g[8] = (c1 * a2 - c2 * a1) / 6.0, (c2 * a0 - c0 * a2) / 6.0, (c0 * a1 - c1 * a0) / 6.0
            g[9], g[10], g[11] = (
                (a1 * b2 - a2 * b1) / 6.0,
                (a2 * b0 - a0 * b2) / 6.0,
                (a0 * b1 - a1 * b0) / 6.0,
            )
            for d in range(3):
                g[d] = -(g[3 + d] + g[6 + d] + g[9 + d])
            volume[e] = a0 * g[3] + a1 * g[4] + a2 * g[5]


@kernel_pair
def triangle_areas(x, cells, volume, gradient):
    """Set the signed area of every triangle in the x-y plane, and its gradient in the node positions [m, 9]."""
    m = cells.shape[0]
    for c in prange((m + CHUNK - 1) // CHUNK):
        for e in range(c * CHUNK, min(m, (c + 1) * CHUNK)):
            i, j, k = cells[e, 0], cells[e, 1], cells[e, 2]
            a0, a1 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
            b0, b1 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]
            g = gradient[e]
            g[3], g[4], g[5] = 0.5 * b1, -0.5 * b0, 0.0
            g[6], g[7], g[8] = -0.5 * a1, 0.5 * a0, 0.0
            for d in range(3):
                g[d] = -(g[3 + d] + g[6 + d])
            volume[e] = 0.5 * (a0 * b1 - a1 * b0)


@kernel_pair
def surface_areas(x, cells, volume, gradient):
    """Set the area of every triangle in space, and its gradient in the node positions [m, 9]; 0 where it has none."""
    m = cells.shape[0]
    for c in prange((m + CHUNK - 1) // CHUNK):
        for e in range(c * CHUNK, min(m, (c + 1) * CHUNK)):
            i, j, k = cells[e, 0], cells[e, 1], cells[e, 2]
            a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            b0, b1, b2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
            n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
            twice = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
            h = 0.5 / twice if twice > 0.0 else 0.0
            g = gradient[e]
            g[3], g[4], g[5] = h * (b1 * n2 - b2 * n1), h * (b2 * n0 - b0 * n2), h * (b0 * n1 - b1 * n0)
            g[6], g[7], g[8] = h * (n1 * a2 - n2 * a1), h * (n2 * a0 - n0 * a2), h * (n0 * a1 - n1 * a0)
            for d in range(3):
                g[d] = -(g[3 + d] + g[6 + d])
            volume[e] = 0.5 * twice


@inline
def _add_triangle(y, g, a, b, c):
    """Add the gradient of det(y_a, y_b, y_c) / 12 to g [24], and return that determinant."""
    a0, a1, a2 = y[3 * a], y[3 * a + 1], y[3 * a + 2]
    b0, b1, b2 = y[3 * b], y[3 * b + 1], y[3 * b + 2]
    c0, c1, c2 = y[3 * c], y[3 * c + 1], y[3 * c + 2]
    n0, n1, n2 = b1 * c2 - b2 * c1, b2 * c0 - b0 * c2, b0 * c1 - b1 * c0
    g[3 * a] += n0 / 12.0
    g[3 * a + 1] += n1 / 12.0
    g[3 * a + 2] += n2 / 12.0
    g[3 * b] += (c1 * a2 - c2 * a1) / 12.0
    g[3 * b + 1] += (c2 * a0 - c0 * a2) / 12.0
    g[3 * b + 2] += (c0 * a1 - c1 * a0) / 12.0
    g[3 * c] += (a1 * b2 - a2 * b1) / 12.0
    g[3 * c + 1] += (a2 * b0 - a0 * b2) / 12.0
    g[3 * c + 2] += (a0 * b1 - a1 * b0) / 12.0
    return (a0 * n0 + a1 * n1 + a2 * n2) / 12.0


@kernel_pair
def hex_volumes(x, cells, faces, volume, gradient):
    """Set the signed volume of every trilinear hexahedron, and its gradient in the node positions [m, 24].

    The flux through a bilinear face is the mean of those through its two divisions into triangles.
    """
    m = cells.shape[0]
    for c in prange((m + CHUNK - 1) // CHUNK):
        y = np.zeros(24)
        for e in range(c * CHUNK, min(m, (c + 1) * CHUNK)):
            g = gradient[e]
            for k in range(8):
                for d in range(3):
                    y[3 * k + d] = x[cells[e, k], d] - x[cells[e, 0], d]
                    g[3 * k + d] = 0.0
            total = 0.0
            for f in range(6):
                i, j, k, l = faces[f, 0], faces[f, 1], faces[f, 2], faces[f, 3]
                total += _add_triangle(y, g, i, j, k) + _add_triangle(y, g, i, k, l)
                total += _add_triangle(y, g, i, j, l) + _add_triangle(y, g, j, k, l)
            for d in range(3):
                rest = 0.0
                for k in range(1, 8):
                    rest += g[3 * k + d]
                g[d] = -rest
            volume[e] = total


@kernel_pair
def node_volumes(inc_indptr, inc_codes, corners, volume, out):
    """Set out[i] to the volume of node i: the share 1/corners of the signed volumes of its elements."""
    n = out.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            total = 0.0
            for q in range(inc_indptr[i], inc_indptr[i + 1]):
                total += volume[inc_codes[q] // corners]
            out[i] = total / corners


@kernel_pair
def fill_operators(indptr, inc_indptr, inc_codes, slots, corners, gradient, divergence, transposed):
    """Set the blocks D_ij = dV_i/dx_j, and the blocks of the transposed matrix, D_ji, in the same pattern [nnz, 3]."""
    n = indptr.shape[0] - 1
    share = 1.0 / corners
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            first = indptr[i]
            for k in range(first, indptr[i + 1]):
                for d in range(3):
                    divergence[k, d] = 0.0
                    transposed[k, d] = 0.0
            for q in range(inc_indptr[i], inc_indptr[i + 1]):
                e, a = inc_codes[q] // corners, inc_codes[q] % corners
                for b in range(corners):
                    k = first + slots[q, b]
                    for d in range(3):
                        divergence[k, d] += share * gradient[e, 3 * b + d]
                        transposed[k, d] += share * gradient[e, 3 * a + d]


@inline
def _divergence_row(indptr, indices, divergence, v, i):
    s0, s1, s2 = 0.0, 0.0, 0.0  # one sum per direction: additions that do not wait for each other
    for k in range(uint64(indptr[i]), uint64(indptr[i + 1])):
        j = uint32(indices[k])
        s0 += divergence[k, 0] * v[j, 0]
        s1 += divergence[k, 1] * v[j, 1]
        s2 += divergence[k, 2] * v[j, 2]
    return s0 + s1 + s2


@inline
def _force_row(indptr, indices, transposed, p, i):
    s0, s1, s2 = 0.0, 0.0, 0.0
    for k in range(uint64(indptr[i]), uint64(indptr[i + 1])):
        value = p[uint32(indices[k])]
        s0 += transposed[k, 0] * value
        s1 += transposed[k, 1] * value
        s2 += transposed[k, 2] * value
    return s0, s1, s2


@kernel_pair
def apply_divergence(indptr, indices, divergence, v, out):
    """Set out = D v [m3/s]."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            out[i] = _divergence_row(indptr, indices, divergence, v, i)


@kernel_pair
def apply_transposed(indptr, indices, transposed, p, out):
    """Set out = D^T p: the forces [N] of pressures [Pa]."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            out[i, 0], out[i, 1], out[i, 2] = _force_row(indptr, indices, transposed, p, i)


@kernel_pair
def accelerations(indptr, indices, transposed, inverse_mass, p, out):
    """Set out = M^-1 D^T p, with nine values of M^-1 per node."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            f0, f1, f2 = _force_row(indptr, indices, transposed, p, i)
            w = inverse_mass[i]
            out[i, 0] = w[0] * f0 + w[3] * f1 + w[6] * f2
            out[i, 1] = w[1] * f0 + w[4] * f1 + w[7] * f2
            out[i, 2] = w[2] * f0 + w[5] * f1 + w[8] * f2


@kernel_pair
def divergence_and_product(indptr, indices, divergence, v, z, out, partial):
    """Set out = D v, and the sums of z out over chunks of rows."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        total = 0.0
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            out[i] = _divergence_row(indptr, indices, divergence, v, i)
            total += z[i] * out[i]
        partial[c] = total


@kernel_pair
def next_directions(beta, preconditioner, z, az, p, ap, partial):
    """Set p = z + beta p and A p = A z + beta A p, and the sums of A p times the preconditioner times A p."""
    n = z.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        total = 0.0
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            p[i] = z[i] + beta * p[i]
            ap[i] = az[i] + beta * ap[i]
            total += preconditioner[i] * ap[i] * ap[i]
        partial[c] = total


@kernel_pair
def advance(alpha, preconditioner, volume, p, ap, x, r, z, partial):
    """Add alpha p to x, subtract alpha A p from the residual r and from z, r preconditioned.

    `partial` gets the largest |r| / volume of each chunk, or NaN.
    """
    n = x.shape[0]
    for c in prange((n + CHUNK - 1) // CHUNK):
        largest = 0.0
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            x[i] += alpha * p[i]
            r[i] -= alpha * ap[i]
            z[i] = preconditioner[i] * r[i]
            rate = abs(r[i]) / volume[i]
            if not rate <= largest:
                largest = rate
        partial[c] = largest


@kernel_pair
def operator_diagonal(indptr, indices, divergence, inverse_mass, out):
    """Set out to the diagonal of D M^-1 D^T."""
    n = indptr.shape[0] - 1
    for c in prange((n + CHUNK - 1) // CHUNK):
        for i in range(c * CHUNK, min(n, (c + 1) * CHUNK)):
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                w = inverse_mass[indices[k]]
                g0, g1, g2 = divergence[k, 0], divergence[k, 1], divergence[k, 2]
                total += g0 * (w[0] * g0 + w[3] * g1 + w[6] * g2)
                total += g1 * (w[1] * g0 + w[4] * g1 + w[7] * g2)
                total += g2 * (w[2] * g0 + w[5] * g1 + w[8] * g2)
            out[i] = total


@kernel
def project_out(ptr, row, block, bilateral, inverse_mass, effective, sweeps, V):
    """Remove the relative velocities of constraints from changes of velocity V by symmetric Gauss-Seidel sweeps.

    Every sweep applies P_1 ... P_n ... P_1, with P = 1 - M^-1 c (c^T M^-1 c)^-1 c^T for the normal direction of a
    contact, or for the directions of a bilateral constraint. Times M^-1 it is symmetric for any number of sweeps.
    """
    count = ptr.shape[0] - 1
    for _ in range(sweeps):
        for s in range(2 * count):
            c = s if s < count else 2 * count - 1 - s
            bits = bilateral[c] if bilateral[c] else 1
            for t in range(3):
                d = t if s < count else 2 - t
                if not (bits >> d) & 1:
                    continue
                u = 0.0
                for e in range(ptr[c], ptr[c + 1]):
                    i = row[e]
                    u += (
                        block[e, 3 * d] * V[i, 0]
                        + block[e, 3 * d + 1] * V[i, 1]
                        + block[e, 3 * d + 2] * V[i, 2]
                    )
                p = -effective[c, d] * u
                if p == 0.0:
                    continue
                for e in range(ptr[c], ptr[c + 1]):
                    i = row[e]
                    w = inverse_mass[i]
                    a0, a1, a2 = p * block[e, 3 * d], p * block[e, 3 * d + 1], p * block[e, 3 * d + 2]
                    V[i, 0] += w[0] * a0 + w[3] * a1 + w[6] * a2
                    V[i, 1] += w[1] * a0 + w[4] * a1 + w[7] * a2
                    V[i, 2] += w[2] * a0 + w[5] * a1 + w[8] * a2


@kernel
def largest_rate(values, volume):
    """Return the largest |values| / volume."""
    largest = 0.0
    for i in range(values.shape[0]):
        rate = abs(values[i]) / volume[i]
        if not rate <= largest:
            largest = rate
    return largest
