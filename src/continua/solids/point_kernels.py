"""Compiled functions for elements of any shape: a law at quadrature points, and the assembly from there.

One pass evaluates the law at every point and writes a record: columns 0-8 the deformation gradient F, 9-17 the
first Piola-Kirchhoff stress P, 18-62 the upper half of dP/dF, both row by row, 63 the energy density. Only this
pass depends on the law, which each law compiles for itself; the passes that follow are the same for all.

With plasticity F = Fe Fp, and the law sees Fe = F Fp^-1 in a piece of material whose volume at rest is det Fp as
large (Irving 2007): P and the tangent are pulled back to F before they are written.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import prange, uint32

from continua.numerics import inline, kernel_pair
from continua.numerics.mat3 import det3, matmul3, rotation
from continua.solids.kernels import mises
from continua.solids.scatter import add_element, begin_rows

POINT = 64  # numbers in a record
CHUNK = 32  # elements a task of the pass over points
SCRATCH = 27  # rows of the work array: 9 for the tangent, the rest for laws to use

# Specialised for the law that is passed in; the law's own kernels are what is kept in the cache.
specialised = numba.njit(
    fastmath={"nsz", "arcp", "contract", "afn"}, error_model="numpy", nogil=True, forceinline=True
)


def upper_to_full(upper: np.ndarray) -> np.ndarray:
    """Return symmetric matrices [..., 9, 9] from their upper halves, row by row [..., 45]."""
    rows, columns = np.triu_indices(9)
    full = np.empty((*upper.shape[:-1], 9, 9))
    full[..., rows, columns] = upper
    full[..., columns, rows] = upper
    return full


@inline
def _deformation(coefficients, elements, gradients, plane, e, q):
    """Return F at point q of element e; a plane body keeps its thickness, so that F_zz gets `plane` = 1."""
    f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = 0.0
    f8 = plane
    for a in range(elements.shape[1]):
        i = elements[e, a]
        x, y, z = coefficients[i, 0], coefficients[i, 1], coefficients[i, 2]
        g0, g1, g2 = gradients[e, q, a, 0], gradients[e, q, a, 1], gradients[e, q, a, 2]
        f0 += x * g0
        f1 += x * g1
        f2 += x * g2
        f3 += y * g0
        f4 += y * g1
        f5 += y * g2
        f6 += z * g0
        f7 += z * g1
        f8 += z * g2
    return f0, f1, f2, f3, f4, f5, f6, f7, f8


@inline
def _pull_back(P, A, T):
    """Turn stress and tangent (in place) with respect to Fe = F A into those with respect to F, times det Fp."""
    volume = 1.0 / det3(A)
    for i in range(3):  # T[(i j), kn] = sum_m A[j, m] T[(i m), kn]
        for c in range(9):
            t0, t1, t2 = T[3 * i, c], T[3 * i + 1, c], T[3 * i + 2, c]
            for j in range(3):
                T[3 * i + j, c] = volume * (A[3 * j] * t0 + A[3 * j + 1] * t1 + A[3 * j + 2] * t2)
    for r in range(9):
        for k in range(3):
            t0, t1, t2 = T[r, 3 * k], T[r, 3 * k + 1], T[r, 3 * k + 2]
            for l in range(3):
                T[r, 3 * k + l] = A[3 * l] * t0 + A[3 * l + 1] * t1 + A[3 * l + 2] * t2
    return (
        volume * (P[0] * A[0] + P[1] * A[1] + P[2] * A[2]),
        volume * (P[0] * A[3] + P[1] * A[4] + P[2] * A[5]),
        volume * (P[0] * A[6] + P[1] * A[7] + P[2] * A[8]),
        volume * (P[3] * A[0] + P[4] * A[1] + P[5] * A[2]),
        volume * (P[3] * A[3] + P[4] * A[4] + P[5] * A[5]),
        volume * (P[3] * A[6] + P[4] * A[7] + P[5] * A[8]),
        volume * (P[6] * A[0] + P[7] * A[1] + P[8] * A[2]),
        volume * (P[6] * A[3] + P[7] * A[4] + P[8] * A[5]),
        volume * (P[6] * A[6] + P[7] * A[7] + P[8] * A[8]),
    ), volume


@specialised
def fill_points(
    point, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
):  # fmt: skip
    """Fill the records of one chunk of elements for a law; return how many have a point with det F <= 0.

    Args:
        point: The law: point(F, p, definite, T) writes dP/dF into the first nine rows of T [27, 9] and returns the
            energy density and P as a tuple of nine; p are the constants of the element.
        coefficients: Current positions [n, 3].
        elements: Nodes of the elements [m, k].
        gradients: Gradients of the shape functions at the points [m, q, k, 3].
        plane: 1 for plane bodies, else 0.
        constants: Constants of the elements [m, c].
        plastic: Inverse plastic deformation at the points [m, q, 9], or None.
        definite: Whether tangents are made positive semidefinite.
        records: Result [m, q, 64].
        chunk: Number of the chunk.
    """
    T = np.empty((SCRATCH, 9))
    count = 0
    for e in range(chunk * CHUNK, min(elements.shape[0], (chunk + 1) * CHUNK)):
        p = constants[e]
        turned = 0
        for q in range(gradients.shape[1]):
            F = _deformation(coefficients, elements, gradients, plane, e, q)
            if plastic is None:
                energy, P = point(F, p, definite, T)
            else:
                A = (
                    plastic[e, q, 0], plastic[e, q, 1], plastic[e, q, 2],
                    plastic[e, q, 3], plastic[e, q, 4], plastic[e, q, 5],
                    plastic[e, q, 6], plastic[e, q, 7], plastic[e, q, 8],
                )  # fmt: skip
                energy, P = point(matmul3(F, A), p, definite, T)
                P, volume = _pull_back(P, A, T)
                energy *= volume
            if det3(F) <= 0.0:
                turned = 1
            for c in range(9):
                records[e, q, c] = F[c]
                records[e, q, 9 + c] = P[c]
            k = 18
            for r in range(9):
                for c in range(r, 9):
                    records[e, q, k] = T[r, c]
                    k += 1
            records[e, q, 63] = energy
        count += turned
    return count


@inline
def _element_system(records, gradients, weights, e, T, half, block, force):
    """Sum an element's stiffness and elastic force over its points.

    Args:
        records: Of the points [m, q, 64].
        gradients: Of the shape functions [m, q, k, 3].
        weights: Volumes that the points stand for [m, q].
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


@kernel_pair
def assemble(
    records, gradients, weights, elements, indptr, indices, order, chunks, colors, first, slots,
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs,
):  # fmt: skip
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f, element by element (see `solids.scatter`).

    Args:
        records: Of the points [m, q, 64].
        gradients: Of the shape functions [m, q, k, 3].
        weights: Volumes that the points stand for [m, q].
        elements: Nodes of the elements [m, k].
        indptr, indices: Of the pattern.
        order, chunks, colors, first, slots: Of the `Scatter`.
        mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs: See `System`.
    """
    nodes = elements.shape[1]
    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            T = np.empty((9, 9))
            half = np.empty((9, 3))
            block = np.empty((nodes, nodes, 9))
            force = np.empty((nodes, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = uint32(order[t])
                _element_system(records, gradients, weights, e, T, half, block, force)
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                add_element(e, elements, indptr, slots, block, force, c_stiffness, dt, blocks, rhs)


@inline
def _true_stress(records, e, q, small, turned):
    """Return the stress at a point in space (xx, yy, zz, xy, xz, yz).

    It is Cauchy's P F^T / J; a collapsed point, where J vanishes, counts as one pressed to a tenth of its volume.
    Laws of small strain do not tell P from it: theirs is P R^T, or P itself if the frame is not `turned`.
    """
    P = records[e, q, 9:18]
    F = records[e, q, :9]
    B = (F[0], F[1], F[2], F[3], F[4], F[5], F[6], F[7], F[8])
    s = 1.0
    if small:
        B = rotation(B) if turned else (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
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
def element_stress(records, weights, small, turned, stress):
    """Set the mean stress of every element [m, 6] (xx, yy, zz, xy, xz, yz)."""
    for e in prange(records.shape[0]):
        total = 0.0
        for c in range(6):
            stress[e, c] = 0.0
        for q in range(records.shape[1]):
            s = _true_stress(records, e, q, small, turned)
            total += weights[e, q]
            for c in range(6):
                stress[e, c] += weights[e, q] * s[c]
        for c in range(6):
            stress[e, c] /= total


@kernel_pair
def node_stress(stress, volumes, inc_indptr, inc_codes, corners, von_mises):
    """Set the von Mises norm at nodes of the stress of the elements around, averaged by volume."""
    for i in prange(inc_indptr.shape[0] - 1):
        s = np.zeros(6)
        volume = 0.0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = inc_codes[q] // corners
            volume += volumes[e]
            for c in range(6):
                s[c] += volumes[e] * stress[e, c]
        von_mises[i] = mises(s[0], s[1], s[2], s[3], s[4], s[5]) / volume if volume > 0.0 else 0.0
