"""Compiled sparsity patterns and gather lists of matrices between two fields with ragged dof maps."""

from __future__ import annotations

import numpy as np
from numba import prange, uint64

from continua.numerics import kernel, kernel_pair

_BLOCKS = 256  # blocks per chunk


@kernel
def ragged_pattern(row_offsets, row_dofs, row_count, column_offsets, column_dofs, column_count, square):
    """Return (indptr, indices, source_indptr, sources) of a matrix between two fields.

    Columns are sorted in each row. Block k sums the entries `sources[source_indptr[k]:source_indptr[k + 1]]` of the
    element matrices, which are stored one after the other, row by row; they are listed in ascending order. If `square`,
    rows without elements have a diagonal block.
    """
    m = row_offsets.shape[0] - 1
    first_entry = np.zeros(m + 1, np.int64)
    inc_indptr = np.zeros(row_count + 1, np.int64)
    element = np.empty(row_dofs.shape[0], np.int64)
    for e in range(m):
        rows = row_offsets[e + 1] - row_offsets[e]
        first_entry[e + 1] = first_entry[e] + rows * (column_offsets[e + 1] - column_offsets[e])
        for a in range(row_offsets[e], row_offsets[e + 1]):
            element[a] = e
            inc_indptr[row_dofs[a] + 1] += 1
    for i in range(row_count):
        inc_indptr[i + 1] += inc_indptr[i]
    incidences = np.empty(row_dofs.shape[0], np.int64)
    cursor = inc_indptr[:-1].copy()
    for a in range(row_dofs.shape[0]):
        incidences[cursor[row_dofs[a]]] = a
        cursor[row_dofs[a]] += 1
    indptr = np.zeros(row_count + 1, np.int32)
    seen = np.full(column_count, -1, np.int64)
    for i in range(row_count):
        count = 0
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = element[incidences[q]]
            for b in range(column_offsets[e], column_offsets[e + 1]):
                if seen[column_dofs[b]] != i:
                    seen[column_dofs[b]] = i
                    count += 1
        if square and count == 0:
            count = 1
        indptr[i + 1] = indptr[i] + count
    indices = np.empty(indptr[row_count], np.int32)
    source_indptr = np.zeros(indptr[row_count] + 1, np.int64)
    sources = np.empty(first_entry[m], np.int64)
    place = np.empty(column_count, np.int64)
    seen[:] = -1
    for i in range(row_count):
        at = indptr[i]
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = element[incidences[q]]
            for b in range(column_offsets[e], column_offsets[e + 1]):
                if seen[column_dofs[b]] != i:
                    seen[column_dofs[b]] = i
                    indices[at] = column_dofs[b]
                    at += 1
        if square and at == indptr[i]:
            indices[at] = i
            at += 1
        indices[indptr[i] : at].sort()
        for k in range(indptr[i], at):
            place[indices[k]] = k
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            e = element[incidences[q]]
            for b in range(column_offsets[e], column_offsets[e + 1]):
                source_indptr[place[column_dofs[b]] + 1] += 1
        for k in range(indptr[i], at):
            source_indptr[k + 1] += source_indptr[k]
        for k in range(indptr[i], at):
            place[indices[k]] = source_indptr[k]
        for q in range(inc_indptr[i], inc_indptr[i + 1]):
            a = incidences[q]
            e = element[a]
            columns = column_offsets[e + 1] - column_offsets[e]
            for b in range(columns):
                j = column_dofs[column_offsets[e] + b]
                sources[place[j]] = first_entry[e] + (a - row_offsets[e]) * columns + b
                place[j] += 1
    return indptr, indices, source_indptr, sources


@kernel_pair
def gather(source_indptr, sources, entries, values):
    """Set every block to the sum of its entries of the element matrices."""
    count = values.shape[0]
    width = values.shape[1]
    for c in prange((count + _BLOCKS - 1) // _BLOCKS):
        for k in range(c * _BLOCKS, min(count, (c + 1) * _BLOCKS)):
            for a in range(width):
                values[k, a] = 0.0
            for q in range(uint64(source_indptr[k]), uint64(source_indptr[k + 1])):
                entry = uint64(sources[q])
                for a in range(width):
                    values[k, a] += entries[entry, a]
