"""The dam break against the experiment of Martin and Moyce (1952)."""

import numpy as np

from validation.dam_break import compare, front, gate_delay


def test_front_follows_the_experiment_once_the_gate_has_left():
    path = front(across=12, depth=6)
    delay = gate_delay(path)  # from points before T = 1.2, which are not compared
    late = compare(path, delay)
    late = late[late[:, 0] > 1.2]
    assert 0.0 < delay < 0.35
    assert np.abs(late[:, 3]).max() < 0.08
    # the speed of the front needs no delay
    speed = np.polyfit(late[:, 0], late[:, 2], 1)[0] / np.polyfit(late[:, 0], late[:, 1], 1)[0]
    assert abs(speed - 1.0) < 0.05
