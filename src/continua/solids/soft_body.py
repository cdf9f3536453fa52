"""The soft body: mesh, material, elements, time integrator and boundary conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.collision import ColliderSet
from continua.environment import Environment
from continua.errors import InputError
from continua.frames import (
    BodyFields,
    BodyFrame,
    ContactForces,
    EmbeddedSurface,
    Field,
    StepReport,
    readonly_copy,
)
from continua.geometry.surface_coefficients import check_coefficient
from continua.linalg import AutoSolver, LinearSolver
from continua.materials import Corotated, Law
from continua.mesh import (
    PlaneMesh,
    SurfaceMesh,
    TetMesh,
    Topology,
    TopologyChange,
    TriMesh,
    VolumeMesh,
    faces_between,
    refine_tets,
    split_faces,
)
from continua.solids import mass_kernels
from continua.solids.boundary_conditions.boundary_conditions import BoundaryConditions
from continua.solids.boundary_surface import embed_surface
from continua.solids.contact_body import SoftContactBody
from continua.solids.damping import Damper, RotatedDamping, split_damping
from continua.solids.derived_fields import State
from continua.solids.discretisation import Discretisation
from continua.solids.element_materials import ElementMaterials, are_incompressible, checked_parts
from continua.solids.elements.base import Elements
from continua.solids.elements.factory import checked_order
from continua.solids.incompressible import Incompressibility
from continua.solids.integrators import BodyState, Integrator, Stepper, choose_integrator
from continua.solids.locking import averages_volume, note_locking
from continua.solids.plasticity.plasticity import Plasticity
from continua.solids.remap import (
    InitialTopology,
    apply_change,
    nodal_coefficients,
    note_plasticity,
    note_velocities,
    return_to_initial,
    take_topology,
    topology_state,
)
from continua.solids.selection import Where, select_elements
from continua.solids.solver_setup import choose_solver
from continua.solids.statics import StaticReport, solve_static
from continua.solids.step import step_alone
from continua.system import check_settle
from continua.validation import array, choice, flag, instance_of, instances_of, mapping, number, vector3
from continua.validation import color as check_color
from continua.validation import name as check_name
from continua.voxels import Voxels

__all__ = ["SoftBody"]


def _checked_paint(paint: Any, rest: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if paint is None:
        return None
    values = paint(rest.copy()) if callable(paint) else paint
    return readonly_copy(array(values, "paint, one number for each node,", (len(rest),)))


def _with_curved_or_straight_elements(
    mesh: VolumeMesh, order: int, law: Law, curved: bool | None
) -> VolumeMesh:
    """Return the mesh, without its curved boundary if the elements are to be straight."""
    if not isinstance(mesh, VolumeMesh):
        return mesh  # refused where the elements are made
    rotation = law.rotation if isinstance(law, Corotated) else ""
    averaged = rotation in ("mean", "corner")
    if curved is None:
        return mesh.straight() if averaged else mesh
    if not flag(curved, "'curved' of a body"):
        return mesh.straight()
    if order == 1:
        raise InputError("elements of order 1 are straight; take order 2 or 3, or leave out 'curved'")
    if not isinstance(mesh, TetMesh | TriMesh):
        raise InputError(f"{mesh.NAME} are never curved; take tetrahedra or triangles, or leave out 'curved'")
    if mesh.curved_boundary is None:
        raise InputError(
            "the mesh has no curved boundary for curved elements; give it one with mesh.curved(function), or leave out "
            "'curved'"
        )
    if averaged:
        raise InputError(
            f"curved elements have no rotation='{rotation}'; leave out one of 'curved' and 'rotation'"
        )
    return mesh


class SoftBody(BoundaryConditions):
    """An elastic body.

    Args:
        mesh: The body at rest: tetrahedra, hexahedra, or plane triangles or quads.
        material: The law and its constants.
        parts: Parts with other constants, as pairs of a selection of elements (a function of their centres, a mask,
            numbers, the name of a region, or a side) and a material of the same law; later ones take precedence.
        order: Polynomial degree of the elements: 1 or 2, and for tetrahedra 3.
        curved: Whether elements of order 2 and 3 follow the curved boundary of the mesh (see `VolumeMesh.curved`):
            spheres, cylinders, tori, bowls, blobs and files with second-order nodes have one. None curves them if the
            mesh has one, except with `Corotated(rotation="mean")` and "corner".
        plane: Of plane bodies: "strain" (the default) holds the thickness, "stress" leaves it free, so that the stress
            across is zero, as in a thin plate.
        volumetric: "full" integrates the change of volume at all points; "mean" averages it over each hexahedron or
            quad, or with pressures that adjacent tetrahedra or triangles share, so that nearly incompressible bodies do
            not lock; "auto" takes the mean above a Poisson's ratio of 0.45, of order 2 and 3 of tetrahedra and
            triangles, whose matrix it makes larger, from 0.48.
        name: Name in the world; without one a world takes the name of the caller's variable.
        mass: "consistent" (exact integrals, the default) or "lumped" (diagonal, as explicit integrators need it).
        damping: Rayleigh damping (alpha [1/s], beta [s]): C = alpha M + beta K. Alpha damps all motion,
            beta damps deformation only. Or a `RotatedDamping`.
        friction: Coulomb's coefficient of the body's contacts; None takes the world's, see `Contact`.
        restitution: Coefficient of restitution; None takes the world's.
        plasticity: Constants of plasticity; None is purely elastic.
        integrator: The time integrator: `ImplicitEuler()` (the default), `Newmark()`, `EnergyMomentum()`,
            `Explicit()` or `SemiImplicit()`, or its name with its default constants.
        newton: Maximum number of Newton iterations per step of an integrator given by name.
        solver: The linear solver, or its name with its default options: "pcg", "merged_pcg", "multigrid", "pmultigrid"
            or "direct". None or "auto" chooses one by the number and order of the nodes, and switches if another does
            less work (`print(body.solver)`).
        color: RGB in 0..1 for plain pictures.
        paint: A scalar field that moves with the body, to show how it deforms: one number per node, or a function of
            the rest positions [n, 3] that returns them. It is the field "paint" of frames.
        skin: A detailed surface at rest, embedded in the tetrahedra, which is drawn in pictures, films and the studio;
            the tetrahedra may be coarse.
        voxels: A 3-D image of the undeformed body, such as a scan, that moves with it; may be set at any time. It is
            the field "voxels" of frames, and pictures of the inside show all of its detail.
        incompressible: Whether the volume at every node is kept, by pressures (tetrahedra, hexahedra and triangles of
            order 1). The law then resists changes of shape alone, by its `young`. Mass is lumped. A Poisson's
            ratio of 0.5 of the law means the same.
        volume_recovery_time: Least time [s] in which an incompressible body that starts with wrong volumes recovers
            them; 0 is within one step.
    """

    def __init__(
        self,
        mesh: VolumeMesh,
        *,
        material: Law | None = None,
        parts: Sequence[tuple[Where, Law]] = (),
        order: int = 1,
        curved: bool | None = None,
        plane: str | None = None,
        volumetric: str = "auto",
        name: str | None = None,
        mass: str = "consistent",
        damping: ArrayLike | RotatedDamping = (0.0, 0.0),
        friction: float | None = None,
        restitution: float | None = None,
        plasticity: Plasticity | None = None,
        integrator: Integrator | str = "implicit_euler",
        newton: int | None = None,
        solver: LinearSolver | str | None = None,
        color: tuple[float, float, float] | None = None,
        paint: Callable[[NDArray[np.float64]], ArrayLike] | ArrayLike | None = None,
        skin: SurfaceMesh | None = None,
        voxels: Voxels | None = None,
        incompressible: bool = False,
        volume_recovery_time: float = 1.0 / 300.0,
    ) -> None:
        self.integrator = choose_integrator(integrator, newton)
        self.name = check_name(name, "the name of a body")
        self.friction = check_coefficient(friction, "the friction of a body")
        self.restitution = check_coefficient(restitution, "the restitution of a body", 1.0)
        self.color = check_color(color, "the color of a body")
        self.incompressible = flag(incompressible, "'incompressible' of a body")
        self._recovery_time = number(volume_recovery_time, "volume_recovery_time", low=0.0, unit="s")
        law = Corotated() if material is None else instance_of(material, Law, "the material of a body")
        if plasticity is not None:
            instance_of(plasticity, Plasticity, "the plasticity of a body")
        laws = [law, *(part for _, part in checked_parts(law, parts))]
        self.incompressible = self.incompressible or are_incompressible(laws, self.name)
        self._mass_lumped = choice(mass, "mass", ("consistent", "lumped")) == "lumped" or self.incompressible
        choice(volumetric, "volumetric", ("auto", "mean", "full"))
        order = checked_order(mesh, order)
        if self.incompressible and (plane == "stress" or volumetric == "mean"):
            option = "plane='stress', whose thickness is free" if plane == "stress" else "volumetric='mean'"
            raise InputError(
                f"the incompressible body '{self.name}' keeps its volumes by pressures; leave out {option}"
            )
        self._mean_volume = not self.incompressible and averages_volume(volumetric, mesh, order, laws, plane)
        mesh = _with_curved_or_straight_elements(mesh, order, law, curved)
        built = Discretisation.of(mesh, order, law, plasticity is not None, plane, self._mean_volume)
        self._take_discretisation(built)
        self._damper: Damper | None = None
        self._plastic_state = built.plastic_state(plasticity, law, self.name)
        self._x = self._elements.rest_coefficients.copy()
        self._read_only_copies: dict[str, tuple[NDArray, NDArray]] = {}
        self._v = np.zeros_like(self._x)
        self._initial_v = np.zeros_like(self._x)
        self._force = np.zeros_like(self._x)
        self._contact_force = np.zeros_like(self._x)
        self._paint = _checked_paint(paint, self._elements.rest_positions)
        self._skin: EmbeddedSurface | None = None
        self._skin_elements: NDArray[np.int32] = np.zeros(0, np.int32)
        if skin is not None:
            instance_of(skin, SurfaceMesh, "the skin of a body")
            self._skin, self._skin_elements = embed_surface(skin, mesh)
        self._skin_notes = () if skin is None else skin.notes
        self.voxels = voxels
        self._environment = Environment()
        self._version = 0
        self._initial: InitialTopology | None = None  # None while the body has its initial mesh
        self._pending: TopologyChange | None = None  # changes since `take_topology_change`
        self._topology_key = 0
        self._topology_keys: dict[bytes, int] = {}
        self._size = float(np.linalg.norm(np.ptp(self._elements.rest_positions, axis=0)))
        self._clear_boundary_conditions(self._size)
        self._materials = ElementMaterials(mesh, law, parts, self.name, self.incompressible)
        self._density: NDArray[np.float64] | None = None
        self._stepper = self._make_stepper(self._elements, choose_solver(self._elements, solver))
        self._set_damping(damping)
        self._update_materials()

    # --- properties -------------------------------------------------------------------------------------

    @property
    def topology(self) -> Topology:
        """The mesh and its version, which rises with every change."""
        return Topology(self.mesh, self._version)

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
    def plasticity(self) -> Plasticity | None:
        """Constants of plasticity, or None."""
        return None if self._plastic_state is None else self._plastic_state.plasticity

    @property
    def order(self) -> int:
        """Polynomial degree of the elements."""
        return self._elements.order

    @property
    def plane(self) -> str | None:
        """ "strain" or "stress" of a plane body, else None."""
        if not isinstance(self.mesh, PlaneMesh):
            return None
        return "stress" if getattr(self._elements, "plane_stress", False) else "strain"

    @property
    def volumetric(self) -> str:
        """How the change of volume is integrated: "mean" or "full"; see `SoftBody`."""
        return "mean" if self._mean_volume else "full"

    @property
    def solver(self) -> LinearSolver:
        """The linear solver; `print(body.solver)` describes it."""
        solver = self._stepper.solver
        return solver.current if isinstance(solver, AutoSolver) else solver

    @property
    def voxels(self) -> Voxels | None:
        """The 3-D image that moves with the body; may be set at any time."""
        return self._voxels

    @voxels.setter
    def voxels(self, voxels: Voxels | None) -> None:
        if voxels is not None:
            instance_of(voxels, Voxels, "the voxels of a body", "Voxels (see Voxels.around)")
        rest = self._elements.rest_positions
        self._voxel_values = readonly_copy(np.zeros(0) if voxels is None else voxels.sample(rest))
        self._voxels = voxels

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
        """The outer surface over the nodes, outward oriented, shape [k, 3]; a read-only copy."""
        return self._read_only("triangles", self._surface.triangles)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired or remarkable when the mesh and the skin were made, one sentence each."""
        shape = getattr(self._elements, "rest_shape", None)
        return (*self.mesh.notes, *(() if shape is None else shape.notes), *self._skin_notes)

    @property
    def curved_elements(self) -> NDArray[np.int32]:
        """Numbers of the elements with curved edges at rest, ascending."""
        shape = getattr(self._elements, "rest_shape", None)
        return np.array(() if shape is None else shape.curved, np.int32)

    def summary(self) -> dict[str, int | str]:
        """Return the number and order of the elements, for reports."""
        return {"elements": self.element_count, "order": self.order}

    def geometry_bytes(self) -> bytes:
        """Return the initial mesh as bytes; a run may only be resumed with the same."""
        mesh = self.mesh if self._initial is None else self._initial.mesh
        curved = b""
        if self.order > 1 and mesh.curved_boundary is not None and isinstance(mesh, TetMesh | TriMesh):
            curved = mesh.curved_boundary.geometry_bytes(mesh, self.order)
        return mesh.points.tobytes() + mesh.cells.tobytes() + curved

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
            if "poisson" in changes:
                note_locking(self)
        if damping is not None:
            self._set_damping(damping)
        if changes or part is not None or damping is not None:
            self._update_materials()

    def set_plasticity(self, plasticity: Plasticity) -> None:
        """Change the constants of plasticity; the plastic deformation stays.

        A body made without plasticity cannot get it later.
        """
        if self._plastic_state is None:
            raise InputError(f"body '{self.name}' was made without plasticity and cannot get one later")
        self._plastic_state.change(plasticity)
        note_plasticity(self, plasticity)

    def set_rest_to_current(self) -> None:
        """Make the present configuration stress-free: the body keeps this shape when it is unloaded.

        It needs plasticity, which stores the shape; `reset` clears it.
        """
        if self._plastic_state is None:
            raise InputError(f"body '{self.name}' is elastic; give it a plasticity to change its rest shape")
        self._plastic_state.set_rest(self._x)
        self._stepper.material_changed()

    def set_integrator(self, integrator: Integrator | str, newton: int | None = None) -> None:
        """Change the time integrator; see `SoftBody` for the arguments."""
        before, previous = self._stepper, self.integrator
        self.integrator = choose_integrator(integrator, newton)
        try:
            self._stepper = self._make_stepper(self._elements, before.solver)
        except InputError:
            self.integrator = previous
            raise
        if before.incompressibility is not None and self._stepper.incompressibility is not None:
            self._stepper.incompressibility.pressure[:] = before.incompressibility.pressure
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
        note_velocities(self)

    # --- changes of topology --------------------------------------------------------------------------------

    def refine(self, where: Where) -> TopologyChange:
        """Cut tetrahedra into eight each, and their neighbours so that all faces fit; the motion continues.

        The field of displacements and velocities stays the same function. With lumped mass the velocities get the
        smallest correction that keeps momentum and angular momentum. See `mesh.refine_tets` and
        `apply_topology_change`.

        Args:
            where: Function of the centres of the elements at rest [m, 3] that returns a mask; a mask; numbers of
                elements; or the name of a region ("all" is everything).
        """
        elements = select_elements(where, self.mesh, self._label("refinement"))
        change = refine_tets(self.mesh, elements)
        self.apply_topology_change(change)
        return change

    def split(self, where: Where | None = None, *, faces: ArrayLike | None = None) -> TopologyChange:
        """Cut the body open along faces of its elements; the parts then move on their own.

        A cut that ends inside the body is a crack. Mass, momentum and angular momentum are kept. See
        `mesh.split_faces` and `apply_topology_change`.

        Args:
            where: Elements, as for `refine`: the cut runs along all faces between these and the others.
            faces: Numbers of interior faces, as in `mesh.faces`, instead.
        """
        if (where is None) == (faces is None):
            raise InputError("a split takes either elements on one side of the cut or faces")
        if where is not None:
            elements = select_elements(where, self.mesh, self._label("split"))
            faces = faces_between(self.mesh, elements)
            if not len(faces):
                raise InputError(
                    f"{self._label('split')}: no face lies between the chosen elements and others; choose a part of "
                    "the body"
                )
        assert faces is not None
        change = split_faces(self.mesh, faces)
        self.apply_topology_change(change)
        return change

    def apply_topology_change(self, change: TopologyChange) -> None:
        """Continue on another mesh, whose elements lie in those of the present one.

        Everything follows: positions, velocities, the integrator's history, plastic deformation, materials, boundary
        conditions (the objects that `pin`, `pull` and the others return stay valid), paint, voxels, embedded surface
        and solver. Mass is computed anew. A change that cannot be is refused, and nothing changes.
        """
        apply_change(self, change)

    def take_topology_change(self) -> TopologyChange | None:
        """Return the changes since the last call, composed; None if there are none.

        After `reset` or `restore` to another topology it is a replacement, which has no parents.
        """
        change, self._pending = self._pending, None
        return change

    # --- the body in a world ------------------------------------------------------------------------------

    def prepare(self, environment: Environment) -> None:
        """Enter a world: gravity, wind and time come from `environment` from now on."""
        self._environment = instance_of(environment, Environment, "the environment of a body")

    @property
    def contact_nodes(self) -> NDArray[np.int32]:
        """The nodes that colliders can touch, shape [k]: those on the surface, or all if some stiffness is zero."""
        if self._materials.has_zero_stiffness:  # interior nodes would fall through the surface
            return np.arange(self.node_count, dtype=np.int32)
        return self._surface.nodes

    def contact_body(self) -> SoftContactBody:
        """Return what the body offers to the contact solver."""
        return SoftContactBody(self)

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
                where that is more (see `solids.convergence`); the report then has a warning.
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

    def field(self, name: str) -> Field:
        """Return a derived field of the elements: one of `solids.FIELDS`, such as "stress" or "stretch"."""
        return self._derived_fields.field(name, self._field_state())

    def inverted_elements(self) -> NDArray[np.int32]:
        """Return the numbers of the elements with a point of det F <= 0."""
        if self.order == 1 and isinstance(self.mesh, TetMesh):  # F is constant in each, and counted already
            self._elements.update(self._x)
            if not self._elements.inverted:
                return np.zeros(0, np.int32)
        return np.flatnonzero(self.field("inverted").values).astype(np.int32)

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot; `fields` are those of `solids.FIELDS` that files include as well."""
        fields = instances_of(fields, str, "the fields of a frame", "a name")
        self._elements.update(self._x)
        rest = self._read_only("rest positions", self._elements.rest_positions)
        positions = readonly_copy(self._elements.values(self._x))
        computed = {
            "displacement": Field(readonly_copy(positions - rest), "m"),
            "velocity": Field(readonly_copy(self._elements.values(self._v)), "m/s"),
            "von_mises": Field(readonly_copy(self._elements.von_mises()), "Pa"),
            "contact_force": Field(readonly_copy(self._contact_force), "N"),
        }
        if self._stepper.incompressibility is not None:
            computed["pressure"] = Field(readonly_copy(self._stepper.incompressibility.pressure), "Pa")
        if self._paint is not None:
            computed["paint"] = Field(self._paint, "")
        if self.voxels is not None:
            computed["voxels"] = Field(self._voxel_values, "")
        return BodyFrame(
            name=self.name,
            kind="soft",
            positions=positions,
            rest_positions=rest,
            cells=MappingProxyType(self._elements.cells()),
            triangles=self.triangles,
            fields=BodyFields(computed, self._derived_fields.available(self._field_state()), fields),
            color=self.color,
            skin=self._skin,
            voxels=self.voxels,
            energy=MappingProxyType(self._energy()),
            contacts=ContactForces.at_nodes(positions, self._contact_force),
            topology_version=self._version,
        )

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
        return arrays | self._stepper.solver_state() | topology_state(self)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`, of any topology of this body.

        Boundary conditions stay attached and follow to that topology.
        """
        take_topology(self, mapping(state, f"the state of body '{self.name}'"))
        for key, target in self._state_arrays().items():
            target[:] = state.get(key, 0.0)
        self._stepper.restore_solver_state(state)
        self._reactions = None

    def reset(self) -> None:
        """Return to the rest state on the initial mesh, with the velocity given by `set_velocity`."""
        return_to_initial(self)
        self._x[:] = self._elements.rest_coefficients
        self._v[:] = self._initial_v
        if self._plastic_state is not None:
            self._plastic_state.reset()
        self._stepper.restart(self._v)
        if self._stepper.incompressibility is not None:
            self._stepper.incompressibility.pressure[:] = 0.0
        self._stepper.restore_solver_memory()
        self._stepper.restore_solver_state({})
        self._reactions = None
        self._contact_force = np.zeros_like(self._x)

    def __repr__(self) -> str:
        return (
            f"SoftBody({self.name!r}, {self.element_count} {self.mesh.NAME} of order {self.order}, "
            f"{self.node_count} nodes, {self.material!r})"
        )

    # --- internals -------------------------------------------------------------------------------------------

    def _coefficients(self, values: ArrayLike, what: str, plane: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients [n, 3] of the field that has the given values at the nodes.

        Those of a plane body must equal `plane` [n, 3] along z, where nothing moves.
        """
        label = f"the {what} of body '{self.name}'"
        given = array(values, label, self._x.shape)
        if isinstance(self.mesh, PlaneMesh) and (given[:, 2] != plane[:, 2]).any():
            raise InputError(f"{label} must stay in the plane: nothing moves along z in plane strain")
        return nodal_coefficients(self._elements, given)

    def _start_anew(self) -> None:
        """Let the integrator start from the present state, which was set from outside."""
        self._stepper.restart(self._v)
        self._reactions = None

    def _take_discretisation(self, built: Discretisation) -> None:
        self.mesh, self._elements = built.mesh, built.elements
        self._surface, self._derived_fields = built.surface, built.derived_fields
        self._element_size = built.element_size

    def _make_stepper(self, elements: Elements, solver: LinearSolver) -> Stepper:
        if self.incompressible and not self.integrator.keeps_volumes:
            raise InputError(
                f"{type(self.integrator).__name__} is not for incompressible bodies; use ImplicitEuler or Newmark"
            )
        stepper = self.integrator.stepper(elements, solver)
        if self.incompressible:
            stepper.incompressibility = Incompressibility(elements, self._recovery_time, self.name)
            stepper.history["pressure"] = stepper.incompressibility.pressure
        return stepper

    def _state_arrays(self) -> dict[str, NDArray]:
        """Return the arrays carried from step to step, by name."""
        arrays = {"positions": self._x, "velocities": self._v, **self._stepper.history}
        if self._plastic_state is not None:
            arrays |= {"plastic": self._plastic_state.inverse, "plastic_strain": self._plastic_state.strain}
        return arrays

    def _field_state(self) -> State:
        plastic = getattr(self._elements, "plastic", None)
        constants, law = self._materials.constants, self._materials.law
        return State(self._x.copy(), law, constants, None if plastic is None else plastic.copy())

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
            self._damper = Damper(self._elements)
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
