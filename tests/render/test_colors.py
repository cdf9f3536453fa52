from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from continua.render.colors import _monotone, color_map, linear_to_srgb, map_colors, srgb_to_linear


def lightness(srgb):
    """CIE lightness L* of sRGB colours, from the definition of the standard."""
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    y = linear @ [0.2126, 0.7152, 0.0722]
    return np.where(y > (6 / 29) ** 3, 116 * np.cbrt(y) - 16, y * (29 / 3) ** 3)


def test_lightness_increases_evenly_over_the_map():
    steps = np.diff(lightness(color_map()))
    assert steps.min() > 0
    assert steps.max() / steps.mean() < 1.7
    assert lightness(color_map())[[0, -1]] == pytest.approx([28, 91], abs=6)


def test_map_stays_close_to_the_srgb_gamut():
    table = color_map()
    assert table.shape == (256, 3)
    assert table.min() >= 0
    assert table.max() <= 1
    # No jumps: neighbours differ by less than three of 255 steps.
    assert np.abs(np.diff(table, axis=0)).max() < 3 / 255


def test_values_outside_the_range_are_clipped():
    table = color_map()
    got = map_colors(np.array([-5.0, 0.0, 1.0, 2.0, 9.0]), 0.0, 2.0)
    np.testing.assert_array_equal(got[[0, 1]], table[[0, 0]])
    np.testing.assert_array_equal(got[[3, 4]], table[[-1, -1]])
    np.testing.assert_allclose(got[2], (table[127] + table[128]) / 2)


def test_srgb_round_trip_and_known_values():
    x = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(linear_to_srgb(srgb_to_linear(x)), x, atol=1e-12)
    assert srgb_to_linear(0.5) == pytest.approx(0.2140411, abs=1e-6)


def test_diverging_map_is_pale_at_zero_and_equally_dark_at_both_ends():
    light = lightness(color_map(signed=True))
    assert light[127:129].min() > 90
    assert (np.diff(light[:128]) > 0).all()
    assert (np.diff(light[128:]) < 0).all()
    assert light[0] == pytest.approx(light[-1], abs=5)
    low, high = map_colors(np.array([-2.0, 2.0]), -2.0, 2.0)
    assert low[2] > low[0]  # blue
    assert high[0] > high[2]  # red


def test_knots_are_joined_by_monotone_cubics():
    rng = np.random.default_rng(3)
    for count in (3, 4, 7):
        knots = rng.normal(size=(count, 3))
        knots[1] = knots[0]  # a flat part
        wanted = PchipInterpolator(np.linspace(0, 1, count), knots)(np.linspace(0, 1, 50))
        np.testing.assert_allclose(_monotone(knots, 50), wanted, atol=1e-12)
