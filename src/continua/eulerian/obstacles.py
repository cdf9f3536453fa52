"""Distances of obstacles at the corners of a grid, worked out only where a surface is near."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.eulerian.distance_shape import DistanceShape
from continua.eulerian.grid import Grid
from continua.eulerian.thin_kernels import has_thin_wall
from continua.geometry import MeshShape, Shape
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.sdf import DistanceField, ExactDistance, PlacedField

__all__ = ["FAR", "Obstacle", "as_obstacle"]

FAR = 1e30  # a distance where no obstacle is
_ROUNDING = 1e-9  # of the spacing: walls that lie on the sides of the grid are not inside
_BLOCK = 4  # cells of one block of the search for surfaces
_MARGIN = 3  # cells around an obstacle where its distance is kept
_AROUND = 8  # corners: so near must be the way around a tip that gets lost between corners
_THICKEN = 0.75  # cells by which a thin wall grows on either side


class Obstacle:
    """A shape in a flow and its distances at the corners of a grid.

    Attributes:
        shape: The shape.
        low: First corner of the part of the grid where the distances are kept, along the array axes.
        distances: Distances there [m].
        thickened: Whether the shape was thin against the cells and made thicker.
    """

    def __init__(self, shape: Shape, grid: Grid) -> None:
        self.shape = shape
        self.grid = grid
        self.low = np.zeros(3, np.int64)
        self.distances = np.zeros((0, 0, 0))
        self.thickened = False

    @property
    def moves(self) -> bool:
        """Whether it moves."""
        return self.shape.pose(0.0) is not None

    @property
    def is_inside(self) -> bool:
        """Whether any corner of the grid is inside of it, as it was placed last, by more than rounding."""
        return bool(self.distances.size and (self.distances < -_ROUNDING * self.grid.spacing).any())

    @property
    def is_near(self) -> bool:
        """Whether its surface is inside of a cell of the grid, as it was placed last."""
        reach = np.sqrt(self.grid.dim) * self.grid.spacing
        return bool(self.distances.size and (np.abs(self.distances) < 0.5 * reach).any())

    def place(self, time: float, *, check: bool = False) -> None:
        """Work out the distances for `time` [s]; with `check`, thicken what is thinner than the cells."""
        grid = self.grid
        self.low, high = self._box(time)
        counts = high - self.low + 1
        if (counts < 1).any():
            self.distances = np.zeros((0, 0, 0))
            return
        evaluate = _evaluator(self.shape, time)
        self.distances, number, normals = _banded(evaluate, grid, self.low, counts)
        if check and not self.thickened and _is_thin(self.distances, number, normals, grid):
            self.thickened = True
            name = f"'{self.shape.name}'" if self.shape.name else f"a {self.shape.kind}"
            warnings.warn(
                f"the obstacle {name} has walls thinner than the cells of {grid.spacing:g} m; it was made thicker "
                f"by {_THICKEN * grid.spacing:g} m on either side, use more cells to resolve it",
                stacklevel=2,
            )
        if self.thickened:
            self.distances = self.distances - _THICKEN * grid.spacing

    def _box(self, time: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last corner of the part of the grid where the obstacle can be."""
        grid = self.grid
        first, last = np.zeros(3, np.int64), np.array(grid.corners_shape) - 1
        bounds = _bounds(self.shape, time)
        if bounds is None:
            return first, last
        for d in range(grid.dim):
            a = grid.first + d
            ends = (bounds[:, d] - grid.origin[d]) / grid.spacing
            first[a] = int(np.clip(np.floor(ends[0]) - _MARGIN, 0, last[a] + 1))
            last[a] = int(np.clip(np.ceil(ends[1]) + _MARGIN, -1, last[a]))
        if grid.dim == 2 and (bounds[0, 2] > 0.0 or bounds[1, 2] < 0.0):
            last[grid.first] = first[grid.first] - 1
        return first, last

    def velocity(self, points: NDArray[np.float64], time: float, dt: float) -> NDArray[np.float64]:
        """Return how fast the obstacle moves [m/s] at points [n, 3], the mean over the next `dt` [s]."""
        now, then = self.shape.pose(time), self.shape.pose(time + dt)
        if now is None or then is None or dt <= 0.0:
            return np.zeros_like(points)
        local = (points - now.translation) @ now.rotation
        return (local @ then.rotation.T + then.translation - points) / dt


def as_obstacle(given: Any, grid: Grid) -> Obstacle:
    """Return an obstacle from a shape, a closed surface, a volume mesh or a distance field."""
    if isinstance(given, SurfaceMesh | VolumeMesh):
        given = MeshShape(given)
    elif isinstance(given, ExactDistance):
        given = MeshShape(given.mesh, given)
    elif isinstance(given, DistanceField | PlacedField):
        given = DistanceShape(given)
    if not isinstance(given, Shape):
        raise InputError(
            f"an obstacle must be a shape, a closed mesh or a distance field, not {type(given).__name__}"
        )
    return Obstacle(given, grid)


def _bounds(shape: Shape, time: float) -> NDArray[np.float64] | None:
    """Return the box around a shape [m], shape [2, 3], or None if it has none."""
    own = getattr(shape, "bounds", None)
    box = own() if callable(own) else None
    if box is None and shape.kind == "sphere" and not getattr(shape, "inside", False):
        center, radius = np.array(shape.center), shape.radius  # type: ignore[attr-defined]
        box = np.stack([center - radius, center + radius])
    if box is None:
        return None
    pose = shape.pose(time)
    if pose is None:
        return np.asarray(box)
    ends = (
        np.array(np.meshgrid(*np.asarray(box).T, indexing="ij")).reshape(3, -1).T @ pose.rotation.T
        + pose.translation
    )
    return np.stack([ends.min(axis=0), ends.max(axis=0)])


Evaluate = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


def _evaluator(shape: Shape, time: float) -> Evaluate:
    def evaluate(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gaps, normals, _ = shape.distances_at(points, time, 0.0)
        return gaps, normals

    return evaluate


def _banded(
    evaluate: Evaluate, grid: Grid, low: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Return distances, the numbers of those that are exact (-1 for others), and the normals of these by number.

    Blocks of corners whose middle is farther from the surface than they reach take the distance of the middle. Exact
    ones are asked for block by block: neighbours in turn.
    """
    h, first = grid.spacing, grid.first
    sizes = np.array([1 if a < first else _BLOCK for a in range(3)])
    blocks = -(-counts // sizes)
    turn = _by_tiles(blocks, sizes)
    index = np.stack(np.unravel_index(turn, blocks), axis=1) * sizes

    def places(corners: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.zeros((len(corners), 3))
        for d in range(grid.dim):
            points[:, d] = grid.origin[d] + h * (low[first + d] + corners[:, first + d])
        return points

    rough, _ = evaluate(places(index + 0.5 * (sizes - 1)))
    reach = (0.5 * (_BLOCK - 1) * np.sqrt(grid.dim) + 2.0) * h
    distances = np.empty(blocks)
    distances.ravel()[turn] = rough
    for a in range(first, 3):
        distances = np.repeat(distances, _BLOCK, axis=a)
    distances = np.ascontiguousarray(distances[: counts[0], : counts[1], : counts[2]])
    inside = np.indices(tuple(sizes)).reshape(3, -1).T
    chosen = (index[np.abs(rough) < reach][:, None] + inside).reshape(-1, 3)
    chosen = chosen[(chosen < counts).all(axis=1)]
    gaps, normals = evaluate(places(chosen)) if len(chosen) else (np.zeros(0), np.zeros((0, 3)))
    at = np.ravel_multi_index(tuple(chosen.T), distances.shape)
    distances.ravel()[at] = gaps
    number = np.full(distances.shape, -1, np.int32)
    number.ravel()[at] = np.arange(len(at), dtype=np.int32)
    return distances, number, np.asarray(normals)


def _by_tiles(shape: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the flat indices of an array tile by tile, so that those in turn are near each other."""
    tiles = -(-shape // sizes)
    flat = np.full(tiles * sizes, -1)
    flat[: shape[0], : shape[1], : shape[2]] = np.arange(np.prod(shape)).reshape(shape)
    split = flat.reshape(np.stack([tiles, sizes], axis=1).ravel()).transpose(0, 2, 4, 1, 3, 5).ravel()
    return split[split >= 0]


def _is_thin(
    distances: NDArray[np.float64], number: NDArray[np.int32], normals: NDArray[np.float64], grid: Grid
) -> bool:
    """Tell whether a wall is lost between open corners: two beside each other look at it from opposite sides.

    The tip of a wall that is thick enough elsewhere may get lost: the fluid then goes around it a little earlier.
    """
    return bool(has_thin_wall(distances, number, np.ascontiguousarray(normals), grid.spacing, _AROUND))
