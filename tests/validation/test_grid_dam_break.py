"""The front of a collapsing column on a grid against Martin and Moyce (1952)."""

import numpy as np

from validation.dam_break import compare, gate_delay
from validation.grid_dam_break import front


def test_front_on_a_grid_follows_the_experiment_once_the_gate_has_left():
    path = front(across=10)
    delay = gate_delay(path)  # from points before T = 1.2, which are not compared
    late = compare(path, delay)
    assert 0.0 < delay < 0.35
    assert np.abs(late[late[:, 0] > 1.2][:, 3]).max() < 0.08
