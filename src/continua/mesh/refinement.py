"""Refinement of tetrahedra: all of them or chosen ones, each into eight, with conforming closure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.checks import read_only
from continua.mesh.quality import mean_ratios
from continua.mesh.splitting import refuse_cut
from continua.mesh.structured import MAX_ELEMENTS
from continua.mesh.tet_mesh import TetMesh
from continua.mesh.topology import TopologyChange, chosen_numbers, interpolate
from continua.mesh.volume_mesh import VolumeMesh
from continua.short_repr import ShortRepr
from continua.validation import instance_of

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Refinement", "refine", "refine_tets"]

GREEN_SHAPE = 0.3
"""Smallest shape of an element of the closure, relative to the original element in which it lies."""

# Even renumberings that bring each of the three inner diagonals to the place between the middles of edges
# 0-2 and 1-3. The first comes first when lengths are equal: it keeps path lattices path lattices.
_TURNS = np.array([[0, 1, 2, 3], [0, 3, 1, 2], [0, 2, 3, 1]])
# Local numbers 4 to 9 are the middles of edges 01, 12, 02, 03, 13, 23 (the order of TetMesh.EDGES): four
# corners, then the inner octahedron around its diagonal 02-13 (Bey 1995, turned to positive volume).
_CHILDREN = np.array(
    [
        [0, 4, 6, 7],
        [4, 1, 5, 8],
        [6, 5, 2, 9],
        [7, 8, 9, 3],
        [4, 6, 7, 8],
        [4, 8, 5, 6],
        [6, 7, 8, 9],
        [6, 9, 8, 5],
    ]
)
_MIDDLE = {(0, 1): 0, (1, 2): 1, (0, 2): 2, (0, 3): 3, (1, 3): 4, (2, 3): 5}
_RED = 8


def _closure_tables() -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return what becomes of a tet with each of the 64 patterns of marked edges (bit i is edge i of TetMesh.EDGES).

    Returns:
        Number of children [64]: 1, 2, 4, or 8 for regular refinement; the children of 2 and 4 as local nodes
        [64, 4, 4], numbered like `_CHILDREN`; and the third edge of a face whose other two are marked [64], or -1.
    """
    counts = np.full(64, _RED)
    children = np.tile(np.arange(4), (64, 4, 1))
    thirds = np.full(64, -1)

    def node(a: int, b: int) -> int:
        return a if a == b else 4 + _MIDDLE[min(a, b), max(a, b)]

    counts[0] = 1
    for (a, b), edge in _MIDDLE.items():
        c, d = (corner for corner in range(4) if corner not in (a, b))
        counts[1 << edge] = 2
        for child, kept in enumerate((a, b)):  # the other end moves to the middle
            children[1 << edge, child, a + b - kept] = node(a, b)
        if a != 0:
            continue  # two opposite edges: the one with corner 0 stands for both
        pattern = 1 << edge | 1 << _MIDDLE[c, d]
        counts[pattern] = 4
        for child, (kept, other) in enumerate(product((a, b), (c, d))):
            children[pattern, child, a + b - kept] = node(a, b)
            children[pattern, child, c + d - other] = node(c, d)
    for opposite in range(4):
        a, b, c = (corner for corner in range(4) if corner != opposite)
        edges = [_MIDDLE[a, b], _MIDDLE[b, c], _MIDDLE[a, c]]
        pattern = sum(1 << edge for edge in edges)
        counts[pattern] = 4
        for child, kept in enumerate((a, b, c)):
            for corner in (a, b, c):
                children[pattern, child, corner] = node(kept, corner)
        children[pattern, 3, [a, b, c]] = node(a, b), node(b, c), node(a, c)
        for edge in edges:
            thirds[pattern & ~(1 << edge)] = edge
    return counts, children, thirds


_COUNTS, _CLOSURE, _THIRDS = _closure_tables()


@dataclass(frozen=True, slots=True, repr=False)
class Refinement(ShortRepr):
    """A refined mesh and its links to the coarse one.

    Attributes:
        mesh: The fine mesh. Its first nodes are the coarse ones, then one in the middle of each coarse edge.
        coarse: The mesh it came from.
        parents: The two coarse nodes between which each new node lies, shape [new, 2]; weights are one half.
        parent_of: The coarse element that holds each fine element, shape [8 m].
    """

    mesh: TetMesh
    coarse: TetMesh
    parents: NDArray[np.int32]
    parent_of: NDArray[np.int32]

    def interpolation(self) -> sparse.csr_array:
        """Return the matrix that carries values from coarse to fine nodes, shape [fine, coarse].

        Its transpose restricts. Rows add up to 1 and linear fields are carried exactly.
        """
        from scipy import sparse

        old, new = self.coarse.node_count, len(self.parents)
        indptr = np.concatenate([np.arange(old), old + 2 * np.arange(new + 1)])
        indices = np.concatenate([np.arange(old), self.parents.ravel()])
        values = np.concatenate([np.ones(old), np.full(2 * new, 0.5)])
        return sparse.csr_array((values, indices, indptr), shape=(old + new, old))


def refine(mesh: TetMesh) -> Refinement:
    """Cut every tet into eight: four at the corners and four around the shortest inner diagonal.

    All tets are cut at once, so neighbours fit. Repeated refinement keeps the shapes bounded.
    """
    _refuse_many(8 * instance_of(mesh, TetMesh, "the mesh").element_count)
    nodes = mesh.node_count + mesh.element_edges
    tets = _eight_children(mesh.points, mesh.tets, nodes).reshape(-1, 4)
    points = np.concatenate([mesh.points, mesh.points[mesh.edges].mean(axis=1)])
    regions = {name: (8 * e[:, None] + np.arange(8)).ravel() for name, e in mesh.regions.items()}
    fine = TetMesh._trusted(points, tets, regions)
    parent_of = np.repeat(np.arange(mesh.element_count, dtype=np.int32), 8)
    parent_of.flags.writeable = False
    fine.refinement = Refinement(fine, mesh, mesh.edges, parent_of)
    return fine.refinement


def refine_tets(mesh: VolumeMesh, elements: ArrayLike) -> TopologyChange:
    """Cut chosen tets into eight each, and their neighbours so that all faces fit (red-green refinement, Bey 1995).

    The nodes of the mesh keep their numbers; one is added in the middle of each cut edge. The children of an element
    follow each other in its place. A neighbour is cut into two if one of its edges is cut, into four if two opposite
    edges or the three edges of a face are; if two edges of a face are cut, the third one is as well; with any other
    pattern it is cut into eight. It is also cut into eight where the closure would make an element too flat
    (`GREEN_SHAPE`), so that shapes stay bounded however often a mesh is refined.

    Args:
        mesh: A mesh of tetrahedra.
        elements: The tets to refine: numbers, or a mask [m].
    """
    refuse_cut(mesh, "refined")
    if isinstance(mesh, VolumeMesh) and not isinstance(mesh, TetMesh):
        raise InputError(f"only tetrahedra can be refined, not {mesh.NAME}")
    instance_of(mesh, TetMesh, "the mesh")
    red = np.zeros(mesh.element_count, bool)
    red[chosen_numbers(elements, mesh.element_count, "tets")] = True
    patterns, marked = _close(mesh, red)
    counts = _COUNTS[patterns]
    total = int(counts.sum())
    _refuse_many(total)
    cut = np.flatnonzero(marked)
    middles = np.full(len(mesh.edges), -1, np.int32)
    middles[cut] = mesh.node_count + np.arange(len(cut), dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    tets = np.empty((total, 4), np.int32)
    whole = np.flatnonzero(counts == 1)
    tets[starts[whole]] = mesh.tets[whole]
    eight = np.flatnonzero(counts == _RED)
    tets[(starts[eight, None] + np.arange(_RED)).ravel()] = _eight_children(
        mesh.points, mesh.tets[eight], middles[mesh.element_edges[eight]]
    ).reshape(-1, 4)
    for count in (2, 4):
        few = np.flatnonzero(counts == count)
        nodes = np.concatenate([mesh.tets[few], middles[mesh.element_edges[few]]], axis=1)
        local = _CLOSURE[patterns[few], :count].reshape(len(few), 4 * count)
        places = (starts[few, None] + np.arange(count)).ravel()
        tets[places] = np.take_along_axis(nodes, local, axis=1).reshape(-1, 4)
    old = np.arange(mesh.node_count, dtype=np.int32)
    parents = np.concatenate([np.stack([old, old], axis=1), mesh.edges[cut]])
    weights = np.full(parents.shape, 0.5)
    weights[: mesh.node_count] = 1.0, 0.0
    element_parents = np.repeat(np.arange(mesh.element_count, dtype=np.int32), counts)
    points = interpolate(parents, weights, mesh.points)
    fine = mesh.child_mesh(points, tets, element_parents)
    return TopologyChange(mesh, fine, read_only(parents), read_only(weights), read_only(element_parents))


def _close(mesh: TetMesh, red: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Mark the edges of the `red` tets, and more until every tet has a pattern that can be cut.

    Returns:
        The pattern of every tet [m], see `_closure_tables`, and the marked edges [e].
    """
    edges, bits = mesh.element_edges, 1 << np.arange(6)
    roots = mean_ratios(mesh.points[mesh.tets]) if mesh.root_shapes is None else mesh.root_shapes
    marked = np.zeros(len(mesh.edges), bool)
    while True:
        marked[edges[red]] = True
        patterns = marked[edges] @ bits
        third = _THIRDS[patterns]
        open_faces = np.flatnonzero(third >= 0)
        if len(open_faces):
            marked[edges[open_faces, third[open_faces]]] = True
            continue
        more = (_COUNTS[patterns] == _RED) & ~red
        if not more.any():
            green = np.flatnonzero((_COUNTS[patterns] > 1) & ~red)
            more[green] = _closure_shapes(mesh, green, patterns[green]) < GREEN_SHAPE * roots[green]
        if not more.any():
            return patterns, marked
        red = red | more


def _closure_shapes(
    mesh: TetMesh, elements: NDArray[np.intp], patterns: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the worst shape among the children that the closure would make of each element, shape [k]."""
    corners = mesh.points[mesh.tets[elements]]
    middles = corners[:, TetMesh.EDGES].mean(axis=2)
    points = np.concatenate([corners, middles], axis=1)
    worst = np.ones(len(elements))
    for child in range(4):
        local = _CLOSURE[patterns, child]
        np.minimum(
            worst, mean_ratios(np.take_along_axis(points, local[:, :, None], axis=1)), out=worst,
            where=child < _COUNTS[patterns],
        )  # fmt: skip
    return worst


def _refuse_many(count: int) -> None:
    if count > MAX_ELEMENTS:
        raise InputError(
            f"refining would make {count} elements, too many for one mesh (at most {MAX_ELEMENTS})"
        )


def _eight_children(
    points: NDArray[np.float64], tets: NDArray[np.int32], middles: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the nodes of the eight children of each tet, shape [m, 8, 4].

    Args:
        points: Nodes of the mesh [n, 3].
        tets: The tets [m, 4].
        middles: Numbers of the new nodes in the middles of their edges, in the order of `TetMesh.EDGES`, [m, 6].
    """
    p0, p1, p2, p3 = (points[tets[:, i]] for i in range(4))
    lengths = np.stack(
        [
            np.linalg.norm(p0 + p2 - p1 - p3, axis=1),
            np.linalg.norm(p0 + p1 - p2 - p3, axis=1),
            np.linalg.norm(p0 + p3 - p1 - p2, axis=1),
        ],
        axis=1,
    )
    # A shorter one wins only if it is shorter by more than round-off.
    choice = (lengths <= lengths.min(axis=1, keepdims=True) * (1.0 + 1e-9)).argmax(axis=1)
    order = np.array(
        [[_MIDDLE[tuple(sorted((turn[a], turn[b])))] for a, b in TetMesh.EDGES] for turn in _TURNS]
    )
    turned = np.take_along_axis(tets, _TURNS[choice], axis=1)
    nodes = np.concatenate([turned, np.take_along_axis(middles, order[choice], axis=1)], axis=1)
    return nodes[:, _CHILDREN]
