"""Parallel assembly of element matrices and forces by colouring; bitwise identical for any number of threads.

Neighbouring elements form chunks; chunks that share a node have different colours. The chunks of one colour never write
to the same block, so they run in parallel; colours, and the elements of a chunk, run in sequence. The summation order
of a block therefore depends on the mesh alone. The slot of each block is precomputed, so nothing is searched for
(Weber 2015).

The row of a node is initialised with mass by the first element that contains it, so that the matrix passes through the
cache once. A kernel that assembles is, with the arrays of a `ColoredAssembly`:

    for color in range(colors.shape[0] - 1):
        for chunk in prange(colors[color], colors[color + 1]):
            K, f = np.empty((k, k, 9)), np.empty((k, 3))
            for t in range(chunks[chunk], chunks[chunk + 1]):
                e = order[t]
                ...  # fill the upper half of K and all of f
                begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs)
                add_element(e, elements, indptr, slots, K, f, c_stiffness, dt, blocks, rhs)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from continua.linalg import BlockPattern
from continua.numerics import inline, kernel
from continua.numerics.simd.f64x4 import first4, fma4, load4, shuffle4, store4

__all__ = ["ColoredAssembly", "add_element", "begin_rows"]

CHUNKS = 256
"""Number of chunks of a mesh of medium size: enough for many in each colour."""
CHUNK_SIZES = 16, 256
"""Minimum and maximum number of elements per chunk; larger chunks reuse more blocks in the cache."""


class ColoredAssembly(NamedTuple):
    """Order and destination of the elements in an assembly.

    Attributes:
        order: Elements in the order in which they are added, shape [m].
        chunks: Starts of the chunks in `order`, shape [c + 1].
        colors: Starts of the colours in `chunks`; chunks of one colour share no node.
        first: Bit a is set if element e is the first that contains its node a, shape [m].
        slots: Slot of block (a, b) of element e in the row of its node a, shape [m, k, k].
    """

    order: NDArray[np.int32]
    chunks: NDArray[np.int32]
    colors: NDArray[np.int32]
    first: NDArray[np.uint32]
    slots: NDArray[np.uint16]

    @classmethod
    def make(
        cls, elements: NDArray[np.int32], rest_positions: NDArray[np.float64], pattern: BlockPattern
    ) -> ColoredAssembly:
        """Prepare elements [m, k] over nodes at `rest_positions` [n, 3] whose blocks lie in `pattern`."""
        count, k = elements.shape
        order = _morton_order(rest_positions[elements].mean(axis=1))
        size = min(max(count // CHUNKS, CHUNK_SIZES[0]), CHUNK_SIZES[1])
        starts = np.append(np.arange(0, count, size), count).astype(np.int32)
        color = _color_chunks(elements, order, starts, pattern.node_count)
        by_color = np.argsort(color, kind="stable")
        sizes = np.diff(starts)[by_color]
        pieces = [order[starts[c] : starts[c + 1]] for c in by_color]
        slots = np.empty((count * k, k), np.uint16)
        slots[pattern.inc_codes] = pattern.slots
        order = np.concatenate(pieces)
        return cls(
            order,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.concatenate([[0], np.cumsum(np.bincount(color))]).astype(np.int32),
            _first_uses(elements, order, pattern.node_count),
            slots.reshape(count, k, k),
        )


def _morton_order(points: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the indices of the points in Morton order, which keeps neighbours together."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float((high - low).max()), 1e-300)
    cells = np.minimum((1024.0 * (points - low) / size).astype(np.int64), 1023)
    code = np.zeros(len(points), np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable").astype(np.int32)


@kernel
def _color_chunks(elements, order, starts, node_count):
    """Colour the chunks greedily: the smallest colour of no earlier chunk with a common node; returns [c]."""
    count = starts.shape[0] - 1
    color = np.full(count, -1, np.int32)
    base = 0
    left = count
    while left > 0:  # 64 colours at a time; a second round is rare
        used = np.zeros(node_count, np.uint64)
        for c in range(count):
            if color[c] >= 0:
                continue
            taken = uint64(0)
            for t in range(starts[c], starts[c + 1]):
                for a in range(elements.shape[1]):
                    taken |= used[elements[order[t], a]]
            free = 0
            while free < 64 and (taken >> uint64(free)) & uint64(1):
                free += 1
            if free == 64:
                continue
            color[c] = base + free
            left -= 1
            for t in range(starts[c], starts[c + 1]):
                for a in range(elements.shape[1]):
                    used[elements[order[t], a]] |= uint64(1) << uint64(free)
        base += 64
    return color


@kernel
def _first_uses(elements, order, node_count):
    """Return for each element a bit per node that no earlier element in `order` contains; shape [m]."""
    seen = np.zeros(node_count, np.uint8)
    first = np.zeros(elements.shape[0], np.uint32)
    for t in range(order.shape[0]):
        for a in range(elements.shape[1]):
            i = elements[order[t], a]
            if not seen[i]:
                seen[i] = 1
                first[order[t]] |= np.uint32(1) << np.uint32(a)
    return first


@inline
def begin_rows(e, elements, first, indptr, indices, mass, c_mass, velocities, load, blocks, rhs):
    """Initialise the rows of nodes that element e is the first to contain: c_mass M in blocks, M v + load in rhs."""
    out = blocks.reshape(-1)
    left = uint32(first[e])
    a = uint32(0)
    while left:
        if left & uint32(1):
            i = uint32(elements[e, a])
            r0 = load[i, 0]
            r1 = load[i, 1]
            r2 = load[i, 2]
            for k in range(uint32(indptr[i]), uint32(indptr[i + uint32(1)])):
                j = uint32(indices[k])
                w = mass[k]
                r0 += w * velocities[j, 0]
                r1 += w * velocities[j, 1]
                r2 += w * velocities[j, 2]
                # as vectors of four, since they are read back at once: smaller stores would stall that load
                at = uint64(9) * uint64(k)
                store4(out, at, first4(c_mass * w))
                store4(out, at + uint64(4), first4(c_mass * w))
                out[at + uint64(8)] = c_mass * w
            rhs[i, 0] = r0
            rhs[i, 1] = r1
            rhs[i, 2] = r2
        left >>= uint32(1)
        a += uint32(1)


@inline
def add_element(e, elements, indptr, slots, K, f, c_stiffness, dt, blocks, rhs):
    """Add c_stiffness K to the matrix and -dt f to the right-hand side.

    Args:
        e: The element.
        elements: Nodes of the elements [m, k].
        indptr: Starts of the matrix's rows [n + 1].
        slots: See `ColoredAssembly`.
        K: Element stiffness [k, k, 9], each block column by column; only blocks (a, b) with a <= b are read.
        f: Element force [k, 3].
        c_stiffness: Factor of the stiffness.
        dt: Factor of the force.
        blocks: Matrix [nnz, 9], each block column by column.
        rhs: Right-hand side [n, 3].
    """
    k = uint64(elements.shape[1])
    flat, out = K.reshape(-1), blocks.reshape(-1)
    for a in range(k):
        i = uint32(elements[e, a])
        row = uint64(indptr[i])
        for c in range(3):
            rhs[i, c] -= dt * f[a, c]
        for b in range(a, k):
            at = uint64(9) * (a * k + b)
            low, high, last = load4(flat, at), load4(flat, at + uint64(4)), flat[at + uint64(8)]
            to = uint64(9) * (row + uint64(slots[e, a, b]))
            store4(out, to, fma4(low, c_stiffness, load4(out, to)))
            store4(out, to + uint64(4), fma4(high, c_stiffness, load4(out, to + uint64(4))))
            out[to + uint64(8)] += c_stiffness * last
            if a != b:  # the same nine, transposed
                to = uint64(9) * (uint64(indptr[elements[e, b]]) + uint64(slots[e, b, a]))
                turned = shuffle4(low, high, 0, 3, 6, 1)
                store4(out, to, fma4(turned, c_stiffness, load4(out, to)))
                turned = shuffle4(low, high, 4, 7, 2, 5)
                store4(out, to + uint64(4), fma4(turned, c_stiffness, load4(out, to + uint64(4))))
                out[to + uint64(8)] += c_stiffness * last
