"""Bodies of position-based dynamics, PBD and XPBD."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from continua.collision import ColliderSet
from continua.contact_solver.contact_body import ContactSurface
from continua.deformable.boundary_surface import BoundarySurface
from continua.deformable.elements import AssembledSystem, Elements
from continua.deformable.integrators import BodyState, Integrator, StepInput, Stepper
from continua.deformable.integrators.integrator import SolveCoroutine, StepOutcome
from continua.deformable.statics import StaticReport
from continua.errors import InputError
from continua.frames import BodyFields, BodyFrame, ContactForces, Field, readonly_copy
from continua.linalg import PCG, BlockPattern, DofMap, LinearSolver, SolveReport
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.springs.constraint_kernels import position_based_step
from continua.springs.constraints import (
    Bending,
    Constraint,
    ConstraintTables,
    Distance,
    Volume,
)
from continua.springs.network import SpringNetwork, network_of
from continua.springs.network_body import NetworkBody
from continua.springs.particles import node_masses, open_surface
from continua.springs.springs import SpringLaw, SpringMaterials
from continua.springs.tearing import remaining_cells
from continua.timestepping import VelocitySystem
from continua.validation import choice, instances_of, number, whole_number

__all__ = ["PositionBased"]


class Particles:
    """The nodes of a position-based body as elements without forces: only their masses enter a system."""

    order = 1
    inverted = 0
    conservative = True
    has_pressure_unknowns = False
    nodal_maps: tuple[sparse.csr_array, sparse.csr_array] | None = None

    def __init__(self, network: SpringNetwork, node_mass: NDArray[np.float64]) -> None:
        self.network, self.node_mass = network, node_mass
        self.rest_positions = self.rest_coefficients = network.points
        self.node_count = network.node_count
        tables = (network.tets, network.triangles, network.springs)
        self.elements = next((table for table in tables if len(table)), tables[-1])
        self.element_count = len(self.elements)
        self.dof_map = DofMap.from_nodes(self.elements, self.node_count)
        self.pattern = BlockPattern.of_diagonal(self.node_count)

    @property
    def mesh(self) -> Any:
        """The network."""
        return self.network

    def set_law(self, law: Any, constants: NDArray[np.float64]) -> None:
        """Do nothing: constraints have their own constants."""

    def mass(self, density: NDArray[np.float64], lumped: bool) -> NDArray[np.float64]:
        """Return the mass [kg] of every node."""
        return self.node_mass.copy()

    def update(self, coefficients: NDArray[np.float64]) -> None:
        """Do nothing."""

    def count_inverted(self, coefficients: NDArray[np.float64]) -> None:
        """Do nothing."""

    def assemble(self, system: AssembledSystem) -> None:
        """Fill the system with the masses alone."""
        system.matrix.blocks[:] = 0.0
        system.matrix.blocks[:, ::4] = system.c_mass * system.mass[:, None]
        system.rhs[:] = system.mass[:, None] * system.velocities + system.load

    def values(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients."""
        return coefficients

    def point_weights(
        self, nodes: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the arguments."""
        return nodes, weights

    def von_mises(self) -> NDArray[np.float64]:
        """Return zeros: constraints have no stress."""
        return np.zeros(self.node_count)

    def energy(self) -> float:
        """Return 0: constraints have no energy in common."""
        return 0.0

    def cells(self) -> dict[str, NDArray[np.int32]]:
        """Return the springs as lines."""
        return {"line": self.network.springs}

    def surface_triangles(self) -> NDArray[np.int32]:
        """Return the surface of the network."""
        return self.network.triangles

    def damper(self) -> Any:
        """Refuse: position-based bodies are damped along their constraints."""
        raise InputError("position-based bodies are damped by 'damping_time'")

    def discrete_gradient(self) -> Any:
        """Refuse: there is no energy."""
        raise InputError("position-based bodies have no other integrator")


@dataclass(frozen=True)
class PositionBasedDynamics(Integrator):
    """Prediction, projection of all constraints, velocities from the change of positions.

    Attributes:
        iterations: Iterations over all constraints in each small step.
        small_steps: Small steps in each step.
        damping_time: Damping along the constraints relative to their stiffness [s].
    """

    name = "position_based"
    lumped = True
    keeps_volumes = False
    iterations: int = 1
    small_steps: int = 10
    damping_time: float = 0.0

    def stepper(self, elements: Elements, solver: LinearSolver) -> PositionBasedStepper:
        """Return the stepper of a body with these elements."""
        return PositionBasedStepper(elements, solver, self)


class PositionBasedStepper(Stepper):
    """Steps of one position-based body.

    Contacts act after the constraints, on the mean velocity of the step, with the masses of the nodes; the constraints
    follow in the next step.
    """

    load_time_fraction = 0.5

    def __init__(self, elements: Elements, solver: LinearSolver, method: PositionBasedDynamics) -> None:
        super().__init__(elements, solver)
        self._method = method
        self.tables: ConstraintTables | None = None
        self._reaction = np.zeros_like(self.positions)
        self._work = np.zeros_like(self.positions)

    def solve(self, state: BodyState, step: StepInput) -> SolveCoroutine:
        """Fill `positions` and `velocities`."""
        tables, method, dirichlet, dt = self.tables, self._method, step.dirichlet, step.dt
        assert tables is not None
        mass = state.node_mass
        inverse = np.where(dirichlet.fixed == 1, 0.0, 1.0 / mass)
        moving = (dirichlet.fixed == 1).astype(np.uint8)
        prescribed = np.zeros_like(state.v)
        dirichlet.apply(prescribed)
        acceleration = step.force / mass[:, None]
        x, v = state.x.copy(), state.v.copy()
        position_based_step.variant(tables.parallel)(
            x, v, self._work, inverse, moving, prescribed, acceleration, dt, method.small_steps, method.iterations,
            step.alpha, method.damping_time, tables.extended and method.iterations > 1, tables.reach, tables.distance,
            tables.bending, tables.hinges, tables.volumes, tables.strain, tables.surface, tables.clusters,
            _attached(step),
        )  # fmt: skip
        mean = (x - state.x) / dt
        if dirichlet.any:
            dirichlet.apply(mean)
            dirichlet.apply(v)
        self._reaction = mass[:, None] * (v - state.v) / dt - step.force
        self.matrix.blocks[:] = 0.0
        self.matrix.blocks[:, ::4] = mass[:, None]
        self.system.invalidate_matrix()
        rhs = dirichlet.loads(mass[:, None] * mean)
        free = mean.copy()
        system = VelocitySystem(
            self.matrix,
            rhs,
            mean,
            rhs,
            dirichlet.fixed,
            dirichlet.projections,
            self.solver,
            lambda: SolveReport(0, 0.0, True),
            effective_dt=dt,
        )
        answer = yield system
        contact = answer.contact
        mean = system.x
        self.positions = state.x + dt * mean
        self.velocities = v + (mean - free)
        if contact is not None:
            self._reaction -= contact.impulse / dt
            if contact.needs_projection:
                yield from self.project_contacts(state, step, self.velocities)
        count = 0 if contact is None else contact.count
        iterations = method.iterations * method.small_steps
        report = SolveReport(iterations, min(answer.report.residual, 0.0), True)
        return StepOutcome(report, 1, count, answer.failure)

    def reactions(self) -> NDArray[np.float64]:
        """Return the reaction forces [N] of the last step, shape [n, 3], those of constraints included."""
        return self._reaction


def _attached(step: StepInput) -> tuple:
    """Return the pulls of a step as attachments."""
    count = len(step.pulls)
    nodes, weights = np.zeros((count, 4), np.int32), np.zeros((count, 4))
    targets, compliance = np.zeros((count, 3)), np.zeros(count)
    for k, pull in enumerate(step.pulls):
        m = len(pull.nodes)
        nodes[k] = pull.nodes[0]
        nodes[k, :m], weights[k, :m] = pull.nodes, pull.weights
        targets[k], compliance[k] = pull.target, 1.0 / max(pull.stiffness, 1e-300)
    return nodes, weights, targets, compliance, np.zeros((count, 3))


class PositionBased(NetworkBody):
    """A body of position-based dynamics: fast, stable at any step size, and less accurate than elements.

    In every step positions are predicted, and then moved until the constraints hold. XPBD (Macklin 2016) gives
    constraints a compliance, so that their stiffness depends neither on the number of iterations nor on the step; PBD
    (Mueller 2007) corrects a fraction of each error.

    Args:
        network: What joins which points: a network such as `springs.sheet(...)`; a mesh, whose edges are the springs;
            or points [n, 3] with `springs`.
        springs: The two nodes of each spring, shape [m, 2].
        constraints: The constraints, such as `springs.Distance(compliance=1e-5)`; by default Distance, with Bending for
            ropes and sheets and with Volume for tetrahedra.
        method: "xpbd" or "pbd".
        iterations: Iterations over all constraints in each small step.
        small_steps: Small steps in each step; many with one iteration each converge faster than many iterations
            (Macklin 2019).
        damping_time: Damping along the constraints of XPBD, relative to their stiffness [s].
        damping: Damping of all velocities [1/s].
        mass: Mass [kg] of the body, shared by volume, area or length; or of each node, shape [n].
        radius: Radius of ropes, half the thickness of sheets [m]: contacts keep this distance.
        name: Name in the world.
        friction: Coulomb's coefficient of its contacts; None takes the world's.
        restitution: Coefficient of restitution; None takes the world's.
        color: RGB in 0..1 for plain pictures.
    """

    def __init__(
        self,
        network: SpringNetwork | VolumeMesh | SurfaceMesh | ArrayLike,
        springs: ArrayLike | None = None,
        *,
        constraints: Sequence[Constraint] | None = None,
        method: str = "xpbd",
        iterations: int = 1,
        small_steps: int = 10,
        damping_time: float = 0.0,
        damping: float = 0.0,
        mass: ArrayLike = 1.0,
        radius: float | None = None,
        name: str | None = None,
        friction: float | None = None,
        restitution: float | None = None,
        color: tuple[float, float, float] | None = None,
    ) -> None:
        self.method = choice(method, "the method of a position-based body", ("xpbd", "pbd"))
        dynamics = PositionBasedDynamics(
            whole_number(iterations, "the iterations of a position-based body", low=1, high=10**6),
            whole_number(small_steps, "the small_steps of a position-based body", low=1, high=10**6),
            number(damping_time, "the damping_time of a position-based body", low=0.0, unit="s"),
        )
        self._set_options(name, friction, restitution, color, dynamics, None)
        self.network = network_of(network, springs)
        self.mesh = self.network  # type: ignore[assignment]
        given = _default_constraints(self.network) if constraints is None else constraints
        masses = node_masses(self.network, mass, self.name)
        self._tables = self._make_tables(given, masses)
        elements: Any = Particles(self.network, masses)
        self._elements = elements
        self._surface = BoundarySurface(elements)
        edges = self.network.springs
        if not len(edges):
            raise InputError(f"the body '{self.name}' has no springs; give it some")
        lengths = np.linalg.norm(self.network.points[edges[:, 1]] - self.network.points[edges[:, 0]], axis=1)
        self._element_size = float(np.median(lengths)) or 1.0
        self.radius = (
            0.1 * self._element_size
            if radius is None
            else number(radius, "the radius of a body", above=0.0, unit="m")
        )
        materials: Any = SpringMaterials(SpringLaw(), np.zeros((elements.element_count, 3)))
        alpha = number(damping, "the damping of a position-based body", low=0.0, unit="1/s")
        self._start(materials, PCG(rtol=1e-12, preconditioner="jacobi"), (alpha, 0.0))
        cells, _ = remaining_cells(self.network, np.zeros(len(edges), np.uint8))
        self._cells = cells

    # --- properties -------------------------------------------------------------------------------------

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints."""
        return self._tables.constraints

    @property
    def notes(self) -> tuple[str, ...]:
        """What was remarkable when the network was made, one sentence each."""
        return self.network.notes

    @property
    def pull_stiffness(self) -> float:
        """Default spring constant of a pull [N/m]: enough to lift the body."""
        return 100.0 * float(self._node_mass.sum())

    @property
    def contact_nodes(self) -> NDArray[np.int32]:
        """The nodes that colliders can touch, shape [k]: those on a closed surface, else all."""
        if self.network.closed:
            return self._surface.nodes
        return np.arange(self.node_count, dtype=np.int32)

    def summary(self) -> dict[str, int | str]:
        """Return the numbers of springs and nodes, for reports."""
        return {"springs": self.network.element_count, "nodes": self.node_count, "method": self.method}

    def geometry_bytes(self) -> bytes:
        """Return the network as bytes; a run may only be resumed with the same."""
        return self.network.points.tobytes() + self.network.springs.tobytes() + self.network.tets.tobytes()

    def set_constraints(self, constraints: Sequence[Constraint]) -> None:
        """Change the constraints while the simulation runs."""
        self._tables = self._make_tables(constraints, self._node_mass)
        assert isinstance(self._stepper, PositionBasedStepper)
        self._stepper.tables = self._tables

    def set_material(self, **constants: Any) -> None:
        """Refuse: the constants are those of the constraints; see `set_constraints`."""
        raise InputError("a position-based body has no material; change its constraints with set_constraints")

    def set_integrator(self, integrator: Integrator | str, newton: int | None = None) -> None:
        """Refuse: position-based dynamics is the only integrator of the body."""
        raise InputError("a position-based body has no other integrator; make Springs of the same network")

    def settle(
        self,
        rtol: float = 1e-6,
        max_newton: int = 200,
        *,
        steps: int | None = None,
        obstacles: ColliderSet | None = None,
    ) -> StaticReport:
        """Refuse: constraints have no static equilibrium of their own."""
        raise InputError(
            f"the position-based body '{self.name}' cannot settle; let it come to rest in steps with some damping"
        )

    def energy(self) -> dict[str, float]:
        """Return kinetic and gravitational energy [J]; the latter is zero at rest."""
        return self._energy()

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot."""
        instances_of(fields, str, "the fields of a frame", "a name")
        rest = self._read_only("rest positions", self._elements.rest_positions)
        positions = readonly_copy(self._x)
        computed = {
            "displacement": Field(readonly_copy(positions - rest), "m"),
            "velocity": Field(readonly_copy(self._v), "m/s"),
            "contact_force": Field(readonly_copy(self._contact_force), "N"),
        }
        return BodyFrame(
            name=self.name,
            kind="springs",
            positions=positions,
            rest_positions=rest,
            cells=MappingProxyType(self._cells),
            triangles=self.triangles,
            fields=BodyFields(computed),
            color=self.color,
            energy=MappingProxyType(self._energy()),
            point_radius=None if len(self.network.triangles) else self.radius,
            contacts=ContactForces.at_nodes(positions, self._contact_force),
        )

    def __repr__(self) -> str:
        return f"PositionBased({self.name!r}, {self.method}, {self.node_count} nodes)"

    # --- internals -------------------------------------------------------------------------------------------

    def _make_tables(
        self, constraints: Sequence[Constraint], masses: NDArray[np.float64]
    ) -> ConstraintTables:
        method = self.integrator
        assert isinstance(method, PositionBasedDynamics)
        count = method.iterations * method.small_steps
        return ConstraintTables(self.network, constraints, masses, self.method == "xpbd", count)

    def _make_stepper(self, elements: Elements, solver: LinearSolver) -> Stepper:
        stepper = super()._make_stepper(elements, solver)
        assert isinstance(stepper, PositionBasedStepper)
        stepper.tables = self._tables
        return stepper

    def _energy(self) -> dict[str, float]:
        energy = super()._energy()
        del energy["elastic"]
        return energy

    def _contact_surface(self) -> ContactSurface:
        if self.network.closed:
            return super()._contact_surface()
        return open_surface(self.network, self.radius)


def _default_constraints(network: SpringNetwork) -> list[Constraint]:
    constraints: list[Constraint] = [Distance()]
    if len(network.bends) or len(network.hinges):
        constraints.append(Bending())
    if len(network.tets):
        constraints.append(Volume())
    return constraints
