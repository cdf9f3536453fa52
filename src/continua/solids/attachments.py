"""What a user attaches to a soft body while it runs: the methods that pin, drive, lock, push and pull it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import inf, isfinite
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import PlaneMesh, VolumeMesh
from continua.motion import Motion
from continua.solids import mass_kernels
from continua.solids.constraints import Held, refuse_contradiction
from continua.solids.elements import Elements
from continua.solids.faces import Faces
from continua.solids.force_field import ForceField
from continua.solids.handles import Attachment, Constraint, Pull
from continua.solids.haptics import Handle
from continua.solids.loads import Course, FaceLoad, Load, Press, Push, VolumeLoad
from continua.solids.materials import Materials
from continua.solids.selection import Where, select_elements, select_nodes
from continua.solids.surface import BodySurface
from continua.surroundings import Surroundings, as_vector

__all__ = ["Attachments"]

FaceWhere = Callable[..., NDArray[np.bool_]] | NDArray | list[int] | str | int
_L = TypeVar("_L", bound=Load)

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Attachments:
    """The part of a soft body that knows what holds it and what acts on it; see `SoftBody`."""

    name: str
    mesh: VolumeMesh
    _elements: Elements
    _surface: BodySurface
    _surroundings: Surroundings
    _materials: Materials
    _node_mass: NDArray[np.float64]
    _x: NDArray[np.float64]

    def _attach_nothing(self, size: float) -> None:
        """Start without constraints and loads; `size` [m] is that of the body."""
        self._constraints: list[Constraint] = []
        if isinstance(self.mesh, PlaneMesh):  # plane strain: nothing moves along z
            nodes = np.arange(self._elements.node_count, dtype=np.int32)
            self._constraints.append(Constraint(self, nodes, None, inf, _unit("z")))
        self._held = Held(self._elements.node_count, size, *self._constraints)
        self._loads: list[Load] = []
        self._pulls: list[Pull] = []
        self._handles: list[Handle] = []
        self._passing: NDArray[np.float64] | None = None  # forces of the next step alone
        self._burden: NDArray[np.float64] | None = None  # and masses
        self._reactions: Callable[[], NDArray[np.float64]] | None = None  # asked for after a step or `settle`

    def pin(self, where: Where, *, until: float = inf) -> Constraint:
        """Hold nodes at their rest positions.

        Args:
            where: Function of rest positions [n, 3] that returns a mask, a mask, node indices, or the name of
                a region of the mesh.
            until: When they are let go [s].
        """
        return self._constrain("pin", where, None, until)

    def drive(self, where: Where, motion: Motion | Any, *, until: float = inf) -> Constraint:
        """Move nodes along a motion: a `Motion`, or a function of (time, rest_positions) [s, m].

        At time `until` [s] they are let go and move freely.
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
        """Hold nodes along one direction and leave them free across it, like rollers on a rail.

        Locks on the same nodes combine, and nodes may carry loads across the direction.

        Args:
            where: The nodes, as for `pin`.
            direction: The direction, a vector of any length or "x", "y" or "z".
            motion: How the nodes move along the direction: a distance from rest [m], a `Motion` or a function of
                (time, rest_positions), of which the component along the direction counts; None holds them.
            until: When they are let go [s].
        """
        axis = _unit(direction)
        if motion is not None and not callable(motion) and not isinstance(motion, Motion):
            if not isinstance(motion, (int, float)) or not isfinite(motion):
                raise InputError(f"a lock's motion must be a finite distance or a motion, not {motion!r}")
            offset = float(motion) * axis
            motion = Motion(lambda _, rest: rest + offset)
        return self._constrain("lock", where, None if motion is None else _motion(motion), until, axis)

    def push(self, where: Where, force: ArrayLike | Course, *, until: float = inf) -> Push:
        """Load nodes with a total force [N], spread evenly over them.

        Args:
            where: The nodes, as for `pin`.
            force: The force, or a function of time [s] that returns it.
            until: When it ends [s].
        """
        return self._load(Push(self, self._select(where, "push"), force, until))

    def press(self, where: FaceWhere, pressure: float | Course, *, until: float = inf) -> Press:
        """Press on faces with a pressure [Pa] that follows them; positive pushes into the body.

        Args:
            where: Function of the centres of the boundary faces [f, 3], or of centres and outward normals, that
                returns a mask; a mask; numbers of faces; the name of a region, for its part of the boundary; or
                "all".
            pressure: The pressure, or a function of time [s] that returns it.
            until: When it ends [s].
        """
        return self._load(Press(self, self._select_faces(where, "press"), pressure, until))

    def load_faces(self, where: FaceWhere, traction: ArrayLike | Course, *, until: float = inf) -> FaceLoad:
        """Load faces with a traction [Pa], a force for each area at rest that keeps its direction.

        Args:
            where: The faces, as for `press`.
            traction: A vector; a number along the outward normal at rest, so that positive pulls and negative pushes;
                or a function of time [s] that returns one of both.
            until: When it ends [s].
        """
        return self._load(FaceLoad(self, self._select_faces(where, "load_faces"), traction, until))

    def load_volume(
        self, where: Where, force: ArrayLike | ForceField | Callable, *, until: float = inf
    ) -> VolumeLoad:
        """Load the matter of elements with a force for each volume at rest [N/m3].

        Args:
            where: Function of the centres of the elements [m, 3] that returns a mask; a mask; numbers of elements;
                the name of a region; or "all".
            force: A vector, a `ForceField`, or a function of (time, positions) [s, m] that returns a vector or one
                for every position.
            until: When it ends [s].
        """
        elements = select_elements(where, self.mesh, self._label("load_volume"))
        return self._load(VolumeLoad(self, elements, force, until))

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
            nodes = select_nodes(
                [node], self._elements.rest_positions, self._elements.elements, self.mesh, "pull"
            )
            return self._pull(nodes, np.ones(1), target, stiffness)
        where = as_vector(np.asarray(point), "a pull's point")
        triangle, weights = self._surface.nearest(where, self._elements.values(self._x))
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
        w = as_vector(weights, "a pull's weights")
        if not 0 <= triangle < len(self._surface.triangles):
            raise InputError(
                f"the surface has triangles 0 to {len(self._surface.triangles) - 1}, not {triangle}"
            )
        if w.min() < -1e-6 or abs(w.sum() - 1.0) > 1e-3:
            raise InputError(f"a pull's weights must be at least 0 and sum to 1, not {tuple(w)}")
        w = np.maximum(w, 0.0)
        return self._pull(self._surface.triangles[triangle], w / w.sum(), target, stiffness)

    def handle(
        self,
        where: Where | None = None,
        *,
        point: ArrayLike | None = None,
        stiffness: float | None = None,
    ) -> Handle:
        """Take hold of nodes, or of the surface point nearest to `point` [m], with a tool that can be felt.

        `handle.move(position)` may be called from another thread, up to a thousand times a second, and returns the
        force on the tool [N] while the simulation steps at its own pace. The tool starts where it takes hold, in the
        middle of the nodes or at the point.

        Args:
            where: The nodes, as for `pin`; the tool shifts them together and does not turn them.
            point: A point near the surface, instead of nodes.
            stiffness: Stiffness of the coupling [N/m]; without one it suits the body, as for `pull`.
        """
        if (where is None) == (point is None):
            raise InputError("a handle takes either nodes or a point")
        if where is None:
            pulls = [self.pull(point=point, stiffness=stiffness)]
        else:
            nodes = self._select(where, "handle")
            whole = self.pull_stiffness if stiffness is None else stiffness
            pulls = [
                self._pull(nodes[i : i + 1], np.ones(1), None, whole / len(nodes)) for i in range(len(nodes))
            ]
        handle = Handle(self, pulls, np.mean([pull.target for pull in pulls], axis=0))
        self._handles.append(handle)
        return handle

    @property
    def attached(self) -> tuple[Attachment, ...]:
        """All that holds, loads and pulls the body: constraints, loads, pulls and handles."""
        constraints = self._constraints[1:] if isinstance(self.mesh, PlaneMesh) else self._constraints
        coupled = {pull for handle in self._handles for pull in handle.springs}
        pulls = (pull for pull in self._pulls if pull not in coupled)
        return (*constraints, *self._loads, *pulls, *self._handles)

    def reaction_forces(self) -> NDArray[np.float64]:
        """Return the force [N] that constraints exerted on every node in the last step or `settle`, shape [n, 3].

        It is what the nodes' equations of motion lack: inertia, damping and elastic force less all loads. Nodes
        that nothing holds show what the solver left over. Zero before the first step.
        """
        return np.zeros_like(self._x) if self._reactions is None else self._reactions()

    @property
    def face_centers(self) -> NDArray[np.float64]:
        """Centres of the boundary faces at rest [m], shape [f, 3]: what `press` and `load_faces` choose among."""
        return self._faces.centers

    @cached_property
    def _faces(self) -> Faces:
        return Faces.of(self._elements, self.mesh)

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
        refuse_contradiction(constraint, self._constraints, self._surroundings.time, self.name)
        self._constraints.append(constraint)
        return constraint

    def _detach(self, handle: Attachment) -> None:
        lists: tuple[list, ...] = (self._constraints, self._loads, self._pulls, self._handles)
        for held in lists:
            if handle in held:
                held.remove(handle)

    def _collect_forces(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        force: NDArray[np.float64],
        time: float | None = None,
    ) -> None:
        """Set `force` [N] to all loads on the body at positions x and velocities v, springs and contacts apart.

        `time` [s] is the moment of loads that change; without it, that of the world.
        """
        around = self._surroundings
        now = around.time if time is None else time
        parallel = self._elements.pattern.parallel
        mass_kernels.weigh.pick(parallel)(self._node_mass, tuple(around.gravity.tolist()), force)
        for load in self._loads:
            if now < load.until:
                load.add(now, x, force)
        if around.wind is not None:
            self._faces.add_wind(x, v, around.wind.at(now), around.wind.density, force)
        if self._passing is not None:
            force += self._passing

    def add_force(self, force: NDArray[np.float64], burden: NDArray[np.float64] | None = None) -> None:
        """Add forces on the nodes [N], shape [n, 3], that act during the world's next step alone.

        This is how other parts of a world, such as a fluid, act on a body; see `World.exchange`. A `burden` [kg],
        shape [n], is mass that the nodes have to accelerate in that step besides their own, and that has no weight.
        """
        if self._passing is None:
            self._passing = np.zeros((self._elements.node_count, 3))
        self._passing += force
        if burden is not None:
            self._burden = burden.copy() if self._burden is None else self._burden + burden

    def added(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None] | None:
        """Return what `add_force` added, forces [n, 3] and burdens [n] or None; or None."""
        return None if self._passing is None else (self._passing.copy(), self._burden)

    def forget_added(self) -> None:
        """Take back what `add_force` added."""
        self._passing = self._burden = None

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

    @property
    def pull_stiffness(self) -> float:
        """Spring constant [N/m] of a pull that gives none: stiff enough to lift the body, no stiffer than it."""
        length = self.mesh.volume ** (1.0 / 3.0)
        return max(0.1 * self._materials.law.young * length, 100.0 * float(self._node_mass.sum()))


def _motion(motion: Any) -> Motion:
    return motion if isinstance(motion, Motion) else Motion(motion)


def _unit(direction: Any) -> NDArray[np.float64]:
    if isinstance(direction, str):
        if direction not in _AXES:
            raise InputError(f"a lock's direction must be a vector, 'x', 'y' or 'z', not {direction!r}")
        direction = _AXES[direction]
    vector = as_vector(direction, "a lock's direction")
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InputError("a lock's direction must not be zero")
    return vector / length
