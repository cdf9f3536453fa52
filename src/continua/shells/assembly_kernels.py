"""Compiled assembly of the matrix of cloth from the records of its triangles and hinges, by gathering.

Every block above the diagonal sums those of the triangles and hinges around it, and is written twice, the second time
transposed. Since a translation does no work, a diagonal block is minus the sum of the others of its row.
"""

from __future__ import annotations

from numba import prange, uint32

from continua.numerics import kernel_pair

CHUNK = 128  # rows per chunk


@kernel_pair
def assemble(membrane, hinges, linear, linear_force, pattern, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f; every block has one writer.

    Args:
        membrane: Records of the triangles [m, 34], see `membrane_kernels`.
        hinges: Records of the hinges [h, 16], see `hinge_kernels`; or None.
        linear: Scalar stiffness of every block [N/m], of bending that is linear in the positions; or None.
        linear_force: Its forces on the nodes [N], shape [n, 3]; or None.
        pattern: The `ClothPattern`.
        system: The arrays of the `AssembledSystem`.
    """
    indptr, indices, diagonal, mirror, tri_indptr, tri_codes, hinge_indptr, hinge_codes = pattern[:8]
    node_tri_indptr, node_tri_codes, node_hinge_indptr, node_hinge_codes = pattern[8:]
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    n = indptr.shape[0] - 1
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            f0 = f1 = f2 = 0.0
            for q in range(node_tri_indptr[i], node_tri_indptr[i + 1]):
                code = uint32(node_tri_codes[q])
                e, a = code >> uint32(2), code & uint32(3)
                if a == uint32(0):
                    f0 -= membrane[e, 27] + membrane[e, 30]
                    f1 -= membrane[e, 28] + membrane[e, 31]
                    f2 -= membrane[e, 29] + membrane[e, 32]
                else:
                    at = uint32(24) + uint32(3) * a
                    f0 += membrane[e, at]
                    f1 += membrane[e, at + uint32(1)]
                    f2 += membrane[e, at + uint32(2)]
            if hinges is not None:
                for q in range(node_hinge_indptr[i], node_hinge_indptr[i + 1]):
                    code = uint32(node_hinge_codes[q])
                    h, a = code >> uint32(2), uint32(3) * (code & uint32(3))
                    moment = hinges[h, 13]
                    f0 += moment * hinges[h, a]
                    f1 += moment * hinges[h, a + uint32(1)]
                    f2 += moment * hinges[h, a + uint32(2)]
            if linear_force is not None:
                f0 += linear_force[i, 0]
                f1 += linear_force[i, 1]
                f2 += linear_force[i, 2]
            r0, r1, r2 = load[i, 0] - dt * f0, load[i, 1] - dt * f1, load[i, 2] - dt * f2
            for k in range(indptr[i], indptr[i + 1]):
                j = uint32(indices[k])
                r0 += mass[k] * velocities[j, 0]
                r1 += mass[k] * velocities[j, 1]
                r2 += mass[k] * velocities[j, 2]
            rhs[i, 0], rhs[i, 1], rhs[i, 2] = r0, r1, r2
            for k in range(diagonal[i] + 1, indptr[i + 1]):
                b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = b8 = 0.0
                for q in range(tri_indptr[k], tri_indptr[k + 1]):
                    code = uint32(tri_codes[q])
                    e = code >> uint32(4)
                    a, b = (code >> uint32(2)) & uint32(3), code & uint32(3)
                    at = uint32(9) * (a + b - uint32(1))
                    b0 += membrane[e, at]
                    b4 += membrane[e, at + uint32(4)]
                    b8 += membrane[e, at + uint32(8)]
                    if a < b:
                        b1 += membrane[e, at + uint32(1)]
                        b2 += membrane[e, at + uint32(2)]
                        b3 += membrane[e, at + uint32(3)]
                        b5 += membrane[e, at + uint32(5)]
                        b6 += membrane[e, at + uint32(6)]
                        b7 += membrane[e, at + uint32(7)]
                    else:
                        b1 += membrane[e, at + uint32(3)]
                        b2 += membrane[e, at + uint32(6)]
                        b3 += membrane[e, at + uint32(1)]
                        b5 += membrane[e, at + uint32(7)]
                        b6 += membrane[e, at + uint32(2)]
                        b7 += membrane[e, at + uint32(5)]
                if hinges is not None:
                    for q in range(hinge_indptr[k], hinge_indptr[k + 1]):
                        code = uint32(hinge_codes[q])
                        h = code >> uint32(4)
                        a, b = uint32(3) * ((code >> uint32(2)) & uint32(3)), uint32(3) * (code & uint32(3))
                        w = hinges[h, 12]
                        p0, p1, p2 = (
                            w * hinges[h, a],
                            w * hinges[h, a + uint32(1)],
                            w * hinges[h, a + uint32(2)],
                        )
                        q0, q1, q2 = hinges[h, b], hinges[h, b + uint32(1)], hinges[h, b + uint32(2)]
                        b0 += p0 * q0
                        b1 += p0 * q1
                        b2 += p0 * q2
                        b3 += p1 * q0
                        b4 += p1 * q1
                        b5 += p1 * q2
                        b6 += p2 * q0
                        b7 += p2 * q1
                        b8 += p2 * q2
                if linear is not None:
                    b0 += linear[k]
                    b4 += linear[k]
                    b8 += linear[k]
                # blocks are stored column by column
                o = mirror[k]
                blocks[o, 0], blocks[o, 1], blocks[o, 2] = (
                    c_stiffness * b0,
                    c_stiffness * b1,
                    c_stiffness * b2,
                )
                blocks[o, 3], blocks[o, 4], blocks[o, 5] = (
                    c_stiffness * b3,
                    c_stiffness * b4,
                    c_stiffness * b5,
                )
                blocks[o, 6], blocks[o, 7], blocks[o, 8] = (
                    c_stiffness * b6,
                    c_stiffness * b7,
                    c_stiffness * b8,
                )
                blocks[k, 0], blocks[k, 1], blocks[k, 2] = (
                    c_stiffness * b0,
                    c_stiffness * b3,
                    c_stiffness * b6,
                )
                blocks[k, 3], blocks[k, 4], blocks[k, 5] = (
                    c_stiffness * b1,
                    c_stiffness * b4,
                    c_stiffness * b7,
                )
                blocks[k, 6], blocks[k, 7], blocks[k, 8] = (
                    c_stiffness * b2,
                    c_stiffness * b5,
                    c_stiffness * b8,
                )
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            b0 = b1 = b2 = b4 = b5 = b8 = 0.0
            d = diagonal[i]
            for k in range(indptr[i], indptr[i + 1]):
                if k != d:
                    b0 -= blocks[k, 0]
                    b1 -= 0.5 * (blocks[k, 1] + blocks[k, 3])
                    b2 -= 0.5 * (blocks[k, 2] + blocks[k, 6])
                    b4 -= blocks[k, 4]
                    b5 -= 0.5 * (blocks[k, 5] + blocks[k, 7])
                    b8 -= blocks[k, 8]
                    w = c_mass * mass[k]
                    if w != 0.0:
                        blocks[k, 0] += w
                        blocks[k, 4] += w
                        blocks[k, 8] += w
            w = c_mass * mass[d]
            blocks[d, 0], blocks[d, 1], blocks[d, 2] = b0 + w, b1, b2
            blocks[d, 3], blocks[d, 4], blocks[d, 5] = b1, b4 + w, b5
            blocks[d, 6], blocks[d, 7], blocks[d, 8] = b2, b5, b8 + w


@kernel_pair
def linear_forces(indptr, indices, linear, x, force):
    """Set the forces [N] of bending that is linear in the positions, the product of its stiffness with x [n, 3]."""
    n = indptr.shape[0] - 1
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            f0 = f1 = f2 = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                j = uint32(indices[k])
                f0 += linear[k] * (x[j, 0] - x[i, 0])
                f1 += linear[k] * (x[j, 1] - x[i, 1])
                f2 += linear[k] * (x[j, 2] - x[i, 2])
            force[i, 0], force[i, 1], force[i, 2] = f0, f1, f2


@kernel_pair
def sum_energies(records, column, partial):
    """Set the sum of one column of records in fixed chunks."""
    count = records.shape[0]
    size = (count + partial.shape[0] - 1) // partial.shape[0]
    for chunk in prange(partial.shape[0]):
        total = 0.0
        for e in range(chunk * size, min(count, (chunk + 1) * size)):
            total += records[e, column]
        partial[chunk] = total
