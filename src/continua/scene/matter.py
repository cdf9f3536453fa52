"""What bodies are made of, and the bodies themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Tag

from continua.scene.integrators import Integrator
from continua.scene.motions import Drive, Pin, Pull, Push
from continua.scene.selectors import Where
from continua.scene.shapes import Mesh, Transform
from continua.scene.types import Color, Count, Model, Name, Number, Vector, by_type, option

__all__ = [
    "Body",
    "Corotated",
    "Damping",
    "Initial",
    "Linear",
    "Material",
    "NeoHookean",
    "Part",
    "Pcg",
    "SoftBody",
    "Solver",
    "StVenantKirchhoff",
    "StableNeoHookean",
]


class _Elastic(Model):
    young: Number = option("Young's modulus: how stiff it is.", 1e6, unit="Pa", gt=0, le=1e13)
    poisson: Number = option(
        "Poisson's ratio: how much it keeps its volume (0.5 would be all of it).", 0.3, gt=-1, lt=0.5
    )
    density: Number = option("Mass per volume at rest.", 1000.0, unit="kg/m³", gt=0, le=1e6)


class Corotated(_Elastic):
    """Linear elasticity in the rotated frame of each element: right for large turns and bends."""

    type: Literal["corotated"] = option("Corotated linear elasticity.")
    rotation: Literal["mean", "corner"] = option(
        "What a tetrahedron of order 2 or 3 takes its rotation from: its mean deformation, or its corners.",
        "mean",
    )


class Linear(_Elastic):
    """Linear elasticity: right for small turns only, and the fastest."""

    type: Literal["linear"] = option("Linear elasticity.")


class StVenantKirchhoff(_Elastic):
    """Hooke's law on Green's strain: large turns, moderate stretches."""

    type: Literal["st_venant_kirchhoff"] = option("St. Venant-Kirchhoff.")


class NeoHookean(_Elastic):
    """Rubber and tissue at large strains; resists being pressed flat ever more."""

    type: Literal["neo_hookean"] = option("Neo-Hookean.")


class StableNeoHookean(_Elastic):
    """Flesh: keeps its volume, and stays smooth when pressed flat or inside out."""

    type: Literal["stable_neo_hookean"] = option("Stable neo-Hookean.")


Material = Annotated[
    Annotated[Corotated, Tag("corotated")]
    | Annotated[Linear, Tag("linear")]
    | Annotated[StVenantKirchhoff, Tag("st_venant_kirchhoff")]
    | Annotated[NeoHookean, Tag("neo_hookean")]
    | Annotated[StableNeoHookean, Tag("stable_neo_hookean")],
    by_type("corotated", "linear", "st_venant_kirchhoff", "neo_hookean", "stable_neo_hookean"),
]


class Part(_Elastic):
    """A part of a body with constants of its own; the law is that of the body."""

    where: Where = option("Elements whose centres are chosen; node numbers cannot choose elements.")


class Damping(Model):
    """Rayleigh damping: the damping matrix is `mass` times the mass plus `stiffness` times the stiffness."""

    mass: Number = option("Slows all motion, like a thin medium.", 0.0, unit="1/s", ge=0, le=1e6)
    stiffness: Number = option(
        "Slows deformation only, the more the faster it is.", 0.0, unit="s", ge=0, le=1e6
    )


class Pcg(Model):
    """Conjugate gradients with a simple preconditioner."""

    type: Literal["pcg"] = option("Conjugate gradients.")
    rtol: Number = option("Residual to reach, relative to the right-hand side.", 1e-4, gt=0, lt=1)
    max_iterations: Count = option("Most iterations in a step.", 2000, ge=1, le=1_000_000)
    preconditioner: Literal["ssor", "jacobi"] = option(
        "Symmetric over-relaxation (fewer iterations) or the diagonal blocks only.", "ssor"
    )


Solver = Pcg


class Initial(Model):
    """How the body moves at time 0."""

    velocity: Vector = option("Velocity of the centre of mass.", (0.0, 0.0, 0.0), unit="m/s")
    angular_velocity: Vector = option(
        "Spin about the centre of mass, along the axis of spin.", (0.0, 0.0, 0.0), unit="rad/s"
    )


class SoftBody(Model):
    """An elastic solid on a mesh of tetrahedra."""

    type: Literal["soft"] = option("An elastic solid.")
    name: Name = option("Name of the body, different from all others.")
    mesh: Mesh = option("The shape.")
    transform: Transform | None = option("Where the shape is put.", None)
    material: Material = option("What it is made of.", Corotated(type="corotated"))
    parts: list[Part] = option("Parts of other constants; later ones win where they overlap.", [])
    order: Literal[1, 2, 3] = option("Polynomial degree of the elements.", 1)
    mass: Literal["consistent", "lumped"] = option("How mass is spread over the nodes.", "consistent")
    damping: Damping = option("How motion dies away.", Damping())
    integrator: Integrator = option(
        "How it is advanced in time: a word, or with constants of its own.", "implicit_euler"
    )
    newton: Count | None = option(
        "Most Newton iterations a step of an integrator given by a word; very soft bodies need more than 1.",
        None,
        ge=1,
        le=1000,
    )
    solver: Solver = option("How the linear systems are solved.", Pcg(type="pcg"))
    color: Color | None = option("Colour in plain pictures, as '#rrggbb'.", None)
    initial: Initial | None = option("Motion at time 0; at rest by default.", None)
    pin: list[Pin] = option("Nodes that are held.", [])
    drive: list[Drive] = option("Nodes that move as told.", [])
    push: list[Push] = option("Forces.", [])
    pull: list[Pull] = option("Springs to fixed targets.", [])


Body = SoftBody
