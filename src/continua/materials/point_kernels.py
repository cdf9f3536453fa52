"""A law at quadrature points: the pass that every law compiles for itself.

For every point it writes a record: columns 0-8 the deformation gradient F, 9-17 the first Piola-Kirchhoff stress P,
18-62 the upper half of dP/dF, both row by row, 63 the energy density.

With plasticity F = Fe Fp, and the law is evaluated at Fe = F Fp^-1 per volume of the intermediate configuration, which
is det Fp times the rest volume (Irving 2007): P and the tangent are pulled back to F before they are written.

In plane stress the last column d of F is unknown: the energy is minimised over d, so that P e_z = 0, and the tangent is
condensed (see `materials.plane_stress`).
"""

from __future__ import annotations

import numba
import numpy as np
from numba.extending import typeof_impl

from continua.materials.plane_stress import ITERATIONS, condense, next_director
from continua.materials.registry import LawFunction
from continua.numerics import inline
from continua.numerics.mat3 import det3, matmul3

__all__ = [
    "CHUNK",
    "POINT",
    "SCRATCH",
    "deformation_gradient",
    "fill_points",
    "pull_back",
    "pull_back_stress",
    "specialised",
    "upper_to_full",
    "write_record",
]

POINT = 64  # numbers in a record
CHUNK = 32  # elements a task of the pass over points
SCRATCH = 27  # rows of the work array: 9 for the tangent, the rest for laws to use

# Specialised for the law that is passed in; the law's own kernels are what is kept in the cache.
specialised = numba.njit(
    fastmath={"nsz", "arcp", "contract", "afn"}, error_model="numpy", nogil=True, forceinline=True
)


@typeof_impl.register(LawFunction)
def _typeof_law_function(function, _):
    """Let compiled code call the functions of laws."""
    return numba.types.Dispatcher(function.compiled)


def upper_to_full(upper: np.ndarray) -> np.ndarray:
    """Return symmetric matrices [..., 9, 9] from their upper halves, row by row [..., 45]."""
    rows, columns = np.triu_indices(9)
    full = np.empty((*upper.shape[:-1], 9, 9))
    full[..., rows, columns] = upper
    full[..., columns, rows] = upper
    return full


@inline
def deformation_gradient(coefficients, elements, gradients, plane, e, q):
    """Return F at point q of element e; of a plane body (`plane` is not 0) that of constant thickness, F_zz = 1."""
    f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = 0.0
    f8 = 1.0 if plane != 0.0 else 0.0
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
def pull_back(P, A, T):
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
    return pull_back_stress(P, A, volume), volume


@inline
def pull_back_stress(P, A, volume):
    """Return volume P A^T."""
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
    )


@inline
def write_record(F, P, T, energy, records, e, q):
    """Write the record of point q of element e."""
    for c in range(9):
        records[e, q, c] = F[c]
        records[e, q, 9 + c] = P[c]
    k = 18
    for r in range(9):
        for c in range(r, 9):
            records[e, q, k] = T[r, c]
            k += 1
    records[e, q, 63] = energy


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
        plane: 1 for bodies in plane strain, 2 in plane stress, else 0.
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
            F = deformation_gradient(coefficients, elements, gradients, plane, e, q)
            search = (np.inf, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
            searching = plane == 2.0
            rest = ITERATIONS
            while True:  # once, unless the thickness is unknown
                if plastic is None:
                    energy, P = point(F, p, definite and not searching, T)
                else:
                    A = (
                        plastic[e, q, 0], plastic[e, q, 1], plastic[e, q, 2],
                        plastic[e, q, 3], plastic[e, q, 4], plastic[e, q, 5],
                        plastic[e, q, 6], plastic[e, q, 7], plastic[e, q, 8],
                    )  # fmt: skip
                    energy, P = point(matmul3(F, A), p, definite and not searching, T)
                    P, volume = pull_back(P, A, T)
                    energy *= volume
                if not searching:
                    break
                rest -= 1
                found, d, search = next_director(energy, P, T, F, search)
                F = (F[0], F[1], d[0], F[3], F[4], d[1], F[6], F[7], d[2])
                searching = not found and rest > 0
            if plane == 2.0:
                condense(F, P, T)
            if det3(F) <= 0.0:
                turned = 1
            write_record(F, P, T, energy, records, e, q)
        count += turned
    return count
