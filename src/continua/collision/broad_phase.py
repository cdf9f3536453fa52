"""The surfaces of all bodies and colliders, and bounding volume hierarchies that find which may touch.

Each surface has a tree of boxes over its triangles and one over its edges. Trees are built once, from the rest shape,
and refitted in every step: each box then contains its cells over the whole step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.collision import bvh_kernels, proximity_kernels
from continua.mesh.box_tree import box_tree
from continua.mesh.surface_mesh import unique_edges
from continua.short_repr import ShortRepr

__all__ = ["Bvh", "CollisionMesh", "CollisionSurface", "NearCells", "SurfaceKinds", "SurfaceTopology"]

_PARALLEL_FROM = 8000  # leaves or edges
_MAX_EDGE_KINDS = 4  # sets of options for which the kinds of static edges are kept
_FLAT_SINE = 1e-3  # sine of the angle below which two triangles count as coplanar


@dataclass(eq=False, repr=False)
class CollisionSurface(ShortRepr):
    """The surface of one body or collider.

    Attributes:
        rest: Its points at rest [m], shape [n, 3].
        triangles: Shape [k, 3]; outward oriented unless `two_sided`; empty if it consists of vertices and edges only.
        edges: Its edges [e, 2]; None uses those of the triangles.
        vertices: The points that count as vertices [s]; None uses those of the triangles, or of the edges that are
            kept.
        radius: Thickness around triangles, edges and vertices [m].
        name: For messages.
        self_collision: Whether it may touch itself.
        is_dynamic: Whether it takes part in the solve; two surfaces that are not dynamic are never tested.
        is_static: Whether its points never move.
        keep_flat_edges: Whether edges between coplanar triangles count, and vertices on flat faces; a collider does
            not need them, as its faces detect the same contacts.
        two_sided: Whether it may be open and is touched from both sides: a point touches a triangle from the side on
            which it is, and nothing is inside. Otherwise the triangles face outward, and a point just behind one is
            inside.
        body: The body of which this is one of several pieces; -1 if it is a whole body. Pieces of one body may lie on
            each other with no distance between them.
        edge_triangles: The two triangles of each edge, or -1, shape [e, 2].
        triangle_edges: The edges of each triangle, shape [k, 3].
    """

    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    edges: NDArray[np.int32] | None = None
    vertices: NDArray[np.int32] | None = None
    radius: float = 0.0
    name: str = ""
    self_collision: bool = False
    is_dynamic: bool = True
    is_static: bool = False
    keep_flat_edges: bool = True
    two_sided: bool = False
    body: int = -1

    edge_triangles: NDArray[np.int32] = field(init=False)
    triangle_edges: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self.triangles = np.asarray(self.triangles, dtype=np.int32).reshape(-1, 3)
        self.triangle_edges = np.zeros((0, 3), np.int32)
        if len(self.triangles):
            edges, self.triangle_edges, _ = unique_edges(self.triangles, len(self.rest))
            if self.edges is None:
                self.edges = edges
            if self.vertices is None and self.keep_flat_edges:
                self.vertices = np.unique(self.triangles).astype(np.int32)
        if self.edges is None:
            self.edges = np.zeros((0, 2), np.int32)
        self.edge_triangles = np.full((len(self.edges), 2), -1, np.int32)
        if len(self.triangle_edges):
            flat = self.triangle_edges.ravel()
            owner = np.repeat(np.arange(len(self.triangles), dtype=np.int32), 3)
            self.edge_triangles[flat[::-1], 0] = owner[::-1]  # the first of each edge
            self.edge_triangles[flat, 1] = owner  # the last
            not_two = np.bincount(flat, minlength=len(self.edges)) != 2
            self.edge_triangles[not_two, 1] = -1
        if not self.keep_flat_edges:
            self._drop_flat_edges()
        if self.vertices is None:
            self.vertices = np.unique(self.edges).astype(np.int32)

    def _drop_flat_edges(self) -> None:
        """Remove edges between coplanar triangles."""
        assert self.edges is not None
        if not len(self.triangles):
            return
        a, b, c = (self.rest[self.triangles[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        one, other = normals[self.edge_triangles[:, 0]], normals[self.edge_triangles[:, 1]]
        bent = np.linalg.norm(np.cross(one, other), axis=1) > _FLAT_SINE
        keep = bent | (self.edge_triangles < 0).any(axis=1) | (np.einsum("ij,ij->i", one, other) < 0.0)
        self.keep_edges(keep)

    def keep_edges(self, keep: NDArray[np.bool_]) -> None:
        """Remove all other edges; `keep` has shape [e]."""
        assert self.edges is not None
        number = np.where(keep, np.cumsum(keep) - 1, -1)
        self.triangle_edges = np.where(self.triangle_edges < 0, -1, number[self.triangle_edges]).astype(
            np.int32
        )
        self.edges, self.edge_triangles = self.edges[keep], self.edge_triangles[keep]

    @property
    def edge_length(self) -> float:
        """Mean length of the edges at rest [m]."""
        assert self.edges is not None
        if not len(self.edges):
            return 0.0
        ends = self.rest[self.edges]
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())


def _concatenate(parts: Sequence[NDArray], empty: tuple[int, ...] = (0,)) -> NDArray[np.int32]:
    return np.ascontiguousarray(np.concatenate([np.zeros(empty), *parts]), np.int32)


def _starts(parts: Sequence[NDArray]) -> NDArray[np.int64]:
    """Return where each part begins if they are one after the other, and the end."""
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


class Bvh(NamedTuple):
    """Bounding volume hierarchies over the cells (triangles or edges) of all surfaces, as arrays for kernels.

    Attributes:
        cells: Points of each cell, shape [c, k].
        surface: Surface of each cell, shape [c].
        order: Cells in the order of the leaves.
        leaf_range: First and end of each leaf in `order`, shape [leaves, 2].
        leaf_node: The box of each leaf.
        leaf_surface: The surface of each leaf.
        root: The root of each surface's tree.
        first_leaf: The first leaf of each surface.
        leaf_count: Leaves of each surface's tree; 0 is no tree.
        boxes: Smallest and largest coordinates of all boxes, shape [boxes, 6].
    """

    cells: NDArray[np.int32]
    surface: NDArray[np.int32]
    order: NDArray[np.int32]
    leaf_range: NDArray[np.int32]
    leaf_node: NDArray[np.int32]
    leaf_surface: NDArray[np.int32]
    root: NDArray[np.int32]
    first_leaf: NDArray[np.int32]
    leaf_count: NDArray[np.int32]
    boxes: NDArray[np.float64]

    @classmethod
    def build(
        cls,
        cells: Sequence[NDArray[np.int32]],
        rest: NDArray[np.float64],
        which: Sequence[bool] | None = None,
    ) -> Bvh:
        """Build the trees of surfaces with `cells` (indices into all points) at the `rest` positions.

        Args:
            cells: The cells of each surface.
            rest: Positions of all points [m].
            which: The surfaces that get a tree; None is all.
        """
        orders, ranges, leaf_node, leaf_surface, root, first_leaf, leaf_count = [], [], [], [], [], [], []
        box_total = leaf_total = cell_total = order_total = 0
        for m, own in enumerate(cells):
            root.append(box_total)
            first_leaf.append(leaf_total)
            count = 0
            if len(own) and (which is None or which[m]):
                tree = box_tree(rest[own])
                count = len(tree.starts) - 1
                orders.append(tree.order + cell_total)
                ranges.append(np.column_stack([tree.starts[:-1], tree.starts[1:]]) + order_total)
                leaf_node.append(box_total + count - 1 + np.arange(count))
                leaf_surface.append(np.full(count, m))
                box_total += 2 * count - 1
                order_total += len(own)
            leaf_count.append(count)
            leaf_total += count
            cell_total += len(own)
        width = cells[0].shape[1] if cells else 3
        return cls(
            _concatenate(cells, (0, width)),
            np.repeat(np.arange(len(cells)), [len(own) for own in cells]).astype(np.int32),
            _concatenate(orders),
            _concatenate(ranges, (0, 2)),
            _concatenate(leaf_node),
            _concatenate(leaf_surface),
            np.array(root, np.int32),
            np.array(first_leaf, np.int32),
            np.array(leaf_count, np.int32),
            np.empty((max(box_total, 1), 6)),
        )

    def refit(
        self,
        x0: NDArray[np.float64],
        x1: NDArray[np.float64],
        margin: NDArray[np.float64],
        which: NDArray[np.bool_],
    ) -> None:
        """Fit the boxes of some surfaces to the motion from x0 to x1, widened by each surface's `margin` [m]."""
        if which.any():
            large = len(self.leaf_node) >= _PARALLEL_FROM and self.leaf_count[which].sum() >= _PARALLEL_FROM
            (bvh_kernels.refit_large if large else bvh_kernels.refit)(self, which, margin, x0, x1)


class NearCells(NamedTuple):
    """What a search has to look at.

    Attributes:
        ptr: Start of each surface's partners, shape [m + 1].
        partner: Surfaces in whose trees the cells of a surface are looked up.
        cells: The cells (vertices or edges) that may touch a partner, in their order.
    """

    ptr: NDArray[np.int32]
    partner: NDArray[np.int32]
    cells: NDArray[np.int32]


class SurfaceTopology(NamedTuple):
    """Vertices, adjacency and radii of all surfaces, as arrays for kernels.

    Attributes:
        vertices: Vertices of all surfaces, shape [s].
        vertex_surface: Their surfaces, shape [s].
        rest: Rest positions of all points [m], shape [n, 3].
        triangles: Points of each triangle, shape [k, 3].
        triangle_edges: Edges of each triangle, shape [k, 3].
        edge_triangles: The two triangles of each edge, or -1, shape [e, 2].
        radius: Radius of each surface [m].
    """

    vertices: NDArray[np.int32]
    vertex_surface: NDArray[np.int32]
    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    triangle_edges: NDArray[np.int32]
    edge_triangles: NDArray[np.int32]
    radius: NDArray[np.float64]


class SurfaceKinds(NamedTuple):
    """Which surfaces are two-sided or pieces of bodies, as arrays for kernels.

    Attributes:
        two_sided: Whether each surface is two-sided, shape [m].
        body: The body of which each surface is a piece, or -1, shape [m].
        point_ptr: Start of the triangles of each point in `point_triangles`, shape [n + 1].
        point_triangles: The triangles of each point.
    """

    two_sided: NDArray[np.bool_]
    body: NDArray[np.int32]
    point_ptr: NDArray[np.int32]
    point_triangles: NDArray[np.int32]


class CollisionMesh:
    """All collision surfaces with a common numbering of their points.

    Args:
        surfaces: The surfaces.
        point_ids: A number for each point of all surfaces that stays the same when other surfaces change, from which
            the keys of pairs are made, shape [n]; None is the common numbering.

    Attributes:
        surfaces: The surfaces.
        point_ids: See above.
        first: Index of each surface's first point, and the end, shape [m + 1].
        triangle_bvh: Trees over triangles.
        edge_bvh: Trees over edges.
        topology: Vertices, adjacency and radii.
        kinds: Which surfaces are two-sided or pieces of bodies; None if none is.
        vertex_face_pairs: Whether vertices of the row are tested against triangles of the column, shape [m, m].
        edge_edge_pairs: Whether edges of the row are tested against edges of the column (upper triangle with the
            diagonal), shape [m, m].
    """

    def __init__(
        self, surfaces: Sequence[CollisionSurface], point_ids: NDArray[np.int64] | None = None
    ) -> None:
        self.surfaces = tuple(surfaces)
        counts = [len(surface.rest) for surface in self.surfaces]
        self.first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.point_ids = np.arange(self.first[-1]) if point_ids is None else point_ids
        rest = np.concatenate([np.zeros((0, 3)), *(surface.rest for surface in self.surfaces)])
        triangles, edges, vertices = [], [], []
        triangle_edges, edge_triangles = [np.zeros((0, 3), np.int32)], [np.zeros((0, 2), np.int32)]
        edge_count = triangle_count = 0
        for surface, first in zip(self.surfaces, self.first[:-1], strict=True):
            assert surface.edges is not None
            assert surface.vertices is not None
            triangles.append((surface.triangles + first).astype(np.int32))
            edges.append((surface.edges + first).astype(np.int32))
            vertices.append(surface.vertices + first)
            triangle_edges.append(surface.triangle_edges + edge_count)
            known = surface.edge_triangles >= 0
            edge_triangles.append(np.where(known, surface.edge_triangles + triangle_count, -1))
            edge_count += len(surface.edges)
            triangle_count += len(surface.triangles)
        self.triangle_bvh = Bvh.build(triangles, rest)
        self.edge_bvh = Bvh.build(edges, rest)
        self.topology = SurfaceTopology(
            np.ascontiguousarray(np.concatenate([np.zeros(0), *vertices]), np.int32),
            np.repeat(np.arange(len(self.surfaces)), [len(own) for own in vertices]).astype(np.int32),
            rest,
            self.triangle_bvh.cells,
            np.ascontiguousarray(np.concatenate(triangle_edges), np.int32),
            np.ascontiguousarray(np.concatenate(edge_triangles), np.int32),
            np.array([surface.radius for surface in self.surfaces], dtype=np.float64),
        )
        self.kinds = self._kinds()
        self._is_static = np.array([surface.is_static for surface in self.surfaces], dtype=np.bool_)
        # by how much the boxes of triangles and edges are wider than the surfaces
        self._fitted = np.full((2, len(self.surfaces)), -np.inf)
        self._edge_kinds: dict[tuple[float, float], tuple[NDArray[np.float64], NDArray[np.uint8]]] = {}
        self._set_points([np.asarray(own) for own in vertices])
        dynamic = np.array([surface.is_dynamic for surface in self.surfaces], dtype=bool)
        pairs = dynamic[:, None] | dynamic[None, :]
        np.fill_diagonal(pairs, [surface.self_collision for surface in self.surfaces])
        self.vertex_face_pairs = pairs
        self.edge_edge_pairs = np.triu(pairs)

    def _set_points(self, vertices: Sequence[NDArray[np.int64]]) -> None:
        """Set what `follow` and `_near` need: the points that are used, and trees over vertices that never move."""
        cells = (self.triangle_bvh, self.edge_bvh)
        used = [
            np.unique(np.concatenate([own, *(tree.cells[tree.surface == m].ravel() for tree in cells)]))
            for m, own in enumerate(vertices)
        ]
        self._points, self._first_point = _concatenate(used), _starts(used)
        self._first_vertex = _starts(vertices)
        self._first_edge = np.searchsorted(self.edge_bvh.surface, np.arange(len(vertices) + 1))
        own = [part.astype(np.int32)[:, None] for part in vertices]
        self.vertex_bvh = Bvh.build(own, self.topology.rest, self._is_static.tolist())
        self._no_bvh = Bvh.build([part[:0] for part in own], self.topology.rest)
        self._swept, self._extent = np.zeros((len(vertices), 6)), np.zeros((len(vertices), 6))
        self._is_followed, self._is_moving = False, ~self._is_static

    def _kinds(self) -> SurfaceKinds | None:
        if not any(surface.two_sided or surface.body >= 0 for surface in self.surfaces):
            return None
        corners = self.triangle_bvh.cells.ravel()
        ptr = np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=self.point_count))])
        return SurfaceKinds(
            np.array([surface.two_sided for surface in self.surfaces], dtype=np.bool_),
            np.array([surface.body for surface in self.surfaces], dtype=np.int32),
            ptr.astype(np.int32),
            (np.argsort(corners, kind="stable") // 3).astype(np.int32),
        )

    @property
    def point_count(self) -> int:
        """Number of points of all surfaces."""
        return int(self.first[-1])

    def positions(self, parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the positions of all surfaces in one array [n, 3]."""
        return np.concatenate([np.zeros((0, 3)), *parts])

    def follow(self, x0: NDArray[np.float64], x1: NDArray[np.float64]) -> float:
        """Take the motion from x0 to x1 [n, 3] for the next searches; return its largest coordinate [m]."""
        self._path = x0, x1
        which = self._is_moving if self._is_followed else self._is_moving | True
        largest = bvh_kernels.fit_surfaces(self._points, self._first_point, which, x0, x1, self._swept)
        if not self._is_followed:
            self._is_followed = True
            self.vertex_bvh.refit(x0, x0, np.zeros(len(self.surfaces)), self._is_static)
        return largest

    def near_vertices(self, margin: NDArray[np.float64]) -> NearCells:
        """Return which vertices may touch triangles, see `near_edges`."""
        return self._near(
            self.vertex_bvh.cells,
            self._first_vertex,
            self.vertex_bvh,
            self.triangle_bvh,
            self.vertex_face_pairs,
            margin,
        )

    def near_edges(self, margin: NDArray[np.float64], *, triangles: bool = False) -> NearCells:
        """Return which edges may touch edges, or triangles, on the path, and fit the trees in which to look them up.

        Args:
            margin: Distance within which other surfaces touch each surface [m], shape [m].
            triangles: Whether edges are looked up among triangles.
        """
        pairs = self.vertex_face_pairs if triangles else self.edge_edge_pairs
        tree = self.triangle_bvh if triangles else self.edge_bvh
        return self._near(self.edge_bvh.cells, self._first_edge, self._no_bvh, tree, pairs, margin)

    def _near(
        self,
        cells: NDArray[np.int32],
        first: NDArray[np.int64],
        own: Bvh,
        tree: Bvh,
        pairs: NDArray[np.bool_],
        margin: NDArray[np.float64],
    ) -> NearCells:
        x0, x1 = self._path
        widening = margin + self.topology.radius
        count = len(self.surfaces)
        ptr, partner = np.empty(count + 1, np.int32), np.empty(count * count, np.int32)
        to_fit = np.empty(count, np.bool_)
        total = bvh_kernels.find_overlapping_surfaces(
            pairs,
            tree.leaf_count,
            self._swept,
            widening,
            self._is_static,
            self._fitted[0 if tree is self.triangle_bvh else 1],
            self._extent,
            ptr,
            partner,
            to_fit,
        )
        if not total:
            return NearCells(ptr, partner[:0], partner[:0])
        partner = partner[:total]
        tree.refit(x0, x1, widening, to_fit)
        near, mark = np.empty(len(cells), np.int32), np.zeros(len(cells), np.uint8)
        found = bvh_kernels.list_near_cells(
            cells, first, own, tree, ptr, partner, x0, x1, self.topology.radius, mark, near
        )
        return NearCells(ptr, partner, near[:found])

    def classify_edges(
        self, near: NearCells, margin: NDArray[np.float64], flat_sine: float, always_flat: float
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the outward direction and the kind of the edges that `near` may bring together, at the start.

        See `classify_edges` of the kernels. Those of static surfaces are kept from call to call.
        """
        arguments = (flat_sine, always_flat)
        count = len(self.edge_bvh.cells)
        if arguments not in self._edge_kinds:
            if len(self._edge_kinds) >= _MAX_EDGE_KINDS:
                self._edge_kinds.clear()
            self._edge_kinds[arguments] = np.zeros((count, 3)), np.zeros(count, np.uint8)
            static = np.flatnonzero(self._is_static[self.edge_bvh.surface]).astype(np.int32)
            self._classify(static, arguments)
        inside = np.empty(count, np.int32)
        found = bvh_kernels.list_cells_in_zones(
            self.edge_bvh.cells,
            self._first_edge,
            self._is_static,
            near.ptr,
            near.partner,
            *self._path,
            margin + self.topology.radius,
            self._extent,
            inside,
        )
        self._classify(inside[:found], arguments)
        return self._edge_kinds[arguments]

    def _classify(self, some: NDArray[np.int32], arguments: tuple[float, float]) -> None:
        edges = self.edge_bvh
        proximity_kernels.classify_edges.variant(len(some) >= _PARALLEL_FROM)(
            some,
            edges.cells,
            self.triangle_bvh.cells,
            self.topology.edge_triangles,
            self._path[0],
            *arguments,
            edges.surface,
            None if self.kinds is None else self.kinds.two_sided,
            *self._edge_kinds[arguments],
        )
