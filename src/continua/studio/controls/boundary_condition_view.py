"""What holds and loads a body, as the page lists it: switched off and on, changed, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.motion import Motion
from continua.solids import Constraint, FaceLoad, ForceField, Handle, Press, Pull, Push, VolumeLoad
from continua.solids.handles import Attachment
from continua.solids.loads import Load
from continua.studio.controls.parameters import Kind, Knob, Limits, Scale
from continua.studio.farthest_points import spread

if TYPE_CHECKING:
    from continua.solids import SoftBody
    from continua.world import World

__all__ = ["Hold", "holds_of"]

_MOST_MARKS = {"pin": 150, "drive": 150, "lock": 60, "load": 24}
_BACK = 0.5  # s in which nodes that are held again go back to their places

_VALUES: dict[type[Attachment], tuple[str, str, str]] = {
    Push: ("force", "Force", "N"),
    Press: ("pressure", "Pressure", "Pa"),
    FaceLoad: ("traction", "Traction", "Pa"),
    VolumeLoad: ("force", "Force", "N/m³"),
    Pull: ("stiffness", "Stiffness", "N/m"),
}
_TITLES = {Push: "Push", Press: "Pressure", FaceLoad: "Traction", VolumeLoad: "Volume force", Pull: "Spring"}


class Hold:
    """One constraint, load or spring of a body.

    Attributes:
        key: Its name among all.
        kind: How it is drawn: "pin", "drive", "lock", "load" or "pull".
        title: What a person calls it.
        note: What it acts on, and how long.
        marks: Nodes on the visible surface at which it is drawn, shape [k].
        knobs: The switch, and then the values that can be changed; nothing for what a device moves.
    """

    def __init__(self, world: World, body: SoftBody, handle: Attachment, key: str) -> None:
        self.key = key
        self.body = body
        self._world = world
        self.handle = handle
        self.kind, self.title = _what(handle)
        self._until = handle.until
        self._motion = getattr(handle, "motion", None)
        self._stiffness = getattr(handle, "stiffness", 0.0)
        self._on = True
        self._course: Callable[..., Any] | None = None
        self._factor = 1.0
        nodes, count = self._nodes()
        self.note = count if handle.until == inf else f"{count}, until {handle.until:g} s"
        shown = np.intersect1d(nodes, np.unique(body.triangles))
        self.marks = shown[spread(body.rest_positions[shown], _MOST_MARKS.get(self.kind, 0))]
        self.knobs: list[Knob] = []
        if not isinstance(handle, Handle):  # that one belongs to whoever moves it
            self.knobs = [Knob(f"{key}/on", self.title, lambda: self._on, self.switch, "switch")]
            self.knobs += self._value_knobs()

    @property
    def direction(self) -> list[float] | None:
        """The direction of a lock."""
        direction = getattr(self.handle, "direction", None)
        return None if direction is None else direction.tolist()

    def switch(self, on: bool) -> None:
        """Make it act, or not."""
        if on == self._on:
            return
        self._on = on
        if isinstance(self.handle, Pull):
            self.handle.stiffness, self._stiffness = (
                (self._stiffness, 0.0) if on else (0.0, self.handle.stiffness)
            )
            return
        self.handle.until = self._until if on else -inf
        if on and isinstance(self.handle, Constraint):
            self._lead_back(self.handle)

    def forces(self, reactions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the force [N] that it exerts on every node of the body now, shape [n, 3].

        Springs and handles give their whole force as one row.

        Args:
            reactions: The forces that hold the nodes of the body, shape [n, 3].
        """
        match self.handle:
            case Load():
                return self.handle.forces
            case Pull():
                return self.handle.force[None]
            case Handle():
                return -self.handle.force[None]
            case Constraint(nodes=nodes, direction=direction):
                forces = np.zeros_like(reactions)
                held = reactions[nodes]
                forces[nodes] = held if direction is None else np.outer(held @ direction, direction)
                return forces
        raise TypeError(f"unknown attachment {self.handle!r}")

    @property
    def ends(self) -> NDArray[np.float64] | None:
        """Where a spring starts on the body, and where it ends [m], shape [2, 3]."""
        match self.handle:
            case Pull(point=point, target=target):
                return np.stack([point, target])
            case Handle(springs=springs, position=position):
                return np.stack([np.mean([spring.point for spring in springs], axis=0), position])
        return None

    @property
    def acts(self) -> bool:
        """Whether it acts now."""
        return self._on and self._world.time < self.handle.until

    def _lead_back(self, constraint: Constraint) -> None:
        """Let nodes that are held again go to their places within a while; at once they would tear the body."""
        body, start, motion = self.body, self._world.time, self._motion
        constraint.motion = motion
        away = body.positions[constraint.nodes] - constraint.targets(start, body.rest_positions)
        others = [c.nodes for c in body.attached if isinstance(c, Constraint) and c is not constraint]
        if not away.any() or np.isin(constraint.nodes, np.concatenate([*others, []])).any():
            return  # nodes that something else holds too cannot be led

        def path(time: float, points: NDArray[np.float64]) -> NDArray[np.float64]:
            goal = points if motion is None else motion.at(time, points)
            left = 1.0 - min((time - start) / _BACK, 1.0) if time >= start else 0.0
            return goal + left * left * (3.0 - 2.0 * left) * away

        constraint.motion = Motion(path)

    def _nodes(self) -> tuple[NDArray[np.int32], str]:
        """Return the nodes it acts on, and what it acts on in words."""
        body, handle = self.body, self.handle
        match handle:
            case Press() | FaceLoad():
                return np.unique(body.mesh.boundary_faces[handle.faces]), _count(len(handle.faces), "face")
            case VolumeLoad():
                nodes = np.unique(body.mesh.cells[handle.elements])
                return nodes.astype(np.int32), _count(len(handle.elements), "element")
            case Pull():
                return handle.nodes, "a point"
            case Handle():
                return np.concatenate([spring.nodes for spring in handle.springs]), "moved by a device"
        nodes = handle.nodes  # type: ignore[attr-defined]
        return nodes, _count(len(nodes), "node")

    def _value_knobs(self) -> Iterator[Knob]:
        if type(self.handle) not in _VALUES:
            return
        name, label, unit = _VALUES[type(self.handle)]
        value = getattr(self.handle, name)
        key = f"{self.key}/{name}"
        if callable(value) or isinstance(value, ForceField):
            self._course = value.at if isinstance(value, ForceField) else value
            yield Knob(
                f"{self.key}/factor",
                f"{label}, times its course",
                lambda: self._factor,
                self._set_factor,
                help="The value changes with time or place; this multiplies it",
                scale=Scale("linear", -2.0, 3.0),
            )
            return

        def get() -> Any:
            if isinstance(self.handle, Pull) and not self._on:
                return self._stiffness
            now = getattr(self.handle, name)
            return float(now) if np.ndim(now) == 0 else [float(part) for part in now]

        def put(new: Any) -> None:
            if isinstance(self.handle, Pull) and not self._on:
                self._stiffness = new
            else:
                setattr(self.handle, name, new)

        kind: Kind = "number" if np.ndim(value) == 0 else "vector"
        if isinstance(self.handle, Pull):
            limits, scale = Limits(0.0, 1e15, open_low=True), Scale("log", value / 100.0, value * 100.0)
        else:
            limits, scale = Limits(-1e15, 1e15), self._reach(value, unit)
        yield Knob(key, label, get, put, kind, unit, limits=limits, scale=scale)

    def _reach(self, value: Any, unit: str) -> Scale:
        """Return a slider from nothing to three times a value, or both ways from nothing."""
        usual = {"Pa": 0.1 * self.body.material.young, "N": 9.81 * self.body.mass_total}.get(unit, 1e4)
        reach = 3.0 * float(np.linalg.norm(value)) or usual
        if np.ndim(value) or value > 0.0:
            return Scale("linear", 0.0, reach)
        return Scale("linear", -reach, 0.0 if value < 0.0 else reach)

    def _set_factor(self, factor: float) -> None:
        course = self._course
        assert course is not None
        self._factor = factor
        name = _VALUES[type(self.handle)][0]
        if isinstance(self.handle, VolumeLoad):
            setattr(self.handle, name, lambda time, places: factor * np.asarray(course(time, places)))
        else:
            setattr(self.handle, name, lambda time: factor * np.asarray(course(time)))


def holds_of(world: World, body: SoftBody) -> list[Hold]:
    """Return what is attached to a body now."""
    return [
        Hold(world, body, handle, f"{body.name}/hold/{number}") for number, handle in enumerate(body.attached)
    ]


def _what(handle: Attachment) -> tuple[str, str]:
    """Return how a handle is drawn and what people call it."""
    if not isinstance(handle, Constraint):
        return "load" if isinstance(handle, Load) else "pull", _TITLES.get(
            type(handle), type(handle).__name__
        )
    if handle.direction is None:
        return ("pin", "Pin") if handle.motion is None else ("drive", "Drive")
    axis = int(np.abs(handle.direction).argmax())
    along = "xyz"[axis] if abs(handle.direction[axis]) > 1.0 - 1e-9 else "a direction"
    return "lock", f"Lock along {along}" if handle.motion is None else f"Drive along {along}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
