"""What soft bodies, cloth and springs share: nodes whose elements are stepped by an integrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.collision import ColliderSet
from continua.contact_solver.contact_body import ContactSurface
from continua.deformable import mass_kernels
from continua.deformable.boundary_conditions.boundary_conditions import BoundaryConditions
from continua.deformable.boundary_surface import BoundarySurface
from continua.deformable.contact_body import DeformableContactBody, connected_pieces
from continua.deformable.damping import Damper, RotatedDamping, split_damping
from continua.deformable.element_materials import ElementMaterials
from continua.deformable.elements import Elements
from continua.deformable.incompressible import Incompressibility
from continua.deformable.integrators import BodyState, Integrator, Stepper, choose_integrator
from continua.deformable.solver_setup import choose_solver
from continua.deformable.statics import StaticReport, solve_static
from continua.deformable.step import step_alone
from continua.environment import Environment
from continua.errors import InputError
from continua.frames import StepReport, readonly_copy
from continua.geometry.surface_coefficients import check_coefficient
from continua.linalg import AutoSolver, LinearSolver
from continua.materials import Law
from continua.mesh import PlaneMesh
from continua.system import check_settle
from continua.validation import array, instance_of, mapping, number, state_arrays, vector3
from continua.validation import color as check_color
from continua.validation import name as check_name

__all__ = ["DeformableBody"]


class DeformableBody(BoundaryConditions):
    """A body of nodes and elements that an integrator steps: a soft body, cloth or springs.

    A derived class makes its mesh and elements, and then calls `_start`. The methods that it may override follow under
    "what derived classes override".
    """

    integrator: Integrator
    incompressible = False
    _surface: BoundarySurface
    _element_size: float
    _mass_lumped = False
    _recovery_time = 0.0

    def _set_options(
        self,
        name: str | None,
        friction: float | None,
        restitution: float | None,
        color: Any,
        integrator: Integrator | str,
        newton: int | None,
    ) -> None:
        """Set what does not depend on the mesh."""
        self.integrator = choose_integrator(integrator, newton)
        self.name = check_name(name, "the name of a body")
        self.friction = check_coefficient(friction, "the friction of a body")
        self.restitution = check_coefficient(restitution, "the restitution of a body", 1.0)
        self.color = check_color(color, "the color of a body")

    def _start(
        self,
        materials: ElementMaterials,
        solver: LinearSolver | str | None,
        damping: ArrayLike | RotatedDamping,
    ) -> None:
        """Start at rest; the mesh, the elements, the surface and the size of elements are set."""
        self._damper: Damper | None = None
        self._x = self._elements.rest_coefficients.copy()
        self._read_only_copies: dict[str, tuple[NDArray, NDArray]] = {}
        self._v = np.zeros_like(self._x)
        self._initial_v = np.zeros_like(self._x)
        self._force = np.zeros_like(self._x)
        self._contact_force = np.zeros_like(self._x)
        self._environment = Environment()
        self._size = float(np.linalg.norm(np.ptp(self._elements.rest_positions, axis=0)))
        self._clear_boundary_conditions(self._size)
        self._materials = materials
        self._density: NDArray[np.float64] | None = None
        self._stepper = self._make_stepper(self._elements, choose_solver(self._elements, solver))
        self._set_damping(damping)
        self._update_materials()

    # --- what derived classes override --------------------------------------------------------------------

    @property
    def topology_version(self) -> int:
        """Version of the topology, which rises with every change."""
        return 0

    def _advance_material(self, dt: float) -> None:
        """Let inner variables of the material, such as plastic deformation, follow a substep of `dt` [s]."""

    def _static_elements(self) -> Elements:
        """Return elements of the same forces whose tangent is exact, if there are such, for `settle`."""
        return self._elements

    def _contact_surface(self) -> ContactSurface:
        """Return the surface with which the body touches others."""
        elements, triangles = self._elements, self._surface.triangles
        pieces = connected_pieces(elements.elements, elements.node_count)
        if self._surface.matter is not None:
            pieces = pieces[self._surface.matter.nodes[:, 0]]
        several = len(triangles) > 0 and bool((pieces[triangles[:, 0]] != pieces[triangles[0, 0]]).any())
        label = (
            np.unique(pieces[triangles[:, 0]], return_inverse=True)[1].astype(np.int32) if several else None
        )
        return ContactSurface(self._surface.rest, triangles, pieces=label)

    def _nodal_coefficients(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of a field with the given values at the nodes, shape [n, 3]."""
        return values

    def _material_changed(self, constants: Mapping[str, Any]) -> None:
        """Take note of changed constants of the law."""

    def _velocities_set(self) -> None:
        """Take note of new initial velocities."""

    def _topology_state(self) -> dict[str, Any]:
        """Return the topology for `state`, if it has changed."""
        return {}

    def _take_topology(self, state: Mapping[str, Any]) -> None:
        """Take the topology of a state and check the arrays of the state, or raise InputError and change nothing."""
        shapes = {key: target.shape for key, target in self._state_arrays().items()}
        state_arrays(state, shapes, f"body '{self.name}'", optional=("solver",))

    def _return_to_initial(self) -> None:
        """Return to the initial topology and clear inner variables of the material."""

    # --- properties -------------------------------------------------------------------------------------

    @property
    def material(self) -> Law:
        """The material; change it with `set_material`."""
        return self._materials.law

    @property
    def parts(self) -> tuple[tuple[NDArray[np.int32], Law], ...]:
        """Parts with other constants: the numbers of their elements, and their material."""
        return tuple(self._materials.parts)

    @property
    def damping(self) -> tuple[float, float]:
        """Rayleigh damping (alpha [1/s], beta [s])."""
        return self._damping

    @property
    def damping_time(self) -> float:
        """Time of the rotated damping [s], or 0 without one; see `RotatedDamping`."""
        return self._damping_time

    @property
    def order(self) -> int:
        """Polynomial degree of the elements."""
        return self._elements.order

    @property
    def solver(self) -> LinearSolver:
        """The linear solver; `print(body.solver)` describes it."""
        solver = self._stepper.solver
        return solver.current if isinstance(solver, AutoSolver) else solver

    @property
    def stable_dt(self) -> float:
        """Longest stable time step [s] of an explicit integrator now; infinite for an implicit one."""
        return self._stepper.stable_dt(self._body_state(), self._damping, self._pulls)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self._elements.node_count

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return self._elements.element_count

    @property
    def mass_total(self) -> float:
        """Mass [kg]."""
        return float(self._node_mass.sum())

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """Node positions of the undeformed body [m], shape [n, 3]; a read-only copy."""
        return readonly_copy(self._elements.rest_positions)

    @property
    def positions(self) -> NDArray[np.float64]:
        """Node positions [m], shape [n, 3]; a read-only copy.

        Set all of them at any time: `body.positions = body.positions + shift`. The body starts anew from there, with
        the velocities that it has; plastic deformation stays, and pinned and driven nodes go back to their targets in
        the next step. `reset` goes to the rest positions.
        """
        return readonly_copy(self._elements.values(self._x))

    @positions.setter
    def positions(self, values: ArrayLike) -> None:
        self._x[:] = self._coefficients(values, "positions", self._elements.rest_positions)
        self._start_anew()

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Node velocities [m/s], shape [n, 3]; a read-only copy.

        Set all of them at any time; `reset` goes to those of `set_velocity`.
        """
        return readonly_copy(self._elements.values(self._v))

    @velocities.setter
    def velocities(self, values: ArrayLike) -> None:
        self._v[:] = self._coefficients(values, "velocities", np.zeros_like(self._v))
        self._start_anew()

    @property
    def triangles(self) -> NDArray[np.int32]:
        """The outer surface over the nodes, outward oriented, shape [k, 3]; a read-only copy.

        Of a cut body they are the faces of its elements in which its surface lies; frames have the surface itself as
        their skin.
        """
        triangles = (
            self._surface.triangles if self._surface.carriers is None else self.mesh.boundary_triangles
        )
        return self._read_only("triangles", triangles)

    def summary(self) -> dict[str, int | str]:
        """Return the number and order of the elements, for reports."""
        return {"elements": self.element_count, "order": self.order}

    def set_material(
        self, *, damping: ArrayLike | RotatedDamping | None = None, part: int | None = None, **constants: Any
    ) -> None:
        """Change constants of the law while the simulation runs; the others keep their values.

        Args:
            damping: Rayleigh damping (alpha [1/s], beta [s]), or a `RotatedDamping`.
            part: The part whose constants change (0 is the first); None means the elements in no part.
            **constants: Constants of the law: `young` [Pa], `poisson`, `density` [kg/m3], of a muscle `activation`.
        """
        if damping is not None:
            split_damping(damping)  # refuses what cannot be, before anything changes
        changes = {key: value for key, value in constants.items() if value is not None}
        if changes or part is not None:
            self._materials.change(changes, part)
            self._material_changed(changes)
        if damping is not None:
            self._set_damping(damping)
        if changes or part is not None or damping is not None:
            self._update_materials()

    def set_integrator(self, integrator: Integrator | str, newton: int | None = None) -> None:
        """Change the time integrator; see the class for the arguments."""
        before, previous = self._stepper, self.integrator
        self.integrator = choose_integrator(integrator, newton)
        try:
            self._stepper = self._make_stepper(self._elements, before.solver)
        except InputError:
            self.integrator = previous
            raise
        if before.incompressibility is not None and self._stepper.incompressibility is not None:
            self._stepper.incompressibility.pressure[:] = before.incompressibility.pressure
            self._stepper.incompressibility.guesses[:] = before.incompressibility.guesses
        self._stepper.restart(self._v)
        self._reactions = None
        self._density = None  # explicit methods use lumped mass
        self._update_materials()

    def set_velocity(self, velocity: ArrayLike = (0, 0, 0), angular_velocity: ArrayLike = (0, 0, 0)) -> None:
        """Set a rigid motion: velocity [m/s] of the centre of mass and angular velocity [rad/s] about it."""
        v = vector3(velocity, "velocity")
        w = vector3(angular_velocity, "angular_velocity")
        center = self._node_mass @ self._x / self._node_mass.sum()
        self._v[:] = v + np.cross(w, self._x - center)
        self._start_anew()
        self._initial_v[:] = self._v
        self._velocities_set()

    # --- the body in a world ------------------------------------------------------------------------------

    def prepare(self, environment: Environment) -> None:
        """Enter a world: gravity, wind and time come from `environment` from now on."""
        self._environment = instance_of(environment, Environment, "the environment of a body")

    @property
    def contact_nodes(self) -> NDArray[np.int32]:
        """The nodes that colliders can touch, shape [k]: those on the surface, or all if some stiffness is zero."""
        if self._materials.has_zero_stiffness and self._surface.carriers is None:
            # interior nodes would fall through the surface
            return np.arange(self.node_count, dtype=np.int32)
        return self._surface.nodes

    def contact_body(self) -> DeformableContactBody:
        """Return what the body offers to the contact solver."""
        return DeformableContactBody(self)

    def set_contact_forces(self, force: NDArray[np.float64]) -> None:
        """Set the contact forces on the nodes in the last step [N], shape [n, 3]."""
        self._contact_force = array(force, "the contact forces of a body", self._x.shape, finite=False)

    @property
    def contact_forces(self) -> NDArray[np.float64]:
        """The contact forces on the nodes in the last step [N], shape [n, 3]; a read-only copy."""
        return readonly_copy(self._contact_force)

    def step(self, dt: float) -> StepReport:
        """Advance by `dt` [s] without contact; `World.step` includes contact.

        A step that fails is repeated in 2, 4, ... up to 64 substeps, and the report says so. If that fails too,
        DivergedError is raised and the body keeps its last good state.
        """
        dt = number(dt, "dt", above=0.0, unit="s")
        self._contact_force = np.zeros_like(self._x)
        return step_alone(self, dt)

    def settle(
        self,
        rtol: float = 1e-6,
        max_newton: int = 200,
        *,
        steps: int | None = None,
        obstacles: ColliderSet | None = None,
    ) -> StaticReport:
        """Move to the static equilibrium under gravity, wind, loads and springs, with zero velocities.

        From a distant state it may find another equilibrium than the one the moving body would come to rest at; for
        a body that hangs from rest it is the same. Contacts are frictionless. Raises DivergedError, and changes
        nothing, if no equilibrium is found.

        Args:
            rtol: Unbalanced force to reach, relative to the largest load of a node. What rounding leaves is enough
                where that is more (see `deformable.convergence`); the report then has a warning.
            max_newton: Maximum number of Newton iterations per load step.
            steps: Initial number of load steps; a step is halved if it fails. None applies all loads at once, and
                uses load steps if that fails.
            obstacles: Colliders, without friction.
        """
        rtol, max_newton, steps = check_settle(rtol, max_newton, steps)
        if obstacles is not None:
            instance_of(obstacles, ColliderSet, "the obstacles of settle")
        for tool in self._haptic_tools:
            tool.read_target()
        solver_memory = self._stepper.solver_memory()
        try:
            report = solve_static(self, rtol, max_newton, steps, obstacles)
        finally:
            self._stepper.restore_solver_memory(solver_memory)  # the systems of steps are different
        for tool in self._haptic_tools:
            tool.publish_force(self._stepper, 0.0)
        return report

    def energy(self) -> dict[str, float]:
        """Return kinetic, elastic and gravitational energy [J]; the last is zero at rest."""
        self._elements.update(self._x)
        return self._energy()

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress at the nodes [Pa], shape [n]."""
        self._elements.update(self._x)
        return self._elements.von_mises()

    def _read_only(self, name: str, array: NDArray) -> NDArray:
        """Return a read-only copy of an array of the elements, the same one as long as the array is the same."""
        if not array.flags.writeable:
            return array
        if name not in self._read_only_copies or self._read_only_copies[name][0] is not array:
            self._read_only_copies[name] = array, readonly_copy(array)
        return self._read_only_copies[name][1]

    def state(self) -> dict[str, Any]:
        """Return everything that a bitwise identical restart needs; the topology only if it has changed."""
        arrays = {key: array.copy() for key, array in self._state_arrays().items()}
        return arrays | self._stepper.solver_state() | self._topology_state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`, of any topology of this body.

        Boundary conditions stay attached and follow to that topology.
        """
        self._take_topology(mapping(state, f"the state of body '{self.name}'"))
        for key, target in self._state_arrays().items():
            target[:] = state.get(key, 0.0)
        self._stepper.restore_solver_state(state)
        self._reactions = None

    def reset(self) -> None:
        """Return to the rest state on the initial mesh, with the velocity given by `set_velocity`."""
        self._return_to_initial()
        self._x[:] = self._elements.rest_coefficients
        self._v[:] = self._initial_v
        self._stepper.restart(self._v)
        if self._stepper.incompressibility is not None:
            self._stepper.incompressibility.set_static(0.0)
        self._stepper.restore_solver_memory()
        self._stepper.restore_solver_state({})
        self._reactions = None
        self._contact_force = np.zeros_like(self._x)

    # --- internals -------------------------------------------------------------------------------------------

    def _coefficients(self, values: ArrayLike, what: str, plane: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients [n, 3] of the field that has the given values at the nodes.

        Those of a plane body must equal `plane` [n, 3] along z, where nothing moves.
        """
        label = f"the {what} of body '{self.name}'"
        given = array(values, label, self._x.shape)
        if isinstance(self.mesh, PlaneMesh) and (given[:, 2] != plane[:, 2]).any():
            raise InputError(f"{label} must stay in the plane: nothing moves along z in plane strain")
        return self._nodal_coefficients(given)

    def _start_anew(self) -> None:
        """Let the integrator start from the present state, which was set from outside."""
        self._stepper.restart(self._v)
        self._reactions = None

    def _make_stepper(self, elements: Elements, solver: LinearSolver) -> Stepper:
        if self.incompressible and not self.integrator.keeps_volumes:
            raise InputError(
                f"{type(self.integrator).__name__} is not for incompressible bodies; use ImplicitEuler or Newmark"
            )
        stepper = self.integrator.stepper(elements, solver)
        if self.incompressible:
            stepper.incompressibility = Incompressibility(elements, self._recovery_time, self.name)
            stepper.history["pressure"] = stepper.incompressibility.pressure
            stepper.history["pressure_guesses"] = stepper.incompressibility.guesses
        return stepper

    def _state_arrays(self) -> dict[str, NDArray]:
        """Return the arrays carried from step to step, by name."""
        return {"positions": self._x, "velocities": self._v, **self._stepper.history}

    def _body_state(self) -> BodyState:
        if self._added_mass is None:
            return BodyState(self._x, self._v, self._mass, self._node_mass)
        mass = self._mass.copy()
        mass[self._elements.pattern.diagonal] += self._added_mass
        self._stepper.system.invalidate_matrix()
        return BodyState(self._x, self._v, mass, self._node_mass + self._added_mass)

    def _set_damping(self, damping: ArrayLike | RotatedDamping) -> None:
        self._damping, self._damping_time = split_damping(damping)
        if self._damping_time > 0.0 and self._damper is None:
            self._damper = self._elements.damper()
        self._stepper.damper = self._damper if self._damping_time > 0.0 else None

    def _update_materials(self) -> None:
        """Pass the constants to the elements; recompute the mass if the density has changed."""
        materials = self._materials
        self._elements.set_law(materials.law, materials.constants)
        if self._stepper.damper is not None:
            self._stepper.damper.set_constants(materials.constants, self._damping_time)
        self._stepper.set_law(materials.law, materials.constants)
        if self._stepper.incompressibility is not None:
            self._stepper.incompressibility.set_shear_modulus(materials.constants[:, 1])
        if self._density is None or (self._density != materials.density).any():
            self._density = materials.density
            lumped = self._mass_lumped or self.integrator.lumped
            self._mass = self._elements.mass(materials.density, lumped)
            self._node_mass = np.add.reduceat(self._mass, self._elements.pattern.indptr[:-1])

    def _energy(self) -> dict[str, float]:
        p = self._elements.pattern
        momentum = np.empty_like(self._v)
        mass_kernels.mass_times.variant(p.parallel)(p.indptr, p.indices, self._mass, self._v, momentum)
        displacement = self._x - self._elements.rest_coefficients
        return {
            "kinetic": 0.5 * float(np.vdot(self._v, momentum)),
            "elastic": self._elements.energy(),
            "gravity": -float(self._node_mass @ (displacement @ self._environment.gravity)),
        }
