"""Compiled assembly of the matrix of cloth from the records of its triangles and hinges, by gathering.

Every block above the diagonal sums those of the triangles and hinges around it, and is written twice, the second time
transposed. Since a translation does no work, a diagonal block is minus the sum of the others of its row.
"""

from __future__ import annotations

from numba import prange, uint32, uint64

from continua.numerics import kernel_pair
from continua.numerics.simd.f64x4 import fma4, lane4, load4, zero4

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
    flat, size = membrane.reshape(-1), uint64(membrane.shape[1])
    bends = flat if hinges is None else hinges.reshape(-1)
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        for i in range(uint64(chunk * CHUNK), uint64(min(n, (chunk + 1) * CHUNK))):
            f0 = f1 = f2 = 0.0
            for q in range(uint32(node_tri_indptr[i]), uint32(node_tri_indptr[i + uint64(1)])):
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
                for q in range(uint32(node_hinge_indptr[i]), uint32(node_hinge_indptr[i + uint64(1)])):
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
            for k in range(uint32(indptr[i]), uint32(indptr[i + uint64(1)])):
                j = uint32(indices[k])
                r0 += mass[k] * velocities[j, 0]
                r1 += mass[k] * velocities[j, 1]
                r2 += mass[k] * velocities[j, 2]
            rhs[i, 0], rhs[i, 1], rhs[i, 2] = r0, r1, r2
            for k in range(uint32(diagonal[i]) + uint32(1), uint32(indptr[i + uint64(1)])):
                row0, row1, row2 = zero4(), zero4(), zero4()
                column0, column1, column2 = zero4(), zero4(), zero4()
                for q in range(uint32(tri_indptr[k]), uint32(tri_indptr[k + uint32(1)])):
                    code = uint32(tri_codes[q])
                    a, b = (code >> uint32(2)) & uint32(3), code & uint32(3)
                    at = size * uint64(code >> uint32(4)) + uint64(9) * uint64(a + b - uint32(1))
                    if a < b:
                        row0 = fma4(load4(flat, at), 1.0, row0)
                        row1 = fma4(load4(flat, at + uint64(3)), 1.0, row1)
                        row2 = fma4(load4(flat, at + uint64(6)), 1.0, row2)
                    else:
                        column0 = fma4(load4(flat, at), 1.0, column0)
                        column1 = fma4(load4(flat, at + uint64(3)), 1.0, column1)
                        column2 = fma4(load4(flat, at + uint64(6)), 1.0, column2)
                if hinges is not None:
                    for q in range(uint32(hinge_indptr[k]), uint32(hinge_indptr[k + uint32(1)])):
                        code = uint32(hinge_codes[q])
                        h = uint64(16) * uint64(code >> uint32(4))
                        a = h + uint64(3) * uint64((code >> uint32(2)) & uint32(3))
                        b = h + uint64(3) * uint64(code & uint32(3))
                        w = bends[h + uint64(12)]
                        v = load4(bends, b)
                        row0 = fma4(v, w * bends[a], row0)
                        row1 = fma4(v, w * bends[a + uint64(1)], row1)
                        row2 = fma4(v, w * bends[a + uint64(2)], row2)
                b0, b1, b2 = (
                    lane4(row0, 0) + lane4(column0, 0),
                    lane4(row0, 1) + lane4(column1, 0),
                    lane4(row0, 2) + lane4(column2, 0),
                )
                b3, b4, b5 = (
                    lane4(row1, 0) + lane4(column0, 1),
                    lane4(row1, 1) + lane4(column1, 1),
                    lane4(row1, 2) + lane4(column2, 1),
                )
                b6, b7, b8 = (
                    lane4(row2, 0) + lane4(column0, 2),
                    lane4(row2, 1) + lane4(column1, 2),
                    lane4(row2, 2) + lane4(column2, 2),
                )
                if linear is not None:
                    b0 += linear[k]
                    b4 += linear[k]
                    b8 += linear[k]
                # blocks are stored column by column
                o = uint32(mirror[k])
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
        for i in range(uint64(chunk * CHUNK), uint64(min(n, (chunk + 1) * CHUNK))):
            b0 = b1 = b2 = b4 = b5 = b8 = 0.0
            d = uint32(diagonal[i])
            for k in range(uint32(indptr[i]), uint32(indptr[i + uint64(1)])):
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
