"""Sixteen lanes do what NumPy does."""

from __future__ import annotations

import numpy as np

from continua.numerics import kernel
from continua.numerics.simd.f32x16 import (
    floor16,
    from16,
    gather16,
    load16,
    max16,
    min16,
    span16,
    splat16,
    store16,
)


@kernel
def _interpolate(q, x, out):
    for k in range(0, x.size, 16):
        v = load16(x, k)
        i = max16(min16(floor16(v), q.size - 2), 0)
        h = v - from16(i)
        a, b = gather16(q, i, 0), gather16(q, i, 1)
        store16(out, k, a + h * (b - a))


@kernel
def _numbers(out):
    store16(out, 0, 2.0 * from16(span16(3) * 2 - 1) + splat16(0.5))


def test_gathered_values_are_blended_like_numpy_does():
    rng = np.random.default_rng(0)
    q = rng.normal(size=50).astype(np.float32)
    x = rng.uniform(0.0, 48.9, 64).astype(np.float32)
    out = np.empty(64, np.float32)
    _interpolate(q, x, out)
    np.testing.assert_allclose(out, np.interp(x, np.arange(50), q), atol=1e-6)


def test_lanes_count_up():
    out = np.empty(16, np.float32)
    _numbers(out)
    np.testing.assert_array_equal(out, 2.0 * ((3 + np.arange(16)) * 2 - 1) + 0.5)
