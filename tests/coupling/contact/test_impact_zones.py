"""The fail-safe of contact: rigid impact zones keep momenta to rounding, and nothing passes without any contact."""

import numpy as np
import pytest

import continua as ct
from continua.contact_solver import EMPTY_ROWS
from continua.coupling.contact import substep_solve
from continua.coupling.contact.impact_zones import rigid_displacement
from tests.shells.throws import count_piercings, random_rotation, square_cloth, throw


def angular_momentum(x, u, mass):
    return np.einsum("n,ni->i", mass, np.cross(x, u))


@pytest.mark.parametrize("speed", [0.0, 1e-6, 0.1, 0.5, 0.8])
def test_a_zone_keeps_momentum_and_angular_momentum_and_all_distances(speed):
    rng = np.random.default_rng(round(1e6 * speed))
    x, mass = rng.normal(size=(15, 3)), rng.random(15) + 0.1
    u = 0.05 * rng.normal(size=(15, 3)) + speed * np.cross([0.3, 0.5, 0.8], x) + [3.0, -2.0, 1.0]
    moved, _, _ = rigid_displacement(x, u, mass)
    np.testing.assert_allclose(mass @ moved, mass @ u, rtol=1e-13)
    center = mass @ x / mass.sum()
    before, after = (angular_momentum(x - center, w, mass) for w in (u, moved))
    np.testing.assert_allclose(after, before, atol=1e-12)
    distances = [np.linalg.norm(y[:, None] - y[None], axis=-1) for y in (x, x + moved)]
    np.testing.assert_allclose(*distances, atol=1e-14)
    for t in np.linspace(
        0.0, 1.0, 9
    ):  # on straight paths the points are an affine image that is never singular
        y = x + t * moved
        affine = np.linalg.lstsq(np.column_stack([x, np.ones(15)]), y, rcond=None)[0]
        np.testing.assert_allclose(np.column_stack([x, np.ones(15)]) @ affine, y, atol=1e-12)
        assert np.linalg.det(affine[:3]) > 0.2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_point_and_points_on_a_line_are_zones_too(count):
    x = np.outer(np.arange(count), [1.0, 2.0, 3.0]) + 0.5
    u = 0.1 * np.random.default_rng(0).normal(size=(count, 3))
    mass = np.arange(1.0, count + 1.0)
    moved, _, _ = rigid_displacement(x, u, mass)
    np.testing.assert_allclose(mass @ moved, mass @ u, atol=1e-14)
    np.testing.assert_allclose(angular_momentum(x, moved, mass), angular_momentum(x, u, mass), atol=1e-13)


@pytest.mark.parametrize("rate", [0.9, 1.5, 5.0, 50.0])
def test_zones_that_turn_fast_in_a_step_gain_no_energy(rate):
    rng = np.random.default_rng(3)
    x, mass = rng.normal(size=(12, 3)), rng.random(12) + 0.1
    u = 0.1 * rng.normal(size=(12, 3)) + rate * np.cross([0.3, 0.5, 0.8], x)
    moved, _, velocity = rigid_displacement(x, u, mass)
    np.testing.assert_allclose(mass @ velocity, mass @ u, rtol=1e-12)
    assert mass @ (velocity**2).sum(axis=1) <= mass @ (u**2).sum(axis=1) * (1.0 + 1e-12)
    assert np.linalg.norm(x + moved - (x + moved).mean(axis=0)) < 1.001 * np.linalg.norm(x - x.mean(axis=0))


@pytest.fixture
def no_contact(monkeypatch):
    """Contact finds nothing, and only the fail-safe is left."""

    def detect(self):
        self.found, self._queries = True, []

    monkeypatch.setattr(substep_solve.ContactSubstep, "_detect", detect)
    monkeypatch.setattr(substep_solve.ContactSubstep, "_detect_missed", lambda self, requests, k: EMPTY_ROWS)


@pytest.mark.parametrize("seed", range(6))
def test_the_fail_safe_alone_lets_nothing_through(seed, no_contact):
    """Without any contact in the solves, at up to 30 m/s and 33 ms: no piercing after any step, as reports say."""
    warned = throw(seed, steps=12)
    assert warned


def test_two_free_sheets_that_meet_keep_their_momentum(no_contact):
    one = square_cloth(6, 0.3, (0.0, 0.0, 0.0), name="one")
    other = square_cloth(5, 0.3, (0.02, 0.05, 0.01), random_rotation(0.2, 4), name="other", density=700.0)
    other.set_velocity((0.1, -6.0, 0.2), (1.0, 3.0, -2.0))
    world = ct.World([one, other], gravity=(0, 0, 0), dt=0.01, contact=ct.Contact(self_contact=True))

    def momentum():
        return sum(body.contact_body().node_masses @ body.velocities for body in (one, other))

    start = momentum()
    stopped = 0
    for _ in range(15):
        report = world.step()[0]
        stopped += any("fail-safe" in text for text in report.warnings)
        assert count_piercings(one, other) == 0
        np.testing.assert_allclose(momentum(), start, rtol=0.0, atol=1e-12 * np.abs(start).max())
    assert stopped >= 3


def test_what_is_driven_through_a_collider_is_said_and_the_rest_stays_out(no_contact):
    cloth = square_cloth(6, 0.3, (0.0, 0.1, 0.0), name="sheet")
    center = int(np.argmin(np.linalg.norm(cloth.rest_positions - [0.0, 0.1, 0.0], axis=1)))
    cloth.drive([center], ct.Motion.translate((0.0, -1.0, 0.0)))
    table = ct.Box((0.0, -0.1, 0.0), (1.0, 0.2, 1.0))
    world = ct.World([cloth], colliders=[table], dt=0.01, contact=ct.Contact(self_contact=True))
    texts = []
    for _ in range(14):
        texts += world.step()[0].warnings
    others = np.delete(cloth.positions[:, 1], center)
    assert others.min() > -1e-9
    assert any("driven" in text for text in texts)
