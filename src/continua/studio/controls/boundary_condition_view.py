"""Boundary conditions of a body as the page lists them: switched, changed, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.deformable import BodyForce, Constraint, ForceField, HapticTool, Pressure, Pull, Push, Traction
from continua.deformable.boundary_conditions.constraints import BoundaryCondition
from continua.deformable.boundary_conditions.loads import Load
from continua.motion import Motion
from continua.shells import Cloth, Inflation
from continua.studio.controls.parameters import Kind, Limits, Parameter, Scale
from continua.studio.farthest_points import farthest_points

if TYPE_CHECKING:
    from continua.deformable import DeformableBody
    from continua.world import World

__all__ = ["BoundaryConditionView", "boundary_conditions_of"]

_MAX_MARKERS = {"pin": 150, "drive": 150, "lock": 60, "load": 24}
_EASE_TIME = 0.5  # s in which the nodes of a re-enabled constraint return to their targets

_VALUES: dict[type[BoundaryCondition], tuple[str, str, str]] = {
    Push: ("force", "Force", "N"),
    Pressure: ("pressure", "Pressure", "Pa"),
    Traction: ("traction", "Traction", "Pa"),
    BodyForce: ("force", "Force", "N/m³"),
    Pull: ("stiffness", "Stiffness", "N/m"),
    Inflation: ("pressure", "Pressure", "Pa"),
}
_TITLES = {
    Push: "Push",
    Pressure: "Pressure",
    Traction: "Traction",
    BodyForce: "Body force",
    Pull: "Spring",
    Inflation: "Inflation",
}


class BoundaryConditionView:
    """A constraint, load or spring of a body.

    Attributes:
        key: Unique name.
        kind: How it is drawn: "pin", "drive", "lock", "load" or "pull".
        title: Name shown to the user.
        note: What it acts on, and until when.
        markers: Nodes on the visible surface at which it is drawn, shape [k].
        parameters: The switch, followed by the values that can be changed; empty for a handle moved by a device.
    """

    def __init__(self, world: World, body: DeformableBody, condition: BoundaryCondition, key: str) -> None:
        self.key = key
        self.body = body
        self._world = world
        self.condition = condition
        self.kind, self.title = _kind_and_title(condition)
        self._until = condition.until
        self._motion = getattr(condition, "motion", None)
        self._stiffness = getattr(condition, "stiffness", 0.0)
        self._on = True
        self._base_value: Callable[..., Any] | None = None
        self._factor = 1.0
        self.update_nodes()
        self.parameters: list[Parameter] = []
        if not isinstance(condition, HapticTool):  # a device moves it
            self.parameters = [Parameter(f"{key}/on", self.title, lambda: self._on, self.switch, "switch")]
            self.parameters += self._value_parameters()

    def update_nodes(self) -> None:
        """Choose the markers from the body's current mesh, and describe what the condition acts on."""
        body = self.body
        nodes, count = self._nodes()
        self.note = count if self._until == inf else f"{count}, until {self._until:g} s"
        shown = np.intersect1d(nodes, np.unique(body.triangles))
        self.markers = shown[farthest_points(body.rest_positions[shown], _MAX_MARKERS.get(self.kind, 0))]

    @property
    def direction(self) -> list[float] | None:
        """The direction of a lock."""
        direction = getattr(self.condition, "direction", None)
        return None if direction is None else direction.tolist()

    def switch(self, on: bool) -> None:
        """Enable or disable it."""
        if on == self._on:
            return
        self._on = on
        if isinstance(self.condition, Pull):
            self.condition.stiffness, self._stiffness = (
                (self._stiffness, 0.0) if on else (0.0, self.condition.stiffness)
            )
            return
        self.condition.until = self._until if on else -inf
        if on and isinstance(self.condition, Constraint):
            self._ease_back(self.condition)

    def forces(self, reactions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the current force [N] on every node of the body, shape [n, 3].

        Springs and handles return their total force as one row.

        Args:
            reactions: Reaction forces at the nodes of the body, shape [n, 3].
        """
        match self.condition:
            case Load():
                return self.condition.forces
            case Pull():
                return self.condition.force[None]
            case HapticTool():
                return -self.condition.force[None]
            case Constraint(nodes=nodes, direction=direction):
                forces = np.zeros_like(reactions)
                reaction = reactions[nodes]
                forces[nodes] = reaction if direction is None else np.outer(reaction @ direction, direction)
                return forces
        raise TypeError(f"unknown condition {self.condition!r}")

    @property
    def ends(self) -> NDArray[np.float64] | None:
        """End points of a spring, on the body and at its target [m], shape [2, 3]."""
        match self.condition:
            case Pull(point=point, target=target):
                return np.stack([point, target])
            case HapticTool(springs=springs, position=position):
                return np.stack([np.mean([spring.point for spring in springs], axis=0), position])
        return None

    @property
    def is_active(self) -> bool:
        """Whether it acts now."""
        return self._on and self._world.time < self.condition.until

    def _ease_back(self, constraint: Constraint) -> None:
        """Move the nodes of a re-enabled constraint to their targets smoothly; a jump would tear the body."""
        body, start, motion = self.body, self._world.time, self._motion
        constraint.motion = motion
        away = body.positions[constraint.nodes] - constraint.targets(start, body.rest_positions)
        others = [c.nodes for c in body.attached if isinstance(c, Constraint) and c is not constraint]
        if not away.any() or np.isin(constraint.nodes, np.concatenate([*others, []])).any():
            return  # nodes that are constrained twice cannot be moved

        def path(time: float, points: NDArray[np.float64]) -> NDArray[np.float64]:
            goal = points if motion is None else motion.at(time, points)
            left = 1.0 - min((time - start) / _EASE_TIME, 1.0) if time >= start else 0.0
            return goal + left * left * (3.0 - 2.0 * left) * away

        constraint.motion = Motion(path)

    def _nodes(self) -> tuple[NDArray[np.int32], str]:
        """Return the nodes it acts on, and a description of them."""
        body, condition = self.body, self.condition
        match condition:
            case Pressure() | Traction():
                faces = body.mesh.cells if isinstance(body, Cloth) else body.mesh.boundary_faces
                return np.unique(faces[condition.faces]), _pluralize(len(condition.faces), "face")
            case Inflation():
                return np.unique(body.mesh.cells), "the inside"
            case BodyForce():
                nodes = np.unique(body.mesh.cells[condition.elements])
                return nodes.astype(np.int32), _pluralize(len(condition.elements), "element")
            case Pull():
                return condition.nodes, "a point"
            case HapticTool():
                return np.concatenate([spring.nodes for spring in condition.springs]), "moved by a device"
        nodes = condition.nodes  # type: ignore[attr-defined]
        return nodes, _pluralize(len(nodes), "node")

    def _value_parameters(self) -> Iterator[Parameter]:
        if type(self.condition) not in _VALUES:
            return
        name, label, unit = _VALUES[type(self.condition)]
        value = getattr(self.condition, name)
        key = f"{self.key}/{name}"
        if callable(value) or isinstance(value, ForceField):
            self._base_value = value.at if isinstance(value, ForceField) else value
            yield Parameter(
                f"{self.key}/factor",
                f"{label} factor",
                lambda: self._factor,
                self._set_factor,
                help="Multiplies a value that depends on time or position",
                scale=Scale("linear", -2.0, 3.0),
            )
            return

        def get() -> Any:
            if isinstance(self.condition, Pull) and not self._on:
                return self._stiffness
            now = getattr(self.condition, name)
            return float(now) if np.ndim(now) == 0 else [float(part) for part in now]

        def put(new: Any) -> None:
            if new is None:  # only springs have a default
                new = self.body.pull_stiffness
            if isinstance(self.condition, Pull) and not self._on:
                self._stiffness = new
            else:
                setattr(self.condition, name, new)

        kind: Kind = "number" if np.ndim(value) == 0 else "vector"
        if isinstance(self.condition, Pull):
            limits, scale = Limits(0.0, 1e15, open_low=True), Scale("log", value / 100.0, value * 100.0)
        else:
            limits, scale = Limits(-1e15, 1e15), self._slider_scale(value, unit)
        yield Parameter(
            key,
            label,
            get,
            put,
            kind,
            unit,
            limits=limits,
            scale=scale,
            optional=isinstance(self.condition, Pull),
        )

    def _slider_scale(self, value: Any, unit: str) -> Scale:
        """Return a slider from zero to three times a value, or symmetric about zero."""
        usual = {"Pa": 0.1 * self.body.material.young, "N": 9.81 * self.body.mass_total}.get(unit, 1e4)
        reach = 3.0 * float(np.linalg.norm(value)) or usual
        if np.ndim(value) or value > 0.0:
            return Scale("linear", 0.0, reach)
        return Scale("linear", -reach, 0.0 if value < 0.0 else reach)

    def _set_factor(self, factor: float) -> None:
        base = self._base_value
        assert base is not None
        self._factor = factor
        name = _VALUES[type(self.condition)][0]
        if isinstance(self.condition, BodyForce):
            setattr(self.condition, name, lambda time, points: factor * np.asarray(base(time, points)))
        else:
            setattr(self.condition, name, lambda time: factor * np.asarray(base(time)))


def boundary_conditions_of(world: World, body: DeformableBody) -> list[BoundaryConditionView]:
    """Return the boundary conditions of a body."""
    return [
        BoundaryConditionView(world, body, condition, f"{body.name}/boundary/{number}")
        for number, condition in enumerate(body.attached)
    ]


def _kind_and_title(condition: BoundaryCondition) -> tuple[str, str]:
    """Return how an condition is drawn, and its title."""
    if not isinstance(condition, Constraint):
        return "load" if isinstance(condition, Load) else "pull", _TITLES.get(
            type(condition), type(condition).__name__
        )
    if condition.direction is None:
        return ("pin", "Pin") if condition.motion is None else ("drive", "Drive")
    axis = int(np.abs(condition.direction).argmax())
    along = "xyz"[axis] if abs(condition.direction[axis]) > 1.0 - 1e-9 else "a direction"
    return "lock", f"Lock along {along}" if condition.motion is None else f"Drive along {along}"


def _pluralize(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
