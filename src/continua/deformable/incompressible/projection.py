"""Projections onto incompressible motions, of one body or of several that touch, with their contacts as constraints.

A projection finds pressures p with

    D P M^-1 D^T p = -r,    and changes the velocities by P M^-1 D^T p,

where r [m3/s] are the volume rates to be removed and P projects changes of velocity onto the contacts (Irving 2007,
chapter 4). See docs/theory/incompressible.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import EMPTY_ROWS, ConstraintRows
from continua.contact_solver.augmented_lagrangian_kernels import effective_masses
from continua.deformable.incompressible import one_ring_kernels as kernels
from continua.deformable.incompressible.one_ring import PARALLEL_FROM, OneRing
from continua.linalg import SolveReport
from continua.timestepping import PartnerMotion

__all__ = ["PressureSolve", "ProjectedPart", "volume_error"]

RTOL = 1e-2
"""Tolerance of a pressure solve: largest volume rate left at a node, relative to the largest before."""

MAX_ITERATIONS = 500

SWEEPS = 4
"""Symmetric Gauss-Seidel sweeps over the contacts in every product."""

_WORST_GUESS = (
    4.0  # residual of a guess, over that of none, from which it is dropped: it helps although it is larger
)
_PROGRESS = 0.5  # by which the true residual must fall between two restarts


def volume_error(volumes: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Return the largest difference of node volumes to their targets, relative to these."""
    return float(kernels.largest_rate(volumes - target, target))


@dataclass(eq=False)
class ProjectedPart:
    """One body in a projection.

    Attributes:
        one_ring: Its operators.
        inverse_mass: Inverse masses of its nodes [1/kg], nine values each, zero where they are fixed, shape [n, 9].
        first: Its first row among the velocities of all bodies.
    """

    one_ring: OneRing
    inverse_mass: NDArray[np.float64]
    first: int = 0

    @property
    def rows(self) -> slice:
        """Its rows among the velocities of all bodies."""
        return slice(self.first, self.first + len(self.inverse_mass))


class PressureSolve:
    """Solves for the pressures of one projection by conjugate residuals.

    The matrix is symmetric and only semidefinite: many lattices have pressures that cancel in every element, and
    contacts add more. Conjugate residuals (MINRES for a semidefinite matrix) converge for a consistent right-hand side
    all the same. The test is on the true residual, in the maximum norm of the volume rates relative to the volumes.

    Args:
        parts: The bodies.
        rows: Contacts whose normal velocities the projection keeps; those that refer to other rows hold these.
        row_count: Number of velocities of all bodies.
        partners: Other rows that move with contacts, or None.
    """

    def __init__(
        self,
        parts: Sequence[ProjectedPart],
        rows: ConstraintRows = EMPTY_ROWS,
        row_count: int | None = None,
        partners: PartnerMotion | None = None,
    ) -> None:
        self.partners = partners
        self.parts = list(parts)
        ends = np.cumsum([0] + [len(part.inverse_mass) for part in self.parts])
        self._pressures = [slice(a, b) for a, b in pairwise(ends)]
        count = int(max(part.rows.stop for part in self.parts)) if row_count is None else row_count
        self._u = np.zeros((count, 3))
        self._size = int(ends[-1])
        chunks = [-(-len(part.inverse_mass) // kernels.CHUNK) for part in self.parts]
        self._chunks = [slice(a, b) for a, b in pairwise(np.cumsum([0, *chunks]))]
        self._sums = np.zeros(sum(chunks))
        self._partial = np.zeros(-(-self._size // kernels.CHUNK))
        self._parallel = self._size >= PARALLEL_FROM
        self.contacts = rows
        self._rows: ConstraintRows | None = None
        self._inverse_mass = np.zeros((0, 9))
        if len(rows):
            self._take_rows(rows, count)
        diagonal = np.concatenate([part.one_ring.diagonal(part.inverse_mass) for part in self.parts])
        self._volume = np.concatenate([part.one_ring.rest_volumes for part in self.parts])
        self._preconditioner = np.where(diagonal > 0.0, 1.0 / np.where(diagonal > 0.0, diagonal, 1.0), 0.0)

    def _take_rows(self, rows: ConstraintRows, count: int) -> None:
        inverse_mass = np.zeros((count, 9)) if self.partners is None else self.partners.inverse_mass.copy()
        for part in self.parts:
            inverse_mass[part.rows] = part.inverse_mass
        # edges against edges have less coherent normals: they come in the middle of a symmetric sweep
        first = rows.ptr[:-1]
        second = np.minimum(first + 1, len(rows.row) - 1)
        weight = np.einsum("ci,ci->c", rows.block[second, :3], rows.normal)
        is_edges = (np.diff(rows.ptr) == 4) & (weight > 0.0)
        self._rows = rows.take(np.argsort(is_edges, kind="stable"))
        self._inverse_mass = inverse_mass
        self._effective = np.zeros((len(rows), 3))
        effective_masses(
            self._rows.ptr, self._rows.row, self._rows.block, self._inverse_mass, self._effective
        )

    def changes(self, pressures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the changes of velocity P M^-1 D^T p of all rows [m/s]; valid until the next call."""
        if self.partners is not None:
            self._u[:] = 0.0
        for part, own in zip(self.parts, self._pressures, strict=True):
            part.one_ring.accelerations(part.inverse_mass, pressures[own], self._u[part.rows])
        if self._rows is not None:
            kernels.project_out(
                self._rows.ptr,
                self._rows.row,
                self._rows.block,
                self._rows.bilateral,
                self._inverse_mass,
                self._effective,
                SWEEPS,
                self._u,
            )
        return self._u

    def multiply(self, pressures: NDArray[np.float64], out: NDArray[np.float64]) -> NDArray[np.float64]:
        """Set `out` to D P M^-1 D^T p and return it."""
        u = self.changes(pressures)
        for part, own in zip(self.parts, self._pressures, strict=True):
            part.one_ring.divergence(u[part.rows], out[own])
        return out

    def divergence(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the volume rates of velocities V [N, 3] at all nodes of the parts [m3/s]."""
        return np.concatenate([part.one_ring.divergence(V[part.rows]) for part in self.parts])

    def solve(
        self, rate: NDArray[np.float64], guess: NDArray[np.float64] | None = None, rtol: float = RTOL
    ) -> tuple[NDArray[np.float64], SolveReport]:
        """Return the pressures [N s / m2] that remove volume rates [m3/s], and how the solve went.

        Args:
            rate: Volume rates at the nodes of all parts.
            guess: Pressures to start from.
            rtol: Tolerance.
        """
        scale = float(kernels.largest_rate(rate, self._volume))
        if scale == 0.0:
            return np.zeros(self._size), SolveReport(0, 0.0, True)
        if not np.isfinite(scale):
            return np.zeros(self._size), SolveReport(0, np.inf, False)
        r, work = np.empty(self._size), np.empty(self._size)
        x = np.zeros(self._size)
        if guess is not None:
            np.subtract(-rate, self.multiply(guess, work), out=r)
            if float(kernels.largest_rate(r, self._volume)) < _WORST_GUESS * scale:
                x[:] = guess
        total, last = 0, np.inf
        while True:
            np.subtract(-rate, self.multiply(x, work), out=r)
            residual = float(kernels.largest_rate(r, self._volume)) / scale
            if residual <= rtol or total >= MAX_ITERATIONS or not residual <= _PROGRESS * last:
                return x, SolveReport(total, residual, residual <= rtol)
            last = residual
            total += self._iterate(x, r, 0.9 * rtol * scale, MAX_ITERATIONS - total)

    def _iterate(self, x: NDArray, r: NDArray, tolerance: float, limit: int) -> int:
        """Improve x by preconditioned conjugate residuals until those of the recurrence pass; return how many."""
        m, parallel = self._preconditioner, self._parallel
        z, az = m * r, np.empty_like(r)
        p, ap = np.zeros_like(r), np.zeros_like(r)
        rho, beta = self._product(z, az), 0.0
        for k in range(limit):
            kernels.next_directions.variant(parallel)(beta, m, z, az, p, ap, self._partial)
            size = float(np.sum(self._partial))
            if not (size > 0.0 and rho > 0.0):  # nothing is left in the range of the matrix
                return k
            kernels.advance.variant(parallel)(rho / size, m, self._volume, p, ap, x, r, z, self._partial)
            if float(np.max(self._partial)) <= tolerance:
                return k + 1
            before, rho = rho, self._product(z, az)
            beta = rho / before
        return limit

    def _product(self, z: NDArray, out: NDArray) -> float:
        """Set `out` to the product of the matrix and z, and return the inner product of both."""
        u = self.changes(z)
        for part, own, chunks in zip(self.parts, self._pressures, self._chunks, strict=True):
            part.one_ring.divergence_and_product(u[part.rows], z[own], out[own], self._sums[chunks])
        return float(np.sum(self._sums))
