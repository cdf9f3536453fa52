"""Unique rows of integer tables."""

import numpy as np
import pytest

from continua.mesh import kernels
from continua.mesh.unique_rows import unique_rows


@pytest.mark.parametrize(("rows", "width", "count"), [(0, 2, 4), (1, 3, 5), (3000, 3, 12), (3000, 6, 3)])
def test_small_tables_give_the_same_as_the_kernel(rows, width, count):
    table = np.random.default_rng(rows).integers(0, count, (rows, width)).astype(np.int32)
    for found, wanted in zip(unique_rows(table, count), kernels.unique_rows(table, count), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_groups_of_equal_rows():
    table = np.array([[2, 1], [0, 5], [2, 1], [0, 4]], np.int32)
    unique, group, order, starts = unique_rows(table, 6)
    np.testing.assert_array_equal(unique, [[0, 4], [0, 5], [2, 1]])
    np.testing.assert_array_equal(group, [2, 1, 2, 0])
    np.testing.assert_array_equal(order, [3, 1, 0, 2])
    np.testing.assert_array_equal(starts, [0, 1, 2, 4])
