import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from studio_world import FragileWorld, ListenerLog, make_session, make_world, tip

from continua.numerics.kernel import _listener
from continua.studio.protocol import parse_command
from continua.studio.session.busy_state import BusyState
from continua.studio.session.clock import Clock


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
        log = ListenerLog()
        session.add_listener(1, log.listener)
        sessions.append(session)
        return session, log

    yield start
    for session in sessions:
        session.stop()
        assert not session._thread.is_alive()


def send_command(session, client=1, **command):
    session.submit(client, parse_command(json.dumps(command)))


def pull_command(**changes):
    command = {"type": "pull_begin", "id": 1, "body": "beam", "triangle": 0, "target": [0, 1, 0]}
    return {**command, "barycentric": [1, 1, 1], **changes}


def test_runs_at_most_in_real_time_and_publishes_at_most_thirty_snapshots_per_second(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.time > 0)  # kernels are compiled now
    before, begin = session.snapshot, time.perf_counter()
    time.sleep(1.5)
    after, elapsed = session.snapshot, time.perf_counter() - begin
    # a snapshot may be one update old, and the loop may owe a tenth of a second before it forgives
    assert after.frame.time - before.frame.time <= elapsed + 0.1 + 1 / 30 + 0.01
    assert after.seq - before.seq <= 30 * elapsed + 2
    assert after.seq > before.seq


@pytest.mark.parametrize(("cost", "steps"), [(0.002, 600), (0.02, 250)])
def test_clock_allows_real_time_or_as_many_steps_as_the_machine_can_compute(monkeypatch, cost, steps):
    now = [100.0]
    monkeypatch.setattr("continua.studio.session.clock.time", SimpleNamespace(perf_counter=lambda: now[0]))
    clock, done = Clock(), 0
    clock.restart(0.0)
    while now[0] < 105.0:
        now[0] += max(clock.wait(done / 120.0), 0.0)
        now[0] += cost  # of a step
        done += 1
        clock.mark(done / 120.0)
    assert abs(done - steps) <= 0.01 * steps
    assert clock.rates() == pytest.approx((done / 5.0, done / 600.0), rel=0.02)


def test_simulation_pauses_without_listeners(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.step > 0)
    session.remove_listener(1)
    time.sleep(0.3)
    step = session._world.step_index
    time.sleep(0.3)
    assert session._world.step_index == step


def test_pause_step_and_reset(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.step > 3)
    send_command(session, type="pause")
    wait_for(lambda: not session.state["playing"])
    time.sleep(0.1)
    step = session.snapshot.frame.step
    time.sleep(0.2)
    assert session.snapshot.frame.step == step
    send_command(session, type="step")
    wait_for(lambda: session.snapshot.frame.step == step + 1)
    send_command(session, type="reset")
    wait_for(lambda: session.snapshot.frame.step == 0)
    frame = session.snapshot.frame
    np.testing.assert_array_equal(frame["beam"].positions, frame["beam"].rest_positions)
    assert frame.time == 0.0


def test_pull_moves_the_point_towards_its_target_and_releases_it(running):
    session, log = running()
    body = session.snapshot.frame["beam"]
    centers = body.rest_positions[body.triangles].mean(axis=1)
    triangle = int(np.argmax(centers[:, 0]))
    target = (centers[triangle] + [0.0, 0.4, 0.0]).tolist()
    pull_command = {
        "type": "pull_begin",
        "id": 1,
        "body": "beam",
        "triangle": triangle,
        "barycentric": [1, 1, 1],
        "target": target,
    }
    send_command(session, **pull_command)
    wait_for(lambda: tip(session.snapshot.frame)[1] > 0.25)
    assert log.failures == []
    send_command(session, type="pull_end", id=1)
    wait_for(lambda: tip(session.snapshot.frame)[1] < 0.1)  # it falls below its rest height again
    assert not session._world.bodies[0]._pulls


def test_pulls_of_a_removed_client_end(running):
    session, _ = running()
    session.add_listener(2, ListenerLog().listener)
    pull_command = {
        "type": "pull_begin",
        "id": 5,
        "body": "beam",
        "triangle": 0,
        "barycentric": [1, 0, 0],
        "target": [0, 1, 0],
    }
    send_command(session, client=2, **pull_command)
    wait_for(lambda: session.interaction.pulls)
    session.remove_listener(2)
    wait_for(lambda: not session.interaction.pulls)
    assert not session._world.bodies[0]._pulls


def set_parameter(session, key, value):
    send_command(session, type="set_parameter", key=key, value=value)


def test_stiffer_material_sags_less(running):
    session, _ = running()
    set_parameter(session, "beam/material/young", 2e7)
    set_parameter(session, "beam/damping/mass", 3.0)
    wait_for(lambda: session.snapshot.frame.time > 1.0, 60)
    stiff = tip(session.snapshot.frame)[1]
    values = session.state["values"]
    assert (values["beam/material/young"], values["beam/damping/mass"]) == (2e7, 3.0)
    assert session.publisher.panel_message["initial"]["beam/material/young"] == 2e5
    set_parameter(session, "beam/material/young", 2e5)
    wait_for(lambda: tip(session.snapshot.frame)[1] < stiff - 0.05)


def test_reversed_gravity(running):
    session, _ = running()
    set_parameter(session, "world/gravity", [0, 9.81, 0])
    send_command(session, type="reset")
    wait_for(lambda: tip(session.snapshot.frame)[1] > 0.15)


def test_parameters_changed_by_the_world_are_published(running):
    session, _ = running()
    session._world.schedule(0.2, lambda world: world.body("beam").set_material(young=3e5))
    wait_for(lambda: session.state["values"]["beam/material/young"] == 3e5)


def test_settle_reports_the_equilibrium_or_why_there_is_none(running):
    session, _ = running()
    wait_for(lambda: session.snapshot.frame.step > 1)
    send_command(session, type="pause")
    send_command(session, type="settle")
    wait_for(lambda: session.state["settleReport"] and session.state["busy"] is None)
    assert session.state["settleReport"].startswith("Settled with")
    weight = 1000 * 1.0 * 0.2 * 0.2 * 9.81  # the pin carries it
    wait_for(
        lambda: abs(session.snapshot.boundary_forces.forces["beam/boundary/0"][1] - weight) < 1e-3 * weight
    )
    set_parameter(session, "world/gravity", [0, -1e-13, 0])
    send_command(session, type="settle")
    wait_for(lambda: "Body 'beam': loads of at most" in (session.state["settleReport"] or ""))
    set_parameter(session, "beam/boundary/0/on", False)
    set_parameter(session, "world/gravity", [9.81, 0, 0])  # along the floor, where nothing stops it
    send_command(session, type="settle")
    wait_for(lambda: not (session.state["settleReport"] or "Settled").startswith("Settled"))
    assert session.state["settleReport"].endswith(".")
    assert "beam" in session.state["settleReport"]


def test_force_of_a_pull_is_published(running):
    session, _ = running()
    send_command(session, **pull_command())
    wait_for(lambda: (1, 1) in session.snapshot.pull_forces)
    assert np.linalg.norm(session.snapshot.pull_forces[1, 1]) > 0.0


@pytest.mark.parametrize(
    "command",
    [
        {"type": "set_parameter", "key": "beam/material/young", "value": -1.0},
        {"type": "set_parameter", "key": "beam/material/poisson", "value": 0.5},
        {"type": "set_parameter", "key": "beam/damping/mass", "value": -0.1},
        {"type": "set_parameter", "key": "nobody/material/young", "value": 1.0},
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
def test_failed_command_is_reported_and_the_session_continues(running, command):
    session, log = running()
    send_command(session, **command)
    wait_for(lambda: log.failures)
    message, key = log.failures[0]
    assert "\n" not in message
    assert key == command.get("key", "")
    step = session.snapshot.frame.step
    wait_for(lambda: session.snapshot.frame.step > step)


def test_divergence_pauses_with_an_error_and_reset_recovers(running):
    world = FragileWorld()
    session, _ = running(world)
    wait_for(lambda: session.state["error"])
    assert "unstable" in session.state["error"]
    assert not session.state["playing"]
    send_command(session, type="play")  # cannot play on
    time.sleep(0.1)
    assert not session.state["playing"]
    world.diverges = False
    send_command(session, type="reset")
    wait_for(lambda: session.state["error"] is None)
    send_command(session, type="play")
    wait_for(lambda: session.snapshot.frame.step > 6)


def test_loading_a_scene_and_an_unknown_one(running):
    session, log = running()
    wait_for(lambda: session.snapshot.frame.step > 3)
    send_command(session, **pull_command())
    set_parameter(session, "beam/material/young", 5e5)
    send_command(session, type="load_scene", name="nowhere")
    wait_for(lambda: log.failures)
    assert session.snapshot.epoch == 1
    send_command(session, type="load_scene", name="test")
    wait_for(lambda: session.snapshot.epoch == 2)
    assert not session.interaction.pulls
    wait_for(lambda: session.state["values"]["beam/material/young"] == 2e5)
    assert session.state["busy"] is None
    assert len(session.snapshot.samples) <= session.snapshot.seq


def test_compilation_during_a_snapshot_clears_the_busy_state(running):
    """The first snapshot of a world compiles kernels too (energies, stresses), with no step after it while paused."""

    class CompilingWorld:
        world, compiles = make_world(), False

        def __getattr__(self, name):
            return getattr(self.world, name)

        def frame(self):
            if self.compiles and threading.current_thread().name == "continua-simulation":
                _listener.announce("energy")
                busy_texts.append(session.state["busy"])
            return self.world.frame()

    busy_texts, world = [], CompilingWorld()
    session, _ = running(world)
    wait_for(lambda: session.snapshot.frame.step > 0)
    send_command(session, type="pause")
    wait_for(lambda: not session.state["playing"])
    world.compiles = True
    send_command(session, type="reset")
    wait_for(lambda: busy_texts)
    assert busy_texts[0].startswith("compiling")
    wait_for(lambda: session.state["busy"] is None)


def test_busy_state_counts_parts_and_forgets_them():
    """Compilation is reported as "compiling 3 of 12, about 20 s left"."""
    states = []
    busy = BusyState(lambda: states.append(busy.describe()))
    unknown = {"progress": None, "done": None, "total": None, "secondsLeft": None, "cancellable": False}
    assert busy.describe() == {"busy": None, **unknown}
    busy.report("compiling", done=3, total=12, seconds_left=20.0)
    counts = {"progress": 0.25, "done": 3, "total": 12, "secondsLeft": 20.0}
    assert states == [{"busy": "compiling", **unknown, **counts}]
    busy.report("settling")
    assert states[-1] == {"busy": "settling", **unknown}
    busy.report("compiling", done=0, total=0)
    assert states[-1]["progress"] == 0.0
    busy.clear()
    assert busy.describe() == {"busy": None, **unknown}
