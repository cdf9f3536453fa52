"""Stiff sheets of a scene: placed, held and loaded."""

from __future__ import annotations

from typing import Any

from continua import shells
from continua.errors import InputError
from continua.registry import BodyCost, BodySummary
from continua.scene import shell
from continua.scene.build_cloth import as_sheet, cloth_sheet, estimate_sheet
from continua.scene.build_environment import rgb
from continua.scene.build_selection import select
from continua.scene.build_soft import attach_conditions, build_integrator, build_law, build_paint, build_part
from continua.scene.models import Scene
from continua.scene.solvers import build_solver

__all__ = ["build_shell", "describe_shell", "estimate_shell"]


def build_shell(scene: Scene, number: int) -> shells.Shell:
    """Return shell `number` of the scene."""
    spec = scene.bodies[number]
    assert isinstance(spec, shell.Shell)
    surface = cloth_sheet(scene, number)
    with scene.at("bodies", number, "material"):
        law = build_law(spec.material)
    clamped = None
    with scene.at("bodies", number):
        sheet = as_sheet(surface, spec.thickness)
    if spec.clamped is not None:
        with scene.at("bodies", number, "clamped"):
            clamped = select(spec.clamped, sheet, sheet.points)
            if len(clamped) == 0:
                raise InputError(f"selects no node of shell '{spec.name}'")
    with scene.at("bodies", number):
        if spec.damping.rotated > 0.0:
            raise InputError("a shell has no rotated damping; give its damping as 'mass' and 'stiffness'")
        body = shells.Shell(
            surface,
            law,
            thickness=spec.thickness,
            clamped=clamped,
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
    attach_conditions(scene, number, body.mesh, body)
    if spec.initial is not None:
        with scene.at("bodies", number, "initial"):
            body.set_velocity(spec.initial.velocity, spec.initial.angular_velocity)
    return body


def describe_shell(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of a shell."""
    sheet = as_sheet(cloth_sheet(scene, number), None)
    law: Any = scene.bodies[number].material
    return BodySummary(
        f"{sheet.element_count:,} triangles",
        3 * sheet.node_count,
        f"{law.type}, E = {law.young:.3g} Pa, nu = {getattr(law, 'poisson', 0.0):g}, {law.density:g} kg/m³",
        "1",
        MEMORY_PER_NODE * sheet.node_count,
    )


MEMORY_PER_NODE = 40_000.0
"""Bytes per node of a shell and its solver."""


def estimate_shell(scene: Scene, number: int) -> BodyCost | None:
    """Return the cost of a shell whose number of triangles is known before it is made."""
    return estimate_sheet(scene.bodies[number].mesh, MEMORY_PER_NODE, 1e-3)
