"""Stability limit of explicit steps: the highest frequency of a body, by Lanczos' iteration.

Explicit steps are stable up to dt = 2/omega, where omega^2 is the largest eigenvalue of M^-1 K. The bound that is often
printed, the shortest edge over the speed of sound, is too optimistic: on a regular lattice with lumped mass the true
limit is 0.66 of it. So omega is computed, from K at the present state.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from continua.deformable.boundary_conditions.constraints import Pull
from continua.deformable.elements import AssembledSystem, Elements
from continua.deformable.integrators.spring_terms import stiffen_pulls
from continua.linalg import BlockMatrix

__all__ = ["frequency_bound", "highest_frequency", "stiffness_matrix"]

_RTOL = 1e-4  # relative error of omega^2 at which the iteration ends
_MAX_ITERATIONS = 300


def stiffness_matrix(
    elements: Elements, x: NDArray[np.float64], mass: NDArray[np.float64], pulls: Sequence[Pull]
) -> BlockMatrix:
    """Return the stiffness [N/m] of a body at x.

    Args:
        elements: The body's elements, moved to x.
        x: Coefficients [n, 3].
        mass: Scalar mass of every block.
        pulls: Springs that stiffen the body.
    """
    rhs, zero = np.zeros_like(x), np.zeros_like(x)
    matrix = BlockMatrix(elements.pattern)
    elements.update(x)
    elements.assemble(AssembledSystem(matrix, rhs, mass, 0.0, 1.0, 0.0, zero, zero))
    stiffen_pulls(matrix, pulls, 1.0)
    return matrix


def frequency_bound(matrix: BlockMatrix, node_mass: NDArray[np.float64]) -> float:
    """Return a bound of the highest angular frequency [rad/s]: the largest row sum of M^-1 |K| bounds its square.

    It is some tens of percent too large, but costs a single pass over the matrix.
    """
    rows = matrix.magnitudes(np.ones((len(node_mass), 3))).max(axis=1)
    return sqrt(float((rows / node_mass).max()))


def highest_frequency(matrix: BlockMatrix, node_mass: NDArray[np.float64]) -> float:
    """Return the highest angular frequency [rad/s] of a body with lumped mass, without constraints.

    Pins can only lower it. The value is an upper bound up to the tolerance of the iteration.

    Args:
        matrix: The stiffness K [N/m].
        node_mass: Lumped mass of every node [n].
    """
    shape = (len(node_mass), 3)
    size = 3 * len(node_mass)
    root = 1.0 / np.sqrt(node_mass)[:, None]
    q = np.random.default_rng(0).normal(size=shape)
    q /= sqrt(float(np.vdot(q, q)))
    before, beta = np.zeros_like(q), 0.0
    diagonal: list[float] = []
    off: list[float] = []
    value = bound = 0.0
    for iteration in range(min(_MAX_ITERATIONS, size)):
        z = root * matrix.multiply(np.ascontiguousarray(root * q))
        alpha = float(np.vdot(q, z))
        z -= alpha * q + beta * before
        diagonal.append(alpha)
        beta = sqrt(float(np.vdot(z, z)))
        if iteration % 5 == 4 or not beta > 1e-12 * alpha or iteration == size - 1:
            last = len(diagonal) - 1
            values, vectors = eigh_tridiagonal(diagonal, off, select="i", select_range=(last, last))
            value, bound = float(values[0]), beta * abs(float(vectors[-1, 0]))
            if not bound > _RTOL * value:
                break
        off.append(beta)
        before, q = q, z / beta
    return sqrt(max(value + bound, 0.0))
