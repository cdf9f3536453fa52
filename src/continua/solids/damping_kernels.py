"""Compiled functions of damping: what the tangent of a law does to deformation only, not to rotation."""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.numerics import kernel_pair
from continua.numerics.mat3 import inverse3

__all__ = ["remove_spin"]

_REGULAR = 1e-14  # part of the trace, for points that are a line and have no spin about it


@kernel_pair
def remove_spin(records):
    """Replace the tangent T at every point by Q T Q, Q the projection that takes the spin out of a rate of F.

    The rates W F with skew W are rotations. Q removes the nearest one, in the Frobenius norm, from a rate: so Q T Q is
    zero for rotations, and its stress P has a symmetric P F^T, that is, no torque.

    Args:
        records: Of the points (see `materials.point_kernels`) [m, q, 64].
    """
    for e in prange(records.shape[0]):
        T, spins, both = np.empty((9, 9)), np.empty((3, 9)), np.empty((3, 9))
        for q in range(records.shape[1]):
            F = records[e, q, :9]
            for c in range(3):  # rates of F for unit angular velocities about the axes
                f0, f1, f2 = F[c], F[3 + c], F[6 + c]
                spins[0, c], spins[0, 3 + c], spins[0, 6 + c] = 0.0, -f2, f1
                spins[1, c], spins[1, 3 + c], spins[1, 6 + c] = f2, 0.0, -f0
                spins[2, c], spins[2, 3 + c], spins[2, 6 + c] = -f1, f0, 0.0
            g00 = g01 = g02 = g11 = g12 = g22 = 0.0
            for r in range(9):
                g00 += spins[0, r] * spins[0, r]
                g01 += spins[0, r] * spins[1, r]
                g02 += spins[0, r] * spins[2, r]
                g11 += spins[1, r] * spins[1, r]
                g12 += spins[1, r] * spins[2, r]
                g22 += spins[2, r] * spins[2, r]
            least = _REGULAR * (g00 + g11 + g22) + 1e-300
            G, _ = inverse3((g00 + least, g01, g02, g01, g11 + least, g12, g02, g12, g22 + least))
            for r in range(9):
                for k in range(3):
                    both[k, r] = (
                        G[3 * k] * spins[0, r] + G[3 * k + 1] * spins[1, r] + G[3 * k + 2] * spins[2, r]
                    )
            k = 18
            for r in range(9):
                for c in range(r, 9):
                    T[r, c] = records[e, q, k]
                    T[c, r] = T[r, c]
                    k += 1
            for c in range(9):
                for k in range(3):
                    part = 0.0
                    for r in range(9):
                        part += spins[k, r] * T[r, c]
                    for r in range(9):
                        T[r, c] -= both[k, r] * part
            for r in range(9):
                for k in range(3):
                    part = 0.0
                    for c in range(9):
                        part += T[r, c] * spins[k, c]
                    for c in range(9):
                        T[r, c] -= part * both[k, c]
            k = 18
            for r in range(9):
                for c in range(r, 9):
                    records[e, q, k] = T[r, c]
                    k += 1
