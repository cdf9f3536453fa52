"""Copies of a compiled function for several inner functions."""

import numpy as np
import pytest
from numba import prange

from continua.numerics import inline, kernel_pair
from continua.numerics.kernel import instantiate

INNER = None


@inline
def square(x):
    return x * x


@inline
def negative(x):
    return -x


def apply_inner(values, out):
    for i in prange(values.shape[0]):
        out[i] = INNER(values[i])


def test_each_copy_calls_its_own_function():
    values = np.arange(5.0)
    for name, inner, expected in (("square", square, values**2), ("negative", negative, -values)):
        pair = kernel_pair(instantiate(apply_inner, __file__, f"apply_{name}", INNER=inner))
        for function in (pair.serial, pair.parallel):
            out = np.empty(5)
            function(values, out)
            np.testing.assert_array_equal(out, expected)


def test_a_name_that_the_template_does_not_have_is_refused():
    with pytest.raises(TypeError, match="no global names OUTER"):
        instantiate(apply_inner, __file__, "copy", OUTER=square)
