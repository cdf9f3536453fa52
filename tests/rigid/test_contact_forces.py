"""Contact forces of rigid bodies in reports, frames and files."""

import numpy as np

import continua as ct


def test_contact_forces_of_a_stack_are_the_weights_above():
    boxes = ct.RigidInstances(
        ct.Box(size=(1, 1, 1)), [[0, 0.5 + i, 0] for i in range(3)], density=1000.0, name="boxes"
    )
    world = ct.World([boxes], colliders=[ct.Plane()])
    for _ in range(30):
        (report,) = world.step(0.01)
    weight = 9.81 * boxes.mass_each
    np.testing.assert_allclose(report.contact_force, [0, 3 * weight, 0], atol=1e-9 * weight)
    told = world.frame()["boxes"].contacts
    height = told.points[:, 1]
    floor, lower, upper = (told.forces[np.abs(height - y) < 1e-6] for y in (0.0, 1.0, 2.0))
    np.testing.assert_allclose(floor.sum(axis=0), [0, 3 * weight, 0], atol=1e-6 * weight)
    for forces, carried in ((lower, 2 * weight), (upper, weight)):
        up = forces[forces[:, 1] > 0]
        np.testing.assert_allclose(up.sum(axis=0), [0, carried, 0], atol=1e-6 * weight)
        np.testing.assert_allclose(forces.sum(axis=0), 0, atol=1e-9 * weight)  # action and reaction
    np.testing.assert_allclose(
        world.frame()["boxes"]["contact_force"].sum(axis=0), told.forces.sum(axis=0), atol=1e-9 * weight
    )


def test_the_impulse_of_contact_forces_is_the_change_of_momentum_of_a_bouncing_ball():
    ball = ct.RigidBody(
        ct.Sphere((0, 0.3, 0), 0.1), density=1000.0, velocity=(2, -3, 0), friction=0.4, restitution=0.7
    )
    world = ct.World([ball], colliders=[ct.Plane()])
    before, impulse = ball.mass * ball.velocity, np.zeros(3)
    for _ in range(60):
        (report,) = world.step(0.01)
        impulse += 0.01 * np.array(report.contact_force)
    gravity = ball.mass * world.time * np.array([0, -9.81, 0])
    np.testing.assert_allclose(before + impulse + gravity, ball.mass * ball.velocity, atol=1e-9)
    assert impulse[1] > ball.mass * 3


def test_a_rigid_body_on_a_soft_one_has_contact_points_and_forces():
    block = ct.SoftBody(
        ct.mesh.box(size=(0.4, 0.2, 0.4), cells=(4, 2, 4)),
        material=ct.Corotated(young=5e4),
        damping=(5.0, 0.01),
    )
    block.pin(lambda x: x[:, 1] < 1e-6)
    brick = ct.RigidBody(ct.Box((0.2, 0.26, 0.2), (0.15, 0.1, 0.15)), density=1000.0, name="brick")
    world = ct.World([block, brick], dt=0.01)
    for _ in range(60):
        reports = world.step()
    told = world.frame()["brick"].contacts
    np.testing.assert_allclose(told.forces.sum(axis=0), reports[1].contact_force, atol=1e-9)
    np.testing.assert_allclose(told.points[:, 1], 0.2, atol=0.02)
    on_block = world.frame()["block"].contacts
    np.testing.assert_allclose(on_block.forces.sum(axis=0), -told.forces.sum(axis=0), atol=1e-9)
    moments = [np.cross(c.points, c.forces).sum(axis=0) for c in (told, on_block)]
    np.testing.assert_allclose(moments[0], -moments[1], atol=1e-2 * np.abs(moments[0]).max())
    world.reset()
    assert not len(world.frame()["brick"].contacts)


def test_anchor_lines_lead_from_the_joint_to_the_centres():
    rod = ct.RigidBody(ct.Box((0.5, 0, 0), (1, 0.1, 0.1)), density=1000.0, name="rod")
    other = ct.RigidBody(ct.Box((1.5, 0, 0), (1, 0.1, 0.1)), density=1000.0, name="other")
    ties = [ct.joints.Ball(rod, None, point=(0, 0, 0)), ct.joints.Ball(other, rod, point=(1, 0, 0))]
    world = ct.World([rod, other], joints=ties)
    for _ in range(20):
        world.step(0.01)
    lines = world.frame().joints
    np.testing.assert_allclose(
        lines[:, 1], [rod.center_of_mass, other.center_of_mass, rod.center_of_mass], atol=1e-12
    )
    np.testing.assert_allclose(lines[0, 0], [0, 0, 0], atol=1e-7)
    np.testing.assert_allclose(lines[1, 0], lines[2, 0], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1), 0.5, atol=1e-9)
