"""From a scene to a world: its bodies, joints and environment are made, and what changes is put on the calendar."""

from __future__ import annotations

from typing import Any

from continua.errors import InputError
from continua.numerics.progress import report_progress, stage
from continua.registry import body_kind
from continua.scene.build_changes import schedule_changes
from continua.scene.build_environment import build_collider, build_contact, build_wind
from continua.scene.build_rigid import build_joints
from continua.scene.models import Scene
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
    report_progress(1.0, "building the world")
    joints = build_joints(scene, bodies)
    with scene.at():
        colliders = [build_collider(scene, spec, "colliders", k) for k, spec in enumerate(scene.colliders)]
        contact, wind = build_contact(scene.contact), build_wind(scene)
    try:
        world = World(
            bodies,
            gravity=scene.gravity,
            dt=scene.dt,
            colliders=colliders,
            contact=contact,
            joints=joints,
            wind=wind,
            start_at_equilibrium=scene.start_at_equilibrium,
            fields=scene.output.fields,
            name=scene.name,
        )
    except InputError as error:
        with scene.at(*_named_body(scene, error)):
            raise
    schedule_changes(scene, world)
    return world


def _named_body(scene: Scene, error: InputError) -> tuple[str | int, ...]:
    """Return the key of the first body that an error names, or that of the scene."""
    named = [number for number, spec in enumerate(scene.bodies) if f"'{spec.name}'" in str(error)]
    return ("bodies", named[0]) if named else ()


def build_body(scene: Scene, number: int) -> Any:
    """Return body `number` of the scene, made as its kind is registered."""
    return body_kind(scene.bodies[number]).make(scene, number)
