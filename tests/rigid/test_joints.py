"""Joints hold, leave their degrees of freedom free, and add no energy."""

from itertools import pairwise

import numpy as np
import pytest

import continua as ct
from continua import joints


def _run(world, seconds, dt=0.01, each=lambda: None):
    for _ in range(round(seconds / dt)):
        world.step(dt)
        each()


def _chain(count, heavy=None):
    links = ct.RigidInstances(
        ct.Capsule((0.02, 0, 0), (0.08, 0, 0), 0.015),
        [[0.1 * i, 0, 0] for i in range(count)],
        density=1000.0,
        name="links",
    )
    ties = [joints.Ball((links, 0), None, point=(0, 0, 0))]
    ties += [joints.Ball((links, i), (links, i - 1), point=(0.1 * i, 0, 0)) for i in range(1, count)]
    bodies = [links]
    if heavy is not None:
        ball = ct.RigidBody(
            ct.Sphere((0.1 * count + 0.1, 0, 0), 0.1), mass=heavy * links.mass_each, name="ball"
        )
        ties.append(joints.Ball(ball, (links, count - 1), point=(0.1 * count, 0, 0)))
        bodies.append(ball)
    return ct.World(bodies, joints=ties)


@pytest.mark.parametrize("heavy", [None, 1e4])
def test_the_joints_of_a_chain_of_100_links_hold(heavy):
    world = _chain(100, heavy)
    worst = [0.0]
    _run(world, 0.5, each=lambda: worst.append(world.system(ct.RigidBody).rigid.joints.error))
    assert max(worst) < 1e-6


def test_a_pendulum_swings_with_the_period_of_the_textbook():
    bob = ct.RigidBody(ct.Sphere((0.05, -1.0, 0.0), 0.05), mass=1.0)
    world = ct.World([bob], joints=[joints.Ball(bob, None, point=(0.0, 0.0, 0.0))])
    length = np.hypot(0.05, 1.0)
    signs = []
    _run(world, 6.1, each=lambda: signs.append((world.time, bob.center_of_mass[0])))
    crossings = [t0 + (t1 - t0) * x0 / (x0 - x1) for (t0, x0), (t1, x1) in pairwise(signs) if x0 > 0.0 >= x1]
    inertia = length**2 + 0.4 * 0.05**2
    period = 2.0 * np.pi * np.sqrt(inertia / (9.81 * length)) * (1.0 + 0.05**2 / 16.0)
    assert np.diff(crossings).mean() == pytest.approx(period, rel=2e-4)
    assert np.abs([x for _, x in signs]).max() < 0.0501  # and gains nothing


def test_a_hinge_lets_a_door_rotate_about_its_axis_only():
    door = ct.RigidBody(ct.Box((0.5, 0, 0), (1.0, 2.0, 0.1)), density=500.0)
    hinge = joints.Hinge(door, None, point=(0, 0, 0), axis=(0, 1, 0), limits=(-0.5, 0.5))
    world = ct.World([door], joints=[hinge])
    door.push(torque=(100.0, 40.0, 50.0))
    _run(world, 3.0)
    turn = door.rotation
    assert turn[:, 1] == pytest.approx([0, 1, 0], abs=1e-8)
    assert np.arctan2(-turn[2, 0], turn[0, 0]) == pytest.approx(0.5, abs=1e-6)
    assert world.system(ct.RigidBody).rigid.joints.error < 1e-8


def test_a_motor_applies_its_torque_up_to_its_speed():
    wheel = ct.RigidBody(ct.Cylinder((0, 0, 0), axis=(0, 0, 1), radius=0.5, height=0.1), mass=8.0)
    hinge = joints.Hinge(wheel, None, axis=(0, 0, 1))
    world = ct.World([wheel], joints=[hinge, joints.Motor(hinge, speed=3.0, strength=2.0)])
    _run(world, 0.5)
    assert wheel.angular_velocity[2] == pytest.approx(
        0.5 * 2.0 / (0.5 * 8.0 * 0.25), rel=1e-6
    )  # torque over inertia
    _run(world, 1.5)
    assert wheel.angular_velocity[2] == pytest.approx(3.0, rel=1e-6)


def test_a_slider_slides_and_stops_at_its_limit():
    block = ct.RigidBody(ct.Box(size=(0.2, 0.2, 0.2)), mass=1.0)
    slope = np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
    world = ct.World([block], joints=[joints.Slider(block, None, axis=tuple(slope), limits=(0.0, 1.0))])
    _run(world, 0.3)
    assert block.velocity @ slope == pytest.approx(9.81 / np.sqrt(2.0) * 0.3, rel=1e-6)
    _run(world, 1.5)
    assert block.center_of_mass == pytest.approx(slope, abs=1e-6)
    assert block.rotation == pytest.approx(np.eye(3), abs=1e-8)


def test_fixed_bodies_fall_as_one_and_keep_their_momentum():
    one = ct.RigidBody(ct.Box((0, 0, 0), (0.2, 0.2, 0.2)), mass=1.0, angular_velocity=(0, 0, 5.0))
    other = ct.RigidBody(ct.Box((0.5, 0, 0), (0.2, 0.2, 0.2)), mass=3.0)
    world = ct.World([one, other], joints=[joints.Fixed(one, other)], gravity=(0, 0, 0))

    def momentum():
        total = np.zeros(3)
        for body in (one, other):
            turn = body.rotation
            total += body.mass * np.cross(body.center_of_mass, body.velocity) + turn @ (
                body.inertia * (turn.T @ body.angular_velocity)
            )
        return total

    before = momentum()
    _run(world, 2.0)
    assert one.mass * one.velocity + other.mass * other.velocity == pytest.approx(np.zeros(3), abs=1e-11)
    assert momentum() == pytest.approx(before, rel=1e-3)
    assert np.linalg.norm(one.center_of_mass - other.center_of_mass) == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("up", [-1.0, 1.0])
def test_a_loop_of_hinges_is_stable(up):
    # four bars and the ground: in space the five rows of each hinge are more than the loop needs; upright, it falls
    # through the place where all bars lie in one line and the loop is singular
    corners = np.array([[0, 0, 0], [0, up, 0], [1, up, 0], [1, 0, 0]], float)
    bars = [
        ct.RigidBody(ct.Capsule(tuple(a), tuple(b), 0.05), density=1000.0, name=f"bar{i}")
        for i, (a, b) in enumerate(pairwise(corners))
    ]
    ends = [None, *bars, None]
    ties = [
        joints.Hinge(
            b if b is not None else a, a if b is not None else None, point=tuple(point), axis=(0, 0, 1)
        )
        for (a, b), point in zip(pairwise(ends), corners, strict=True)
    ]
    bars[1].velocity = (0.5, 0.0, 0.0)
    world = ct.World(bars, joints=ties)
    start = sum(world.energy().values())
    worst, energies = [0.0], []

    def look():
        worst.append(world.system(ct.RigidBody).rigid.joints.error)
        energies.append(sum(world.energy().values()))

    _run(world, 3.0, each=look)
    assert max(worst) < (1e-6 if up < 0.0 else 1e-3)
    scale = sum(bar.mass for bar in bars) * 9.81
    assert max(energies) < start + 0.05 * scale
