"""Springs in the linear system of a step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.constraints import Pull
from continua.linalg import BlockMatrix

__all__ = ["add_pull_forces", "add_pulls", "pull_energy", "spring_response", "stiffen_pulls"]


def stiffen_pulls(matrix: BlockMatrix, pulls: Sequence[Pull], factor: float) -> None:
    """Add `factor` times the stiffness of the springs to the matrix; the nodes of a spring share an element."""
    p = matrix.pattern
    for pull in pulls:
        for a, wa in zip(pull.nodes, pull.weights, strict=True):
            row = p.indices[p.indptr[a] : p.indptr[a + 1]]
            for b, wb in zip(pull.nodes, pull.weights, strict=True):
                k = p.indptr[a] + np.searchsorted(row, b)
                matrix.blocks[k, ::4] += factor * pull.stiffness * wa * wb


def add_pull_forces(
    pulls: Sequence[Pull], x: NDArray[np.float64], factor: float, out: NDArray[np.float64]
) -> None:
    """Add `factor` times the forces of the springs at x to `out`."""
    for pull in pulls:
        offset = pull.target - pull.weights @ x[pull.nodes]
        for a, wa in zip(pull.nodes, pull.weights, strict=True):
            out[a] += factor * pull.stiffness * wa * offset


def add_pulls(
    matrix: BlockMatrix,
    rhs: NDArray[np.float64],
    pulls: Sequence[Pull],
    x: NDArray[np.float64],
    c_force: float,
    c_stiffness: float,
) -> None:
    """Add the springs to the matrix and the right-hand side."""
    add_pull_forces(pulls, x, c_force, rhs)
    stiffen_pulls(matrix, pulls, c_stiffness)


def pull_energy(pulls: Sequence[Pull], x: NDArray[np.float64]) -> float:
    """Return the energy of the springs at x [J]."""
    energy = 0.0
    for pull in pulls:
        offset = pull.target - pull.weights @ x[pull.nodes]
        energy += 0.5 * pull.stiffness * float(offset @ offset)
    return energy


def spring_response(
    pulls: Sequence[Pull], x: NDArray[np.float64], dt: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of springs [k, 3] and the impulse of each per velocity there [k, 3, 3]."""
    points = [pull.weights @ x[pull.nodes] for pull in pulls]
    responses = [dt * dt * pull.stiffness * np.eye(3) for pull in pulls]
    return np.reshape(points, (-1, 3)), np.reshape(responses, (-1, 3, 3))
