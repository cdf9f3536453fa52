"""Assembly of sparse matrices between two fields from the matrices of elements with any numbers of dofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import assembly_kernels
from continua.linalg.dof_map import DofMap
from continua.short_repr import ShortRepr
from continua.validation import array, given_array, instance_of

__all__ = ["AssemblyPattern"]

_PARALLEL_FROM = 100_000  # entries of element matrices


@dataclass(frozen=True, eq=False, repr=False)
class AssemblyPattern(ShortRepr):
    """Sparsity pattern of a matrix between two fields, and the element entries that sum up to each block.

    The matrices of all elements are stored one after the other, each row by row: the matrix of element e has as many
    rows as e has dofs of the row field, and as many columns as it has dofs of the column field.

    Attributes:
        indptr: Row starts, shape [rows + 1].
        indices: Columns, sorted in each row, shape [nnz].
        source_indptr: Range of the sources of every block, shape [nnz + 1].
        sources: Entries of the element matrices, ascending for each block, shape [entries].
        column_count: Number of columns.
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    source_indptr: NDArray[np.int64]
    sources: NDArray[np.int64]
    column_count: int

    @classmethod
    def from_dof_maps(cls, rows: DofMap, columns: DofMap | None = None) -> AssemblyPattern:
        """Build the pattern between two fields on the same elements, or of one field with itself.

        In the pattern of one field with itself, dofs without elements have a diagonal block.
        """
        square = columns is None
        columns = rows if columns is None else columns
        for dof_map in (rows, columns):
            instance_of(dof_map, DofMap, "the dof map of a pattern")
        if rows.element_count != columns.element_count:
            raise InputError(
                f"dof maps of {rows.element_count} and of {columns.element_count} elements do not fit together"
            )
        entries = int((np.diff(rows.offsets) * np.diff(columns.offsets)).sum())
        if entries >= 2**31:
            raise InputError(
                f"{entries:,} entries of element matrices are more than a matrix can index; use fewer"
            )
        indptr, indices, source_indptr, sources = assembly_kernels.ragged_pattern(
            rows.offsets, rows.dofs, rows.dof_count, columns.offsets, columns.dofs, columns.dof_count, square
        )
        return cls(indptr, indices, source_indptr, sources, columns.dof_count)

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def entry_count(self) -> int:
        """Number of entries of all element matrices together."""
        return len(self.sources)

    def assemble(
        self, entries: NDArray[np.float64], out: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Sum the entries [entries, width] of the element matrices into blocks [nnz, width]."""
        given = array(entries, "the entries of element matrices", (None, None), finite=False)
        if len(given) != self.entry_count:
            raise InputError(
                f"element matrices must have shape [{self.entry_count}, width], not {list(given.shape)}"
            )
        shape = (len(self.indices), given.shape[1])
        out = np.empty(shape) if out is None else given_array(out, "out", shape)
        parallel = self.entry_count >= _PARALLEL_FROM
        assembly_kernels.gather.variant(parallel)(self.source_indptr, self.sources, given, out)
        return out
