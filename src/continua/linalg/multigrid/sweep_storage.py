"""Blocks of levels in sweep order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.linalg.matrix import blocks_of
from continua.linalg.multigrid import level_kernels
from continua.pickling import KeepsArrayViews

__all__ = ["SweepArrays", "SweepOrderedBlocks", "Transfer"]


class SweepArrays(NamedTuple):
    """Off-diagonal blocks of a matrix in sweep order, as the cycle kernels take them."""

    lower_ptr: NDArray[np.int64]
    lower_cols: NDArray[np.int32]
    lower_blocks: NDArray
    upper_ptr: NDArray[np.int64]
    upper_cols: NDArray[np.int32]
    upper_blocks: NDArray


class Transfer(NamedTuple):
    """Prolongation or restriction of all levels: scalar weights, and 3x3 blocks for aggregation levels."""

    ptr: NDArray[np.int64]
    cols: NDArray[np.int32]
    values: NDArray[np.float64]
    block_ptr: NDArray[np.int64]
    block_cols: NDArray[np.int32]
    blocks: NDArray


class SweepOrderedBlocks(KeepsArrayViews):
    """Off-diagonal blocks of consecutive levels, split into lower and upper ones (see `gauss_seidel_cycle`).

    Attributes:
        lower: Row starts, columns and values of the blocks whose columns a forward sweep visits before the row.
        upper: The same for columns that it visits after the row.

    Args:
        lower: Row starts, columns and sources of every level, sources being block indices of its matrix.
        upper: The same for upper blocks.
        before: Rows before the first level, which have no blocks here.
        precision: Type of the values.
    """

    def __init__(self, lower: list[tuple], upper: list[tuple], before: int, precision: type) -> None:
        self._lower_from, self.lower = _joined(lower, before, precision)
        self._upper_from, self.upper = _joined(upper, before, precision)

    @property
    def arrays(self) -> SweepArrays:
        """The arrays that the cycle kernels take."""
        return SweepArrays(*self.lower, *self.upper)

    @property
    def nbytes(self) -> int:
        """Bytes of a pass over all blocks and their columns."""
        return sum(array.nbytes for array in (*self.lower[1:], *self.upper[1:]))

    def copy_from(self, blocks: NDArray[np.float64], first: int, last: int, parallel: bool) -> None:
        """Copy the blocks of a level, whose rows are first..last-1, rounded to the stored precision."""
        level_kernels.copy_blocks.variant(parallel)(
            blocks, first, last, self.lower[0], self._lower_from, self.lower[2], self.upper[0], self._upper_from,
            self.upper[2],
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
