"""The energy-momentum method keeps the energy of large motion; `validation.large_motion` has a hundred periods."""

import pytest

from validation.large_motion import CASES, swing


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{type(case[0]).__name__}-{case[1]}-{case[2]}")
def test_energy_is_kept_while_a_bar_swings_far(case):
    law, kind, order = case
    drift, reach = swing(law, kind, order, "energy_momentum", 0.3)
    assert reach > 0.1
    assert drift < 1e-6
