"""Energy books: what a body loses on the floor is the work of friction, mu m g s, and what an impact takes, 1 - e^2."""

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
