"""Energy books: what a body loses on the floor is the work of friction, mu m g s, and what an impact takes, 1 - e^2."""

import numpy as np
import pytest

import continua as ct


def _mean(body, values):
    """The mean over the mass."""
    return float(body._node_mass @ values) / body.mass_total


@pytest.mark.parametrize(("integrator", "tolerance"), [("implicit_euler", 1e-4), ("newmark", 2e-3)])
def test_a_soft_block_that_slides_to_rest_loses_the_work_of_friction(integrator, tolerance):
    """Forces of contact times motion, step by step: friction only takes, and energy with what it took never rises."""
    friction, speed, dt = 0.4, 1.5, 0.01
    block = ct.SoftBody(
        ct.mesh.box(size=(0.3, 0.1, 0.2), cells=(6, 2, 4)),
        material=ct.Corotated(young=1e6),
        integrator=integrator,
        name="block",
    )
    world = ct.World([block], colliders=[ct.Plane(friction=friction)], dt=dt)
    world.settle()
    block._v[:, 0] = speed
    block._stepper.restart(block._v)
    start, first = _mean(block, block._x[:, 0]), sum(world.energy().values())
    kinetic = 0.5 * block.mass_total * speed**2
    last, taken = first, 0.0
    for _ in range(80):
        before = block._x.copy()
        (report,) = world.step()
        assert not report.warnings
        work = -float((block._contact_force * (block._x - before)).sum())
        assert work > -1e-9 * kinetic
        now = sum(world.energy().values())
        assert now + work <= last + 1e-6 * kinetic
        last, taken = now, taken + work
    path = _mean(block, block._x[:, 0]) - start
    expected = friction * 9.81 * block.mass_total * path
    assert taken == pytest.approx(expected, rel=tolerance)
    if integrator == "implicit_euler":  # m |dv|^2 / 2 in every step, with dv = mu g dt, until it stands
        expected += 0.5 * block.mass_total * speed * friction * 9.81 * dt
    assert first - last == pytest.approx(expected, rel=2e-3)
    assert path == pytest.approx(speed**2 / (2.0 * friction * 9.81), rel=0.03)
    assert world.energy()["kinetic"] < 2e-4 * kinetic


def test_a_rigid_block_that_slides_to_rest_loses_the_work_of_friction():
    friction, speed, dt = 0.4, 1.5, 0.001
    block = ct.RigidBody(
        ct.Box((0, 0.05, 0), (0.3, 0.1, 0.2)), density=1000.0, velocity=(speed, 0, 0), name="block"
    )
    world = ct.World([block], colliders=[ct.Plane(friction=friction)], dt=dt)
    start, first = block.center_of_mass[0], sum(world.energy().values())
    last = first
    for _ in range(500):
        world.step()
        now = sum(world.energy().values())
        assert now <= last + 1e-9 * first
        last = now
    path = block.center_of_mass[0] - start
    assert first - last == pytest.approx(friction * 9.81 * block.mass_total * path, rel=3e-3)
    assert path == pytest.approx(speed**2 / (2.0 * friction * 9.81), rel=3e-3)


def test_friction_between_two_soft_blocks_takes_what_they_lose():
    """A block slides on a longer one on a smooth floor until both move alike, and m1 m2 v^2 / 2 (m1 + m2) is lost."""
    low = ct.SoftBody(
        ct.mesh.box(size=(0.8, 0.05, 0.2), cells=(12, 1, 3)), material=ct.Corotated(young=3e6), name="low"
    )
    high = ct.SoftBody(
        ct.mesh.box(size=(0.2, 0.05, 0.15), cells=(4, 1, 3)).transformed(translate=(0.05, 0.052, 0.025)),
        material=ct.Corotated(young=3e6),
        name="high",
    )
    smooth = {("low", "floor"): {"friction": 0.0}, ("high", "floor"): {"friction": 0.0}}
    floor = ct.Plane(name="floor")
    world = ct.World([low, high], colliders=[floor], dt=0.005, contact=ct.Contact(friction=0.5, pairs=smooth))
    for _ in range(20):
        world.step()  # comes to rest
    high._v[:, 0] += 1.0
    high._stepper.restart(high._v)
    first = last = sum(world.energy().values())
    momentum, taken = high.mass_total * _mean(high, high._v[:, 0]), 0.0
    for _ in range(50):
        before = low._x.copy(), high._x.copy()
        reports = world.step()
        assert not any(report.warnings for report in reports)
        # The faces stay flat: edges of the two meshes that pass each other do not catch.
        along, up, _ = high._contact_force.sum(axis=0)
        assert abs(along) <= 1.02 * 0.5 * up
        taken -= sum(
            float((body._contact_force * (body._x - x)).sum())
            for body, x in zip((low, high), before, strict=True)
        )
        now = sum(world.energy().values())
        assert now <= last + 1e-6 * first
        last = now
    v_low, v_high = _mean(low, low._v[:, 0]), _mean(high, high._v[:, 0])
    both = low.mass_total + high.mass_total
    assert v_low == pytest.approx(momentum / both, rel=1e-3)
    assert v_high == pytest.approx(v_low, rel=0.01)
    loss = 0.5 * low.mass_total * high.mass_total / both * 1.0**2
    assert taken == pytest.approx(loss, rel=0.05)
    assert first - last == pytest.approx(loss, rel=0.02)


@pytest.mark.parametrize("restitution", [0.3, 0.6, 0.9])
def test_a_stiff_soft_block_bounces_with_the_square_of_the_restitution(restitution):
    """It falls flat by 0.2 m; sound crosses it in a tenth of a step, so it bounces as if it was rigid."""
    block = ct.SoftBody(
        ct.mesh.box(size=(0.1, 0.1, 0.1), cells=(2, 2, 2)).transformed(translate=(0, 0.2, 0)),
        material=ct.Corotated(young=1e7),
        name="block",
    )
    floor = ct.Plane(friction=0.0, restitution=restitution)
    world = ct.World([block], colliders=[floor], dt=0.01)
    speeds = []
    for _ in range(26):  # it falls for 0.2 s
        world.step()
        speeds.append(_mean(block, block._v[:, 1]))
    impact = int(np.argmin(speeds))
    energy = max(speeds[impact:]) ** 2 / speeds[impact] ** 2
    assert energy == pytest.approx(restitution**2, rel=0.1)
