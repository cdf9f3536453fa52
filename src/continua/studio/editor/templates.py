"""Templates of the editor: what can be added to a scene, whole scenes to start from, and material presets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.registry import body_kinds
from continua.scene.templates import FORMULAS, HALF_HEIGHTS, MATERIALS, MESHES
from continua.studio.editor.document import Edit
from continua.studio.editor.starters import STARTERS

__all__ = ["Bounds", "new_object", "shape_label", "templates"]

_LABELS = {
    "box": "Box",
    "sphere": "Sphere",
    "cylinder": "Cylinder",
    "torus": "Torus",
    "cone": "Cone",
    "parametric": "Formula",
    "ball": "Ball joint",
    "fixed": "Fixed joint",
    "liquid": "Water in a tank",
    "jet": "Liquid jet",
}
_COLLIDER, _JOINT, _EMITTER = "collider", "joint", "emitter"
_SHAPES = {
    _COLLIDER: ["box", "sphere", "cylinder", "torus", "cone", "parametric"],
    _JOINT: ["ball", "hinge", "slider", "fixed"],
    _EMITTER: ["nozzle", "smoke_source", "jet"],
}

Bounds = tuple[NDArray, NDArray]
"""Lower and upper corner of a bounding box [m]."""


def templates() -> dict[str, Any]:
    """Return all templates, ready for JSON."""
    by_kind = _shapes_by_kind()
    return {
        "shapes": {shape: shape_label(shape) for shapes in by_kind.values() for shape in shapes},
        "kinds": _kinds(),
        "materials": MATERIALS,
        "formulas": FORMULAS,
        "shapesByKind": by_kind,
        "starters": {
            name: {"title": starter.title, "description": starter.scene["description"]}
            for name, starter in STARTERS.items()
        },
    }


def shape_label(shape: str) -> str:
    """Return the name of a shape in menus."""
    return _LABELS.get(shape, shape.replace("_", " ").capitalize())


def _kinds() -> dict[str, str]:
    """Return the labels of what can be added, by tags."""
    kinds = {tag: kind.title for tag, kind in body_kinds().items() if kind.template is not None}
    return {**kinds, _COLLIDER: "Collider", _JOINT: "Joint", _EMITTER: "Emitter"}


def _shapes_by_kind() -> dict[str, list[str]]:
    """Return the shapes of every kind that can be added; a kind without shapes has one of its own name."""
    kinds = body_kinds()
    return {tag: _SHAPES.get(tag) or list(kinds[tag].shapes) or [tag] for tag in _kinds()}


def new_object(kind: str, shape: str, data: Mapping[str, Any], bounds: Mapping[str, Bounds]) -> list[Edit]:
    """Return the edits that add a new object, placed beside all others.

    A joint connects the last rigid body without one to the rigid body before it or, if there is none, to the world; an
    emitter belongs to the last body of its kind of fluid. The bodies that they need are added if there are none.

    Args:
        kind: Tag of a registered kind of bodies that has a template, "collider", "joint" or "emitter".
        shape: One of its shapes.
        data: The scene.
        bounds: Bounding boxes of all bodies and finite colliders; those of bodies by their names.
    """
    if shape not in _shapes_by_kind().get(kind, ()):
        raise InputError(
            f"a {shape_label(shape).lower()} cannot be added as {_kinds().get(kind, kind).lower()}"
        )
    beside, ground = 0.0, 0.0
    if bounds:
        beside = round(max(float(high[0]) for _, high in bounds.values()) + 0.75, 3)
        ground = round(min(float(low[1]) for low, _ in bounds.values()), 3)
    position = [beside, ground + HALF_HEIGHTS.get(shape, 0.5), 0.0]
    match kind:
        case "collider":
            return [Edit("add", ("colliders",), _collider(shape, _free_name(shape, data), position))]
        case "joint":
            return _joint(shape, data, bounds, position, ground)
        case "emitter":
            return _emitter(shape, data, position, ground)
    return [Edit("add", ("bodies",), _body(kind, shape, data, position, ground))]


def _body(
    kind: str, shape: str, data: Mapping[str, Any], position: Sequence[float], ground: float
) -> dict[str, Any]:
    return body_kinds()[kind].new_entry(shape, _free_name(shape, data), position, ground)


def _collider(shape: str, name: str, position: list[float]) -> dict[str, Any]:
    obstacle: dict[str, Any] = {"type": shape, "name": name}
    match shape:
        case "sphere":
            return {**obstacle, "center": position, "radius": 0.5}
        case "box" | "cylinder":
            return {**obstacle, "center": position}
    transform = {"translate": position}
    return {"type": "mesh", "name": name, "mesh": MESHES[shape], "transform": transform}


def _joint(
    shape: str, data: Mapping[str, Any], bounds: Mapping[str, Bounds], position: list[float], ground: float
) -> list[Edit]:
    """Return the edits for a joint, and for a bar that hangs from it if no rigid body is free."""
    joined = {joint.get(end) for joint in data.get("joints", []) for end in ("a", "b")}
    rigid = [body["name"] for body in data.get("bodies", []) if body.get("type") == "rigid"]
    movable = {body["name"] for body in data.get("bodies", []) if not body.get("motion")}
    free = [name for name in rigid if name in movable and name not in joined and name in bounds]
    if free:
        name = free[-1]
        others = [other for other in rigid[: rigid.index(name)] if other in bounds]
        partner = others[-1] if others else None
        ends = [0.5 * np.add(*bounds[body]) for body in (name, partner) if body is not None]
        low, high = np.asarray(bounds[name], float)
        point = np.mean(ends, axis=0) if partner else [0.5 * (low[0] + high[0]), high[1], ends[0][2]]
        return [_joint_edit(shape, name, partner, [round(float(x), 4) for x in point])]
    name = _free_name("bar", data)
    point = [position[0] - 0.5, ground + 1.3, 0.0]
    bar = {
        "type": "rigid",
        "name": name,
        "shape": {"type": "box", "size": [1.0, 0.15, 0.15]},
        "transform": {"translate": [position[0], ground + 1.3, 0.0]},
    }
    return [Edit("add", ("bodies",), bar), _joint_edit(shape, name, None, point)]


def _joint_edit(shape: str, a: str, b: str | None, point: list[float]) -> Edit:
    axes: dict[str, dict[str, Any]] = {
        "hinge": {"axis": [0.0, 0.0, 1.0]},
        "slider": {"axis": [0.0, 1.0, 0.0], "limits": [-0.5, 0.5]},
    }
    ends = {"a": a} if b is None else {"a": a, "b": b}
    return Edit("add", ("joints",), {"type": shape, **ends, "point": point, **axes.get(shape, {})})


def _emitter(shape: str, data: Mapping[str, Any], position: list[float], ground: float) -> list[Edit]:
    """Return the edit that adds a source of fluid to the last body of its kind, or such a body."""
    kind = {"nozzle": "fluid", "smoke_source": "smoke", "jet": "liquid"}[shape]
    bodies = data.get("bodies", [])
    number = next((n for n in reversed(range(len(bodies))) if bodies[n].get("type") == kind), None)
    if kind == "fluid":
        radius = 0.025 if number is None else float(bodies[number].get("particle_radius", 0.0125))
        nozzle = {
            "center": [position[0], round(ground + 1.0, 4), 0.0],
            "direction": [1.0, 0.0, 0.0],
            "radius": 4.0 * radius,
            "speed": 1.5,
            "stop": 5.0,
        }
        if number is not None:
            return [Edit("add", ("bodies", number, "emitters"), nozzle)]
        name = _free_name("fluid", data)
        fluid = {
            "type": "fluid",
            "name": name,
            "emitters": [nozzle],
            "particle_radius": radius,
            "color": "#2f7fd1",
        }
        return [Edit("add", ("bodies",), fluid)]
    if number is not None:
        return [Edit("add", ("bodies", number, "inflow"), _inflow(kind, bodies[number]))]
    body = body_kinds()[kind].new_entry(kind, _free_name(kind, data), position, ground)
    if kind == "liquid":
        low, high = body["blocks"][0]["min"], body["blocks"][0]["max"]
        pool = {"min": low, "max": [low[0] + body["size"][0], low[1] + 0.15, high[2]]}
        body = {**body, "blocks": [pool], "inflow": [_inflow(kind, body)]}
    return [Edit("add", ("bodies",), body)]


def _inflow(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return one more source in a grid: of smoke near its bottom, of liquid near its top."""
    size = body["size"]
    origin = body.get("origin") or [0.0] * len(size)
    width = min(size)
    across = (0.25, 0.75, 0.5)[len(body.get("inflow", [])) % 3]
    parts = [across, 0.8 if kind == "liquid" else 0.15, 0.5][: len(size)]
    center = [round(low + part * length, 4) for low, part, length in zip(origin, parts, size)]
    shape = {"type": "sphere", "center": (center + [0.0])[:3], "radius": round(0.1 * width, 4)}
    if kind == "liquid":
        return {"shape": shape, "velocity": [1.0 if across < 0.5 else -1.0, 0.0, 0.0]}
    return {"shape": shape, "temperature": 45.0, "velocity": [0.0, 0.7, 0.0]}


def _free_name(base: str, data: Mapping[str, Any]) -> str:
    taken = {entry.get("name") for key in ("bodies", "colliders") for entry in data.get(key, [])}
    return next(name for name in [base, *(f"{base}-{n}" for n in range(2, 10_000))] if name not in taken)
