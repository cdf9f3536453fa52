"""Changes of a soft body's topology: everything that is indexed by nodes or elements follows a new mesh.

State (positions, velocities, history of the integrator, plastic deformation) is carried from the present mesh. What a
user defined on the initial mesh (boundary conditions, parts, paint, embedded surface) is carried from there, so that
a body that is restored in another process gets the same. What depends on the mesh alone is made anew: elements,
mass, surface, solver. All of it is ready before the body changes.

See docs/theory/topology.md for the equations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.deformable.boundary_conditions.constraints import BoundaryCondition
from continua.deformable.boundary_conditions.dirichlet import DirichletSet
from continua.deformable.damping import Damper
from continua.deformable.element_materials import ElementMaterials
from continua.deformable.elements import Elements
from continua.deformable.field_transfer import FieldTransfer
from continua.deformable.integrators import Stepper
from continua.deformable.solver_setup import choose_solver
from continua.errors import InputError
from continua.frames import EmbeddedSurface, readonly_copy
from continua.linalg import AutoSolver
from continua.mesh import TetMesh, TopologyChange, VolumeMesh, connected_pieces
from continua.mesh.curved_boundary import GivenCoefficients
from continua.mesh.subdomains import Subdomains
from continua.solids.discretisation import Discretisation
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.rest_shape import weighted_mass
from continua.solids.embedding import remap_embedded
from continua.solids.plasticity.plasticity import Plasticity, PlasticState
from continua.validation import instance_of, state_arrays, whole_number

if TYPE_CHECKING:
    from continua.solids.soft_body import SoftBody

__all__ = [
    "InitialTopology",
    "apply_change",
    "nodal_coefficients",
    "return_to_initial",
    "take_topology",
    "topology_state",
]

_REMEMBERED = 8  # earlier topologies whose boundary conditions are known exactly
_ARRAYS = ("points", "cells", "node_parents", "weights", "element_parents")


@dataclass(eq=False)
class InitialTopology:
    """What a body was on its initial mesh, kept while it has another one.

    Attributes:
        mesh: The initial mesh.
        cells: Nodes of its elements, of the body's order, shape [m, k].
        node_count: Number of nodes of that order.
        parts: Elements of each part.
        velocities: Velocities that `reset` returns to, coefficients [n, 3].
        paint: Values at the nodes, and their coefficients; or None.
        plasticity: Constants of plasticity, or None.
        goal: Coefficients of the goal of plasticity if it was given by positions; or None.
        skin: Embedded surface and the elements that hold its nodes, or None.
        transfer: From the initial mesh to the present one.
    """

    mesh: VolumeMesh
    cells: NDArray[np.int32]
    node_count: int
    parts: list[NDArray[np.int32]]
    velocities: NDArray[np.float64]
    paint: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    plasticity: Plasticity | None
    goal: NDArray[np.float64] | None
    skin: tuple[EmbeddedSurface, NDArray[np.int32]] | None
    transfer: FieldTransfer | None = None

    @classmethod
    def of(cls, body: SoftBody) -> InitialTopology:
        """Return what a body is that still has its initial mesh."""
        elements, paint, plasticity = body._elements, body._paint, body.plasticity
        return cls(
            mesh=body.mesh,
            cells=elements.elements,
            node_count=elements.node_count,
            parts=[part for part, _ in body.parts],
            velocities=body._initial_v.copy(),
            paint=None if paint is None else (paint, nodal_coefficients(elements, paint)),
            plasticity=plasticity,
            goal=_goal_coefficients(elements, plasticity),
            skin=None if body._skin is None else (body._skin, body._skin_elements),
        )

    @property
    def change(self) -> TopologyChange:
        """The change from the initial mesh to the present one."""
        assert self.transfer is not None
        return self.transfer.change


@dataclass(eq=False)
class _Plan:
    """A body on another topology, before it becomes that."""

    key: int
    initial: InitialTopology | None
    built: Discretisation
    materials: ElementMaterials
    plastic: PlasticState | None
    damper: Damper | None
    stepper: Stepper
    velocities: NDArray[np.float64]
    paint: NDArray[np.float64] | None
    skin: tuple[EmbeddedSurface, NDArray[np.int32]] | None
    voxel_values: NDArray[np.float64]
    conditions: list[tuple[BoundaryCondition, dict[str, NDArray]]]


def apply_change(body: SoftBody, change: TopologyChange) -> None:
    """Carry a body through a change of its mesh, or raise InputError and change nothing; see `SoftBody`."""
    if instance_of(change, TopologyChange, "a change of topology").is_replacement:
        raise InputError("a body's mesh cannot be replaced; a change has to tell where its nodes come from")
    if body.order > 1 and not isinstance(body.mesh, TetMesh):
        raise InputError(
            f"body '{body.name}' of {body.mesh.NAME} of order {body.order} cannot change its mesh; use order 1"
        )
    if not _same_mesh(change.before, body.mesh.points, body.mesh.cells):
        raise InputError(
            f"the topology change does not start from the mesh that body '{body.name}' has now; make it from body.mesh"
        )
    change.check()
    start = InitialTopology.of(body) if body._initial is None else body._initial
    whole = change if body._initial is None else body._initial.change.then(change)
    plan, transfer = _plan(body, start, whole, change)
    assert transfer is not None
    old_elements, positions, velocities = body._elements, body._x, body._v
    x, v = transfer.interpolate(positions), transfer.interpolate(velocities)
    if plan.plastic is not None:
        assert body._plastic_state is not None
        plan.plastic.take(body._plastic_state, transfer)
    plan.stepper.take_history(body._stepper, transfer.interpolate)
    if body.incompressible:
        for key in ("pressure", "pressure_guesses"):
            before = np.atleast_2d(body._stepper.history[key])
            plan.stepper.history[key][:] = np.squeeze([transfer.interpolate(row) for row in before])
    contact, added = transfer.distribute(body._contact_force), body.external_forces()
    reactions = None if body._reactions is None else transfer.distribute(body._reactions())
    _commit(body, plan, x, v)
    body._contact_force = contact
    if added is not None:
        body._step_forces = transfer.distribute(added[0])
        body._added_mass = None if added[1] is None else _distribute_mass(transfer, added[1])
    body._reactions = None if reactions is None else partial(np.array, reactions)
    if body._mass_lumped or body.integrator.lumped:
        _keep_momentum(body, transfer, old_elements, positions, velocities)
    body._version += 1
    body._pending = change if body._pending is None else body._pending.then(change)


def return_to_initial(body: SoftBody) -> None:
    """Give a body its initial mesh again, at rest, with its boundary conditions on that mesh."""
    if body._initial is not None:
        plan, _ = _plan(body, body._initial, None, None)
        _replace(body, plan)


def topology_state(body: SoftBody) -> dict[str, Any]:
    """Return the topology for `SoftBody.state`; nothing for a body that has kept its initial mesh."""
    if body._version == 0:
        return {}
    state: dict[str, Any] = {"topology_version": body._version}
    if body._initial is not None:
        change = body._initial.change
        arrays = (
            change.mesh.points,
            change.mesh.cells,
            change.node_parents,
            change.weights,
            change.element_parents,
        )
        state |= {f"topology_{name}": array for name, array in zip(_ARRAYS, arrays, strict=True)}
        state["topology_split"] = change.mesh.is_split
        subdomains = getattr(change.mesh, "subdomains", None)
        if subdomains is not None:
            state |= subdomains.state()
    return state


def take_topology(body: SoftBody, state: Mapping[str, Any]) -> None:
    """Give a body the topology of a state, or raise InputError and change nothing.

    The arrays of the state are checked, but not taken yet.
    """
    version = whole_number(state.get("topology_version", 0), "the version of a topology", low=0)
    plan = _target(body, state)
    targets = body._state_arrays() if plan is None else _plan_arrays(plan)
    try:
        _check_arrays(body.name, targets, state)
    except InputError:
        if plan is not None and plan.stepper.solver is body._stepper.solver:  # the plan has set it up anew
            body._stepper.solver.setup(body._stepper.matrix)
            body._stepper.material_changed()
        raise
    if plan is not None:
        _replace(body, plan)
    body._version = max(body._version, version)


def _target(body: SoftBody, state: Mapping[str, Any]) -> _Plan | None:
    """Return the plan for the topology of a state, or None if the body has it."""
    if "topology_cells" not in state:
        return None if body._initial is None else _plan(body, body._initial, None, None)[0]
    given = state_arrays(state, {f"topology_{name}": None for name in _ARRAYS}, f"body '{body.name}'")
    points, cells, parents, weights, elements = (given[f"topology_{name}"] for name in _ARRAYS)
    start = InitialTopology.of(body) if body._initial is None else body._initial
    if body._initial is not None and _same_mesh(body.mesh, points, cells) and _same_cuts(body.mesh, state):
        return None
    if points.ndim != 2 or points.shape[1] != 3 or cells.ndim != 2 or cells.shape[1] != start.mesh.WIDTH:
        raise InputError(f"the topology in the state of body '{body.name}' is not one of {start.mesh.NAME}")
    if not (_within(cells, len(points)) and _within(elements, start.mesh.element_count)):
        raise InputError(f"the topology in the state of body '{body.name}' belongs to another mesh")
    mesh = start.mesh.child_mesh(np.array(points), np.array(cells), np.asarray(elements))
    mesh.is_split = bool(state.get("topology_split", False))
    if "subdomain_cells" in state and isinstance(mesh, TetMesh):
        mesh.set_subdomains(Subdomains.from_state(state, mesh))
    change = TopologyChange(start.mesh, mesh, np.asarray(parents), np.asarray(weights), np.asarray(elements))
    change.check()
    return _plan(body, start, change, None)[0]


def _within(numbers: Any, count: int) -> bool:
    return bool(np.size(numbers) and np.min(numbers) >= 0 and np.max(numbers) < count)


def _same_mesh(mesh: VolumeMesh, points: Any, cells: Any) -> bool:
    """Return whether a mesh has these arrays."""
    if mesh.points is points and mesh.cells is cells:
        return True
    return np.array_equal(mesh.cells, cells) and np.array_equal(mesh.points, points)


def _same_cuts(mesh: VolumeMesh, state: Mapping[str, Any]) -> bool:
    """Return whether a mesh has the subdomains of a state."""
    present = getattr(mesh, "subdomains", None)
    if present is None or "subdomain_cells" not in state:
        return present is None and "subdomain_cells" not in state
    return all(np.array_equal(value, state[key]) for key, value in present.state().items())


def _plan(
    body: SoftBody, start: InitialTopology, whole: TopologyChange | None, change: TopologyChange | None
) -> tuple[_Plan, FieldTransfer | None]:
    """Return a body on another topology, and the transfer of its present fields.

    Args:
        body: The body.
        start: Its initial topology.
        whole: The change from the initial mesh to the new one; None stands for the initial mesh itself.
        change: The change from the present mesh, or None if the new one does not follow from it.
    """
    order, law = body.order, body.material
    mesh = start.mesh if whole is None else _curved_mesh(start, whole, order)
    built = Discretisation.of(mesh, order, law, body.plasticity is not None, body.plane, body._mean_volume)
    elements = built.elements
    initial = None
    paint, skin, velocities, plasticity = start.paint, start.skin, start.velocities.copy(), start.plasticity
    values = None if paint is None else paint[0]
    if whole is not None:
        transfer = FieldTransfer(
            whole, order, start.cells, elements.elements, start.node_count, elements.node_count
        )
        initial = replace(start, transfer=transfer)
        velocities = transfer.interpolate(velocities)
        values = None if paint is None else readonly_copy(elements.values(transfer.interpolate(paint[1])))
        skin = None if skin is None else remap_embedded(*skin, whole, elements)
        if start.goal is not None and plasticity is not None:
            goal = elements.values(transfer.interpolate(start.goal))
            plasticity = replace(plasticity, goal=goal)
        parts = [whole.map_elements(part) for part in start.parts]
    else:
        parts = start.parts
    origins = None if whole is None else whole.element_parents
    materials = body._materials.on(mesh, origins, parts)
    plastic = built.plastic_state(plasticity, law, body.name)
    sequential = None
    if change is not None:
        sequential = (
            initial.transfer
            if initial is not None and whole is change
            else FieldTransfer(
                change,
                order,
                body._elements.elements,
                elements.elements,
                body.node_count,
                elements.node_count,
            )
        )
    key = _topology_key(body, None if whole is None else mesh)
    conditions = _carry_conditions(body, key, initial, sequential)
    voxels = body.voxels
    voxel_values = readonly_copy(np.zeros(0) if voxels is None else voxels.sample(elements.rest_positions))
    damper = None if body._damper is None else elements.damper()
    solver = body._stepper.solver
    fresh = choose_solver(elements, None if isinstance(solver, AutoSolver) else solver)
    stepper = body._make_stepper(elements, fresh)
    plan = _Plan(
        key,
        initial,
        built,
        materials,
        plastic,
        damper,
        stepper,
        velocities,
        values,
        skin,
        voxel_values,
        conditions,
    )
    return plan, sequential


def _curved_mesh(start: InitialTopology, whole: TopologyChange, order: int) -> VolumeMesh:
    """Return the new mesh, whose elements have the shapes of their parts of the initial, perhaps curved ones."""
    before, mesh = start.mesh, whole.mesh
    if order == 1 or before.curved_boundary is None or not isinstance(mesh, TetMesh):
        return mesh
    assert isinstance(before, TetMesh)
    shape, after = BernsteinGeometry(before, order).rest_shape, BernsteinGeometry(mesh.straight(), order)
    if shape is None:
        return mesh
    transfer = FieldTransfer(whole, order, start.cells, after.elements, start.node_count, after.node_count)
    return mesh.with_boundary(GivenCoefficients(order, transfer.interpolate(shape.coefficients)))


def _topology_key(body: SoftBody, mesh: VolumeMesh | None) -> int:
    """Return the number of a topology of the body: 0 is the initial one, equal meshes have equal numbers."""
    if mesh is None:
        return 0
    parts = [mesh.points.tobytes(), mesh.cells.tobytes()]
    subdomains = getattr(mesh, "subdomains", None)
    if subdomains is not None:
        parts += [np.asarray(value).tobytes() for value in subdomains.state().values()]
    digest = hashlib.sha256(b"".join(parts)).digest()
    known = body._topology_keys
    if digest not in known:
        known[digest] = 1 + max(known.values(), default=0)
        for old in list(known)[: -4 * _REMEMBERED]:
            del known[old]
    return known[digest]


def _carry_conditions(
    body: SoftBody, key: int, initial: InitialTopology | None, transfer: FieldTransfer | None
) -> list[tuple[BoundaryCondition, dict[str, NDArray]]]:
    """Return the arrays of all boundary conditions on the topology `key`.

    Conditions that exist on it are as they were. Those that were made on the initial mesh are carried from there,
    others from the present mesh, by way of the initial one if the new mesh does not follow from the present one.
    """
    result = []
    for condition in (*body._constraints, *body._loads, *body._pulls):
        here = condition._mesh_arrays()
        known = condition._by_topology | {body._topology_key: here}
        if key in known:
            arrays = known[key]
        elif 0 in known and initial is not None and initial.transfer is not None:
            arrays = condition._carried(known[0], initial.transfer)
        elif transfer is not None:
            arrays = condition._carried(here, transfer)
        else:
            assert body._initial is not None
            assert body._initial.transfer is not None
            arrays = condition._returned(here, body._initial.transfer)
            if initial is not None and initial.transfer is not None:
                arrays = condition._carried(arrays, initial.transfer)
        result.append((condition, arrays))
    return result


def _replace(body: SoftBody, plan: _Plan) -> None:
    """Commit a plan for a mesh that does not follow from the present one; the body is at rest on it."""
    before = body.mesh
    _commit(body, plan, plan.built.elements.rest_coefficients.copy(), plan.velocities.copy())
    body._stepper.restart(body._v)
    body._reactions = None
    body._contact_force = np.zeros_like(body._x)
    body._version += 1
    start = before if body._pending is None else body._pending.before
    body._pending = TopologyChange.replacement(start, body.mesh)


def _commit(body: SoftBody, plan: _Plan, x: NDArray[np.float64], v: NDArray[np.float64]) -> None:
    """Make a body what a plan says; nothing here can fail."""
    for condition, _ in plan.conditions:
        condition._by_topology[body._topology_key] = condition._mesh_arrays()
        for old in [k for k in condition._by_topology if k != 0][:-_REMEMBERED]:
            del condition._by_topology[old]
    body._topology_key, body._initial = plan.key, plan.initial
    body.clear_external_forces()
    body._take_discretisation(plan.built)
    body._materials, body._plastic_state, body._damper = plan.materials, plan.plastic, plan.damper
    body._x, body._v, body._initial_v = x, v, plan.velocities
    body._force, body._contact_force = np.zeros_like(x), np.zeros_like(x)
    body._paint, body._voxel_values = plan.paint, plan.voxel_values
    body._skin, body._skin_elements = (None, np.zeros(0, np.int32)) if plan.skin is None else plan.skin
    plan.stepper.damper = plan.damper if body._damping_time > 0.0 else None
    body._stepper = plan.stepper
    body._density = None
    body._update_materials()
    body.__dict__.pop("_faces", None)
    for condition, arrays in plan.conditions:
        condition._assign(arrays)
    plane = body._dirichlet.plane
    body._dirichlet = DirichletSet(body._elements, body._size, plane)


def _plan_arrays(plan: _Plan) -> dict[str, NDArray]:
    """Return arrays of the shapes that a state for the plan has to have."""
    shape = plan.built.elements.rest_positions
    arrays = {"positions": shape, "velocities": shape, **plan.stepper.history}
    if plan.plastic is not None:
        arrays |= {"plastic": plan.plastic.inverse, "plastic_strain": plan.plastic.strain}
    return arrays


def _check_arrays(name: str, targets: Mapping[str, NDArray], state: Mapping[str, Any]) -> None:
    """Raise InputError unless a state has the arrays of a body."""
    shapes = {key: target.shape for key, target in targets.items()}
    state_arrays(state, shapes, f"body '{name}'", optional=("solver",))


def nodal_coefficients(elements: Elements, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients of a field with given values at the nodes."""
    return elements.coefficients(values) if elements.order > 1 else values  # type: ignore[attr-defined]


def _goal_coefficients(elements: Elements, plasticity: Plasticity | None) -> NDArray[np.float64] | None:
    """Return the coefficients of the goal of plasticity, if it is given by positions."""
    if plasticity is None or plasticity.goal is None or callable(plasticity.goal):
        return None
    return nodal_coefficients(elements, np.asarray(plasticity.goal, dtype=np.float64))


def note_velocities(body: SoftBody) -> None:
    """Note the velocities that `reset` returns to, on the initial mesh."""
    if body._initial is not None and body._initial.transfer is not None:
        body._initial.velocities = body._initial.transfer.restrict(body._initial_v)


def note_plasticity(body: SoftBody, plasticity: Plasticity) -> None:
    """Note new constants of plasticity, with their goal on the initial mesh."""
    if body._initial is None or body._initial.transfer is None:
        return
    initial = body._initial
    goal = _goal_coefficients(body._elements, plasticity)
    initial.goal = None if goal is None else body._initial.transfer.restrict(goal)
    initial.plasticity = plasticity
    if initial.goal is not None:
        rest = initial.goal
        if body.order > 1:
            rest = BernsteinGeometry(initial.mesh, body.order).values(rest)  # type: ignore[arg-type]
        initial.plasticity = replace(plasticity, goal=rest)


def _distribute_mass(transfer: FieldTransfer, mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return added mass [kg] at the new nodes, none negative, with the same sum."""
    spread = np.maximum(transfer.distribute(mass), 0.0)
    total = float(spread.sum())
    return spread * (float(mass.sum()) / total) if total > 0.0 else spread


def _keep_momentum(
    body: SoftBody,
    transfer: FieldTransfer,
    elements: Elements,
    x: NDArray[np.float64],
    v: NDArray[np.float64],
) -> None:
    """Correct the velocities so that momentum and angular momentum of every piece are those before a refinement.

    With a consistent mass matrix they are kept anyway. With lumped mass the angular momentum of interpolated velocities
    differs a little. The smallest correction in the norm of the masses is a rigid motion of the piece, without the
    components that constraints hold.

    Args:
        body: The body after the change.
        transfer: The change.
        elements: Its elements before.
        x: Its positions before.
        v: Its velocities before.
    """
    parents = transfer.element_parents
    if len(parents) == elements.element_count or getattr(body.mesh, "subdomains", None) is not None:
        return  # a split copies nodes and divides their mass among the copies; a cut divides the matter of elements
    labels = connected_pieces(body.mesh)
    cells = body._elements.elements
    center = body._node_mass @ body._x / body._node_mass.sum()
    after = body._materials.density[:, None] * _nodal_volumes(body._elements)
    before = _nodal_volumes(elements)[parents]
    before *= (after.sum(axis=1) / before.sum(axis=1))[:, None]  # each child has its part by mass
    change = _element_momenta(before, elements.elements[parents], x - center, v)
    change -= _element_momenta(after, cells, body._x - center, body._v)
    missing = np.stack([np.bincount(labels, column) for column in change.T], axis=1)
    piece = np.zeros(body.node_count, np.int32)
    piece[cells] = labels[:, None]
    body._dirichlet.combine(body._constraints, body._environment.time)
    for number in range(int(labels.max()) + 1):
        nodes = np.flatnonzero(piece == number)
        rigid = _rigid_arms(body._x[nodes] - center)
        free = rigid.copy()
        body._dirichlet.project_rows(nodes, free)
        system = np.einsum("n,nia,nib->ab", body._node_mass[nodes], rigid, free)
        scale = np.sqrt(np.maximum(np.diag(system), np.finfo(float).tiny))
        motion = np.linalg.lstsq(system / np.outer(scale, scale), missing[number] / scale, rcond=1e-12)[0]
        body._v[nodes] += free @ (motion / scale)


def _nodal_volumes(elements: Elements) -> NDArray[np.float64]:
    """Return the parts of the volume of each element that belong to its nodes [m3], the lumped mass, shape [m, k]."""
    count = elements.elements.shape[1]
    parts = np.repeat(elements.mesh.volumes[:, None] / count, count, axis=1)
    shape = getattr(elements, "rest_shape", None)
    if shape is not None:
        parts[shape.curved] = weighted_mass(elements.order, shape.densities).sum(axis=2)
    return parts


def _element_momenta(
    mass: NDArray[np.float64],
    cells: NDArray[np.int32],
    x: NDArray[np.float64],
    v: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return momentum and angular momentum of elements with the mass [m, k] lumped at their nodes, shape [m, 6]."""
    p = v[cells] * mass[:, :, None]
    return np.concatenate([p.sum(axis=1), np.cross(x[cells], p).sum(axis=1)], axis=1)


def _rigid_arms(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrices [n, 3, 6] that map velocity and angular velocity to velocities at r [n, 3]."""
    arms = np.zeros((len(r), 3, 6))
    arms[:, [0, 1, 2], [0, 1, 2]] = 1.0
    rx, ry, rz = r.T
    arms[:, 0, 4], arms[:, 0, 5] = rz, -ry
    arms[:, 1, 3], arms[:, 1, 5] = -rz, rx
    arms[:, 2, 3], arms[:, 2, 4] = ry, -rx
    return arms
