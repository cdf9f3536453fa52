"""Scans, sorts and sums against NumPy and exact sums, with the same bits for every number of threads."""

from math import fsum

import numba
import numpy as np
import pytest

from continua.errors import InputError
from continua.numerics import (
    CHUNK,
    all_finite,
    counting_sort,
    dot,
    exclusive_scan,
    get_threads,
    set_threads,
    total,
)

LENGTHS = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 20 * CHUNK, 20 * CHUNK + 17]


@pytest.mark.parametrize("n", LENGTHS)
def test_sum_and_dot_agree_with_exact_sums(n):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal(n), rng.standard_normal(n)
    bound = 1e-15 * max(n, 1)
    assert total(x) == pytest.approx(fsum(x), abs=bound)
    assert dot(x, y) == pytest.approx(fsum(x * y), abs=bound)


def test_sums_of_whole_numbers_are_exact():
    x = np.arange(300_000, dtype=float)
    assert total(x) == 300_000 * 299_999 / 2
    assert dot(x.reshape(-1, 3), np.ones((100_000, 3))) == total(x)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_one_and_two_threads_give_the_same_bits():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(500_001) * 10.0 ** rng.integers(-12, 12, 500_001)
    before = get_threads()
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append((total(x), dot(x, x[::-1])))
    set_threads(before)
    assert results[0] == results[1]


def test_dot_of_unlike_shapes_is_refused():
    with pytest.raises(InputError, match=r"one shape, not \[3\] and \[4\]"):
        dot(np.zeros(3), np.zeros(4))


@pytest.mark.parametrize("n", [1, 1000, CHUNK, 20 * CHUNK + 5])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_value_is_found_wherever_it_is(n, bad):
    x = np.full(n, -1e308)
    assert all_finite(x)
    for place in {0, n // 2, n - 1}:
        x[place] = bad
        assert not all_finite(x)
        x[place] = 0.0


def test_nothing_is_finite():
    assert all_finite(np.empty((0, 3)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_exclusive_scan(dtype):
    counts = np.random.default_rng(2).integers(0, 200, 5000).astype(dtype)
    expected = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    np.testing.assert_array_equal(exclusive_scan(counts), expected)
    np.testing.assert_array_equal(exclusive_scan(counts[:0]), [0])


@pytest.mark.parametrize(("n", "count"), [(0, 3), (1, 1), (5000, 7), (5000, 20_000)])
def test_counting_sort_is_a_stable_sort(n, count):
    keys = np.random.default_rng(n).integers(0, count, n).astype(np.int32)
    order, starts = counting_sort(keys, count)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(starts, np.searchsorted(np.sort(keys), np.arange(count + 1)))


@pytest.mark.parametrize("keys", [[0, -1, 2], [0, 3, 1]])
def test_keys_out_of_range_are_refused(keys):
    with pytest.raises(InputError, match="from 0 to 2"):
        counting_sort(np.array(keys), 3)
