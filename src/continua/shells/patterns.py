"""Sheets sewn from flat patterns: outlines meshed in their planes, placed in space, and joined along their sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import cos, radians, sin
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.outline_mesh import OutlineMesh, mesh_outline, plane_points
from continua.mesh.transform import apply_transform
from continua.shells.sheet_mesh import SheetMesh
from continua.validation import (
    array,
    flag,
    instance_of,
    mapping,
    number,
    sequence,
    shortened,
    text,
    vector3,
    whole_numbers,
)

__all__ = ["Pattern", "sew"]

SAME_LENGTH = 0.01
"""Difference of the lengths of two sides, relative to the longer one, up to which they are sewn without gathers."""

_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Pattern:
    """A flat piece of cloth to be sewn with others.

    Attributes:
        outline: Corners in order [m], shape [k, 2]. Darts are notches of it, whose two sides are sewn to each other.
        holes: Outlines of holes.
        lines: Polylines inside that become edges of triangles, such as folds.
        sides: Names of sides: the number of a side (0 goes from corner 0 to corner 1), or several that follow each
            other.
        wrap: Radius [m] of the cylinder around the y axis that the pattern is wrapped around: x runs around it, from
            the direction of z. None leaves it flat.
        rotate: Rotation after that, a vector along the axis whose length is the angle [rad].
        translate: Displacement after that [m].
        grain: Angle of the warp from the x axis [deg].
    """

    outline: ArrayLike
    holes: Sequence[ArrayLike] = ()
    lines: Sequence[ArrayLike] = ()
    sides: Mapping[str, int | Sequence[int]] = field(default_factory=dict)
    wrap: float | None = None
    rotate: ArrayLike = (0.0, 0.0, 0.0)
    translate: ArrayLike = (0.0, 0.0, 0.0)
    grain: float = 90.0

    def __post_init__(self) -> None:
        plane_points(self.outline, "the outline of a pattern", 3)
        for hole in sequence(self.holes, "the holes of a pattern"):
            plane_points(hole, "a hole of a pattern", 3)
        for line in sequence(self.lines, "the lines of a pattern"):
            plane_points(line, "a line of a pattern", 2)
        if self.wrap is not None:
            number(self.wrap, "the radius that a pattern is wrapped around", above=0.0, unit="m")
        number(self.grain, "the grain of a pattern", unit="degrees")
        vector3(self.rotate, "the rotation of a pattern")
        vector3(self.translate, "the displacement of a pattern")
        mapping(self.sides, "the sides of a pattern")

    def placed(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return where points [n, 2] of the pattern are in space at the start [m], shape [n, 3]."""
        points = array(points, "points of a pattern", (None, 2))
        if self.wrap is None:
            flat = np.column_stack([points, np.zeros(len(points))])
        else:
            turn = points[:, 0] / self.wrap
            flat = np.column_stack([self.wrap * np.sin(turn), points[:, 1], self.wrap * np.cos(turn)])
        return apply_transform(flat, self.translate, self.rotate, 1.0)[0]


@dataclass(frozen=True)
class _Run:
    """A named run of sides of a pattern: lengths of the sides, and the fractions at which they begin and end."""

    pattern: str
    sides: tuple[int, ...]
    length: float
    ends: NDArray[np.float64]


def sew(
    patterns: Mapping[str, Pattern],
    seams: Sequence[tuple[str, str]] = (),
    *,
    size: float,
    thickness: float = 1e-3,
    gather: bool = False,
    min_angle: float = 25.0,
) -> SheetMesh:
    """Return the sheet of patterns that are sewn along their sides; it is at rest where every pattern is flat.

    The two sides of a seam get nodes at the same fractions of their lengths, which become the same nodes, halfway
    between both sides. Patterns that are placed apart are stretched at first, and pull each other together.

    Args:
        patterns: The pieces by name; the names become regions of the mesh.
        seams: Pairs of sides, each "pattern.side". The sides are joined in the direction in which their ends are
            nearer.
        size: Longest edge of triangles [m].
        thickness: Thickness [m].
        gather: Whether sides of different lengths may be sewn; the longer one is gathered evenly.
        min_angle: Smallest angle of triangles [deg]; see `mesh.polygon`.
    """
    pieces = {
        text(name, "the name of a pattern"): instance_of(piece, Pattern, f"pattern '{name}'")
        for name, piece in mapping(patterns, "the patterns").items()
    }
    if not pieces:
        raise InputError("sewing needs at least one pattern")
    flag(gather, "gather")
    size = number(size, "the size of triangles", above=0.0, unit="m")
    runs = [_seam(pieces, pair, gather) for pair in sequence(seams, "the seams")]
    _check_each_side_once(runs)
    turned = [_runs_backwards(pieces, a, b) for a, b in runs]
    meshes = _mesh_pieces(pieces, runs, turned, size, min_angle)
    return _join(pieces, meshes, runs, turned, thickness)


def _outline(piece: Pattern) -> NDArray[np.float64]:
    return plane_points(piece.outline, "the outline of a pattern", 3)


def _run(pieces: Mapping[str, Pattern], name: Any) -> _Run:
    """Return the run that a name "pattern.side" means."""
    piece, dot, side = text(name, "a side of a seam").rpartition(".")
    if not dot or piece not in pieces:
        raise InputError(
            f"a seam names 'pattern.side', with one of the patterns {_names(pieces)}, not '{name}'"
        )
    sides = pieces[piece].sides
    if side not in sides:
        raise InputError(f"pattern '{piece}' has no side '{side}'; its sides are {_names(sides)}")
    numbers = np.atleast_1d(np.asarray(sides[side]))
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"side '{name}' must be the number of a side or a list of them, not {shortened(sides[side])}"
        )
    corners = _outline(pieces[piece])
    count = len(corners)
    whole_numbers(numbers, f"side '{name}'", (None,), low=0)
    if numbers.max() >= count:
        raise InputError(f"side '{name}' is side {numbers.max()} of an outline with sides 0 to {count - 1}")
    if any((a + 1) % count != b for a, b in pairwise(numbers.tolist())):
        raise InputError(f"the sides of '{name}' must follow each other around the outline")
    lengths = np.linalg.norm(corners[(numbers + 1) % count] - corners[numbers], axis=1)
    if not lengths.sum() > 0.0:
        raise InputError(f"side '{name}' has no length")
    ends = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    return _Run(piece, tuple(numbers.tolist()), float(lengths.sum()), ends)


def _names(names: Mapping[str, Any]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _seam(pieces: Mapping[str, Pattern], pair: Any, gather: bool) -> tuple[_Run, _Run]:
    both = sequence(pair, "a seam")
    if len(both) != 2:
        raise InputError(f"a seam joins two sides, not {len(both)}")
    a, b = (_run(pieces, name) for name in both)
    if not gather and abs(a.length - b.length) > SAME_LENGTH * max(a.length, b.length):
        raise InputError(
            f"the seam of '{both[0]}' and '{both[1]}' joins sides of different lengths, {a.length:.4g} m and "
            f"{b.length:.4g} m; change a pattern, or set 'gather'"
        )
    return a, b


def _check_each_side_once(runs: Sequence[tuple[_Run, _Run]]) -> None:
    seen: set[tuple[str, int]] = set()
    for run in (run for pair in runs for run in pair):
        for side in run.sides:
            if (run.pattern, side) in seen:
                raise InputError(
                    f"side {side} of pattern '{run.pattern}' is in two seams; a seam joins two sides only"
                )
            seen.add((run.pattern, side))


def _runs_backwards(pieces: Mapping[str, Pattern], a: _Run, b: _Run) -> bool:
    """Return whether the beginning of one run belongs to the end of the other."""
    ends = []
    for run in (a, b):
        corners = _outline(pieces[run.pattern])
        both = corners[[run.sides[0], (run.sides[-1] + 1) % len(corners)]]
        ends.append(pieces[run.pattern].placed(both))
    forward = np.linalg.norm(ends[0] - ends[1], axis=1).sum()
    backward = np.linalg.norm(ends[0] - ends[1][::-1], axis=1).sum()
    # neighbours in an outline share a corner, like the two sides of a dart
    return bool(backward <= forward * (1.0 + 1e-9))


def _mesh_pieces(
    pieces: Mapping[str, Pattern],
    runs: Sequence[tuple[_Run, _Run]],
    turned: Sequence[bool],
    size: float,
    min_angle: float,
) -> dict[str, OutlineMesh]:
    """Mesh all pieces until both sides of every seam have their nodes at the same fractions."""
    wanted: list[NDArray[np.float64]] = []
    for (a, b), back in zip(runs, turned, strict=True):
        count = max(1, int(np.ceil(max(a.length, b.length) / size * (1.0 - 1e-9))))
        corners = _union(a.ends, 1.0 - b.ends[::-1] if back else b.ends)
        pieces_between = [
            np.linspace(low, high, max(1, round((high - low) * count)) + 1) for low, high in pairwise(corners)
        ]
        wanted.append(_union(*pieces_between))
    for _ in range(_ROUNDS):
        side_points: dict[str, dict[int, NDArray[np.float64]]] = {name: {} for name in pieces}
        for (a, b), back, fractions in zip(runs, turned, wanted, strict=True):
            for run, along in ((a, fractions), (b, 1.0 - fractions[::-1] if back else fractions)):
                for side, low, high in zip(run.sides, run.ends[:-1], run.ends[1:], strict=True):
                    t = (along - low) / (high - low)
                    side_points[run.pattern][side] = t[(t > 1e-9) & (t < 1.0 - 1e-9)]
        meshes = {}
        for name, piece in pieces.items():
            try:
                meshes[name] = mesh_outline(
                    piece.outline,
                    holes=piece.holes,
                    lines=piece.lines,
                    size=size,
                    min_angle=min_angle,
                    side_points=side_points[name],
                )
            except InputError as error:
                raise InputError(f"pattern '{name}': {error}") from None
        found = []
        for (a, b), back in zip(runs, turned, strict=True):
            fa, fb = _fractions(pieces, meshes, a), _fractions(pieces, meshes, b)
            found.append(_union(fa, 1.0 - fb[::-1] if back else fb))
        if all(len(f) == len(w) for f, w in zip(found, wanted, strict=True)):
            return {name: _split_bridges(mesh, name, meshes, runs) for name, mesh in meshes.items()}
        wanted = found
    raise InputError("the two sides of a seam cannot be meshed alike; use a smaller size or min_angle")


def _split_bridges(
    mesh: OutlineMesh, name: str, meshes: Mapping[str, OutlineMesh], runs: Sequence[tuple[_Run, _Run]]
) -> OutlineMesh:
    """Halve the inner edges between two sewn nodes: the other pattern may have the same, and four triangles there."""
    sewn = np.zeros(len(mesh.points), bool)
    for run in (run for pair in runs for run in pair):
        if run.pattern == name:
            sewn[_nodes(meshes[name], run)] = True
    points, triangles = mesh.points, mesh.triangles
    while True:
        edges = triangles[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2)
        keys, which, uses = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
        bridge = (uses == 2) & sewn[keys].all(axis=1)
        if not bridge.any():
            return replace(mesh, points=points, triangles=triangles)
        owners = np.argsort(which.reshape(-1), kind="stable")
        first = np.concatenate([[0], np.cumsum(uses)])[:-1]
        busy, chosen = np.zeros(len(triangles), bool), []
        for e in np.flatnonzero(bridge).tolist():
            two = owners[first[e] : first[e] + 2]
            if not busy[two // 3].any():
                busy[two // 3] = True
                chosen.append(two)
        sides = np.concatenate(chosen)
        new = len(points) + np.arange(len(chosen))
        middle = np.repeat(new, 2)
        points = np.concatenate([points, points[edges[sides[::2]]].mean(axis=1)])
        sewn = np.concatenate([sewn, np.zeros(len(new), bool)])
        t, i = np.divmod(sides, 3)
        corner, start, end = triangles[t, i], triangles[t, (i + 1) % 3], triangles[t, (i + 2) % 3]
        kept = np.delete(triangles, t, axis=0)
        triangles = np.concatenate(
            [kept, np.column_stack([corner, start, middle]), np.column_stack([corner, middle, end])]
        ).astype(np.int32)


def _union(*fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all fractions once, in order; those within rounding are one."""
    every = np.sort(np.concatenate(fractions))
    return every[np.concatenate([[True], np.diff(every) > 1e-6])]


def _nodes(mesh: OutlineMesh, run: _Run) -> NDArray[np.int32]:
    """Return the nodes along a run."""
    return np.concatenate([mesh.sides[run.sides[0]], *(mesh.sides[side][1:] for side in run.sides[1:])])


def _fractions(
    pieces: Mapping[str, Pattern], meshes: Mapping[str, OutlineMesh], run: _Run
) -> NDArray[np.float64]:
    points = meshes[run.pattern].points[_nodes(meshes[run.pattern], run)]
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps) / steps.sum()])


def _join(
    pieces: Mapping[str, Pattern],
    meshes: Mapping[str, OutlineMesh],
    runs: Sequence[tuple[_Run, _Run]],
    turned: Sequence[bool],
    thickness: float,
) -> SheetMesh:
    """Return one mesh in which the nodes of seams are the same."""
    starts, start, places, cells, flats, owners = {}, 0, [], [], [], []
    for k, (name, piece) in enumerate(pieces.items()):
        mesh, grain = meshes[name], radians(piece.grain)
        starts[name] = start
        places.append(piece.placed(mesh.points))
        cells.append(mesh.triangles + start)
        axes = np.array([[cos(grain), -sin(grain)], [sin(grain), cos(grain)]])
        flats.append((mesh.points @ axes)[mesh.triangles])
        owners.append(np.full(len(mesh.triangles), k))
        start += len(mesh.points)
    leader = np.arange(start)
    pairs = []
    for (a, b), back in zip(runs, turned, strict=True):
        one = _nodes(meshes[a.pattern], a) + starts[a.pattern]
        other = _nodes(meshes[b.pattern], b) + starts[b.pattern]
        pairs.append(np.stack([one, other[::-1] if back else other], axis=1))
    joined = np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)
    while True:  # the smallest number of all nodes that are sewn to each other
        low = np.minimum(leader[joined[:, 0]], leader[joined[:, 1]])
        before = leader.copy()
        np.minimum.at(leader, joined[:, 0], low)
        np.minimum.at(leader, joined[:, 1], low)
        leader = leader[leader]
        if (leader == before).all():
            break
    _, number_of = np.unique(leader, return_inverse=True)
    points, weights = np.zeros((number_of.max() + 1, 3)), np.bincount(number_of)
    np.add.at(points, number_of, np.concatenate(places))
    points /= weights[:, None]
    triangles, owner = number_of[np.concatenate(cells)].astype(np.int32), np.concatenate(owners)
    flat = np.concatenate(flats)
    again = (triangles == np.roll(triangles, 1, axis=1)).any(axis=1)
    if again.any():
        raise InputError("a seam joins two corners of one triangle; use a smaller size")
    flip = _orientations(triangles, owner, len(pieces))[owner]
    triangles[flip], flat[flip] = triangles[flip][:, ::-1], flat[flip][:, ::-1]
    regions = {name: np.flatnonzero(owner == k).astype(np.int32) for k, name in enumerate(pieces)}
    try:
        sheet = SheetMesh(points, triangles, regions, (), thickness, flat)
    except InputError as error:
        raise InputError(
            f"the sewn patterns: {error}; move the patterns apart where they are placed"
        ) from None
    return sheet


def _orientations(triangles: NDArray[np.int32], owner: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Return which patterns have to be turned over so that all have the same side out, as far as that is possible."""
    edges = triangles[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2)
    forward = edges[:, 0] < edges[:, 1]
    keys = np.sort(edges, axis=1)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    same = (keys[order[1:]] == keys[order[:-1]]).all(axis=1)
    a, b = order[:-1][same], order[1:][same]
    seam = owner[a // 3] != owner[b // 3]
    a, b = a[seam], b[seam]
    votes = np.zeros((count, count))  # above zero if two patterns are turned alike
    alike = np.where(forward[a] != forward[b], 1.0, -1.0)
    np.add.at(votes, (owner[a // 3], owner[b // 3]), alike)
    votes += votes.T
    turned, known = np.zeros(count, bool), np.zeros(count, bool)
    for first in range(count):
        if known[first]:
            continue
        known[first] = True
        queue = [first]
        while queue:
            here = queue.pop()
            for there in np.flatnonzero((votes[here] != 0.0) & ~known).tolist():
                turned[there] = turned[here] ^ (votes[here, there] < 0.0)
                known[there] = True
                queue.append(there)
    return turned
