"""Triangle meshes of plane outlines with holes and inner lines, by Delaunay refinement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import delaunay_kernels as kernels
from continua.mesh.plane_mesh import TriMesh
from continua.validation import number, numbers, sequence, shortened

__all__ = ["OutlineMesh", "Size", "mesh_outline", "plane_points", "polygon"]

Size = float | Callable[[NDArray[np.float64]], ArrayLike]

# Coordinates become integers of this size, for exact predicates; the square around all points is twice as wide.
GRID = 1 << 26
MAX_POINTS = 3_000_000
LARGEST_ANGLE = 33.0


@dataclass(frozen=True, eq=False)
class OutlineMesh:
    """A triangle mesh of an outline.

    Attributes:
        points: Positions [m], shape [n, 2].
        triangles: Counter-clockwise, shape [m, 3].
        sides: The nodes along each side of the outline, from corner k to corner k + 1, and then of each hole.
        lines: The nodes along each inner line.
    """

    points: NDArray[np.float64]
    triangles: NDArray[np.int32]
    sides: tuple[NDArray[np.int32], ...]
    lines: tuple[NDArray[np.int32], ...]


def polygon(
    outline: ArrayLike,
    *,
    holes: Sequence[ArrayLike] = (),
    lines: Sequence[ArrayLike] = (),
    size: Size | None = None,
    min_angle: float = 25.0,
    thickness: float = 1.0,
) -> TriMesh:
    """Return a plane mesh of triangles in an outline, by Delaunay refinement (Ruppert 1995).

    Corners stay where they are, and sides stay straight; nodes are added to them where needed. Every angle of a
    triangle is at least `min_angle`, except near sharp corners of the outline.

    Args:
        outline: Corners in order [m], shape [k, 2].
        holes: Outlines of holes, of the same form; they do not touch the outline or each other.
        lines: Polylines inside, shape [k, 2] each, that become edges of triangles.
        size: Longest edge [m]: a number, or a function of points [n, 2] that returns one for each. None adds only the
            nodes that the angles need.
        min_angle: Smallest angle of triangles, up to 33 degrees.
        thickness: Length along z [m] that masses and forces are meant for.
    """
    mesh = mesh_outline(outline, holes=holes, lines=lines, size=size, min_angle=min_angle)
    return TriMesh(mesh.points, mesh.triangles, thickness=thickness)


def mesh_outline(
    outline: ArrayLike,
    *,
    holes: Sequence[ArrayLike] = (),
    lines: Sequence[ArrayLike] = (),
    size: Size | None = None,
    min_angle: float = 25.0,
    side_points: Mapping[int, ArrayLike] | None = None,
) -> OutlineMesh:
    """Mesh an outline and return also the nodes along its sides; see `polygon`.

    Args:
        outline: Corners in order [m], shape [k, 2].
        holes: Outlines of holes.
        lines: Inner polylines.
        size: Longest edge [m].
        min_angle: Smallest angle [deg].
        side_points: For some sides, numbered as in `OutlineMesh`, the nodes to begin with: fractions of the side
            between 0 and 1. Refinement may add others.
    """
    angle = number(min_angle, "min_angle", low=0.0, high=LARGEST_ANGLE, unit="degrees")
    loops = [plane_points(outline, "the outline", 3)]
    loops += [
        plane_points(hole, f"hole {i}", 3)
        for i, hole in enumerate(sequence(holes, "the holes of an outline"))
    ]
    inner = [
        plane_points(line, f"line {i}", 2)
        for i, line in enumerate(sequence(lines, "the lines in an outline"))
    ]
    if size is not None and not callable(size):
        size = number(size, "the size of triangles", above=0.0, unit="m")
    return _Mesher(loops, inner, size, angle, dict(side_points or {})).run()


def plane_points(given: ArrayLike, what: str, least: int) -> NDArray[np.float64]:
    """Return checked corners, without a last one that repeats the first."""
    found = numbers(given)
    if found is None or found.ndim != 2 or found.shape[1] != 2 or not np.isfinite(found).all():
        raise InputError(f"{what} must be points of two finite numbers, shape [k, 2], not {shortened(given)}")
    if least == 3 and len(found) > 3 and (found[0] == found[-1]).all():
        found = found[:-1]
    if len(found) < least:
        raise InputError(f"{what} needs at least {least} points; it has {len(found)}")
    return found


def _area(loop: NDArray[np.float64]) -> float:
    ahead = np.roll(loop, -1, axis=0)
    return 0.5 * float((loop[:, 0] * ahead[:, 1] - loop[:, 1] * ahead[:, 0]).sum())


def _within(loop: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which points an outline surrounds, by the number of sides that a ray to the right crosses."""
    inside = np.zeros(len(points), dtype=bool)
    for a, b in zip(loop, np.roll(loop, -1, axis=0), strict=True):
        spans = (a[1] > points[:, 1]) != (b[1] > points[:, 1])
        rise = b[1] - a[1]
        if rise != 0.0:
            inside ^= spans & (points[:, 0] < a[0] + (points[:, 1] - a[1]) / rise * (b[0] - a[0]))
    return inside


class _Mesher:
    """One run of the refinement."""

    def __init__(
        self,
        loops: list[NDArray[np.float64]],
        lines: list[NDArray[np.float64]],
        size: Size | None,
        min_angle: float,
        side_points: dict[int, ArrayLike],
    ) -> None:
        self.size, self.min_angle = size, min_angle
        self.loop_count = len(loops)
        everything = np.concatenate(loops + lines)
        low, high = everything.min(axis=0), everything.max(axis=0)
        extent = float((high - low).max())
        if not 0.0 < extent < 1e15:
            raise InputError("the outline has no size; give corners that are apart")
        self.center, self.unit = 0.5 * (low + high), extent / (2 * GRID)
        # sides: straight pieces between given points; pieces of them are the segments
        self.side_ends: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        names: list[str] = []
        for k, loop in enumerate(loops):
            what = "outline" if k == 0 else f"hole {k - 1}"
            for i, (a, b) in enumerate(zip(loop, np.roll(loop, -1, axis=0), strict=True)):
                self.side_ends.append((a, b))
                names.append(f"side {i} of the {what}" if k == 0 else f"side {i} of {what}")
        self.loop_sides = len(self.side_ends)
        self.line_sides: list[list[int]] = []
        for k, line in enumerate(lines):
            self.line_sides.append(list(range(len(self.side_ends), len(self.side_ends) + len(line) - 1)))
            for i, (a, b) in enumerate(pairwise(line)):
                self.side_ends.append((a, b))
                names.append(f"part {i} of line {k}")
        self._check(loops, lines, names)
        self._cut_sides(side_points)

    def _to_grid(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.rint((points - self.center) / self.unit).astype(np.int64)

    def _check(
        self, loops: list[NDArray[np.float64]], lines: list[NDArray[np.float64]], names: list[str]
    ) -> None:
        ends = np.array(self.side_ends).reshape(-1, 2)
        grid, which = np.unique(self._to_grid(ends), axis=0, return_inverse=True)
        segments = which.reshape(-1, 2).astype(np.int32)
        for k in np.flatnonzero(segments[:, 0] == segments[:, 1]).tolist():
            raise InputError(f"{names[k]} has no length; remove one of its two points")
        i, j = kernels.crossing_segments(grid, segments)
        if i >= 0:
            advice = "an outline may not cross or touch itself, its holes or lines"
            if j >= self.loop_sides:
                advice += ", except at a corner of both"
            raise InputError(f"{names[i]} meets {names[j]}; {advice}")
        uses = np.bincount(segments[: self.loop_sides].ravel(), minlength=len(grid))
        if (uses > 2).any():
            x, y = grid[np.argmax(uses)] * self.unit + self.center
            raise InputError(f"the outline or its holes touch at the point ({x:g}, {y:g}); move them apart")
        if not abs(_area(loops[0])) > 1e-12 * (2 * GRID * self.unit) ** 2:
            raise InputError("the outline surrounds no area")
        for h, hole in enumerate(loops[1:]):
            if not _within(loops[0], hole[:1])[0]:
                raise InputError(f"hole {h} lies outside of the outline")
            for other, around in enumerate(loops[1:]):
                if other != h and _within(around, hole[:1])[0]:
                    raise InputError(f"hole {h} lies in hole {other}; remove it")
        for n, line in enumerate(lines):
            middles = 0.5 * (line[1:] + line[:-1])
            if not _within(loops[0], middles).all() or any(_within(h, middles).any() for h in loops[1:]):
                raise InputError(f"line {n} leaves the outline")

    def _cut_sides(self, side_points: dict[int, ArrayLike]) -> None:
        """Cut sides into segments no longer than the size."""
        points: list[NDArray[np.float64]] = []
        self.fractions: list[NDArray[np.float64]] = []
        for k, (a, b) in enumerate(self.side_ends):
            if k in side_points:
                inner = np.unique(np.asarray(side_points[k], dtype=np.float64))
                t = np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]])
            else:
                t = self._even_fractions(a, b)
            self.fractions.append(t)
            points.append(a + t[:, None] * (b - a))
            points[-1][-1] = b
        if sum(map(len, points)) > MAX_POINTS:
            raise InputError("the size of triangles is too small for this outline: they would be millions")
        grid, first, which = np.unique(
            self._to_grid(np.concatenate(points)), axis=0, return_index=True, return_inverse=True
        )
        which = which.reshape(-1)
        self.given = np.concatenate(points)[first]
        self.grid = grid
        segments, sides, start = [], [], 0
        for k, piece in enumerate(points):
            nodes = which[start : start + len(piece)]
            segments.append(np.stack([nodes[:-1], nodes[1:]], axis=1))
            sides.append(np.full(len(piece) - 1, k))
            start += len(piece)
        self.segments = np.concatenate(segments).astype(np.int32)
        self.side_of = np.concatenate(sides)
        if (self.segments[:, 0] == self.segments[:, 1]).any():
            raise InputError("the size of triangles is too small for this outline: they would be millions")

    def _even_fractions(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
        length = float(np.linalg.norm(b - a))
        if self.size is None:
            return np.array([0.0, 1.0])
        if not callable(self.size):
            count = max(1, math.ceil(length / self.size * (1.0 - 1e-9)))
            return np.linspace(0.0, 1.0, min(count, MAX_POINTS) + 1)
        fine = np.linspace(0.0, 1.0, 129)
        wanted = self._sizes(a + fine[:, None] * (b - a))
        density = length / wanted
        total = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(fine))])
        count = max(1, min(math.ceil(total[-1] * 1.05), MAX_POINTS))
        return np.interp(np.linspace(0.0, total[-1], count + 1), total, fine)

    def _sizes(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the longest edge [m] at each point."""
        if not callable(self.size):
            return np.full(len(points), math.inf if self.size is None else self.size)
        found = numbers(self.size(points))
        if found is None or found.shape not in ((), (len(points),)) or not (found > 0.0).all():
            raise InputError(
                "the function of the size of triangles must return a positive number for each of "
                f"{len(points)} points, not {shortened(found)}"
            )
        return np.broadcast_to(found, (len(points),))

    def _lattice(self, loops_area: float) -> NDArray[np.float64]:
        """Return points of a triangular lattice that keep a distance from all segments, for an even size."""
        if self.size is None or callable(self.size):
            return np.zeros((0, 2))
        step = 0.9 * self.size
        if loops_area / step**2 > MAX_POINTS:
            raise InputError("the size of triangles is too small for this outline: they would be millions")
        low, high = self.given.min(axis=0), self.given.max(axis=0)
        rows = np.arange(low[1] + 0.5 * step, high[1], step * math.sqrt(0.75))
        columns = np.arange(low[0], high[0] + step, step)
        x, y = np.meshgrid(columns, rows)
        x[1::2] += 0.5 * step
        candidates = np.stack([x.ravel(), y.ravel()], axis=1)
        keep = kernels.clear_of_segments(
            candidates,
            self.given,
            self.segments,
            np.ascontiguousarray(self.side_of < self.loop_sides),
            0.62 * step,
        )
        return candidates[keep]

    def run(self) -> OutlineMesh:
        """Mesh and return the result."""
        extent = self.given.max(axis=0) - self.given.min(axis=0)
        extra = self._lattice(float(extent.prod()))
        base = 4 + len(self.grid)
        self._allocate(base + len(extra) + 2 * len(self.grid) + 200)
        self.points[4:base] = self.grid
        self.points[base : base + len(extra)] = self._to_grid(extra)
        wide = 2 * GRID - 1
        self.points[:4] = [[-wide, -wide], [wide, -wide], [wide, wide], [-wide, wide]]
        self.corners[:2] = [[0, 1, 2], [0, 2, 3]]
        self.neighbours[:2] = [[-1, 1, -1], [-1, -1, 0]]
        self.triangle_of[:4] = [0, 0, 0, 1]
        self.counts[:] = [base + len(extra), 2]
        order = 4 + _spatial_order(self.points[4 : self.counts[0]])
        cavity, mark, rim, start_of = self._scratch()
        done = kernels.insert_points(self.mesh, order, cavity, mark, rim, start_of)
        if done != len(order):
            raise InputError("points of the outline are too close to each other; remove some")
        segments = self.segments + 4
        made = kernels.insert_segments(self.mesh, segments, np.empty((len(self.corners), 2), np.int32))
        if made != len(segments):
            raise InputError("points of the outline are too close to its sides; remove some")
        is_loop = np.ascontiguousarray(self.side_of < self.loop_sides)
        kernels.find_domain(self.mesh, is_loop, np.empty(len(self.corners), np.int32))
        self.sharp[4:base] = _sharp_corners(self.given, self.segments)
        self._refine(segments)
        return self._result(base)

    def _allocate(self, points: int) -> None:
        self.points = np.zeros((points, 2), np.int64)
        self.corners = np.zeros((2 * points, 3), np.int32)
        self.neighbours = np.full((2 * points, 3), -1, np.int32)
        self.fixed = np.zeros((2 * points, 3), np.int32)
        self.inside = np.zeros(2 * points, np.int8)
        self.triangle_of = np.zeros(points, np.int32)
        self.counts = np.zeros(2, np.int64)
        self.sharp = np.zeros(points, np.bool_)
        self.segment_of = np.full(points, -1, np.int32)

    def _grow(self) -> None:
        old = self.__dict__.copy()
        self._allocate(min(2 * len(self.points), MAX_POINTS + 200))
        for key in (
            "points",
            "corners",
            "neighbours",
            "fixed",
            "inside",
            "triangle_of",
            "sharp",
            "segment_of",
        ):
            getattr(self, key)[: len(old[key])] = old[key]
        self.counts[:] = old["counts"]

    @property
    def mesh(self) -> tuple[NDArray[Any], ...]:
        """The triangulation as kernels take it."""
        return (
            self.points,
            self.corners,
            self.neighbours,
            self.fixed,
            self.inside,
            self.triangle_of,
            self.counts,
        )

    def _scratch(self) -> tuple[NDArray[np.int32], ...]:
        t = len(self.corners)
        return (
            np.empty(t, np.int32),
            np.zeros(t, np.int32),
            np.empty((t, 6), np.int32),
            np.empty(len(self.points), np.int32),
        )

    def _refine(self, segments: NDArray[np.int32]) -> None:
        cosine = math.cos(math.radians(self.min_angle))
        # off-centres lie where the angle opposite the shortest edge is just a little above the bound
        reach = 0.475 * math.sqrt((1.0 + cosine) / max(1.0 - cosine, 1e-6))
        while True:
            marked = self._too_large()
            t = len(self.corners)
            settings = np.array([cosine, reach, len(self.points) - 1], dtype=np.float64)
            status = kernels.refine(
                self.mesh,
                marked,
                settings,
                self.sharp,
                self.segment_of,
                segments,
                *self._scratch(),
                np.empty(t, np.int32),
                np.empty(t, np.int32),
            )
            if status == 2:
                raise InputError("points of the outline are too close to its sides; remove some")
            if status == 1:
                if len(self.points) >= MAX_POINTS:
                    raise InputError(
                        "the mesh would have millions of triangles; use a larger size or a smaller min_angle"
                    )
                self._grow()
            elif not self._too_large().any():
                return

    def _too_large(self) -> NDArray[np.bool_]:
        """Return which triangles of the domain have an edge longer than the size there."""
        marked = np.zeros(len(self.corners), np.bool_)
        if self.size is None:
            return marked
        here = np.flatnonzero(self.inside[: self.counts[1]] == 1)
        corners = (self.points[self.corners[here]] * self.unit) + self.center
        ahead = np.roll(corners, -1, axis=1)
        lengths = np.linalg.norm(ahead - corners, axis=2)
        limits = self._sizes((0.5 * (corners + ahead)).reshape(-1, 2)).reshape(-1, 3)
        marked[here] = (lengths > (1.0 + 1e-6) * limits + 4.0 * self.unit).any(axis=1)
        return marked

    def _result(self, base: int) -> OutlineMesh:
        count = int(self.counts[0])
        xy = self.points[:count] * self.unit + self.center
        xy[4:base] = self.given
        # the nodes of every side, in order; new ones exactly on the straight line
        side_of_point = np.full(count, -1)
        on = self.segment_of[:count] >= 0
        side_of_point[on] = self.side_of[self.segment_of[:count][on]]
        sides = []
        for k, (a, b) in enumerate(self.side_ends):
            pieces = self.segments[self.side_of == k]
            first = np.concatenate([pieces[:, 0], pieces[-1:, 1]]) + 4
            new = np.flatnonzero(side_of_point == k)
            along = b - a
            t = (xy[new] - a) @ along / (along @ along)
            xy[new] = a + t[:, None] * along
            nodes, t = np.concatenate([first, new]), np.concatenate([self.fractions[k], t])
            sides.append(nodes[np.argsort(t, kind="stable")])
        triangles = self.corners[: self.counts[1]][self.inside[: self.counts[1]] == 1]
        used = np.zeros(count, dtype=bool)
        used[triangles] = True
        number_of = np.cumsum(used).astype(np.int32) - 1
        found = [number_of[nodes] for nodes in sides]
        lines = [
            np.concatenate([found[k] if k == ks[0] else found[k][1:] for k in ks]) for ks in self.line_sides
        ]
        return OutlineMesh(xy[used], number_of[triangles], tuple(found[: self.loop_sides]), tuple(lines))


def _sharp_corners(points: NDArray[np.float64], segments: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which points have two segments at an angle below 60 degrees."""
    sharp = np.zeros(len(points), dtype=bool)
    ends = np.concatenate([segments, segments[:, ::-1]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    away = points[ends[:, 1]] - points[ends[:, 0]]
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    starts = np.flatnonzero(np.diff(ends[:, 0], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(ends)], strict=True):
        here = away[start:stop]
        cosines = here @ here.T
        np.fill_diagonal(cosines, -1.0)
        sharp[ends[start, 0]] = cosines.max() > 0.5
    return sharp


def _spatial_order(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of points in which neighbours are near: rows of cells, every other one reversed."""
    count = max(1, int(math.sqrt(0.5 * len(points))))
    low, high = points.min(axis=0), points.max(axis=0)
    cell = ((points - low) * count // np.maximum(high - low + 1, 1)).astype(np.int64)
    along = np.where(cell[:, 1] % 2 == 0, points[:, 0], -points[:, 0])
    return np.lexsort((along, cell[:, 1]))
