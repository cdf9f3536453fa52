"""The surfaces of everything in a world, and trees of boxes that tell quickly what may touch what.

Each member (a body or an obstacle) has a tree of boxes over its triangles and one over its edges. Trees are built once,
from the rest shape, and refitted to the motion of every step: each box then holds all of a step's way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.contact import tree_kernels
from continua.mesh import SurfaceMesh
from continua.mesh.box_tree import box_tree

__all__ = ["CellTree", "Member", "SurfaceTable", "Surfaces"]

_PARALLEL_FROM = 2000  # leaves
_FLAT = 1e-3  # sine of the angle between triangles in one plane


@dataclass(eq=False)
class Member:
    """The surface of one body or obstacle.

    Attributes:
        rest: Its points at rest [m], shape [n, 3].
        triangles: Outward oriented, shape [k, 3]; none for a skeleton of points and edges.
        edges: Its edges [e, 2]; None takes those of the triangles.
        points: Its own points that count as vertices [s]; None takes those of the triangles.
        radius: How thick it is around triangles, edges and points [m].
        name: For messages.
        own: Whether it may touch itself.
        moves: Whether it takes part in the solve; two members that both do not are never tested.
        flat: Whether edges between triangles in one plane count; those of an obstacle meet nothing that its faces
            do not meet.
        edge_triangles: The two triangles of each edge, or -1, shape [e, 2].
        triangle_edges: The edges of each triangle, shape [k, 3].
    """

    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    edges: NDArray[np.int32] | None = None
    points: NDArray[np.int32] | None = None
    radius: float = 0.0
    name: str = ""
    own: bool = False
    moves: bool = True
    flat: bool = True

    edge_triangles: NDArray[np.int32] = field(init=False)
    triangle_edges: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self.triangles = np.asarray(self.triangles, dtype=np.int32).reshape(-1, 3)
        self.triangle_edges = np.zeros((0, 3), np.int32)
        if len(self.triangles):
            mesh = SurfaceMesh._trusted(self.rest.copy(), self.triangles)
            if self.edges is None:
                self.edges = mesh.edges
            self.triangle_edges = mesh.triangle_edges
            if self.points is None:
                self.points = np.unique(self.triangles).astype(np.int32)
        if self.edges is None:
            self.edges = np.zeros((0, 2), np.int32)
        if self.points is None:
            self.points = np.unique(self.edges).astype(np.int32)
        self.edge_triangles = np.full((len(self.edges), 2), -1, np.int32)
        if len(self.triangle_edges):
            flat = self.triangle_edges.ravel()
            owner = np.repeat(np.arange(len(self.triangles), dtype=np.int32), 3)
            self.edge_triangles[flat[::-1], 0] = owner[::-1]  # the first of each edge
            self.edge_triangles[flat, 1] = owner  # the last
            alone = np.bincount(flat, minlength=len(self.edges)) != 2
            self.edge_triangles[alone, 1] = -1
        if not self.flat:
            self._drop_flat_edges()

    def _drop_flat_edges(self) -> None:
        """Leave out edges between triangles in one plane."""
        assert self.edges is not None
        if not len(self.triangles):
            return
        a, b, c = (self.rest[self.triangles[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        one, other = normals[self.edge_triangles[:, 0]], normals[self.edge_triangles[:, 1]]
        bent = np.linalg.norm(np.cross(one, other), axis=1) > _FLAT
        keep = bent | (self.edge_triangles < 0).any(axis=1) | (np.einsum("ij,ij->i", one, other) < 0.0)
        number = np.cumsum(keep) - 1
        self.triangle_edges = np.where(keep, number, -1)[self.triangle_edges].astype(np.int32)
        self.edges, self.edge_triangles = self.edges[keep], self.edge_triangles[keep]

    @property
    def edge_length(self) -> float:
        """Mean length of the edges at rest [m]."""
        assert self.edges is not None
        if not len(self.edges):
            return 0.0
        ends = self.rest[self.edges]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())


def _joined(parts: Sequence[NDArray], empty: tuple[int, ...] = (0,)) -> NDArray[np.int32]:
    return np.ascontiguousarray(np.concatenate([np.zeros(empty), *parts]), np.int32)


class CellTree(NamedTuple):
    """Trees of boxes over the cells (triangles or edges) of all members; what kernels read.

    Attributes:
        cells: Points of each cell, shape [c, k].
        member: Member of each cell, shape [c].
        order: Cells leaf after leaf.
        starts: First and end of each leaf in `order`, shape [leaves, 2].
        leaf_node: The box of each leaf.
        leaf_member: The member of each leaf.
        first: The root of each member's tree.
        first_leaf: The first leaf of each member.
        leaves: Leaves of each member's tree; 0 is no tree.
        boxes: Smallest and largest coordinates of all boxes, shape [boxes, 6].
    """

    cells: NDArray[np.int32]
    member: NDArray[np.int32]
    order: NDArray[np.int32]
    starts: NDArray[np.int32]
    leaf_node: NDArray[np.int32]
    leaf_member: NDArray[np.int32]
    first: NDArray[np.int32]
    first_leaf: NDArray[np.int32]
    leaves: NDArray[np.int32]
    boxes: NDArray[np.float64]

    @classmethod
    def over(cls, cells: Sequence[NDArray[np.int32]], rest: NDArray[np.float64]) -> CellTree:
        """Build the trees of members with `cells` (numbers of all points) at their `rest` places."""
        orders, starts, leaf_node, leaf_member, first, first_leaf, leaves = [], [], [], [], [], [], []
        box_count = leaf_count = cell_count = 0
        for m, own in enumerate(cells):
            first.append(box_count)
            first_leaf.append(leaf_count)
            count = 0
            if len(own):
                tree = box_tree(rest[own])
                count = len(tree.starts) - 1
                orders.append(tree.order + cell_count)
                starts.append(np.column_stack([tree.starts[:-1], tree.starts[1:]]) + cell_count)
                leaf_node.append(box_count + count - 1 + np.arange(count))
                leaf_member.append(np.full(count, m))
                box_count += 2 * count - 1
            leaves.append(count)
            leaf_count += count
            cell_count += len(own)
        width = cells[0].shape[1] if cells else 3
        return cls(
            _joined(cells, (0, width)),
            np.repeat(np.arange(len(cells)), [len(own) for own in cells]).astype(np.int32),
            _joined(orders),
            _joined(starts, (0, 2)),
            _joined(leaf_node),
            _joined(leaf_member),
            np.array(first, np.int32),
            np.array(first_leaf, np.int32),
            np.array(leaves, np.int32),
            np.empty((max(box_count, 1), 6)),
        )

    def fit(self, x0: NDArray[np.float64], x1: NDArray[np.float64], margin: NDArray[np.float64]) -> None:
        """Fit all boxes to the way from x0 to x1, widened by each member's `margin` [m]."""
        leaf_margin = margin[self.leaf_member]
        tree_kernels.fit_leaves.pick(len(self.leaf_node) >= _PARALLEL_FROM)(
            self.cells, self.order, self.starts, self.leaf_node, leaf_margin, x0, x1, self.boxes
        )
        tree_kernels.fit_trees(self.first, self.leaves, self.boxes)


class SurfaceTable(NamedTuple):
    """How all surfaces hang together; what kernels read.

    Attributes:
        points: Vertices of all members, shape [s].
        point_member: Their members, shape [s].
        rest: Positions at rest of all points [m], shape [n, 3].
        triangle_edges: Edges of each triangle, shape [k, 3].
        edge_triangles: The two triangles of each edge, or -1, shape [e, 2].
        radius: Of each member [m].
    """

    points: NDArray[np.int32]
    point_member: NDArray[np.int32]
    rest: NDArray[np.float64]
    triangle_edges: NDArray[np.int32]
    edge_triangles: NDArray[np.int32]
    radius: NDArray[np.float64]


class Surfaces:
    """The surfaces of all members, numbered through.

    Attributes:
        members: The members.
        first: Where each member's points begin among all, shape [m + 1].
        faces: Trees over triangles.
        edges: Trees over edges.
        table: Points, neighbours and radii.
        face_pairs: Whether vertices of the row are tested against triangles of the column, shape [m, m].
        edge_pairs: Whether edges of the row are tested against edges of the column (only above the diagonal and on
            it), shape [m, m].
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = tuple(members)
        counts = [len(member.rest) for member in self.members]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rest = np.concatenate([np.zeros((0, 3)), *(member.rest for member in self.members)])
        triangles, edges, points = [], [], []
        triangle_edges, edge_triangles = [np.zeros((0, 3), np.int32)], [np.zeros((0, 2), np.int32)]
        edge_count = triangle_count = 0
        for member, shift in zip(self.members, self.first[:-1], strict=True):
            assert member.edges is not None
            assert member.points is not None
            triangles.append((member.triangles + shift).astype(np.int32))
            edges.append((member.edges + shift).astype(np.int32))
            points.append(member.points + shift)
            triangle_edges.append(member.triangle_edges + edge_count)
            known = member.edge_triangles >= 0
            edge_triangles.append(np.where(known, member.edge_triangles + triangle_count, -1))
            edge_count += len(member.edges)
            triangle_count += len(member.triangles)
        self.faces = CellTree.over(triangles, rest)
        self.edges = CellTree.over(edges, rest)
        self.table = SurfaceTable(
            np.ascontiguousarray(np.concatenate([np.zeros(0), *points]), np.int32),
            np.repeat(np.arange(len(self.members)), [len(own) for own in points]).astype(np.int32),
            rest,
            np.ascontiguousarray(np.concatenate(triangle_edges), np.int32),
            np.ascontiguousarray(np.concatenate(edge_triangles), np.int32),
            np.array([member.radius for member in self.members], dtype=np.float64),
        )
        moves = np.array([member.moves for member in self.members], dtype=bool)
        pairs = moves[:, None] | moves[None, :]
        np.fill_diagonal(pairs, [member.own for member in self.members])
        self.face_pairs = pairs
        self.edge_pairs = np.triu(pairs)

    @property
    def point_count(self) -> int:
        """Number of points of all members."""
        return int(self.first[-1])

    def positions(self, parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the members' positions in one array [n, 3]."""
        return np.concatenate([np.zeros((0, 3)), *parts])

    def fit(self, x0: NDArray[np.float64], x1: NDArray[np.float64], margin: NDArray[np.float64]) -> None:
        """Fit all boxes to the way from x0 to x1 [n, 3], widened by each member's `margin` [m] and its radius."""
        wide = margin + self.table.radius
        self.faces.fit(x0, x1, wide)
        self.edges.fit(x0, x1, wide)
        self._extent = np.where(
            (self.edges.leaves > 0)[:, None], self.edges.boxes[self.edges.first % len(self.edges.boxes)], 0.0
        )
        for m in np.flatnonzero(self.edges.leaves == 0):  # single points
            own = self.first[m] + np.asarray(self.members[m].points)
            both = np.concatenate([x0[own], x1[own]])
            if len(own):
                self._extent[m] = [*(both.min(axis=0) - wide[m]), *(both.max(axis=0) + wide[m])]
            else:
                self._extent[m] = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]

    def partners(
        self, tree: CellTree, allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return for every member those in whose tree something may be found near it, as `ptr` and `partner`."""
        count = len(self.members)
        ptr, partner = np.zeros(count + 1, np.int32), np.empty(max(count * count, 1), np.int32)
        tree_kernels.find_partners(allowed, tree.first, tree.leaves, tree.boxes, self._extent, ptr, partner)
        return ptr, partner
