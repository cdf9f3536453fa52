"""Springs and contacts in the linear system of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from continua.contact import ContactSet
from continua.contact.kernels import apply_contacts, contact_impulses
from continua.linalg import BlockMatrix
from continua.solids.handles import Pull

__all__ = [
    "add_contacts",
    "add_pull_forces",
    "add_pulls",
    "contact_impulse",
    "pull_energy",
    "share_contacts",
    "stiffen_pulls",
    "support_answers",
]


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


def share_contacts(contacts: ContactSet, share: float) -> ContactSet:
    """Return the contacts with a share of their forces."""
    return replace(contacts, stiffness=share * contacts.stiffness, damping=share * contacts.damping)


def add_contacts(
    matrix: BlockMatrix,
    rhs: NDArray[np.float64],
    contacts: ContactSet,
    v: NDArray[np.float64],
    dt: float,
    slip: float,
) -> None:
    """Add the contacts' impulses to the matrix and the right-hand side."""
    c = contacts
    apply_contacts(
        c.nodes, c.normals, c.gaps, c.stiffness, c.damping, c.friction, c.surface, v, dt, slip,
        matrix.pattern.diagonal, matrix.blocks, rhs,
    )  # fmt: skip


def contact_impulse(
    contacts: ContactSet,
    v: NDArray[np.float64],
    solved: NDArray[np.float64],
    dt: float,
    slip: float,
    out: NDArray[np.float64],
) -> None:
    """Add what the contacts do to the momentum when the velocities change from v to `solved`."""
    c = contacts
    contact_impulses(
        c.nodes, c.normals, c.gaps, c.stiffness, c.damping, c.friction, c.surface, v, solved, dt, slip, out
    )


def support_answers(
    pulls: Sequence[Pull],
    contacts: ContactSet,
    x: NDArray[np.float64],
    v: NDArray[np.float64],
    dt: float,
    slip: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where springs and contacts act [k, 3], and the impulse each takes from a velocity there [k, 3, 3]."""
    points = [pull.weights @ x[pull.nodes] for pull in pulls]
    answers = [dt * dt * pull.stiffness * np.eye(3) for pull in pulls]
    c = contacts
    count = len(c)
    blocks = np.zeros((count, 9))
    each = np.arange(count, dtype=np.int32)
    apply_contacts(
        each, c.normals, c.gaps, c.stiffness, c.damping, c.friction, c.surface, v[c.nodes], dt, slip,
        each, blocks, np.zeros((count, 3)),
    )  # fmt: skip
    return (
        np.concatenate([np.reshape(points, (-1, 3)), x[c.nodes]]),
        np.concatenate([np.reshape(answers, (-1, 3, 3)), blocks.reshape(-1, 3, 3)]),
    )
