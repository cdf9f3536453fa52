"""Selectors of nodes, faces and elements: the `where` of constraints, loads and parts."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, Tag

from continua.scene.types import Direction, Model, Number, Text, Vector, by_type, option

__all__ = [
    "SIDES",
    "BoxSelector",
    "FacesSelector",
    "HalfSpaceSelector",
    "NodesSelector",
    "RegionSelector",
    "Side",
    "SphereSelector",
    "Where",
]

Side = Literal["all", "left", "right", "bottom", "top", "back", "front"]
SIDES: tuple[str, ...] = get_args(Side)


class BoxSelector(Model):
    """Nodes inside an axis-aligned box (including its faces)."""

    type: Literal["box"] = option("Nodes inside a box.")
    min: Vector = option("Corner with the smallest coordinates.", unit="m")
    max: Vector = option("Corner with the largest coordinates.", unit="m")


class SphereSelector(Model):
    """Nodes inside a ball (including its surface)."""

    type: Literal["sphere"] = option("Nodes inside a ball.")
    center: Vector = option("Centre.", unit="m")
    radius: Number = option("Radius.", unit="m", gt=0)


class HalfSpaceSelector(Model):
    """Nodes behind a plane, on the side opposite to its normal (including the plane)."""

    type: Literal["half_space"] = option("Nodes behind a plane.")
    point: Vector = option("A point of the plane.", unit="m")
    normal: Direction = option("Normal, which points away from the selected nodes.")


class NodesSelector(Model):
    """Nodes by index."""

    type: Literal["nodes"] = option("Nodes by index.")
    nodes: list[Annotated[int, Field(strict=True, ge=0)]] = option(
        "Indices of nodes of the mesh, from 0.", min_length=1, max_length=100_000
    )


class FacesSelector(Model):
    """Faces of the surface by index, for loads on faces."""

    type: Literal["faces"] = option("Faces by index.")
    faces: list[Annotated[int, Field(strict=True, ge=0)]] = option(
        "Indices of faces of the surface, from 0.", min_length=1, max_length=100_000
    )


class RegionSelector(Model):
    """Nodes of the elements of a named region of the mesh file (a Gmsh physical group)."""

    type: Literal["region"] = option("Nodes of a named region of the mesh.")
    region: Text = option("Name of the region.")


Where = Annotated[
    Annotated[Side, Tag("word")]
    | Annotated[BoxSelector, Tag("box")]
    | Annotated[SphereSelector, Tag("sphere")]
    | Annotated[HalfSpaceSelector, Tag("half_space")]
    | Annotated[NodesSelector, Tag("nodes")]
    | Annotated[FacesSelector, Tag("faces")]
    | Annotated[RegionSelector, Tag("region")],
    by_type("word", "box", "sphere", "half_space", "nodes", "faces", "region"),
]
