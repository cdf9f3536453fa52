"""Velocities and impulses of bodies in contact by a semismooth Newton method.

The velocities V and the impulses p of the contacts solve A V = r + G^T p with Coulomb's law between p and the relative
velocities u = G V + d. Each round of the method has two parts:

1. Prediction. Gauss-Seidel sweeps over the contacts find impulses that obey Coulomb's law if each row of V moves by its
   own compliance only, starting from the true u and p. This is cheap and decides which contacts are open, stick, or
   slide, and in which direction.
2. Linear solve. With these states the law is linear: u_n = -b where a contact is closed, u_t = 0 where it sticks, and
   p_t = mu p_n t where it slides. Closed contacts are penalised, with the predicted impulses as multipliers, and one
   linear system is solved for all bodies. It is not symmetric, as friction follows from the normal impulse; without
   that coupling the rounds do not converge. GMRES reduces its residual by a factor only.

The prediction alone would converge slowly, as it knows nothing of what is beyond a row; Newton's method alone jumps
between states. Together they need few rounds, and the linear solves of all rounds cost one to three solves without
contacts. The idea of a nonlinear smoother before an inexact Newton step is that of truncated nonsmooth Newton
multigrid (Gräser and Kornhuber 2009); the linearised friction law is Alart's and Curnier's (1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.augmented_lagrangian_kernels import solve_diagonal_contacts
from continua.contact_solver.constraint_rows import ConstraintRows
from continua.contact_solver.contact_solution import ContactSolution
from continua.contact_solver.contact_systems import DEFAULT_RTOL
from continua.contact_solver.semismooth_newton_kernels import (
    SLIDES,
    add_balancing_impulses,
    add_contact_diagonal,
    append_rigid_motions,
    block_sums,
    inverse_norm,
    linearise_contacts,
    local_compliance,
    predict_impulses,
    restore_momenta,
)
from continua.linalg import BlockMatrix, BlockPattern, SolveReport, block_kernels
from continua.linalg.krylov import gmres_kernels, ssor_kernels
from continua.numerics.timers import timed
from continua.timestepping.requests import VelocitySystem

__all__ = ["SemismoothNewton"]

MAX_ROUNDS = 40
"""Most rounds."""

PENALTY = 5.0
"""Penalty of closed contacts, times the compliance of their own rows."""

NEIGHBOUR_FACTORS, COUPLED = (4.0, 1.5, 4.0, 10.0, 1.5, 30.0), (True, True, False, True, False, False)
"""Compliance of a row of a deformable body in the prediction, in inverse diagonal blocks: its neighbours give way too,
in soft bodies less than in stiff or thin ones; and whether friction follows the normal impulse in the linear solve,
which is faster but can repeat itself where friction is large. The next pair is used where there is no progress."""

MAX_REPEATED = 3
"""Rounds without half of the least error after which the next pair is used."""

DIAGONAL_FACTOR = 1.5
"""Part of the diagonal blocks of contacts in the preconditioner; it makes up for the other blocks."""

LINEAR_REDUCTION, MAX_ITERATIONS, MAX_SYMMETRIC_ITERATIONS = 0.05, 30, 120
"""Reduction of the residual by a linear solve, its most iterations, and those where no contact slides, by conjugate
gradients, which need no basis. More accurate solves save no rounds: multipliers converge by a factor in each."""

MAX_SWEEPS, SWEEP_FRACTION, SWEEP_REDUCTION = 50, 0.1, 0.01
"""Most sweeps of a prediction, and the change in a sweep at which it ends, as a fraction of the tolerance, and of the
change in the first sweep. With 20 sweeps the rounds of a torus squeezed through a ring often repeat themselves."""

GOAL_FRACTION, MIN_GOAL = 0.3, 1e-12
"""Residual at which a linear solve ends, as a fraction of the accepted one, and the smallest accepted one, relative to
the load."""

RELAXATION = 1.4
"""Over-relaxation factor of the preconditioner, as in `PCG`."""

DEEP_REGULARISATION, REGULARISATION = 0.03, 1e-4
"""Part of a contact's compliance that is added to it where surfaces overlap deeply, or at all. Contacts that move them
apart may contradict each other; their impulses would grow without limit."""

STALLED_ROUNDS, STALLED_FACTOR = 5, 20.0
"""Rounds without half of the least error after which errors of this many tolerances are accepted: impulses of contacts
that are nearly redundant converge slowly, and have little effect. No contact may sink in by more than a step
accepts."""

PATIENCE = 18
"""Rounds without half of the least error after which the iteration is given up."""


@dataclass(eq=False)
class _Joined:
    """The systems of several bodies as one, with impulses over the longest `effective_dt`."""

    matrix: BlockMatrix
    rhs: NDArray[np.float64]
    scale: NDArray[np.float64]
    x_offset: NDArray[np.float64]
    fixed: NDArray[np.uint8]
    projections: NDArray[np.float64] | None
    rtol: float

    def update_rhs(self, systems: Sequence[VelocitySystem]) -> None:
        """Take over right-hand sides that have changed."""
        if len(systems) > 1:
            longest = max(s.effective_dt for s in systems)
            np.concatenate([longest / s.effective_dt * s.rhs for s in systems], out=self.rhs)

    @classmethod
    def of(cls, systems: Sequence[VelocitySystem]) -> _Joined:
        scales = [
            s.tolerance_scale if s.contact_tolerance_scale is None else s.contact_tolerance_scale
            for s in systems
        ]
        offsets = [np.zeros_like(s.x) if s.x_offset is None else s.x_offset for s in systems]
        rtol = min(float(getattr(s.solver, "rtol", DEFAULT_RTOL)) for s in systems)
        if len(systems) == 1:
            s = systems[0]
            return cls(s.matrix, s.rhs, scales[0], offsets[0], s.fixed, s.projections, rtol)
        longest = max(s.effective_dt for s in systems)
        factors = [longest / s.effective_dt for s in systems]
        projections = None
        if any(s.projections is not None for s in systems):
            whole = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
            projections = np.concatenate(
                [np.tile(whole, (len(s.rhs), 1)) if s.projections is None else s.projections for s in systems]
            )
        return cls(
            _joined_matrix([s.matrix for s in systems], factors),
            np.concatenate([f * s.rhs for f, s in zip(factors, systems, strict=True)]),
            np.concatenate([f * scale for f, scale in zip(factors, scales, strict=True)]),
            np.concatenate(offsets),
            np.concatenate([s.fixed for s in systems]),
            projections,
            rtol,
        )


def _joined_matrix(matrices: Sequence[BlockMatrix], factors: Sequence[float]) -> BlockMatrix:
    """Return the block-diagonal matrix of several bodies, each times its factor."""
    patterns = [matrix.pattern for matrix in matrices]
    rows = np.cumsum([0] + [p.node_count for p in patterns])
    blocks = np.cumsum([0] + [p.block_count for p in patterns])
    indptr = np.concatenate([[0]] + [p.indptr[1:] + b for p, b in zip(patterns, blocks[:-1], strict=True)])
    indices = np.concatenate([p.indices + r for p, r in zip(patterns, rows[:-1], strict=True)])
    diagonal = np.concatenate([p.diagonal + b for p, b in zip(patterns, blocks[:-1], strict=True)])
    joined = BlockMatrix(
        BlockPattern.without_elements(
            indptr.astype(np.int32), indices.astype(np.int32), diagonal.astype(np.int32)
        )
    )
    for matrix, factor, low, high in zip(matrices, factors, blocks[:-1], blocks[1:], strict=True):
        np.multiply(matrix.blocks, factor, out=joined.blocks[low:high])
    return joined


class _Preconditioner:
    """Symmetric over-relaxation of the matrix with the diagonal blocks of closed contacts.

    Attributes:
        row_compliance: Inverse of the diagonal blocks of the matrix, zero in fixed rows, six values per row.
    """

    def __init__(self, joined: _Joined) -> None:
        self.joined = joined
        p = joined.matrix.pattern
        n = p.node_count
        self.starts = ssor_kernels.part_starts(n, p.parallel)
        self.inner = np.zeros((n, 2), np.int32)
        ssor_kernels.split_rows.variant(p.parallel)(p.indptr, p.indices, self.starts, self.inner)
        self.inverse, self.scaled, self.extra = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros((n, 6))
        ssor_kernels.diagonal_blocks.variant(p.parallel)(
            joined.matrix.blocks, p.diagonal, joined.fixed, RELAXATION, self.starts, self.scaled, self.inverse
        )
        if joined.projections is not None:
            block_kernels.project_diagonal.variant(p.parallel)(
                joined.matrix.blocks, p.diagonal, joined.fixed, joined.projections, RELAXATION, self.inverse,
                self.scaled,
            )  # fmt: skip
        self.row_compliance = self.inverse / RELAXATION
        self._bare = self.inverse.copy(), self.scaled.copy()
        parts = len(self.starts) - 1
        self._work = (
            np.empty((MAX_ITERATIONS + 1, n, 3)),
            *(np.zeros((n, 3)) for _ in range(4)),
            np.zeros((parts, MAX_ITERATIONS + 2)),
        )
        self.touched = np.zeros(0, np.int64)

    def set_touched(self, touched: NDArray[np.int64]) -> None:
        """Set the rows that contacts touch."""
        for values, bare in zip((self.inverse, self.scaled), self._bare, strict=True):
            values[self.touched] = bare[self.touched]
        self.extra[self.touched] = 0.0
        self._work[4][self.touched] = 0.0
        self.touched = touched

    def solve(
        self,
        rows: ConstraintRows,
        state: NDArray[np.int8],
        derivative: NDArray[np.float64],
        symmetric: NDArray[np.float64],
        rhs: NDArray[np.float64],
        goal: float,
    ) -> tuple[NDArray[np.float64], int, float]:
        """Solve (A + G^T H G) x = rhs roughly; returns x, the iterations, and the residual, -1 if it failed."""
        m, p = self.joined.matrix, self.joined.matrix.pattern
        which = np.flatnonzero(state)
        add_contact_diagonal(
            rows.ptr, rows.row, rows.block, symmetric, which, self.touched, DIAGONAL_FACTOR, RELAXATION, m.blocks,
            p.diagonal, self.joined.fixed, self.extra, self.inverse, self.scaled,
        )  # fmt: skip
        x = np.zeros_like(rhs)
        if not ((state == SLIDES) & (derivative[:, 3:7:3] != 0.0).any(axis=1)).any():
            basis, t, q, z, extra, partial = self._work
            iterations, residual, _ = gmres_kernels.ssor_cg.variant(p.parallel)(
                p.indptr, p.indices, m.blocks, p.diagonal, self.inner, self.starts, self.inverse, self.scaled,
                rows.ptr, rows.row, rows.block, derivative, which, self.touched, self.extra, rhs, x,
                LINEAR_REDUCTION, goal, MAX_SYMMETRIC_ITERATIONS, basis[0], z, basis[1], t, q, extra, partial,
            )  # fmt: skip
            return x, int(iterations), float(residual)
        iterations, residual, _ = gmres_kernels.ssor_gmres.variant(p.parallel)(
            p.indptr, p.indices, m.blocks, p.diagonal, self.inner, self.starts, self.inverse, self.scaled, rows.ptr,
            rows.row, rows.block, derivative, which, self.touched, self.extra, rhs, x, LINEAR_REDUCTION, goal,
            *self._work,
        )  # fmt: skip
        return x, int(iterations), float(residual)


@dataclass(eq=False)
class _RigidMotions:
    """The rigid motions of bodies without fixed rows, in the prediction: stiff bodies move by these above all.

    Attributes:
        is_coupled: Which rows belong to bodies whose matrix couples rows, shape [N].
        body: Free body of each row, or -1, shape [N].
        positions: Positions of the rows [m], shape [N, 3].
        centers: Centres of mass of the free bodies [m], shape [k, 3].
        compliance: Inverse masses and inverse inertias of the free bodies, six values each, shape [2 k, 6].
    """

    is_coupled: NDArray[np.bool_]
    body: NDArray[np.int64]
    positions: NDArray[np.float64]
    centers: NDArray[np.float64]
    compliance: NDArray[np.float64]

    @classmethod
    def of(cls, systems: Sequence[VelocitySystem], joined: _Joined) -> _RigidMotions:
        patterns = [s.matrix.pattern for s in systems]
        counts = [p.node_count for p in patterns]
        coupled = [p.block_count > p.node_count for p in patterns]
        n = sum(counts)
        body, positions = np.full(n, -1, np.int64), np.zeros((n, 3))
        centers: list[NDArray[np.float64]] = []
        compliance: list[NDArray[np.float64]] = []
        unit = np.zeros((n, 3))
        unit[:, 0] = 1.0
        mass = joined.matrix.multiply(unit)[:, 0]  # elastic forces of a translation vanish
        lows = np.cumsum([0, *counts])
        for s, low, high, is_coupled in zip(systems, lows[:-1], lows[1:], coupled, strict=True):
            x, m = s.matrix.positions, mass[low:high]
            total = float(m.sum())
            if x is None or not is_coupled or s.fixed.any() or not total > 0.0:
                continue
            center = (m @ x) / total
            r = x - center
            square = (m[:, None] * r).T @ r
            inertia = np.trace(square) * np.eye(3) - square
            if not np.linalg.eigvalsh(inertia)[0] > 1e-9 * np.trace(inertia):
                continue
            body[low:high], positions[low:high] = len(centers), x
            centers.append(center)
            inverse = np.linalg.inv(inertia)
            compliance += [np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0]) / total, inverse[np.triu_indices(3)]]
        return cls(
            np.repeat(coupled, counts),
            body,
            positions,
            np.array(centers).reshape(-1, 3),
            np.array(compliance).reshape(-1, 6),
        )

    def append_to(
        self, rows: ConstraintRows
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return `ptr`, `row` and `block` of contacts with entries for the rigid motions."""
        if not len(self.centers):
            return rows.ptr, rows.row, rows.block
        most = len(rows.row) + 2 * int((self.body[rows.row] >= 0).sum())
        ptr, row, block = np.zeros_like(rows.ptr), np.zeros(most, np.int32), np.zeros((most, 9))
        count = append_rigid_motions(
            rows.ptr, rows.row, rows.block, self.body, self.positions, self.centers, ptr, row, block
        )
        return ptr, row[:count], block[:count]


@dataclass(eq=False)
class _Balancing:
    """The terms that balance the internal forces of those bodies which have them, see `MomentBalance`.

    Attributes:
        systems: These bodies.
        first: Their first rows, shape [k].
        end: Their last rows + 1, shape [k].
        constant: Constant moments, shape [k, 3].
        response: Moments per x, shape [N, 9].
        arms: Arms [m], shape [N, 3].
        mass_arms: The same times the mass, shape [N, 3].
        inverse: Inverse moments of inertia, shape [k, 3, 3].
        rotation: Inverses of the moments that rotations need, shape [k, 3, 3].
        translation: Inverses of the impulses that translations need, shape [k, 3, 3].
        added: The impulses that the right-hand sides contain [N s], shape [N, 3].
    """

    systems: list[VelocitySystem]
    first: NDArray[np.int64]
    end: NDArray[np.int64]
    constant: NDArray[np.float64]
    response: NDArray[np.float64]
    arms: NDArray[np.float64]
    mass_arms: NDArray[np.float64]
    inverse: NDArray[np.float64]
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    added: NDArray[np.float64]

    @classmethod
    def of(cls, systems: Sequence[VelocitySystem], matrix: BlockMatrix) -> _Balancing:
        longest = max(s.effective_dt for s in systems)
        lows = np.cumsum([0] + [len(s.rhs) for s in systems])
        parts = [
            (k, terms)
            for k, s in enumerate(systems)
            if s.moment_balance is not None
            and s.effective_dt == longest
            and (terms := s.moment_balance()) is not None
        ]
        n = int(lows[-1]) if parts else 0
        response, arms, mass_arms = np.zeros((n, 9)), np.zeros((n, 3)), np.zeros((n, 3))
        for k, terms in parts:
            own = slice(lows[k], lows[k + 1])
            response[own], arms[own], mass_arms[own] = terms.response, terms.arms, terms.mass_arms
        which = np.array([k for k, _ in parts], np.int64)
        sums = np.zeros((len(which), 9))
        block_sums(matrix.pattern.indptr, matrix.blocks, lows[which], lows[which + 1], sums)
        return cls(
            [systems[k] for k in which],
            lows[which],
            lows[which + 1],
            np.array([terms.constant for _, terms in parts]).reshape(-1, 3),
            response,
            arms,
            mass_arms,
            np.linalg.inv(np.array([terms.inertia for _, terms in parts]).reshape(-1, 3, 3)),
            np.linalg.inv(np.array([terms.rotation for _, terms in parts]).reshape(-1, 3, 3)),
            np.asarray(np.linalg.inv(sums.reshape(-1, 3, 3).transpose(0, 2, 1)), np.float64),
            np.zeros((n, 3)),
        )

    def add_to(self, out: NDArray[np.float64], x: NDArray[np.float64], factor: float = 1.0) -> None:
        """Add the impulses that balance the internal forces of x."""
        add_balancing_impulses(
            self.first, self.end, self.constant, self.response, self.inverse, self.mass_arms, factor, x, out
        )

    def finish(self, x: NDArray[np.float64]) -> None:
        """Add the impulses to the right-hand sides of the bodies, instead of those before."""
        if not self.systems:
            return
        before, self.added = self.added, np.zeros_like(self.added)
        self.add_to(self.added, x)
        for s, low, high in zip(self.systems, self.first, self.end, strict=True):
            assert s.add_impulse is not None
            s.add_impulse(self.added[low:high] - before[low:high])
            s.is_balanced = True


class SemismoothNewton:
    """The method for some bodies; what does not depend on the contacts is kept from solve to solve.

    Args:
        systems: The bodies, one after the other in V.
    """

    def __init__(self, systems: Sequence[VelocitySystem]) -> None:
        self.systems = systems
        self._joined = _Joined.of(systems)
        self._preconditioner = _Preconditioner(self._joined)
        self._motions = _RigidMotions.of(systems, self._joined)
        self._balancing = _Balancing.of(systems, self._joined.matrix)
        j, metric = self._joined, self._preconditioner.row_compliance
        self._reference = (inverse_norm(metric, j.rhs) + inverse_norm(metric, j.scale)) ** 0.5
        self._is_first = True

    def _prediction_compliance(self, factor: float) -> NDArray[np.float64]:
        """Return the compliance of rows in the prediction; that of rows that are coupled to no others is exact."""
        rows = np.where(self._motions.is_coupled, factor, 1.0)[:, None] * self._preconditioner.row_compliance
        return np.concatenate([rows, self._motions.compliance])

    @timed("contact solve")
    def solve(
        self,
        rows: ConstraintRows,
        bound: NDArray[np.float64],
        initial_impulse: NDArray[np.float64],
        tolerance: float,
        *,
        relative_tolerance: float = 0.0,
        start: NDArray[np.float64] | None = None,
        accuracy: float = 1.0,
        coarse_factor: float = 1.0,
        give_way: NDArray[np.bool_] | bool = False,
        restore: bool = False,
        deep_speed: float = inf,
        most_inward: NDArray[np.float64] | float = inf,
        deadline: float = inf,
    ) -> ContactSolution:
        """Solve the systems with contacts; their `x` become the solution, if it converges or the time is over.

        Args:
            rows: The contacts.
            bound: b in u_n + b >= 0 [m/s], shape [c].
            initial_impulse: Initial guess of the impulses [N s], shape [c, 3].
            tolerance: Accepted error of a relative velocity [m/s].
            relative_tolerance: What the tolerance has in addition, as a fraction of the largest change of
                velocities of rows in contact in the step: bodies at rest are solved to the tolerance itself.
            start: Unknowns of the velocities at the start of the step [m/s], shape [N, 3]; None is zero.
            accuracy: Accepted residual of the linear systems, as a fraction of that of the bodies' solvers.
            coarse_factor: Factor of the tolerances in a solve after which contacts are searched again.
            give_way: Which contacts are regularised if they move overlapping surfaces apart, shape [c].
            restore: Whether balanced bodies are moved by what linear solves left of their impulse and moment.
            deep_speed: Speed [m/s] of separation, -b, from which they are regularised more.
            most_inward: Speed [m/s] at which a contact may sink in deeper, or pass its surface, in a solution that is
                accepted because it makes no progress, shape [c]; contacts with fixed rows may be faster.
            deadline: Time of `perf_counter` after which no more round begins, except the first.
        """
        rows = rows.in_unknowns(self.systems)
        joined, preconditioner, count = self._joined, self._preconditioner, len(rows)
        joined.update_rhs(self.systems)
        balancing = self._balancing
        rhs = joined.rhs - balancing.added if balancing.systems else joined.rhs
        touched = np.unique(rows.row).astype(np.int64)
        preconditioner.set_touched(touched)
        compliance = np.zeros((count, 6))
        local_compliance(rows.ptr, rows.row, rows.block, preconditioner.row_compliance, compliance)
        own = (compliance[:, 0] + compliance[:, 3] + compliance[:, 5]) / 3.0
        movable = own > 0.0
        rho = np.where(movable, PENALTY / np.where(movable, own, 1.0), 0.0)
        ptr, row, block = self._motions.append_to(rows)
        moving = np.unique(row).astype(np.int64)
        factor, row_compliance = 0, preconditioner.row_compliance
        part = np.where(give_way & (bound < 0.0), REGULARISATION, 0.0)
        part[give_way & (bound < -deep_speed)] = DEEP_REGULARISATION
        regularisation = part * NEIGHBOUR_FACTORS[0] * compliance[:, 0]
        is_held = ~movable  # such contacts may have no rows
        is_held[np.repeat(np.arange(count), np.diff(rows.ptr))[joined.fixed[rows.row] != 0]] = True
        allowed = np.where(is_held, inf, most_inward)
        x = np.concatenate([s.x for s in self.systems])
        begin = np.zeros((len(touched), 3)) if start is None else start[touched]
        goal = max(accuracy * joined.rtol, MIN_GOAL) * self._reference
        linear_goal = GOAL_FRACTION * goal
        work, state = np.zeros((len(x) + len(self._motions.compliance), 3)), np.zeros(count, np.int8)
        derivative, symmetric = np.zeros((count, 9)), np.zeros((count, 6))
        expected = np.zeros((count, 3))
        impulse = np.where(movable[:, None], initial_impulse, 0.0)
        predicted = impulse
        u = rows.relative_velocities(x + joined.x_offset)
        iterations, rounds, error, least, improved, changed = 0, 0, inf, inf, 0, 0
        converged, coarse, failed, size = False, False, False, inf
        while True:
            if rounds or not self._is_first:
                change = float(np.abs((x + joined.x_offset)[touched] - begin).max(initial=0.0))
                accepted = tolerance + relative_tolerance * change
                repeats = rounds - max(improved, changed) >= MAX_REPEATED
                if repeats:
                    factor, changed = (factor + 1) % len(NEIGHBOUR_FACTORS), rounds
                if repeats or row_compliance is preconditioner.row_compliance:
                    row_compliance = self._prediction_compliance(NEIGHBOUR_FACTORS[factor])
                    local_compliance(ptr, row, block, row_compliance, compliance)
                predicted = impulse.copy()
                error = predict_impulses(
                    ptr, row, block, u, bound, rows.friction, rows.bilateral, compliance, regularisation,
                    row_compliance, moving, SWEEP_FRACTION * accepted, SWEEP_REDUCTION,
                    MAX_SWEEPS, predicted, work,
                )  # fmt: skip
            unbalanced = rhs - joined.matrix.multiply(x)
            balancing.add_to(unbalanced, x)
            if rounds or not self._is_first:
                total = unbalanced.copy()
                rows.apply_transpose(predicted, total)
                size = inverse_norm(preconditioner.row_compliance, total) ** 0.5
                converged = error <= accepted and size <= goal
                if not converged and coarse_factor > 1.0:
                    coarse = converged = error <= coarse_factor * accepted and size <= coarse_factor * goal
                if error < 0.5 * least:
                    least, improved = error, rounds
                if not converged and rounds - improved >= STALLED_ROUNDS:
                    sinks = u[:, 0] + np.maximum(bound, 0.0) < -allowed
                    converged = error <= STALLED_FACTOR * accepted and size <= STALLED_FACTOR * goal
                    converged = converged and not sinks.any()
                failed = not np.isfinite(error)
                late = rounds > 0 and perf_counter() >= deadline
                if converged or failed or late or rounds >= MAX_ROUNDS or rounds - improved > PATIENCE:
                    break
            linearise_contacts(
                u, bound, rows.friction, rows.bilateral, rho, regularisation, predicted, COUPLED[factor], state,
                derivative, symmetric, expected,
            )  # fmt: skip
            rows.apply_transpose(expected, unbalanced)
            if size <= goal:  # contacts need more accurate velocities
                linear_goal = max(LINEAR_REDUCTION * linear_goal, 0.1 * MIN_GOAL * self._reference)
            step, spent, residual = preconditioner.solve(
                rows, state, derivative, symmetric, unbalanced, linear_goal
            )
            if residual < 0.0 or not np.isfinite(step).all():
                failed = True
                break
            iterations, rounds = iterations + spent, rounds + 1
            x += step
            before, u = u, rows.relative_velocities(x + joined.x_offset)
            impulse = expected - np.einsum("cij,cj->ci", derivative.reshape(-1, 3, 3), u - before)
        if failed or not (converged or perf_counter() >= deadline):
            return ContactSolution(
                initial_impulse, SolveReport(iterations, -1.0, False), rounds, error, converged=False
            )
        if restore and balancing.systems:
            unbalanced = rhs - joined.matrix.multiply(x)
            balancing.add_to(unbalanced, x)
            rows.apply_transpose(predicted, unbalanced)
            restore_momenta(
                balancing.first, balancing.end, balancing.arms, balancing.translation, balancing.rotation,
                unbalanced, x,
            )  # fmt: skip
        if not coarse:
            _close_single_contacts(rows, bound, joined, predicted, x)
        self._is_first = False
        balancing.finish(x)
        first = 0
        for s in self.systems:
            s.x[:] = x[first : first + len(s.x)]
            first += len(s.x)
        report = SolveReport(iterations, size / max(self._reference, 1e-300), True)
        return ContactSolution(predicted, report, rounds, error, converged, coarse)


def _close_single_contacts(
    rows: ConstraintRows,
    bound: NDArray[np.float64],
    joined: _Joined,
    impulse: NDArray[np.float64],
    x: NDArray[np.float64],
) -> None:
    """Remove the remaining error of contacts of one row each, with colliders."""
    single = (np.diff(rows.ptr) == 1) & (impulse[:, 0] > 0.0)
    if not single.any():
        return
    some = rows.take(single)
    solve_diagonal_contacts(
        some.row, some.frame, some.offset, bound[single], some.friction, some.bilateral, joined.fixed,
        impulse[single], joined.x_offset, x,
    )  # fmt: skip
