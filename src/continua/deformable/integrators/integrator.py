"""The interface of time integrators: the constants that a user chooses, and the stepper that each body owns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from continua.deformable import mass_kernels
from continua.deformable.boundary_conditions.constraints import Pull
from continua.deformable.boundary_conditions.dirichlet import DirichletSet
from continua.deformable.damping import Damper
from continua.deformable.elements import Elements
from continua.deformable.incompressible import Incompressibility
from continua.deformable.integrators.linear_system import LinearSystem
from continua.linalg import AutoSolver, BlockMatrix, LinearSolver, Multigrid, SolveReport
from continua.materials import Law
from continua.timestepping import SolveResult, VelocityProjection, VelocitySystem, VolumeProjection
from continua.validation import function

__all__ = ["BodyState", "Integrator", "SolveCoroutine", "StepInput", "StepOutcome", "Stepper"]

SolveCoroutine = Generator[VelocitySystem | VelocityProjection | VolumeProjection, SolveResult, "StepOutcome"]
"""The solution of a step: yields the systems to be solved, and returns how it went."""


@dataclass(frozen=True, eq=False)
class BodyState:
    """State and mass of a body; a solve does not change them.

    Attributes:
        x: Coefficients [m], shape [n, 3].
        v: Velocities [m/s], shape [n, 3].
        mass: Scalar mass [kg] of every block of the pattern.
        node_mass: Row sums of the mass matrix [kg], shape [n].
    """

    x: NDArray[np.float64]
    v: NDArray[np.float64]
    mass: NDArray[np.float64]
    node_mass: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepInput:
    """Input of one step: time step, damping, external force, Dirichlet conditions, springs.

    Attributes:
        dt: Time step [s].
        alpha: Damping by mass [1/s].
        beta: Damping by stiffness [s].
        force: External force [N], shape [n, 3].
        dirichlet: Dirichlet conditions, with the prescribed mean velocities over the step.
        is_rotation_invariant: Whether the law is invariant under rotations; the linear law is not, and its force is
            linear in the displacement.
        constant_stiffness: Whether the stiffness does not depend on the state.
        pulls: Springs.
        position_tolerance: Change of positions [m] at which Newton's iteration has converged.
        size: Size of the elements [m].
    """

    dt: float
    alpha: float
    beta: float
    force: NDArray[np.float64]
    dirichlet: DirichletSet
    is_rotation_invariant: bool
    constant_stiffness: bool
    pulls: tuple[Pull, ...]
    position_tolerance: float = 0.0
    size: float = 1.0


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """How a step was solved: sum of the linear solves, linearisations, contacts, why it failed (or ""), projections."""

    solve: SolveReport
    newton: int = 1
    contacts: int = 0
    failure: str = ""
    projection: SolveReport | None = None


class Stepper:
    """Owns the matrix, the solver and the work vectors of one body's steps.

    Attributes:
        positions: Coefficients after the solved step [n, 3].
        velocities: Velocities after the solved step [n, 3].
        history: Arrays carried from step to step besides positions and velocities; part of a body's state.
        retries: Whether a step that fails is repeated in substeps.
        damper: Corotated damping, or None.
        incompressibility: The pressures of an incompressible body, or None.
        system: Fills the matrix and updates the solver.
    """

    load_time_fraction: ClassVar[float] = 0.0
    """Fraction of the step at which time-dependent loads are evaluated: 0 is its start, 1/2 its middle."""

    def __init__(self, elements: Elements, solver: LinearSolver) -> None:
        function(getattr(elements, "assemble", None), "'assemble' of the elements of a stepper")
        n = elements.node_count
        function(getattr(solver, "solve", None), "'solve' of a linear solver")
        self.elements = elements
        self.solver = solver
        self.matrix = BlockMatrix(elements.pattern)
        self.positions = np.zeros((n, 3))
        self.velocities = np.zeros((n, 3))
        self.history: dict[str, NDArray] = {}
        if isinstance(solver, AutoSolver):
            self.history["solver"] = solver.history
        self.retries = True
        self.damper: Damper | None = None
        self._stiffness_damper: Damper | None = None
        self.incompressibility: Incompressibility | None = None
        solver.setup(self.matrix)
        self.system = LinearSystem(elements, self.matrix, solver)

    def restart(self, velocities: NDArray[np.float64]) -> None:
        """Clear the history: the velocities were set from outside."""

    def take_history(self, before: Stepper, interpolate: Callable[[NDArray], NDArray]) -> None:
        """Take over the history of a stepper of the same kind on another topology.

        `interpolate` carries coefficients [n, ...] to the new nodes. Statistics about the matrix start anew.
        """

    def solver_memory(self) -> NDArray[np.float64] | None:
        """Return the statistics of an automatic solver choice, for `restore_solver_memory`."""
        return self.solver.history.copy() if isinstance(self.solver, AutoSolver) else None

    def restore_solver_memory(self, solver_memory: NDArray[np.float64] | float | None = 0.0) -> None:
        """Reset the statistics of an automatic solver choice; by default clear them."""
        if isinstance(self.solver, AutoSolver) and solver_memory is not None:
            self.solver.history[:] = solver_memory

    def solver_state(self) -> dict[str, NDArray]:
        """Return what multigrid levels of the solver take from earlier steps; part of a body's state."""
        multigrid = self._multigrid()
        return {} if multigrid is None else {f"multigrid_{k}": v for k, v in multigrid.state().items()}

    def restore_solver_state(self, state: Mapping[str, NDArray]) -> None:
        """Restore a state from `solver_state`."""
        if (multigrid := self._multigrid()) is not None:
            prefix = "multigrid_"
            multigrid.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})

    def _multigrid(self) -> Multigrid | None:
        solver = self.solver.multigrid if isinstance(self.solver, AutoSolver) else self.solver
        return solver if isinstance(solver, Multigrid) else None

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]; the elements have them already."""
        self._law, self._constants = law, constants
        if self._stiffness_damper is not None:
            self._stiffness_damper.set_law(law, constants)
        self.material_changed()

    def damping_matrix(self, x: NDArray[np.float64], beta: float) -> BlockMatrix | None:
        """Return the matrix [kg/s] of all damping of deformation at x, with beta [s] times the stiffness; None if none.

        The stiffness is without what it does to rotations, see `Damper`. Valid until the next call.
        """
        matrix = None if self.damper is None else self.damper.at(x)
        if beta == 0.0:
            return matrix
        if self._stiffness_damper is None:
            self._stiffness_damper = self.elements.damper()
            self._stiffness_damper.set_law(self._law, self._constants)
        stiffness = self._stiffness_damper.at(x)
        stiffness.blocks *= beta
        if matrix is not None:
            stiffness.blocks += matrix.blocks
        return stiffness

    def material_changed(self) -> None:
        """Invalidate everything that depends on the material."""
        self.system.invalidate()

    def stable_dt(self, state: BodyState, damping: tuple[float, float], pulls: Sequence[Pull]) -> float:
        """Return the longest stable step [s]."""
        return inf

    def substep_count(
        self, state: BodyState, dt: float, damping: tuple[float, float], pulls: Sequence[Pull]
    ) -> int:
        """Return the number of substeps that stability requires in a step of dt [s]."""
        return 1

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`; the state changes in `accept` only."""
        raise TypeError(f"{type(self).__name__} has no step")

    def accept(self, state: BodyState) -> None:
        """Commit the solved step to the state."""
        state.x[:] = self.positions
        state.v[:] = self.velocities

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] of the last step, shape [n, 3]."""
        raise TypeError(f"{type(self).__name__} has no reactions")

    def compliance_response(self, load: NDArray[np.float64], dt: float) -> NDArray[np.float64] | None:
        """Return the displacement [m] that a small extra load [N] [n, 3] adds in a step of dt [s] like the last.

        None if the method cannot tell.
        """
        return None

    def update_pressure(self, rate: NDArray[np.float64], impulse: NDArray[np.float64], dt: float) -> None:
        """Set the pressures of an incompressible body after the projection of a step of dt [s].

        Args:
            rate: Volume rates [m3/s] before the projection [n].
            impulse: Pressures of the projection times dt [N s / m2], shape [n].
            dt: Time step.
        """
        assert self.incompressibility is not None
        self.incompressibility.set_pressure(impulse, dt)

    def inverse_masses(self, state: BodyState, step: StepInput) -> NDArray[np.float64]:
        """Return the inverse lumped masses [1/kg] of the free components, shape [n, 9]."""
        inverse = np.zeros((len(state.x), 9))
        inverse[:, ::4] = (1.0 / state.node_mass)[:, None]
        inverse[step.dirichlet.fixed == 1] = 0.0
        partly = np.flatnonzero(step.dirichlet.fixed == 2)
        if len(partly) and step.dirichlet.projections is not None:
            free = step.dirichlet.projections[partly][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]]
            inverse[partly] = free / state.node_mass[partly, None]
        return inverse

    def inertia_ratio(self, state: BodyState) -> NDArray[np.float64]:
        """Return the inertia of each node in the system of a step, with its stiffness, over its mass, shape [n]."""
        return np.ones(len(state.x))

    def project_contacts(
        self, state: BodyState, step: StepInput, velocities: NDArray[np.float64]
    ) -> Generator[VelocityProjection, SolveResult, None]:
        """Let contacts project the velocities at the end of a step, in place."""
        yield VelocityProjection(velocities, self.inverse_masses(state, step))
        if step.dirichlet.basis is not None:  # coefficients near prescribed values have changed
            step.dirichlet.apply(velocities)

    def mass_times(
        self, state: BodyState, x: NDArray[np.float64], out: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Set `out` to M x and return it."""
        p = self.elements.pattern
        mass_kernels.mass_times.variant(p.parallel)(p.indptr, p.indices, state.mass, x, out)
        return out


@dataclass(frozen=True)
class Integrator:
    """A time integration method and its constants. Each body makes its own `stepper` from it."""

    name: ClassVar[str]
    lumped: ClassVar[bool] = False
    """Whether the method needs lumped mass."""
    keeps_volumes: ClassVar[bool] = True
    """Whether steps of the method may be projected, as those of incompressible bodies are."""

    def stepper(self, elements: Elements, solver: LinearSolver) -> Stepper:
        """Return the stepper of a body with these elements."""
        raise TypeError(f"{type(self).__name__} has no stepper")
