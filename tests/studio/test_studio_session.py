import json
import time

import numpy as np
import pytest
from studio_world import Ear, FragileWorld, make_session, tip

from continua.studio.protocol import parse_command


def wait_for(condition, seconds=30.0):
    end = time.perf_counter() + seconds
    while not condition():
        assert time.perf_counter() < end, "waited in vain"
        time.sleep(0.005)


@pytest.fixture
def running():
    """Start sessions with one listener each, and end them."""
    sessions = []

    def start(world=None):
        session = make_session(world)
        session.start()
        ear = Ear()
        session.listen(1, ear.listener)
        sessions.append(session)
        return session, ear

    yield start
    for session in sessions:
        session.stop()
        assert not session._thread.is_alive()


def say(session, client=1, **command):
    session.submit(client, parse_command(json.dumps(command)))


def grip(**changes):
    command = {"type": "pull_begin", "id": 1, "body": "beam", "triangle": 0, "target": [0, 1, 0]}
    return {**command, "barycentric": [1, 1, 1], **changes}


def test_runs_no_faster_than_real_time_and_publishes_at_most_thirty_times_a_second(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.time > 0)  # kernels are compiled by now
    before, begin = session.snapshot, time.perf_counter()
    time.sleep(1.5)
    after, elapsed = session.snapshot, time.perf_counter() - begin
    # a snapshot may be one update old, and the loop may owe a tenth of a second before it forgives
    assert after.frame.time - before.frame.time <= elapsed + 0.1 + 1 / 30 + 0.01
    assert after.seq - before.seq <= 30 * elapsed + 2
    assert after.seq > before.seq


def test_nothing_moves_while_nobody_looks(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.step > 0)
    session.leave(1)
    time.sleep(0.3)
    step = session._world.step_index
    time.sleep(0.3)
    assert session._world.step_index == step


def test_pause_step_and_reset(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.step > 3)
    say(session, type="pause")
    wait_for(lambda: not session.state["playing"])
    time.sleep(0.1)
    step = session.snapshot.frame.step
    time.sleep(0.2)
    assert session.snapshot.frame.step == step
    say(session, type="step")
    wait_for(lambda: session.snapshot.frame.step == step + 1)
    say(session, type="reset")
    wait_for(lambda: session.snapshot.frame.step == 0)
    frame = session.snapshot.frame
    np.testing.assert_array_equal(frame["beam"].positions, frame["beam"].rest_positions)
    assert frame.time == 0.0


def test_a_pull_brings_the_point_towards_its_target_and_lets_go(running):
    session, ear = running()
    body = session.snapshot.frame["beam"]
    centers = body.rest_positions[body.triangles].mean(axis=1)
    triangle = int(np.argmax(centers[:, 0]))
    target = (centers[triangle] + [0.0, 0.4, 0.0]).tolist()
    grip = {
        "type": "pull_begin",
        "id": 1,
        "body": "beam",
        "triangle": triangle,
        "barycentric": [1, 1, 1],
        "target": target,
    }
    say(session, **grip)
    wait_for(lambda: tip(session.snapshot.frame)[1] > 0.25)
    assert ear.failures == []
    say(session, type="pull_end", id=1)
    wait_for(lambda: tip(session.snapshot.frame)[1] < 0.1)  # it falls below its rest height again
    assert not session._world.bodies[0]._pulls


def test_a_client_that_leaves_lets_go(running):
    session, _ = running()
    session.listen(2, Ear().listener)
    grip = {
        "type": "pull_begin",
        "id": 5,
        "body": "beam",
        "triangle": 0,
        "barycentric": [1, 0, 0],
        "target": [0, 1, 0],
    }
    say(session, client=2, **grip)
    wait_for(lambda: session._pulls)
    session.leave(2)
    wait_for(lambda: not session._pulls)
    assert not session._world.bodies[0]._pulls


def test_stiffer_matter_sags_less(running):
    session, _ = running()
    say(session, type="material", body="beam", young=2e7, damping_mass=3.0)
    wait_for(lambda: session.snapshot.frame.time > 1.0, 60)
    stiff = tip(session.snapshot.frame)[1]
    assert session.state["materials"]["beam"] == {
        "young": 2e7,
        "poisson": 0.3,
        "density": 1000.0,
        "damping_mass": 3.0,
        "damping_stiffness": 0.0,
    }
    assert session.state["defaults"]["materials"]["beam"]["young"] == 2e5
    say(session, type="material", body="beam", young=2e5)
    wait_for(lambda: tip(session.snapshot.frame)[1] < stiff - 0.05)


def test_gravity_upside_down(running):
    session, _ = running()
    say(session, type="gravity", value=[0, 9.81, 0])
    say(session, type="reset")
    wait_for(lambda: tip(session.snapshot.frame)[1] > 0.15)


@pytest.mark.parametrize(
    "command",
    [
        {"type": "material", "body": "beam", "young": -1.0},
        {"type": "material", "body": "beam", "poisson": 0.5},
        {"type": "material", "body": "beam", "damping_mass": -0.1},
        {"type": "material", "body": "nobody", "young": 1.0},
        {
            "type": "pull_begin",
            "id": 1,
            "body": "beam",
            "triangle": 10**6,
            "barycentric": [1, 0, 0],
            "target": [0, 0, 0],
        },
        {
            "type": "pull_begin",
            "id": 1,
            "body": "beam",
            "triangle": 0,
            "barycentric": [0, 0, 0],
            "target": [0, 0, 0],
        },
    ],
)
def test_a_command_that_cannot_be_done_is_answered_and_the_session_goes_on(running, command):
    session, ear = running()
    say(session, **command)
    wait_for(lambda: ear.failures)
    assert "\n" not in ear.failures[0]
    step = session.snapshot.frame.step
    wait_for(lambda: session.snapshot.frame.step > step)


def test_divergence_pauses_with_a_sentence_and_reset_helps(running):
    world = FragileWorld()
    session, _ = running(world)
    wait_for(lambda: session.state["error"])
    assert "unstable" in session.state["error"]
    assert not session.state["playing"]
    say(session, type="play")  # cannot play on
    time.sleep(0.1)
    assert not session.state["playing"]
    world.sick = False
    say(session, type="reset")
    wait_for(lambda: session.state["error"] is None)
    say(session, type="play")
    wait_for(lambda: session.snapshot.frame.step > 6)


def test_another_scene_starts_anew_and_an_unknown_one_changes_nothing(running):
    session, ear = running()
    wait_for(lambda: session.snapshot.frame.step > 3)
    say(session, **grip())
    say(session, type="material", body="beam", young=5e5)
    say(session, type="scene", name="nowhere")
    wait_for(lambda: ear.failures)
    assert session.snapshot.epoch == 1
    say(session, type="scene", name="test")
    wait_for(lambda: session.snapshot.epoch == 2)
    assert not session._pulls
    wait_for(lambda: session.state["materials"]["beam"]["young"] == 2e5)
    assert session.state["busy"] is None
    assert len(session.snapshot.samples) <= session.snapshot.seq
