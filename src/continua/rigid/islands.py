"""Islands of pieces that touch or are joined: which are small enough for a direct solve, and its working arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from continua.contact.block_factor import block_pattern

__all__ = ["DirectSet", "choose_direct"]

_WORK = 400  # products of blocks that factoring an island may take, roughly; more is left to sweeps


class DirectSet:
    """The pieces that are solved directly, and the pattern of their matrix.

    Attributes:
        pieces: Their numbers.
        node: Place of each piece in the factor, -1 for others, shape [n].
        ptr: Columns of the factor, see `contact.block_factor`.
        pattern: Rows of the factor.
        L: Its blocks.
        x: Scratch for solutions, shape [k, 6].
    """

    def __init__(self, pieces: NDArray[np.int32], n: int, edges: NDArray[np.int32]) -> None:
        number = np.full(n, -1, np.int32)
        number[pieces] = np.arange(len(pieces), dtype=np.int32)
        place, self.ptr, self.pattern = block_pattern(len(pieces), number[edges])
        self.pieces = pieces
        self.node = np.full(n, -1, np.int32)
        self.node[pieces] = place
        self.L = np.zeros((len(self.pattern), 36))
        self.x = np.zeros((len(pieces), 6))
        self.edges = edges

    @property
    def work(self) -> NDArray[np.int64]:
        """Products of blocks for each column of the factor."""
        length = np.diff(self.ptr).astype(np.int64)
        return length * (length + 1) // 2


def choose_direct(
    moves: NDArray[np.bool_], pairs: NDArray[np.int32], joined: NDArray[np.int32], before: DirectSet | None
) -> DirectSet | None:
    """Return what is solved directly: islands with joints, and those of contacts that are cheap to factor.

    Args:
        moves: Whether a piece can be moved [n].
        pairs: Pieces that touch [p, 2].
        joined: Pieces with a common joint [j, 2].
        before: The last step's choice, taken again if the graph is the same.
    """
    n = len(moves)
    links = np.concatenate([pairs, joined])
    both = moves[links].all(axis=1)
    edges = np.unique(np.sort(links[both], axis=1), axis=0).astype(np.int32)
    bound = np.zeros(n, np.bool_)
    bound[links] = True
    bound &= moves
    if not bound.any():
        return None
    graph = sparse.coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), (n, n))
    _, island = csgraph.connected_components(graph, directed=False)
    keep = np.zeros(island.max() + 1, np.bool_)
    # a chain of k pieces takes about 3 k products; a heap of k pieces about k (k^(2/3))^2 / 2
    size = np.bincount(island[bound], minlength=len(keep))
    links_of = np.bincount(island[edges[:, 0]], minlength=len(keep))
    width = np.maximum(1.0, links_of / np.maximum(size, 1)) ** 2 * np.maximum(size, 1) ** (1.0 / 3.0)
    keep[size * width < _WORK] = True
    ends = joined.ravel()
    keep[island[ends[moves[ends]]]] = True
    pieces = np.flatnonzero(bound & keep[island]).astype(np.int32)
    if not len(pieces):
        return None
    edges = edges[keep[island[edges[:, 0]]]]
    if before is not None and np.array_equal(before.pieces, pieces) and np.array_equal(before.edges, edges):
        return before
    return DirectSet(pieces, n, edges)
