"""Islands of instances connected by contacts or joints: which are small enough for a direct solve, and its arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from continua.contact_solver.block_cholesky import block_pattern

__all__ = ["DirectIslands", "select_direct_islands"]

_MAX_WORK = (
    400  # block products to factor an island, approximately; larger islands are solved by Gauss-Seidel
)


class DirectIslands:
    """The instances that are solved directly, and the pattern of their matrix.

    Attributes:
        instances: Their indices.
        node: Row of each instance in the factor, -1 for others, shape [n].
        ptr: Columns of the factor, see `contact_solver.block_cholesky`.
        pattern: Rows of the factor.
        L: Its blocks.
        x: Scratch for solutions, shape [k, 6].
    """

    def __init__(self, instances: NDArray[np.int32], n: int, edges: NDArray[np.int32]) -> None:
        local_index = np.full(n, -1, np.int32)
        local_index[instances] = np.arange(len(instances), dtype=np.int32)
        place, self.ptr, self.pattern = block_pattern(len(instances), local_index[edges])
        self.instances = instances
        self.node = np.full(n, -1, np.int32)
        self.node[instances] = place
        self.L = np.zeros((len(self.pattern), 36))
        self.x = np.zeros((len(instances), 6))
        self.edges = edges

    @property
    def work(self) -> NDArray[np.int64]:
        """Block products per column of the factor."""
        length = np.diff(self.ptr).astype(np.int64)
        return length * (length + 1) // 2


def select_direct_islands(
    is_dynamic: NDArray[np.bool_],
    pairs: NDArray[np.int32],
    jointed_pairs: NDArray[np.int32],
    previous: DirectIslands | None,
) -> DirectIslands | None:
    """Return the islands that are solved directly: those with joints, and those that are cheap to factor.

    Args:
        is_dynamic: Whether an instance is dynamic [n].
        pairs: Instances in contact [p, 2].
        jointed_pairs: Instances with a common joint [j, 2].
        previous: The islands of the last step, reused if the graph is the same.
    """
    n = len(is_dynamic)
    links = np.concatenate([pairs, jointed_pairs])
    both = is_dynamic[links].all(axis=1)
    edges = np.unique(np.sort(links[both], axis=1), axis=0).astype(np.int32)
    connected = np.zeros(n, np.bool_)
    connected[links] = True
    connected &= is_dynamic
    if not connected.any():
        return None
    graph = sparse.coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), (n, n))
    _, island = csgraph.connected_components(graph, directed=False)
    keep = np.zeros(island.max() + 1, np.bool_)
    # a chain of k bodies takes about 3 k products; a pile of k bodies about k (k^(2/3))^2 / 2
    size = np.bincount(island[connected], minlength=len(keep))
    links_of = np.bincount(island[edges[:, 0]], minlength=len(keep))
    width = np.maximum(1.0, links_of / np.maximum(size, 1)) ** 2 * np.maximum(size, 1) ** (1.0 / 3.0)
    keep[size * width < _MAX_WORK] = True
    ends = jointed_pairs.ravel()
    keep[island[ends[is_dynamic[ends]]]] = True
    instances = np.flatnonzero(connected & keep[island]).astype(np.int32)
    if not len(instances):
        return None
    edges = edges[keep[island[edges[:, 0]]]]
    if (
        previous is not None
        and np.array_equal(previous.instances, instances)
        and np.array_equal(previous.edges, edges)
    ):
        return previous
    return DirectIslands(instances, n, edges)
