"""Piles of soft bodies at rest, for some seconds of the minute that `validation.piles` takes."""

import pytest

from validation.piles import balls, rest, wall


@pytest.mark.parametrize(("make", "young", "dt", "fall"), [(wall, 1e7, 0.02, 4.0), (balls, 1e6, 0.02, 3.0)])
def test_a_pile_at_rest_stays_at_rest(make, young, dt, fall):
    found = rest(make, young, dt, fall=fall, seconds=1.0)
    assert found.kinetic < 1e-10  # 1e-6 counts as rest
    assert found.growth < 1e-7
    assert found.drift < 1e-5
