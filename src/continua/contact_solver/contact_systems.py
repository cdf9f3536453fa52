"""The linear systems of a contact solve: A + G^T H G, with A the matrices of one or several bodies side by side.

A body that touches colliders only, each contact with one of its nodes, has contact terms only in its diagonal blocks:
they are added to its matrix, and its own solver is used. Otherwise the matrices of all connected bodies are merged into
one, with the couplings of the contacts between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.augmented_lagrangian_kernels import (
    add_contact_hessian,
    add_diagonal_hessian,
    compliance,
    coupling_keys,
    coupling_places,
    merge_pattern,
)
from continua.contact_solver.constraint_rows import ConstraintRows
from continua.linalg import PCG, BlockMatrix, BlockPattern, SolveReport
from continua.timestepping.requests import VelocitySystem

__all__ = [
    "DEFAULT_RTOL",
    "DiagonalContactSystem",
    "MergedContactSystem",
    "project_fixed",
]

DEFAULT_RTOL = 1e-4
"""Tolerance of linear solvers that have none of their own."""


class DiagonalContactSystem:
    """The system of one body whose contacts have one entry each.

    Attributes:
        tolerance_factor: Factor of the scale of the linear solver's tolerance.
    """

    def __init__(self, system: VelocitySystem, rows: ConstraintRows) -> None:
        """Store the system; rows are numbered within the body."""
        self.system, self.rows = system, rows
        self.rhs = system.rhs
        p = system.matrix.pattern
        self._diagonal_blocks = np.unique(p.diagonal[rows.row])
        self._bare_blocks = system.matrix.blocks[self._diagonal_blocks]
        self._solver_hessian: NDArray[np.float64] | None = None  # the H of the last update of the solver
        self.fixed = system.fixed
        self.tolerance_factor = 1.0

    def compliance(self) -> NDArray[np.float64]:
        """Return the compliance of the contacts by their own nodes [1/kg], shape [c]."""
        out = np.empty(len(self.rows))
        m, r = self.system.matrix, self.rows
        compliance(r.ptr, r.row, r.block, m.blocks, m.pattern.diagonal, self.fixed, out)
        return out

    def multiply(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A x, without contacts."""
        self.restore()
        return self.system.matrix.multiply(x)

    def restore(self) -> None:
        """Remove the contact terms from the matrix."""
        self.system.matrix.blocks[self._diagonal_blocks] = self._bare_blocks

    def solve(
        self, hessian: NDArray[np.float64], rhs: NDArray[np.float64], residual_fraction: float = 0.0
    ) -> tuple[NDArray, SolveReport]:
        """Solve (A + G^T H G) x = rhs with the body's own solver and tolerance; `residual_fraction` is not used."""
        s, r = self.system, self.rows
        self.restore()
        add_diagonal_hessian(r.ptr, r.row, r.block, hessian, s.matrix.pattern.diagonal, s.matrix.blocks)
        if self._solver_hessian is None or not np.array_equal(hessian, self._solver_hessian):
            s.solver.update(s.matrix, s.fixed, s.projections)
            self._solver_hessian = hessian.copy()
        x = np.zeros_like(rhs)
        scale = s.tolerance_scale if s.contact_tolerance_scale is None else s.contact_tolerance_scale
        if self.tolerance_factor != 1.0:
            scale = self.tolerance_factor * scale
        return x, s.solver.solve(rhs, x, scale)

    def project_fixed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values with zeros in the fixed rows."""
        return project_fixed(self.system.fixed, self.system.projections, values)


class MergedContactSystem:
    """The merged system of several bodies."""

    tolerance_factor = 1.0

    def __init__(self, systems: Sequence[VelocitySystem], rows: ConstraintRows, rtol: float) -> None:
        """Merge the systems, which stand one after the other in V and in `rows`.

        Equations in which forces act for a shorter time are scaled up, so that impulses are the same in all.
        """
        self.systems, self.rows = systems, rows
        n = sum(len(s.rhs) for s in systems)
        longest_dt = max(s.effective_dt for s in systems)
        self._scales = [longest_dt / s.effective_dt for s in systems]
        self.rhs = np.concatenate([k * s.rhs for k, s in zip(self._scales, systems, strict=True)])
        self.tolerance_scale = np.concatenate(
            [k * s.tolerance_scale for k, s in zip(self._scales, systems, strict=True)]
        )
        self.fixed = np.concatenate([s.fixed for s in systems])
        self.projections = None
        if any(s.projections is not None for s in systems):
            whole = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
            parts = [
                np.tile(whole, (len(s.rhs), 1)) if s.projections is None else s.projections for s in systems
            ]
            self.projections = np.concatenate(parts)
        self._solver_hessian: NDArray[np.float64] | None = None  # the H of the last update of the solver
        self._merge(n)
        self.rtol = rtol
        self.solver = PCG()
        self.solver.setup(self.matrix)

    def _merge(self, n: int) -> None:
        patterns = [s.matrix.pattern for s in self.systems]
        firsts = np.cumsum([0] + [p.node_count for p in patterns])
        blocks = np.cumsum([0] + [p.block_count for p in patterns])
        indptr = np.concatenate(
            [[0]] + [p.indptr[1:] + b for p, b in zip(patterns, blocks[:-1], strict=True)]
        )
        indices = np.concatenate([p.indices + f for p, f in zip(patterns, firsts[:-1], strict=True)])
        counts = np.diff(self.rows.ptr).astype(np.int64)
        pairs = int((counts * counts).sum())
        keys = np.empty(pairs, np.int64)
        keys = np.unique(keys[: coupling_keys(self.rows.ptr, self.rows.row, n, keys)])
        total = len(indices) + len(keys)
        merged_indptr, merged = np.zeros(n + 1, np.int32), np.zeros(total, np.int32)
        self._block_index, diagonal = np.zeros(len(indices), np.int32), np.zeros(n, np.int32)
        count = merge_pattern(
            indptr.astype(np.int32), indices, keys, merged_indptr, merged, self._block_index, diagonal
        )
        pattern = BlockPattern.without_elements(merged_indptr, merged[:count].copy(), diagonal)
        self.matrix = BlockMatrix(pattern)
        self._couplings = np.empty(pairs, np.int32)  # indices of the blocks that contacts change
        coupling_places(self.rows.ptr, self.rows.row, merged_indptr, pattern.indices, self._couplings)
        self._contact_blocks = np.unique(self._couplings)
        self._first_block = blocks
        self._fill(self.matrix.blocks)
        self._bare_blocks = self.matrix.blocks.copy()

    def _fill(self, out: NDArray[np.float64]) -> None:
        ends = zip(self.systems, self._scales, self._first_block[:-1], self._first_block[1:], strict=True)
        for s, scale, start, end in ends:
            out[self._block_index[start:end]] = s.matrix.blocks if scale == 1.0 else scale * s.matrix.blocks

    def compliance(self) -> NDArray[np.float64]:
        """Return the compliance of the contacts by their own rows [1/kg], shape [c]."""
        out = np.empty(len(self.rows))
        p, r = self.matrix.pattern, self.rows
        compliance(r.ptr, r.row, r.block, self._bare_blocks, p.diagonal, self.fixed, out)
        return out

    def multiply(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A x, without contacts."""
        out = np.empty_like(x)
        first = 0
        for s, scale in zip(self.systems, self._scales, strict=True):
            rows = slice(first, first + len(s.rhs))
            s.matrix.multiply(x[rows], out[rows])
            if scale != 1.0:
                out[rows] *= scale
            first = rows.stop
        return out

    def restore(self) -> None:
        """Do nothing: the bodies' matrices were not changed."""

    def solve(
        self, hessian: NDArray[np.float64], rhs: NDArray[np.float64], residual_fraction: float
    ) -> tuple[NDArray, SolveReport]:
        """Solve (A + G^T H G) x = rhs to a residual of a fraction of rhs, or `rtol` of the scale."""
        r = self.rows
        if self._solver_hessian is None or not np.array_equal(hessian, self._solver_hessian):
            self.matrix.blocks[self._contact_blocks] = self._bare_blocks[self._contact_blocks]
            add_contact_hessian(r.ptr, r.block, hessian, self._couplings, self.matrix.blocks)
            self.solver.update(self.matrix, self.fixed, self.projections)
            self._solver_hessian = hessian.copy()
        x = np.zeros_like(rhs)
        self.solver.rtol = max(residual_fraction, self.rtol)
        return x, self.solver.solve(rhs, x, (self.rtol / self.solver.rtol) * self.tolerance_scale)

    def project_fixed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values with zeros in the fixed rows."""
        return project_fixed(self.fixed, self.projections, values)


def project_fixed(
    fixed: NDArray[np.uint8], projections: NDArray[np.float64] | None, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values [n, 3] with zeros in fixed rows, and only the free directions in partly fixed ones."""
    if not fixed.any():
        return values
    free = values.copy()
    free[fixed == 1] = 0.0
    partly = np.flatnonzero(fixed == 2)
    if len(partly) and projections is not None:
        s = projections[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
        free[partly] = np.einsum("kij,kj->ki", s, values[partly])
    return free
