"""Templates of the editor: primitive shapes as colliders or bodies of every registered kind, and material presets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from continua.errors import InputError
from continua.registry import body_kinds
from continua.scene.templates import FORMULAS, HALF_HEIGHTS, MATERIALS, MESHES

__all__ = ["SHAPES", "new_object", "shape_label", "templates"]

SHAPES = {
    "box": "Box",
    "sphere": "Sphere",
    "cylinder": "Cylinder",
    "torus": "Torus",
    "cone": "Cone",
    "parametric": "Formula",
}
_COLLIDER = "collider"


def templates() -> dict[str, Any]:
    """Return all templates, ready for JSON."""
    by_kind = _shapes_by_kind()
    return {
        "shapes": {shape: shape_label(shape) for shapes in by_kind.values() for shape in shapes},
        "kinds": _kinds(),
        "materials": MATERIALS,
        "formulas": FORMULAS,
        "shapesByKind": by_kind,
    }


def shape_label(shape: str) -> str:
    """Return the name of a shape in menus."""
    return SHAPES.get(shape, shape.replace("_", " ").capitalize())


def _kinds() -> dict[str, str]:
    """Return the labels of what can be added, by tags."""
    kinds = {tag: kind.title for tag, kind in body_kinds().items() if kind.template is not None}
    return {**kinds, _COLLIDER: "Collider"}


def _shapes_by_kind() -> dict[str, list[str]]:
    """Return the shapes of every kind that can be added; a kind without shapes has one of its own name."""
    kinds = body_kinds()
    return {tag: list(SHAPES) if tag == _COLLIDER else list(kinds[tag].shapes) or [tag] for tag in _kinds()}


def new_object(
    kind: str, shape: str, data: Mapping[str, Any], low: Any, high: Any
) -> tuple[str, dict[str, Any]]:
    """Return the list of the scene and the entry for a new object, placed beside all others.

    Args:
        kind: Tag of a registered kind of bodies that has a template, or "collider".
        shape: One of its shapes.
        data: The scene.
        low: Lower corner of the bounding box of the scene [m], or None.
        high: Upper corner.
    """
    if shape not in _shapes_by_kind().get(kind, ()):
        raise InputError(f"a {shape} cannot be added as {_kinds().get(kind, kind).lower()}")
    name = _free_name(shape, data)
    beside = 0.0 if low is None else round(float(high[0]) + 0.75, 3)
    ground = 0.0 if low is None else round(float(low[1]), 3)
    position = [beside, ground + HALF_HEIGHTS.get(shape, 0.5), 0.0]
    if kind != _COLLIDER:
        return "bodies", body_kinds()[kind].new_entry(shape, name, position, ground)
    obstacle: dict[str, Any] = {"type": shape, "name": name}
    match shape:
        case "sphere":
            return "colliders", {**obstacle, "center": position, "radius": 0.5}
        case "box" | "cylinder":
            return "colliders", {**obstacle, "center": position}
    transform = {"translate": position}
    return "colliders", {"type": "mesh", "name": name, "mesh": MESHES[shape], "transform": transform}


def _free_name(base: str, data: Mapping[str, Any]) -> str:
    taken = {entry.get("name") for key in ("bodies", "colliders") for entry in data.get(key, [])}
    return next(name for name in [base, *(f"{base}-{n}" for n in range(2, 10_000))] if name not in taken)
