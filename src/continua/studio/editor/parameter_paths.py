"""Maps parameters of a running world to keys of its document, so that both stay consistent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from continua.environment import Wind
from continua.scene import Scene
from continua.scene import integrators as integrator_models
from continua.scene.laws import MODELS
from continua.studio.controls.parameters import models_by_type
from continua.studio.editor.document import Edit
from continua.world import World

__all__ = ["edits_for_parameter", "is_plane_flow", "obstacles_key", "same_lists", "split_parameters"]

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


def split_parameters(scene: Scene) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of the world that a scene describes by key, and all else that decides this world.

    Two scenes whose worlds are the same have equal results, whichever of their options are written out. A value of None
    is one that the world chooses itself.
    """
    rest = scene.model_dump(mode="json", exclude={"name", "description", "seconds", "output"})
    rest["fields"] = list(scene.output.fields)
    del rest["dt"]
    _, _, dt = World([], dt=scene.dt).frame_plan(scene.seconds, scene.fps)
    wind = rest.pop("wind")
    values: dict[str, Any] = {
        "world/gravity": rest.pop("gravity"),
        "world/dt": dt,
        "world/wind": wind is not None,
        **{f"world/wind/{name}": value for name, value in (wind or {}).items()},
    }
    for body in rest["bodies"]:
        match body["type"]:
            case "soft":
                values |= _split_soft(body)
            case "rigid":
                values |= {f"{body['name']}/{name}": body.pop(name) for name in ("friction", "restitution")}
    flow = next((body for body in rest["bodies"] if is_plane_flow(body)), None)
    if flow is not None:
        values[obstacles_key(flow["name"])] = flow.pop("obstacles")
    return values, rest


def is_plane_flow(body: Mapping[str, Any]) -> bool:
    """Return whether a body of a scene is a fluid on a 2D grid."""
    return "obstacles" in body and len(body.get("cells", ())) == 2


def obstacles_key(body: str) -> str:
    """Return the key under which `split_parameters` lists the obstacles of a 2D flow."""
    return f"{body}/obstacles"


def _split_soft(body: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a soft body and remove them from its data; lists keep their entries."""
    name, law = body["name"], body["material"]
    values: dict[str, Any] = {}
    body["material"] = {"type": law.pop("type")}
    values |= {f"{name}/material/{key}": value for key, value in law.items()}
    for number, part in enumerate(body["parts"]):
        own = {key: part.pop(key) for key in list(part) if key != "where"}
        given = {key: value for key, value in own.items() if value is not None}
        # a part has the constants of the body where it has none of its own
        values |= {f"{name}/part/{number}/{key}": value for key, value in {**law, **given}.items()}
    for group in ("damping", "plasticity"):
        if body[group] is not None:
            values |= {f"{name}/{group}/{key}": value for key, value in body[group].items()}
            body[group] = {}
    integrator = body.pop("integrator")
    if isinstance(integrator, str):  # `newton` beside one with constants is refused by the build
        model = models_by_type(integrator_models)[integrator]
        integrator = model.model_validate({"type": integrator}).model_dump()
        if body["newton"] is not None:
            integrator["newton"], body["newton"] = body["newton"], None
    kind = integrator.pop("type")
    values[f"{name}/integrator"] = kind
    values |= {f"{name}/integrator/{kind}/{key}": value for key, value in integrator.items()}
    for number, (condition, index) in enumerate(_attachments(body)):
        key = _VALUES.get(condition)
        entry = body[condition][index]
        if key is not None and entry.get("course") is None and entry.get("field") is None:
            values[f"{name}/boundary/{number}/{key}"] = entry.pop(key)
    return values


def same_lists(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether the parts and boundary conditions of two bodies have the same numbers."""
    return all(one.get(key) == other.get(key) for key in ("parts", *_ATTACHMENT_ORDER))


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
            return [Edit("remove", (*at, "newton")), Edit("set", (*at, "integrator"), value)]
        case ["integrator", kind, name]:
            now = body.get("integrator")
            start = now if isinstance(now, dict) and now.get("type") == kind else {"type": kind}
            if body.get("newton") is not None:  # it belongs to an integrator given by name
                start = {**start, "newton": body["newton"]}
            return [Edit("remove", (*at, "newton")), Edit("set", (*at, "integrator"), {**start, name: value})]
        case ["boundary", condition, name] if int(condition) < len(_attachments(body)):
            kind, index = _attachments(body)[int(condition)]
            if _VALUES.get(kind) == name and body[kind][index].get("course") is None:
                return [Edit("set", (*at, kind, index, name), value)]
    return []
