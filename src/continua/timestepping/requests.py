"""What the step of a body requests from the world, and the results that it receives.

A step is a coroutine: it yields the linear system of its velocities and continues when that is solved. So the world can
solve the systems of all bodies in contact together; a body without contacts is solved by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, LinearSolver, SolveReport
from continua.linalg.basis_change import BasisChange

__all__ = [
    "ContactResult",
    "MomentBalance",
    "PartnerMotion",
    "SolveResult",
    "StepCoroutine",
    "StepRequest",
    "VelocityProjection",
    "VelocitySystem",
    "VolumePartner",
    "VolumeProjection",
]


@dataclass(eq=False)
class MomentBalance:
    """The moment of a free body's internal forces, which is linear in the solution, and the impulse against it.

    The moment about the centre of mass is t(x) = t_0 + sum_i B_i^T x_i; the impulses -(J^-1 t) x (M r)_i balance it,
    with r the arms of the nodes and J the moments of inertia.

    Attributes:
        constant: t_0 [N m s], shape [3].
        response: B_i of every row, row by row, shape [n, 9].
        arms: r [m], shape [n, 3].
        mass_arms: M r [kg m], shape [n, 3].
        inertia: J [kg m^2], shape [3, 3].
        rotation: Moment that a rotation of the whole body needs, with the balancing impulses, shape [3, 3].
    """

    constant: NDArray[np.float64]
    response: NDArray[np.float64]
    arms: NDArray[np.float64]
    mass_arms: NDArray[np.float64]
    inertia: NDArray[np.float64]
    rotation: NDArray[np.float64]


@dataclass(eq=False)
class VelocitySystem:
    """The linear system A x = rhs of one body, to which contacts add impulses. Nodes move by dt V, V = x_offset + x.

    Attributes:
        matrix: The matrix of a soft body; for a rigid body two rows with the mass and the inertia on the diagonal.
        rhs: Right-hand side [N s], shape [n, 3].
        x: The initial guess, and after the solve the solution [m/s], shape [n, 3].
        tolerance_scale: Sets the scale of the linear solver's tolerance, like `rhs` [n, 3].
        fixed: Which rows are prescribed, see `LinearSolver.update`.
        projections: Free directions of partly fixed rows, or None.
        solver: The body's own solver.
        solve_alone: Solves the system without contacts.
        x_offset: Added to x to get the velocity, shape [n, 3], where x is an increment; None is zero.
        effective_dt: Time [s] over which a force acts in the equation.
        has_contacts: Whether contacts take part in this solve.
        contact_tolerance_scale: Scale of the tolerance in a solve with contacts, shape [n, 3]; None is
            `tolerance_scale`.
        deferred: Whether the system is solved again with every other request, and its result is returned only when
            no other body requests a solve.
        update_solver: Updates the solver to the matrix and constraints; None calls its `update`.
        basis: The change from the unknowns x to velocities: V = T (x_offset + x); None where T is the identity.
        balance: Called with x the solution with contacts: adds to `rhs` the rigid impulse that makes the internal
            forces of this solution balance, and returns the largest velocity [m/s] that it causes.
        moment_balance: Returns the terms with which a solve balances the internal forces by itself, or None if that
            has to be done by `balance`.
        add_impulse: Adds an impulse [N s], shape [n, 3], to the loads of the step.
        is_balanced: Whether the internal forces of the solution balance.
    """

    matrix: BlockMatrix
    rhs: NDArray[np.float64]
    x: NDArray[np.float64]
    tolerance_scale: NDArray[np.float64]
    fixed: NDArray[np.uint8]
    projections: NDArray[np.float64] | None
    solver: LinearSolver
    solve_alone: Callable[[], SolveReport]
    x_offset: NDArray[np.float64] | None = None
    effective_dt: float = 1.0
    has_contacts: bool = True
    contact_tolerance_scale: NDArray[np.float64] | None = None
    deferred: bool = False
    preliminary: bool = False
    update_solver: Callable[[], None] | None = None
    basis: BasisChange | None = None
    balance: Callable[[], float] | None = None
    moment_balance: Callable[[], MomentBalance | None] | None = None
    add_impulse: Callable[[NDArray[np.float64]], None] | None = None
    is_balanced: bool = field(default=False, init=False)
    _is_prepared: bool = field(default=False, init=False)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """V of the present x [m/s], shape [n, 3]."""
        v = self.x if self.x_offset is None else self.x_offset + self.x
        return v if self.basis is None else self.basis.coefficients(v)

    def unknowns(self, velocities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the unknowns of velocities [n, 3]; may be the same array."""
        return velocities if self.basis is None else self.basis.unknowns(velocities)

    def prepare_solver(self) -> None:
        """Update the solver to this system, once."""
        if self._is_prepared:
            return
        if self.update_solver is not None:
            self.update_solver()
        else:
            self.solver.update(self.matrix, self.fixed, self.projections)
        self._is_prepared = True

    def invalidate_solver(self) -> None:
        """Have the solver updated again before its next solve: it was used for another matrix."""
        self._is_prepared = False


@dataclass(eq=False)
class VelocityProjection:
    """Velocities at the end of a step; contacts project these velocities last.

    Attributes:
        velocities: Velocities [m/s], changed in place, shape [n, 3].
        inverse_mass: Inverse masses [1/kg], nine values per row; zero where a row is fixed; shape [n, 9].
    """

    velocities: NDArray[np.float64]
    inverse_mass: NDArray[np.float64]


@dataclass(eq=False)
class VolumeProjection:
    """Velocities of an incompressible body, to be projected together with those of bodies that touch it.

    Attributes:
        velocities: Velocities [m/s], changed in place, shape [n, 3].
        project: Projects the velocities of several bodies: called with their requests, the first row of each, the
            velocities of all bodies [N, 3], which it changes, constraint rows that keep their normal velocities, and
            the other rows that move, or None.
        problem: What `project` needs to know of the body.
        moves: Whether the nodes move with these velocities in the step.
    """

    velocities: NDArray[np.float64]
    project: Callable[..., SolveReport]
    problem: Any
    moves: bool

    def solve_alone(self) -> SolveReport:
        """Project the velocities without contacts."""
        return self.project([self], [0], self.velocities)


@dataclass(eq=False)
class VolumePartner:
    """Velocities of a body that moves with the projections of incompressible bodies that it touches.

    Attributes:
        start: Returns its velocities [m/s], shape [n, 3]: those over the step at first, then at its end.
        inverse_mass: Returns the inverse masses [1/kg], nine values per row, zero where a row is held, shape [n, 9].
        velocities: The velocities after the projection [m/s], shape [n, 3]; None if there was none.
        change: What it added, without what only moves nodes [m/s], shape [n, 3]; None if there was none.
    """

    start: Callable[[], NDArray[np.float64]]
    inverse_mass: Callable[[], NDArray[np.float64]]
    velocities: NDArray[np.float64] | None = None
    change: NDArray[np.float64] | None = None

    def solve_alone(self) -> SolveReport:
        """Change nothing: it touches no incompressible body."""
        return SolveReport(0, 0.0, True)


@dataclass(eq=False)
class PartnerMotion:
    """The rows of V [N, 3] that move with a projection of volumes though they have none to keep.

    Attributes:
        inverse_mass: Their inverse masses [1/kg], zero for all other rows, shape [N, 9].
        change: What the projection added to their velocities, without what only moves nodes [m/s], shape [N, 3].
    """

    inverse_mass: NDArray[np.float64]
    change: NDArray[np.float64]


@dataclass(eq=False)
class ContactResult:
    """The effect of contacts on one body in a solve.

    Attributes:
        impulse: What they added to the right-hand side [N s], shape [n, 3].
        count: Number of active contacts.
        needs_projection: Whether contacts have to project the velocities at the end of the step.
    """

    impulse: NDArray[np.float64]
    count: int
    needs_projection: bool = False


@dataclass(eq=False)
class SolveResult:
    """The result of a request.

    Attributes:
        report: The linear solves.
        contact: The effect of contacts, or None if there were none.
        failure: Why the step has failed, or empty.
    """

    report: SolveReport
    contact: ContactResult | None = None
    failure: str = ""


StepRequest = VelocitySystem | VelocityProjection | VolumeProjection | VolumePartner

StepCoroutine = Generator[StepRequest, SolveResult, None]
"""One substep of a body."""
