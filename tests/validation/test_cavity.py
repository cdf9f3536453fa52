"""The lid-driven cavity against Ghia, Ghia and Shin (1982)."""

import numpy as np
import pytest

from validation.cavity import compare


@pytest.mark.parametrize(("reynolds", "cells"), [(100, 48), (400, 64)])
def test_centre_line_is_within_two_percent_of_the_lid(reynolds, cells):
    table = compare(reynolds, cells, cfl=1.0)
    print(table)
    assert np.abs(table[:, 3]).max() < 0.02
