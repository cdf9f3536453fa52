"""Maps parameters of a running world to keys of its document, so that both stay consistent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from continua.environment import Wind
from continua.scene.laws import MODELS
from continua.studio.editor.document import Edit, Key

__all__ = ["edits_for_parameter", "parameter_at"]

_ATTACHMENT_ORDER = ("pin", "drive", "lock", "push", "press", "load_faces", "load_volume", "pull")
"""The order in which a scene adds boundary conditions to a body; the control panel numbers them so."""

_VALUES = {
    "push": "force",
    "press": "pressure",
    "load_faces": "traction",
    "load_volume": "force",
    "pull": "stiffness",
}
_GROUPS = ("material", "damping", "plasticity")


def _attachments(body: Mapping[str, Any]) -> list[tuple[str, int]]:
    return [(kind, number) for kind in _ATTACHMENT_ORDER for number in range(len(body.get(kind, [])))]


def parameter_at(path: Key, data: Mapping[str, Any]) -> str | None:
    """Return the key of the parameter that corresponds to `path` of the document, or None."""
    if path == ("gravity",):
        return "world/gravity"
    if len(path) < 3 or path[0] != "bodies" or not isinstance(path[1], int):
        return None
    body = data["bodies"][path[1]]
    match path[2:]:
        case (("friction" | "restitution") as name,) if body.get("type") == "rigid":
            return f"{body['name']}/{name}"
        case (str() as group, str() as name) if group in _GROUPS and name != "type":
            return f"{body['name']}/{group}/{name}"
        case ("parts", int() as part, str() as name):
            return f"{body['name']}/part/{part}/{name}"
        case (str() as kind, int() as number, str() as name) if _VALUES.get(kind) == name:
            if body[kind][number].get("course") is None and (kind, number) in _attachments(body):
                return f"{body['name']}/boundary/{_attachments(body).index((kind, number))}/{name}"
    return None


def edits_for_parameter(key: str, value: Any, data: Mapping[str, Any], wind: Wind | None) -> list[Edit]:
    """Return the edits of the document for a changed parameter; empty for parameters without a key in scenes.

    Args:
        key: The parameter.
        value: Its new value.
        data: The document.
        wind: The current wind of the world.
    """
    value = list(value) if isinstance(value, tuple) else value
    owner, _, rest = key.partition("/")
    if owner == "world":
        if rest.startswith("wind"):
            air = None if wind is None else asdict(wind)
            return [Edit("set", ("wind",), air and {**air, "velocity": [float(v) for v in air["velocity"]]})]
        return [Edit("set", (rest,), value)] if rest in ("gravity", "dt") else []
    bodies = data.get("bodies", [])
    number = next((n for n, body in enumerate(bodies) if body.get("name") == owner), None)
    if number is None:
        return []
    body, at = bodies[number], ("bodies", number)
    match rest.split("/"):
        case [("friction" | "restitution") as name]:
            return [Edit("set", (*at, name), value)]
        case [group, name] if group in _GROUPS:
            start = body.get(group) or (
                MODELS["corotated"].model_validate({"type": "corotated"}).model_dump()
                if group == "material"
                else {}
            )
            return [Edit("set", (*at, group), {**start, name: value})]
        case ["part", part, name] if int(part) < len(body.get("parts", [])):
            return [Edit("set", (*at, "parts", int(part), name), value)]
        case ["integrator"]:
            return [Edit("set", (*at, "integrator"), value)]
        case ["integrator", kind, name]:
            now = body.get("integrator")
            start = now if isinstance(now, dict) and now.get("type") == kind else {"type": kind}
            return [Edit("set", (*at, "integrator"), {**start, name: value})]
        case ["boundary", condition, name] if int(condition) < len(_attachments(body)):
            kind, index = _attachments(body)[int(condition)]
            if _VALUES.get(kind) == name and body[kind][index].get("course") is None:
                return [Edit("set", (*at, kind, index, name), value)]
    return []
