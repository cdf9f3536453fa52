"""Boundary maps: what a wall adds to the density of a fluid, kept on a sparse grid around its surface.

A map is a convolution: the kernel over gamma(Phi), with Phi the signed distance to the wall. The distance is taken at
nodes a quarter of a kernel radius apart, in bricks of 8 x 8 x 8 cells near the surface. Bricks in whose reach the wall
is flat keep its plane, and the integral there has a closed form. All others keep a cubic spline, C2, of the
sums over the nodes around (see `planar_profile.smoothed` for why these are exact to fourth order).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.sph.boundary import map_build_kernels as kernels
from continua.sph.boundary import map_eval_kernels as mapped_kernels
from continua.sph.boundary.planar_profile import PER_RADIUS, profile, rest_inset, sampled, smoothed
from continua.sph.smoothing_kernel import spline

__all__ = ["BoundaryMap", "MapTable", "build_map", "flat_map"]

_DEPTH = 1.0  # how far inside a map goes, in kernel radii
_MORE = 2.25  # how much deeper distances are taken
_FLAT = 2e-4  # of the kernel radius: how far distances of a flat brick may be from a plane's
_SHARP = 0.15  # of the spacing: second differences of distances above that are a kink
_BATCH = 1 << 18
_GROUP = 256  # sharp bricks that are sampled at a time
_MOST_BRICKS = 1 << 27
Distance = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class MapTable(NamedTuple):
    """The numbers and arrays that compiled code reads (`mapped_kernels.map_at`); all lengths in metres."""

    low_x: np.float32
    low_y: np.float32
    low_z: np.float32
    cells: np.float32
    inverse: np.float32
    depth: np.float32
    per_radius: np.float32
    last: np.float32
    deepest: np.float32
    beyond: int
    lumped: bool
    counts: NDArray[np.int64]
    marks: NDArray[np.int32]
    planes: NDArray[np.float32]
    profile: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    distances: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class BoundaryMap:
    """A wall's part of the relative density and its gradient, in the wall's own axes.

    Attributes:
        table: What compiled code reads.
        radius: Radius of the kernel [m].
        inset: How far below the surface the wall begins [m].
        reach: Beyond this distance from the surface the wall is not felt [m].
        bounds: The box of the map [m], shape [2, 3].
        flat_count: Bricks that keep a plane.
        spline_count: Bricks that keep a spline.
    """

    table: MapTable
    radius: float
    inset: float
    reach: float
    bounds: NDArray[np.float64]
    flat_count: int
    spline_count: int

    def __call__(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values [n] and gradients [n, 3] [1/m] at points [n, 3] of the wall's axes [m]."""
        rows = np.zeros((len(points), 4), np.float32)
        rows[:, :3] = points
        density, gradient = np.zeros(len(points), np.float32), np.zeros(4 * len(points), np.float32)
        mapped_kernels.values.pick(len(points) >= 8192)(rows.ravel(), self.table, density, gradient)
        return density.astype(np.float64), gradient.reshape(-1, 4)[:, :3].astype(np.float64)

    @property
    def nbytes(self) -> int:
        """Size of all arrays [bytes]."""
        return sum(value.nbytes for value in self.table if isinstance(value, np.ndarray))


def build_map(
    distance: Distance,
    bounds: NDArray[np.float64],
    radius: float,
    *,
    model: str = "density",
    extension: float = 0.125,
    inset: float | None = None,
    hollow: bool = False,
) -> BoundaryMap:
    """Make the map of a wall.

    Args:
        distance: Signed distances [m] of points [n, 3], negative inside the wall.
        bounds: Box around the wall's surface [m], shape [2, 3].
        radius: Radius of the kernel [m].
        model: "density" (Koschier and Bender 2017) or "volume" (Bender and others 2019).
        extension: How far outside the surface the wall weighs, in kernel radii (density maps only).
        inset: How far below the surface the wall begins, in kernel radii; None lets fluid at rest end at the surface.
        hollow: Whether the wall is everywhere outside `bounds`, as for containers.
    """
    extension = extension if model == "density" else 1.0
    inset = rest_inset(model, extension) if inset is None else inset
    spacing = radius / kernels.PER_RADIUS
    width = kernels.BRICK * spacing
    margin = (1.0 + extension + max(_DEPTH, 0.0)) * radius
    low = bounds[0] - margin
    counts = np.maximum(np.ceil((bounds[1] + margin - low) / width).astype(np.int64), 1)
    if counts.prod() > _MOST_BRICKS:
        raise InputError(
            f"a wall of {np.round(bounds[1] - bounds[0], 3).tolist()} m is too large for a map with particle_radius "
            f"{0.25 * radius:g} m; use larger particles or boundary 'particles'"
        )
    ceiling = extension if model == "density" else 1.0
    sampling = _Sampling(
        lambda points: distance(points) + inset * radius, low, counts, radius, ceiling, hollow
    )
    wanted, marks = sampling.candidates()
    kinds, planes = sampling.classified(wanted)
    table_planes = planes[kinds == kernels.FLAT].astype(np.float64)
    splines, more = sampling.splines(wanted[kinds == kernels.SPLINE], model, extension)
    flat = np.asarray(np.ravel_multi_index(tuple(wanted.T), tuple(counts)))
    marks[flat[kinds == kernels.EMPTY]] = -1
    marks[flat[kinds == kernels.FLAT]] = -3 - np.arange(len(table_planes))
    marks[flat[kinds == kernels.SPLINE]] = np.arange((kinds == kernels.SPLINE).sum())
    corner = low + (wanted[kinds == kernels.FLAT] - 1) * width
    table_planes[:, 3] -= (corner * table_planes[:, :3]).sum(
        axis=1
    )  # the distance at the first node, moved to 0
    box = np.stack([low, low + counts * width])
    bricks = (counts, marks, table_planes.astype(np.float32).ravel(), splines, more)
    return _finished(model, extension, inset, radius, box, -2 if hollow else -1, bricks)


def flat_map(
    normal: NDArray[np.float64],
    offset: float,
    radius: float,
    *,
    model: str = "density",
    extension: float = 0.125,
    inset: float | None = None,
) -> BoundaryMap:
    """Make the map of an endless plane, which needs no grid: the wall is where normal . x + offset [m] < 0."""
    extension = extension if model == "density" else 1.0
    inset = rest_inset(model, extension) if inset is None else inset
    plane = np.array([*normal, offset + inset * radius], np.float32)
    nothing = np.zeros(4, np.float32)
    bricks = (np.zeros(3, np.int64), np.zeros(1, np.int32), plane, nothing, nothing)
    box = np.stack([np.full(3, -np.inf), np.full(3, np.inf)])
    return _finished(model, extension, inset, radius, box, -3, bricks)


def _finished(
    model: str, extension: float, inset: float, radius: float, box: NDArray, beyond: int, bricks: tuple
) -> BoundaryMap:  # fmt: skip
    counts, marks, planes, splines, more = bricks
    end = (extension if model == "density" else 1.0) + 1.0
    curve = sampled(model, extension, end, _DEPTH)
    if model == "volume":
        curve = curve * np.float32(radius**3)
    low = np.where(np.isfinite(box[0]), box[0], 0.0).astype(np.float32)
    table = MapTable(
        low[0],
        low[1],
        low[2],
        np.float32(kernels.PER_RADIUS / radius),
        np.float32(1.0 / radius),
        np.float32(_DEPTH),
        np.float32(PER_RADIUS),
        np.float32(len(curve) // 2 - 1),
        np.float32(profile(model, np.array([-_DEPTH]), extension)[0]),
        beyond,
        model == "volume",
        counts,
        marks,
        planes,
        curve,
        splines,
        more,
    )
    reach = (end - inset) * radius
    return BoundaryMap(table, radius, inset * radius, reach, box, len(planes) // 4, len(splines) // 1331)


@dataclass
class _Sampling:
    """Distances at nodes of the bricks near a wall, taken where they are needed."""

    distance: Distance
    low: NDArray[np.float64]
    counts: NDArray[np.int64]
    radius: float
    ceiling: float
    hollow: bool

    def __post_init__(self) -> None:
        far = np.float32(4.0 * self.radius)
        self.ends = np.array([far, -far, -far if self.hollow else far], np.float32)
        self.marks = np.zeros(0, np.int32)

    @property
    def spacing(self) -> float:
        """Distance of nodes [m]."""
        return self.radius / kernels.PER_RADIUS

    def taken(self, points: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return distances, asked for in batches."""
        parts = [
            self.distance(points[k : k + _BATCH]).astype(np.float32) for k in range(0, len(points), _BATCH)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def candidates(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the bricks that may feel the wall, shape [m, 3], and the marks of all bricks as if none did."""
        at = np.stack(np.meshgrid(*(np.arange(c) for c in self.counts), indexing="ij"), axis=-1).reshape(
            -1, 3
        )
        width = kernels.BRICK * self.spacing
        middle = self.taken(self.low + (at + 0.5) * width)
        half = 0.5 * np.sqrt(3.0) * width
        near = (middle < (self.ceiling + 1.0) * self.radius + half) & (middle > -_DEPTH * self.radius - half)
        self.marks = np.where(middle > 0.0, -1, -2).astype(np.int32)
        return at[near], self.marks.copy()

    def around(self, wanted: NDArray[np.int64], stride: int) -> tuple[NDArray[np.int64], NDArray, NDArray]:
        """Return wanted bricks and those around them [k, 3], where each is among these, and its distances.

        Distances are taken at every `stride`-th node; blocks whose distance cannot matter are far.
        """
        near = np.zeros(tuple(self.counts), bool)
        for shift in np.ndindex(3, 3, 3):
            moved = wanted + np.array(shift) - 1
            moved = moved[((moved >= 0) & (moved < self.counts)).all(axis=1)]
            near[tuple(moved.T)] = True
        bricks = np.argwhere(near)
        half = kernels.BRICK // 2
        corners = np.stack(np.meshgrid(*[[0, half]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        blocks = (bricks[:, None] * kernels.BRICK + corners).reshape(-1, 3)
        middle = self.taken(self.low + (blocks + 0.5 * (half - 1)) * self.spacing)
        bound = 0.5 * np.sqrt(3.0) * (half - 1) * self.spacing
        asked = (middle < (self.ceiling + 0.5) * self.radius + bound) & (
            middle > -(_DEPTH + _MORE) * self.radius - bound
        )
        few = half // stride
        inside = stride * np.stack(np.meshgrid(*[np.arange(few)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        far = self.ends[0]
        values = np.repeat(np.where(middle > 0.0, far, -far).astype(np.float32), few**3).reshape(-1, few**3)
        points = (self.low + blocks[asked] * self.spacing)[:, None] + inside * self.spacing
        values[asked] = self.taken(points.reshape(-1, 3)).reshape(-1, few**3)
        shape = (len(bricks), 2, 2, 2, few, few, few)
        nodes = np.ascontiguousarray(values.reshape(shape).transpose(0, 1, 4, 2, 5, 3, 6))
        places = self.marks.copy()
        places[np.ravel_multi_index(bricks.T, tuple(self.counts))] = np.arange(len(bricks))
        return bricks, places, nodes.reshape(len(bricks), -1)

    def classified(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return what each brick is (see `map_kernels`), and the planes of flat ones [m, 4]."""
        _, places, nodes = self.around(wanted, 2)
        kinds, planes = np.zeros(len(wanted), np.int64), np.zeros((len(wanted), 4), np.float32)
        r = self.radius
        kernels.classify.pick(len(wanted) >= 64)(
            wanted, self.counts, places, nodes, self.ends, np.float32(2.0 * self.spacing),
            np.float32(self.ceiling * r), np.float32(-(_DEPTH + 1.0) * r), np.float32(_FLAT * r), kinds, planes,
        )  # fmt: skip
        return kinds, planes

    def splines(
        self, wanted: NDArray[np.int64], model: str, extension: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the coefficients of bricks, and those of the distance."""
        bricks, places, nodes = self.around(wanted, 1)
        r, step, depth = self.radius, 1.0 / kernels.PER_RADIUS, 4.0
        scale, deep = np.float32(PER_RADIUS / r), np.float32(depth * r)
        parallel = len(wanted) >= 64
        gamma = smoothed(model, extension, step, self.ceiling + 3.0 * step, depth)
        heavy = np.zeros(nodes.shape, np.float32)
        kernels.weigh.pick(parallel)(nodes, gamma, deep, scale, heavy)
        sharp = np.zeros(len(bricks), bool)
        kernels.find_sharp.pick(parallel)(
            bricks, self.counts, places, nodes, self.ends, np.float32(-(_DEPTH + 1.0) * r),
            np.float32((self.ceiling + step) * r), np.float32(_SHARP * self.spacing), sharp,
        )  # fmt: skip
        which = np.flatnonzero(sharp)
        fine = smoothed(model, extension, 0.5 * step, self.ceiling + 3.0 * step, depth)
        steps = 0.5 * self.spacing * np.arange(-2, kernels.FINE - 2)
        halves = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
        for start in range(0, len(which), _GROUP):
            some = which[start : start + _GROUP]
            points = (self.low + bricks[some] * (kernels.BRICK * self.spacing))[:, None] + halves
            values = self.taken(points.reshape(-1, 3)).reshape(len(some), -1)
            kernels.weigh_fine.pick(parallel)(some, values, fine, deep, scale, heavy)
        size = kernels.POINTS**3
        result = np.zeros(len(wanted) * size + 4, np.float32)
        empty = np.where(self.ends > 0.0, 0.0, gamma[0]).astype(np.float32)
        offsets, weights = _ball(model, step)
        rows = result[:-4].reshape(-1, size)
        kernels.splines.pick(parallel)(wanted, self.counts, places, heavy, empty, offsets, weights, rows)
        if model == "volume":
            result *= np.float32(r**3)
        more = np.zeros_like(result)
        kernels.distance_splines.pick(parallel)(
            wanted, self.counts, places, nodes, self.ends, np.float32(2.5 * r), more[:-4].reshape(-1, size)
        )
        return result, more


def _ball(model: str, step: float) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nodes in the kernel's ball, as offsets in a neighbourhood of a brick, and their weights."""
    most = kernels.PER_RADIUS
    steps = np.arange(-most, most + 1)
    lattice = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    if model == "density":
        weights = spline(np.linalg.norm(lattice * step, axis=1), 1.0)
        weights /= weights.sum()
    else:
        part = (np.arange(8) + 0.5) / 8 - 0.5
        parts = np.stack(np.meshgrid(part, part, part, indexing="ij"), axis=-1).reshape(-1, 3)
        weights = (np.linalg.norm((lattice[:, None] + parts) * step, axis=2) < 1.0).mean(axis=1)
        weights *= 4.0 / 3.0 * np.pi / weights.sum()
    used = weights > 0.0
    offsets = (lattice[:, 0] * kernels.WIDE + lattice[:, 1]) * kernels.DEEP + lattice[:, 2]
    return offsets[used].astype(np.int64), weights[used].astype(np.float32)
