"""Compiled functions for elements of any shape: stiffness, forces and stress from the law at quadrature points.

The records of the points are those of `materials.point_kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import prange, uint32

from continua.numerics import inline, kernel_pair
from continua.numerics.mat3 import det3, rotation
from continua.solids.elements.colored_assembly import add_element, begin_rows
from continua.solids.elements.corotated_kernels import von_mises_norm


@inline
def _element_system(records, gradients, weights, means, e, T, half, block, force):
    """Sum an element's stiffness and elastic force over its points.

    Args:
        records: Of the points [m, q, 64].
        gradients: Of the shape functions [m, q, k, 3].
        weights: Quadrature weights, volumes [m, q].
        means: Derivatives of the elements' mean changes of volume [m, c, k, 3], or None; see `elements.mean_volume`.
        e: The element.
        T: Work space [9, 9].
        half: Work space [9, 3].
        block: Result, blocks (a, b) with a <= b column by column [k, k, 9].
        force: Result [k, 3].
    """
    nodes = gradients.shape[2]
    block[:] = 0.0
    force[:] = 0.0
    for q in range(gradients.shape[1]):
        w = weights[e, q]
        k = 18
        for r in range(9):
            for c in range(r, 9):
                T[r, c] = w * records[e, q, k]
                T[c, r] = T[r, c]
                k += 1
        for b in range(nodes):
            g0, g1, g2 = gradients[e, q, b, 0], gradients[e, q, b, 1], gradients[e, q, b, 2]
            for r in range(3):
                force[b, r] += w * (
                    records[e, q, 9 + 3 * r] * g0
                    + records[e, q, 10 + 3 * r] * g1
                    + records[e, q, 11 + 3 * r] * g2
                )
            for r in range(9):
                half[r, 0] = T[r, 0] * g0 + T[r, 1] * g1 + T[r, 2] * g2
                half[r, 1] = T[r, 3] * g0 + T[r, 4] * g1 + T[r, 5] * g2
                half[r, 2] = T[r, 6] * g0 + T[r, 7] * g1 + T[r, 8] * g2
            for a in range(b + 1):
                p0, p1, p2 = gradients[e, q, a, 0], gradients[e, q, a, 1], gradients[e, q, a, 2]
                for r in range(3):
                    for c in range(3):
                        block[a, b, 3 * c + r] += (
                            p0 * half[3 * r, c] + p1 * half[3 * r + 1, c] + p2 * half[3 * r + 2, c]
                        )
    if means is not None:
        for f in range(means.shape[1]):
            for b in range(nodes):
                for a in range(b + 1):
                    for r in range(3):
                        for c in range(3):
                            block[a, b, 3 * c + r] += means[e, f, a, r] * means[e, f, b, c]


@kernel_pair
def assemble(records, gradients, weights, means, elements, indptr, indices, assembly, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f (see `elements.colored_assembly`).

    Args:
        records: Of the points [m, q, 64].
        gradients: Of the shape functions [m, q, k, 3].
        weights: Quadrature weights, volumes [m, q].
        means: Derivatives of the elements' mean changes of volume [m, c, k, 3], or None; see `elements.mean_volume`.
        elements: Nodes of the elements [m, k].
        indptr, indices: Of the pattern.
        assembly: The `ColoredAssembly`.
        system: The arrays of the `AssembledSystem`.
    """
    order, chunks, colors, first, slots = assembly
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    nodes = elements.shape[1]
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            T = np.empty((9, 9))
            half = np.empty((9, 3))
            block = np.empty((nodes, nodes, 9))
            force = np.empty((nodes, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                _element_system(records, gradients, weights, means, e, T, half, block, force)
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                add_element(e, elements, indptr, slots, block, force, c_stiffness, dt, blocks, rhs)


@inline
def _true_stress(records, e, q, small_strain, corotated):
    """Return the Cauchy stress at a point (xx, yy, zz, xy, xz, yz): P F^T / J, with |J| at least 0.1.

    Small-strain laws do not distinguish it from P: theirs is P R^T, or P itself if they are not `corotated`.
    """
    P = records[e, q, 9:18]
    F = records[e, q, :9]
    B = (F[0], F[1], F[2], F[3], F[4], F[5], F[6], F[7], F[8])
    s = 1.0
    if small_strain:
        B = rotation(B) if corotated else (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    else:
        s = 1.0 / max(abs(det3(B)), 0.1)
    return (
        s * (P[0] * B[0] + P[1] * B[1] + P[2] * B[2]),
        s * (P[3] * B[3] + P[4] * B[4] + P[5] * B[5]),
        s * (P[6] * B[6] + P[7] * B[7] + P[8] * B[8]),
        s * (P[0] * B[3] + P[1] * B[4] + P[2] * B[5]),
        s * (P[0] * B[6] + P[1] * B[7] + P[2] * B[8]),
        s * (P[3] * B[6] + P[4] * B[7] + P[5] * B[8]),
    )


@kernel_pair
def element_stress(records, weights, small_strain, corotated, stress):
    """Set the mean stress of every element [m, 6] (xx, yy, zz, xy, xz, yz)."""
    for e in prange(records.shape[0]):
        total = 0.0
        for c in range(6):
            stress[e, c] = 0.0
        for q in range(records.shape[1]):
            s = _true_stress(records, e, q, small_strain, corotated)
            total += weights[e, q]
            for c in range(6):
                stress[e, c] += weights[e, q] * s[c]
        for c in range(6):
            stress[e, c] /= total


@kernel_pair
def node_stress(stress, volumes, inc_indptr, inc_codes, corners, von_mises):
    """Set the von Mises norm at nodes of the stress of the adjacent elements, averaged by volume."""
    for i in prange(inc_indptr.shape[0] - 1):
        s = np.zeros(6)
        volume = 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // corners
            volume += volumes[e]
            for c in range(6):
                s[c] += volumes[e] * stress[e, c]
        von_mises[i] = von_mises_norm(s[0], s[1], s[2], s[3], s[4], s[5]) / volume if volume > 0.0 else 0.0
