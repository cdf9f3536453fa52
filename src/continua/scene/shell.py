"""Stiff sheets of a scene."""

from __future__ import annotations

from typing import Literal

from continua.scene.cloth import Sheet, SheetRectangle
from continua.scene.integrators import Integrator
from continua.scene.laws import MODELS, Material
from continua.scene.loads import LoadFaces, LoadVolume, Press, Push
from continua.scene.motions import Drive, Lock, Pin, Pull
from continua.scene.selectors import Where
from continua.scene.shapes import Transform
from continua.scene.soft_bodies import Damping, Initial, Paint, Part
from continua.scene.solvers import Solver
from continua.scene.types import Color, Count, Model, Name, Number, option

__all__ = ["Shell"]


class Shell(Model):
    """A stiff sheet, flat or curved: bending follows from Young's modulus, Poisson's ratio and the thickness."""

    type: Literal["shell"] = option("A stiff sheet.")
    name: Name = option("Name of the body, different from all others.")
    mesh: Sheet = option("The sheet at rest.", SheetRectangle(type="sheet"))
    transform: Transform | None = option("Scale, rotation and position of the mesh.", None)
    material: Material = option(
        "An isotropic law in the plane of the sheet.",
        MODELS["st_venant_kirchhoff"].model_validate(
            {"type": "st_venant_kirchhoff", "young": 1e9, "density": 1000.0}
        ),
    )
    thickness: Number = option("Thickness.", 1e-3, unit="m", gt=0, le=10)
    clamped: Where | None = option(
        "Fixed nodes; boundary edges between them keep their tangent plane as well.", None
    )
    parts: list[Part] = option(
        "Parts with other constants of `material`; later ones override earlier ones where they overlap.", []
    )
    mass: Literal["consistent", "lumped"] = option("Consistent or lumped mass matrix.", "lumped")
    damping: Damping = option("Damping.", Damping())
    friction: Number | None = option(
        "Coulomb friction coefficient; by default that of `contact`.", None, ge=0, le=100
    )
    restitution: Number | None = option(
        "Coefficient of restitution; by default that of `contact`.", None, ge=0, le=1
    )
    integrator: Integrator = option(
        "Time integrator: its name, or a mapping with its constants.", "implicit_euler"
    )
    newton: Count | None = option(
        "Maximum number of Newton iterations per step of an integrator given by name.", None, ge=1, le=1000
    )
    solver: Solver = option("Linear solver: its name, or a mapping with its options.", "direct")
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)
    paint: Paint | None = option("A pattern on the sheet; `color: paint` shows it.", None)
    initial: Initial | None = option("Motion at time 0; at rest by default.", None)
    pin: list[Pin] = option("Fixed nodes, around which the sheet may turn.", [])
    drive: list[Drive] = option("Nodes with a prescribed motion.", [])
    lock: list[Lock] = option("Nodes fixed or driven along one direction.", [])
    push: list[Push] = option("Forces on nodes.", [])
    press: list[Press] = option("Pressure on faces.", [])
    load_faces: list[LoadFaces] = option("Traction on faces.", [])
    load_volume: list[LoadVolume] = option("Body forces.", [])
    pull: list[Pull] = option("Springs to fixed targets.", [])
