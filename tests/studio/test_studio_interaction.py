"""Interaction with a running world: the probe, pinned nodes, and a client that disconnects during a drag."""

import time

import numpy as np
import pytest
from studio_world import ListenerLog, make_session, make_world
from test_studio_page import browser, opened, serving, until  # noqa: F401

import continua as ct
from continua.studio.interaction.probe import Probe
from continua.studio.protocol import PinNode, ProbeBegin, ProbeMove, PullBegin, PullMove, Reset


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def stiff_world():
    """Return a stiff beam that is pinned at its left end, without gravity."""
    beam = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(6, 2, 2)),
        material=ct.Corotated(young=1e6, poisson=0.3, density=100.0),
        damping=(5.0, 0.0),
        name="beam",
    )
    beam.pin(where=lambda x: x[:, 0] < 1e-6)
    return ct.World([beam], dt=0.01, gravity=(0.0, 0.0, 0.0), name="beam test")


def test_probe_force_equals_the_reaction_of_the_pin():
    world = stiff_world()
    (beam,) = world.soft_bodies
    probe = Probe(world, 1, (0.95, 0.35, 0.1), 0.1, (0.0, 1.0, 0.0))
    probe.target = np.array([0.95, 0.2, 0.1])  # 0.1 m below where it touches
    for _ in range(150):
        probe.plan_step(world)
        world.step()
    assert probe.position == pytest.approx([0.95, 0.2, 0.1])
    tip = beam.positions[np.isclose(beam.rest_positions[:, 0], 1.0) & (beam.rest_positions[:, 1] > 0.19)]
    assert tip[:, 1].max() < 0.13  # it was 0.2
    distances = np.linalg.norm(beam.positions - probe.position, axis=1)
    assert distances.min() > 0.1 - 1e-3  # nothing is inside the ball
    # at rest the pin carries the force of the ball
    reaction = beam.attached[0].reaction
    assert probe.force == pytest.approx(reaction, rel=0.05, abs=0.05 * np.linalg.norm(reaction))
    assert probe.force[1] > 1.0
    probe.remove()
    probe.remove()
    for _ in range(200):
        world.step()
    assert np.abs(beam.positions - beam.rest_positions).max() < 1e-3


def test_temporary_collider_without_contact_does_not_change_the_world():
    one, two = make_world(), make_world()
    for number in range(12):
        one.step()
        if number == 4:
            back = two.add_temporary_collider(ct.Sphere((50.0, 50.0, 50.0), 1.0))
        if number == 9:
            back()
        two.step()
    assert np.array_equal(one.soft_bodies[0].positions, two.soft_bodies[0].positions)


def test_probe_starts_outside_of_bodies_and_has_a_speed_limit():
    world = stiff_world()
    probe = Probe(world, 1, (0.5, 0.1, 0.1), 0.1, (0.0, 0.0, 1.0))
    nodes = world.soft_bodies[0].positions
    assert np.linalg.norm(nodes - probe.position, axis=1).min() > 0.1
    start = probe.position
    probe.target = start + [10.0, 0.0, 0.0]
    probe.plan_step(world)
    world.step()
    assert np.linalg.norm(probe.position - start) == pytest.approx(20 * 0.1 * 0.01)


@pytest.fixture
def session():
    session = make_session()
    session.start()
    yield session
    session.stop()


def test_node_is_pinned_and_released_while_running(session):
    log = ListenerLog()
    session.add_listener(1, log.listener)
    beam = session._world.soft_bodies[0]
    node = int(np.argmax(beam.rest_positions @ [1.0, 0.1, 0.1]))
    wait_for(lambda: session.snapshot.frame.step > 5)
    session.submit(1, PinNode(type="pin_node", body="beam", node=node))
    wait_for(lambda: session.snapshot.pinned == (("beam", node),))
    place = session.snapshot.frame["beam"].positions[node].copy()
    step = session.snapshot.frame.step
    wait_for(lambda: session.snapshot.frame.step > step + 20)
    assert session.snapshot.frame["beam"].positions[node] == pytest.approx(place, abs=1e-12)
    assert "beam/boundary/1" in session.snapshot.boundary_forces.forces  # the page lists it with its force
    assert len(session.publisher.panel_message["bodies"][0]["boundaryConditions"]) == 2
    session.submit(1, PinNode(type="pin_node", body="beam", node=node))
    wait_for(lambda: session.snapshot.pinned == ())
    wait_for(lambda: np.abs(session.snapshot.frame["beam"].positions[node] - place).max() > 1e-3)
    session.submit(1, PinNode(type="pin_node", body="beam", node=10_000))
    wait_for(lambda: log.failures)
    assert "nodes 0 to" in log.failures[0][0]
    session.submit(1, PinNode(type="pin_node", body="beam", node=node))
    session.submit(1, Reset(type="reset"))
    wait_for(lambda: len(session.publisher.panel_message["bodies"][0]["boundaryConditions"]) == 1)
    assert session.snapshot.pinned == ()


def test_interaction_of_a_disconnected_client_ends_and_others_continue(session):
    first, second = ListenerLog(), ListenerLog()
    session.add_listener(1, first.listener)
    session.add_listener(2, second.listener)
    grab = {"body": "beam", "triangle": 3, "barycentric": (0.3, 0.3, 0.4), "target": (1.0, 0.5, 0.1)}
    session.submit(1, PullBegin(type="pull_begin", id=1, **grab))
    session.submit(1, ProbeBegin(type="probe_begin", position=(3.0, 3.0, 3.0), radius=0.1, retreat=(0, 1, 0)))
    session.submit(2, PullBegin(type="pull_begin", id=1, **grab))
    wait_for(lambda: len(session.snapshot.pull_forces) == 2 and session.snapshot.probe)
    session.submit(2, ProbeBegin(type="probe_begin", position=(3.0, 3.0, 3.0), radius=0.1, retreat=(0, 1, 0)))
    wait_for(lambda: second.failures)
    assert "another page is using the probe" in second.failures[0][0]
    session.remove_listener(1)
    wait_for(lambda: list(session.snapshot.pull_forces) == [(2, 1)])
    assert session.interaction.probe is None
    step, changes = session.snapshot.frame.step, second.changes
    session.submit(2, PullMove(type="pull_move", id=1, target=(1.0, 0.8, 0.1)))
    session.submit(
        1, ProbeMove(type="probe_move", position=(0.0, 0.0, 0.0))
    )  # it has no effect: the probe is removed
    wait_for(lambda: session.snapshot.frame.step > step + 10)
    assert second.changes > changes
    assert session.interaction.pulls[(2, 1)].target == pytest.approx([1.0, 0.8, 0.1])


@pytest.mark.browser
def test_poke_and_pin_with_the_mouse(browser):  # noqa: F811
    with serving(make_session(stiff_world())) as port, opened(browser, port) as page:
        page.keyboard.press("k")
        x, y = page.evaluate("() => __continua.project(0.9, 0.2, 0.1)")
        page.mouse.move(x, y - 90)
        page.mouse.down()
        page.wait_for_function("() => __continua.frame().probe")
        page.mouse.move(x, y - 30, steps=4)
        page.mouse.move(x, y + 50, steps=12)
        until(page, lambda: np.linalg.norm(page.evaluate("() => __continua.frame().probe.force")) > 0.5)
        until(page, lambda: farthest(page) > 0.03)  # the body gives way
        assert page.locator(".force-tag").inner_text().endswith("N")
        page.mouse.up()
        page.wait_for_function("() => !__continua.frame().probe")
        until(page, lambda: farthest(page) < 0.005)
        page.keyboard.press("i")
        x, y = page.evaluate("() => __continua.project(0.9, 0.1, 0.2)")
        page.mouse.click(x, y)
        page.wait_for_function("() => __continua.frame().pinned.length === 1")
        page.mouse.click(x, y)
        page.wait_for_function("() => __continua.frame().pinned.length === 0")


def farthest(page):
    """Return how far a node is from where it rests, at most."""
    now, rest = (page.evaluate(f"() => __continua.{name}(0)") for name in ("positions", "rest"))
    return float(np.abs(np.subtract(now, rest)).max())


@pytest.mark.browser
def test_record_in_the_page_and_open_the_replay(browser, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    with serving(make_session()) as port, opened(browser, port) as page:
        page.get_by_role("button", name="Export", exact=True).click()
        page.get_by_label("Format").select_option(label="Replay for any browser (HTML)")
        page.get_by_role("button", name="Record").click()
        page.wait_for_function("() => __continua.exports().recording?.frames > 12")
        page.get_by_role("button", name="Stop and write").click()
        page.get_by_role("link", name="beam_test-recorded-html/beam_test.html").wait_for()
    path = next(tmp_path.rglob("*.html"))
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 720})
    replay = context.new_page()
    errors = []
    replay.on("pageerror", lambda error: errors.append(str(error)))
    replay.goto(path.as_uri())
    replay.wait_for_function("() => window.__continua?.frame() && __continua.drawn() > 0")
    replay.wait_for_function("() => __continua.frame().frame > 3")
    replay.keyboard.press("r")
    replay.wait_for_function("() => __continua.frame().frame === 0")
    start = replay.evaluate("() => __continua.positions(0)")
    moment = replay.get_by_label("Time")
    until(replay, lambda: moment.input_value() == "0")  # a slider that is still at its end cannot go there
    moment.press("End")
    replay.wait_for_function("() => __continua.frame().frame > 10")
    end = replay.evaluate("() => __continua.positions(0)")
    assert np.abs(np.subtract(start, end)).max() > 0.01
    replay.get_by_label("Colour by").select_option(label="Displacement")
    assert "Displacement" in replay.locator(".legend").inner_text()
    context.close()
    assert errors == []
