"""Surfaces embedded in bodies of order 2 and 3 follow the curve of their elements."""

import numpy as np
import pytest

import continua as ct


def _bent(x):
    """Return a quadratic map of points: a parabola along x, and shear along z."""
    return x + np.stack([0.2 * x[:, 1] * x[:, 2], 0.3 * x[:, 0] ** 2, 0.2 * x[:, 0] * x[:, 1]], axis=1)


def _rms(x):
    return float(np.sqrt((x**2).sum(axis=1).mean()))


def _error(order, curved):
    skin = ct.mesh.sphere(radius=0.3, cells=4).surface
    body = ct.SoftBody(
        ct.mesh.sphere(radius=0.5, cells=1), order=order, curved=curved, skin=skin, name="ball"
    )
    np.testing.assert_allclose(body.frame().skin.interpolate(body.frame().positions), skin.points, atol=1e-12)
    body.positions = _bent(body.rest_positions)
    frame = body.frame()
    return _rms(frame.skin.interpolate(frame.positions) - _bent(skin.points)), body


@pytest.mark.parametrize("curved", [True, False])
def test_the_error_falls_with_the_square_of_the_distance_of_nodes(curved):
    """Interpolation between nodes at a half and a third of the distance: 1/4 and 1/9; curved elements are larger."""
    linear, _ = _error(1, False)
    assert _error(2, curved)[0] < 1.5 * linear / 4.0
    assert _error(3, curved)[0] < 1.5 * linear / 9.0


def test_a_refined_body_carries_its_surface():
    error, body = _error(2, False)
    body.refine("all")
    frame = body.frame()
    expected = _bent(ct.mesh.sphere(radius=0.3, cells=4).surface.points)
    assert _rms(frame.skin.interpolate(frame.positions) - expected) < 0.3 * error
    body.reset()
    frame = body.frame()
    np.testing.assert_allclose(frame.skin.interpolate(frame.positions), frame.skin.rest, atol=1e-12)
