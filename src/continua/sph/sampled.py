"""Walls made of particles (Akinci and others 2012): samples below the surface, each with the volume it stands for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Plane, Shape
from continua.sph import wall_kernels
from continua.sph.boundary import Place, WallSums
from continua.sph.grid import CellGrid, NeighbourLists
from continua.sph.sampling import sample_shape
from continua.sph.spline import spline

__all__ = ["SampledPlane", "SampledWall", "sample_volumes", "sampled_wall"]

SPACING = 0.75  # distance of samples in particle diameters; wider lets particles sink in between
DEPTH = 0.59  # how far below the surface samples are, in diameters: fluid at rest density then ends at the surface
_PARALLEL_FROM = 8192
_NEAR_WALL = 0.35  # share of a particle's density from walls above which it is watched for leaving
_REST = np.zeros(12, np.float32)


def sample_volumes(samples: NDArray[np.float64], radius: float) -> NDArray[np.float32]:
    """Return the volume that each sample [m, 3] stands for, 1 / sum_k W_bk [m3]; shape [m]."""
    rows = np.zeros((len(samples), 4), np.float32)
    rows[:, :3] = samples - samples.mean(axis=0)
    grid, lists = CellGrid(radius), NeighbourLists()
    order = grid.sort(rows.ravel()).copy()
    sorted_rows = np.ascontiguousarray(rows[order]).ravel()
    lists.update(grid, sorted_rows)
    sums = np.zeros(len(order))
    own = 8.0 / (np.pi * radius**3)
    wall_kernels.sample_densities.pick(len(order) >= _PARALLEL_FROM)(
        sorted_rows, lists.begin, lists.end, lists.weights, 1.0 / radius, own, sums
    )
    volumes = np.empty(len(order), np.float32)
    volumes[order] = 1.0 / sums
    return volumes


class SampledWall:
    """The surface of a shape as particles.

    A sample stands for the volume 1 / sum_k W_bk over the samples around it, so that the density of a fluid at the wall
    does not depend on how densely it is sampled.

    Attributes:
        samples: Positions of the samples in the wall's own axes [m], shape [m, 3].
        volumes: Volume of each [m3], shape [m].
    """

    def __init__(self, shape: Shape, radius: float, diameter: float) -> None:
        self.samples = sample_shape(shape, SPACING * diameter, DEPTH * diameter)
        self._grid = CellGrid(radius)
        self._placed: tuple[bytes, bytes] | None = None
        self._rows = np.zeros(0, np.float32)
        self.volumes = sample_volumes(self.samples, radius)

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return len(self.samples)

    def _put(self, place: Place) -> None:
        """Put the samples where the wall is, sorted."""
        here = place.turn.tobytes(), place.shift.tobytes()
        if self._placed == here:
            return
        rows = np.empty((len(self.samples), 4), np.float32)
        rows[:, :3], rows[:, 3] = self.samples @ place.turn.T + place.shift, self.volumes
        order = self._grid.sort(rows.ravel())
        self._rows = np.ascontiguousarray(rows[order]).ravel()
        self._placed = here

    def add_to(self, walls: WallSums, rows: NDArray[np.float32], place: Place) -> None:
        """Add what particles feel of the samples."""
        self._put(place)
        motion = place.motion
        before = walls.density.copy() if motion is not None else walls.density
        wall_kernels.add_samples.pick(len(walls.density) >= _PARALLEL_FROM)(
            rows, self._grid.inverse, *self._grid.tables, self._grid.starts, self._rows,
            motion if motion is not None else _REST, motion is not None, walls.gradient, walls.density, walls.rate,
        )  # fmt: skip
        if motion is not None:
            walls.carry(before, rows, motion)

    def suspects(
        self, walls: WallSums, rows: NDArray[np.float32], place: Place, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles that walls weigh much for."""
        return np.flatnonzero(walls.density > _NEAR_WALL)

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return self.samples.nbytes + self.volumes.nbytes + self._rows.nbytes


class SampledPlane:
    """An endless plane as a square lattice of particles, made where fluid is near."""

    def __init__(self, shape: Plane, radius: float, diameter: float) -> None:
        self._point = np.asarray(shape.point)
        self._inverse = np.float32(1.0 / radius)
        self._spacing = SPACING * diameter
        self._depth = DEPTH * diameter
        steps = np.arange(-(int(radius / self._spacing) + 1), int(radius / self._spacing) + 2)
        u, v = np.meshgrid(steps, steps)
        self.volume = float(1.0 / spline(self._spacing * np.hypot(u, v), radius).sum())
        normal = np.asarray(shape.normal)
        helper = np.eye(3)[np.abs(normal).argmin()]
        first = np.cross(helper, normal)
        first /= np.linalg.norm(first)
        self._frame = np.stack([normal, first, np.cross(normal, first)])

    @property
    def sample_count(self) -> int:
        """Number of samples that are stored: none."""
        return 0

    def add_to(self, walls: WallSums, rows: NDArray[np.float32], place: Place) -> None:
        """Add what particles feel of the lattice."""
        point = place.turn @ (self._point - self._depth * self._frame[0]) + place.shift
        frame, motion = self._frame @ place.turn.T, place.motion
        before = walls.density.copy() if motion is not None else walls.density
        wall_kernels.add_plane.pick(len(walls.density) >= _PARALLEL_FROM)(
            rows, self._inverse, point.astype(np.float32), np.ascontiguousarray(frame, np.float32),
            np.float32(self._spacing), np.float32(self.volume), motion if motion is not None else _REST,
            motion is not None, walls.gradient, walls.density, walls.rate,
        )  # fmt: skip
        if motion is not None:
            walls.carry(before, rows, motion)

    def suspects(
        self, walls: WallSums, rows: NDArray[np.float32], place: Place, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles that walls weigh much for."""
        return np.flatnonzero(walls.density > _NEAR_WALL)

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return 0


def sampled_wall(shape: Shape, radius: float, diameter: float) -> SampledPlane | SampledWall:
    """Return the walls of a shape as particles.

    Args:
        shape: The shape.
        radius: Radius of the kernel [m].
        diameter: Diameter of fluid particles [m].
    """
    if isinstance(shape, Plane):
        return SampledPlane(shape, radius, diameter)
    return SampledWall(shape, radius, diameter)
