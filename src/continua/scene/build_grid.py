"""Fluids on grids of a scene."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from continua import eulerian
from continua.contact import Shape
from continua.scene import grid_fluids
from continua.scene.models import Scene

__all__ = ["build_grid_fluid", "build_polygon"]

_SAME = ("name", "size", "cells", "origin", "density", "viscosity", "scheme", "precision", "rtol", "cfl")
_SMOKE = ("expansion", "weight", "confinement", "fade", "cooling")
_TUNNEL = ("speed", "walls", "streaks")


def build_polygon(spec: grid_fluids.Polygon, answer: dict[str, Any]) -> Shape:
    """Return the polygon, or the curve, that a scene describes."""
    make = eulerian.Polygon.spline if spec.smooth else eulerian.Polygon
    return make(spec.points, depth=spec.depth, **answer)


def build_grid_fluid(
    scene: Scene,
    number: int,
    shape: Callable[..., Shape],
    color: tuple[float, float, float] | None,
) -> eulerian.GridFluid:
    """Return the grid fluid that is body `number` of the scene; `shape(scene, spec, *key)` makes a shape."""
    spec = scene.bodies[number]
    assert isinstance(spec, grid_fluids.Smoke | grid_fluids.WindTunnel)
    key = ("bodies", number)
    obstacles = [shape(scene, item, *key, "obstacles", k) for k, item in enumerate(spec.obstacles)]
    same = {name: getattr(spec, name) for name in _SAME} | {"obstacles": obstacles, "color": color}
    if isinstance(spec, grid_fluids.WindTunnel):
        with scene.at(*key):
            return eulerian.WindTunnel(**same, **{name: getattr(spec, name) for name in _TUNNEL})
    inflow = []
    for k, source in enumerate(spec.inflow):
        place = shape(scene, source.shape, *key, "inflow", k, "shape")
        with scene.at(*key, "inflow", k):
            stop = math.inf if source.stop is None else source.stop
            inflow.append(
                eulerian.Inflow(place, source.smoke, source.temperature, source.velocity, source.start, stop)
            )
    sides = spec.sides.model_dump()
    if len(spec.cells) == 2:
        sides = {name: wish for name, wish in sides.items() if name not in ("back", "front")}
    with scene.at(*key):
        return eulerian.Smoke(
            **same, inflow=inflow, sides=sides, **{name: getattr(spec, name) for name in _SMOKE}
        )
