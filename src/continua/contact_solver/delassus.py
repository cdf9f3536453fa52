"""Velocities of bodies in contact, solved for the impulses.

With the impulses p of contacts, the velocities are V = A^-1 (r + G^T p), and the relative velocities u = W p + q with
the Delassus operator W = G A^-1 G^T. W is small, but every column costs a solve with A. Here a model of it is used,
made of columns that are kept from step to step (`NodeCompliance`):

1. Reduce the residual of A V = r + G^T p, and find the true u.
2. With the model W', find impulses p' that obey Coulomb's law with u + W' (p' - p), by Gauss-Seidel sweeps over the
   contacts (Jean 1999). Contacts open, stick and slide here, where that is cheap.
3. If p' - p changes no relative velocity by more than the tolerance, stop. Otherwise p = p', and again.

The matrix of the linear solves is that of the body without contacts. The error decreases in every round by the relative
error of the model, which is corrected after each round by the true response to p' - p (BFGS).

In a large body, step 2 is this iteration itself for the matter around the contacts, with the rest of the body moving as
it does. Impulses that only move from one contact to the next have no effect far away, so few rounds of the whole body
remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver.augmented_lagrangian_kernels import dot, solve_diagonal_contacts
from continua.contact_solver.constraint_rows import ConstraintRows
from continua.contact_solver.contact_solution import ContactSolution
from continua.contact_solver.contact_systems import DEFAULT_RTOL, project_fixed
from continua.contact_solver.delassus_kernels import (
    add_secant,
    compliance_of_contacts,
    gauss_seidel,
    predicted_change,
)
from continua.contact_solver.factored_compliance import MAX_NODES, FactoredCompliance
from continua.contact_solver.node_compliance import (
    Deformation,
    NodeCompliance,
    diagonal_compliance,
    inverse_blocks,
)
from continua.linalg import PCG, BlockMatrix, SolveReport
from continua.linalg.krylov.unit_responses import matrix_around
from continua.numerics.timers import timed
from continua.timestepping.requests import VelocitySystem

__all__ = ["Compliance", "compliance_of_arrays", "solve_impulses"]

Compliance = NodeCompliance | FactoredCompliance
"""What is kept of a body from step to step."""

MAX_ROUNDS = 30
"""Most rounds."""

LINEAR_REDUCTION = 0.03
"""Reduction of the residual by the linear solve of a round, as long as it is above the solver's own tolerance."""

SMALL_REDUCTION, SMALL_ACCURACY = 1e-3, 0.01
"""The same for a small body by itself, and its tolerance as a fraction of that of its solver: iterations are cheap."""

NEAR_FRACTION = 0.02
"""Contacts that separate by less than this part of the fastest approach are included too: they may close next."""

MAX_SWEEPS, SWEEP_FRACTION = 150, 0.1
"""Most Gauss-Seidel sweeps in a round, and the change in a sweep at which they stop, as a fraction of the tolerance."""

ROUND_REDUCTION = 0.03
"""Reduction of the error in a round that Gauss-Seidel sweeps are made for, as the model allows no more."""

MANY_ROUNDS = 6
"""Rounds after which the oldest columns are found again in the next solve."""

MAX_GROWTH, PATIENCE = 30.0, 6
"""Growth of the error at which the iteration is given up, and rounds in which it does not become half as large."""

REGULARISATION = 0.01
"""Part of a contact's own compliance that is added to it where surfaces overlap deeply. Contacts that move them apart
may contradict each other; their impulses would grow without limit."""

MAX_CONTACTS = 400
"""Most contacts of a body that the model is made for."""

PART_ROWS, PART_ROWS_PER_NODE = 1000, 8
"""Rows of a large body around its contacts that are solved for alone, and more for each node in contact. Bodies of less
than twice that, and free ones, which move as a whole, are solved for as a whole."""

MAX_PART_ROUNDS, PART_TOLERANCE, MAX_PART_RATIO = 8, 0.3, 0.5
"""Most rounds in that solve, its tolerance as a fraction of that of the whole, and the ratio of errors in two rounds
above which it is given up: then what is far away matters."""


def compliance_of_arrays(arrays: Mapping[str, NDArray]) -> Compliance:
    """Return a compliance from its arrays in a checkpoint; the empty one from none."""
    if not arrays:
        return NodeCompliance.empty()
    return (FactoredCompliance if "blocks" in arrays else NodeCompliance).of_arrays(arrays)


class _Body:
    """A body in the solve: its rows of V, and the model of its compliance."""

    def __init__(
        self,
        system: VelocitySystem,
        low: int,
        impulse_scale: float,
        compliance: Compliance,
        deformation: Deformation | None,
    ) -> None:
        self.system, self.low, self.high = system, low, low + len(system.rhs)
        self.scale, self.compliance, self.deformation = impulse_scale, compliance, deformation
        self.index = np.zeros(len(system.rhs), np.int64)
        self.nodes = np.zeros(0, np.int64)
        self.matrix = np.zeros((0, 0))
        self._learned = False
        self.x_before = system.x.copy()
        pattern = system.matrix.pattern
        self.inverse: NDArray[np.float64] | None = None  # of a matrix that couples no nodes
        if pattern.block_count == pattern.node_count:
            self.inverse = inverse_blocks(system.matrix, system.fixed)

    def prepare(self, nodes: NDArray[np.integer]) -> int:
        """Have the compliance of these nodes ready; returns the matrix products that it took."""
        s, products = self.system, 0
        if len(self.matrix) and np.array_equal(nodes, self.nodes):
            return 0
        self.keep_learned()
        if self.inverse is not None:
            self.matrix = diagonal_compliance(self.inverse, nodes)
        else:
            assert self.deformation is not None
            if not self.compliance.fits(s):
                self.compliance = NodeCompliance.empty()
            if isinstance(self.compliance, NodeCompliance) and not len(self.compliance.nodes):
                self.compliance = FactoredCompliance.of(s, self.deformation) or self.compliance
            self.compliance, products = self.compliance.with_nodes(s, nodes, self.deformation)
            self.matrix = self.compliance.matrix(self.deformation, nodes)
        self.index[nodes] = np.arange(len(nodes))
        self.nodes = np.asarray(nodes, np.int64)
        return products

    def learn(self, load: NDArray[np.float64], response: NDArray[np.float64]) -> None:
        """Correct the compliance by the true response [n, 3] to a load on its nodes [n, 3] (BFGS)."""
        add_secant(self.matrix, self.nodes, load, response, np.zeros(len(self.matrix)))
        self._learned = True

    def keep_learned(self) -> None:
        """Take what was learned over into the compliance that is kept."""
        if self._learned and isinstance(self.compliance, NodeCompliance):
            assert self.deformation is not None
            self.compliance = self.compliance.with_matrix(self.deformation, self.nodes, self.matrix)
        self._learned = False


class _BodyPart(_Body):
    """The matter of a body around its contacts, in a solve in which the rest of the body moves as it does.

    Args:
        body: The body.
        nodes: Its nodes in contacts, shape [k].
        low: First row in V of the solve.

    Attributes:
        place: Index of each row of the body in this part, or -1, shape [n].
    """

    def __init__(self, body: _Body, nodes: NDArray[np.integer], low: int) -> None:
        s = body.system
        count = len(s.rhs)
        self.body, self.place = body, np.arange(count)
        self._inside: NDArray[np.int64] | None = None
        system = replace(s, x=s.x.copy())
        if body.inverse is None:
            rows = PART_ROWS + PART_ROWS_PER_NODE * len(nodes)
            if 2 * rows < count and (s.fixed != 0).any():
                self.place, matrix = matrix_around(s.matrix, np.asarray(nodes, np.int64), rows)
                self._inside = np.flatnonzero(self.place >= 0)
                system = _restricted(s, matrix, self._inside)
        super().__init__(system, low, body.scale, NodeCompliance.empty(), None)
        self.is_small = self._inside is not None

    def take(self) -> None:
        """Begin from the body's velocities."""
        s, whole = self.system, self.body.system
        if self._inside is None:
            s.x[:] = whole.x
            return
        s.x[:] = whole.x[self._inside]
        s.rhs[:] = (whole.rhs - whole.matrix.multiply(whole.x))[self._inside] + s.matrix.multiply(s.x)

    def give(self) -> None:
        """Set the body's velocities to those of this part."""
        self.body.system.x[slice(None) if self._inside is None else self._inside] = self.system.x

    def prepare(self, nodes: NDArray[np.integer]) -> int:
        """Have the compliance of these nodes ready, which is that of the body."""
        products = self.body.prepare(nodes if self._inside is None else self._inside[nodes])
        self.matrix, self.nodes = self.body.matrix, np.asarray(nodes, np.int64)
        if isinstance(self.body.compliance, FactoredCompliance):  # which does not learn
            self.matrix = self.matrix.copy()
        self.index[nodes] = np.arange(len(nodes))
        return products

    def learn(self, load: NDArray[np.float64], response: NDArray[np.float64]) -> None:
        """Correct the compliance of the body."""
        super().learn(load, response)
        self.body._learned, self._learned = True, False


def _restricted(s: VelocitySystem, matrix: BlockMatrix, inside: NDArray[np.int64]) -> VelocitySystem:
    """Return the system of some rows of a body, with a matrix of their own."""
    solver = PCG(rtol=float(getattr(s.solver, "rtol", DEFAULT_RTOL)))
    solver.setup(matrix)
    scale = s.tolerance_scale if s.contact_tolerance_scale is None else s.contact_tolerance_scale
    return replace(
        s,
        matrix=matrix,
        rhs=np.zeros((len(inside), 3)),
        x=np.zeros((len(inside), 3)),
        tolerance_scale=scale[inside],
        contact_tolerance_scale=None,
        fixed=s.fixed[inside],
        projections=None if s.projections is None else s.projections[inside],
        solver=solver,
        x_offset=None if s.x_offset is None else s.x_offset[inside],
        update_solver=None,
    )


def _contacts_of_bodies(
    bodies: Sequence[_Body], rows: ConstraintRows, which: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return for each body in which of the contacts `which` it takes part."""
    contact = np.repeat(np.arange(len(rows)), np.diff(rows.ptr))
    owner = np.searchsorted([b.low for b in bodies], rows.row, side="right") - 1
    takes_part = np.zeros((len(bodies), len(rows)), np.bool_)
    takes_part[owner, contact] = True
    return [np.flatnonzero(own) for own in takes_part[:, which]]


class _DelassusModel:
    """The model of the Delassus operator for some contacts.

    Args:
        bodies: The bodies.
        rows: All contacts.
        which: The contacts in the model.
        lists: Those of each body among them, see `_contacts_of_bodies`.
        deep: Which of all contacts are regularised.
    """

    def __init__(
        self,
        bodies: Sequence[_Body],
        rows: ConstraintRows,
        which: NDArray[np.int64],
        lists: Sequence[NDArray[np.int64]],
        deep: NDArray[np.bool_],
    ) -> None:
        self.which = which
        self.first = np.cumsum([0] + [len(own) for own in lists])
        sizes = [9 * len(own) ** 2 for own in lists]
        self.start = np.cumsum([0] + sizes)[:-1]
        self.members = np.concatenate(lists)
        self.order = np.repeat(np.arange(len(bodies)), [len(own) for own in lists])
        self.slot = np.full((len(which), 2), -1, np.int64)
        self.values = np.zeros(sum(sizes))
        self.diagonal = np.zeros((len(which), 9))
        for b, (body, own) in enumerate(zip(bodies, lists, strict=True)):
            if not len(own):
                continue
            side = (self.slot[own, 0] >= 0).astype(np.int64)
            self.slot[own, side] = self.first[b] + np.arange(len(own))
            m = len(own)
            out = self.values[self.start[b] : self.start[b] + 9 * m * m].reshape(3 * m, 3 * m)
            compliance_of_contacts(
                rows.ptr, rows.row, rows.block, body.low, body.high, body.index, body.matrix, body.scale,
                which[own], out,
            )  # fmt: skip
            self.diagonal[own] += _diagonal_blocks(out)
        self.regularisation = np.where(deep[which], REGULARISATION * self.diagonal[:, 0], 0.0)
        self.diagonal[:, 0] += self.regularisation
        one = self.order[self.slot[:, 0]]  # it is added in the matrix of one of the two bodies
        place, size = 3 * (self.slot[:, 0] - self.first[one]), 3 * np.diff(self.first)[one]
        self.values[self.start[one] + place * (size + 1)] += self.regularisation

    def add_secant(self, b: int, step: NDArray[np.float64], response: NDArray[np.float64]) -> None:
        """Correct the matrix of body b so that it gives the true response to a change of the impulses (BFGS)."""
        own = self.members[self.first[b] : self.first[b + 1]]
        m = len(own)
        matrix = self.values[self.start[b] : self.start[b] + 9 * m * m].reshape(3 * m, 3 * m)
        regularised = own[self.order[self.slot[own, 0]] == b]
        response[regularised, 0] += self.regularisation[regularised] * step[regularised, 0]
        self.diagonal[own] -= _diagonal_blocks(matrix)
        add_secant(matrix, own, step, response, np.zeros(3 * m))
        self.diagonal[own] += _diagonal_blocks(matrix)

    def find_impulses(
        self,
        u: NDArray[np.float64],
        bound: NDArray[np.float64],
        friction: NDArray[np.float64],
        impulse: NDArray[np.float64],
        tolerance: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return impulses that obey Coulomb's law in the model, and how they change u, shape [c, 3]."""
        p, u = impulse[self.which], u[self.which]
        u[:, 0] += self.regularisation * p[:, 0]
        work = np.zeros((len(self.members), 3))
        gauss_seidel(
            u, bound[self.which], friction[self.which], self.slot, self.first, self.start, self.order,
            self.values, self.diagonal, tolerance, MAX_SWEEPS, p, work,
        )  # fmt: skip
        moved = np.zeros_like(p)
        predicted_change(self.slot, self.first, self.start, self.order, self.values, work, moved)
        out = impulse.copy()
        out[self.which] = p
        return out, moved


def _diagonal_blocks(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the diagonal 3x3 blocks of a matrix [3 m, 3 m], shape [m, 9]."""
    m = len(matrix) // 3
    return matrix.reshape(m, 3, m, 3)[np.arange(m), :, np.arange(m), :].reshape(m, 9)


@timed("contact solve")
def solve_impulses(
    systems: Sequence[VelocitySystem],
    compliances: Sequence[Compliance],
    deformations: Sequence[Deformation | None],
    rows: ConstraintRows,
    bound: NDArray[np.float64],
    initial_impulse: NDArray[np.float64],
    tolerance: float,
    coarse_tolerance: float = 0.0,
    deadline: float = inf,
    deep_speed: float = inf,
) -> tuple[ContactSolution, list[Compliance]]:
    """Solve the systems of bodies in contact for the impulses; their `x` become the solution.

    Args:
        systems: The bodies, one after the other in V.
        compliances: Compliance of each body's nodes from earlier steps.
        deformations: Positions of each body's nodes; None for bodies whose matrix couples no nodes.
        rows: Their contacts; none is bilateral.
        bound: b in u_n + b >= 0 [m/s], shape [c].
        initial_impulse: Initial guess of the impulses [N s], shape [c, 3].
        tolerance: Accepted error of a relative velocity [m/s].
        coarse_tolerance: Error at which to stop already, for a solve after which contacts are searched again. In a
            large body only the matter around the contacts is then solved for.
        deadline: Time of `perf_counter` after which no more round begins, except the first. The velocities are then
            those of the last impulses.
        deep_speed: Speed [m/s] of separation that a contact has to demand, -b, to be regularised.

    Returns:
        The solution, and the compliances for the next step.
    """
    longest = max(s.effective_dt for s in systems)
    lows = np.cumsum([0] + [len(s.rhs) for s in systems])
    bodies = [
        _Body(s, int(low), s.effective_dt / longest, compliance, deformation)
        for s, low, compliance, deformation in zip(systems, lows, compliances, deformations, strict=False)
    ]
    solve = _ImpulseSolve(bodies, rows, bound, initial_impulse, bound < -deep_speed)
    solve.deadline = deadline
    converged = solve.run(tolerance, coarse_tolerance)
    coarse = converged and not (solve.error <= tolerance and solve.balanced)
    if not coarse:  # a finer solve begins with velocities that are those of the impulses
        solve.close_single_contacts()
    report = SolveReport(
        solve.iterations, solve.residual, solve.residual >= 0.0, warnings=tuple(dict.fromkeys(solve.warnings))
    )
    solution = ContactSolution(solve.impulse, report, solve.rounds, solve.error, converged, coarse)
    many = solve.rounds > MANY_ROUNDS
    for body in solve.bodies:
        body.keep_learned()
    return solution, [body.compliance.aged(many) for body in solve.bodies]


class _ImpulseSolve:
    """The iteration: impulses, velocities, the contacts in the model, and the work that was done."""

    def __init__(
        self,
        bodies: Sequence[_Body],
        rows: ConstraintRows,
        bound: NDArray[np.float64],
        initial_impulse: NDArray[np.float64],
        deep: NDArray[np.bool_],
    ) -> None:
        self.bodies, self.systems = bodies, [body.system for body in bodies]
        self.rows, self.bound, self.deep = rows, bound, deep
        self.x_offset = np.concatenate(
            [np.zeros_like(s.x) if s.x_offset is None else s.x_offset for s in self.systems]
        )
        self.movable = _movable(self.systems, rows)
        self.impulse = np.where(self.movable[:, None], initial_impulse, 0.0)
        self.in_model = self.impulse[:, 0] > 0.0
        self.iterations, self.rounds = 0, 0
        self.residual, self.error, self.balanced = 0.0, np.inf, False
        self.warnings: list[str] = []
        # how the change of the impulses in the last round changes u
        self.last_change = np.zeros_like(self.impulse)
        self.single = bool((np.diff(rows.ptr) == 1).all())
        small = len(bodies) == 1 and len(self.x_offset) <= MAX_NODES
        self.reduction = SMALL_REDUCTION if small else LINEAR_REDUCTION
        # tolerance of linear solves, as a fraction of that of the solvers
        self.accuracy = SMALL_ACCURACY if small else 1.0
        self.deadline = inf

    def run(self, tolerance: float, coarse_tolerance: float) -> bool:
        """Iterate; returns whether it has converged to one of the tolerances. If not, all is as it was before."""
        start = self.impulse, [s.x.copy() for s in self.systems]
        around = self._around_contacts()
        if self.iterate(tolerance, coarse_tolerance, MAX_ROUNDS, around):
            return True
        if perf_counter() >= self.deadline and np.isfinite(self.error):
            return False  # as far as it came
        self.impulse, self.residual = start[0], 0.0
        for s, x in zip(self.systems, start[1], strict=True):
            s.x[:] = x
        return False

    def iterate(
        self,
        tolerance: float,
        coarse_tolerance: float,
        max_rounds: int,
        around: _ImpulseSolve | None = None,
    ) -> bool:
        """Do rounds; returns whether it has converged. Impulses are predicted by `around`, if given."""
        model: _DelassusModel | None = None
        before, least = self.impulse, np.inf
        previous: NDArray[np.float64] | None = None
        end, improved = self.rounds + max_rounds, self.rounds
        while self.rounds < end:
            self.rounds += 1
            if around is None or coarse_tolerance == 0.0:
                work = self.iterations
                self.balanced = self._solve_velocities()
                if model is not None and self.iterations == work:
                    self.accuracy *= self.reduction  # it does not see how the impulses have changed
            if self.residual < 0.0:
                return False
            u = self._relative_velocities()
            predicted = (
                None if around is None else self._predict(around, u, max(tolerance, 0.3 * coarse_tolerance))
            )
            if predicted is not None and np.abs(predicted[1]).max(initial=0.0) <= MAX_PART_RATIO * least:
                found, moved = predicted
            else:
                around = None  # what is far away matters
                gap_speed = u[:, 0] + self.bound
                closing = self.movable & ~self.in_model & (gap_speed < 0.0)
                if closing.any() or model is None:
                    near = self.movable & (gap_speed < -NEAR_FRACTION * gap_speed.min(initial=0.0))
                    self.in_model |= near | (self.impulse[:, 0] > 0.0)
                    which = np.flatnonzero(self.in_model)
                    lists = _contacts_of_bodies(self.bodies, self.rows, which)
                    if max(len(own) for own in lists) > MAX_CONTACTS:
                        return False
                    self._prepare_compliance(which)
                    model = _DelassusModel(self.bodies, self.rows, which, lists, self.deep)
                else:
                    self._correct(model, self.impulse - before)
                accuracy = max(tolerance, 0.3 * coarse_tolerance)
                if np.isfinite(least):
                    accuracy = max(accuracy, ROUND_REDUCTION * least)
                found, moved = model.find_impulses(
                    u, self.bound, self.rows.friction, self.impulse, SWEEP_FRACTION * accuracy
                )
            self.error = float(np.abs(moved).max(initial=0.0))
            if not np.isfinite(self.error):
                break
            if self.error <= tolerance and self.balanced:
                if self.single and around is None and model is not None:
                    # exactly on the cones where contacts slide, and the nodes follow; other velocities are those of
                    # the impulses as they are, lest rounding errors grow from step to step
                    self.impulse = found
                    self.last_change[model.which] = moved
                return True
            if around is not None and coarse_tolerance > 0.0:
                self._take_over(around, found)
                return True
            if self.error <= coarse_tolerance:
                return True
            if self.error < 0.5 * least:
                improved = self.rounds
            least = min(least, self.error)
            if self.error > MAX_GROWTH * least or self.rounds - improved > PATIENCE:
                break
            if perf_counter() >= self.deadline:
                self.impulse = found
                self._solve_velocities()
                break
            before, last = self.impulse, before
            if around is not None:
                self._take_over(around, found)
                if previous is not None:
                    self.impulse = _extrapolated(found, previous, before, last, self.rows.friction)
                previous = found
            self.impulse = found if around is None else self.impulse
        return False

    def _take_over(self, around: _ImpulseSolve, impulse: NDArray[np.float64]) -> None:
        """Go on from the impulses and velocities around the contacts."""
        self.impulse = impulse
        for part in around.bodies:
            assert isinstance(part, _BodyPart)
            part.give()

    def _relative_velocities(self) -> NDArray[np.float64]:
        return self.rows.relative_velocities(self.x_offset + np.concatenate([s.x for s in self.systems]))

    def _around_contacts(self) -> _ImpulseSolve | None:
        """Return the solve of the matter around the contacts, or None if that is not much less than all of it."""
        parts: list[_BodyPart] = []
        places = np.zeros(len(self.x_offset), np.int32)
        low = 0
        for body in self.bodies:
            own = self.rows.row[(self.rows.row >= body.low) & (self.rows.row < body.high)] - body.low
            part = _BodyPart(body, np.unique(own), low)
            places[body.low : body.high] = low + part.place
            parts.append(part)
            low = part.high
        if not any(part.is_small for part in parts):
            return None
        rows = replace(self.rows, row=places[self.rows.row])
        return _ImpulseSolve(parts, rows, self.bound, self.impulse, self.deep)

    def _predict(
        self, around: _ImpulseSolve, u: NDArray[np.float64], tolerance: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return impulses found with the matter around the contacts, and how they change u where contacts are closed.

        None if they were not found.
        """
        for part in around.bodies:
            assert isinstance(part, _BodyPart)
            part.take()
        work = around.iterations
        around.impulse, around.residual = self.impulse, 0.0
        around.iterate(PART_TOLERANCE * tolerance, 0.0, MAX_PART_ROUNDS)
        share = sum(len(part.system.rhs) for part in around.bodies) / len(self.x_offset)
        self.iterations += round(share * (around.iterations - work))
        if around.residual < 0.0 or not np.isfinite(around.impulse).all():
            return None
        closed = (self.impulse[:, 0] > 0.0) | (around.impulse[:, 0] > 0.0)
        return around.impulse, (around._relative_velocities() - u)[closed]

    def _solve_velocities(self) -> bool:
        """Reduce the residual of A V = r + G^T p; returns whether it is below the solvers' own tolerance."""
        total = np.zeros_like(self.x_offset)
        self.rows.apply_transpose(self.impulse, total)
        balanced = True
        for body in self.bodies:
            s = body.system
            body.x_before[:] = s.x
            rhs = s.rhs + body.scale * total[body.low : body.high]
            if body.inverse is not None:
                free = s.fixed != 1
                s.x[free] = np.einsum("kij,kj->ki", body.inverse[free], rhs[free])
                continue
            s.prepare_solver()
            scale = s.tolerance_scale if s.contact_tolerance_scale is None else s.contact_tolerance_scale
            rtol = float(getattr(s.solver, "rtol", DEFAULT_RTOL))
            left = project_fixed(s.fixed, s.projections, rhs - s.matrix.multiply(s.x))
            goal = rtol * (dot(rhs, rhs) + dot(scale, scale)) ** 0.5
            balanced = balanced and self.reduction * dot(left, left) ** 0.5 <= 0.5 * goal
            step = np.zeros_like(rhs)
            report = s.solver.solve(left, step, (self.reduction / rtol) * left + self.accuracy * rhs)
            s.x += step
            self.iterations += report.iterations
            self.warnings += report.warnings
            if not report.residual >= 0.0 or not np.isfinite(step).all():
                self.residual = -1.0
                return False
            self.residual = max(self.residual, report.residual)
        return balanced

    def _prepare_compliance(self, which: NDArray[np.int64]) -> None:
        """Have the compliance of all nodes in these contacts ready."""
        row = self.rows.take(which).row
        for body in self.bodies:
            own = row[(row >= body.low) & (row < body.high)] - body.low
            self.iterations += body.prepare(np.unique(own))

    def _correct(self, model: _DelassusModel, step: NDArray[np.float64]) -> None:
        """Correct the model by the true response of each body to the last change of the impulses."""
        load = np.zeros_like(self.x_offset)
        self.rows.apply_transpose(step, load)
        for b, body in enumerate(self.bodies):
            rough = body.inverse is None and isinstance(body.compliance, NodeCompliance)
            if not rough or model.first[b + 1] == model.first[b]:
                continue
            alone = np.zeros_like(self.x_offset)
            alone[body.low : body.high] = body.system.x - body.x_before
            body.learn(body.scale * load[body.low : body.high], alone[body.low : body.high])
            response = self.rows.relative_velocities(alone) - self.rows.offset
            model.add_secant(b, step[model.which], response[model.which])

    def close_single_contacts(self) -> None:
        """Remove the remaining error of contacts of one row each, with colliders."""
        single = (np.diff(self.rows.ptr) == 1) & (self.impulse[:, 0] > 0.0)
        if self.residual < 0.0 or not single.any():
            return
        some = self.rows.take(single)
        x = np.concatenate([s.x for s in self.systems])
        fixed = np.concatenate([s.fixed for s in self.systems])
        change = np.einsum("cij,ci->cj", some.frame.reshape(-1, 3, 3), self.last_change[single])
        x[some.row] += np.where(
            (fixed[some.row] == 0)[:, None], change, 0.0
        )  # the same for all contacts of a node
        solve_diagonal_contacts(
            some.row, some.frame, some.offset, self.bound[single], some.friction, some.bilateral, fixed,
            self.impulse[single], self.x_offset, x,
        )  # fmt: skip
        for body in self.bodies:
            body.system.x[:] = x[body.low : body.high]


def _extrapolated(
    found: NDArray[np.float64],
    found_before: NDArray[np.float64],
    start: NDArray[np.float64],
    start_before: NDArray[np.float64],
    friction: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return impulses by the secant method from those of two rounds (Anderson 1965), inside the friction cones."""
    change, change_before = found - start, found_before - start_before
    difference = change - change_before
    square = float((difference * difference).sum())
    factor = float((difference * change).sum()) / square if square > 0.0 else 0.0
    out = found - factor * (found - found_before)
    np.maximum(out[:, 0], 0.0, out=out[:, 0])
    size, limit = np.hypot(out[:, 1], out[:, 2]), friction * out[:, 0]
    out[:, 1:] *= np.where(size > limit, limit / np.maximum(size, 1e-300), 1.0)[:, None]
    return out


def _movable(systems: Sequence[VelocitySystem], rows: ConstraintRows) -> NDArray[np.bool_]:
    """Return which contacts have a row that is not fixed, shape [c]."""
    free = np.concatenate([s.fixed != 1 for s in systems])
    out = np.zeros(len(rows), np.bool_)
    contact = np.repeat(np.arange(len(rows)), np.diff(rows.ptr))
    out[contact[free[rows.row]]] = True
    return out
