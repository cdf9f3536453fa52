"""What a program does with a world besides stepping it: one clock, bodies by name, files, one world for a body."""

import copy
import gc
import itertools
import pickle

import numpy as np
import pytest

import continua as ct


def bar(name="bar", cells=(3, 1, 1), **options):
    body = ct.SoftBody(ct.mesh.box((0.6, 0.2, 0.2), cells), name=name, **options)
    body.pin("left")
    return body


def made(**options):
    return ct.World([bar(), ct.RigidBody(ct.Sphere(center=(2, 1, 0)), density=1.0, name="ball")], **options)


def assert_same(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, two[key], err_msg=key)


# --- the clock ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "first"), [(0, 0), (1, 1), (7, 5), (10, 6)])
def test_a_run_goes_on_from_the_present_time(steps, first):
    """A falling ball is where its time says, whatever was stepped by hand before: nothing is done twice."""
    ball = ct.RigidBody(ct.Sphere(radius=0.1), density=1.0, name="ball", velocity=(1.0, 0.0, 0.0))
    world = ct.World([ball], dt=0.01, gravity=(0, 0, 0))
    for _ in range(steps):
        world.step()
    frames = list(world.run(seconds=0.2, fps=60))
    assert [frame.index for frame in frames] == list(range(first, 13))
    for frame in frames:
        assert frame.time == frame.index / 60
        assert frame["ball"].positions.mean(axis=0)[0] == pytest.approx(frame.time, abs=1e-12)
    assert world.time == 12 / 60


def test_steps_between_frames_count():
    world = ct.World([bar()], dt=0.01, gravity=(0, 0, 0))
    times = []
    for frame in world.run(seconds=0.5, fps=20):
        times.append(frame.time)
        world.step()
    np.testing.assert_allclose(times, np.arange(11) / 20)
    assert world.time == pytest.approx(0.51)
    assert world.step_index == 10 * 5 + 1  # the step by hand is a part of each interval


def test_a_run_with_other_frames_goes_on_from_the_same_moment():
    world = made(dt=0.01)
    list(world.run(seconds=0.1, fps=100))
    frames = list(world.run(seconds=0.3, fps=10))
    assert [(frame.index, frame.time) for frame in frames] == [(1, 0.1), (2, 0.2), (3, pytest.approx(0.3))]


def test_whole_runs_are_bitwise_the_same_in_parts():
    whole, parts = made(dt=0.01), made(dt=0.01)
    list(whole.run(seconds=0.2, fps=30))
    for seconds in (0.1, 0.2):
        list(parts.run(seconds=seconds, fps=30))
    assert_same(whole.state(), parts.state())


# --- bodies by name -----------------------------------------------------------------------------------------


def test_bodies_by_name():
    world = made()
    assert world["bar"] is world.body("bar") is world.bodies[0]
    assert [body.name for body in world] == ["bar", "ball"]
    assert "bar" in world
    assert world["ball"] in world
    assert "nothing" not in world
    with pytest.raises(ct.InputError, match="no body called 'nothing'"):
        world["nothing"]


# --- files --------------------------------------------------------------------------------------------------


def test_a_world_continues_bitwise_from_its_file(tmp_path):
    def dropped():
        block = bar("block", plasticity=ct.Plasticity(yield_strain=0.01))
        ball = ct.RigidBody(ct.Sphere(center=(0.45, 0.31, 0.1), radius=0.1), density=1e4, name="ball")
        return ct.World([block, ball], dt=0.005)

    world, file = dropped(), tmp_path / "world.h5"
    frames = world.run(seconds=0.2, fps=60)
    list(itertools.islice(frames, 6))
    world.save(file)
    again = dropped()
    again.load(file)
    assert_same(world.state(), again.state())
    rest, resumed = list(frames), list(again.run(seconds=0.2, fps=60))
    assert [frame.index for frame in resumed] == [frame.index for frame in rest]
    assert_same(world.state(), again.state())


def test_a_file_of_another_world_is_refused_and_nothing_changes(tmp_path):
    world, file = made(), tmp_path / "world.h5"
    world.step()
    world.save(file)
    others = {
        "bar.*another mesh": ct.World([bar(cells=(1, 3, 1)), *made().bodies[:0]]),
        "body 'ball', which this one does not have": ct.World([bar()]),
        "lacks": ct.World([*_loose(), ct.RigidBody(ct.Sphere(center=(5, 5, 5)), density=1.0, name="new")]),
    }
    for sentence, other in others.items():
        before = other.state()
        with pytest.raises(ct.InputError, match=sentence):
            other.load(file)
        assert_same(before, other.state())
    (tmp_path / "text.h5").write_text("no checkpoint")
    with pytest.raises(ct.InputError, match="not a Continua checkpoint"):
        world.load(tmp_path / "text.h5")


def _loose():
    return [bar(), ct.RigidBody(ct.Sphere(center=(2, 1, 0)), density=1.0, name="ball")]


# --- one world for a body -----------------------------------------------------------------------------------


def test_a_body_in_two_worlds_is_refused():
    world = made(name="first")
    with pytest.raises(ct.InputError, match="body 'bar' is in the world 'first'"):
        ct.World([world["bar"]])
    again = copy.deepcopy(world)
    ct.World([copy.deepcopy(world["bar"])])
    for one in (again, pickle.loads(pickle.dumps(world))):
        with pytest.raises(ct.InputError, match="is in the world 'first'"):
            ct.World([one["bar"]])


def test_the_body_of_a_world_that_is_gone_is_free():
    body = bar()
    for _ in range(3):
        world = ct.World([body])
        world.add_pre_step_callback(lambda dt, world=world: None)  # a cycle, which only the collector finds
        world.step()
        gc.disable()
        del world
        try:
            world = ct.World([body])
        finally:
            gc.enable()
        del world


def test_a_world_that_could_not_be_made_owns_nothing():
    body = bar()
    with pytest.raises(ct.InputError):
        ct.World([body], joints=[3])
    assert body in ct.World([body])
