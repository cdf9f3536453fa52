"""Throws at thin obstacles, some of those that once went wrong."""

import pytest

from validation.throws import throw


@pytest.mark.parametrize("batch", [4, 24, 48, 51])
def test_nothing_goes_through_a_plate_of_a_millimetre_or_ends_inside(batch):
    """50 bodies at up to 50 m/s: corrections after the solve, contradicting planes and endless solves led through."""
    outcome = throw(batch)
    assert outcome.touched > 20
    assert outcome.through == 0
    assert outcome.depth < 0.1
