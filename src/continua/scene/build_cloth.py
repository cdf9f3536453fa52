"""Cloth of a scene: its sheet placed, held and loaded."""

from __future__ import annotations

from typing import Any

import continua.mesh as meshes
from continua import materials, shells
from continua.errors import InputError
from continua.registry import BodyCost, BodySummary
from continua.scene import cloth, shell
from continua.scene.build_environment import rgb
from continua.scene.build_mesh import build_surface
from continua.scene.build_soft import (
    attach_conditions,
    build_integrator,
    build_law,
    build_paint,
    build_part,
)
from continua.scene.models import Scene
from continua.scene.shapes import DistanceFieldSpec
from continua.scene.solvers import build_solver

__all__ = ["as_sheet", "build_cloth", "cloth_sheet", "cloth_surface", "describe_cloth", "estimate_cloth"]


def _spec(scene: Scene, number: int) -> cloth.Cloth:
    spec = scene.bodies[number]
    assert isinstance(spec, cloth.Cloth)
    return spec


def cloth_surface(scene: Scene, number: int) -> meshes.SurfaceMesh:
    """Return the placed surface of cloth or shell `number` of the scene."""
    sheet = cloth_sheet(scene, number)
    return meshes.SurfaceMesh(sheet.points, sheet.cells) if isinstance(sheet, shells.SheetMesh) else sheet


def cloth_sheet(scene: Scene, number: int) -> meshes.SurfaceMesh | shells.SheetMesh:
    """Return the placed sheet of cloth or shell `number` of the scene."""
    spec = scene.bodies[number]
    assert isinstance(spec, cloth.Cloth | shell.Shell)
    with scene.at("bodies", number, "mesh"):
        surface, _ = build_surface(spec.mesh, DistanceFieldSpec(), spec.transform, scene)
        if not isinstance(surface, meshes.SurfaceMesh | shells.SheetMesh):
            raise InputError(
                f"cloth is made of a surface, and this is a mesh of {surface.NAME}; take a surface"
            )
    return surface


def as_sheet(surface: meshes.SurfaceMesh | shells.SheetMesh, thickness: float | None) -> shells.SheetMesh:
    """Return a surface as a sheet."""
    if isinstance(surface, shells.SheetMesh):
        return surface
    return shells.SheetMesh.from_surface(surface, thickness or 1e-3)


def build_cloth(scene: Scene, number: int) -> shells.Cloth:
    """Return cloth `number` of the scene."""
    spec = _spec(scene, number)
    surface = cloth_sheet(scene, number)
    with scene.at("bodies", number, "material" if spec.fabric is None else "fabric"):
        law = build_law(spec.material) if spec.fabric is None else _fabric(spec.fabric)
    bending: Any = spec.bending
    with scene.at("bodies", number):
        sheet = as_sheet(surface, spec.thickness)
        body = shells.Cloth(
            surface,
            law,
            thickness=spec.thickness,
            model=shells.ClothSprings(**spec.springs.model_dump()) if spec.model == "springs" else "membrane",
            inextensible=spec.inextensible,
            bending=shells.Bending(**bending.model_dump()),
            warp=spec.warp,
            parts=[build_part(scene, number, index, sheet, law) for index in range(len(spec.parts))],
            name=spec.name,
            mass=spec.mass,
            damping=(spec.damping.mass, spec.damping.stiffness),
            friction=spec.friction,
            restitution=spec.restitution,
            integrator=build_integrator(spec.integrator),
            newton=spec.newton,
            solver=build_solver(spec.solver),
            color=None if spec.color is None else rgb(spec.color),
            paint=None if spec.paint is None else build_paint(spec.paint, scene),
        )
        if spec.damping.rotated > 0.0:
            raise InputError("cloth has no rotated damping; give its damping as 'mass' and 'stiffness'")
    if spec.inflate is not None:
        with scene.at("bodies", number, "inflate"):
            body.inflate(spec.inflate.pressure, gas=spec.inflate.gas)
    attach_conditions(scene, number, body.mesh, body)
    if spec.initial is not None:
        with scene.at("bodies", number, "initial"):
            body.set_velocity(spec.initial.velocity, spec.initial.angular_velocity)
    return body


def _fabric(spec: cloth.Fabric) -> materials.Law:
    given = spec.model_dump(exclude={"like"}, exclude_none=True)
    return materials.Fabric(**given) if spec.like is None else materials.Fabric.measured(spec.like, **given)


def describe_cloth(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of cloth."""
    spec, surface = _spec(scene, number), cloth_surface(scene, number)
    law: Any = spec.material
    if spec.fabric is None:
        material = f"{law.type}, E = {law.young:.3g} Pa, {law.density:g} kg/m³"
    else:
        fabric: Any = _fabric(spec.fabric)
        material = f"fabric, {fabric.warp:.3g} and {fabric.weft:.3g} N/m, {fabric.area_density:g} kg/m²"
    return BodySummary(
        f"{surface.triangle_count:,} triangles",
        3 * surface.node_count,
        material,
        "1",
        MEMORY_PER_NODE * surface.node_count,
    )


MEMORY_PER_NODE = 9000.0
"""Bytes per node of a sheet and its solver."""

_SECONDS_PER_NODE = 1e-4


def estimate_cloth(scene: Scene, number: int) -> BodyCost | None:
    """Return the cost of cloth whose number of triangles is known before it is made."""
    return estimate_sheet(_spec(scene, number).mesh, MEMORY_PER_NODE, _SECONDS_PER_NODE)


def estimate_sheet(mesh: Any, bytes_per_node: float, seconds_per_node: float) -> BodyCost | None:
    """Return the cost of a sheet whose number of triangles is known before it is made."""
    cells = getattr(mesh, "cells", None)
    if cells is not None:
        nodes = 10.0 * cells**2 if isinstance(cells, int) else float(cells[0]) * cells[1]
    elif isinstance(mesh, cloth.SheetPatterns):
        nodes = 0.0
        for piece in mesh.patterns:
            x, y = zip(*piece.outline, strict=True)
            nodes += 1.15 * (max(x) - min(x)) * (max(y) - min(y)) / mesh.size**2
    else:
        return None
    return BodyCost(2.0 * nodes, "triangles", bytes_per_node * nodes, seconds_per_node * nodes)
