"""Signed distances of obstacles at the corners of a grid, exact in a narrow band around their surfaces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry import MeshShape, Shape
from continua.geometry.shape import refuse_deforming
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.geometry.sdf_shape import SdfShape
from continua.grid_fluids.geometry.thin_wall_kernels import has_thin_wall
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.sdf import DistanceField, ExactDistance, TransformedField
from continua.validation import shortened

__all__ = ["FAR_DISTANCE", "Obstacle", "as_obstacle"]

FAR_DISTANCE = 1e30  # where no obstacle is near
_ROUNDING = 1e-9  # spacings: walls that lie on the sides of the grid are not inside
_BLOCK = 4  # corners per axis of a block in the search for surfaces
_MARGIN = 3  # cells around an obstacle where its distance is stored
_DETOUR_RADIUS = 8  # corners: radius of the search for a detour around a tip that is lost between corners
_THICKENING = 0.75  # cells that are added to each side of a thin wall


class Obstacle:
    """A shape in a flow and its signed distances at the corners of a grid.

    Attributes:
        shape: The shape.
        first_corner: First corner of the box where the distances are stored, along the array axes.
        distances: Signed distances there [m].
        thickened: Whether the shape was thinner than the cells and was thickened.
    """

    def __init__(self, shape: Shape, grid: Grid) -> None:
        self.shape = shape
        self.grid = grid
        self.first_corner = np.zeros(3, np.int64)
        self.distances = np.zeros((0, 0, 0))
        self.thickened = False

    @property
    def is_moving(self) -> bool:
        """Whether the shape has a motion."""
        return self.shape.pose(0.0) is not None

    @property
    def contains_corner(self) -> bool:
        """Whether it contains a corner of the grid at its last placement, by more than rounding."""
        return bool(self.distances.size and (self.distances < -_ROUNDING * self.grid.spacing).any())

    @property
    def is_subgrid(self) -> bool:
        """Whether its surface lies inside a cell at its last placement."""
        diagonal = np.sqrt(self.grid.dim) * self.grid.spacing
        return bool(self.distances.size and (np.abs(self.distances) < 0.5 * diagonal).any())

    def place(self, time: float, *, check: bool = False) -> None:
        """Compute the distances for `time` [s]; with `check`, thicken walls that are thinner than the cells."""
        grid = self.grid
        self.first_corner, high = self._box(time)
        counts = high - self.first_corner + 1
        if (counts < 1).any():
            self.distances = np.zeros((0, 0, 0))
            return
        evaluate = _evaluator(self.shape, time)
        self.distances, number, normals = _narrow_band_distances(evaluate, grid, self.first_corner, counts)
        if check and not self.thickened and _has_thin_wall(self.distances, number, normals, grid):
            self.thickened = True
            name = f"'{self.shape.name}'" if self.shape.name else f"a {self.shape.kind}"
            warnings.warn(
                f"the obstacle {name} has walls thinner than the cells of {grid.spacing:g} m; it was thickened by "
                f"{_THICKENING * grid.spacing:g} m on either side, use more cells to resolve it",
                stacklevel=2,
            )
        if self.thickened:
            self.distances = self.distances - _THICKENING * grid.spacing

    def _box(self, time: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last corner of the box around the obstacle."""
        grid = self.grid
        first, last = np.zeros(3, np.int64), np.array(grid.corners_shape) - 1
        bounds = _bounds(self.shape, time)
        if bounds is None:
            return first, last
        for d in range(grid.dim):
            a = grid.x_axis + d
            ends = (bounds[:, d] - grid.origin[d]) / grid.spacing
            first[a] = int(np.clip(np.floor(ends[0]) - _MARGIN, 0, last[a] + 1))
            last[a] = int(np.clip(np.ceil(ends[1]) + _MARGIN, -1, last[a]))
        if grid.dim == 2 and (bounds[0, 2] > 0.0 or bounds[1, 2] < 0.0):
            last[grid.x_axis] = first[grid.x_axis] - 1
        return first, last

    def velocity(self, points: NDArray[np.float64], time: float, dt: float) -> NDArray[np.float64]:
        """Return the velocity of the obstacle [m/s] at points [n, 3], the mean over the next `dt` [s]."""
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
    elif isinstance(given, DistanceField | TransformedField):
        given = SdfShape(given)
    if not isinstance(given, Shape):
        raise InputError(
            f"an obstacle must be a shape, a closed mesh or a distance field, not {shortened(given)}"
        )
    refuse_deforming([given], "a fluid on a grid")
    return Obstacle(given, grid)


def _bounds(shape: Shape, time: float) -> NDArray[np.float64] | None:
    """Return the bounding box of a shape [m], shape [2, 3], or None if it is unbounded."""
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


def _narrow_band_distances(
    evaluate: Evaluate, grid: Grid, low: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Return distances, the index of the normal of each corner in the band (-1 for others), and these normals.

    Blocks of corners that cannot touch the surface take the distance of their centre. Distances in the band are
    evaluated block by block, so that consecutive points are close to each other.
    """
    h, x_axis = grid.spacing, grid.x_axis
    sizes = np.array([1 if a < x_axis else _BLOCK for a in range(3)])
    blocks = -(-counts // sizes)
    order = _tile_order(blocks, sizes)
    index = np.stack(np.unravel_index(order, blocks), axis=1) * sizes

    def positions(corners: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.zeros((len(corners), 3))
        for d in range(grid.dim):
            points[:, d] = grid.origin[d] + h * (low[x_axis + d] + corners[:, x_axis + d])
        return points

    center_distances, _ = evaluate(positions(index + 0.5 * (sizes - 1)))
    band = (0.5 * (_BLOCK - 1) * np.sqrt(grid.dim) + 2.0) * h
    distances = np.empty(blocks)
    distances.ravel()[order] = center_distances
    for a in range(x_axis, 3):
        distances = np.repeat(distances, _BLOCK, axis=a)
    distances = np.ascontiguousarray(distances[: counts[0], : counts[1], : counts[2]])
    corners_of_block = np.indices(tuple(sizes)).reshape(3, -1).T
    in_band = (index[np.abs(center_distances) < band][:, None] + corners_of_block).reshape(-1, 3)
    in_band = in_band[(in_band < counts).all(axis=1)]
    gaps, normals = evaluate(positions(in_band)) if len(in_band) else (np.zeros(0), np.zeros((0, 3)))
    at = np.ravel_multi_index(tuple(in_band.T), distances.shape)
    distances.ravel()[at] = gaps
    number = np.full(distances.shape, -1, np.int32)
    number.ravel()[at] = np.arange(len(at), dtype=np.int32)
    return distances, number, np.asarray(normals)


def _tile_order(shape: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the flat indices of an array tile by tile, so that consecutive ones are close to each other."""
    tiles = -(-shape // sizes)
    flat = np.full(tiles * sizes, -1)
    flat[: shape[0], : shape[1], : shape[2]] = np.arange(np.prod(shape)).reshape(shape)
    ordered = flat.reshape(np.stack([tiles, sizes], axis=1).ravel()).transpose(0, 2, 4, 1, 3, 5).ravel()
    return ordered[ordered >= 0]


def _has_thin_wall(
    distances: NDArray[np.float64], number: NDArray[np.int32], normals: NDArray[np.float64], grid: Grid
) -> bool:
    """Return whether a wall is lost between open corners: two neighbouring corners lie on opposite sides of it.

    The tip of a wall that is thick enough elsewhere may be lost: the fluid then turns around it a little earlier.
    """
    return bool(has_thin_wall(distances, number, np.ascontiguousarray(normals), grid.spacing, _DETOUR_RADIUS))
