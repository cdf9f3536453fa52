"""Velocities of bodies that touch: hard contact with Coulomb friction, by an augmented Lagrangian.

The velocities V of all bodies minimise 1/2 V.A V - r.V subject to u_n + b >= 0 at every contact, with friction impulses
of at most mu times the normal one, against the sliding. With g = mu |u_t| added to u_n that is the same as: the
impulses p lie in Coulomb's cone K, the velocities in its dual, and p.(u + (b + g) n) = 0 (De Saxce and Feng 1998). For
a known g this is a convex problem. With a guess p of the impulses and rho > 0, the contacts answer a velocity with

    l(V) = P(p - rho (u(V) + (b + g) n)),    P the projection on K,

and A V = r + G^T l(V) is the gradient of a convex function, set to zero by Newton's method with a line search; every
linear system is the bodies' matrix plus rho G^T H G on what is active, positive definite and hardly worse for the
solver than the bodies are alone. Then p becomes l(V) and g the new mu |u_t|. In the end u_n + b = 0 and u_t = 0 hold to
the tolerance where they should, whatever rho is (Alart and Curnier 1991; Cadoux 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.contact.asks import BodySystem
from continua.contact.rows import ContactRows
from continua.contact.solve_kernels import answer, close_exactly, dot, judge, search
from continua.contact.systems import Alone, Together
from continua.linalg import SolveReport
from continua.numerics.stages import timed

__all__ = ["ContactSolution", "solve_contacts"]

EXACT = (30.0, 0.5)
"""What goes with exact linear solves. First rho times the compliance of a contact: larger is nearer to the
solution after one solve, and harder to solve. Then by which factor impulses and sliding speeds must be more wrong than
Newton's iteration to be renewed."""

INEXACT = (5.0, 2.0)
"""The same for linear solves that are not exact: these pay for every bit of stiffness."""

KEEN = (10.0, 0.5)
"""The same for linear solves that are exact in the end only."""

FINE, COARSE, NEAR = 1e-3, 0.2, 3.0
"""Part of the residual that a linear solve of merged bodies leaves to the next one: little in the first solve, which is
the last where bodies rest, and within a few times of what is enough; much while contacts come and go."""

ROUGH, CLOSE = 0.02, 30.0
"""Where contacts have to be exact in the end: part of the residual that linear solves leave far from the solution, and
how many tolerances far is."""

PATIENCE, SHARE = 6, 0.01
"""Solves of merged bodies after which `enough` is, and this part of what impulses do to the contacts' own rows."""

MOST = 60
"""Linear solves after which the search ends."""

STUCK = 8
"""Solves without a better error after which the linear solver gives no more, within a hundred tolerances."""

VAIN, LEAST = 4, 0.125
"""Sliding speeds and pressures can chase each other for ever: after so many renewals that were in vain, sliding speeds
are renewed by half as much, down to the second number."""

LAST = 1e-5
"""Part of the tolerance at which nothing is left to gain; it is reached where linear solves are exact. A body that
slides is solved on to there: an error of the pressure is one of the friction, which adds up over the way."""


@dataclass(eq=False)
class ContactSolution:
    """What the contacts of a solve did.

    Attributes:
        impulse: Impulses in the contacts' frames [N s], over the longest `weight` of the systems, shape [c, 3].
        report: The linear solves together.
        solves: How many there were.
        error: Largest error of a relative velocity in the end [m/s].
        settled: Whether that is below the tolerance, or as small as the linear solver lets it become.
    """

    impulse: NDArray[np.float64]
    report: SolveReport
    solves: int
    error: float
    settled: bool


@timed("contact solve")
def solve_contacts(
    systems: Sequence[BodySystem],
    rows: ContactRows,
    bound: NDArray[np.float64],
    push: NDArray[np.float64],
    tolerance: float,
    enough: float = 0.0,
    rtol: float = 1e-6,
    most: int = MOST,
    rough: bool = False,
    care: NDArray[np.float64] | None = None,
) -> ContactSolution:
    """Solve the systems of bodies that touch; their `x` become the solution.

    Args:
        systems: The bodies, one after the other in V.
        rows: Their contacts.
        bound: b in u_n + b >= 0 [m/s], shape [c].
        push: First guess of the impulses [N s], shape [c, 3].
        tolerance: Relative velocity [m/s] that may be wrong.
        enough: The same after some solves, for bodies that are merged; their linear solves then are only as exact as
            the contacts need. Zero solves all linear systems exactly.
        rtol: Tolerance of the linear solver of a merged system.
        most: Linear solves after which the search ends.
        rough: Whether linear solves need not be exact far from the solution.
        care: How many times smaller the error of a contact is to be, shape [c]; None is once.
    """
    alone = len(systems) == 1 and bool((np.diff(rows.ptr) == 1).all())
    exact = alone or enough == 0.0
    land = Alone(systems[0], rows) if alone else Together(systems, rows, rtol)
    x = np.concatenate([s.x for s in systems])
    base = np.concatenate([np.zeros_like(s.x) if s.base is None else s.base for s in systems])
    pace = INEXACT if not exact else KEEN if rough and not alone else EXACT
    state = _Impulses(rows, bound, push, land.compliance(), x + base, *pace, care)
    iterations, worst, converged, solves, goal = 0, 0.0, True, 0, tolerance
    said: tuple[str, ...] = ()
    try:
        before, best, since, fine, polished = np.inf, np.inf, 0, False, False
        while solves < most and since < STUCK:
            if exact and _good(state.error, before, tolerance):
                if not alone or polished or state.error <= LAST * tolerance or not state.slides:
                    break
                polished, land.floor = True, LAST
            elif not exact and fine and state.error <= goal:
                break
            coarse = max(tolerance, min(enough, SHARE * state.scale))
            goal = coarse if solves >= PATIENCE else tolerance
            fine = exact or solves == 0 or state.error <= NEAR * coarse
            before = state.error
            since = 0 if before < 0.7 * best or before > 100.0 * tolerance else since + 1
            best = min(best, before)
            part = 0.0 if exact else FINE if fine else COARSE
            if rough and not alone:
                part = FINE if solves == 0 or state.error <= CLOSE * tolerance else ROUGH
            out_of_balance = land.rhs - land.multiply(x)
            free = out_of_balance.copy()
            rows.spread(state.impulse, free)
            step, report = land.solve(state.hessian, land.filtered(free), part)
            solves += 1
            iterations += report.iterations
            said += tuple(s for s in report.warnings if s not in said)
            worst, converged = report.residual, report.converged
            if not report.residual >= 0.0 or not np.isfinite(step).all():
                worst, converged = -1.0, False
                break
            left = 0.0 if part == 0.0 else report.residual * float(np.abs(step).max(initial=0.0))
            x += state.go(step, out_of_balance, land, left, tolerance) * step
    finally:
        land.restore()
    if alone and converged:
        s = systems[0]
        close_exactly(
            rows.row, rows.frame, rows.offset, bound, rows.friction, rows.bilateral, s.fixed, state.final, base, x
        )  # fmt: skip
    first = 0
    for s in systems:
        s.x[:] = x[first : first + len(s.x)]
        first += len(s.x)
    settled = state.error <= goal or (since >= STUCK and state.error <= 100.0 * tolerance)
    total = SolveReport(iterations, worst, converged, warnings=said)
    return ContactSolution(state.final, total, solves, state.error, settled)


def _good(error: float, before: float, tolerance: float) -> bool:
    """Return whether to stop: far below the tolerance, or below it and the linear solver gives no more."""
    return error <= LAST * tolerance or (error <= tolerance and error > 0.3 * before)


class _Impulses:
    """The impulses of the contacts in one solve: their guess, and their answer to the velocities.

    Attributes:
        impulse: The answer to the present velocities [c, 3], with the newest guess.
        final: The answer with the guess that the last solve took.
        hessian: Minus its derivative [c, 6].
        error: Largest error of a relative velocity [m/s].
    """

    def __init__(
        self,
        rows: ContactRows,
        bound: NDArray[np.float64],
        push: NDArray[np.float64],
        give: NDArray[np.float64],
        V: NDArray[np.float64],
        stiff: float,
        early: float,
        care: NDArray[np.float64] | None = None,
    ) -> None:
        dead = ~(give > 0.0)  # all that it could move is held
        self.rho = np.where(dead, 0.0, stiff / np.where(dead, 1.0, give))
        self.impulse = np.zeros_like(push)
        self.hessian = np.zeros((len(push), 6))
        self.error = np.inf
        self.final = push
        self._push, self._rows, self._bound, self._give, self._early = push, rows, bound, give, early
        self._u = rows.velocities(V)
        self._slide = self._sliding()
        self._care = np.ones(len(push)) if care is None else care
        self._best, self._vain, self._part = np.inf, 0, 1.0
        self._respond()

    @property
    def slides(self) -> bool:
        """Whether a contact slides against friction."""
        p = self.final
        pressing = (p[:, 0] > 0.0) & (self._rows.friction > 0.0) & (self._rows.bilateral == 0)
        most = (1.0 - 1e-9) * self._rows.friction * p[:, 0]
        return bool((pressing & (np.hypot(p[:, 1], p[:, 2]) >= most)).any())

    @property
    def scale(self) -> float:
        """Velocity [m/s] that the largest impulse gives to the rows of its contact alone; small in stiff bodies."""
        return float((self._give * self.final[:, 0]).max(initial=0.0))

    def _sliding(self) -> NDArray[np.float64]:
        return np.where(
            self._rows.bilateral == 0, self._rows.friction * np.hypot(self._u[:, 1], self._u[:, 2]), 0.0
        )

    def _respond(self) -> None:
        r = self._rows
        self._law = (self._bound + self._slide, r.friction, r.bilateral, self.rho, self._push)
        answer(self._u, *self._law, self.impulse, self.hessian)

    def go(
        self,
        step: NDArray[np.float64],
        balance: NDArray[np.float64],
        land: Alone | Together,
        left: float,
        tolerance: float,
    ) -> float:
        """Go along a Newton step of the velocities and return how far; `balance` is r - A x before it."""
        zero = np.zeros_like(step)
        change = self._rows.velocities(step) - self._rows.velocities(zero)
        linear, square = -dot(balance, step), dot(step, land.multiply(step))
        length = search(linear, square, self._u, change, *self._law)
        self._u = self._u + length * change
        before, slope = self.impulse, self.hessian.copy()
        self.impulse = np.zeros_like(before)
        answer(self._u, *self._law, self.impulse, self.hessian)
        wrong, moved = judge(
            self._u, change, length, self._slide, self._rows.friction, self.rho, self._give, before, slope,
            self.impulse, self._push, self._care,
        )  # fmt: skip
        wrong += left + (1.0 - length) * float(np.abs(change).max(initial=0.0))
        self.error = max(wrong, moved)
        self.final = self.impulse
        if wrong <= max(LAST * tolerance, self._early * moved):
            self._calm(moved)
            self._push = self.final
            self._slide = self._slide + self._part * (self._sliding() - self._slide)
            self.impulse = np.zeros_like(before)
            self._respond()
        return length

    def _calm(self, moved: float) -> None:
        """Renew sliding speeds in part only where errors no longer fall."""
        self._vain += 1
        if moved < 0.9 * self._best:
            self._best, self._vain = moved, 0
        elif self._vain >= VAIN:
            self._part, self._vain = max(0.5 * self._part, LEAST), 0
