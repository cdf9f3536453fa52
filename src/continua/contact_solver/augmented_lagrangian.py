"""Velocities of bodies in contact: hard contact with Coulomb friction, by an augmented Lagrangian method.

The velocities V of all bodies minimise 1/2 V.A V - r.V subject to u_n + b >= 0 at every contact, with friction impulses
of at most mu times the normal impulse, opposed to the slip. With g = mu |u_t| added to u_n this is equivalent to: the
impulses p lie in Coulomb's cone K, the velocities in its dual, and p.(u + (b + g) n) = 0 (De Saxce and Feng 1998). For
a known g this is a convex problem. With multipliers p and a penalty rho > 0, the impulses at a velocity V are

    l(V) = P(p - rho (u(V) + (b + g) n)),    P the projection onto K,

and A V = r + G^T l(V) is the gradient of a convex function, set to zero by Newton's method with a line search; every
linear system is the bodies' matrix plus rho G^T H G of the active contacts, positive definite and hardly worse
conditioned than that of the bodies alone. Then p becomes l(V) and g the new mu |u_t|. At convergence u_n + b = 0 and
u_t = 0 hold to the tolerance where they should, whatever rho is (Alart and Curnier 1991; Cadoux 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.augmented_lagrangian_kernels import (
    convergence_error,
    dot,
    line_search,
    project_friction_cone,
    solve_diagonal_contacts,
)
from continua.contact_solver.constraint_rows import ConstraintRows
from continua.contact_solver.contact_solution import ContactSolution
from continua.contact_solver.contact_systems import (
    DiagonalContactSystem,
    MergedContactSystem,
)
from continua.linalg import SolveReport
from continua.numerics.timers import timed
from continua.timestepping.requests import VelocitySystem

__all__ = ["ContactSolution", "solve_contacts"]

PENALTY_EXACT = (30.0, 0.5)
"""For exact linear solves: rho times the compliance of a contact (a larger penalty is closer to the solution after one
solve, but harder to solve), and the ratio of the Newton error to the multiplier error below which multipliers and slip
speeds are updated."""

PENALTY_INEXACT = (5.0, 2.0)
"""The same for inexact linear solves, whose cost grows with the penalty."""

PENALTY_MIXED = (10.0, 0.5)
"""The same for linear solves that are exact only close to the solution."""

FINE_RTOL, COARSE_RTOL, NEAR_FACTOR = 1e-3, 0.2, 3.0
"""Relative residual of the linear solves of merged bodies: fine in the first solve (the only one at rest) and
within `NEAR_FACTOR` of the loose tolerance, coarse while the active set changes."""

FAR_RTOL, FAR_TOLERANCES = 0.02, 30.0
"""Where contacts have to be exact at the end: relative residual of linear solves far from the solution, and the error
in tolerances that counts as far."""

SOLVES_BEFORE_LOOSE, LOOSE_SHARE = 6, 0.01
"""Solves of merged bodies after which the loose tolerance applies, at most this fraction of the velocity that impulses
give to the contacts' own rows."""

MAX_SOLVES = 60
"""Most linear solves."""

MAX_STALLED = 8
"""Solves without a smaller error after which the iteration stops, within a hundred tolerances."""

STALLED_BEFORE_DAMPING, MIN_SLIP_DAMPING = 4, 0.125
"""Slip speeds and normal impulses can oscillate: after this many updates without progress the update of slip speeds is
halved, down to the second number."""

STOP_FRACTION = 1e-5
"""Fraction of the tolerance at which the iteration stops; exact linear solves reach it. A sliding body is solved to
there: an error of the normal impulse is an error of friction, which accumulates along the path."""


@timed("contact solve")
def solve_contacts(
    systems: Sequence[VelocitySystem],
    rows: ConstraintRows,
    bound: NDArray[np.float64],
    initial_impulse: NDArray[np.float64],
    tolerance: float,
    loose_tolerance: float = 0.0,
    rtol: float = 1e-6,
    max_solves: int = MAX_SOLVES,
    inexact: bool = False,
    row_tolerance_scale: NDArray[np.float64] | None = None,
    deadline: float = inf,
) -> ContactSolution:
    """Solve the systems of bodies in contact; their `x` become the solution.

    Args:
        systems: The bodies, one after the other in V.
        rows: Their contacts.
        bound: b in u_n + b >= 0 [m/s], shape [c].
        initial_impulse: Initial guess of the impulses [N s], shape [c, 3].
        tolerance: Accepted error of a relative velocity [m/s].
        loose_tolerance: The same after some solves, for merged bodies; their linear solves are then only as exact as
            the contacts need. Zero solves all linear systems exactly.
        rtol: Tolerance of the linear solver of a merged system.
        max_solves: Most linear solves.
        inexact: Whether linear solves may be inexact far from the solution.
        row_tolerance_scale: Factor by which the error of each contact has to be smaller, shape [c]; None is 1.
        deadline: Time of `perf_counter` after which no more linear solve begins, except the first.
    """
    rows = rows.in_unknowns(systems)
    diagonal = len(systems) == 1 and bool((np.diff(rows.ptr) == 1).all())
    exact = diagonal or loose_tolerance == 0.0
    system = DiagonalContactSystem(systems[0], rows) if diagonal else MergedContactSystem(systems, rows, rtol)
    x = np.concatenate([s.x for s in systems])
    x_offset = np.concatenate([np.zeros_like(s.x) if s.x_offset is None else s.x_offset for s in systems])
    penalty = PENALTY_INEXACT if not exact else PENALTY_MIXED if inexact and not diagonal else PENALTY_EXACT
    state = _Iterate(
        rows, bound, initial_impulse, system.compliance(), x + x_offset, *penalty, row_tolerance_scale
    )
    iterations, worst, linear_converged, solves, target_error = 0, 0.0, True, 0, tolerance
    warnings: tuple[str, ...] = ()
    try:
        before, best, stalled, is_fine, polished = np.inf, np.inf, 0, False, False
        while solves < max_solves and stalled < MAX_STALLED:
            if exact and _is_converged(state.error, before, tolerance):
                if not diagonal or polished or state.error <= STOP_FRACTION * tolerance or not state.slides:
                    break
                polished, system.tolerance_factor = True, STOP_FRACTION
            elif not exact and is_fine and state.error <= target_error:
                break
            if solves and perf_counter() >= deadline:
                break
            coarse = max(tolerance, min(loose_tolerance, LOOSE_SHARE * state.scale))
            target_error = coarse if solves >= SOLVES_BEFORE_LOOSE else tolerance
            is_fine = exact or solves == 0 or state.error <= NEAR_FACTOR * coarse
            before = state.error
            stalled = 0 if before < 0.7 * best or before > 100.0 * tolerance else stalled + 1
            best = min(best, before)
            rtol_now = 0.0 if exact else FINE_RTOL if is_fine else COARSE_RTOL
            if inexact and not diagonal:
                rtol_now = FINE_RTOL if solves == 0 or state.error <= FAR_TOLERANCES * tolerance else FAR_RTOL
            out_of_balance = system.rhs - system.multiply(x)
            free = out_of_balance.copy()
            rows.apply_transpose(state.impulse, free)
            step, report = system.solve(state.hessian, system.project_fixed(free), rtol_now)
            solves += 1
            iterations += report.iterations
            warnings += tuple(s for s in report.warnings if s not in warnings)
            worst, linear_converged = report.residual, report.converged
            if not report.residual >= 0.0 or not np.isfinite(step).all():
                worst, linear_converged = -1.0, False
                break
            linear_error = 0.0 if rtol_now == 0.0 else report.residual * float(np.abs(step).max(initial=0.0))
            x += state.advance(step, out_of_balance, system, linear_error, tolerance) * step
    finally:
        system.restore()
    if diagonal and linear_converged:
        s = systems[0]
        solve_diagonal_contacts(
            rows.row, rows.frame, rows.offset, bound, rows.friction, rows.bilateral, s.fixed, state.final, x_offset, x
        )  # fmt: skip
    first = 0
    for s in systems:
        s.x[:] = x[first : first + len(s.x)]
        first += len(s.x)
    converged = state.error <= target_error or (stalled >= MAX_STALLED and state.error <= 100.0 * tolerance)
    total = SolveReport(iterations, worst, linear_converged, warnings=warnings)
    return ContactSolution(state.final, total, solves, state.error, converged)


def _is_converged(error: float, before: float, tolerance: float) -> bool:
    """Return whether to stop: far below the tolerance, or below it and no longer decreasing."""
    return error <= STOP_FRACTION * tolerance or (error <= tolerance and error > 0.3 * before)


class _Iterate:
    """The iterate of the method: multipliers, slip speeds, and the impulses at the current velocities.

    Attributes:
        impulse: Impulses at the current velocities [c, 3], with the newest multipliers.
        final: Impulses with the multipliers of the last solve.
        hessian: Minus the derivative of the impulses [c, 6].
        error: Largest error of a relative velocity [m/s].
    """

    def __init__(
        self,
        rows: ConstraintRows,
        bound: NDArray[np.float64],
        initial_impulse: NDArray[np.float64],
        compliance: NDArray[np.float64],
        V: NDArray[np.float64],
        penalty_factor: float,
        update_ratio: float,
        row_tolerance_scale: NDArray[np.float64] | None = None,
    ) -> None:
        immovable = ~(compliance > 0.0)  # all its rows are fixed
        self.rho = np.where(immovable, 0.0, penalty_factor / np.where(immovable, 1.0, compliance))
        self.impulse = np.zeros_like(initial_impulse)
        self.hessian = np.zeros((len(initial_impulse), 6))
        self.error = np.inf
        self.final = initial_impulse
        self._rows, self._bound, self._multiplier = rows, bound, initial_impulse
        self._compliance, self._update_ratio = compliance, update_ratio
        self._u = rows.relative_velocities(V)
        self._slip = self._slip_speeds()
        self._row_tolerance_scale = (
            np.ones(len(initial_impulse)) if row_tolerance_scale is None else row_tolerance_scale
        )
        self._best, self._stalled, self._slip_damping = np.inf, 0, 1.0
        self._project()

    @property
    def slides(self) -> bool:
        """Whether a contact slides against friction."""
        p = self.final
        pressing = (p[:, 0] > 0.0) & (self._rows.friction > 0.0) & (self._rows.bilateral == 0)
        limit = (1.0 - 1e-9) * self._rows.friction * p[:, 0]
        return bool((pressing & (np.hypot(p[:, 1], p[:, 2]) >= limit)).any())

    @property
    def scale(self) -> float:
        """Velocity [m/s] that the largest impulse gives to the rows of its contact alone; small in stiff bodies."""
        return float((self._compliance * self.final[:, 0]).max(initial=0.0))

    def _slip_speeds(self) -> NDArray[np.float64]:
        return np.where(
            self._rows.bilateral == 0, self._rows.friction * np.hypot(self._u[:, 1], self._u[:, 2]), 0.0
        )

    def _project(self) -> None:
        r = self._rows
        self._projection_args = (
            self._bound + self._slip,
            r.friction,
            r.bilateral,
            self.rho,
            self._multiplier,
        )
        project_friction_cone(self._u, *self._projection_args, self.impulse, self.hessian)

    def advance(
        self,
        step: NDArray[np.float64],
        residual: NDArray[np.float64],
        system: DiagonalContactSystem | MergedContactSystem,
        linear_error: float,
        tolerance: float,
    ) -> float:
        """Do a line search along a Newton step of the velocities; returns its length. `residual` is r - A x before."""
        zero = np.zeros_like(step)
        change = self._rows.relative_velocities(step) - self._rows.relative_velocities(zero)
        linear, square = -dot(residual, step), dot(step, system.multiply(step))
        length = line_search(linear, square, self._u, change, *self._projection_args)
        self._u = self._u + length * change
        before, slope = self.impulse, self.hessian.copy()
        self.impulse = np.zeros_like(before)
        project_friction_cone(self._u, *self._projection_args, self.impulse, self.hessian)
        newton_error, multiplier_error = convergence_error(
            self._u, change, length, self._slip, self._rows.friction, self.rho, self._compliance, before, slope,
            self.impulse, self._multiplier, self._row_tolerance_scale,
        )  # fmt: skip
        newton_error += linear_error + (1.0 - length) * float(np.abs(change).max(initial=0.0))
        self.error = max(newton_error, multiplier_error)
        self.final = self.impulse
        if newton_error <= max(STOP_FRACTION * tolerance, self._update_ratio * multiplier_error):
            self._damp_slip(multiplier_error)
            self._multiplier = self.final
            self._slip = self._slip + self._slip_damping * (self._slip_speeds() - self._slip)
            self.impulse = np.zeros_like(before)
            self._project()
        return length

    def _damp_slip(self, multiplier_error: float) -> None:
        """Update slip speeds only partly if errors no longer decrease."""
        self._stalled += 1
        if multiplier_error < 0.9 * self._best:
            self._best, self._stalled = multiplier_error, 0
        elif self._stalled >= STALLED_BEFORE_DAMPING:
            self._slip_damping, self._stalled = max(0.5 * self._slip_damping, MIN_SLIP_DAMPING), 0
