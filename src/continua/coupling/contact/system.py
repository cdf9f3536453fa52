"""The system of solids: soft and rigid bodies of a world with contact and joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import ContactPairTable
from continua.coupling.contact.overlaps import OVERLAP_FIELD, FrameOverlaps, OverlapSearch, SolidSurface
from continua.coupling.contact.stepper import ContactStepper
from continua.deformable import DeformableBody, StaticReport
from continua.errors import warn_user
from continua.frames import BodyFrame, Field, Overlap, StepReport, readonly_copy
from continua.geometry import Shape
from continua.mesh import PlaneMesh, TopologyChange
from continua.registry import register_system
from continua.rigid import RigidInstances, RigidSystem
from continua.solids import FIELDS, SoftBody
from continua.solids.locking import note_locking
from continua.system import System, WorldContext

__all__ = ["SolidSystem"]


_LARGE, _SMALL = 20.0, 1e-3  # m: sizes of bodies beyond which their units are doubtful


@register_system
class SolidSystem(System):
    """Steps deformable and rigid bodies together: soft bodies, rigid bodies, and all that have a `contact_body`.

    A single body with elements that can touch nothing is stepped by itself. In all other cases a `ContactStepper` finds
    the groups of bodies that may touch in a step.

    Attributes:
        deformable_bodies: The bodies that have a `contact_body`, soft bodies among them.
        element_bodies: Those of them with elements: soft bodies and cloth.
        soft_bodies: The soft bodies.
        rigid_bodies: The rigid bodies.
        rigid: The system of all rigid bodies with their contacts and joints, or None if there are none.
        stepper: Finds and solves contacts; None for a single body with elements that can touch nothing.
    """

    kinds: ClassVar = (DeformableBody, RigidInstances)
    order: ClassVar = 30
    fields: ClassVar = (*FIELDS, OVERLAP_FIELD)
    state_prefix: ClassVar = "world/"

    def __init__(self, bodies: Sequence[DeformableBody | RigidInstances], context: WorldContext) -> None:
        super().__init__(bodies, context)
        self.deformable_bodies = tuple(body for body in bodies if not isinstance(body, RigidInstances))
        self.element_bodies = tuple(body for body in bodies if isinstance(body, DeformableBody))
        self.soft_bodies = tuple(body for body in bodies if isinstance(body, SoftBody))
        self.rigid_bodies = tuple(body for body in bodies if isinstance(body, RigidInstances))
        before = context.before.get(SolidSystem)
        for body in bodies:
            if before is not None and any(body is other for other in before.bodies):
                continue
            _note_size(body)
            if isinstance(body, SoftBody):
                note_locking(body)
        self._temporary_colliders: tuple[Shape, ...] = ()
        self._overlapping: frozenset[tuple[int, int]] = frozenset()
        self._searches: tuple[tuple[int, ...], OverlapSearch] | None = None
        self.rigid = self._make_rigid()
        if isinstance(before, SolidSystem):
            self._follow(before)
            return
        self.stepper = self._make_stepper(None)
        if self.stepper is not None:
            self.stepper.check_start()
            self._overlapping = self.stepper.surface_contacts.overlapping

    def _follow(self, before: SolidSystem) -> None:
        """Make the stepper of a world to which something was added or from which it was removed; check what is new."""
        old, own = before.participants, self.participants
        place = {id(one): number for number, one in enumerate(own)}
        numbers = np.array([place.get(id(one), -1) for one in old], np.int64)
        self._overlapping = frozenset(
            (int(numbers[i]), int(numbers[j]))
            for i, j in before._overlapping
            if numbers[i] >= 0 and numbers[j] >= 0
        )
        self.stepper = self._make_stepper(self._overlapping)
        if self.stepper is not None:
            self.stepper.check_start(frozenset(range(len(own))) - frozenset(numbers.tolist()))
            self._overlapping = self.stepper.surface_contacts.overlapping
        same_rigid = self.rigid is None and before.rigid is None
        if self.rigid is not None and before.rigid is not None:
            same_rigid = self.rigid.take_over(before.rigid)
        if self.stepper is not None and before.stepper is not None:
            self.stepper.renumber_warm_start(before.stepper, numbers, same_rigid)

    @property
    def participants(self) -> tuple[Any, ...]:
        """All bodies of the world and the colliders, in the order of their numbers in contacts."""
        return (*self.context.bodies, *self._shapes)

    @classmethod
    def make(cls, bodies: Sequence[Any], context: WorldContext) -> Self | None:
        """Return the system; joints without bodies are an error that it reports."""
        return cls(bodies, context) if bodies or context.joints else None

    @classmethod
    def takes(cls, body: Any) -> bool:
        """Return whether a body offers what contact needs; see `ContactBody`."""
        return callable(getattr(body, "contact_body", None))

    @property
    def _shapes(self) -> tuple[Shape, ...]:
        return (*self.context.colliders, *self._temporary_colliders)

    def _make_rigid(self) -> RigidSystem | None:
        context, shapes = self.context, self._shapes
        if not self.rigid_bodies and not context.joints:
            return None
        names = [shape.name for shape in shapes]
        return RigidSystem(
            self.rigid_bodies, shapes, context.contact, context.environment, context.joints, names
        )

    def _make_stepper(self, overlapping: frozenset[tuple[int, int]] | None) -> ContactStepper | None:
        """Return what finds and solves contacts, for the present surfaces and colliders, or None if there are none.

        Bodies that were `overlapping` at the start do not touch; None finds those that overlap now.
        """
        context, shapes = self.context, self._shapes
        names = [body.name for body in context.bodies] + [shape.name for shape in shapes]
        participants = [*context.bodies, *shapes]
        number = {id(body): n for n, body in enumerate(context.bodies)}
        deformable = [(number[id(body)], body) for body in self.deformable_bodies]
        if len(deformable) == len(self.element_bodies) == 1 and self.rigid is None:
            table = ContactPairTable.of(context.contact, names, participants)
            if _touches_nothing(*deformable[0], table, len(context.bodies)):
                return None
        return ContactStepper(
            deformable,
            shapes,
            context.contact,
            names,
            participants,
            context.environment,
            self.rigid,
            overlapping=overlapping,
        )

    # --- one step -----------------------------------------------------------------------------------------

    def step(self, dt: float) -> list[StepReport]:
        """Advance all bodies by `dt` [s]; if a step fails, all are back in their state before it."""
        if self.stepper is None:
            return [body.step(dt) for body in self.element_bodies]
        return list(self.stepper.step(dt).values())

    def finish_step(self) -> None:
        """Forget the forces that acted in this step only."""
        for body in self._loaded:
            body.clear_external_forces()

    @property
    def _loaded(self) -> tuple[DeformableBody | RigidInstances, ...]:
        """The bodies that take external forces."""
        return (*self.element_bodies, *self.rigid_bodies)

    def external_forces(self) -> list[Any]:
        """Return what `add_external_force` of the bodies has added for this step, for `set_external_forces`."""
        return [body.external_forces() for body in self._loaded]

    def set_external_forces(self, forces: Sequence[Any]) -> None:
        """Set the forces that act on the bodies in their next step."""
        for body, force in zip(self._loaded, forces, strict=True):
            body.clear_external_forces()
            if force is not None:
                body.add_external_force(*force)

    def settle(self, rtol: float, max_newton: int, steps: int | None) -> list[StaticReport]:
        """Move every deformable body to its static equilibrium; those that touch each other to a common one."""
        reports = (
            tuple(body.settle(rtol, max_newton, steps=steps) for body in self.element_bodies)
            if self.stepper is None
            else self.stepper.settle(rtol, max_newton, steps)
        )
        return [
            replace(report, body=body.name)
            for body, report in zip(self.deformable_bodies, reports, strict=True)
        ]

    # --- state ------------------------------------------------------------------------------------------

    def snapshot(self) -> Any:
        """Return everything that a step changes."""
        if self.stepper is not None:
            return self.stepper.snapshot()
        return [body.contact_body().snapshot() for body in self.element_bodies]

    def rollback(self, snapshot: Any) -> None:
        """Go back to a snapshot."""
        if self.stepper is not None:
            self.stepper.restore(snapshot)
            return
        for body, own in zip(self.element_bodies, snapshot, strict=True):
            body.contact_body().rollback(own)

    def state(self) -> dict[str, Any]:
        """Return the contacts of the last step and the forces of joints."""
        state: dict[str, Any] = {} if self.stepper is None else dict(self.stepper.state())
        if self.rigid is not None:
            state |= {f"rigid/{key}": value for key, value in self.rigid.state().items()}
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state; without contacts in it, the next step starts without an estimate of their forces."""
        if self.stepper is not None:
            self.stepper.restore_state(state)
        if self.rigid is not None:
            start = "rigid/"
            self.rigid.restore({k[len(start) :]: v for k, v in state.items() if k.startswith(start)})

    def reset(self) -> None:
        """Put the bodies back to their start, without contacts."""
        if self.stepper is not None:
            self.stepper.clear_warm_start()
        super().reset()
        if self.rigid is not None:
            self.rigid.reset()

    def remap(self, body: Any, change: Any) -> None:
        """Rebuild what knows the nodes of a deformable body; contacts of other bodies keep their estimates."""
        number = next(n for n, other in enumerate(self.context.bodies) if other is body)
        if not any(body is other for other in self.deformable_bodies):
            return
        before = self.stepper
        self.stepper = self._make_stepper(self._overlapping)
        if self.stepper is not None and before is not None:
            self.stepper.take_warm_start(before, number, _new_numbers(body, change))

    def set_temporary_colliders(self, shapes: Sequence[Shape]) -> None:
        """Let the bodies touch these shapes too, until the next call."""
        state = self.state()
        self._temporary_colliders = tuple(shapes)
        self.rigid = self._make_rigid()
        self.stepper = self._make_stepper(None)
        self.restore(state)

    # --- overlaps -----------------------------------------------------------------------------------------

    @property
    def _solids(self) -> tuple[SoftBody | RigidInstances, ...]:
        """The bodies that fill space: sheets in a plane do not."""
        soft = (body for body in self.soft_bodies if not isinstance(body.mesh, PlaneMesh))
        return (*soft, *self.rigid_bodies)

    def overlaps(self) -> list[Overlap]:
        """Return what intersects, and the inverted elements; see `World.overlaps`."""
        solids = self._solids
        surfaces = [_surface(body, body.rest_positions, body.triangles) for body in solids]
        search = self._search(tuple(_version(body) for body in solids), surfaces)
        found = [*search.find([body.positions for body in solids], self.context.environment.time)]
        return found + [overlap for body in self.soft_bodies for overlap in _inverted(body)]

    def frame_fields(
        self, frames: Mapping[str, BodyFrame]
    ) -> Mapping[str, Mapping[str, tuple[str, Callable[[], Field]]]]:
        """Return the field of overlapping nodes."""
        solids = self._solids
        own = [frames[body.name] for body in solids]
        surfaces = [
            _surface(body, frame.rest_positions, frame.triangles)
            for body, frame in zip(solids, own, strict=True)
        ]
        search = partial(self._search, tuple(frame.topology_version for frame in own), surfaces)
        found = FrameOverlaps(own, search, self.context.environment.time)
        return {body.name: {OVERLAP_FIELD: ("", partial(found.field, k))} for k, body in enumerate(solids)}

    def _search(self, versions: tuple[int, ...], surfaces: Sequence[SolidSurface]) -> OverlapSearch:
        """Return the search for surfaces of these topology versions, which is kept for the next call."""
        known = self._searches
        if known is not None and known[0] == versions:
            return known[1]
        context = self.context
        participants: list[Any] = [*context.bodies, *context.colliders]
        table = ContactPairTable.of(
            context.contact, [participant.name for participant in participants], participants
        )
        numbers = [_index_of(body, context.bodies) for body in self._solids]
        collide = table.collide[np.ix_(numbers, [*numbers, *range(len(context.bodies), len(participants))])]
        first = len(self._solids) - len(self.rigid_bodies)
        joined = [] if self.rigid is None else self.rigid.joints.excluded_pairs
        search = OverlapSearch(
            surfaces, context.colliders, collide, [(first + a, first + b) for a, b in joined]
        )
        self._searches = versions, search
        return search

    # --- for frames ---------------------------------------------------------------------------------------

    def joint_lines(self) -> NDArray[np.float64]:
        """Return a line from each joint to the centre of each of its bodies [m], shape [k, 2, 3]."""
        return np.zeros((0, 2, 3)) if self.rigid is None else self.rigid.joints.anchor_lines()


def _version(body: SoftBody | RigidInstances) -> int:
    return body.topology.version if isinstance(body, SoftBody) else 0


def _surface(
    body: SoftBody | RigidInstances, rest: NDArray[np.float64], triangles: NDArray[np.int32]
) -> SolidSurface:
    """Return the surface of a body for the detection of overlaps."""
    instances = body.count if isinstance(body, RigidInstances) else 0
    return SolidSurface(body.name, rest, triangles, instances)


def _inverted(body: SoftBody) -> Iterator[Overlap]:
    """Yield the inverted elements of a soft body, if there are any."""
    elements = body.inverted_elements()
    if len(elements):
        nodes = np.unique(np.concatenate([*body.frame().cells.values()])[elements])
        yield Overlap(
            "inverted",
            (body.name,),
            len(elements),
            (readonly_copy(nodes.astype(np.int32)),),
            elements=readonly_copy(elements),
        )


def _index_of(one: Any, others: Sequence[Any]) -> int:
    return next(k for k, other in enumerate(others) if other is one)


def _note_size(body: Any) -> None:
    """Warn of a body so large or so small that its mesh is probably in other units than metres."""
    points = body.geometry.surface.points if isinstance(body, RigidInstances) else body.positions
    size = float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    if size > (1.0 + 1e-9) * _LARGE:
        hint = "if its file is in millimetres, scale it by 0.001"
    elif 0.0 < size < (1.0 - 1e-9) * _SMALL:
        hint = "if its file is in other units, scale it"
    else:
        return
    warn_user(
        f"body '{body.name}' is {size:.3g} m long, and lengths are in metres; {hint} (mesh.fit(size=...), or "
        "'transform: {size: ...}' in a scene)"
    )


def _touches_nothing(number: int, body: DeformableBody, table: ContactPairTable, first_collider: int) -> bool:
    """Return whether a body can touch neither a collider nor itself, nor its pieces each other."""
    if table.collide[number, number] or table.collide[number, first_collider:].any():
        return False
    return not table.pieces_collide[number] or body.contact_body().surface.piece_count == 1


def _new_numbers(body: Any, change: TopologyChange) -> NDArray[np.int64] | None:
    """Return the new number of each old node of a body, -1 for those that are gone, shape [n]; None if unknown.

    The nodes of elements of higher order are not those of the mesh, and a cut body touches others with points.
    """
    if change.node_parents is None or change.weights is None or getattr(body, "order", 1) > 1:
        return None
    if getattr(change.mesh, "subdomains", None) is not None:
        return None  # contacts are at points of the surface
    numbers = np.full(change.before.node_count, -1, np.int64)
    copies = np.flatnonzero(change.weights[:, 0] == 1.0)[::-1]  # the first of several copies is written last
    numbers[change.node_parents[copies, 0]] = copies
    return numbers
