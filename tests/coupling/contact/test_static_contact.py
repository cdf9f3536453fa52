"""Static equilibrium of soft bodies that support each other."""

import numpy as np
import pytest

import continua as ct


def _block(name, move, size=(0.3, 0.1, 0.3), cells=(3, 2, 3), young=1e5):
    mesh = ct.mesh.box(size=size, cells=cells).transformed(translate=move)
    return ct.SoftBody(mesh, material=ct.Corotated(young=young), name=name)


def test_a_block_settles_on_another_with_its_weight():
    """The upper one is kept from sliding off, as nothing rubs: rollers on two of its edges."""
    low = _block("low", (0, 0, 0))
    low.pin(lambda x: x[:, 1] < 1e-6)
    high = _block("high", (0.04, 0.11, 0.05), size=(0.2, 0.1, 0.2), cells=(2, 2, 2))
    high.lock(lambda x: x[:, 0] < 0.04 + 1e-6, "x")
    high.lock(lambda x: x[:, 2] < 0.05 + 1e-6, "z")
    world = ct.World([low, high], dt=0.01, contact=ct.Contact(friction=0.0))
    reports = world.settle()
    assert all(report.converged for report in reports)
    weight = 9.81 * high.mass_total
    assert high._contact_force.sum(axis=0)[1] == pytest.approx(weight, rel=1e-5)
    np.testing.assert_allclose(
        low._contact_force.sum(axis=0), -high._contact_force.sum(axis=0), atol=1e-9 * weight
    )
    where = high.positions
    for _ in range(20):
        world.step()
    assert world.energy()["kinetic"] < 1e-8 * weight * 0.1
    np.testing.assert_allclose(high.positions, where, atol=1e-5)


def test_two_beams_that_sag_onto_each_other_settle_together():
    upper = _block("upper", (0, 0.07, 0), size=(1.0, 0.05, 0.1), cells=(10, 1, 1), young=3e7)
    lower = _block("lower", (0.2, 0, 0), size=(1.0, 0.05, 0.1), cells=(10, 1, 1), young=3e8)
    upper.pin(lambda x: x[:, 0] < 1e-6)
    lower.pin(lambda x: x[:, 0] > 1.2 - 1e-6)
    world = ct.World([upper, lower], dt=0.01, contact=ct.Contact(friction=0.0))
    world.settle()
    force = upper._contact_force.sum(axis=0)
    assert force[1] > 0.5
    np.testing.assert_allclose(lower._contact_force.sum(axis=0), -force, atol=1e-9 * force[1])
    where = upper.positions
    for _ in range(10):
        world.step()
    np.testing.assert_allclose(upper.positions, where, atol=1e-4)


def test_bodies_without_contact_settle_as_alone():
    one, other, alone = _block("one", (0, 0, 0)), _block("other", (1, 0, 0)), _block("alone", (0, 0, 0))
    for body in (one, other, alone):
        body.pin(lambda x: x[:, 0] < x[:, 0].min() + 1e-6)
    ct.World([one, other]).settle()
    ct.World([alone]).settle()
    assert np.array_equal(one.positions, alone.positions)


def test_a_body_without_support_is_reported():
    with pytest.raises(ct.InputError, match="nothing holds it"):
        ct.World([_block("lost", (0, 0, 0))]).settle()


def test_rigid_bodies_that_would_have_to_settle_too_are_refused():
    block = _block("block", (0, 0, 0))
    block.pin(lambda x: x[:, 1] < 1e-6)
    ball = ct.RigidBody(ct.Sphere((0.15, 0.3, 0.15), 0.05), density=1000.0, name="ball")
    with pytest.raises(ct.InputError, match="'block' can touch the rigid 'ball'"):
        ct.World([block, ball]).settle()
    with pytest.raises(ct.InputError, match="only rigid ones"):
        ct.World([ball]).settle()
    apart = ct.World([block, ball], contact=ct.Contact(pairs={("block", "ball"): {"collide": False}}))
    apart.settle()
    assert ball.center_of_mass[1] == 0.3
    assert block.positions[:, 1].max() < 0.1


def test_driven_nodes_inside_a_collider_do_not_touch_it():
    """The end of a bar is held below the floor; the rest lies on it, as after steps with damping."""

    def world():
        mesh = ct.mesh.box((1.0, 0.1, 0.2), (10, 1, 2), origin=(0.0, 0.05, 0.0))
        bar = ct.SoftBody(mesh, material=ct.Corotated(young=1e6), damping=(20.0, 0.0), name="bar")
        bar.pin(lambda x: x[:, 0] < 1e-6)
        down = ct.Motion.keyframes([0.0, 0.2], [[0.0, 0.0, 0.0], [0.0, -0.1, 0.0]])
        bar.drive(lambda x: x[:, 0] > 1.0 - 1e-6, down)
        return ct.World([bar], colliders=[ct.Plane()], dt=0.01, contact=ct.Contact(friction=0.0))

    stepped, settled = world(), world()
    for _ in range(200):
        stepped.step()
    for _ in range(25):
        settled.step()
    (report,) = settled.settle()
    assert report.converged
    assert report.contacts > 0
    bar = settled.bodies[0]
    free = bar.rest_positions[:, 0] < 1.0 - 1e-6
    assert bar.positions[~free, 1].min() < -0.04
    assert bar.positions[free, 1].min() > -1e-6
    np.testing.assert_allclose(bar.positions, stepped.bodies[0].positions, atol=1e-4)
