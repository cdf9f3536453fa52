"""The laws that bodies of a scene can be made of, with their constants."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Tag

from continua.scene.types import Model, Number, Vector, by_type, option

__all__ = [
    "Corotated",
    "CorotatedExactTangent",
    "EditingMaterial",
    "FiberReinforced",
    "Linear",
    "Material",
    "Muscle",
    "NeoHookean",
    "SplineHyperelastic",
    "StVenantKirchhoff",
    "StableNeoHookean",
]


class _Elastic(Model):
    young: Number = option(
        "Young's modulus: how stiff it is; 0 is matter without strength.", 1e6, unit="Pa", ge=0, le=1e13
    )
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


class CorotatedExactTangent(_Elastic):
    """The corotated energy with its exact tangent: for Newton at large strains, and for collapse."""

    type: Literal["corotated_exact_tangent"] = option("Rotated linear elasticity.")


class SplineHyperelastic(_Elastic):
    """Soft tissue: soft for small strains, stiffer beyond."""

    type: Literal["spline_hyperelastic"] = option("The spline law of soft tissue.")
    hardening_strain: Number = option("Strain from which it has its full stiffness.", 0.5, gt=0, le=100)
    hardening: Number = option("How many times stiffer it is there than at rest.", 7.0, gt=0, le=1e6)
    compression_strain: Number | None = option(
        "The same strain when pressed; as when pulled by default.", None, gt=0, le=100
    )
    compression_hardening: Number | None = option(
        "How many times stiffer when pressed; as when pulled by default.", None, gt=0, le=1e6
    )


class FiberReinforced(_Elastic):
    """A stable neo-Hookean matrix with one or two families of fibres."""

    type: Literal["fiber_reinforced"] = option("Fibre-reinforced.")
    fiber: Vector = option("Direction of the fibres at rest.", (1.0, 0.0, 0.0))
    fiber_stiffness: Number = option(
        "What the fibres add to Young's modulus in their direction.", 1e6, unit="Pa", ge=0, le=1e13
    )
    second_fiber: Vector | None = option("Direction of a second family.", None)
    second_stiffness: Number = option(
        "What the second family adds in its direction.", 0.0, unit="Pa", ge=0, le=1e13
    )


class Muscle(_Elastic):
    """Muscle: a Mooney-Rivlin matrix that keeps its volume, with fibres that pull when they are activated."""

    type: Literal["muscle"] = option("Mooney-Rivlin muscle.")
    young: Number = option("Young's modulus of the matrix.", 6e4, unit="Pa", gt=0, le=1e13)
    poisson: Number = option("Poisson's ratio of the matrix.", 0.49, gt=-1, lt=0.5)
    density: Number = option("Mass per volume at rest.", 1060.0, unit="kg/m³", gt=0, le=1e6)
    second_invariant: Number = option(
        "Part of the shear stiffness that the second invariant bears; 0 is neo-Hookean.", 0.25, ge=0, le=1
    )
    fiber: Vector = option("Direction of the fibres at rest.", (1.0, 0.0, 0.0))
    activation: Number = option("How much of the active force is called.", 0.0, ge=0, le=1)
    strength: Number = option("Largest active stress of the fibres.", 3e5, unit="Pa", ge=0, le=1e13)
    optimum: Number = option("Stretch at which the active force is largest.", 1.4, ge=0.2, le=5)


class EditingMaterial(Model):
    """For editing shapes and images: no contraction across a pull; parts turn rather than shear, or the reverse."""

    type: Literal["editing_material"] = option("Shape keeping.")
    young: Number = option("Young's modulus: how stiff it is.", 1e6, unit="Pa", gt=0, le=1e13)
    density: Number = option("Mass per volume at rest.", 1000.0, unit="kg/m³", gt=0, le=1e6)
    shear: Number = option(
        "Stiffness against shear over that of Hooke's law; above 1 parts rather turn.", 3.0, gt=0, le=1e6
    )


Material = Annotated[
    Annotated[Corotated, Tag("corotated")]
    | Annotated[Linear, Tag("linear")]
    | Annotated[CorotatedExactTangent, Tag("corotated_exact_tangent")]
    | Annotated[StVenantKirchhoff, Tag("st_venant_kirchhoff")]
    | Annotated[NeoHookean, Tag("neo_hookean")]
    | Annotated[StableNeoHookean, Tag("stable_neo_hookean")]
    | Annotated[SplineHyperelastic, Tag("spline_hyperelastic")]
    | Annotated[FiberReinforced, Tag("fiber_reinforced")]
    | Annotated[Muscle, Tag("muscle")]
    | Annotated[EditingMaterial, Tag("editing_material")],
    by_type(
        "corotated",
        "linear",
        "corotated_exact_tangent",
        "st_venant_kirchhoff",
        "neo_hookean",
        "stable_neo_hookean",
        "spline_hyperelastic",
        "fiber_reinforced",
        "muscle",
        "editing_material",
    ),
]
