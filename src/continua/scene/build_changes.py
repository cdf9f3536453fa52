"""Changes of a scene's bodies while it runs: other constants of materials, finer meshes, and cuts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua import solids
from continua.cutting import CutSurface
from continua.deformable.element_materials import with_constants
from continua.errors import InputError
from continua.mesh import SurfaceMesh, TetMesh, faces_between
from continua.mesh.files import read
from continua.scene import environment, soft_bodies
from continua.scene.build_selection import select, select_parts
from continua.scene.models import Scene
from continua.world import World

__all__ = ["schedule_changes"]

Event = Callable[[World], Any]


def schedule_changes(scene: Scene, world: World) -> None:
    """Schedule the changes of a scene; at time 0 the materials of all changed bodies are as they were made."""
    first: list[tuple[float, Event]] = []
    later: list[tuple[float, Event]] = []
    for index, change in enumerate(scene.changes):
        with scene.at("changes", index, "body"):
            body = world.body(change.body)
            if not isinstance(body, solids.SoftBody):
                raise InputError(f"body '{change.body}' is no soft body and cannot be changed")
        match change:
            case environment.Refinement():
                later.append((change.time, _refinement(scene, index, body, change)))
            case environment.Cut():
                later.append((change.time, _surface_cut(scene, index, body, change)))
            case environment.Split():
                later.append((change.time, _split(scene, index, body, change)))
            case _:
                before, after = _material(scene, index, body, change)
                first.append((0.0, before))
                later.append((change.time, after))
    for time, event in first + later:
        world.schedule(time, event)


def _material(
    scene: Scene, index: int, body: solids.SoftBody, change: environment.MaterialChange
) -> tuple[Event, Event]:
    """Return the event that sets the constants back to those of the scene, and the one that changes them."""
    spec = next(spec for spec in scene.bodies if spec.name == change.body)
    assert isinstance(spec, soft_bodies.SoftBody)
    with scene.at("changes", index, "part"):
        if change.part is not None and change.part >= len(spec.parts):
            raise InputError(f"body '{change.body}' has {len(spec.parts)} parts, so no part {change.part}")
    constants = change.model_dump(exclude={"type", "time", "body", "part"}, exclude_none=True)
    with scene.at("changes", index):
        with_constants(body.material, constants)
    made = {key: getattr(body.material, key) for key in constants}
    if change.part is not None:
        own = spec.parts[change.part]
        made |= {key: value for key in constants if (value := getattr(own, key)) is not None}
    return partial(_set_material, body, change.part, made), partial(
        _set_material, body, change.part, constants
    )


def _set_material(body: solids.SoftBody, part: int | None, constants: dict[str, float], _: World) -> None:
    body.set_material(part=part, **constants)


def _refinement(scene: Scene, index: int, body: solids.SoftBody, change: environment.Refinement) -> Event:
    with scene.at("changes", index, "body"):
        if not isinstance(body.mesh, TetMesh):
            raise InputError(f"body '{body.name}' is not made of tetrahedra; only these can be refined")
    _elements(scene, index, body, change.where)
    return partial(_refine, body, change.where)


def _split(scene: Scene, index: int, body: solids.SoftBody, change: environment.Split) -> Event:
    chosen = _elements(scene, index, body, change.where)
    with scene.at("changes", index, "where"):
        if not len(faces_between(body.mesh, chosen)):
            raise InputError(f"selects whole parts of '{body.name}', so there is nothing to cut; select less")
    return partial(_cut, body, change.where)


def _surface_cut(scene: Scene, index: int, body: solids.SoftBody, change: environment.Cut) -> Event:
    spec, key = change.surface, ("changes", index, "surface")
    with scene.at(*key):
        match spec:
            case environment.CutPlane():
                surface = CutSurface.plane(spec.point, spec.normal)
            case environment.CutSweep():
                surface = CutSurface.swept(spec.curve, spec.direction, closed=spec.closed)
            case _:
                mesh = read(scene.file(spec.path), images=False)
                if not isinstance(mesh, SurfaceMesh):
                    raise InputError(f"{spec.path} is no surface; a cut takes one such as OBJ, STL or PLY")
                surface = CutSurface.mesh(mesh)
    with scene.at("changes", index, "body"):
        if not isinstance(body.mesh, TetMesh) or body.order != 1:
            raise InputError(f"body '{body.name}' is not made of tetrahedra of order 1; only these are cut")
    with scene.at(*key):
        if not surface.meets(body.mesh):
            raise InputError(f"does not meet the undeformed body '{body.name}'")
    return partial(_cut_along, body, surface, change.integration)


def _cut_along(body: solids.SoftBody, surface: CutSurface, integration: str, _: World) -> None:
    body.cut(surface, integration=integration)


def _refine(body: solids.SoftBody, where: Any, _: World) -> None:
    body.refine(partial(_mask, where, body))


def _cut(body: solids.SoftBody, where: Any, _: World) -> None:
    body.split(partial(_mask, where, body))


def _elements(scene: Scene, index: int, body: solids.SoftBody, where: Any) -> NDArray[np.intp]:
    """Return the elements that a selector chooses before anything has changed, which must be at least one."""
    mesh, key = body.mesh, ("changes", index, "where")
    chosen = select_parts(scene, key, where, mesh, mesh.points[mesh.cells].mean(axis=1), "element")
    if not isinstance(chosen, str):
        return chosen
    with scene.at(*key):
        if chosen not in mesh.regions:
            known = ", ".join(mesh.regions) or "none"
            raise InputError(f"the mesh of '{body.name}' has no region '{chosen}' (it has: {known})")
    return np.asarray(mesh.regions[chosen], np.intp)


def _mask(where: Any, body: solids.SoftBody, centers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which elements of the present mesh, with these centres at rest [m, 3], a selector chooses."""
    chosen = select(where, body.mesh, centers)
    mask = np.zeros(len(centers), np.bool_)
    mask[body.mesh.regions[chosen] if isinstance(chosen, str) else chosen] = True
    return mask
