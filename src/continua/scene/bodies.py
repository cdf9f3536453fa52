"""The kinds of bodies that scene files have: those of Continua, and those that others have registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from continua.registry import BodyKind, body_kinds, register_body
from continua.scene.cloth import Cloth
from continua.scene.fluids import Fluid
from continua.scene.grid_fluids import Smoke, WindTunnel
from continua.scene.liquids import Liquid
from continua.scene.rigid import RigidBody
from continua.scene.shell import Shell
from continua.scene.soft_bodies import SoftBody
from continua.scene.springs import PositionBased, Springs
from continua.scene.types import by_type

__all__ = ["Body", "body_union"]

_KINDS = (
    BodyKind(
        tag="soft",
        model=SoftBody,
        label="Soft body",
        build="continua.scene.build_soft:build_soft",
        describe="continua.scene.build_soft:describe_soft",
        estimate="continua.scene.cost:estimate_soft",
        template="continua.scene.templates:soft_body",
        shapes=("box", "sphere", "cylinder", "torus", "cone", "parametric"),
    ),
    BodyKind(
        tag="cloth",
        model=Cloth,
        label="Cloth",
        build="continua.scene.build_cloth:build_cloth",
        describe="continua.scene.build_cloth:describe_cloth",
        estimate="continua.scene.build_cloth:estimate_cloth",
        template="continua.scene.templates:cloth",
        shapes=("sheet", "tube", "balloon"),
    ),
    BodyKind(
        tag="shell",
        model=Shell,
        label="Shell",
        build="continua.scene.build_shell:build_shell",
        describe="continua.scene.build_shell:describe_shell",
        estimate="continua.scene.build_shell:estimate_shell",
        template="continua.scene.templates:shell",
        shapes=("plate", "pipe"),
    ),
    BodyKind(
        tag="rigid",
        model=RigidBody,
        label="Rigid body",
        build="continua.scene.build_rigid:build_rigid",
        describe="continua.scene.build_rigid:describe_rigid",
        template="continua.scene.templates:rigid_body",
        shapes=("box", "sphere", "cylinder", "torus", "parametric"),
    ),
    BodyKind(
        tag="springs",
        model=Springs,
        label="Springs",
        build="continua.scene.build_springs:build_springs",
        describe="continua.scene.build_springs:describe_springs",
        template="continua.scene.templates:springs",
        shapes=("lattice", "sheet", "rope"),
    ),
    BodyKind(
        tag="position_based",
        model=PositionBased,
        label="Position-based body",
        build="continua.scene.build_springs:build_position_based",
        describe="continua.scene.build_springs:describe_springs",
        template="continua.scene.templates:position_based",
        shapes=("lattice", "sheet", "rope"),
    ),
    BodyKind(
        tag="fluid",
        model=Fluid,
        label="Fluid",
        build="continua.scene.build_fluid:build_fluid",
        describe="continua.scene.build_fluid:describe_fluid",
        estimate="continua.scene.cost:estimate_fluid",
        template="continua.scene.templates:fluid",
        shapes=("box", "sphere", "cylinder", "torus", "cone", "parametric"),
    ),
    *(
        BodyKind(
            tag=tag,
            model=model,
            build="continua.scene.build_grid:build_grid_fluid",
            label=label,
            describe="continua.scene.build_grid:describe_grid_fluid",
            estimate="continua.scene.cost:estimate_grid_fluid",
            template=f"continua.scene.templates:{tag}",
        )
        for tag, model, label in (
            ("smoke", Smoke, "Smoke"),
            ("liquid", Liquid, "Grid liquid"),
            ("wind_tunnel", WindTunnel, "Wind tunnel"),
        )
    ),
)
for _kind in _KINDS:
    register_body(_kind)


def body_union() -> Any:
    """Return the union of the models of all registered kinds, told apart by their `type`."""
    kinds = body_kinds()
    models = tuple(Annotated[kind.model, Tag(tag)] for tag, kind in kinds.items())
    return Annotated[Union[models], by_type(*kinds)]  # noqa: UP007, the members are only known now


class _AnyBody:
    """Lets pydantic make the schema of a body from the registry, whenever the model of scenes is built."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(body_union())


if TYPE_CHECKING:
    Body = Any
else:
    Body = Annotated[Any, _AnyBody()]
