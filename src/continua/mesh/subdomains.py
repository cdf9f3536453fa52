"""The matter in the elements of a cut mesh: each element holds a part of its tetrahedron, a polyhedron made of cells.

A cut divides an element into subdomains. Each gets an element of its own over the whole tetrahedron, with nodes of its
own where the cut separates it from others; the nodes outside of its matter carry its motion there (Hansbo and Hansbo
2004; it is the basis of the shifted Heaviside enrichment, with other unknowns). Integrals are over the matter alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.checks import read_only
from continua.mesh.unique_rows import unique_rows
from continua.pickling import KeepsReadOnlyArrays

if TYPE_CHECKING:
    from continua.mesh.tet_mesh import TetMesh

__all__ = ["CutFacets", "MatterSurface", "Subdomains"]

_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class MatterSurface:
    """The surface of the matter of a cut mesh: what is left of its boundary, and the flanks of the cuts.

    Attributes:
        points: Points [m], shape [p, 3].
        elements: The element that moves each point, shape [p].
        nodes: Nodes of that element, shape [p, 4].
        weights: Their weights, the barycentric coordinates, shape [p, 4].
        triangles: Triangles over the points, outward, shape [k, 3]; those of the boundary first.
        faces: The face of the element in which each triangle lies, as in `TetMesh.FACES`; -1 for a flank, shape [k].
        triangle_elements: The element whose matter each triangle bounds, shape [k].
    """

    points: NDArray[np.float64]
    elements: NDArray[np.int32]
    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    triangles: NDArray[np.int32]
    faces: NDArray[np.int32]
    triangle_elements: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CutFacets:
    """The faces of all cells, and of all elements without cells, each once.

    Attributes:
        points: Their points, sorted, shape [f, 3].
        owners: Their one or two elements, the second -1 on the boundary, shape [f, 2].
        cells: Their cells; that of an element without cells is its number after all cells, shape [f, 2].
        local: The face of each cell, shape [f, 2].
        flagged: Whether a cut runs along them, shape [f].
        areas: Their areas [m2], shape [f].
    """

    points: NDArray[np.int32]
    owners: NDArray[np.int32]
    cells: NDArray[np.int32]
    local: NDArray[np.int32]
    flagged: NDArray[np.bool_]
    areas: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Subdomains(KeepsReadOnlyArrays):
    """The cells of the elements that cuts touch. Elements without cells are whole.

    Attributes:
        sites: The point at each node of the mesh, shape [n]; copies of a node have the same one.
        points: Corners of cells at rest [m], shape [p, 3].
        cells: Points of each cell, a tetrahedron, shape [s, 4].
        owners: The element whose matter each cell is, shape [s].
        flags: Bit i is set where the face opposite corner i lies on a cut, shape [s].
        whole: Whether elements are integrated as if they were whole: the virtual node algorithm.
    """

    sites: NDArray[np.int32]
    points: NDArray[np.float64]
    cells: NDArray[np.int32]
    owners: NDArray[np.int32]
    flags: NDArray[np.uint8]
    whole: bool = False

    ARRAYS = ("sites", "points", "cells", "owners", "flags")

    @classmethod
    def none(cls, mesh: TetMesh, whole: bool = False) -> Subdomains:
        """Return those of a mesh without cuts."""
        return cls(
            read_only(np.arange(mesh.node_count, dtype=np.int32)),
            mesh.points,
            read_only(np.zeros((0, 4), np.int32)),
            read_only(np.zeros(0, np.int32)),
            read_only(np.zeros(0, np.uint8)),
            whole,
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any], mesh: TetMesh) -> Subdomains:
        """Return those with the arrays of `state`, or raise InputError if they do not fit the mesh."""
        sites, points, cells, owners, flags = (np.array(state[f"subdomain_{name}"]) for name in cls.ARRAYS)
        fits = (
            sites.shape == (mesh.node_count,)
            and points.ndim == 2
            and cells.shape == (len(owners), 4)
            and flags.shape == owners.shape
            and all(
                _within(a, n)
                for a, n in ((sites, len(points)), (cells, len(points)), (owners, mesh.element_count))
            )
        )
        if not fits:
            raise InputError("the subdomains of cut elements in the state belong to another mesh")
        arrays = (
            sites.astype(np.int32),
            points.astype(float),
            cells.astype(np.int32),
            owners.astype(np.int32),
        )
        sites, points, cells, owners = (read_only(a) for a in arrays)
        return cls(
            sites, points, cells, owners, read_only(flags.astype(np.uint8)), bool(state["subdomain_whole"])
        )

    def state(self) -> dict[str, Any]:
        """Return the arrays for `from_state`."""
        return {f"subdomain_{name}": getattr(self, name) for name in self.ARRAYS} | {
            "subdomain_whole": self.whole
        }

    @cached_property
    def cell_volumes(self) -> NDArray[np.float64]:
        """Volume of each cell [m3], shape [s]; never negative."""
        p = self.points[self.cells]
        edges = p[:, 1:] - p[:, :1]
        return np.abs(np.linalg.det(edges)) / 6.0

    def fractions(self, mesh: TetMesh, volumes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the fraction of each element that is matter, shape [m], given the volumes of whole elements [m3]."""
        part = np.ones(mesh.element_count)
        if len(self.cells) and not self.whole:
            matter = np.bincount(self.owners, self.cell_volumes, mesh.element_count)
            touched = np.unique(self.owners)
            part[touched] = matter[touched] / volumes[touched]
        return part

    def moments(self, mesh: TetMesh) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the elements with cells, and integrals of products of their barycentric coordinates [m3], [k, 4, 4].

        The integral over a cell of L_a L_b follows from the values of L at its corners: V / 20 (sum_i L_ai L_bi +
        sum_i L_ai sum_i L_bi).
        """
        if self.whole or not len(self.cells):
            return np.zeros(0, np.intp), np.zeros((0, 4, 4))
        values = self.barycentric(mesh, self.owners[:, None], self.points[self.cells])
        total = values.sum(axis=1)
        table = np.einsum("sia,sib->sab", values, values) + total[:, :, None] * total[:, None, :]
        table *= (self.cell_volumes / 20.0)[:, None, None]
        touched, place = np.unique(self.owners, return_inverse=True)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(touched)))
        return touched.astype(np.intp), np.add.reduceat(table[order], starts, axis=0)

    def barycentric(
        self, mesh: TetMesh, elements: NDArray[np.integer], points: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return barycentric coordinates [..., 4] of points [..., 3] in elements [...]."""
        corners = mesh.points[mesh.cells[elements]]
        edges = np.swapaxes(corners[..., 1:, :] - corners[..., :1, :], -1, -2)
        inner = np.linalg.solve(edges, (points - corners[..., 0, :])[..., None])[..., 0]
        return np.concatenate([1.0 - inner.sum(axis=-1, keepdims=True), inner], axis=-1)

    def facets(self, mesh: TetMesh) -> CutFacets:
        """Return the faces of all cells."""
        count = len(self.cells)
        has = np.zeros(mesh.element_count, bool)
        has[self.owners] = True
        rest = np.flatnonzero(~has).astype(np.int32)
        cells = np.concatenate([self.cells, self.sites[mesh.cells[rest]]])
        owners = np.concatenate([self.owners, rest])
        numbers = np.concatenate([np.arange(count, dtype=np.int32), count + rest])
        flags = np.concatenate([self.flags, np.zeros(len(rest), np.uint8)])
        triples = np.sort(cells[:, _FACES].reshape(-1, 3), axis=1).astype(np.int32)
        different, _, order, starts = unique_rows(triples, len(self.points))
        first = order[starts[:-1]]
        second = np.where(np.diff(starts) > 1, order[starts[1:] - 1], -1)
        both = np.stack([first, second], axis=1)
        cell, local = both // 4, both % 4
        flagged = (flags[cell] >> local.astype(np.uint8) & 1 > 0) & (both >= 0)
        p = self.points[different]
        areas = 0.5 * np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
        return CutFacets(
            different,
            np.where(both >= 0, owners[cell], -1).astype(np.int32),
            np.where(both >= 0, numbers[cell], -1).astype(np.int32),
            np.where(both >= 0, local, -1).astype(np.int32),
            flagged.any(axis=1),
            areas,
        )

    def surface(self, mesh: TetMesh) -> MatterSurface:
        """Return the surface of the matter.

        Faces of cells belong to it if they have one cell, or if the elements of their two cells have not the same nodes
        there, so that they can move apart.
        """
        facets = self.facets(mesh)
        one, other = facets.owners.T
        inner = np.flatnonzero(other >= 0)
        nodes = mesh.cells
        same = (nodes[one[inner]][:, :, None] == nodes[other[inner]][:, None, :]).any(axis=2).sum(axis=1)
        at = self.sites[nodes]
        common = (at[one[inner]][:, :, None] == at[other[inner]][:, None, :]).any(axis=2).sum(axis=1)
        open_faces = inner[same < common]  # subdomains of one tetrahedron have all four sites in common
        outer = np.flatnonzero(other < 0)
        owner = np.concatenate([one[outer], one[open_faces], other[open_faces]])
        cell = np.concatenate(
            [facets.cells[outer, 0], facets.cells[open_faces, 0], facets.cells[open_faces, 1]]
        )
        local = np.concatenate(
            [facets.local[outer, 0], facets.local[open_faces, 0], facets.local[open_faces, 1]]
        )
        corners = np.empty((len(owner), 4), np.int32)
        small = cell < len(self.cells)
        corners[small] = self.cells[cell[small]]
        corners[~small] = self.sites[nodes[owner[~small]]]
        triangles = np.take_along_axis(corners, _FACES[local], axis=1)
        # a cell that was split keeps its orientation, so faces are outward
        face = np.full(len(owner), -1, np.int32)
        weights = self.barycentric(mesh, owner[: len(outer), None], self.points[triangles[: len(outer)]])
        face[: len(outer)] = np.abs(weights).max(axis=1).argmin(axis=1)
        # points are shared within one connected sheet: by elements that have the same nodes there
        carrier = self._carriers(mesh, owner, triangles)
        _, first, index = np.unique(carrier, return_index=True, return_inverse=True)
        elements = np.repeat(owner, 3)[first]
        points = self.points[triangles.ravel()[first]]
        weights = self.barycentric(mesh, elements, points)
        weights[np.abs(weights) < 1e-12] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        return MatterSurface(
            read_only(points),
            read_only(elements.astype(np.int32)),
            read_only(nodes[elements].astype(np.int32)),
            read_only(weights),
            read_only(index.reshape(-1, 3).astype(np.int32)),
            read_only(face),
            read_only(owner.astype(np.int32)),
        )

    def _carriers(
        self, mesh: TetMesh, owner: NDArray[np.int32], triangles: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Return a number for each corner of triangles [3 k], equal where corners move as one.

        Corners at one point move as one if their elements have the same nodes wherever both have weight there.
        """
        point, element = triangles.ravel(), np.repeat(owner, 3)
        weights = self.barycentric(mesh, element, self.points[point])
        used = np.where(np.abs(weights) > 1e-9, mesh.cells[element], -1)
        keys = np.concatenate([point[:, None], np.sort(used, axis=1)], axis=1)
        return np.unique(keys, axis=0, return_inverse=True)[1].ravel().astype(np.int64)

    def real_corners(self, mesh: TetMesh) -> NDArray[np.bool_]:
        """Return which corners of each element belong to its matter, shape [m, 4]."""
        real = np.ones((mesh.element_count, 4), bool)
        if len(self.cells):
            touched = np.unique(self.owners)
            real[touched] = False
            for corner in range(4):
                sites = self.sites[mesh.cells[self.owners, corner]]
                here = (self.cells == sites[:, None]).any(axis=1)
                real[self.owners[here], corner] = True
        return real

    def touching(self, mesh: TetMesh, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return those of the given nodes that hold matter: where it reaches the face, edge or corner between them.

        A constraint on nodes holds the faces between them. Where a cut divides such a face, it holds both parts, each
        by its own copies of the nodes. A part that does not reach the face is not held.
        """
        if not len(self.cells):
            return nodes
        chosen = np.zeros(mesh.node_count, bool)
        chosen[nodes] = True
        held = np.zeros(mesh.node_count, bool)
        has = np.zeros(mesh.element_count, bool)
        has[self.owners] = True
        whole = mesh.cells[~has]
        held[whole[chosen[whole]]] = True
        inside = chosen[mesh.cells[self.owners]]
        relevant = np.flatnonzero(inside.any(axis=1))
        if len(relevant):
            owner = self.owners[relevant]
            values = self.barycentric(mesh, owner[:, None], self.points[self.cells[relevant]])
            off = np.where(inside[relevant][:, None, :], 0.0, np.abs(values)).max(axis=2) < 1e-9
            # the corner of a cell holds those chosen nodes whose weight is not zero there, and with it all of its face
            reached = off.any(axis=1)
            corners = mesh.cells[owner[reached]]
            held[corners[inside[relevant][reached]]] = True
        return nodes[held[nodes]]

    def holders(
        self,
        mesh: TetMesh,
        parents: NDArray[np.integer],
        elements: NDArray[np.integer],
        points: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return the element that has the matter at points [k, 3] in elements [k] of the mesh before a cut.

        Args:
            mesh: The cut mesh.
            parents: The earlier element of each of its elements, shape [m].
            elements: The earlier elements of the points.
            points: The points at rest [m].
        """
        order = np.argsort(parents, kind="stable")
        starts = np.searchsorted(parents[order], np.arange(parents.max() + 2))
        result = order[starts[elements]].astype(np.intp)
        several = np.flatnonzero(starts[elements + 1] - starts[elements] > 1)
        if not len(several):
            return result
        by_parent = np.argsort(parents[self.owners], kind="stable")
        first = np.searchsorted(parents[self.owners][by_parent], np.arange(parents.max() + 2))
        for k in several:
            cells = by_parent[first[elements[k]] : first[elements[k] + 1]]
            p = self.points[self.cells[cells]]
            solid = self.cell_volumes[cells] > 0.0
            cells, p = cells[solid], p[solid]
            edges = np.swapaxes(p[:, 1:] - p[:, :1], 1, 2)
            inner = np.linalg.solve(edges, (points[k] - p[:, 0])[:, :, None])[:, :, 0]
            least = np.minimum(inner.min(axis=1), 1.0 - inner.sum(axis=1))
            result[k] = self.owners[cells[least.argmax()]]
        return result


def _within(numbers: NDArray, count: int) -> bool:
    return not numbers.size or bool(numbers.min() >= 0 and numbers.max() < count)
