"""Networks of springs: lines, sheets, lattices and strands, and those of the edges of a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh import SurfaceMesh, TetMesh, VolumeMesh
from continua.mesh.surface_mesh import unique_edges
from continua.pickling import KeepsReadOnlyArrays
from continua.short_repr import ShortRepr
from continua.validation import array, number, vector3, whole_number, whole_numbers

__all__ = ["SpringNetwork", "lattice", "line", "network_of", "rope", "sheet", "strands"]

_NONE2: NDArray[np.int32] = np.zeros((0, 2), np.int32)
_NONE3: NDArray[np.int32] = np.zeros((0, 3), np.int32)
_NONE4: NDArray[np.int32] = np.zeros((0, 4), np.int32)


@dataclass(frozen=True, eq=False, repr=False)
class SpringNetwork(ShortRepr, KeepsReadOnlyArrays):
    """Points and what joins them.

    Attributes:
        points: Positions at rest [m], shape [n, 3].
        springs: The two nodes of each spring, shape [m, 2].
        bends: Three neighbours along a line, the middle one second, shape [b, 3]: they resist bending.
        hinges: Pairs of triangles that share an edge, shape [h, 4]: the nodes of the edge, then the other two.
        tets: Tetrahedra, whose volume may be kept, shape [t, 4].
        triangles: The surface, shape [k, 3]; empty for lines.
        closed: Whether the surface bounds a volume; otherwise it is a sheet that others touch from both sides.
        regions: Named sets of springs.
        notes: What was remarkable when it was made.
    """

    NAME: ClassVar[str] = "springs"

    points: NDArray[np.float64]
    springs: NDArray[np.int32] = field(default_factory=_NONE2.copy)
    bends: NDArray[np.int32] = field(default_factory=_NONE3.copy)
    hinges: NDArray[np.int32] = field(default_factory=_NONE4.copy)
    tets: NDArray[np.int32] = field(default_factory=_NONE4.copy)
    triangles: NDArray[np.int32] = field(default_factory=_NONE3.copy)
    closed: bool = False
    regions: Mapping[str, NDArray[np.int32]] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    is_split: ClassVar[bool] = False

    def __post_init__(self) -> None:
        points = array(self.points, "the points of a network", (None, 3))
        if not len(points):
            raise InputError("a network needs at least one point")
        object.__setattr__(self, "points", np.ascontiguousarray(points))
        for key, width in (("springs", 2), ("bends", 3), ("hinges", 4), ("tets", 4), ("triangles", 3)):
            table = np.asarray(getattr(self, key))
            table = (
                np.zeros((0, width), np.int32)
                if not table.size
                else whole_numbers(table, f"the {key} of a network", (None, width))
            )
            bad = (table < 0) | (table >= len(points))
            if bad.any():
                raise InputError(
                    f"{key} number {int(np.flatnonzero(bad.any(axis=1))[0])} of a network joins a node that does not "
                    f"exist; nodes are numbered from 0 to {len(points) - 1}"
                )
            ordered = np.sort(table, axis=1)
            same = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            if same.any():
                raise InputError(
                    f"{key} number {int(np.flatnonzero(same)[0])} of a network joins a node with itself; leave it out"
                )
            object.__setattr__(self, key, np.ascontiguousarray(table, np.int32))

    @property
    def cells(self) -> NDArray[np.int32]:
        """The springs, shape [m, 2]."""
        return self.springs

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.points)

    @property
    def element_count(self) -> int:
        """Number of springs."""
        return len(self.springs)

    @property
    def tet_volumes(self) -> NDArray[np.float64]:
        """Signed volume of each tetrahedron [m3], shape [t]."""
        p = self.points[self.tets]
        return np.asarray(np.linalg.det(p[:, 1:] - p[:, :1]) / 6.0)

    @property
    def node_shares(self) -> NDArray[np.float64]:
        """The share of each node in the volume, else the area, else the length of the network, shape [n]; adds to 1."""
        if len(self.tets):
            cells, sizes = self.tets, np.abs(self.tet_volumes)
        elif len(self.triangles):
            p = self.points[self.triangles]
            cells = self.triangles
            sizes = np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
        else:
            cells = self.springs
            sizes = np.linalg.norm(self.points[cells[:, 1]] - self.points[cells[:, 0]], axis=1)
        share = np.zeros(len(self.points))
        for a in range(cells.shape[1]):
            share += np.bincount(cells[:, a], weights=sizes, minlength=len(share))
        loose = share == 0.0
        if loose.all():
            return np.full(len(share), 1.0 / len(share))
        share[loose] = share[~loose].mean()  # points of no spring
        return np.asarray(share / share.sum())

    def joined(self, other: SpringNetwork) -> SpringNetwork:
        """Return a network of both, in one body; nodes of the other come after these."""
        n, m = len(self.points), len(self.springs)
        regions = dict(self.regions)
        for key, members in other.regions.items():
            regions[key] = np.concatenate([regions.get(key, np.zeros(0, np.int32)), members + m]).astype(
                np.int32
            )
        tables: dict[str, Any] = {
            key: np.concatenate([getattr(self, key), getattr(other, key) + n])
            for key in ("springs", "bends", "hinges", "tets", "triangles")
        }
        points = np.concatenate([self.points, other.points])
        return SpringNetwork(
            points, **tables, closed=self.closed and other.closed, regions=MappingProxyType(regions)
        )

    def moved(self, points: NDArray[np.float64]) -> SpringNetwork:
        """Return the same network with its points elsewhere."""
        return replace(self, points=points)


def rope(points: ArrayLike) -> SpringNetwork:
    """Return a line of springs through the given points [n, 3], which resists bending."""
    p = array(points, "the points of a rope", (None, 3))
    if len(p) < 2:
        raise InputError("a rope needs at least two points")
    each = np.arange(len(p), dtype=np.int32)
    bends = np.stack([each[:-2], each[1:-1], each[2:]], axis=1)
    return SpringNetwork(p, np.stack([each[:-1], each[1:]], axis=1), bends)


def line(start: ArrayLike, end: ArrayLike, count: int) -> SpringNetwork:
    """Return a rope of `count` springs from `start` to `end` [m]."""
    count = whole_number(count, "the number of springs of a line", low=1, high=10**7)
    a, b = vector3(start, "the start of a line"), vector3(end, "the end of a line")
    if not np.linalg.norm(b - a) > 0.0:
        raise InputError("a line must have a length; give it another end")
    return rope(a + np.linspace(0.0, 1.0, count + 1)[:, None] * (b - a))


def strands(roots: ArrayLike, directions: ArrayLike, length: float, count: int) -> SpringNetwork:
    """Return one straight rope for each root, as hair: `count` springs of `length`/`count` [m] each.

    Args:
        roots: Where the strands start [m], shape [s, 3].
        directions: Where they point to, shape [s, 3] or [3].
        length: Length of a strand [m].
        count: Number of springs of a strand.
    """
    start = array(roots, "the roots of strands", (None, 3))
    count = whole_number(count, "the number of springs of a strand", low=1, high=10**6)
    length = number(length, "the length of a strand", above=0.0, unit="m")
    way = np.broadcast_to(np.asarray(directions, np.float64), start.shape)
    size = np.linalg.norm(way, axis=1, keepdims=True)
    if not (size > 0.0).all():
        raise InputError("the direction of a strand must not be zero")
    steps = np.linspace(0.0, length, count + 1)
    points = start[:, None] + steps[None, :, None] * (way / size)[:, None]
    first = (count + 1) * np.arange(len(start))[:, None]
    local = np.arange(count + 1)
    springs = np.stack([first + local[:-1], first + local[1:]], axis=2).reshape(-1, 2)
    bends = np.stack([first + local[k : count - 1 + k] for k in range(3)], axis=2).reshape(-1, 3)
    return SpringNetwork(points.reshape(-1, 3), springs, bends)


def sheet(
    size: tuple[float, float], cells: tuple[int, int], *, diagonals: bool = True, surface: bool = True
) -> SpringNetwork:
    """Return a sheet in the plane y = 0, centred at the origin: cloth, or a net without surface.

    Args:
        size: Lengths along x and z [m].
        cells: Numbers of cells along x and z.
        diagonals: Whether each cell has springs along both of its diagonals.
        surface: Whether it has triangles, which others touch and which resist bending; a net has none.
    """
    nx = whole_number(cells[0], "the cells of a sheet", low=1, high=10**5)
    nz = whole_number(cells[1], "the cells of a sheet", low=1, high=10**5)
    lx = number(size[0], "the size of a sheet", above=0.0, unit="m")
    lz = number(size[1], "the size of a sheet", above=0.0, unit="m")
    ids = np.arange((nx + 1) * (nz + 1), dtype=np.int32).reshape(nx + 1, nz + 1)
    x, z = np.meshgrid(
        np.linspace(-lx / 2, lx / 2, nx + 1), np.linspace(-lz / 2, lz / 2, nz + 1), indexing="ij"
    )
    points = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    pairs = [(ids[:-1], ids[1:]), (ids[:, :-1], ids[:, 1:])]
    if diagonals:
        pairs += [(ids[:-1, :-1], ids[1:, 1:]), (ids[1:, :-1], ids[:-1, 1:])]
    springs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    if not surface:
        bends = np.concatenate(
            [
                np.stack([ids[:-2].ravel(), ids[1:-1].ravel(), ids[2:].ravel()], axis=1),
                np.stack([ids[:, :-2].ravel(), ids[:, 1:-1].ravel(), ids[:, 2:].ravel()], axis=1),
            ]
        )
        return SpringNetwork(points, springs, bends)
    a, b, c, d = (t.ravel() for t in (ids[:-1, :-1], ids[:-1, 1:], ids[1:, 1:], ids[1:, :-1]))
    triangles = np.stack([a, b, c, a, c, d], axis=1).reshape(-1, 3)
    return SpringNetwork(points, springs, hinges=hinges_of(triangles), triangles=triangles)


def hinges_of(triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the pairs of triangles that share an edge, shape [h, 4]: the nodes of the edge, then the other two."""
    count = int(triangles.max(initial=-1)) + 1
    edges, group, uses = unique_edges(np.ascontiguousarray(triangles, np.int32), count)
    other = triangles[:, [2, 0, 1]].ravel()
    order = np.argsort(group.ravel(), kind="stable")
    start = np.concatenate([[0], np.cumsum(uses)[:-1]])
    shared = np.flatnonzero(uses == 2)
    first, second = order[start[shared]], order[start[shared] + 1]
    return np.stack([edges[shared, 0], edges[shared, 1], other[first], other[second]], axis=1).astype(
        np.int32
    )


def lattice(size: ArrayLike, cells: tuple[int, int, int]) -> SpringNetwork:
    """Return a box of nodes on a regular grid, centred at the origin, each joined with its 26 neighbours.

    It has six tetrahedra in each cell, whose volume may be kept, and its surface.

    Args:
        size: Lengths along x, y and z [m].
        cells: Numbers of cells along them.
    """
    lengths = vector3(size, "the size of a lattice")
    if not (lengths > 0.0).all():
        raise InputError("the size of a lattice must be positive along x, y and z")
    n = [whole_number(count, "the cells of a lattice", low=1, high=1000) for count in cells]
    ids = np.arange(np.prod([c + 1 for c in n]), dtype=np.int32).reshape([c + 1 for c in n])
    grid = np.meshgrid(
        *(np.linspace(-l / 2, l / 2, c + 1) for l, c in zip(lengths, n, strict=True)), indexing="ij"
    )
    points = np.stack([g.ravel() for g in grid], axis=1)
    springs = []
    for step in product((-1, 0, 1), repeat=3):
        if step <= (0, 0, 0):
            continue  # the opposite direction has the same springs
        near = tuple(slice(max(0, -s), c + 1 - max(0, s)) for s, c in zip(step, n, strict=True))
        far = tuple(slice(max(0, s), c + 1 - max(0, -s)) for s, c in zip(step, n, strict=True))
        springs.append(np.stack([ids[near].ravel(), ids[far].ravel()], axis=1))
    corner = {
        o: ids[o[0] : n[0] + o[0], o[1] : n[1] + o[1], o[2] : n[2] + o[2]].ravel()
        for o in product((0, 1), repeat=3)
    }
    tets = []
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):  # Kuhn's six
        path = [(0, 0, 0)]
        for axis in order:
            corner_of = list(path[-1])
            corner_of[axis] = 1
            path.append((corner_of[0], corner_of[1], corner_of[2]))
        tets.append(np.stack([corner[p] for p in path], axis=1))
    table = np.concatenate(tets)
    mesh = TetMesh(points, table)
    return SpringNetwork(
        points, np.concatenate(springs), tets=mesh.tets, triangles=mesh.boundary_triangles, closed=True
    )


def network_of(given: object, springs: ArrayLike | None = None) -> SpringNetwork:
    """Return the network of a body: one as it is, that of the edges of a mesh, or of points and explicit springs."""
    if isinstance(given, SpringNetwork):
        if springs is None:
            return given
        return replace(given, springs=_pairs(springs))
    explicit = None if springs is None else _pairs(springs)
    if isinstance(given, TetMesh):
        edges = given.edges if explicit is None else explicit
        return SpringNetwork(
            given.points,
            edges,
            tets=given.tets,
            triangles=given.boundary_triangles,
            closed=True,
            notes=given.notes,
        )
    if isinstance(given, VolumeMesh):
        edges = given.edges if explicit is None else explicit
        return SpringNetwork(given.points, edges, triangles=given.boundary_triangles, notes=given.notes)
    if isinstance(given, SurfaceMesh):
        edges = given.edges if explicit is None else explicit
        hinges = hinges_of(given.triangles)
        return SpringNetwork(given.points, edges, hinges=hinges, triangles=given.triangles, notes=given.notes)
    if explicit is None:
        raise InputError(
            "springs between points need the list 'springs' of the two nodes of each; or give a mesh, or a network "
            "such as springs.line(...) or springs.lattice(...)"
        )
    return SpringNetwork(array(given, "the points of a body", (None, 3)), explicit)


def _pairs(springs: ArrayLike) -> NDArray[np.int32]:
    """Return explicit springs as pairs of nodes [m, 2]."""
    table = whole_numbers(springs, "the springs of a body", (None, 2))
    if len(table) and not (table.min() >= 0 and table.max() < 2**31):
        raise InputError("the springs of a body must be pairs of node numbers from 0")
    return table.astype(np.int32)
