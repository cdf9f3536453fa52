"""Adding dense element matrices to the matrix of the body, at places known beforehand.

Elements of one colour share no node, so they run in parallel without races; colours follow each other in a fixed
order, so that sums do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from continua.linalg import BlockPattern
from continua.mesh.volume_mesh import VolumeMesh
from continua.numerics import inline, kernel_pair

__all__ = ["add_element", "color_lists", "element_places", "start_system"]

_ROWS = 128  # rows a task


def color_lists(mesh: VolumeMesh) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the elements sorted by colour, shape [m], and where each colour starts, shape [colours + 1]."""
    colors = mesh.element_colors
    order = np.argsort(colors, kind="stable").astype(np.int32)
    starts = np.searchsorted(colors[order], np.arange(colors.max() + 2))
    return order, starts.astype(np.int64)


def element_places(pattern: BlockPattern) -> NDArray[np.int32]:
    """Return for every element and corner the row of `pattern.slots` that knows its blocks, shape [m, k]."""
    places = np.empty(len(pattern.inc_codes), np.int32)
    places[pattern.inc_codes] = np.arange(len(pattern.inc_codes), dtype=np.int32)
    return places.reshape(-1, pattern.corners)


@kernel_pair
def start_system(indptr, indices, mass, c_mass, velocities, load, blocks, rhs):
    """Set A = c_mass M and rhs = M v + load."""
    n = indptr.shape[0] - 1
    for chunk in prange((n + _ROWS - 1) // _ROWS):
        for i in range(chunk * _ROWS, min(n, (chunk + 1) * _ROWS)):
            r0, r1, r2 = load[i, 0], load[i, 1], load[i, 2]
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                m = mass[k]
                r0 += m * velocities[j, 0]
                r1 += m * velocities[j, 1]
                r2 += m * velocities[j, 2]
                for c in range(9):
                    blocks[k, c] = 0.0
                blocks[k, 0] = c_mass * m
                blocks[k, 4] = c_mass * m
                blocks[k, 8] = c_mass * m
            rhs[i, 0] = r0
            rhs[i, 1] = r1
            rhs[i, 2] = r2


@inline
def add_element(elements, places, slots, indptr, e, block, force, c_stiffness, dt, blocks, rhs):
    """Add c_stiffness times an element's stiffness to the blocks, and subtract dt times its force from rhs.

    Args:
        elements: Nodes of the elements [m, k].
        places: From `element_places` [m, k].
        slots: Of the pattern.
        indptr: Of the pattern.
        e: The element.
        block: Its blocks (a, b) with a <= b, row by row [k, k, 9].
        force: Its elastic force [k, 3].
        c_stiffness: Factor of the stiffness.
        dt: Factor of the force.
        blocks: Of the matrix, column by column.
        rhs: Right-hand side [n, 3].
    """
    nodes = elements.shape[1]
    for a in range(nodes):
        i = elements[e, a]
        row, place = indptr[i], places[e, a]
        rhs[i, 0] -= dt * force[a, 0]
        rhs[i, 1] -= dt * force[a, 1]
        rhs[i, 2] -= dt * force[a, 2]
        for b in range(nodes):
            k = row + slots[place, b]
            if a <= b:
                for r in range(3):
                    for c in range(3):
                        blocks[k, 3 * c + r] += c_stiffness * block[a, b, 3 * r + c]
            else:
                for c in range(9):
                    blocks[k, c] += c_stiffness * block[b, a, c]
