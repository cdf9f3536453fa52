"""A ball that sinks in a tube against Haberman and Sayre (1958)."""

import numpy as np
import pytest

from validation.sinking_ball import sink, wall_factor


def test_the_wall_factor_is_that_of_faxen_in_wide_tubes():
    """Faxen's series (1922) leaves out the sixth and higher powers, and parts of the fifth, of the ratio."""
    ratios = np.array([0.05, 0.1, 0.2, 0.3])
    faxen = 1.0 / (1.0 - 2.104 * ratios + 2.09 * ratios**3 - 0.95 * ratios**5)
    np.testing.assert_allclose([wall_factor(ratio) for ratio in ratios], faxen, rtol=3e-3)


def test_a_ball_begins_to_sink_with_the_exact_speed():
    """The mean over 0.3 s, in which it sinks by 2.8 mm or a third of a particle; later it is slower, see the docs."""
    times, ratios = sink(0.5, 24, seconds=0.3)
    print(np.round(ratios, 3))
    assert times[-1] == pytest.approx(0.3)
    assert ratios[-1] == pytest.approx(1.0, abs=0.05)
