"""Fluids on grids of a scene."""

from __future__ import annotations

import math
from typing import Any

from continua.grid_fluids import GridFluid, Inflow, Liquid, Smoke, WindTunnel
from continua.grid_fluids.geometry.grid import BYTES_PER_CELL
from continua.registry import BodySummary
from continua.scene import grid_fluids, liquids
from continua.scene.build_environment import build_collider, rgb, to_inf
from continua.scene.models import Scene

__all__ = ["build_grid_fluid", "describe_grid_fluid"]

_SAME = (
    "name",
    "size",
    "cells",
    "origin",
    "density",
    "viscosity",
    "slip",
    "scheme",
    "precision",
    "rtol",
    "cfl",
)
_SMOKE = ("expansion", "weight", "confinement", "fade", "cooling")
_LIQUID = (
    "name", "size", "cells", "origin", "velocity", "density", "viscosity", "surface_tension",
    "contact_angle", "flip", "seed", "detail", "rtol", "cfl", "precision",
)  # fmt: skip
_TUNNEL = ("speed", "walls", "streaks")


def build_grid_fluid(scene: Scene, number: int) -> GridFluid:
    """Return the grid fluid that is body `number` of the scene."""
    spec = scene.bodies[number]
    assert isinstance(spec, grid_fluids.Smoke | grid_fluids.WindTunnel | liquids.Liquid)
    key = ("bodies", number)
    obstacles = [build_collider(scene, item, *key, "obstacles", k) for k, item in enumerate(spec.obstacles)]
    given = {"obstacles": obstacles, "color": None if spec.color is None else rgb(spec.color)}
    if isinstance(spec, liquids.Liquid):
        return _liquid(scene, number, spec, given)
    same = {name: getattr(spec, name) for name in _SAME} | given
    if isinstance(spec, grid_fluids.WindTunnel):
        with scene.at(*key):
            return WindTunnel(**same, **{name: getattr(spec, name) for name in _TUNNEL})
    inflow = []
    for k, source in enumerate(spec.inflow):
        place = build_collider(scene, source.shape, *key, "inflow", k, "shape")
        with scene.at(*key, "inflow", k):
            stop = to_inf(source.stop)
            inflow.append(
                Inflow(
                    place,
                    smoke=source.smoke,
                    temperature=source.temperature,
                    velocity=source.velocity,
                    start=source.start,
                    stop=stop,
                )
            )
    with scene.at(*key):
        return Smoke(
            **same, inflow=inflow, sides=_sides(spec), **{name: getattr(spec, name) for name in _SMOKE}
        )


def describe_grid_fluid(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of a grid fluid."""
    spec = scene.bodies[number]
    count = math.prod(spec.cells)
    viscosity = "" if isinstance(spec, liquids.Liquid) else f"{spec.viscosity:g} Pa s, "
    return BodySummary(
        f"{count:,} cells",
        (len(spec.cells) + 1) * count,
        f"{spec.type.replace('_', ' ')}, {viscosity}{spec.density:g} kg/m³",
        memory=count * BYTES_PER_CELL,
    )


def _sides(spec: grid_fluids.Smoke | liquids.Liquid) -> dict[str, Any]:
    sides = spec.sides.model_dump()
    return sides if len(spec.cells) == 3 else {k: v for k, v in sides.items() if k not in ("back", "front")}


def _liquid(scene: Scene, number: int, spec: liquids.Liquid, given: dict[str, Any]) -> Liquid:
    key = ("bodies", number)
    inflow = []
    for k, source in enumerate(spec.inflow):
        place = build_collider(scene, source.shape, *key, "inflow", k, "shape")
        with scene.at(*key, "inflow", k):
            stop = to_inf(source.stop)
            inflow.append(Inflow(place, velocity=source.velocity, start=source.start, stop=stop))
    filled, drains = (
        [build_collider(scene, item, *key, word, k) for k, item in enumerate(getattr(spec, word))]
        for word in ("shapes", "drains")
    )
    with scene.at(*key):
        return Liquid(
            block=[(block.min, block.max) for block in spec.blocks] or None,
            shapes=filled,
            drains=drains,
            inflow=inflow,
            sides=_sides(spec),
            **given,
            **{name: getattr(spec, name) for name in _LIQUID},
        )
