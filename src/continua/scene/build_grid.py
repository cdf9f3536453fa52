"""Fluids on grids of a scene."""

from __future__ import annotations

from continua import eulerian
from continua.scene import grid_fluids
from continua.scene.build_surroundings import build_collider, or_never, rgb
from continua.scene.models import Scene

__all__ = ["build_grid_fluid"]

_SAME = ("name", "size", "cells", "origin", "density", "viscosity", "scheme", "precision", "rtol", "cfl")
_SMOKE = ("expansion", "weight", "confinement", "fade", "cooling")
_TUNNEL = ("speed", "walls", "streaks")


def build_grid_fluid(scene: Scene, number: int) -> eulerian.GridFluid:
    """Return the grid fluid that is body `number` of the scene."""
    spec = scene.bodies[number]
    assert isinstance(spec, grid_fluids.Smoke | grid_fluids.WindTunnel)
    key = ("bodies", number)
    obstacles = [build_collider(scene, item, *key, "obstacles", k) for k, item in enumerate(spec.obstacles)]
    same = {name: getattr(spec, name) for name in _SAME} | {
        "obstacles": obstacles,
        "color": None if spec.color is None else rgb(spec.color),
    }
    if isinstance(spec, grid_fluids.WindTunnel):
        with scene.at(*key):
            return eulerian.WindTunnel(**same, **{name: getattr(spec, name) for name in _TUNNEL})
    inflow = []
    for k, source in enumerate(spec.inflow):
        place = build_collider(scene, source.shape, *key, "inflow", k, "shape")
        with scene.at(*key, "inflow", k):
            stop = or_never(source.stop)
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
