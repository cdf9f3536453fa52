"""Edits of the document for obstacles that were drawn in a 2D flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from continua.grid_fluids import Polygon
from continua.studio.editor.document import Edit
from continua.studio.interaction.flow_sketch import SketchCommand, plane_flow, polygon_points
from continua.studio.protocol import AddObstacle, MoveObstacle, RemoveObstacle, ShowStreamlines

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["sketch_edits"]


def sketch_edits(world: World, command: SketchCommand, data: Mapping[str, Any]) -> list[Edit]:
    """Return the edits of the scene's data for a sketch command that was just executed in its world."""
    flow = plane_flow(world)
    if flow is None or isinstance(command, ShowStreamlines):
        return []
    bodies = data.get("bodies", [])
    number = next((n for n, body in enumerate(bodies) if body.get("name") == flow.name), None)
    if number is None:
        return []
    path = ("bodies", number, "obstacles")
    if isinstance(command, AddObstacle):
        entry = {"type": "polygon", "points": [list(point) for point in polygon_points(command)]}
        return [Edit("add", path, entry | ({"smooth": True} if command.smooth else {}))]
    entries = bodies[number].get("obstacles", [])
    if len(entries) != len(flow.obstacles) + isinstance(command, RemoveObstacle):
        return []  # the scene was edited, and the world is not rebuilt yet
    if isinstance(command, RemoveObstacle):
        return [Edit("remove", (*path, command.number))]
    return [Edit("set", (*path, command.number), _moved_entry(world, command, entries[command.number]))]


def _moved_entry(world: World, command: MoveObstacle, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scene's entry of an obstacle after it was moved in the world."""
    flow = plane_flow(world)
    assert flow is not None
    shape = flow.obstacles[command.number]
    if entry.get("type") == "polygon":
        dx, dy = command.offset
        return {**entry, "points": [[x + dx, y + dy] for x, y in entry["points"]]}
    if isinstance(shape, Polygon):
        kept = {"name": entry["name"]} if "name" in entry else {}
        return {"type": "polygon", **kept, "points": np.asarray(shape.points).tolist()}
    return {**entry, "center": [float(part) for part in shape.center]}  # type: ignore[attr-defined]
