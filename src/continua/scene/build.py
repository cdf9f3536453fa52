"""From a scene to a world: its bodies, joints and environment are made, and what changes is put on the calendar."""

from __future__ import annotations

from functools import partial

from continua import solids
from continua.errors import InputError
from continua.grid_fluids import GridFluid
from continua.numerics.progress import report_progress, stage
from continua.rigid import RigidInstances
from continua.scene import fluids, grid_fluids, liquids, soft_bodies
from continua.scene.build_environment import build_collider, build_contact, build_wind
from continua.scene.build_fluid import build_fluid
from continua.scene.build_grid import build_grid_fluid
from continua.scene.build_rigid import build_joints, build_rigid
from continua.scene.build_soft import build_soft, transformed_mesh
from continua.scene.models import Scene
from continua.solids.element_materials import with_constants
from continua.sph import Fluid
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
        world = World(
            bodies,
            gravity=scene.gravity,
            dt=scene.dt,
            colliders=[build_collider(scene, spec, "colliders", k) for k, spec in enumerate(scene.colliders)],
            contact=build_contact(scene.contact),
            joints=joints,
            wind=build_wind(scene),
            start_at_equilibrium=scene.start_at_equilibrium,
            fields=scene.output.fields,
            name=scene.name,
        )
    _schedule(scene, world)
    return world


def build_body(scene: Scene, number: int) -> solids.SoftBody | RigidInstances | Fluid | GridFluid:
    """Return body `number` of the scene."""
    match scene.bodies[number]:
        case soft_bodies.SoftBody():
            return build_soft(scene, number)
        case fluids.Fluid() as spec:
            return build_fluid(
                scene, number, None if spec.mesh is None else transformed_mesh(scene, number, spec)
            )
        case grid_fluids.Smoke() | grid_fluids.WindTunnel() | liquids.Liquid():
            return build_grid_fluid(scene, number)
    return build_rigid(scene, number)


def _schedule(scene: Scene, world: World) -> None:
    """Put the changes of material on the world's calendar; at time 0 every changed body is as it was made."""
    first, later = [], []
    for index, change in enumerate(scene.changes):
        with scene.at("changes", index, "body"):
            body = world.body(change.body)
            spec = scene.bodies[world.bodies.index(body)]
            if not isinstance(spec, soft_bodies.SoftBody):
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
        world.schedule(time, event)


def _change(body: solids.SoftBody, part: int | None, constants: dict[str, float], _: World) -> None:
    body.set_material(part=part, **constants)
