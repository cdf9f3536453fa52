"""Obstacles that are drawn and dragged in a plane flow while it runs, and lines along the flow."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from continua.contact import Box, Cylinder, Shape, Sphere
from continua.errors import InputError
from continua.eulerian import GridFluid, Polygon
from continua.studio.editor.document import Edit
from continua.studio.protocol import Sketch, SketchMove, SketchRemove, Streamlines

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["Drawing", "Easel", "drawn_edits"]

_RAYS = 48  # corners of the outline of a shape that is no polygon
_LINES = 24  # streamlines
_STEP = 1.5  # cells between their points
_MOST = 100  # obstacles

Drawing = Sketch | SketchMove | SketchRemove | Streamlines


class Easel:
    """What pages draw into the first plane flow of a world. Only the simulation's thread calls it."""

    def __init__(self) -> None:
        self._lines = False
        self._outlines: dict[int, tuple[Shape, list[float]]] = {}

    def do(self, world: World, command: Drawing) -> None:
        """Add, move or remove an obstacle, or begin and end to follow the flow."""
        if isinstance(command, Streamlines):
            self._lines = command.on
            return
        tunnel = _flow_of(world)
        if tunnel is None:
            raise InputError("only a fluid on a plane grid can be drawn into")
        shapes = list(tunnel.obstacles)
        if isinstance(command, Sketch):
            if len(shapes) >= _MOST:
                raise InputError(f"at most {_MOST} obstacles can be drawn")
            corners = _corners(command)
            drawn = Polygon.spline(corners) if command.smooth else Polygon(corners)
            _check_inside(drawn, tunnel)
            shapes.append(drawn)
        elif command.number >= len(shapes):
            raise InputError(f"there is no obstacle number {command.number}")
        elif isinstance(command, SketchMove):
            moved = _moved(
                shapes[command.number], command.shift, self._outline(shapes[command.number], tunnel)
            )
            _check_inside(moved, tunnel)
            shapes[command.number] = moved
        else:
            del shapes[command.number]
        with warnings.catch_warnings():  # a thin wall is made thicker, and drawn as it was meant
            warnings.simplefilter("ignore", UserWarning)
            tunnel.obstacles = shapes

    def describe(self, world: World) -> dict[str, Any] | None:
        """Return the outlines of the obstacles and the force on all of them, ready for JSON."""
        tunnel = _flow_of(world)
        if tunnel is None:
            self._outlines.clear()
            return None
        shapes = tunnel.obstacles
        known = {id(shape) for shape in shapes}
        self._outlines = {key: value for key, value in self._outlines.items() if key in known}
        return {
            "body": tunnel.name,
            "colliders": len(world.colliders),
            "sketches": [self._outline(shape, tunnel) for shape in shapes],
            "force": [float(part) for part in tunnel.force()[:2]],
            "lines": _LINES if self._lines else 0,
        }

    def _outline(self, shape: Shape, tunnel: GridFluid) -> list[float]:
        if id(shape) not in self._outlines:
            self._outlines[id(shape)] = (shape, np.round(_outline(shape, tunnel), 6).ravel().tolist())
        return self._outlines[id(shape)][1]

    def streamlines(self, world: World) -> NDArray[np.float32] | None:
        """Return lines along the flow from the left side, shape [lines, points, 2] [m], or None."""
        tunnel = _flow_of(world)
        if tunnel is None or not self._lines:
            return None
        grid, flow = tunnel.grid, tunnel.flow
        v = flow.center_velocity()[0, :, :, :2].astype(np.float64)
        speed = np.maximum(np.linalg.norm(v, axis=-1), 1e-12)
        ways = np.moveaxis(v / speed[..., None], -1, 0)
        nx, ny = grid.cells
        at = np.stack([np.zeros(_LINES), (np.arange(_LINES) + 0.5) / _LINES * ny - 0.5])

        def way(place: NDArray) -> NDArray:
            return np.stack([map_coordinates(w, place, order=1, mode="nearest") for w in ways])

        points = [at]
        for _ in range(int(1.3 * nx / _STEP)):
            middle = at + 0.5 * _STEP * way(at)
            inside = (at[0] >= 0.0) & (at[0] <= nx - 1.0) & (at[1] >= 0.0) & (at[1] <= ny - 1.0)
            at = np.where(inside, at + _STEP * way(middle), at)
            points.append(at)
        places = np.stack(points).transpose(2, 0, 1)
        return (np.array(grid.origin) + grid.spacing * (places + 0.5)).astype(np.float32)


def drawn_edits(world: World, command: Drawing, data: Mapping[str, Any]) -> list[Edit]:
    """Return how the data of the scene changes by a drawing that was just carried out in its world."""
    tunnel = _flow_of(world)
    if tunnel is None or isinstance(command, Streamlines):
        return []
    bodies = data.get("bodies", [])
    number = next((n for n, body in enumerate(bodies) if body.get("name") == tunnel.name), None)
    if number is None:
        return []
    path = ("bodies", number, "obstacles")
    if isinstance(command, Sketch):
        entry = {"type": "polygon", "points": [list(point) for point in _corners(command)]}
        return [Edit("add", path, entry | ({"smooth": True} if command.smooth else {}))]
    entries = bodies[number].get("obstacles", [])
    if len(entries) != len(tunnel.obstacles) + isinstance(command, SketchRemove):
        return []  # the scene was edited, and the world is still the old one
    if isinstance(command, SketchRemove):
        return [Edit("remove", (*path, command.number))]
    return [Edit("set", (*path, command.number), _moved_entry(world, command, entries[command.number]))]


def _moved_entry(world: World, command: SketchMove, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the scene says of an obstacle after it was moved in the world."""
    tunnel = _flow_of(world)
    assert tunnel is not None
    shape = tunnel.obstacles[command.number]
    if entry.get("type") == "polygon":
        dx, dy = command.shift
        return {**entry, "points": [[x + dx, y + dy] for x, y in entry["points"]]}
    if isinstance(shape, Polygon):
        kept = {"name": entry["name"]} if "name" in entry else {}
        return {"type": "polygon", **kept, "points": np.asarray(shape.points).tolist()}
    return {**entry, "center": [float(part) for part in shape.center]}  # type: ignore[attr-defined]


def _corners(command: Sketch) -> list[tuple[float, float]]:
    """Return the corners of a drawing, none of them twice in a row."""
    points = command.points
    return [point for n, point in enumerate(points) if n == 0 or point != points[n - 1]]


def _flow_of(world: World) -> GridFluid | None:
    """Return the first fluid on a plane grid."""
    return next((fluid for fluid in world.grid_fluids if fluid.grid.dim == 2), None)


def _check_inside(shape: Shape, tunnel: GridFluid) -> None:
    points = tunnel.grid.centers()
    if not (shape.distances(points)[0] < 0.0).any():
        raise InputError("an obstacle must lie inside of the flow and be larger than its cells")


def _moved(shape: Shape, shift: tuple[float, float], outline: list[float]) -> Shape:
    """Return a shape somewhere else; one that has no centre becomes the polygon it looks like."""
    if isinstance(shape, Polygon):
        return replace(shape, points=np.asarray(shape.points) + np.array(shift))
    if isinstance(shape, Sphere | Cylinder | Box) and shape.motion is None:
        x, y, z = shape.center
        return replace(shape, center=(x + shift[0], y + shift[1], z))
    return Polygon(np.array(outline).reshape(-1, 2) + np.array(shift), name=shape.name)


def _outline(shape: Shape, tunnel: GridFluid) -> NDArray[np.float64]:
    """Return corners around a shape in the plane, shape [n, 2]: its own, or where rays from its inside end."""
    if isinstance(shape, Polygon):
        return np.asarray(shape.points)
    points = tunnel.grid.centers()
    gaps = shape.distances(points)[0]
    start = points[int(np.argmin(gaps))]
    angles = 2.0 * np.pi * np.arange(_RAYS) / _RAYS
    ways = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_RAYS)])
    reach = np.zeros(_RAYS)
    for _ in range(60):  # what is left inside is a safe step
        left = -shape.distances(start + reach[:, None] * ways)[0]
        reach = reach + np.maximum(left, 0.0)
        if left.max() < 1e-3 * tunnel.grid.spacing:
            break
    return (start + reach[:, None] * ways)[:, :2]
