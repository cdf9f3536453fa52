"""Cut cells: how far each face of the grid is open beside the obstacles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.geometry import cut_cell_kernels as kernels
from continua.grid_fluids.geometry.grid import Grid, padded
from continua.grid_fluids.geometry.obstacles import FAR, Obstacle, as_obstacle

__all__ = ["CutCells", "Window"]

Window = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The first cell of a part of the grid along the array axes, and the one after the last."""

_SLIVER = 1e-3  # of the spacing: corners that are open by less are closed
_PARALLEL_FROM = 32768


class CutCells:
    """The open parts of all faces of a grid, from 0 to 1, beside obstacles that may move and be changed.

    Distances at the corners of cells are taken as linear along edges and on the four triangles of each face, and
    clipped exactly. So the open faces of a cell and the wall inside it always close to a whole surface. With
    `voxels`, faces are open or closed as a whole, by the middles of the cells beside them; that is for comparison.

    Attributes:
        grid: The grid.
        obstacles: The obstacles.
        corners: Distance to the nearest obstacle at the corners [m].
        parts: Open parts of the faces across the three array axes.
    """

    def __init__(
        self, grid: Grid, obstacles: Iterable[Any] = (), dtype: Any = np.float32, *, voxels: bool = False
    ) -> None:
        self.grid = grid
        self.voxels = voxels
        self.obstacles: list[Obstacle] = [as_obstacle(given, grid) for given in obstacles]
        self.corners = np.full(grid.corners_shape, FAR)
        self.parts = [padded(grid.faces_shape(axis), dtype) for axis in range(3)]
        for axis in grid.axes:
            self.parts[axis][:] = 1
        for obstacle in self.obstacles:
            self._begin(obstacle)
        if self.obstacles:
            self._cut(np.zeros(3, np.int64), np.array(grid.shape))

    def _begin(self, obstacle: Obstacle) -> None:
        """Place an obstacle of the start; it must be in the grid."""
        obstacle.place(0.0, check=True)
        if not obstacle.is_inside:
            name = f"'{obstacle.shape.name}'" if obstacle.shape.name else f"a {obstacle.shape.kind}"
            if obstacle.is_near:
                raise InputError(
                    f"the obstacle {name} is smaller than the cells of {self.grid.spacing:g} m and holds no corner of "
                    "any; use more cells or leave it out"
                )
            raise InputError(
                f"the obstacle {name} lies outside of the grid, which reaches from {list(self.grid.origin)} m "
                f"by {list(self.grid.size)} m; move it inside or leave it out"
            )

    def move(self, time: float) -> Window | None:
        """Cut anew where obstacles moved until `time` [s]; return the cells that may have changed."""
        moved = [obstacle for obstacle in self.obstacles if obstacle.moves]
        return self._renew(moved, time, placed=moved)

    def replace(self, obstacles: Sequence[Any], time: float = 0.0) -> Window | None:
        """Take other obstacles from now on; those that stay the same shape are not worked out again.

        Returns:
            The cells that may have changed.
        """
        known = {id(obstacle.shape): obstacle for obstacle in self.obstacles}
        new = [known.get(id(given)) or as_obstacle(given, self.grid) for given in obstacles]
        old = [obstacle for obstacle in self.obstacles if obstacle not in new]
        fresh = [obstacle for obstacle in new if obstacle not in self.obstacles]
        self.obstacles = new
        regions = [_region(obstacle, self.grid) for obstacle in old]
        return self._renew(fresh, time, regions)

    def _renew(
        self,
        changed: Sequence[Obstacle],
        time: float,
        regions: Sequence[Window] = (),
        placed: Sequence[Obstacle] = (),
    ) -> Window | None:
        """Place obstacles and cut anew the cells around where they were and are, and around `regions`.

        Those that were not `placed` before are looked at for thin walls.
        """
        parts = list(regions)
        for obstacle in changed:
            parts.append(_region(obstacle, self.grid))
            obstacle.place(time, check=obstacle not in placed)
            parts.append(_region(obstacle, self.grid))
        boxes = [(low, high) for low, high in parts if (high > low).all()]
        if not boxes:
            return None
        low = np.min([box[0] for box in boxes], axis=0)
        high = np.max([box[1] for box in boxes], axis=0)
        self._cut(low, high)
        return low, high

    def _cut(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Set distances and open parts of the cells from `low` to `high`."""
        wide = self.grid.corners_shape
        parallel = int(np.prod(high - low)) >= _PARALLEL_FROM
        window = tuple(slice(int(a), min(int(b) + 1, n)) for a, b, n in zip(low, high, wide))
        phi = np.full([s.stop - s.start for s in window], FAR)
        start = np.array([s.start for s in window])
        for obstacle in self.obstacles:
            first = np.maximum(obstacle.low, start)
            last = np.minimum(obstacle.low + obstacle.distances.shape, [s.stop for s in window])
            if (last <= first).any():
                continue
            cut = tuple(slice(int(a), int(b)) for a, b in zip(first - obstacle.low, last - obstacle.low))
            kernels.nearest_of.pick(parallel)(
                phi, np.ascontiguousarray(obstacle.distances[cut]), first - start
            )
        kernels.snap_corners.pick(parallel)(phi, _SLIVER * self.grid.spacing)
        self.corners[window] = phi
        if self.voxels:
            self._voxel_parts()
            return
        kernels.face_parts.pick(parallel)(self.corners, low, high, *self.parts)

    def _voxel_parts(self) -> None:
        """Open or close faces as a whole, by the middles of the cells beside them."""
        closed = self.cell_distances() <= 0.0
        for axis in self.grid.axes:
            wide = [(int(a == axis), int(a == axis)) for a in range(3)]
            around = np.moveaxis(np.pad(closed, wide, mode="edge"), axis, 0)
            shut = np.moveaxis(around[:-1] | around[1:], 0, axis)
            self.parts[axis][:] = np.where(shut, 0.0, 1.0)

    def cell_distances(self) -> NDArray[np.float64]:
        """Return the mean distance of the corners of each cell [m], shape of the cells; large where no obstacle is."""
        phi = np.minimum(self.corners, FAR)
        for axis in self.grid.axes:
            phi = np.moveaxis(phi, axis, 0)
            phi = np.moveaxis(0.5 * (phi[:-1] + phi[1:]), 0, axis)
        return phi

    def wall_areas(self) -> NDArray[np.float64]:
        """Return the area of the wall in each cell, pointing into the obstacle, in faces; shape [..., 3]."""
        result = np.zeros((*self.grid.shape, 3))
        for axis in self.grid.axes:
            part = np.moveaxis(self.parts[axis].astype(np.float64), axis, 0)
            result[..., axis - self.grid.first] = np.moveaxis(part[:-1] - part[1:], 0, axis)
        return result

    def reach(self) -> Window:
        """Return the part of the grid outside of which no obstacle is."""
        boxes = [_region(obstacle, self.grid) for obstacle in self.obstacles]
        if not boxes:
            return np.zeros(3, np.int64), np.zeros(3, np.int64)
        return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)

    @property
    def moves(self) -> bool:
        """Whether any obstacle moves."""
        return any(obstacle.moves for obstacle in self.obstacles)


def _region(obstacle: Obstacle, grid: Grid) -> Window:
    """Return the first cell and the one after the last that an obstacle's distances reach."""
    shape = np.array(grid.shape)
    low = np.maximum(obstacle.low - 1, 0)
    high = np.minimum(obstacle.low + obstacle.distances.shape, shape)
    if grid.dim == 2:
        low[0], high[0] = 0, 1
    return low, high if obstacle.distances.size else low
