"""Regular refinement: every tetrahedron becomes eight, and the finer mesh remembers where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.mesh.structured import MAX_ELEMENTS
from continua.mesh.tet_mesh import TetMesh

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Refinement", "refine"]

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


@dataclass(frozen=True, slots=True)
class Refinement:
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
    if 8 * mesh.element_count > MAX_ELEMENTS:
        raise InputError(
            f"refining would make {8 * mesh.element_count} elements, "
            f"too many for one mesh (at most {MAX_ELEMENTS})"
        )
    turned, middles = _turned_to_shortest_diagonal(mesh)
    nodes = np.concatenate([turned, mesh.node_count + middles], axis=1)
    tets = nodes[:, _CHILDREN].reshape(-1, 4)
    points = np.concatenate([mesh.points, mesh.points[mesh.edges].mean(axis=1)])
    regions = {name: (8 * e[:, None] + np.arange(8)).ravel() for name, e in mesh.regions.items()}
    fine = TetMesh._trusted(points, tets, regions)
    parent_of = np.repeat(np.arange(mesh.element_count, dtype=np.int32), 8)
    parent_of.flags.writeable = False
    fine.refinement = Refinement(fine, mesh, mesh.edges, parent_of)
    return fine.refinement


def _turned_to_shortest_diagonal(mesh: TetMesh) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Renumber each tet so that its shortest inner diagonal joins the middles of edges 0-2 and 1-3.

    Returns:
        Renumbered tets [m, 4] and the edges of each in the order of `TetMesh.EDGES` [m, 6].
    """
    p0, p1, p2, p3 = (mesh.points[mesh.tets[:, i]] for i in range(4))
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
    turned = np.take_along_axis(mesh.tets, _TURNS[choice], axis=1)
    return turned, np.take_along_axis(mesh.element_edges, order[choice], axis=1)
