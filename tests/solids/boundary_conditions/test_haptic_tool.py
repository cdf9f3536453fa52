"""A tool in the hand: its force at rest, between steps, across threads, and around a cycle."""

import threading
import time

import numpy as np
import pytest

import continua as ct

START = np.array([1.0, 0.1, 0.1])


def bar(**options):
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.2, 0.2), cells=(8, 2, 2)),
        material=ct.Corotated(young=1e5, poisson=0.3, density=200.0),
        damping=(2.0, 0.01),
        name="bar",
        **options,
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    return body, ct.World([body], gravity=(0, 0, 0), dt=0.02)


@pytest.mark.parametrize("grip", ["point", "nodes"])
def test_a_tool_held_still_feels_the_static_reaction(grip):
    body, world = bar()
    if grip == "point":
        tool = body.haptic_tool(point=START, stiffness=500.0)
    else:
        tool = body.haptic_tool(lambda x: x[:, 0] > 1 - 1e-9, stiffness=500.0)
    np.testing.assert_allclose(tool.position, START, atol=1e-12)
    for _ in range(400):
        felt = tool.move(START + [0.0, 0.05, 0.0])
        world.step()
    pin = body._constraints[0].reaction
    other, still = bar()
    if grip == "point":
        other.pull(point=START, target=START + [0.0, 0.05, 0.0], stiffness=500.0)
    else:
        for node in np.flatnonzero(other.rest_positions[:, 0] > 1 - 1e-9):
            other.pull(int(node), target=other.rest_positions[node] + [0, 0.05, 0], stiffness=500.0 / 9)
    still.settle(rtol=1e-8)
    expected = other._constraints[0].reaction
    assert np.linalg.norm(expected) > 0.5
    np.testing.assert_allclose(tool.force, expected, atol=0.01 * np.linalg.norm(expected))
    np.testing.assert_allclose(pin, tool.force, atol=0.01 * np.linalg.norm(expected))
    np.testing.assert_allclose(felt, tool.force, atol=0.01 * np.linalg.norm(expected))


def test_between_steps_the_force_is_what_the_next_step_will_find():
    """From rest exactly; on the way, where the body has a speed of its own, closer than the springs alone."""
    body, world = bar()
    tool = body.haptic_tool(point=START, stiffness=2000.0)
    world.step()
    errors, stiff = [], []
    for k in range(1, 40):
        position = START + [0.0, 0.0005 * k, 0.0]
        record = tool._record
        tool.move(position)
        predicted = np.array(record.force) - np.array(record.stiffness) * (position - record.position)
        springs = np.array(record.force) - tool.stiffness * (position - record.position)
        world.step()
        errors.append(abs(predicted[1] - tool.force[1]))
        stiff.append(abs(springs[1] - tool.force[1]))
    assert errors[0] < 1e-6
    assert np.mean(errors) < 0.7 * np.mean(stiff)
    assert 0.0 < record.stiffness[1] < tool.stiffness


def test_stiffness_is_the_derivative_of_the_steps_force():
    """K is d force / d tool over one step: against two worlds whose tools differ a little."""
    forces, records = [], []
    for offset in (0.0, 1e-3):
        body, world = bar(solver=ct.PCG(rtol=1e-10))
        tool = body.haptic_tool(point=START, stiffness=2000.0)
        tool.move(START + [0.0, 0.01 + offset, 0.0])
        world.step()
        forces.append(tool.force[1])
        records.append(tool._record)
    slope = -(forces[1] - forces[0]) / 1e-3
    assert records[0].stiffness[1] == pytest.approx(slope, rel=1e-6)


def test_line_through_the_last_two_forces():
    """G14: f + (s/dt)(f - f_before) at 0, dt/2 and dt, and no further."""
    body, world = bar()
    tool = body.haptic_tool(point=START)
    tool.move(START + [0, 0.02, 0])
    world.step()
    first = tool.force
    world.step()
    second = tool.force
    for part, expected in ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (2.0, 1.0)):
        np.testing.assert_allclose(tool.force_after(0.02 * part), second + expected * (second - first))


def test_an_impulse_gives_its_momentum():
    body = ct.SoftBody(ct.mesh.box(cells=(2, 2, 2)), solver=ct.PCG(rtol=1e-10))
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    body.push(lambda x: x[:, 0] > 0.9, (0.0, 50.0, 0.0), until=0.015)
    blocks = body._stepper.matrix.blocks
    for _ in range(4):
        world.step()
    np.testing.assert_allclose(body._node_mass @ body._v, [0.0, 50.0 * 0.02, 0.0], atol=1e-8)
    assert body._stepper.matrix.blocks is blocks


def run_tool(tool, path, rate, stop):
    """Move a tool along a path at a rate [1/s] from a thread of its own; returns times, positions and forces."""
    log = []

    def work():
        start = time.perf_counter()
        k = 0
        while not stop.is_set():
            now = time.perf_counter() - start
            position = path(now)
            log.append((now, *position, *tool.move(position)))
            k += 1
            time.sleep(max(0.0, start + k / rate - time.perf_counter()))

    thread = threading.Thread(target=work)
    thread.start()
    return thread, log


def test_a_thread_moves_the_tool_a_thousand_times_a_second_while_the_body_steps_slowly():
    """A press and release against a body that steps 30 times a second: no jumps, and no energy comes out of it."""
    body, world = bar()
    tool = body.haptic_tool(point=START, stiffness=500.0)
    world.step()
    stop = threading.Event()
    depth, period = 0.05, 1.0

    def path(now):
        return START + np.array(
            [0.0, -0.5 * depth * (1.0 - np.cos(2 * np.pi * min(now, period) / period)), 0.0]
        )

    thread, log = run_tool(tool, path, 1000.0, stop)
    try:
        for _ in range(45):
            begin = time.perf_counter()
            world.step(1.0 / 30.0)
            time.sleep(max(0.0, 1.0 / 30.0 - (time.perf_counter() - begin)))
    finally:
        stop.set()
        thread.join()
    data = np.array(log)
    y, force = data[:, 2], data[:, 5]
    assert len(data) > 300
    largest = np.abs(force).max()
    assert largest > 0.5
    # between two calls the force changes with the tool's way, and by a small part of what a step corrects
    pauses = np.diff(data[:, 0])
    smooth = pauses < 0.005
    jump = np.abs(np.diff(force)) - tool.stiffness * np.abs(np.diff(y))
    assert jump[smooth].max() < 0.2 * largest
    work = -np.trapezoid(force, y)  # done by the hand on the tool
    assert work > -0.05 * largest * depth
    assert abs(force[-1]) < 0.1 * largest


def test_a_removed_handle_lets_go_and_bad_ones_are_refused():
    body, world = bar()
    tool = body.haptic_tool(point=START)
    tool.remove()
    assert not body._pulls
    assert not body._haptic_tools
    world.step()
    for arguments in ({}, {"where": [1], "point": START}):
        with pytest.raises(ct.InputError, match="either nodes or a point"):
            body.haptic_tool(**arguments)
    with pytest.raises(ct.InputError, match="no node"):
        body.haptic_tool(lambda x: x[:, 0] > 9)
    with pytest.raises(ct.InputError, match="three finite numbers"):
        body.haptic_tool(point=START).move((0.0, np.nan, 0.0))
    with pytest.raises(ct.InputError, match="stiffness"):
        body.haptic_tool(point=START, stiffness=-1.0)
