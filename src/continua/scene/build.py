"""From a scene to a world: its bodies, joints and surroundings are made, and what changes is put on the calendar."""

from __future__ import annotations

from functools import partial
from typing import Any

from continua import solids
from continua.errors import InputError
from continua.numerics.progress import stage, tell
from continua.registry import body_kind
from continua.scene import matter
from continua.scene.build_rigid import build_joints
from continua.scene.build_surroundings import build_collider, build_contact, build_wind
from continua.scene.models import Scene
from continua.solids.element_materials import with_constants
from continua.world import World

__all__ = ["build_body", "build_world"]


def build_world(scene: Scene) -> World:
    """Return the world that `scene` describes; `numerics.progress` tells which body is made.

    Args:
        scene: What to build.

    Raises:
        InputError: Something in the scene cannot be used; the message names file, line and key.
    """
    bodies = []
    count = len(scene.bodies)
    for number, spec in enumerate(scene.bodies):
        with stage(f"building {spec.name} ({number + 1} of {count})", number / count):
            bodies.append(build_body(scene, number))
    tell(1.0, "building the world")
    joints = build_joints(scene, bodies)
    with scene.at():
        world = World(
            bodies,
            gravity=scene.gravity,
            dt=scene.dt,
            colliders=[build_collider(scene, spec, "colliders", k) for k, spec in enumerate(scene.colliders)],
            contact=build_contact(scene.contact),
            joints=joints,
            wind=build_wind(scene),
            settled=scene.settled,
            fields=scene.output.fields,
            name=scene.name,
        )
    _schedule(scene, world)
    return world


def build_body(scene: Scene, number: int) -> Any:
    """Return body `number` of the scene, made as its kind is registered."""
    return body_kind(scene.bodies[number]).make(scene, number)


def _schedule(scene: Scene, world: World) -> None:
    """Put the changes of material on the world's calendar; at time 0 every changed body is as it was made."""
    first, later = [], []
    for index, change in enumerate(scene.changes):
        with scene.at("changes", index, "body"):
            body = world.body(change.body)
            spec = scene.bodies[world.bodies.index(body)]
            if not isinstance(spec, matter.SoftBody):
                raise InputError(f"body '{change.body}' is no soft body and has no material to change")
        with scene.at("changes", index, "part"):
            if change.part is not None and change.part >= len(spec.parts):
                raise InputError(
                    f"body '{change.body}' has {len(spec.parts)} parts, so no part {change.part}"
                )
        constants = change.model_dump(exclude={"time", "body", "part"}, exclude_none=True)
        with scene.at("changes", index):
            with_constants(body.material, constants)
        made = {key: getattr(body.material, key) for key in constants}
        if change.part is not None:
            own = spec.parts[change.part]
            made |= {key: value for key in constants if (value := getattr(own, key)) is not None}
        first.append((0.0, partial(_change, body, change.part, made)))
        later.append((change.time, partial(_change, body, change.part, constants)))
    for time, event in first + later:
        world.at(time, event)


def _change(body: solids.SoftBody, part: int | None, constants: dict[str, float], _: World) -> None:
    body.set_material(part=part, **constants)
