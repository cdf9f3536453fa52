"""Obstacles drawn and dragged in a 2D flow while it runs, and its streamlines."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from continua.errors import InputError
from continua.geometry import Box, Cylinder, Shape, Sphere
from continua.grid_fluids import GridFluid, Polygon
from continua.studio.protocol import AddObstacle, MoveObstacle, RemoveObstacle, ShowStreamlines

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["FlowSketch", "SketchCommand", "plane_flow", "polygon_points"]

_OUTLINE_RAYS = 48  # corners of the outline of a shape other than a polygon
_STREAMLINES = 24
_STEP = 1.5  # cells between points of a streamline
_MAX_OBSTACLES = 100

SketchCommand = AddObstacle | MoveObstacle | RemoveObstacle | ShowStreamlines


class FlowSketch:
    """Obstacles that pages draw in the first 2D flow of a world. Only the simulation's thread calls it."""

    def __init__(self) -> None:
        self._show_streamlines = False
        self._outlines: dict[int, tuple[Shape, list[float]]] = {}

    def apply(self, world: World, command: SketchCommand) -> None:
        """Add, move or remove an obstacle, or show or hide streamlines."""
        if isinstance(command, ShowStreamlines):
            self._show_streamlines = command.on
            return
        flow = plane_flow(world)
        if flow is None:
            raise InputError("obstacles can be drawn only in a fluid on a 2D grid")
        shapes = list(flow.obstacles)
        if isinstance(command, AddObstacle):
            if len(shapes) >= _MAX_OBSTACLES:
                raise InputError(f"at most {_MAX_OBSTACLES} obstacles can be drawn")
            corners = polygon_points(command)
            drawn = Polygon.spline(corners) if command.smooth else Polygon(corners)
            _check_inside(drawn, flow)
            shapes.append(drawn)
        elif command.number >= len(shapes):
            raise InputError(f"there is no obstacle number {command.number}")
        elif isinstance(command, MoveObstacle):
            moved = _moved(
                shapes[command.number], command.offset, self._outline(shapes[command.number], flow)
            )
            _check_inside(moved, flow)
            shapes[command.number] = moved
        else:
            del shapes[command.number]
        with warnings.catch_warnings():  # a thin wall is made thicker, but drawn as sketched
            warnings.simplefilter("ignore", UserWarning)
            flow.obstacles = shapes

    def describe(self, world: World) -> dict[str, Any] | None:
        """Return the outlines of the obstacles and the total force on them, ready for JSON; None without a 2D flow."""
        flow = plane_flow(world)
        if flow is None:
            self._outlines.clear()
            return None
        shapes = flow.obstacles
        known = {id(shape) for shape in shapes}
        self._outlines = {key: value for key, value in self._outlines.items() if key in known}
        return {
            "body": flow.name,
            "colliderCount": len(world.colliders),
            "obstacles": [self._outline(shape, flow) for shape in shapes],
            "force": [float(part) for part in flow.force()[:2]],
            "streamlineCount": _STREAMLINES if self._show_streamlines else 0,
        }

    def _outline(self, shape: Shape, flow: GridFluid) -> list[float]:
        if id(shape) not in self._outlines:
            self._outlines[id(shape)] = (shape, np.round(_outline(shape, flow), 6).ravel().tolist())
        return self._outlines[id(shape)][1]

    def streamlines(self, world: World) -> NDArray[np.float32] | None:
        """Return streamlines from the left side [m], shape [lines, points, 2], or None."""
        flow = plane_flow(world)
        if flow is None or not self._show_streamlines:
            return None
        grid = flow.grid
        v = flow.field("velocity")[0, :, :, :2].astype(np.float64)
        speed = np.maximum(np.linalg.norm(v, axis=-1), 1e-12)
        directions = np.moveaxis(v / speed[..., None], -1, 0)
        nx, ny = grid.cells
        at = np.stack([np.zeros(_STREAMLINES), (np.arange(_STREAMLINES) + 0.5) / _STREAMLINES * ny - 0.5])

        def direction(position: NDArray) -> NDArray:
            return np.stack([map_coordinates(d, position, order=1, mode="nearest") for d in directions])

        points = [at]
        for _ in range(int(1.3 * nx / _STEP)):
            midpoint = at + 0.5 * _STEP * direction(at)
            inside = (at[0] >= 0.0) & (at[0] <= nx - 1.0) & (at[1] >= 0.0) & (at[1] <= ny - 1.0)
            at = np.where(inside, at + _STEP * direction(midpoint), at)
            points.append(at)
        cells = np.stack(points).transpose(2, 0, 1)
        return (np.array(grid.origin) + grid.spacing * (cells + 0.5)).astype(np.float32)


def polygon_points(command: AddObstacle) -> list[tuple[float, float]]:
    """Return the corners of a sketched obstacle without consecutive duplicates."""
    points = command.points
    return [point for n, point in enumerate(points) if n == 0 or point != points[n - 1]]


def plane_flow(world: World) -> GridFluid | None:
    """Return the first fluid on a 2D grid, or None."""
    return next((fluid for fluid in world.bodies_of(GridFluid) if fluid.grid.dim == 2), None)


def _check_inside(shape: Shape, flow: GridFluid) -> None:
    points = flow.grid.centers()
    if not (shape.distances(points)[0] < 0.0).any():
        raise InputError("an obstacle must lie inside the flow and be larger than a cell")


def _moved(shape: Shape, offset: tuple[float, float], outline: list[float]) -> Shape:
    """Return a translated shape; one without a centre becomes the polygon of its outline."""
    if isinstance(shape, Polygon):
        return replace(shape, points=np.asarray(shape.points) + np.array(offset))
    if isinstance(shape, Sphere | Cylinder | Box) and shape.motion is None:
        x, y, z = shape.center
        return replace(shape, center=(x + offset[0], y + offset[1], z))
    return Polygon(np.array(outline).reshape(-1, 2) + np.array(offset), name=shape.name)


def _outline(shape: Shape, flow: GridFluid) -> NDArray[np.float64]:
    """Return the outline of a shape in the plane, shape [n, 2]: its corners, or end points of rays from its inside."""
    if isinstance(shape, Polygon):
        return np.asarray(shape.points)
    points = flow.grid.centers()
    gaps = shape.distances(points)[0]
    start = points[int(np.argmin(gaps))]
    angles = 2.0 * np.pi * np.arange(_OUTLINE_RAYS) / _OUTLINE_RAYS
    directions = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_OUTLINE_RAYS)])
    lengths = np.zeros(_OUTLINE_RAYS)
    for _ in range(60):  # sphere tracing: the depth inside is a safe step
        depth = -shape.distances(start + lengths[:, None] * directions)[0]
        lengths = lengths + np.maximum(depth, 0.0)
        if depth.max() < 1e-3 * flow.grid.spacing:
            break
    return (start + lengths[:, None] * directions)[:, :2]
