"""Static equilibrium of soft bodies in contact with each other, without friction.

All bodies minimise one potential, the sum of theirs, by Newton's method: every direction solves the bodies' systems
together, with contacts as constraints gap + n.d >= 0 on the displacements d. Pairs that would cross become constraints,
and the direction is found again; then a line search follows it (see `deformable.statics`, also for where it ends).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from continua.collision import ColliderSet
from continua.contact_solver import ConstraintRows, join_rows, solve_contacts
from continua.contact_solver.contact_body import StaticConstraints, StaticPotential
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.surface_contacts import SurfaceContacts
from continua.coupling.contact.surface_points import SurfacePoints
from continua.deformable import StaticReport
from continua.deformable.convergence import Convergence, ConvergenceTest
from continua.deformable.incompressible import search_with_pressures
from continua.deformable.line_search import line_search
from continua.environment import Environment
from continua.errors import DivergedError
from continua.linalg import PCG, BlockMatrix, SolveReport
from continua.timestepping import VelocitySystem

__all__ = ["solve_static_contact"]

_MAX_ROUNDS = 12  # rounds in which pairs are added to a direction
_RTOL = 1e-9  # of the linear solver, relative to its right-hand side
_SOLVER_SHARE = 1e-3  # part of the unbalanced force to reach that a linear solve may leave
_GAP_TOLERANCE = 1e-6  # accepted error of a gap, as a fraction of the element size


class _CombinedPotential:
    """The sum of the potentials of several bodies."""

    def __init__(self, terms: Sequence[StaticPotential], starts: NDArray[np.int64]) -> None:
        self.terms, self._starts = terms, starts
        self.conservative = all(term.conservative for term in terms)
        self.rhs = np.zeros((int(starts[-1]), 3))

    def parts(self, u: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the rows of each body."""
        return [u[a:b] for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]

    def potential(self, u: NDArray[np.float64]) -> float:
        """Evaluate the potential at u [J]."""
        return sum(term.potential(own) for term, own in zip(self.terms, self.parts(u), strict=True))

    def linearise(self, u: NDArray[np.float64]) -> None:
        """Fill matrices and `rhs` at the u of the last `potential`."""
        for term, own, rhs in zip(self.terms, self.parts(u), self.parts(self.rhs), strict=True):
            term.linearise(own)
            rhs[:] = term.rhs

    def floor(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the unbalanced force [N] that rounding leaves at the u of the last `linearise`, shape [n]."""
        return np.concatenate([term.floor(own) for term, own in zip(self.terms, self.parts(u), strict=True)])

    def noise(self, u: NDArray[np.float64]) -> float:
        """Return the change of the potential [J] that rounding hides at the u of the last `linearise`."""
        return sum(term.noise(own) for term, own in zip(self.terms, self.parts(u), strict=True))


@dataclass(frozen=True, slots=True)
class _RoundedState:
    """A state in which no more than rounding is unbalanced."""

    x: NDArray[np.float64]
    contact_forces: list[NDArray[np.float64]]
    forces_by_key: dict[int, float]
    contacts: int


class _StaticContactSolve:
    """Newton's method for bodies in contact with each other."""

    def __init__(
        self,
        adapters: Sequence[DeformableAdapter],
        surfaces: SurfaceContacts,
        colliders_for: Callable[[int], ColliderSet | None],
        time: float,
    ) -> None:
        self._surfaces, self._time = surfaces, time
        self.starts = np.cumsum([0] + [m.row_count for m in adapters])
        self._points = SurfacePoints(adapters, self.starts)
        self._carriers = [m.carriers for m in adapters]
        self.size = min(m.size for m in adapters)
        self.problems = [m.body.static_problem(colliders_for(m.number)) for m in adapters]
        self.total = _CombinedPotential([problem.potential for problem in self.problems], self.starts)
        self.x = np.concatenate([problem.start for problem in self.problems])
        self._forces: dict[int, float] = {}
        self.newton = self.iterations = self.contacts = 0
        self.test, self.convergence, self._last_step = ConvergenceTest(), Convergence.NOT_REACHED, 0.0
        self.load = max(float(np.abs(one.force).max()) for one in self.total.terms)

    def run(self, rtol: float, max_newton: int) -> bool:
        """Iterate to the equilibrium; returns whether it was found, or what rounding allows of it (`convergence`)."""
        pressures = [problem.pressures for problem in self.problems if problem.pressures is not None]
        if not pressures:
            return self._run(max_newton, rtol)
        return search_with_pressures(partial(self._run, max_newton), pressures, rtol)

    def _run(self, max_newton: int, rtol: float) -> bool:
        """Iterate to the equilibrium under given pressures; see `run`."""
        total, x, test = self.total, self.x, self.test
        for problem in self.problems:
            problem.potential.slack = problem.support_mass
        potential = total.potential(x)
        test.start(rtol)
        best: _RoundedState | None = None
        for _ in range(max_newton):
            total.linearise(x)
            rows = self._close_contacts(x)
            self.convergence = self._check_convergence()
            if self.convergence is not Convergence.NOT_REACHED and not self._is_closed(rows):
                self.convergence = Convergence.NOT_REACHED
            if self.convergence is Convergence.REACHED:
                return True
            if self.convergence is Convergence.ROUNDING_FLOOR and test.improves():
                pushes = [one.push.copy() for one in total.terms]
                best = _RoundedState(x.copy(), pushes, self._forces, self.contacts)
            elif best is not None:
                break
            self.newton += 1
            before = [one.push.copy() for one in total.terms]
            direction = self._direction(x, rows)
            if direction is None:
                break
            for one, old, own in zip(total.terms, before, total.parts(x), strict=True):
                potential -= float(np.vdot(one.push - old, own))
            self._last_step = float(np.abs(direction).max())
            fall = float(np.vdot(total.rhs, direction))
            if not (fall > 0.0 and np.isfinite(fall)):
                break
            length, potential = line_search(total, x, direction, potential, fall)
            if length == 0.0:
                break
            for problem in self.problems:
                one = problem.potential
                one.slack = max(one.slack * (0.1 if length == 1.0 else 2.0), 0.02 * problem.support_mass)
        return best is not None and self._restore(best)

    def _check_convergence(self) -> Convergence:
        """ConvergenceTest the unbalanced forces at the x of the last linearisation."""
        total, constraints = self.total, [problem.constraints for problem in self.problems]
        free = [c.project_free(r) for c, r in zip(constraints, total.parts(total.rhs), strict=True)]
        convergence = self.test.check(np.concatenate(free), self.load, lambda: total.floor(self.x))
        falls = any(
            not one.has_springs and c.unconstrained_direction(one.force + one.push) is not None
            for one, c in zip(total.terms, constraints, strict=True)
        )
        return (
            Convergence.NOT_REACHED if convergence is Convergence.ROUNDING_FLOOR and falls else convergence
        )  # see `statics.Search`

    def _restore(self, best: _RoundedState) -> bool:
        """Return to the best state that rounding allows."""
        self.x[:] = best.x
        for one, force in zip(self.total.terms, best.contact_forces, strict=True):
            one.push[:] = force
        self._forces, self.contacts = best.forces_by_key, best.contacts
        self.total.potential(self.x)
        self.total.linearise(self.x)
        self._check_convergence()
        self.convergence = Convergence.ROUNDING_FLOOR
        return True

    def _close_contacts(self, x: NDArray[np.float64]) -> ConstraintRows:
        """Return the contacts of what is close at x."""
        parts = []
        positions = self.total.parts(x)
        for one, own, start in zip(self.total.terms, positions, self.starts, strict=False):
            rows = one.touching(own)
            if rows is not None and len(rows):
                rows.row += int(start)
                rows.key += int(start) * 2**33
                parts.append(rows)
        places = self._contact_positions(positions)
        found = self._surfaces.find_close(places, places, self._time, 1.0, self._points.first)
        return _without_friction(join_rows([*parts, self._points.resolve(found)]))

    def _contact_positions(self, positions: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
        """Return where the nodes of each body touch others when the bodies are at these positions."""
        return [problem.contact_positions(own) for problem, own in zip(self.problems, positions, strict=True)]

    def _direction(self, x: NDArray[np.float64], rows: ConstraintRows) -> NDArray[np.float64] | None:
        """Return Newton's direction with contacts as constraints; the potentials get their forces."""
        combined, positions = self.total, self._contact_positions(self.total.parts(x))
        bare = [one.rhs - one.push for one in combined.terms]
        tolerance = max(1e-3 * self._last_step, 1e-11 * self.size) if self._last_step else 1e-4 * self.size
        # solves may be relative to smaller forces than their right-hand side
        scale = min(1.0, _SOLVER_SHARE * self.test.rtol / _RTOL)
        for _ in range(_MAX_ROUNDS):
            systems = [
                _static_system(one.matrix, rhs, scale, problem.constraints)
                for one, rhs, problem in zip(combined.terms, bare, self.problems, strict=True)
            ]
            push = np.zeros((len(rows), 3))
            push[:, 0] = [self._forces.get(key, 0.0) for key in rows.key.tolist()]
            found = solve_contacts(systems, rows, rows.gap, push, tolerance, rtol=_RTOL)
            self.iterations += found.report.iterations
            if not found.report.residual >= 0.0:
                return None
            active = found.impulse[:, 0] > 0.0
            self._forces = dict(
                zip(rows.key[active].tolist(), found.impulse[active, 0].tolist(), strict=True)
            )
            ends = [
                own + (s.velocities if carriers is None else np.asarray(carriers @ s.velocities))
                for own, s, carriers in zip(positions, systems, self._carriers, strict=True)
            ]
            crossed, _ = self._surfaces.find_crossings(positions, ends, self._time, 1.0, self._points.first)
            crossed = self._points.resolve(crossed.take(~np.isin(crossed.key, rows.key)))
            if not len(crossed):
                break
            rows = join_rows([rows, _without_friction(crossed)])
        self.contacts = int(active.sum())
        impulse = np.zeros_like(x)
        rows.apply_transpose(found.impulse, impulse)
        for one, rhs, own, out in zip(
            combined.terms, bare, combined.parts(impulse), combined.parts(combined.rhs), strict=True
        ):
            one.push[:] = own
            np.add(rhs, own, out=one.rhs)
            out[:] = one.rhs
        return np.concatenate([s.velocities for s in systems])

    def _is_closed(self, rows: ConstraintRows) -> bool:
        """Return whether the active contacts are closed and nothing is too close."""
        if not len(rows):
            return not self._forces
        force = np.array([self._forces.get(key, 0.0) for key in rows.key.tolist()])
        off = np.maximum(-rows.gap, np.where(force > 0.0, rows.gap, 0.0))
        return (
            len(self._forces) == int((force > 0.0).sum()) and float(off.max()) <= _GAP_TOLERANCE * self.size
        )


def solve_static_contact(
    adapters: Sequence[DeformableAdapter],
    surfaces: SurfaceContacts,
    colliders_for: Callable[[int], ColliderSet | None],
    rtol: float,
    max_newton: int,
    environment: Environment,
) -> dict[int, StaticReport]:
    """Move soft bodies that touch each other to their common equilibrium; returns reports by their numbers.

    Args:
        adapters: The bodies, in the order of `surfaces`.
        surfaces: Detects contacts between their surfaces.
        colliders_for: Returns the colliders that the body of a number can touch.
        rtol: Unbalanced force to reach, relative to the largest load of a node.
        max_newton: Most Newton iterations.
        environment: Time of the equilibrium.
    """
    solve = _StaticContactSolve(adapters, surfaces, colliders_for, environment.time)
    if not solve.run(rtol, max_newton):
        names = ", ".join(f"'{m.name}'" for m in adapters)
        raise DivergedError(
            f"bodies {names} found no common equilibrium in {solve.newton} Newton iterations ({solve.test}); "
            "let them come to rest in steps with damping instead",
            step=environment.step,
        )
    reports = {}
    warnings = solve.test.warnings(solve.load) if solve.convergence is Convergence.ROUNDING_FLOOR else ()
    for adapter, problem, own in zip(adapters, solve.problems, solve.total.parts(solve.x), strict=True):
        problem.commit(own, problem.potential.push.copy())
        reports[adapter.number] = StaticReport(
            True, solve.newton, solve.iterations, solve.test.residual, 1, solve.contacts, warnings
        )
    return reports


def _without_friction(rows: ConstraintRows) -> ConstraintRows:
    rows.friction = np.zeros(len(rows))
    return rows


def _static_system(
    matrix: BlockMatrix, rhs: NDArray[np.float64], scale: float, constraints: StaticConstraints
) -> VelocitySystem:
    """Return the system of a body's displacement."""
    own, load = constraints.matrix(matrix), constraints.loads(rhs)
    return VelocitySystem(
        own,
        load,
        np.zeros_like(load),
        scale * load,
        constraints.fixed,
        constraints.projections,
        _solver_for(own),
        _not_alone,
        basis=constraints.basis,
    )


def _solver_for(matrix: BlockMatrix) -> PCG:
    """Return the solver of a body that is solved by itself."""
    solver = PCG(rtol=_RTOL)
    solver.setup(matrix)
    return solver


def _not_alone() -> SolveReport:
    raise AssertionError("contacts are solved for")
