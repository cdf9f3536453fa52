"""Scans, sorts and sums that give the same bits whatever the number of threads.

A sum in floating point depends on its order. Here the order is fixed by the length alone: chunks of
`CHUNK` values are summed each by itself, on whichever thread, and the partial sums are then added from the
first to the last.

Each function exists twice: as a Python function on arrays, which picks the serial or the parallel variant
by the size of the work, and as compiled variants (`*_pair`) for use inside kernels.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from continua.errors import InputError
from continua.numerics.kernel import kernel, kernel_pair

__all__ = [
    "CHUNK",
    "all_finite",
    "all_finite_pair",
    "counting_sort",
    "counting_sort_into",
    "dot",
    "dot_pair",
    "exclusive_scan",
    "exclusive_scan_into",
    "total",
    "total_pair",
]

CHUNK = 4096  # values of one partial sum
_PARALLEL_FROM = 16 * CHUNK  # values; below, the sum takes less time than starting the threads


# The slices in the callers make these loops start at zero: no test for negative indices, so they vectorise.


@kernel
def _total_chunk(x):
    acc = 0.0
    for i in range(x.shape[0]):
        acc += x[i]
    return acc


@kernel
def _dot_chunk(x, y):
    acc = 0.0
    for i in range(x.shape[0]):
        acc += x[i] * y[i]
    return acc


@kernel
def _finite_chunk(x):
    acc = 0.0
    for i in range(x.shape[0]):
        acc += x[i] * 0.0  # NaN for NaN and for infinity
    return acc == 0.0


@kernel
def _in_order(parts):
    """Add strictly from first to last: through memory, which the compiler may not re-associate."""
    for k in range(1, parts.shape[0]):
        parts[k] += parts[k - 1]
    return parts[-1]


@kernel_pair
def total_pair(x):
    """Return the sum of a 1-D float64 array, in chunks of fixed size."""
    n = x.shape[0]
    parts = np.zeros(n // CHUNK + 1)
    for k in prange(parts.shape[0]):
        parts[k] = _total_chunk(x[k * CHUNK : min(n, (k + 1) * CHUNK)])
    return _in_order(parts)


@kernel_pair
def dot_pair(x, y):
    """Return the inner product of two 1-D float64 arrays of one length, in chunks of fixed size."""
    n = x.shape[0]
    parts = np.zeros(n // CHUNK + 1)
    for k in prange(parts.shape[0]):
        lo, hi = k * CHUNK, min(n, (k + 1) * CHUNK)
        parts[k] = _dot_chunk(x[lo:hi], y[lo:hi])
    return _in_order(parts)


@kernel_pair
def all_finite_pair(x):
    """Return whether a 1-D float64 array holds neither NaN nor infinity."""
    n = x.shape[0]
    good = np.zeros(n // CHUNK + 1, np.bool_)
    for k in prange(good.shape[0]):
        good[k] = _finite_chunk(x[k * CHUNK : min(n, (k + 1) * CHUNK)])
    return good.all()


@kernel
def exclusive_scan_into(counts, starts):
    """Write running sums: `starts[i]` is the sum of `counts[:i]`; `starts` has one entry more."""
    acc = starts[0] * 0
    for i in range(counts.shape[0]):
        starts[i] = acc
        acc += counts[i]
    starts[counts.shape[0]] = acc


@kernel
def counting_sort_into(keys, starts, order):
    """Sort indices by key, keeping the order of equal keys.

    Args:
        keys: key of each item, from 0 to `count - 1`, shape [n]. Keys out of range are not checked here.
        starts: receives where each key begins, shape [count + 1].
        order: receives the item numbers, shape [n]; those with key k are `order[starts[k]:starts[k + 1]]`.
    """
    count = starts.shape[0] - 1
    starts[:] = 0
    for i in range(keys.shape[0]):
        starts[keys[i] + 1] += 1
    for k in range(count):
        starts[k + 1] += starts[k]
    # starts[k] serves as the cursor of key k, and so ends where key k + 1 begins.
    for i in range(keys.shape[0]):
        k = keys[i]
        order[starts[k]] = i
        starts[k] += 1
    for k in range(count, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


def _flat(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.float64).reshape(-1)


def total(x: np.ndarray) -> float:
    """Return the sum of all values of `x`, the same bits for every number of threads."""
    x = _flat(x)
    return float(total_pair.variant(len(x) >= _PARALLEL_FROM)(x))


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """Return the inner product of `x` and `y`, of one shape; the same bits for every number of threads."""
    if np.shape(x) != np.shape(y):
        raise InputError(
            f"an inner product needs two arrays of one shape, not {list(np.shape(x))} and {list(np.shape(y))}"
        )
    x, y = _flat(x), _flat(y)
    return float(dot_pair.variant(len(x) >= _PARALLEL_FROM)(x, y))


def all_finite(x: np.ndarray) -> bool:
    """Return whether `x` holds neither NaN nor infinity."""
    x = _flat(x)
    return bool(all_finite_pair.variant(len(x) >= _PARALLEL_FROM)(x))


def exclusive_scan(counts: np.ndarray) -> np.ndarray:
    """Return int64 running sums [n + 1] of integer counts [n]: entry i is the sum of `counts[:i]`."""
    counts = np.ascontiguousarray(counts)
    starts = np.zeros(len(counts) + 1, np.int64)
    exclusive_scan_into(counts, starts)
    return starts


def counting_sort(keys: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort item numbers by key, stably, in time proportional to items plus keys.

    Args:
        keys: integer key of each item, shape [n].
        count: number of keys; each key lies in `range(count)`.

    Returns:
        `order` [n] int32, and `starts` [count + 1] int32: the items with key k are
        `order[starts[k]:starts[k + 1]]`, in rising order.
    """
    keys = np.ascontiguousarray(keys)
    if len(keys) and not (keys.min() >= 0 and keys.max() < count):
        raise InputError(f"sort keys must lie from 0 to {count - 1}, not {keys.min()} to {keys.max()}")
    starts, order = np.empty(count + 1, np.int32), np.empty(len(keys), np.int32)
    counting_sort_into(keys, starts, order)
    return order, starts
