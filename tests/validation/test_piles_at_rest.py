"""Piles of soft bodies at rest, for some seconds of the minute that `validation.piles` takes."""

import pytest

from validation.piles import balls, rest, wall


@pytest.mark.parametrize(("make", "young", "dt", "fall"), [(wall, 1e7, 0.02, 4.0), (balls, 1e6, 0.02, 3.0)])
def test_a_pile_at_rest_stays_at_rest(make, young, dt, fall):
    """Rounding decides how still the wall is: E changed by 1e-12 of itself gives 2e-13 to 7e-9, and 0.2 to 13 um."""
    found = rest(make, young, dt, fall=fall, seconds=1.0)
    assert found.kinetic < 5e-8  # 1e-6 counts as rest
    assert found.growth < 5e-7
    assert found.drift < 5e-5
