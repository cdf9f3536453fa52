"""Compiled functions for the bending of stiff sheets: moments, forces and stiffness of an energy of all hinge angles.

With the angles theta of the hinges and their derivatives g by the positions, the energy d.K d / 2, d = theta - theta_0,
has the moments m = K d, the forces sum_e m_e g_e and the stiffness sum_ef g_e K_ef g_f^T + sum_e m_e H_e, where H_e is
the second derivative of theta_e. Products K g are stored by rows: row e has the nodes of all hinges that K joins to e.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.shells.hinge_kernels import angle_and_gradient

CHUNK = 64


@kernel_pair
def angles_and_gradients(x, hinges, theta, gradients):
    """Set the angles [h] and their derivatives [h, 12]; both are zero where a triangle has no area."""
    count = hinges.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for h in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            _, theta[h], g = angle_and_gradient(x, hinges, h)
            for c in range(12):
                gradients[h, c] = g[c]


@kernel_pair
def moments(indptr, indices, values, theta, rest, out):
    """Set the moments K (theta - theta_0) [N m]; rest angles are compared by the shorter way round."""
    count = indptr.shape[0] - 1
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for h in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            total = 0.0
            for q in range(indptr[h], indptr[h + 1]):
                f = indices[q]
                total += values[q] * (theta[f] - rest[f])
            out[h] = total


@kernel_pair
def node_forces(indptr, codes, moment, gradients, out):
    """Set the gradient of the energy by the positions [N], shape [n, 3]; codes are 4 e + a of the hinges at a node."""
    count = indptr.shape[0] - 1
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            f0 = f1 = f2 = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                e, a = codes[q] >> 2, 3 * (codes[q] & 3)
                f0 += moment[e] * gradients[e, a]
                f1 += moment[e] * gradients[e, a + 1]
                f2 += moment[e] * gradients[e, a + 2]
            out[i, 0], out[i, 1], out[i, 2] = f0, f1, f2


@inline
def cross(a, b):
    """Return the cross product of two tuples."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def dot(a, b):
    """Return the scalar product of two tuples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel_pair
def hessians(x, hinges, out):
    """Set the second derivatives of the angles, shape [h, 12, 12], by differentiating `angle_and_gradient`."""
    count = hinges.shape[0]
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for h in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            valid, _, _ = angle_and_gradient(x, hinges, h)
            if not valid:
                out[h] = 0.0
                continue
            i, j, k, l = hinges[h, 0], hinges[h, 1], hinges[h, 2], hinges[h, 3]
            e = (x[k, 0] - x[j, 0], x[k, 1] - x[j, 1], x[k, 2] - x[j, 2])
            a = (x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2])
            b = (x[l, 0] - x[j, 0], x[l, 1] - x[j, 1], x[l, 2] - x[j, 2])
            n, m = cross(e, a), cross(b, e)
            ee, nn, mm = dot(e, e), dot(n, n), dot(m, m)
            length = np.sqrt(ee)
            p, q = -length / nn, -length / mm
            s, t = dot(a, e) / ee, dot(b, e) / ee
            u = (p * n[0], p * n[1], p * n[2])
            v = (q * m[0], q * m[1], q * m[2])
            for column in range(12):
                node, axis = column // 3, column % 3
                d0, d1, d2 = (
                    1.0 if axis == 0 else 0.0,
                    1.0 if axis == 1 else 0.0,
                    1.0 if axis == 2 else 0.0,
                )
                ce = 1.0 if node == 2 else (-1.0 if node == 1 else 0.0)
                ca = 1.0 if node == 0 else (-1.0 if node == 1 else 0.0)
                cb = 1.0 if node == 3 else (-1.0 if node == 1 else 0.0)
                de = (ce * d0, ce * d1, ce * d2)
                da = (ca * d0, ca * d1, ca * d2)
                db = (cb * d0, cb * d1, cb * d2)
                n1, n2 = cross(de, a), cross(e, da)
                m1, m2 = cross(db, e), cross(b, de)
                dn = (n1[0] + n2[0], n1[1] + n2[1], n1[2] + n2[2])
                dm = (m1[0] + m2[0], m1[1] + m2[1], m1[2] + m2[2])
                dee = 2.0 * dot(e, de)
                dlength = 0.5 * dee / length
                dp = -dlength / nn + length * 2.0 * dot(n, dn) / (nn * nn)
                dq = -dlength / mm + length * 2.0 * dot(m, dm) / (mm * mm)
                ds = (dot(da, e) + dot(a, de)) / ee - s * dee / ee
                dt = (dot(db, e) + dot(b, de)) / ee - t * dee / ee
                for c in range(3):
                    du = dp * n[c] + p * dn[c]
                    dv = dq * m[c] + q * dm[c]
                    out[h, c, column] = du
                    out[h, 3 + c, column] = ds * u[c] + (s - 1.0) * du + dt * v[c] + (t - 1.0) * dv
                    out[h, 6 + c, column] = -(ds * u[c] + s * du + dt * v[c] + t * dv)
                    out[h, 9 + c, column] = dv


@kernel_pair
def products(indptr, indices, values, gradients, places, row_starts, out):
    """Set the rows of K g: `places` [q, 4] are the places in row e of the four nodes of hinge f, or -1."""
    count = indptr.shape[0] - 1
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for e in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            start = row_starts[e]
            for r in range(start, row_starts[e + 1]):
                out[r, 0] = out[r, 1] = out[r, 2] = 0.0
            for q in range(indptr[e], indptr[e + 1]):
                f, w = indices[q], values[q]
                for a in range(4):
                    if places[q, a] >= 0:
                        r = start + places[q, a]
                        out[r, 0] += w * gradients[f, 3 * a]
                        out[r, 1] += w * gradients[f, 3 * a + 1]
                        out[r, 2] += w * gradients[f, 3 * a + 2]


@kernel_pair
def upper_blocks(
    node_indptr, codes, gradients, row_starts, row_nodes, row_products, slots, slot_starts, moment, curvature,
    own_places, indptr, upper
):  # fmt: skip
    """Set the blocks (i, j) with j >= i of the stiffness, row by row, shape [k, 9].

    Args:
        node_indptr: The hinges of each node i: `codes[node_indptr[i]:node_indptr[i + 1]]` are 4 e + a.
        codes: See above.
        gradients: Derivatives of the angles, shape [h, 12].
        row_starts: The row of K g of hinge e begins at `row_starts[e]`.
        row_nodes: Its nodes.
        row_products: Its values, shape [r, 3].
        slots: The block (i, j) of every code and every node j in the row of its hinge, or -1 if j < i.
        slot_starts: Where the slots of a code begin.
        moment: Moments [N m], shape [h].
        curvature: Second derivatives of the angles [h, 12, 12]; empty leaves them out.
        own_places: Places of the hinge's own nodes in its row, shape [h, 4].
        indptr: Row starts of the pattern.
        upper: Result.
    """
    count = node_indptr.shape[0] - 1
    exact = curvature.shape[0] > 0
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            for k in range(indptr[i], indptr[i + 1]):
                for c in range(9):
                    upper[k, c] = 0.0
            for q in range(node_indptr[i], node_indptr[i + 1]):
                e, a = codes[q] >> 2, 3 * (codes[q] & 3)
                g0, g1, g2 = gradients[e, a], gradients[e, a + 1], gradients[e, a + 2]
                start, at = row_starts[e], slot_starts[q]
                for r in range(start, row_starts[e + 1]):
                    k = slots[at + r - start]
                    if k >= 0:
                        p0, p1, p2 = row_products[r, 0], row_products[r, 1], row_products[r, 2]
                        upper[k, 0] += g0 * p0
                        upper[k, 1] += g0 * p1
                        upper[k, 2] += g0 * p2
                        upper[k, 3] += g1 * p0
                        upper[k, 4] += g1 * p1
                        upper[k, 5] += g1 * p2
                        upper[k, 6] += g2 * p0
                        upper[k, 7] += g2 * p1
                        upper[k, 8] += g2 * p2
                if exact:
                    for b in range(4):
                        place = own_places[e, b]
                        if place >= 0:
                            k = slots[at + place]
                            if k >= 0:
                                for c in range(9):
                                    upper[k, c] += moment[e] * curvature[e, a + c // 3, 3 * b + c % 3]


@kernel_pair
def add_blocks(indptr, indices, mirror, upper, factor, blocks):
    """Add `factor` times a symmetric matrix, given by its upper blocks, to blocks that are stored by columns."""
    count = indptr.shape[0] - 1
    for chunk in prange((count + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(count, (chunk + 1) * CHUNK)):
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if j > i:
                    for r in range(3):
                        for c in range(3):
                            blocks[k, 3 * c + r] += factor * upper[k, 3 * r + c]
                elif j < i:
                    o = mirror[k]
                    for r in range(3):
                        for c in range(3):
                            blocks[k, 3 * c + r] += factor * upper[o, 3 * c + r]
                else:
                    for r in range(3):
                        for c in range(3):
                            blocks[k, 3 * c + r] += factor * 0.5 * (upper[k, 3 * r + c] + upper[k, 3 * c + r])
