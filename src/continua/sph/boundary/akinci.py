"""Boundary particles (Akinci and others 2012): samples below the surface, each representing a volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.geometry import Plane, Shape
from continua.sph.boundary import akinci_kernels as kernels
from continua.sph.boundary.model import BoundaryPose, BoundarySums
from continua.sph.boundary.wall_drag import sampled_wall_profile
from continua.sph.neighbour_search import CellGrid, NeighbourLists
from continua.sph.sampling import sample_shape
from continua.sph.smoothing_kernel import cubic_spline

__all__ = [
    "SAMPLE_DEPTH",
    "SAMPLE_SPACING",
    "AkinciBoundary",
    "AkinciPlane",
    "make_akinci_boundary",
    "sample_volumes",
]

SAMPLE_SPACING = 0.75  # in particle diameters; with a wider one particles sink in between
SAMPLE_DEPTH = 0.59  # below the surface, in diameters: fluid at rest density then ends at the surface
_PARALLEL_FROM = 8192
_CANDIDATE_DENSITY = 0.35  # boundary part of the density above which a particle is checked for penetration
_REST = np.zeros(12, np.float32)


def sample_volumes(samples: NDArray[np.float64], radius: float) -> NDArray[np.float32]:
    """Return the volume that each sample [m, 3] represents, 1 / sum_k W_bk [m3]; shape [m]."""
    xyzw = np.zeros((len(samples), 4), np.float32)
    xyzw[:, :3] = samples - samples.mean(axis=0)
    grid, lists = CellGrid(radius), NeighbourLists()
    order = grid.sort(xyzw.ravel()).copy()
    sorted_samples = np.ascontiguousarray(xyzw[order]).ravel()
    lists.update(grid, sorted_samples)
    sums = np.zeros(len(order))
    own = 8.0 / (np.pi * radius**3)
    kernels.sample_densities.variant(len(order) >= _PARALLEL_FROM)(
        sorted_samples, lists.begin, lists.end, lists.weights, 1.0 / radius, own, sums
    )
    volumes = np.empty(len(order), np.float32)
    volumes[order] = 1.0 / sums
    return volumes


class AkinciBoundary:
    """The surface of a shape as boundary particles.

    A sample represents the volume 1 / sum_k W_bk, summed over the samples around it, so that the density of the fluid
    at the boundary does not depend on the sampling density.

    Attributes:
        samples: Positions of the samples in local axes [m], shape [m, 3].
        volumes: Volume of each [m3], shape [m].
    """

    def __init__(self, shape: Shape, radius: float, diameter: float) -> None:
        self.samples = sample_shape(shape, SAMPLE_SPACING * diameter, SAMPLE_DEPTH * diameter)
        self.profile = sampled_wall_profile(SAMPLE_SPACING, SAMPLE_DEPTH, diameter)
        self._grid = CellGrid(radius)
        self._moved_to: tuple[bytes, bytes] | None = None
        self._sorted = np.zeros(0, np.float32)
        self.volumes = sample_volumes(self.samples, radius)

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return len(self.samples)

    def _move_samples(self, pose: BoundaryPose) -> None:
        """Transform the samples to a pose and sort them."""
        key = pose.rotation.tobytes(), pose.translation.tobytes()
        if self._moved_to == key:
            return
        samples = np.empty((len(self.samples), 4), np.float32)
        samples[:, :3], samples[:, 3] = self.samples @ pose.rotation.T + pose.translation, self.volumes
        order = self._grid.sort(samples.ravel())
        self._sorted = np.ascontiguousarray(samples[order]).ravel()
        self._moved_to = key

    def add_to(self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose) -> None:
        """Add the contributions of the samples."""
        self._move_samples(pose)
        motion = pose.motion
        previous = sums.density.copy() if motion is not None else sums.density
        kernels.add_samples.variant(len(sums.density) >= _PARALLEL_FROM)(
            xyzp, self._grid.inverse, *self._grid.tables, self._grid.starts, self._sorted,
            motion if motion is not None else _REST, motion is not None, sums.gradient, sums.density, sums.rate,
        )  # fmt: skip
        if motion is not None:
            sums.add_velocity(previous, xyzp, motion)

    def penetration_candidates(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles with a large boundary part of the density."""
        return np.flatnonzero(sums.density > _CANDIDATE_DENSITY)

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return self.samples.nbytes + self.volumes.nbytes + self._sorted.nbytes


class AkinciPlane:
    """An infinite plane as a square lattice of boundary particles, generated where fluid is near."""

    def __init__(self, shape: Plane, radius: float, diameter: float) -> None:
        self.profile = sampled_wall_profile(SAMPLE_SPACING, SAMPLE_DEPTH, diameter)
        self._point = np.asarray(shape.point)
        self._inverse = np.float32(1.0 / radius)
        self._spacing = SAMPLE_SPACING * diameter
        self._depth = SAMPLE_DEPTH * diameter
        steps = np.arange(-(int(radius / self._spacing) + 1), int(radius / self._spacing) + 2)
        u, v = np.meshgrid(steps, steps)
        self.volume = float(1.0 / cubic_spline(self._spacing * np.hypot(u, v), radius).sum())
        normal = np.asarray(shape.normal)
        helper = np.eye(3)[np.abs(normal).argmin()]
        first = np.cross(helper, normal)
        first /= np.linalg.norm(first)
        self._axes = np.stack([normal, first, np.cross(normal, first)])

    @property
    def sample_count(self) -> int:
        """Number of stored samples: none."""
        return 0

    def add_to(self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose) -> None:
        """Add the contributions of the lattice."""
        point = pose.rotation @ (self._point - self._depth * self._axes[0]) + pose.translation
        frame, motion = self._axes @ pose.rotation.T, pose.motion
        previous = sums.density.copy() if motion is not None else sums.density
        kernels.add_plane_samples.variant(len(sums.density) >= _PARALLEL_FROM)(
            xyzp, self._inverse, point.astype(np.float32), np.ascontiguousarray(frame, np.float32),
            np.float32(self._spacing), np.float32(self.volume), motion if motion is not None else _REST,
            motion is not None, sums.gradient, sums.density, sums.rate,
        )  # fmt: skip
        if motion is not None:
            sums.add_velocity(previous, xyzp, motion)

    def penetration_candidates(
        self, sums: BoundarySums, xyzp: NDArray[np.float32], pose: BoundaryPose, margin: float
    ) -> NDArray[np.intp]:
        """Return the particles with a large boundary part of the density."""
        return np.flatnonzero(sums.density > _CANDIDATE_DENSITY)

    def nbytes(self) -> int:
        """Return the memory of the samples [bytes]."""
        return 0


def make_akinci_boundary(shape: Shape, radius: float, diameter: float) -> AkinciPlane | AkinciBoundary:
    """Return the boundary particles of a shape.

    Args:
        shape: The shape.
        radius: Radius of the kernel [m].
        diameter: Diameter of fluid particles [m].
    """
    if isinstance(shape, Plane):
        return AkinciPlane(shape, radius, diameter)
    return AkinciBoundary(shape, radius, diameter)
