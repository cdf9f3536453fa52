"""Building boundary maps: a boundary's part of the density of a fluid, stored on a sparse grid around its surface.

A map is the convolution of the kernel with gamma(Phi), Phi being the signed distance to the boundary. The distance is
sampled at nodes a quarter of a kernel radius apart, in bricks of 8 x 8 x 8 cells near the surface. Bricks within whose
kernel support the boundary is flat store its plane, for which the integral has a closed form. All others store a C2
cubic spline of the sums over the surrounding nodes (`planar_profile.smoothed_weight_table` says why these are accurate
to fourth order).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.short_repr import ShortRepr
from continua.sph.boundary import map_build_kernels as kernels
from continua.sph.boundary import map_eval_kernels
from continua.sph.boundary.planar_profile import (
    INTERVALS_PER_RADIUS,
    planar_profile,
    profile_table,
    rest_inset,
    smoothed_weight_table,
)
from continua.sph.smoothing_kernel import cubic_spline

__all__ = ["BoundaryMap", "MapTable", "build_map", "plane_map"]

_MAP_DEPTH = 1.0  # of the map inside the boundary, in kernel radii
_EXTRA_DEPTH = 2.25  # to which distances are sampled beyond that, in kernel radii
_FLATNESS_TOLERANCE = (
    2e-4  # of the kernel radius: largest deviation of a flat brick's distances from a plane's
)
_KINK_THRESHOLD = 0.15  # of the spacing: second differences of distances above it are a kink
_BATCH = 1 << 18
_KINK_BATCH = 256  # bricks with kinks that are sampled at a time
_MAX_BRICKS = 1 << 27
Distance = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class MapTable(NamedTuple):
    """The numbers and arrays that `map_eval_kernels.map_at` reads; all lengths in metres.

    A brick's code is -1 outside of the map's support, -2 deep inside the boundary, -3 - k for plane k, and k >= 0 for
    the spline k."""

    low_x: np.float32
    low_y: np.float32
    low_z: np.float32
    cells: np.float32
    inverse: np.float32
    depth: np.float32
    per_radius: np.float32
    last_index: np.float32
    deepest: np.float32
    outside_code: int
    is_volume_map: bool
    counts: NDArray[np.int64]
    codes: NDArray[np.int32]
    planes: NDArray[np.float32]
    profile: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    distances: NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryMap(ShortRepr):
    """A boundary's part of the relative density and its gradient, in local axes.

    Attributes:
        table: The data for compiled code.
        radius: Radius of the kernel [m].
        inset: How far below the surface the boundary begins [m].
        reach: Distance from the surface beyond which the map is zero [m].
        bounds: Bounding box of the map [m], shape [2, 3].
        flat_count: Number of bricks with a plane.
        spline_count: Number of bricks with a spline.
    """

    table: MapTable
    radius: float
    inset: float
    reach: float
    bounds: NDArray[np.float64]
    flat_count: int
    spline_count: int

    def __call__(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values [n] and gradients [n, 3] [1/m] at points [n, 3] in local axes [m]."""
        xyzw = np.zeros((len(points), 4), np.float32)
        xyzw[:, :3] = points
        density, gradient = np.zeros(len(points), np.float32), np.zeros(4 * len(points), np.float32)
        map_eval_kernels.evaluate_map.variant(len(points) >= 8192)(
            xyzw.ravel(), self.table, density, gradient
        )
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
    inverted: bool = False,
) -> BoundaryMap:
    """Build the map of a boundary.

    Args:
        distance: Signed distances [m] of points [n, 3], negative inside the boundary.
        bounds: Bounding box of the surface [m], shape [2, 3].
        radius: Radius of the kernel [m].
        model: "density" (Koschier and Bender 2017) or "volume" (Bender and others 2019).
        extension: How far outside the surface the boundary contributes, in kernel radii (density maps only).
        inset: How far below the surface the boundary begins, in kernel radii; None lets fluid at rest end at
            the surface.
        inverted: Whether everything outside `bounds` is inside the boundary, as for containers.
    """
    extension = extension if model == "density" else 1.0
    inset = rest_inset(model, extension) if inset is None else inset
    spacing = radius / kernels.NODES_PER_RADIUS
    width = kernels.BRICK * spacing
    margin = (1.0 + extension + max(_MAP_DEPTH, 0.0)) * radius
    low = bounds[0] - margin
    bricks = np.maximum(np.ceil((bounds[1] + margin - low) / width), 1.0)
    if not bricks.prod() <= _MAX_BRICKS:
        raise InputError(
            f"a boundary of {np.round(bounds[1] - bounds[0], 3).tolist()} m is too large for a map with "
            f"particle_radius {0.25 * radius:g} m; use larger particles or boundary 'particles'"
        )
    counts = bricks.astype(np.int64)
    support = extension if model == "density" else 1.0
    sampler = _DistanceSampler(
        lambda points: distance(points) + inset * radius, low, counts, radius, support, inverted
    )
    targets, codes = sampler.candidate_bricks()
    kinds, planes = sampler.classify(targets)
    table_planes = planes[kinds == kernels.FLAT].astype(np.float64)
    spline_coefficients, distance_coefficients = sampler.spline_coefficients(
        targets[kinds == kernels.SPLINE], model, extension
    )
    flat = np.asarray(np.ravel_multi_index(tuple(targets.T), tuple(counts)))
    codes[flat[kinds == kernels.EMPTY]] = -1
    codes[flat[kinds == kernels.FLAT]] = -3 - np.arange(len(table_planes))
    codes[flat[kinds == kernels.SPLINE]] = np.arange((kinds == kernels.SPLINE).sum())
    corner = low + (targets[kinds == kernels.FLAT] - 1) * width
    # the distance at the first node becomes that at the origin
    table_planes[:, 3] -= (corner * table_planes[:, :3]).sum(axis=1)
    map_bounds = np.stack([low, low + counts * width])
    bricks = (
        counts,
        codes,
        table_planes.astype(np.float32).ravel(),
        spline_coefficients,
        distance_coefficients,
    )
    return _assemble_map(model, extension, inset, radius, map_bounds, -2 if inverted else -1, bricks)


def plane_map(
    normal: NDArray[np.float64],
    offset: float,
    radius: float,
    *,
    model: str = "density",
    extension: float = 0.125,
    inset: float | None = None,
) -> BoundaryMap:
    """Build the map of an infinite plane, which needs no grid: the boundary is where normal . x + offset [m] < 0."""
    extension = extension if model == "density" else 1.0
    inset = rest_inset(model, extension) if inset is None else inset
    plane = np.array([*normal, offset + inset * radius], np.float32)
    empty = np.zeros(4, np.float32)
    bricks = (np.zeros(3, np.int64), np.zeros(1, np.int32), plane, empty, empty)
    bounds = np.stack([np.full(3, -np.inf), np.full(3, np.inf)])
    return _assemble_map(model, extension, inset, radius, bounds, -3, bricks)


def _assemble_map(
    model: str, extension: float, inset: float, radius: float, bounds: NDArray, outside_code: int, bricks: tuple
) -> BoundaryMap:  # fmt: skip
    counts, codes, planes, spline_coefficients, distance_coefficients = bricks
    end = (extension if model == "density" else 1.0) + 1.0
    curve = profile_table(model, extension, end, _MAP_DEPTH)
    if model == "volume":
        curve = curve * np.float32(radius**3)
    low = np.where(np.isfinite(bounds[0]), bounds[0], 0.0).astype(np.float32)
    table = MapTable(
        low[0],
        low[1],
        low[2],
        np.float32(kernels.NODES_PER_RADIUS / radius),
        np.float32(1.0 / radius),
        np.float32(_MAP_DEPTH),
        np.float32(INTERVALS_PER_RADIUS),
        np.float32(len(curve) // 2 - 1),
        np.float32(planar_profile(model, np.array([-_MAP_DEPTH]), extension)[0]),
        outside_code,
        model == "volume",
        counts,
        codes,
        planes,
        curve,
        spline_coefficients,
        distance_coefficients,
    )
    reach = (end - inset) * radius
    return BoundaryMap(
        table, radius, inset * radius, reach, bounds, len(planes) // 4, len(spline_coefficients) // 1331
    )


@dataclass
class _DistanceSampler:
    """Samples the distance at the nodes of the bricks near a boundary, only where it is needed."""

    distance: Distance
    low: NDArray[np.float64]
    counts: NDArray[np.int64]
    radius: float
    support: float
    inverted: bool

    def __post_init__(self) -> None:
        far = np.float32(4.0 * self.radius)
        self.fill_values = np.array([far, -far, -far if self.inverted else far], np.float32)
        self.codes = np.zeros(0, np.int32)

    @property
    def spacing(self) -> float:
        """Spacing of nodes [m]."""
        return self.radius / kernels.NODES_PER_RADIUS

    def distances_at(self, points: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return distances, evaluated in batches."""
        parts = [
            self.distance(points[k : k + _BATCH]).astype(np.float32) for k in range(0, len(points), _BATCH)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def candidate_bricks(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the bricks that may be in the map's support, shape [m, 3], and codes of all bricks as if none were."""
        at = np.stack(np.meshgrid(*(np.arange(c) for c in self.counts), indexing="ij"), axis=-1).reshape(
            -1, 3
        )
        width = kernels.BRICK * self.spacing
        center_distances = self.distances_at(self.low + (at + 0.5) * width)
        half = 0.5 * np.sqrt(3.0) * width
        near = (center_distances < (self.support + 1.0) * self.radius + half) & (
            center_distances > -_MAP_DEPTH * self.radius - half
        )
        self.codes = np.where(center_distances > 0.0, -1, -2).astype(np.int32)
        return at[near], self.codes.copy()

    def with_neighbours(
        self, targets: NDArray[np.int64], stride: int
    ) -> tuple[NDArray[np.int64], NDArray, NDArray]:
        """Return target bricks and their neighbours [k, 3], the row of each brick among these, and their distances.

        Distances are sampled at every `stride`-th node; blocks whose distance cannot matter get a large value.
        """
        near = np.zeros(tuple(self.counts), bool)
        for offset in np.ndindex(3, 3, 3):
            moved = targets + np.array(offset) - 1
            moved = moved[((moved >= 0) & (moved < self.counts)).all(axis=1)]
            near[tuple(moved.T)] = True
        bricks = np.argwhere(near)
        half = kernels.BRICK // 2
        corners = np.stack(np.meshgrid(*[[0, half]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        blocks = (bricks[:, None] * kernels.BRICK + corners).reshape(-1, 3)
        center_distances = self.distances_at(self.low + (blocks + 0.5 * (half - 1)) * self.spacing)
        bound = 0.5 * np.sqrt(3.0) * (half - 1) * self.spacing
        needed = (center_distances < (self.support + 0.5) * self.radius + bound) & (
            center_distances > -(_MAP_DEPTH + _EXTRA_DEPTH) * self.radius - bound
        )
        per_side = half // stride
        inside = stride * np.stack(np.meshgrid(*[np.arange(per_side)] * 3, indexing="ij"), axis=-1).reshape(
            -1, 3
        )
        far = self.fill_values[0]
        values = np.repeat(
            np.where(center_distances > 0.0, far, -far).astype(np.float32), per_side**3
        ).reshape(-1, per_side**3)
        points = (self.low + blocks[needed] * self.spacing)[:, None] + inside * self.spacing
        values[needed] = self.distances_at(points.reshape(-1, 3)).reshape(-1, per_side**3)
        shape = (len(bricks), 2, 2, 2, per_side, per_side, per_side)
        nodes = np.ascontiguousarray(values.reshape(shape).transpose(0, 1, 4, 2, 5, 3, 6))
        brick_rows = self.codes.copy()
        brick_rows[np.ravel_multi_index(bricks.T, tuple(self.counts))] = np.arange(len(bricks))
        return bricks, brick_rows, nodes.reshape(len(bricks), 8 * per_side**3)

    def classify(self, targets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the kind of each brick (see `map_build_kernels`), and the planes of flat ones [m, 4]."""
        _, brick_rows, nodes = self.with_neighbours(targets, 2)
        kinds, planes = np.zeros(len(targets), np.int64), np.zeros((len(targets), 4), np.float32)
        r = self.radius
        kernels.classify.variant(len(targets) >= 64)(
            targets, self.counts, brick_rows, nodes, self.fill_values, np.float32(2.0 * self.spacing),
            np.float32(self.support * r), np.float32(-(_MAP_DEPTH + 1.0) * r),
            np.float32(_FLATNESS_TOLERANCE * r), kinds, planes,
        )  # fmt: skip
        return kinds, planes

    def spline_coefficients(
        self, targets: NDArray[np.int64], model: str, extension: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the spline coefficients of the targets, and those of the distance."""
        bricks, brick_rows, nodes = self.with_neighbours(targets, 1)
        r, step, depth = self.radius, 1.0 / kernels.NODES_PER_RADIUS, 4.0
        scale, deep = np.float32(INTERVALS_PER_RADIUS / r), np.float32(depth * r)
        parallel = len(targets) >= 64
        gamma = smoothed_weight_table(model, extension, step, self.support + 3.0 * step, depth)
        node_weights = np.zeros(nodes.shape, np.float32)
        kernels.node_weights_from_table.variant(parallel)(nodes, gamma, deep, scale, node_weights)
        has_kink = np.zeros(len(bricks), bool)
        kernels.find_kinks.variant(parallel)(
            bricks, self.counts, brick_rows, nodes, self.fill_values, np.float32(-(_MAP_DEPTH + 1.0) * r),
            np.float32((self.support + step) * r), np.float32(_KINK_THRESHOLD * self.spacing), has_kink,
        )  # fmt: skip
        which = np.flatnonzero(has_kink)
        fine = smoothed_weight_table(model, extension, 0.5 * step, self.support + 3.0 * step, depth)
        steps = 0.5 * self.spacing * np.arange(-2, kernels.HALF_STEP_NODES - 2)
        halves = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
        for start in range(0, len(which), _KINK_BATCH):
            some = which[start : start + _KINK_BATCH]
            points = (self.low + bricks[some] * (kernels.BRICK * self.spacing))[:, None] + halves
            values = self.distances_at(points.reshape(-1, 3)).reshape(len(some), -1)
            kernels.filtered_node_weights.variant(parallel)(some, values, fine, deep, scale, node_weights)
        size = kernels.COEFFICIENTS**3
        result = np.zeros(len(targets) * size + 4, np.float32)
        empty = np.where(self.fill_values > 0.0, 0.0, gamma[0]).astype(np.float32)
        offsets, weights = _kernel_stencil(model, step)
        rows = result[:-4].reshape(-1, size)
        kernels.spline_coefficients.variant(parallel)(
            targets, self.counts, brick_rows, node_weights, empty, offsets, weights, rows
        )
        if model == "volume":
            result *= np.float32(r**3)
        distance_coefficients = np.zeros_like(result)
        kernels.distance_spline_coefficients.variant(parallel)(
            targets,
            self.counts,
            brick_rows,
            nodes,
            self.fill_values,
            np.float32(2.5 * r),
            distance_coefficients[:-4].reshape(-1, size),
        )
        return result, distance_coefficients


def _kernel_stencil(model: str, step: float) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the nodes in the kernel's support, as offsets in the neighbourhood of a brick, and their weights."""
    n = kernels.NODES_PER_RADIUS
    steps = np.arange(-n, n + 1)
    lattice = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    if model == "density":
        weights = cubic_spline(np.linalg.norm(lattice * step, axis=1), 1.0)
        weights /= weights.sum()
    else:
        part = (np.arange(8) + 0.5) / 8 - 0.5
        parts = np.stack(np.meshgrid(part, part, part, indexing="ij"), axis=-1).reshape(-1, 3)
        weights = (np.linalg.norm((lattice[:, None] + parts) * step, axis=2) < 1.0).mean(axis=1)
        weights *= 4.0 / 3.0 * np.pi / weights.sum()
    used = weights > 0.0
    offsets = (lattice[:, 0] * kernels.NEIGHBOURHOOD + lattice[:, 1]) * kernels.PADDED + lattice[:, 2]
    return offsets[used].astype(np.int64), weights[used].astype(np.float32)
