"""Static equilibrium: where a body comes to rest under its loads, by Newton with a line search and load steps.

The equilibrium is a minimum of P(x) = E(x) - f.x, the elastic energy (with that of springs and contacts) less the work
of the loads. Newton's direction d solves K d = f - f_int(x) with a positive semidefinite K, so it always leads
downhill, and a line search keeps it going down. Iterating with frozen rotations and no search runs away
under a heavy load (Georgii 2007 steps around it with dynamics); this cannot.

Where that finds nothing, the way there is cut into load steps. At the start x_0 the unbalanced force is
r_0 = f - f_int(x_0), so x_0 is at rest under f - r_0; the loads f - (1 - s) r_0 and the held nodes then go from there
(s = 0) to where they belong (s = 1), by steps that are halved when one fails and grow when they succeed.

A search ends when the unbalanced force is below `rtol` of the loads, or no more than rounding leaves (see
`convergence`). Below that floor it goes on while every iteration halves the force, and takes the best state; the
report says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from continua.collision import ColliderSet
from continua.contact_solver import EMPTY_ROWS, ConstraintRows, contact_rows, solve_contacts
from continua.deformable import mass_kernels
from continua.deformable.boundary_conditions.constraints import Pull
from continua.deformable.boundary_conditions.dirichlet import DirichletSet
from continua.deformable.convergence import Convergence, ConvergenceTest, energy_floor, force_floor
from continua.deformable.elements import AssembledSystem, Elements
from continua.deformable.incompressible import KeepsVolumes, StaticPressures, search_with_pressures
from continua.deformable.integrators.spring_terms import add_pulls, pull_energy
from continua.deformable.line_search import line_search
from continua.deformable.solver_setup import choose_solver
from continua.errors import DivergedError, InputError
from continua.linalg import (
    PCG,
    AutoSolver,
    BlockMatrix,
    Direct,
    LinearSolver,
    MergedPCG,
    Multigrid,
    SolveReport,
)
from continua.timestepping import VelocitySystem

if TYPE_CHECKING:
    from continua.deformable.deformable_body import DeformableBody

__all__ = ["StaticPotential", "StaticReport", "commit_pressures", "solve_static", "static_potential"]

_SHORTEST = 2.0**-10  # part of the way below which a load step is given up
_FOLLOWING = 50  # most times that loads are taken anew where the body has got to
_LEAST_SLACK = 0.02  # part of the mass that a body leans on from the start which stays
_RTOL = 1e-8  # tolerance of linear solves with contacts
_CLOSED = 1e-6  # part of an element's size that a contact may be open or closed too far in the end
_NEAR = 0.25  # part of the body's size within which nodes know of shapes
_ITERATIVE_FROM = (
    1000  # nodes of incompressible bodies from which iterative solvers are faster than factorisations
)
_ON_THE_WAY = 1e-3  # unbalanced force that load steps before the last may leave


@dataclass(frozen=True, slots=True)
class StaticReport:
    """How the search for an equilibrium went.

    Attributes:
        converged: Whether the unbalanced force fell below the tolerance, or to what rounding leaves of it.
        newton_iterations: Newton iterations.
        iterations: Iterations of the linear solver, all together.
        residual: Largest unbalanced force over the largest load (without loads, over the largest reaction; where even
            that is rounding, over the forces of a strain of 1).
        steps: Load steps; 1 if the loads were put on at once.
        contacts: Nodes that touch something in the end.
        warnings: Sentences on what did not go as planned, such as a tolerance that rounding does not allow.
        body: Name of the body, if a world settled it.
    """

    converged: bool
    newton_iterations: int
    iterations: int
    residual: float
    steps: int = 1
    contacts: int = 0
    warnings: tuple[str, ...] = ()
    body: str = ""


class StaticPotential:
    """The forces on a body at rest, as a landscape of its coefficients.

    Args:
        elements: The body's elements.
        matrix: Work space.
        mass: Scalar masses of the blocks, which keep the matrix regular where the body is slack.
        force: Loads [N], shape [n, 3].
        pulls: Springs.
        touch: Finds the nodes that are near a shape at given positions, or None.
        rounding_amplification: See `Law.rounding_amplification`.
        pressures: Those of an incompressible body, which the energy of the elements includes.

    Attributes:
        rhs: The unbalanced force [N], shape [n, 3]: at the end the opposite of what holds the body.
    """

    def __init__(
        self,
        elements: Elements,
        matrix: BlockMatrix,
        mass: NDArray[np.float64],
        force: NDArray[np.float64],
        pulls: tuple[Pull, ...] = (),
        touch: Callable[[NDArray[np.float64]], ConstraintRows] | None = None,
        rounding_amplification: float = 1.0,
        pressures: StaticPressures | None = None,
    ) -> None:
        self.pressures = pressures
        self.elements, self.matrix, self.mass = elements, matrix, mass
        self._rounding_amplification = rounding_amplification
        self.force, self.pulls, self._touch = force, pulls, touch
        self.conservative = elements.conservative
        self.rhs = np.zeros_like(force)
        self.slack = 0.0
        self.push = np.zeros_like(force)  # of contacts [N], taken for given
        self._zero = np.zeros_like(force)

    def potential(self, u: NDArray[np.float64]) -> float:
        """Go to u and return the potential [J] there."""
        self.elements.update(u)
        value = self.elements.energy() - float(np.vdot(self.force, u)) + pull_energy(self.pulls, u)
        return value if self._touch is None else value - float(np.vdot(self.push, u))

    def linearise(self, u: NDArray[np.float64]) -> None:
        """Fill the matrix and `rhs`, the unbalanced force, at the u of the last `potential`."""
        self.elements.assemble(
            AssembledSystem(self.matrix, self.rhs, self.mass, self.slack, 1.0, 1.0, self._zero, self.force)
        )
        add_pulls(self.matrix, self.rhs, self.pulls, u, 1.0, 1.0)
        if self._touch is not None:
            self.rhs += self.push

    def floor(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the unbalanced force [N] that rounding leaves at the u of the last `linearise`, shape [n]."""
        leaning = None
        if self.slack:  # grows without bound where directions have no stiffness, and is none
            leaning, p = np.empty_like(u), self.matrix.pattern
            mass_kernels.mass_times.variant(p.parallel)(p.indptr, p.indices, self.mass, np.abs(u), leaning)
            leaning *= self.slack
        return self._rounding_amplification * force_floor(
            self.matrix, u, np.abs(self.force) + np.abs(self.push), leaning
        )

    def noise(self, u: NDArray[np.float64]) -> float:
        """Return the change of the potential [J] that rounding hides at the u of the last `linearise`."""
        return energy_floor(self.matrix, u, np.abs(self.force) + np.abs(self.push))

    @property
    def has_springs(self) -> bool:
        """Whether springs hold the body."""
        return bool(self.pulls)

    def touching(self, u: NDArray[np.float64]) -> ConstraintRows | None:
        """Return the nodes near a shape at u, or None if there are no shapes."""
        return None if self._touch is None else self._touch(u)


@dataclass(frozen=True, slots=True)
class _RoundedState:
    """A state in which no more than rounding is unbalanced."""

    x: NDArray[np.float64]
    push: NDArray[np.float64]
    forces: dict[int, float]
    contacts: int


class StaticNewton:
    """Newton's method for one body at rest; counts what it does.

    Args:
        land: The forces.
        solver: A linear solver that is set up for the matrix.
        held: What is held.
        slack: Mass [1/s2] to lean on from the start: for a body that nothing holds until it touches something.
        max_newton: Newton iterations after which to stop.
        size: Size of the elements [m].
    """

    def __init__(
        self,
        land: StaticPotential,
        solver: LinearSolver,
        held: DirichletSet,
        slack: float,
        max_newton: int,
        size: float,
    ) -> None:
        self.size = size
        self.land, self.solver, self.held, self.slack, self.max_newton = land, solver, held, slack, max_newton
        self.newton = self.iterations = 0
        self.test = ConvergenceTest()
        self.convergence = Convergence.NOT_REACHED
        self.contacts = 0
        self.load = float(np.abs(held.project_free(land.force)).max(initial=0.0))
        self._forces: dict[int, float] = {}
        self._move = 0.0

    def run(self, x: NDArray[np.float64], rtol: float) -> bool:
        """Move x to the equilibrium; returns whether the unbalanced force fell below `rtol` of the largest load.

        Where rounding does not allow that, the least that it allows is enough: `convergence` then is ROUNDED.
        """
        if self.land.pressures is None:
            return self._run(x, rtol)
        return search_with_pressures(partial(self._run, x), [self.land.pressures], rtol)

    def _run(self, x: NDArray[np.float64], rtol: float) -> bool:
        """Move x to the equilibrium under given pressures; see `run`."""
        land, test = self.land, self.test
        land.slack = self.slack
        potential = land.potential(x)
        test.start(rtol)
        kept: _RoundedState | None = None
        for _ in range(self.max_newton):
            land.linearise(x)
            rows = land.touching(x)
            self.convergence = self._look(x)
            if self.convergence is not Convergence.NOT_REACHED and not self._in_place(rows):
                self.convergence = Convergence.NOT_REACHED
            if self.convergence is Convergence.REACHED:
                return True
            if self.convergence is Convergence.ROUNDING_FLOOR and test.improves():
                kept = _RoundedState(x.copy(), land.push.copy(), self._forces, self.contacts)
            elif kept is not None:
                break
            self.newton += 1
            direction = np.zeros_like(x)
            land.matrix.positions = x
            if rows is None or not len(rows):
                held = self.held
                self.solver.update(held.matrix(land.matrix), held.fixed, held.projections)
                own = held.unknowns(direction)
                report = self.solver.solve(held.loads(land.rhs), own)
                held.set_coefficients(own, direction)
            else:
                before = land.push.copy()
                report = self._solve_touching(rows, direction)
                potential -= float(np.vdot(land.push - before, x))
            self.iterations += report.iterations
            self._move = float(np.abs(direction).max(initial=0.0))
            fall = float(np.vdot(land.rhs, direction))  # the direction has no held components
            if not (report.residual >= 0.0 and fall > 0.0 and np.isfinite(fall)):
                if kept is not None:
                    break
                if land.pressures is not None and land.pressures.is_exact:
                    land.pressures.set_exact(False)
                    potential = land.potential(x)
                    continue
                # a collapsed element leaves a direction without stiffness: lean on the mass there
                lean = 1e-6 * float(np.abs(land.matrix.blocks).max()) / float(land.mass.max())
                land.slack = 10.0 * land.slack if land.slack else lean
                continue
            length, potential = line_search(land, x, direction, potential, fall)
            if land.pressures is not None:
                was_exact = land.pressures.is_exact
                if (length == 1.0) != was_exact:
                    land.pressures.set_exact(length == 1.0)
                    potential = land.potential(x)
                if length == 0.0 and was_exact:
                    continue
            if length == 0.0:
                break
            land.slack *= 0.1 if length == 1.0 else 2.0
            land.slack = max(land.slack, _LEAST_SLACK * self.slack)
        return kept is not None and self._take(kept, x)

    def _look(self, x: NDArray[np.float64]) -> Convergence:
        """ConvergenceTest the unbalanced force at the x of the last linearisation."""
        land, held = self.land, self.held
        # where no load acts, the scale is what holds the held components: their part of the right-hand side
        free = held.project_free(land.rhs)
        scale = self.load or float(np.abs(land.rhs - free).max(initial=0.0))
        convergence = self.test.check(free, scale, lambda: land.floor(x))
        # rounding hides no fall: along a direction in which nothing holds the body there is no stiffness
        falls = not land.pulls and held.unconstrained_direction(land.force + land.push) is not None
        if convergence is Convergence.ROUNDING_FLOOR and falls:
            return Convergence.NOT_REACHED
        return convergence

    def _take(self, kept: _RoundedState, x: NDArray[np.float64]) -> bool:
        """Go back to the best state that rounding allows."""
        land = self.land
        x[:], land.push[:] = kept.x, kept.push
        self._forces, self.contacts = kept.forces, kept.contacts
        land.potential(x)
        land.linearise(x)
        self._look(x)
        self.convergence = Convergence.ROUNDING_FLOOR
        return True

    def _in_place(self, rows: ConstraintRows | None) -> bool:
        """Return whether the contacts that press are closed and no node is inside a shape."""
        if rows is None or not len(rows):
            return True
        force = np.array([self._forces.get(key, 0.0) for key in rows.key.tolist()])
        off = np.maximum(-rows.gap, np.where(force > 0.0, rows.gap, 0.0))
        return len(self._forces) == int((force > 0.0).sum()) and float(off.max()) <= _CLOSED * self.size

    def _solve_touching(self, rows: ConstraintRows, direction: NDArray[np.float64]) -> SolveReport:
        """Fill Newton's direction with contacts as constraints; `land` gets their forces."""
        land, held = self.land, self.held
        bare = land.rhs - land.push
        load = held.loads(bare)
        system = VelocitySystem(
            held.matrix(land.matrix),
            load,
            held.unknowns(direction),
            load,
            held.fixed,
            held.projections,
            self.solver,
            _no_answer,
            contact_tolerance_scale=np.zeros_like(bare),
            basis=held.basis,
        )
        push = np.zeros((len(rows), 3))
        push[:, 0] = [self._forces.get(key, 0.0) for key in rows.key.tolist()]
        tolerance = max(1e-3 * self._move, 1e-11 * self.size) if self._move else 1e-4 * self.size
        with _accurate(self.solver):
            found = solve_contacts([system], rows, rows.gap, push, tolerance, rtol=_RTOL)
        held.set_coefficients(system.x, direction)
        pressing = found.impulse[:, 0] > 0.0
        self._forces = dict(
            zip(rows.key[pressing].tolist(), found.impulse[pressing, 0].tolist(), strict=True)
        )
        self.contacts = int(pressing.sum())
        land.push[:] = 0.0
        rows.apply_transpose(found.impulse, land.push)
        np.add(bare, land.push, out=land.rhs)
        return found.report


def static_potential(
    body: DeformableBody, obstacles: ColliderSet | None, in_pieces: bool
) -> tuple[StaticPotential, float, NDArray[np.float64]]:
    """Return the landscape of a body that may lean on others, the mass to lean on [1/s2], and where it starts.

    A body in several pieces leans on its mass even if it is held, as that may be one of its pieces only.
    """
    around, held = body._environment, body._dirichlet
    _refuse_slack(body)
    held.update(
        body._constraints, around.time, around.time, body._elements.rest_positions, body._x, 1.0, body.name
    )
    way, still = np.zeros_like(body._x), np.zeros_like(body._x)
    held.apply(way)
    x = body._x + way
    body._collect_forces(x, still, body._force)
    land = _potential(body, x, _leaning(body, obstacles))
    weight = float(np.abs(body._force).max()) / float(body._node_mass.mean())
    held_enough = held.any and not in_pieces and held.unconstrained_direction(body._force) is None
    return land, 0.0 if held_enough else 10.0 * weight / body._size, x


def _potential(
    body: DeformableBody,
    x: NDArray[np.float64],
    touch: Callable[[NDArray[np.float64]], ConstraintRows] | None,
) -> StaticPotential:
    """Return the potential of a body for a search that starts at x [n, 3], which touches what `touch` finds."""
    elements, matrix, mass, pressures = body._static_elements(), body._stepper.matrix, body._mass, None
    volumes = body._stepper.incompressibility
    if volumes is None:
        body._stepper.system.invalidate_matrix()
    else:
        volumes.check_enclosed_at_rest(x, body._dirichlet.fixed)
        matrix = BlockMatrix(elements.pattern)  # penalties of volumes couple more nodes
        mass = elements.mass(body._materials.density, True)
        pressures = StaticPressures(
            cast(KeepsVolumes, elements),
            volumes.one_ring.rest_volumes,
            volumes.shear_modulus,
            volumes.pressure,
        )
    return StaticPotential(
        elements,
        matrix,
        mass,
        body._force,
        tuple(body._pulls),
        touch,
        body.material.rounding_amplification,
        pressures,
    )


def _solver(body: DeformableBody, land: StaticPotential) -> LinearSolver:
    """Return a solver that is set up for the matrix of a potential."""
    if land.pressures is None:
        return body._stepper.solver
    nodes = land.elements.node_count
    solver = Direct() if nodes < _ITERATIVE_FROM else choose_solver(land.elements)
    solver.setup(land.matrix)
    return solver


def commit_pressures(body: DeformableBody, land: StaticPotential) -> None:
    """Give an incompressible body the pressures of the equilibrium that was found."""
    volumes = body._stepper.incompressibility
    if volumes is not None and land.pressures is not None:
        volumes.set_static(land.pressures.total())


def _leaning(
    body: DeformableBody, obstacles: ColliderSet | None
) -> Callable[[NDArray[np.float64]], ConstraintRows]:
    """Return a function that finds the nodes near a shape, if there are shapes."""
    return _at_rest(body, obstacles) or (lambda x: EMPTY_ROWS)


def _refuse_slack(body: DeformableBody) -> None:
    if body._materials.has_zero_stiffness:
        raise InputError(
            f"body '{body.name}' has no equilibrium, because some of it has no strength (young = 0); "
            "give it strength first"
        )


def solve_static(
    body: DeformableBody, rtol: float, max_newton: int, steps: int | None, obstacles: ColliderSet | None
) -> StaticReport:
    """Put a body at its static equilibrium; see `DeformableBody.settle`."""
    around, held = body._environment, body._dirichlet
    _refuse_slack(body)
    held.update(
        body._constraints, around.time, around.time, body._elements.rest_positions, body._x, 1.0, body.name
    )
    if not held.any and not body._pulls and obstacles is None:
        raise InputError(f"body '{body.name}' has no equilibrium, because nothing holds it; pin it somewhere")
    way, still = np.zeros_like(body._x), np.zeros_like(body._x)  # the wind presses on a body at rest
    held.apply(way)
    x = body._x + way
    body._collect_forces(x, still, body._force)
    loose = held.unconstrained_direction(body._force) if obstacles is None and not body._pulls else None
    if loose is not None:
        along = ", ".join(f"{c:.3g}" for c in np.abs(loose))
        raise InputError(
            f"body '{body.name}' has no equilibrium, because nothing holds it along ({along}), "
            "where the loads move it; pin or lock it there"
        )
    land = _potential(body, x, _at_rest(body, obstacles))
    # a body that nothing holds yet falls by a part of its size in an iteration
    weight = float(np.abs(body._force).max()) / float(body._node_mass.mean())
    search = StaticNewton(
        land,
        _solver(body, land),
        held,
        0.0 if held.any else 10.0 * weight / body._size,
        max_newton,
        body._element_size,
    )
    found, done = steps is None and search.run(x, rtol), 0
    if not found:
        x[:] = body._x
        found, done = _load_steps(search, x, way, rtol, 0.25 if steps is None else 1.0 / steps)
    for _ in range(_FOLLOWING):  # pressure and wind turn with the surface
        body._collect_forces(x, still, way)
        change = np.abs(way - land.force).max(axis=1)
        if not found or (change <= np.maximum(rtol * float(np.abs(way).max()), land.floor(x))).all():
            break
        land.force[:] = way
        found = search.run(x, rtol)
    if not found:
        raise DivergedError(
            f"body '{body.name}' found no equilibrium in {search.newton} Newton iterations ({search.test}); "
            "let it swing out with damping instead",
            body=body.name,
            step=around.step,
        )
    body._x[:] = x
    body._v[:] = 0.0
    body._stepper.restart(body._v)
    commit_pressures(body, land)
    body._reactions = partial(np.array, -land.rhs)
    body.set_contact_forces(land.push.copy())
    return StaticReport(
        True,
        search.newton,
        search.iterations,
        search.test.residual,
        max(done, 1),
        search.contacts,
        search.test.warnings(search.load) if search.convergence is Convergence.ROUNDING_FLOOR else (),
    )


def _load_steps(
    search: StaticNewton, x: NDArray[np.float64], way: NDArray[np.float64], rtol: float, length: float
) -> tuple[bool, int]:
    """Go to the equilibrium by load steps, the first of them `length` of the way; returns success and their number."""
    land = search.land
    full = land.force
    land.potential(x)
    land.linearise(x)
    unbalanced = search.held.project_free(land.rhs)
    if search.held.basis is not None:
        unbalanced = search.held.basis.forces(unbalanced)
    at, steps = 0.0, 0
    while at < 1.0:
        to = 1.0 if at + length > 1.0 - 1e-9 else at + length
        land.force = full - (1.0 - to) * unbalanced
        trial = x + (to - at) * way
        if search.run(trial, rtol if to == 1.0 else max(rtol, _ON_THE_WAY)):
            x[:], at, steps = trial, to, steps + 1
            length *= 1.5
        else:
            length *= 0.5
            if length < _SHORTEST:
                break
    land.force = full
    return at == 1.0, steps


@contextmanager
def _accurate(solver: LinearSolver) -> Iterator[None]:
    """Let a solver solve more exactly: contact leaves a body loose along the shapes, and that needs it."""
    kinds = (solver.pcg, solver.multigrid) if isinstance(solver, AutoSolver) else (solver,)
    given = [(kind, kind.rtol) for kind in kinds if isinstance(kind, PCG | Multigrid | MergedPCG)]
    for kind, rtol in given:
        kind.rtol = min(rtol, _RTOL)
    try:
        yield
    finally:
        for kind, rtol in given:
            kind.rtol = rtol


def _no_answer() -> SolveReport:
    raise AssertionError("contacts are solved for")


def _at_rest(
    body: DeformableBody, obstacles: ColliderSet | None
) -> Callable[[NDArray[np.float64]], ConstraintRows] | None:
    """Return a function that finds the nodes near a shape when the body is at x; they slide without friction.

    Nodes with prescribed positions do not touch shapes, as in steps.
    """
    if obstacles is None:
        return None
    nodes = body.contact_nodes
    carriers = body._surface.carriers
    if carriers is None:
        nodes = nodes[body._dirichlet.fixed[nodes] != 1]
    else:
        free = abs(carriers) @ (body._dirichlet.fixed != 1).astype(float)
        nodes = nodes[free[nodes] > 0.0]
    time, margin = body._environment.time, _NEAR * body._size

    def find(x: NDArray[np.float64]) -> ConstraintRows:
        points = body._surface.contact_positions(x)[nodes]
        met = obstacles.query(points, time, 0.0).find_close(margin)
        node = nodes[met.point].astype(np.int64)
        rows = contact_rows(
            met.normal,
            met.position,
            met.gap,
            soft_rows=node[:, None],
            key=met.collider.astype(np.int64) * 2**32 + node,
        )
        return rows if carriers is None or not len(rows) else rows.transformed(carriers)

    return find
