"""Which blocks of the matrix of cloth the triangles and hinges contribute to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockPattern, DofMap, Geometry, block_kernels

__all__ = ["ClothPattern", "make_pattern"]


class ClothPattern(NamedTuple):
    """The arrays of a block pattern, and the triangles and hinges around every block above the diagonal.

    Block k = (i, j), i < j, has the triangles `triangle_codes[triangle_indptr[k]:triangle_indptr[k + 1]]` as
    16 e + 4 a + b, with a and b the corners at i and j, and hinges likewise; `mirror[k]` is the block (j, i). A node
    has the triangles `node_triangle_codes[node_triangle_indptr[i]:...]` as 4 e + a, and hinges likewise.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    mirror: NDArray[np.int32]
    triangle_indptr: NDArray[np.int32]
    triangle_codes: NDArray[np.int32]
    hinge_indptr: NDArray[np.int32]
    hinge_codes: NDArray[np.int32]
    node_triangle_indptr: NDArray[np.int32]
    node_triangle_codes: NDArray[np.int32]
    node_hinge_indptr: NDArray[np.int32]
    node_hinge_codes: NDArray[np.int32]


def make_pattern(
    triangles: NDArray[np.int32], hinges: NDArray[np.int32], points: NDArray[np.float64]
) -> tuple[DofMap, BlockPattern, ClothPattern]:
    """Return the dof map of the triangles, the block pattern of triangles and hinges, and its gather lists."""
    n = len(points)
    dof_map = DofMap.from_nodes(triangles, n)
    every = np.arange(n, dtype=np.int64)
    pairs = [every * (n + 1)]
    for elements in (triangles, hinges):
        nodes, width = elements.astype(np.int64), elements.shape[1]
        pairs += [nodes[:, a] * n + nodes[:, b] for a in range(width) for b in range(width) if a != b]
    keys = np.unique(np.concatenate(pairs))
    rows, columns = np.divmod(keys, n)
    indptr = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
    indices = columns.astype(np.int32)
    diagonal = block_kernels.diagonal_slots(indptr, indices)
    mirror = np.searchsorted(keys, columns * n + rows).astype(np.int32)
    inc_indptr, inc_codes = block_kernels.incidences(triangles, n)
    slots = _slots(triangles, inc_codes, keys, indptr, n)
    pattern = BlockPattern(indptr, indices, diagonal, inc_indptr, inc_codes, slots, 3, Geometry(points))
    lists = (
        *_block_lists(triangles, keys, n),
        *_block_lists(hinges, keys, n),
        *_node_lists(triangles, n),
        *_node_lists(hinges, n),
    )
    return dof_map, pattern, ClothPattern(indptr, indices, diagonal, mirror, *lists)


def _slots(
    triangles: NDArray[np.int32],
    inc_codes: NDArray[np.int32],
    keys: NDArray[np.int64],
    indptr: NDArray[np.int32],
    n: int,
) -> NDArray[np.uint16]:
    """Return the offset in its row of the block of every incidence and every corner of its triangle."""
    e, a = np.divmod(inc_codes, 3)
    rows = triangles[e, a].astype(np.int64)
    found = np.searchsorted(keys, rows[:, None] * n + triangles[e])
    return (found - indptr[rows][:, None]).astype(np.uint16)


def _block_lists(
    elements: NDArray[np.int32], keys: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    nodes, width = elements.astype(np.int64), elements.shape[1]
    number = np.arange(len(nodes), dtype=np.int64)
    blocks, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for a in range(width):
        for b in range(width):
            above = nodes[:, a] < nodes[:, b]
            if a != b:
                blocks.append(np.searchsorted(keys, nodes[above, a] * n + nodes[above, b]))
                codes.append(16 * number[above] + 4 * a + b)
    block, code = np.concatenate(blocks), np.concatenate(codes)
    order = np.lexsort((code, block))
    indptr = np.searchsorted(block[order], np.arange(len(keys) + 1))
    return indptr.astype(np.int32), code[order].astype(np.int32)


def _node_lists(elements: NDArray[np.int32], n: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    flat = elements.ravel()
    order = np.argsort(flat, kind="stable")
    e, a = np.divmod(order, elements.shape[1])
    indptr = np.searchsorted(flat[order], np.arange(n + 1))
    return indptr.astype(np.int32), (4 * e + a).astype(np.int32)
