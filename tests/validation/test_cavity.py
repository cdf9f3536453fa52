"""The lid-driven cavity against Ghia, Ghia and Shin (1982)."""

import numpy as np

from validation.cavity import compare


def test_centre_line_at_reynolds_100_is_within_two_percent_of_the_lid():
    table = compare(100, 48, cfl=1.0)
    print(table)
    assert np.abs(table[:, 3]).max() < 0.02
