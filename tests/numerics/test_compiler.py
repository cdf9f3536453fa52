"""Kernels that call other functions: same results as plain Python, and no machine code for what only kernels call."""

import numpy as np
import pytest
from numba import prange

from continua.numerics import inline, kernel, kernel_pair


@inline
def _square(x, factor=1.0):
    return factor * x * x


@kernel
def _sum_of_squares(values):
    total = 0.0
    for value in values:
        total += _square(value) + _square(value, factor=2.0)
    return total


@kernel_pair
def _fill(out, values):
    for i in prange(out.shape[0]):
        out[i] = _square(values[i], 3.0)


@kernel
def _calls_a_kernel(values):
    sorted_values = np.sort(values)
    return sorted_values, _sum_of_squares(sorted_values)


@kernel(parallel=True)
def _calls_in_parallel(values, out):
    for i in prange(out.shape[0]):
        out[i] = _sum_of_squares(values[: i + 1])


@kernel
def _checked_inverse(x):
    if x == 0.0:
        raise ValueError("no inverse of zero")
    return 1.0 / x


@kernel
def _inverses(values):
    out = np.empty_like(values)
    for i in range(values.shape[0]):
        out[i] = _checked_inverse(values[i])
    return out


@kernel
def _factorial(n):
    if n <= 1:
        return 1
    return n * _factorial(n - 1)


VALUES = np.array([3.0, -1.0, 2.0])


def test_a_kernel_calls_functions_and_kernels():
    assert _sum_of_squares(VALUES) == 3.0 * (VALUES**2).sum()
    ordered, total = _calls_a_kernel(VALUES)
    assert ordered.tolist() == [-1.0, 2.0, 3.0]
    assert total == 42.0


@pytest.mark.parametrize("parallel", [False, True])
def test_both_variants_call_functions(parallel):
    out = np.zeros(3)
    _fill.variant(parallel)(out, VALUES)
    assert out.tolist() == [27.0, 3.0, 12.0]


def test_a_parallel_kernel_calls_a_kernel():
    out = np.zeros(3)
    _calls_in_parallel(VALUES, out)
    assert out.tolist() == [27.0, 30.0, 42.0]


def test_what_only_kernels_call_has_no_machine_code_of_its_own():
    _sum_of_squares(VALUES)
    assert not _square.overloads
    assert _square(3.0) == 9.0  # Python can call it too
    assert len(_square.overloads) == 1


def test_an_exception_in_a_callee_reaches_python():
    assert _inverses(VALUES).tolist() == [1 / 3, -1.0, 0.5]
    with pytest.raises(ValueError, match="no inverse of zero"):
        _inverses(np.zeros(2))


def test_a_kernel_can_call_itself():
    assert _factorial(10) == 3628800
