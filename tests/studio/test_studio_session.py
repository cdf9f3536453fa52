import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from studio_world import Ear, FragileWorld, make_session, make_world, tip

from continua.numerics.kernel import _listener
from continua.studio.clock import Clock
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


@pytest.mark.parametrize(("cost", "steps"), [(0.002, 600), (0.02, 250)])
def test_five_seconds_have_the_steps_of_the_time_step_or_those_that_the_machine_can_do(
    monkeypatch, cost, steps
):
    now = [100.0]
    monkeypatch.setattr("continua.studio.clock.time", SimpleNamespace(perf_counter=lambda: now[0]))
    clock, done = Clock(), 0
    clock.restart(0.0)
    while now[0] < 105.0:
        now[0] += max(clock.wait(done / 120.0), 0.0)
        now[0] += cost  # of a step
        done += 1
        clock.mark(done / 120.0)
    assert abs(done - steps) <= 0.01 * steps
    assert clock.rates() == pytest.approx((done / 5.0, done / 600.0), rel=0.02)


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
    wait_for(lambda: session.touch.pulls)
    session.leave(2)
    wait_for(lambda: not session.touch.pulls)
    assert not session._world.bodies[0]._pulls


def turn(session, key, value):
    say(session, type="set", key=key, value=value)


def test_stiffer_matter_sags_less(running):
    session, _ = running()
    turn(session, "beam/material/young", 2e7)
    turn(session, "beam/damping/mass", 3.0)
    wait_for(lambda: session.snapshot.frame.time > 1.0, 60)
    stiff = tip(session.snapshot.frame)[1]
    values = session.state["values"]
    assert (values["beam/material/young"], values["beam/damping/mass"]) == (2e7, 3.0)
    assert session.news.panel["initial"]["beam/material/young"] == 2e5
    turn(session, "beam/material/young", 2e5)
    wait_for(lambda: tip(session.snapshot.frame)[1] < stiff - 0.05)


def test_gravity_upside_down(running):
    session, _ = running()
    turn(session, "world/gravity", [0, 9.81, 0])
    say(session, type="reset")
    wait_for(lambda: tip(session.snapshot.frame)[1] > 0.15)


def test_what_the_world_changes_by_itself_is_told(running):
    session, _ = running()
    session._world.at(0.2, lambda world: world.body("beam").set_material(young=3e5))
    wait_for(lambda: session.state["values"]["beam/material/young"] == 3e5)


def test_settling_leaves_the_body_where_it_comes_to_rest(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.step > 1)
    say(session, type="pause")
    say(session, type="settle")
    wait_for(lambda: session.state["settled"] and session.state["busy"] is None)
    assert session.state["settled"].startswith("Settled with")
    weight = 1000 * 1.0 * 0.2 * 0.2 * 9.81  # the pin carries it
    wait_for(lambda: abs(session.snapshot.live.forces["beam/hold/0"][1] - weight) < 1e-3 * weight)
    turn(session, "world/gravity", [0, -1e-13, 0])
    say(session, type="settle")
    wait_for(lambda: "Body 'beam': loads of at most" in (session.state["settled"] or ""))
    turn(session, "beam/hold/0/on", False)
    turn(session, "world/gravity", [9.81, 0, 0])  # along the floor, where nothing stops it
    say(session, type="settle")
    wait_for(lambda: not (session.state["settled"] or "Settled").startswith("Settled"))
    assert session.state["settled"].endswith(".")
    assert "beam" in session.state["settled"]


def test_the_force_of_a_hand_is_known_to_its_page(running):
    session, _ = running()
    say(session, **grip())
    wait_for(lambda: (1, 1) in session.snapshot.hands)
    assert np.linalg.norm(session.snapshot.hands[1, 1]) > 0.0


@pytest.mark.parametrize(
    "command",
    [
        {"type": "set", "key": "beam/material/young", "value": -1.0},
        {"type": "set", "key": "beam/material/poisson", "value": 0.5},
        {"type": "set", "key": "beam/damping/mass", "value": -0.1},
        {"type": "set", "key": "nobody/material/young", "value": 1.0},
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
    message, key = ear.failures[0]
    assert "\n" not in message
    assert key == command.get("key", "")
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
    turn(session, "beam/material/young", 5e5)
    say(session, type="scene", name="nowhere")
    wait_for(lambda: ear.failures)
    assert session.snapshot.epoch == 1
    say(session, type="scene", name="test")
    wait_for(lambda: session.snapshot.epoch == 2)
    assert not session.touch.pulls
    wait_for(lambda: session.state["values"]["beam/material/young"] == 2e5)
    assert session.state["busy"] is None
    assert len(session.snapshot.samples) <= session.snapshot.seq


def test_a_kernel_that_looking_compiles_leaves_nobody_waiting(running):
    """The first look at a world compiles too (energies, stresses), with no step after it while it is paused."""

    class Looked:
        world, compiles = make_world(), False

        def __getattr__(self, name):
            return getattr(self.world, name)

        def frame(self):
            if self.compiles and threading.current_thread().name == "continua-simulation":
                _listener.announce("energy")
                told.append(session.state["busy"])
            return self.world.frame()

    told, world = [], Looked()
    session, _ = running(world)
    wait_for(lambda: session.snapshot.frame.step > 0)
    say(session, type="pause")
    wait_for(lambda: not session.state["playing"])
    world.compiles = True
    say(session, type="reset")
    wait_for(lambda: told)
    assert told[0].startswith("compiling")
    wait_for(lambda: session.state["busy"] is None)
