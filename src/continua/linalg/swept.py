"""The blocks of levels in the order in which sweeps read them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.linalg import levels
from continua.linalg.matrix import blocks_of

__all__ = ["SweptBlocks"]


class SweptBlocks:
    """Off-diagonal blocks of levels that lie one behind the other: early and late ones (see `cycle`).

    Attributes:
        early: Row starts, columns and values of the blocks that a forward sweep visits before the row.
        late: The same for those it visits after it.

    Args:
        early: Row starts, columns and sources of every level, sources being numbers of blocks of its matrix.
        late: The same for late blocks.
        before: Rows before the first level, which have no blocks here.
        precision: Type of the values.
    """

    def __init__(self, early: list[tuple], late: list[tuple], before: int, precision: type) -> None:
        self._early_from, self.early = _joined(early, before, precision)
        self._late_from, self.late = _joined(late, before, precision)

    @property
    def arrays(self) -> tuple[NDArray, ...]:
        """What the kernels of a cycle take."""
        return (*self.early, *self.late)

    @property
    def nbytes(self) -> int:
        """Bytes of a pass over all blocks and their columns."""
        return sum(array.nbytes for array in (*self.early[1:], *self.late[1:]))

    def take(self, blocks: NDArray[np.float64], first: int, last: int, parallel: bool) -> None:
        """Copy the blocks of a level, whose rows are first..last-1, rounded if need be."""
        levels.copy_blocks.variant(parallel)(
            blocks, first, last, self.early[0], self._early_from, self.early[2], self.late[0], self._late_from,
            self.late[2],
        )  # fmt: skip


def _joined(splits: list[tuple], before: int, precision: type) -> tuple[NDArray[np.int32], tuple]:
    """Join the (pointers, columns, sources) of all levels; return the sources, and the arrays of the cycle."""
    pointers, columns, sources = (
        [np.zeros(before + 1, np.int64)],
        [np.zeros(0, np.int32)],
        [np.zeros(0, np.int32)],
    )
    total = 0
    for ptr, cols, source in splits:
        pointers.append(ptr[1:] + total)
        columns.append(cols)
        sources.append(source)
        total += len(cols)
    return np.concatenate(sources), (
        np.concatenate(pointers),
        np.concatenate(columns),
        blocks_of(total, precision),
    )
