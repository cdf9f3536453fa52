"""The boundary conditions of a deformable body: the methods that pin, drive, lock, load and pull it while it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.deformable import mass_kernels
from continua.deformable.boundary_conditions.boundary_faces import BoundaryFaces
from continua.deformable.boundary_conditions.constraints import BoundaryCondition, Constraint, Pull
from continua.deformable.boundary_conditions.dirichlet import DirichletSet, check_no_conflict
from continua.deformable.boundary_conditions.force_field import ForceField
from continua.deformable.boundary_conditions.haptic_tool import HapticTool
from continua.deformable.boundary_conditions.loads import (
    BodyForce,
    Load,
    Pressure,
    Push,
    TimeFunction,
    Traction,
)
from continua.deformable.boundary_surface import BoundarySurface
from continua.deformable.element_materials import ElementMaterials
from continua.deformable.elements import Elements
from continua.deformable.selection import Where, select_elements, select_nodes
from continua.environment import Environment
from continua.errors import InputError
from continua.frames import readonly_copy
from continua.geometry import follow_surface
from continua.mesh import MeshAnimation, PlaneMesh, VolumeMesh
from continua.motion import Motion
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, choice, index, number, unit_vector, vector3

__all__ = ["BoundaryConditions"]

FaceWhere = Callable[..., NDArray[np.bool_]] | NDArray | list[int] | str | int
_L = TypeVar("_L", bound=Load)

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class BoundaryConditions(KeepsReadOnlyArrays):
    """The part of a deformable body that holds its constraints, loads and springs."""

    name: str
    mesh: VolumeMesh
    _elements: Elements
    _surface: BoundarySurface
    _environment: Environment
    _materials: ElementMaterials
    _node_mass: NDArray[np.float64]
    _x: NDArray[np.float64]

    def _clear_boundary_conditions(self, size: float) -> None:
        """Start without constraints and loads; `size` is the body's size [m]."""
        self._constraints: list[Constraint] = []
        if isinstance(self.mesh, PlaneMesh):  # the displacement is in the plane
            nodes = np.arange(self._elements.node_count, dtype=np.int32)
            self._constraints.append(Constraint(self, nodes, None, inf, _unit("z")))
        self._dirichlet = DirichletSet(self._elements, size, *self._constraints)
        self._loads: list[Load] = []
        self._pulls: list[Pull] = []
        self._haptic_tools: list[HapticTool] = []
        self._step_forces: NDArray[np.float64] | None = None  # forces of the next step only
        self._added_mass: NDArray[np.float64] | None = None  # and added mass
        self._reactions: Callable[[], NDArray[np.float64]] | None = None  # set by a step or `settle`

    def pin(self, where: Where, *, until: float = inf) -> Constraint:
        """Hold nodes at their rest positions.

        Args:
            where: Function of rest positions [n, 3] that returns a mask, a mask, node indices, the name of a region of
                the mesh, "all", or a side of the body: "left" and "right" (the ends along x), "bottom" and "top" (y),
                "back" and "front" (z).
            until: Time at which they are released [s].
        """
        return self._constrain("pin", where, None, until)

    def drive(self, where: Where, motion: Motion | MeshAnimation | Any, *, until: float = inf) -> Constraint:
        """Move nodes along a motion: a `Motion`, or a function of (time, rest_positions) [s, m].

        With a `MeshAnimation` each node follows the triangle of the surface that is nearest to it at time 0. At time
        `until` [s] nodes are released.
        """
        return self._constrain("drive", where, _motion(motion), until)

    def lock(
        self,
        where: Where,
        direction: ArrayLike | Literal["x", "y", "z"],
        motion: Motion | Any = None,
        *,
        until: float = inf,
    ) -> Constraint:
        """Hold nodes along one direction and leave them free in the others (a roller support).

        Locks on the same nodes combine, and nodes may carry loads in the free directions.

        Args:
            where: The nodes, as for `pin`.
            direction: The direction, a vector of any length or "x", "y" or "z".
            motion: How the nodes move along the direction: a distance from rest [m], a `Motion` or a function of
                (time, rest_positions), of which the component along the direction counts; None holds them.
            until: Time at which they are released [s].
        """
        axis = _unit(direction)
        if motion is not None and not callable(motion) and not isinstance(motion, Motion):
            offset = number(motion, "a lock's motion, if it is no Motion,", unit="m") * axis
            motion = Motion(lambda _, rest: rest + offset)
        return self._constrain("lock", where, None if motion is None else _motion(motion), until, axis)

    def push(self, where: Where, force: ArrayLike | TimeFunction, *, until: float = inf) -> Push:
        """Load nodes with a total force [N], spread evenly over them.

        Args:
            where: The nodes, as for `pin`.
            force: The force, or a function of time [s] that returns it.
            until: When it ends [s].
        """
        return self._load(Push(self, self._select(where, "push"), force, until))

    def apply_pressure(
        self, where: FaceWhere, pressure: float | TimeFunction, *, until: float = inf
    ) -> Pressure:
        """Apply a follower pressure [Pa] to faces; positive pushes into the body.

        Args:
            where: Function of the centres of the boundary faces [f, 3], or of centres and outward normals, that
                returns a mask; a mask; numbers of faces; the name of a region, for its part of the boundary; a side,
                as for `pin`; or "all".
            pressure: The pressure, or a function of time [s] that returns it.
            until: When it ends [s].
        """
        return self._load(Pressure(self, self._select_faces(where, "pressure"), pressure, until))

    def apply_traction(
        self, where: FaceWhere, traction: ArrayLike | TimeFunction, *, until: float = inf
    ) -> Traction:
        """Apply a dead load to faces: a traction [Pa] per area at rest that keeps its direction.

        Args:
            where: The faces, as for `apply_pressure`.
            traction: A vector; a number along the outward normal at rest, so that positive pulls and negative pushes;
                or a function of time [s] that returns one of both.
            until: When it ends [s].
        """
        return self._load(Traction(self, self._select_faces(where, "traction"), traction, until))

    def apply_body_force(
        self, where: Where, force: ArrayLike | ForceField | Callable, *, until: float = inf
    ) -> BodyForce:
        """Apply a force per volume at rest [N/m3] to elements.

        Args:
            where: Function of the centres of the elements [m, 3] that returns a mask; a mask; numbers of elements;
                the name of a region; a side, as for `pin`; or "all".
            force: A vector, a `ForceField`, or a function of (time, positions) [s, m] that returns a vector or one
                for every position.
            until: When it ends [s].
        """
        elements = select_elements(where, self.mesh, self._label("body force"))
        return self._load(BodyForce(self, elements, force, until))

    def pull(
        self,
        node: int | None = None,
        target: ArrayLike | None = None,
        *,
        point: ArrayLike | None = None,
        stiffness: float | None = None,
    ) -> Pull:
        """Attach a spring to a node, or to the surface point nearest to `point` [m], and pull it to `target` [m].

        Without a target the spring starts where the point is; set `pull.target` to drag. Without a stiffness
        [N/m] the spring suits the body's own stiffness and mass.
        """
        if (node is None) == (point is None):
            raise InputError("a pull takes either a node or a point")
        if node is not None:
            number_of_node = index(node, "the number of a node", self._elements.node_count)
            nodes = select_nodes(
                [number_of_node], self._elements.rest_positions, self._elements.elements, self.mesh, "pull"
            )
            return self._pull(nodes, np.ones(1), target, stiffness)
        where = vector3(point, "a pull's point")
        triangle, weights = self._surface.closest_point(where, self._elements.values(self._x))
        return self.pull_face(triangle, weights, target, stiffness=stiffness)

    def pull_face(
        self,
        triangle: int,
        weights: ArrayLike,
        target: ArrayLike | None = None,
        *,
        stiffness: float | None = None,
    ) -> Pull:
        """Attach a spring to the point of a surface triangle with the given barycentric weights."""
        w = vector3(weights, "a pull's weights")
        triangle = index(triangle, "the number of a triangle", len(self._surface.triangles))
        if w.min() < -1e-6 or abs(w.sum() - 1.0) > 1e-3:
            raise InputError(f"a pull's weights must be at least 0 and sum to 1, not {tuple(w)}")
        w = np.maximum(w, 0.0)
        nodes, shares = self._surface.on_nodes(self._surface.triangles[triangle], w / w.sum())
        return self._pull(nodes, shares, target, stiffness)

    def haptic_tool(
        self,
        where: Where | None = None,
        *,
        point: ArrayLike | None = None,
        stiffness: float | None = None,
    ) -> HapticTool:
        """Couple a haptic tool to nodes, or to the surface point nearest to `point` [m].

        `tool.move(position)` may be called from another thread, up to a thousand times a second, and returns the
        force on the tool [N] while the simulation steps at its own pace. The tool starts where it is
        attached: at the mean of the nodes, or at the point.

        Args:
            where: The nodes, as for `pin`; the tool translates them and does not rotate them.
            point: A point near the surface, instead of nodes.
            stiffness: Stiffness of the coupling [N/m]; without one it suits the body, as for `pull`.
        """
        if (where is None) == (point is None):
            raise InputError("a haptic tool takes either nodes or a point")
        if where is None:
            pulls = [self.pull(point=point, stiffness=stiffness)]
        else:
            nodes = self._select(where, "haptic tool")
            whole = self.pull_stiffness if stiffness is None else stiffness
            whole = number(whole, "the stiffness of a haptic tool", above=0.0, unit="N/m")
            pulls = [
                self._pull(nodes[i : i + 1], np.ones(1), None, whole / len(nodes)) for i in range(len(nodes))
            ]
        tool = HapticTool(self, pulls, np.mean([pull.target for pull in pulls], axis=0))
        self._haptic_tools.append(tool)
        return tool

    @property
    def attached(self) -> tuple[BoundaryCondition, ...]:
        """All boundary conditions of the body: constraints, loads, pulls and haptic tools."""
        constraints = self._constraints[1:] if isinstance(self.mesh, PlaneMesh) else self._constraints
        coupled = {pull for tool in self._haptic_tools for pull in tool.springs}
        pulls = (pull for pull in self._pulls if pull not in coupled)
        return (*constraints, *self._loads, *pulls, *self._haptic_tools)

    def reaction_forces(self) -> NDArray[np.float64]:
        """Return the force [N] that constraints exerted on every node in the last step or `settle`, shape [n, 3].

        It is the residual of the nodes' equations of motion: inertia, damping and elastic force less all loads, as
        point forces at the nodes of the same work. At free nodes it is the solver's residual. Zero before the first
        step.
        """
        if self._reactions is None:
            return np.zeros_like(self._x)
        maps = self._elements.nodal_maps
        return self._reactions() if maps is None else np.asarray(maps[1].T @ self._reactions())

    @property
    def face_centers(self) -> NDArray[np.float64]:
        """Centres of the boundary faces at rest [m], shape [f, 3], a read-only copy: what `apply_pressure` and
        `apply_traction` select from."""
        return readonly_copy(self._faces.centers)

    @cached_property
    def _faces(self) -> BoundaryFaces:
        return self._boundary_faces()

    def _label(self, what: str) -> str:
        return f"{what} of body '{self.name}'" if self.name else what

    def _select_faces(self, where: FaceWhere, what: str) -> NDArray[np.int32]:
        return self._faces.select(where, self.mesh, self._label(what))

    def _load(self, load: _L) -> _L:
        self._loads.append(load)
        return load

    def _select(self, where: Where, what: str) -> NDArray[np.int32]:
        label = self._label(what)
        return select_nodes(where, self._elements.rest_positions, self._elements.elements, self.mesh, label)

    def _constrain(
        self,
        what: str,
        where: Where,
        motion: Motion | None,
        until: float,
        direction: NDArray[np.float64] | None = None,
    ) -> Constraint:
        constraint = Constraint(self, self._select(where, what), motion, until, direction)
        check_no_conflict(constraint, self._constraints, self._environment.time, self.name)
        self._constraints.append(constraint)
        return constraint

    def _detach(self, condition: BoundaryCondition) -> None:
        lists: tuple[list, ...] = (self._constraints, self._loads, self._pulls, self._haptic_tools)
        for members in lists:
            if condition in members:
                members.remove(condition)

    def _collect_forces(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        force: NDArray[np.float64],
        time: float | None = None,
    ) -> None:
        """Set `force` [N] to all loads on the body at positions x and velocities v, except springs and contacts.

        `time` [s] is when loads are evaluated; by default the time of the world.
        """
        around = self._environment
        now = around.time if time is None else time
        parallel = self._elements.pattern.parallel
        mass_kernels.set_gravity.variant(parallel)(self._node_mass, tuple(around.gravity.tolist()), force)
        for load in self._loads:
            if now < load.until:
                load.add(now, x, force)
        if around.wind is not None:
            self._faces.add_wind(x, v, around.wind.at(now), around.wind.density, force)
        if self._step_forces is not None:
            force += self._step_forces

    def add_external_force(
        self, force: NDArray[np.float64], added_mass: NDArray[np.float64] | None = None
    ) -> None:
        """Add forces on the nodes [N], shape [n, 3], that act during the world's next step only.

        This is how other parts of a world, such as a fluid, act on a body; see `World.add_pre_step_callback`. An
        `added_mass` [kg], shape [n], is accelerated by the nodes in that step besides their own mass; it has no weight.
        """
        count = self._elements.node_count
        forces = array(force, "external forces on a body", (count, 3))
        if added_mass is not None:
            mass = array(added_mass, "the added mass of a body", (count,))
            self._added_mass = mass if self._added_mass is None else self._added_mass + mass
        self._step_forces = forces if self._step_forces is None else self._step_forces + forces

    def external_forces(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None] | None:
        """Return what `add_external_force` added, forces [n, 3] and added mass [n] or None; or None."""
        return None if self._step_forces is None else (self._step_forces.copy(), self._added_mass)

    def clear_external_forces(self) -> None:
        """Discard what `add_external_force` added."""
        self._step_forces = self._added_mass = None

    def _pull(
        self,
        nodes: NDArray[np.int32],
        weights: NDArray[np.float64],
        target: ArrayLike | None,
        stiffness: float | None,
    ) -> Pull:
        if stiffness is None:
            stiffness = self.pull_stiffness
        nodes, weights = self._elements.point_weights(nodes, weights)
        pull = Pull(self, nodes, weights, weights @ self._x[nodes] if target is None else target, stiffness)
        self._pulls.append(pull)
        return pull

    def _boundary_faces(self) -> BoundaryFaces:
        """Return the faces that pressure, traction and wind act on."""
        raise TypeError(f"{type(self).__name__} has no boundary faces")

    @property
    def pull_stiffness(self) -> float:
        """Default spring constant of a pull [N/m]: stiff enough to lift the body, and no stiffer than the body."""
        length = self.mesh.volume ** (1.0 / 3.0)
        return max(0.1 * self._materials.law.young * length, 100.0 * float(self._node_mass.sum()))


def _motion(motion: Any) -> Motion:
    if isinstance(motion, MeshAnimation):
        return follow_surface(motion)
    return motion if isinstance(motion, Motion) else Motion(motion)


def _unit(direction: Any) -> NDArray[np.float64]:
    if isinstance(direction, str):
        direction = _AXES[choice(direction, "a lock's direction, if it is no vector,", _AXES)]
    return unit_vector(direction, "a lock's direction")
