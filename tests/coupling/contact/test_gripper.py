"""A rigid ball between two soft pads: it is held if friction allows, slips if not, and the run can be resumed."""

import numpy as np
import pytest

import continua as ct

RADIUS, DEPTH, WIDTH, WEIGHT = 0.04, 0.02, 0.05, 2.6


def _gripper(dt, friction, squeeze=0.008, box=False):
    """Return a world in which the pads close in 0.2 s; below a box lies a floor that falls away at 0.3 s."""
    bodies = []
    for side, name in ((-1.0, "left"), (1.0, "right")):
        origin = (-RADIUS - DEPTH if side < 0.0 else RADIUS, -0.5 * WIDTH, -0.5 * WIDTH)
        mesh = ct.mesh.box((DEPTH, WIDTH, WIDTH), (3, 6, 6), origin=origin)
        material = ct.Corotated(young=2e5, poisson=0.4, density=1000.0)
        pad = ct.SoftBody(mesh, material=material, damping=(0.5, 0.003), name=name)
        motion = ct.Motion.keyframes([0.0, 0.2], [[0.0, 0.0, 0.0], [-side * squeeze, 0.0, 0.0]])
        pad.drive(lambda x, back=side * (RADIUS + DEPTH): np.abs(x[:, 0] - back) < 1e-9, motion)
        bodies.append(pad)
    size = 2.0 * RADIUS
    shape = ct.Box((0.0, 0.0, 0.0), (size,) * 3) if box else ct.Sphere((0.0, 0.0, 0.0), RADIUS)
    volume = size**3 if box else 4.0 / 3.0 * np.pi * RADIUS**3
    held = ct.RigidBody(shape, density=WEIGHT / 9.81 / volume, name="held")
    floor = ct.Plane(
        (0.0, -RADIUS, 0.0),
        motion=ct.Motion.keyframes([0.3, 0.4], [[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
        name="floor",
    )
    pairs = {(name, "floor"): {"collide": False} for name in ("left", "right")}
    contact = ct.Contact(friction=friction, pairs=pairs if box else {})
    return ct.World([*bodies, held], colliders=[floor] if box else [], dt=dt, contact=contact), held


@pytest.mark.parametrize("dt", [0.005, 0.01])
def test_a_firm_grip_holds_the_ball_still(dt):
    world, ball = _gripper(dt, 0.8)
    for _ in range(round(0.7 / dt)):
        world.step()
    start = ball.center_of_mass
    for _ in range(round(0.2 / dt)):
        reports = world.step()
        assert not any(report.warnings for report in reports)
        assert np.abs(ball.velocities).max() < 1e-4
    grip = abs(reports[0].contact_force[0])
    assert grip > 30.0 * WEIGHT
    assert reports[2].contact_force[1] == pytest.approx(WEIGHT, rel=1e-3)
    assert np.abs(ball.center_of_mass - start).max() < 0.2 * 2e-5  # below 0.02 mm/s


@pytest.mark.parametrize(("factor", "slips"), [(0.5, True), (2.5, False)])
def test_a_box_slips_below_the_limit_of_friction(factor, slips):
    """Two flat pads of grip N carry a weight up to 2 mu N."""
    world, _ = _gripper(0.01, 0.5, 0.002, box=True)
    for _ in range(28):
        reports = world.step()
    friction = factor * WEIGHT / (2.0 * abs(reports[0].contact_force[0]))
    world, held = _gripper(0.01, friction, 0.002, box=True)
    for _ in range(35):
        reports = world.step()
    fallen = -held.center_of_mass[1]
    if slips:
        limit = 2.0 * friction * abs(reports[0].contact_force[0])
        assert reports[2].contact_force[1] == pytest.approx(limit, rel=1e-3)
        time = 5.5 * 0.01  # from 0.3 s on; implicit Euler moves by the new velocities
        assert fallen == pytest.approx(0.5 * (9.81 * (1.0 - limit / WEIGHT)) * time * 0.06, rel=0.2)
        return
    assert 0.0 <= fallen < 4e-4  # the shear of the pads
    for _ in range(40):
        world.step()
    assert -held.center_of_mass[1] == pytest.approx(fallen, abs=1e-4)
    assert np.abs(held.velocities).max() < 1e-3


def test_a_grip_continues_bitwise_from_its_state():
    world, _ = _gripper(0.01, 0.8)
    for _ in range(15):
        world.step()
    state = world.state()
    twin, _ = _gripper(0.01, 0.8)
    twin.restore(state)
    for _ in range(8):
        world.step()
        twin.step()
    one, other = world.state(), twin.state()
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], err_msg=key)
