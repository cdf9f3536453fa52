"""Cut cells: the open fractions of cell faces around obstacles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.geometry import cut_cell_kernels as kernels
from continua.grid_fluids.geometry.grid import Grid, padded_zeros
from continua.grid_fluids.geometry.obstacles import FAR_DISTANCE, Obstacle, as_obstacle
from continua.pickling import KeepsArrayViews
from continua.validation import sequence

__all__ = ["MIN_OPEN_FRACTION", "CutCells", "Window", "list_wall_cells"]

Window = tuple[NDArray[np.int64], NDArray[np.int64]]
"""A range of cells [low, high): first index along the array axes, and the index after the last."""

MIN_OPEN_FRACTION = (
    0.1  # of a face; below this its velocity is not advected: it carries little, but fast flow
)
_SLIVER = 1e-3  # spacings: corners that are open by less are closed
_PARALLEL_FROM = 32768


class CutCells(KeepsArrayViews):
    """The open fractions, from 0 to 1, of all faces of a grid with obstacles that may move or be replaced.

    Distances at the corners of cells are interpolated linearly along edges and on the four triangles of each face, and
    clipped exactly. So the open faces of a cell and the wall inside it always form a closed surface. With `voxels`,
    faces are fully open or closed, depending on the centres of the cells beside them; this serves for comparison.

    Attributes:
        grid: The grid.
        obstacles: The obstacles.
        corner_distances: Signed distance to the nearest obstacle at the corners [m].
        face_fractions: Open fractions of the faces across the three array axes.
        solid_cells: Mask of cells without an open face.
        dtype: Type of the open fractions.
    """

    def __init__(
        self, grid: Grid, obstacles: Iterable[Any] = (), dtype: Any = np.float32, *, voxels: bool = False
    ) -> None:
        self.grid = grid
        self.voxels, self.dtype = voxels, np.dtype(dtype)
        self.obstacles: list[Obstacle] = [
            as_obstacle(given, grid) for given in sequence(obstacles, "obstacles")
        ]
        self.corner_distances = np.full(grid.corners_shape, FAR_DISTANCE)
        self.face_fractions = [padded_zeros(grid.faces_shape(axis), dtype) for axis in range(3)]
        for axis in grid.axes:
            self.face_fractions[axis][:] = 1
        self.solid_cells = np.zeros(grid.shape, bool)
        self._wall_cells: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
        for obstacle in self.obstacles:
            self._place_initial(obstacle)
        if self.obstacles:
            self._cut_range(np.zeros(3, np.int64), np.array(grid.shape))

    def _place_initial(self, obstacle: Obstacle) -> None:
        """Place an initial obstacle; raise InputError if it is not inside the grid."""
        obstacle.place(0.0, check=True)
        if not obstacle.contains_corner:
            name = f"'{obstacle.shape.name}'" if obstacle.shape.name else f"a {obstacle.shape.kind}"
            if obstacle.is_subgrid:
                raise InputError(
                    f"the obstacle {name} is smaller than the cells of {self.grid.spacing:g} m and contains no cell "
                    "corner; use more cells or leave it out"
                )
            raise InputError(
                f"the obstacle {name} lies outside of the grid, which starts at {list(self.grid.origin)} m and has the "
                f"size {list(self.grid.size)} m; move it inside or leave it out"
            )

    def update(self, time: float) -> Window | None:
        """Cut the cells around moving obstacles again for `time` [s]; return the cells that may have changed."""
        moving = [obstacle for obstacle in self.obstacles if obstacle.is_moving]
        return self._recut(moving, time, placed=moving)

    def replace(self, obstacles: Sequence[Any], time: float = 0.0) -> Window | None:
        """Replace the obstacles; distances of those whose shape stays the same object are kept.

        Returns:
            The cells that may have changed.
        """
        known = {id(obstacle.shape): obstacle for obstacle in self.obstacles}
        new = [known.get(id(given)) or as_obstacle(given, self.grid) for given in obstacles]
        old = [obstacle for obstacle in self.obstacles if obstacle not in new]
        added = [obstacle for obstacle in new if obstacle not in self.obstacles]
        self.obstacles = new
        regions = [_window_of(obstacle, self.grid) for obstacle in old]
        return self._recut(added, time, regions)

    def _recut(
        self,
        changed: Sequence[Obstacle],
        time: float,
        regions: Sequence[Window] = (),
        placed: Sequence[Obstacle] = (),
    ) -> Window | None:
        """Place obstacles, and cut the cells around their old and new positions and in `regions` again.

        Those that were not `placed` before are checked for thin walls.
        """
        windows = list(regions)
        for obstacle in changed:
            windows.append(_window_of(obstacle, self.grid))
            obstacle.place(time, check=obstacle not in placed)
            windows.append(_window_of(obstacle, self.grid))
        boxes = [(low, high) for low, high in windows if (high > low).all()]
        if not boxes:
            return None
        low = np.min([box[0] for box in boxes], axis=0)
        high = np.max([box[1] for box in boxes], axis=0)
        self._cut_range(low, high)
        return low, high

    def _cut_range(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Set distances and open fractions of the cells in [low, high)."""
        corners = self.grid.corners_shape
        parallel = int(np.prod(high - low)) >= _PARALLEL_FROM
        window = tuple(slice(int(a), min(int(b) + 1, n)) for a, b, n in zip(low, high, corners))
        phi = np.full([s.stop - s.start for s in window], FAR_DISTANCE)
        start = np.array([s.start for s in window])
        for obstacle in self.obstacles:
            first = np.maximum(obstacle.first_corner, start)
            last = np.minimum(obstacle.first_corner + obstacle.distances.shape, [s.stop for s in window])
            if (last <= first).any():
                continue
            overlap = tuple(
                slice(int(a), int(b))
                for a, b in zip(first - obstacle.first_corner, last - obstacle.first_corner)
            )
            kernels.merge_distances.variant(parallel)(
                phi, np.ascontiguousarray(obstacle.distances[overlap]), first - start
            )
        kernels.snap_corners.variant(parallel)(phi, _SLIVER * self.grid.spacing)
        self.corner_distances[window] = phi
        if self.voxels:
            self._voxel_fractions()
            low, high = np.zeros(3, np.int64), np.array(self.grid.shape)
        else:
            kernels.face_fractions.variant(parallel)(self.corner_distances, low, high, *self.face_fractions)
        kernels.mark_solid_cells.variant(parallel)(*self.face_fractions, self.solid_cells, low, high)
        self._wall_cells = None

    def _voxel_fractions(self) -> None:
        """Open or close whole faces, depending on the centres of the cells beside them."""
        solid = self.cell_distances() <= 0.0
        for axis in self.grid.axes:
            padding = [(int(a == axis), int(a == axis)) for a in range(3)]
            around = np.moveaxis(np.pad(solid, padding, mode="edge"), axis, 0)
            closed = np.moveaxis(around[:-1] | around[1:], 0, axis)
            self.face_fractions[axis][:] = np.where(closed, 0.0, 1.0)

    def cell_distances(self) -> NDArray[np.float64]:
        """Return the mean corner distance of each cell [m], in the shape of the cells; large far from obstacles."""
        phi = np.minimum(self.corner_distances, FAR_DISTANCE)
        for axis in self.grid.axes:
            phi = np.moveaxis(phi, axis, 0)
            phi = np.moveaxis(0.5 * (phi[:-1] + phi[1:]), 0, axis)
        return phi

    def wall_areas(self) -> NDArray[np.float64]:
        """Return the area vector of the wall in each cell, pointing into the obstacle, in faces; shape [..., 3]."""
        result = np.zeros((*self.grid.shape, 3))
        for axis in self.grid.axes:
            fraction = np.moveaxis(self.face_fractions[axis].astype(np.float64), axis, 0)
            result[..., axis - self.grid.x_axis] = np.moveaxis(fraction[:-1] - fraction[1:], 0, axis)
        return result

    def wall_cells(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return flat indices of all cells with a wall, and the wall areas along the array axes in faces, [n, 3]."""
        if self._wall_cells is None:
            self._wall_cells = list_wall_cells(self.face_fractions, *self.obstacle_window())
        return self._wall_cells

    def wall_velocity(self, time: float, dt: float) -> list[NDArray]:
        """Return the velocity of moving obstacles on all faces [m/s], the mean over the next `dt` [s]; 0 elsewhere."""
        grid = self.grid
        result = [np.zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        for axis in grid.axes:
            for obstacle in self.obstacles:
                if not obstacle.is_moving or not obstacle.distances.size:
                    continue
                low = obstacle.first_corner
                high = low + np.array(obstacle.distances.shape)
                window = tuple(
                    slice(int(a), int(max(b, a + 1)))
                    for a, b in zip(low, np.minimum(high, result[axis].shape))
                )
                shape = [s.stop - s.start for s in window]
                offset = [w.start + (0.0 if a == axis else 0.5) for a, w in enumerate(window)]
                points = grid.points(shape, offset)
                speed = obstacle.velocity(points, time, dt)[:, axis - grid.x_axis].reshape(shape)
                touched = self.face_fractions[axis][window] < 1
                result[axis][window] = np.where(touched, speed, result[axis][window])
        return result

    def obstacle_window(self) -> Window:
        """Return a range of cells that contains all obstacles."""
        boxes = [_window_of(obstacle, self.grid) for obstacle in self.obstacles]
        if not boxes:
            return np.zeros(3, np.int64), np.zeros(3, np.int64)
        return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)

    @property
    def has_moving_obstacles(self) -> bool:
        """Whether any obstacle moves."""
        return any(obstacle.is_moving for obstacle in self.obstacles)


def list_wall_cells(
    face_fractions: Sequence[NDArray], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return flat indices of the cells in [low, high) with a wall, and the wall areas along the array axes, [n, 3]."""
    count = kernels.list_wall_cells(*face_fractions, low, high, np.zeros(0, np.int64), np.zeros((0, 3)))
    cells, areas = np.zeros(count, np.int64), np.zeros((count, 3))
    if count:
        kernels.list_wall_cells(*face_fractions, low, high, cells, areas)
    return cells, areas


def _window_of(obstacle: Obstacle, grid: Grid) -> Window:
    """Return the range of cells that an obstacle's distances cover."""
    shape = np.array(grid.shape)
    low = np.maximum(obstacle.first_corner - 1, 0)
    high = np.minimum(obstacle.first_corner + obstacle.distances.shape, shape)
    if grid.dim == 2:
        low[0], high[0] = 0, 1
    return low, high if obstacle.distances.size else low
