"""The force on a cylinder is what the air loses, and vortices leave it as often as they should."""

from __future__ import annotations

import pytest

from validation.cylinder import Figures, extrapolate, measure, published


def test_vortices_at_reynolds_number_100():
    found = measure(100.0, 6, 8.0, upstream=3.0, downstream=9.0, seconds=60.0, cfl=0.8)
    print(found)
    assert 0.16 < found.strouhal < 0.20
    assert found.lift > 0.25  # a street, not a wake at rest
    assert found.drag == pytest.approx(found.loss, rel=0.03)  # 12 % with the flux into walls alone


def test_drag_at_reynolds_number_40_converges():
    drags = [measure(40.0, n, 6.0, upstream=2.5, downstream=5.5, seconds=15.0).drag for n in (8, 12, 16)]
    print(drags)
    assert drags[1] == pytest.approx(drags[2], rel=0.02)
    assert abs(drags[1] - drags[2]) < abs(drags[0] - drags[1])


def test_published_figures_and_extrapolation():
    printed = published(200.0)
    assert printed is not None
    assert (printed.drag, printed.lift, printed.strouhal) == (1.34, 0.69, 0.197)
    assert published(55.0) is None
    assert extrapolate(Figures(2.0), Figures(1.8), Figures(1.6)).drag == pytest.approx(1.44)
