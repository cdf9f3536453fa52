"""The capstan equation (Euler 1769): a band around a drum slips where T1 / T0 = exp(mu phi).

Friction acts at the radius R of the drum, the tension in the middle of the band, at R + t/2; so the moments about the
axis give mu R / (R + t/2) for mu. The band is bent in its rest shape, and its stiffness against bending is small.
"""

import numpy as np
import pytest

import continua as ct

DRUM, THICK, WIDTH = 0.1, 0.001, 0.02


def _band(angle, cells, damping=2.0, tail=3):
    """A band around the angle, with straight tails; also returns the nodes of its ends and the directions of pull."""
    step = DRUM * angle / cells
    mesh = ct.mesh.box(size=(step * (cells + 2 * tail), THICK, WIDTH), cells=(cells + 2 * tail, 1, 1))
    s, height, z = mesh.points.T
    s = s - step * tail
    bent = np.clip(s, 0.0, DRUM * angle)
    turn, straight, radius = bent / DRUM, s - bent, DRUM + 1e-4 + height
    x = radius * np.cos(turn) - straight * np.sin(turn)
    y = radius * np.sin(turn) + straight * np.cos(turn)
    tets = mesh.tets[:, [0, 2, 1, 3]]  # along s, outwards and along z is left-handed
    band = ct.SoftBody(
        ct.TetMesh(np.column_stack([x, y, z]), tets),
        material=ct.Corotated(young=1e6, poisson=0.3, density=1000.0),
        damping=(damping, 0.0),
        name="band",
    )
    ends = np.flatnonzero(s < s.min() + 1e-9), np.flatnonzero(s > s.max() - 1e-9)
    return band, ends, (np.array([0.0, -1.0, 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0]))


def _world(band, friction):
    drum = ct.Cylinder(axis=(0, 0, 1), radius=DRUM, height=1.0, name="drum")
    contact = ct.Contact(friction=friction)
    return ct.World([band], colliders=[drum], gravity=(0, 0, 0), dt=0.01, contact=contact)


def _limit(friction, angle):
    return np.exp(friction * angle * DRUM / (DRUM + 0.5 * THICK))


@pytest.mark.parametrize(
    ("friction", "angle", "cells", "steps"), [(0.3, np.pi, 24, 50), (0.5, 0.5 * np.pi, 12, 30)]
)
def test_a_band_drawn_over_a_drum_pulls_as_the_capstan_equation_says(friction, angle, cells, steps):
    """One end is loaded with 0.2 N, the other drawn at 1 cm/s."""
    load = 0.2
    band, (start, end), (back, forward) = _band(angle, cells)
    band.push(start, load * back)
    drawn = band.drive(end, ct.Motion.translate(0.01 * forward))
    world = _world(band, friction)
    ratio = []
    for _ in range(steps):
        world.step()
        ratio.append(drawn.reaction @ forward / load)
    assert np.mean(ratio[-5:]) == pytest.approx(_limit(friction, angle), rel=0.01)
    assert np.ptp(ratio[-5:]) < 0.02


def test_a_band_that_touches_a_cylinder_all_around_stays_where_it_is():
    """Its nodes are 1e-4 and its straight edges 2e-4 R less away from the drum, and nothing pulls."""
    band, _, _ = _band(np.pi, 48)
    drum = ct.Cylinder(axis=(0, 0, 1), radius=DRUM + 9.9e-5, height=1.0, name="drum")
    world = ct.World([band], colliders=[drum], gravity=(0, 0, 0), dt=0.01)
    rest = band.positions
    for _ in range(5):
        world.step()
    np.testing.assert_allclose(band.positions, rest, atol=1e-6)
