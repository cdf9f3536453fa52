"""The outer surface of a soft body: its triangles, nodal areas, closest points; and surfaces embedded in the body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.frames import EmbeddedSurface
from continua.mesh import SurfaceMesh, TetMesh, TopologyChange, VolumeMesh, connected_pieces
from continua.mesh.locate import Locator
from continua.mesh.subdomains import MatterSurface
from continua.numerics.closest_points import closest_point_triangles

__all__ = ["BoundarySurface", "embed_surface", "remap_embedded_surface"]


class BoundarySurface:
    """The outer surface over a body's nodes.

    The surface of a cut mesh is over points of its own, which are weighted means of nodes.

    Attributes:
        triangles: Outward oriented, shape [k, 3].
        nodes: The nodes (of a cut mesh: the points) on the surface, sorted, shape [s].
        areas: Rest area of each of those nodes [m2], shape [s].
        carriers: Of a cut mesh the matrix from nodes to the points of the surface, shape [p, n]; else None.
        rest: Rest positions of the nodes or points [m].
        matter: The surface of the matter of a cut mesh, else None.
    """

    def __init__(self, elements: Elements) -> None:
        self.triangles = elements.surface_triangles()
        rest = elements.rest_positions
        node_count = elements.node_count
        self.matter = getattr(elements.mesh, "matter_surface", None)
        self.carriers: sparse.csr_array | None = None
        if self.matter is not None:
            self.triangles, rest, node_count = (
                self.matter.triangles,
                self.matter.points,
                len(self.matter.points),
            )
            self.carriers = carrier_matrix(self.matter, elements.node_count)
        self.rest = rest
        a, b, c = (rest[self.triangles[:, i]] for i in range(3))
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
        shares = np.bincount(self.triangles.ravel(), weights=np.repeat(area / 3.0, 3), minlength=node_count)
        self.nodes = np.unique(self.triangles).astype(np.int32)
        self.areas = shares[self.nodes]
        self._curved: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]] | None = None
        shape = getattr(elements, "rest_shape", None)
        if shape is not None and len(shape.curved):
            self._curved = self._offsets(elements, shape.curved)

    def _offsets(
        self, elements: Elements, curved: NDArray[np.intp]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return the nodes of curved faces whose coefficients are off the surface, and how they follow corners.

        Returns:
            Nodes [s], corners of an element of each [s, 4], and weights of their positions in the offset [s, 4].
        """
        offsets = elements.rest_positions - elements.rest_coefficients
        owner = np.full(elements.node_count, -1)
        owner[elements.elements[curved]] = curved[:, None]
        nodes = self.nodes[(offsets[self.nodes] != 0.0).any(axis=1) & (owner[self.nodes] >= 0)]
        corners = elements.elements[owner[nodes], :4]
        points = elements.rest_positions[corners]
        inner = np.linalg.solve(np.swapaxes(points[:, 1:] - points[:, :1], 1, 2), offsets[nodes][:, :, None])[
            :, :, 0
        ]
        return nodes, corners, np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)

    def contact_positions(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where the nodes touch other bodies [m], shape [n, 3]: at rest, and under affine maps, the surface.

        Of a cut mesh they are the points of its surface. Contact moves the coefficients of nodes. Those of curved
        faces lie off the surface; each is shifted by its distance from it at rest, which turns and stretches with the
        corners of its element.
        """
        if self.carriers is not None:
            return np.asarray(self.carriers @ coefficients)
        if self._curved is None:
            return coefficients
        nodes, corners, weights = self._curved
        positions = coefficients.copy()
        positions[nodes] += np.einsum("sc,sci->si", weights, coefficients[corners])
        return positions

    def on_nodes(
        self, points: NDArray[np.int32], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Express a weighted mean of points of the surface by nodes: return these and their weights."""
        if self.carriers is None:
            return points, weights
        mean = sparse.csr_array(self.carriers[points].T @ weights[:, None]).tocoo()
        return mean.row.astype(np.int32), mean.data

    def skin(self) -> EmbeddedSurface | None:
        """Return the surface of a cut mesh as it is drawn, or None."""
        m = self.matter
        return None if m is None else EmbeddedSurface(m.points, m.triangles, m.nodes, m.weights)

    def closest_point(
        self, point: NDArray[np.float64], positions: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        """Return the triangle closest to `point` [m] and the barycentric weights of its closest point."""
        at = positions if self.carriers is None else np.asarray(self.carriers @ positions)
        corners = at[self.triangles]
        weights = np.empty((len(corners), 3))
        closest_point_triangles(np.ascontiguousarray(point, np.float64), corners, weights)
        distances = np.linalg.norm(np.einsum("kc,kci->ki", weights, corners) - point, axis=1)
        best = int(distances.argmin())
        return best, weights[best]


def carrier_matrix(surface: MatterSurface, node_count: int) -> sparse.csr_array:
    """Return the matrix from nodes to the points of the surface of a cut mesh, shape [p, n]."""
    used = surface.weights != 0.0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    shape = (len(surface.points), node_count)
    return sparse.csr_array((surface.weights[used], surface.nodes[used], starts), shape=shape)


def embed_surface(skin: SurfaceMesh, mesh: VolumeMesh) -> tuple[EmbeddedSurface, NDArray[np.int32]]:
    """Embed a detailed surface in the tetrahedra around it (Georgii 2007); both at rest.

    Returns:
        The embedded surface, and the tetrahedron that holds each of its nodes, shape [s].
    """
    if not isinstance(mesh, TetMesh):
        raise InputError("only bodies of tetrahedra carry a skin")
    binding = Locator(mesh).bind_surface(skin)
    nodes = mesh.tets[binding.elements].astype(np.int32)
    surface = EmbeddedSurface(
        skin.points.copy(),
        skin.triangles.astype(np.int32),
        nodes,
        binding.weights.copy(),
        uv=skin.uv,
        texture=skin.texture,
    )
    return surface, binding.elements


def remap_embedded_surface(
    skin: EmbeddedSurface, elements: NDArray[np.int32], change: TopologyChange
) -> tuple[EmbeddedSurface, NDArray[np.int32]]:
    """Embed a surface in a changed mesh: each node in that part of its old tetrahedron that holds it best.

    After a split a triangle goes with the piece that holds its centre. Nodes whose triangles go with several pieces get
    a copy for each, so that no triangle joins two pieces.

    Args:
        skin: The surface, embedded in the mesh before the change.
        elements: The tetrahedron that holds each of its nodes, shape [s].
        change: The change.
    """
    if getattr(change.mesh, "subdomains", None) is not None:
        return _remap_to_matter(skin, elements, change)
    best = _BestChild(change)
    node, child, weights = np.arange(len(skin.rest)), *best.of(elements, skin.weights)
    triangles = skin.triangles
    if change.mesh.is_split:
        piece = connected_pieces(change.mesh)
        count = int(piece.max()) + 1
        assert isinstance(change.before, TetMesh)
        middle = Locator(change.before).bind(skin.rest[triangles].mean(axis=1))
        holder, _ = best.of(middle.elements, middle.weights)
        pairs = triangles.astype(np.int64) * count + piece[holder][:, None]
        loose = np.setdiff1d(node, triangles)  # nodes of no triangle
        pairs, inverse = np.unique(
            np.concatenate([pairs.ravel(), loose * count + piece[child[loose]]]), return_inverse=True
        )
        triangles = inverse[: triangles.size].reshape(-1, 3).astype(np.int32)
        node, wanted = np.divmod(pairs, count)
        child, weights = best.of(elements[node], skin.weights[node], piece, wanted)
        lost = np.flatnonzero(
            child < 0
        )  # the old tetrahedron has no part in the piece: one around a triangle does
        child[lost], weights[lost] = _extrapolated(change.mesh, skin.rest[node], triangles, holder, lost)
    nodes = change.mesh.cells[child].astype(np.int32)
    surface = replace(skin, rest=skin.rest[node], triangles=triangles, nodes=nodes, weights=weights)
    return surface, child.astype(np.int32)


def _remap_to_matter(
    skin: EmbeddedSurface, elements: NDArray[np.int32], change: TopologyChange
) -> tuple[EmbeddedSurface, NDArray[np.int32]]:
    """Embed a surface in a cut mesh: each triangle moves with the matter at its centre; the flanks of cuts are added.

    The element of a corner is the one that has the matter there if it belongs to the same piece as that at the centre,
    else the one at the centre.
    """
    mesh = change.mesh
    assert isinstance(mesh, TetMesh)
    assert isinstance(change.before, TetMesh)
    assert mesh.subdomains is not None
    assert change.element_parents is not None
    triangles = skin.triangles
    middles = skin.rest[triangles].mean(axis=1)
    holder = mesh.subdomains.holders(
        mesh, change.element_parents, Locator(change.before).bind(middles).elements, middles
    )
    own = mesh.subdomains.holders(mesh, change.element_parents, elements, skin.rest)
    piece = connected_pieces(mesh)
    corner, there = triangles.ravel(), np.repeat(holder, 3)
    there = np.where(piece[own[corner]] == piece[there], own[corner], there)
    pairs, index = np.unique(np.stack([corner, there], axis=1), axis=0, return_inverse=True)
    corner, there = pairs.T
    weights = mesh.subdomains.barycentric(mesh, there, skin.rest[corner])
    surface = mesh.matter_surface
    assert surface is not None
    flank = surface.triangles[surface.faces < 0]
    used, local = np.unique(flank, return_inverse=True)
    table = np.concatenate([index.reshape(-1, 3), len(corner) + local.reshape(-1, 3)]).astype(np.int32)
    uv = skin.uv
    if uv is not None:
        uv = np.concatenate([uv, np.zeros((len(flank), 3, 2))])
    holders = np.concatenate([there, surface.elements[used]]).astype(np.int32)
    return (
        replace(
            skin,
            rest=np.concatenate([skin.rest[corner], surface.points[used]]),
            triangles=table,
            nodes=mesh.tets[holders],
            weights=np.concatenate([weights, surface.weights[used]]),
            uv=uv,
        ),
        holders,
    )


class _BestChild:
    """Finds the new tetrahedra that hold points of old ones."""

    def __init__(self, change: TopologyChange) -> None:
        assert change.element_parents is not None
        self._order = np.argsort(change.element_parents, kind="stable")
        self._starts = np.searchsorted(
            change.element_parents[self._order], np.arange(change.before.element_count + 1)
        )
        self._corners = change.corner_weights

    def of(
        self,
        elements: NDArray[np.int32],
        weights: NDArray[np.float64],
        piece: NDArray[np.int32] | None = None,
        wanted: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return for points of old tetrahedra the new ones [s] that extrapolate least, and their weights [s, 4].

        Args:
            elements: The old tetrahedra, shape [s].
            weights: Barycentric coordinates in them, shape [s, 4].
            piece: The piece of each new tetrahedron, if only one piece is allowed.
            wanted: That piece, shape [s]; a point whose tetrahedron has no part in it gets -1.
        """
        first, counts = self._starts[elements], self._starts[elements + 1] - self._starts[elements]
        point = np.repeat(np.arange(len(elements)), counts)
        place = np.arange(len(point)) - np.repeat(np.cumsum(counts) - counts, counts)
        child = self._order[first[point] + place]
        there = np.linalg.solve(self._corners[child].swapaxes(1, 2), weights[point][:, :, None])[:, :, 0]
        score = there.min(axis=1)
        if piece is not None and wanted is not None:
            score = np.where(piece[child] == wanted[point], score, -np.inf)
        ranked = np.lexsort((child, -score, point))
        chosen = ranked[np.cumsum(counts) - counts]
        found = np.isfinite(score[chosen])
        return np.where(found, child[chosen], -1), there[chosen]


def _extrapolated(
    mesh: VolumeMesh,
    points: NDArray[np.float64],
    triangles: NDArray[np.int32],
    holders: NDArray[np.intp],
    wanted: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return for the `wanted` nodes of a surface the best of the tetrahedra that hold centres of their triangles."""
    index = np.full(len(points), -1)
    index[wanted] = np.arange(len(wanted))
    node, holder = index[triangles.ravel()], np.repeat(holders, 3)
    used = node >= 0
    node, holder, at = node[used], holder[used], points[triangles.ravel()[used]]
    corners = mesh.points[mesh.cells[holder]]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    inner = np.linalg.solve(edges, (at - corners[:, 0])[:, :, None])[:, :, 0]
    weights = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
    ranked = np.lexsort((holder, -weights.min(axis=1), node))
    chosen = ranked[np.searchsorted(node[ranked], np.arange(len(wanted)))]
    return holder[chosen], weights[chosen]
