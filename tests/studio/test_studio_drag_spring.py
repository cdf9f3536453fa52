import numpy as np
import pytest
from studio_world import make_world, tip

from continua.errors import InputError
from continua.studio.interaction.drag_spring import DragSpring


def grab(world, target, weights=(1, 1, 1)):
    frame = world.frame()
    body = frame["beam"]
    triangle = int(np.argmax(body.rest_positions[body.triangles].mean(axis=1)[:, 0]))
    return DragSpring(world.bodies[0], body, triangle, weights, target)


def test_stiffness_is_distributed_over_the_patch():
    world = make_world()
    spring = grab(world, (1, 0.5, 0.1))
    stiffness = [pull.stiffness for pull in spring._pulls]
    assert 1 <= len(stiffness) <= 10
    assert sum(stiffness) == pytest.approx(world.bodies[0].pull_stiffness)


def test_all_points_have_the_same_offset_to_their_target():
    world = make_world()
    spring = grab(world, (1, 0.5, 0.1))
    forces = np.array([(pull.target - pull.point) for pull in spring._pulls])
    np.testing.assert_allclose(forces, np.tile(forces[0], (len(forces), 1)), atol=1e-12)
    spring.target = (1, 0.7, 0.1)
    np.testing.assert_allclose(spring.target, (1, 0.7, 0.1))
    moved = np.array([(pull.target - pull.point) for pull in spring._pulls])
    np.testing.assert_allclose(moved - forces, np.tile([0, 0.2, 0], (len(forces), 1)), atol=1e-12)


def test_pull_lifts_the_body_without_inverting_elements_and_releases_it():
    world = make_world()
    spring = grab(world, (1, 0.5, 0.1))
    for _ in range(100):
        reports = world.step()
        assert reports[0].inverted == 0
    assert tip(world.frame())[1] > 0.3
    spring.remove()
    for _ in range(60):
        world.step()
    assert tip(world.frame())[1] < 0.1


@pytest.mark.parametrize("weights", [(0, 0, 0), (1, -1, 1), (np.nan, 1, 1)])
def test_invalid_weights_are_rejected(weights):
    with pytest.raises(InputError, match="weights"):
        grab(make_world(), (0, 0, 0), weights)
