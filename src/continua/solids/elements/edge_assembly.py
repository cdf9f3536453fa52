"""Assembly of linear tetrahedra by gathering: each node sums the blocks of its row over the adjacent elements.

It is written once and compiled for each kind of element, whose stiffness and force are functions of its records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange, uint32, uint64
from numpy.typing import NDArray

from continua.linalg import BlockPattern
from continua.numerics import kernel, kernel_pair
from continua.numerics.kernel import KernelPair, instantiate

__all__ = ["EdgePattern", "assembly_kernel"]

CHUNK = 128  # rows per chunk

# the names that stand for the functions of an element in the template below
ELEMENT_BLOCK: Any = None
ELEMENT_FORCE: Any = None


class EdgePattern(NamedTuple):
    """The arrays of a block pattern, and the elements around every block above the diagonal.

    Block k = (i, j), i < j, belongs to a mesh edge; `codes[list_indptr[k]:list_indptr[k + 1]]` are the elements
    around it as 16 e + 4 a + b, with a and b the corners at i and j. `mirror[k]` is the block (j, i).
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    diagonal: NDArray[np.int32]
    inc_indptr: NDArray[np.int32]
    inc_codes: NDArray[np.int32]
    list_indptr: NDArray[np.int32]
    codes: NDArray[np.int32]
    mirror: NDArray[np.int32]

    @classmethod
    def of(cls, p: BlockPattern) -> EdgePattern:
        """Return the edge pattern of linear tetrahedra."""
        lists = _edge_lists(p.indptr, p.indices, p.diagonal, p.inc_indptr, p.inc_codes, p.slots)
        return cls(p.indptr, p.indices, p.diagonal, p.inc_indptr, p.inc_codes, *lists)


@kernel
def _edge_lists(indptr, indices, diagonal, inc_indptr, inc_codes, slots):
    """Return `list_indptr` [nnz + 1], `codes` and `mirror` [nnz] of an `EdgePattern`."""
    n = indptr.shape[0] - 1
    list_indptr = np.zeros(indptr[n] + 1, np.int32)
    mirror = np.full(indptr[n], -1, np.int32)
    for i in range(n):
        for k in range(diagonal[i] + 1, indptr[i + 1]):
            j = indices[k]
            mirror[k] = indptr[j] + np.searchsorted(indices[indptr[j] : indptr[j + 1]], i)
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(4):
                k = indptr[i] + slots[q, b]
                if k > diagonal[i]:
                    list_indptr[k + 1] += 1
    for k in range(indptr[n]):
        list_indptr[k + 1] += list_indptr[k]
    cursor = list_indptr[:-1].copy()
    codes = np.empty(list_indptr[indptr[n]], np.int32)
    for i in range(n):
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            for b in range(4):
                k = indptr[i] + slots[q, b]
                if k > diagonal[i]:
                    codes[cursor[k]] = 4 * inc_codes[q] + b
                    cursor[k] += 1
    return list_indptr, codes, mirror


def _assemble(data, pattern, system):
    """Set A = c_mass M + c_stiffness K and rhs = M v + load - dt f; every block has one writer.

    Args:
        data: The records of the elements, as the element's functions take them.
        pattern: The `EdgePattern`.
        system: The arrays of the `AssembledSystem`.
    """
    indptr, indices, diagonal, inc_indptr, inc_codes, list_indptr, codes, mirror = pattern
    mass, c_mass, c_stiffness, dt, velocities, load, blocks, rhs = system
    n = indptr.shape[0] - 1
    for chunk in prange((n + CHUNK - 1) // CHUNK):
        block = np.empty(9)
        for i in range(uint64(chunk * CHUNK), uint64(min(n, (chunk + 1) * CHUNK))):
            r0, r1, r2 = load[i, 0], load[i, 1], load[i, 2]
            end = uint32(indptr[i + uint64(1)])
            for k in range(uint32(indptr[i]), end):
                j = uint32(indices[k])
                r0 += mass[k] * velocities[j, 0]
                r1 += mass[k] * velocities[j, 1]
                r2 += mass[k] * velocities[j, 2]
            block[:] = 0.0
            for q in range(uint32(inc_indptr[i]), uint32(inc_indptr[i + uint64(1)])):
                code = uint32(inc_codes[q])
                e = code >> uint32(2)
                a = code & uint32(3)
                B = ELEMENT_BLOCK(data, e, a, a)
                for c in range(9):
                    block[c] += B[c]
                f0, f1, f2 = ELEMENT_FORCE(data, e, a, dt)
                r0 -= f0
                r1 -= f1
                r2 -= f2
            rhs[i, 0] = r0
            rhs[i, 1] = r1
            rhs[i, 2] = r2
            k = uint32(diagonal[i])
            w = c_mass * mass[k]
            for c in range(9):
                blocks[k, c] = c_stiffness * block[c] + (w if c % 4 == 0 else 0.0)
            for k in range(uint32(diagonal[i]) + uint32(1), end):
                block[:] = 0.0
                for q in range(uint32(list_indptr[k]), uint32(list_indptr[k + uint32(1)])):
                    code = uint32(codes[q])
                    e = code >> uint32(4)
                    B = ELEMENT_BLOCK(data, e, (code >> uint32(2)) & uint32(3), code & uint32(3))
                    for c in range(9):
                        block[c] += B[c]
                w = c_mass * mass[k]
                o = uint32(mirror[k])
                for r in range(3):
                    for c in range(3):
                        value = c_stiffness * block[3 * r + c] + (w if r == c else 0.0)
                        blocks[k, 3 * c + r] = value
                        blocks[o, 3 * r + c] = value


def assembly_kernel(source: str, block: Any, force: Any) -> KernelPair:
    """Return the kernels assemble(data, pattern, system) of a kind of linear tetrahedra.

    Args:
        source: File of the element's functions.
        block: block(data, e, a, b) returns block (a, b) of the stiffness of element e, row by row.
        force: force(data, e, a, dt) returns dt times the elastic force of corner a of element e.
    """
    return kernel_pair(instantiate(_assemble, source, "assemble", ELEMENT_BLOCK=block, ELEMENT_FORCE=force))
