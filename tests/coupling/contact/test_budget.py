"""A time limit of the contact solves: a step that reaches it says so, and the next one goes on from it."""

import numpy as np
import pytest

import continua as ct
from continua.errors import InputError
from continua.scene import parse_scene


def _world(budget_ms):
    ball = ct.SoftBody(ct.mesh.sphere(0.1, 4), material=ct.Corotated(young=2e4, poisson=0.4), name="ball")
    ball.pin(where=lambda x: x[:, 1] < -0.07)
    motion = ct.Motion.keyframes([0.0, 0.2], [[0, 0, 0], [0, -0.02, 0]])
    tool = ct.Capsule((0.0, 0.113, 0.0), (0.05, 0.25, 0.02), radius=0.012, motion=motion)
    return ct.World([ball], colliders=[tool], dt=0.01, contact=ct.Contact(budget_ms=budget_ms)), ball


def test_a_step_that_reaches_the_budget_says_so_and_later_steps_make_up_for_it():
    world, ball = _world(1e-6)
    texts = [text for _ in range(20) for report in world.step() for text in report.warnings]
    assert any("stopped at its budget of 1e-06 ms" in text for text in texts)
    assert not any("in 2 parts" in text for text in texts)
    for _ in range(40):
        world.step()
    exact, other = _world(None)
    for _ in range(60):
        exact.step()
    assert np.abs(ball.positions - other.positions).max() < 2e-3


def test_a_budget_that_is_not_reached_changes_nothing():
    (world, ball), (exact, other) = _world(1e6), _world(None)
    for _ in range(25):
        world.step()
        exact.step()
    np.testing.assert_array_equal(ball.positions, other.positions)


def test_the_budget_in_a_scene_and_wrong_ones():
    text = """
    bodies: [{type: soft, name: a, mesh: {type: box, size: [1, 1, 1], cells: [1, 1, 1]}}]
    contact: {budget_ms: 12.5}
    """
    assert parse_scene(text).contact.budget_ms == 12.5
    parse_scene(text).build().step()
    with pytest.raises(InputError, match="budget_ms"):
        ct.Contact(budget_ms=0.0)
