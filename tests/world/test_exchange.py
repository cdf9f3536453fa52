"""Forces that act for one step alone."""

import numpy as np

import continua as ct


def test_added_forces_act_on_soft_and_rigid_bodies_for_one_step():
    soft = ct.SoftBody(
        ct.mesh.box(size=(0.1, 0.1, 0.1), cells=(1, 1, 1)),
        material=ct.Corotated(young=1e5),
        mass="lumped",
        name="soft",
    )
    ball = ct.RigidBody(ct.Sphere(center=(3, 0, 0), radius=0.1), mass=2.0, name="ball")
    world = ct.World([soft, ball], gravity=(0, 0, 0), dt=0.01)
    calls = []

    def give(dt):
        calls.append(dt)
        if len(calls) == 1:
            soft.add_external_force(np.outer(soft._node_mass, [1.0, 0, 0]))  # 1 m/s2
            ball.add_external_force((4.0, 0, 0))
            ball.add_external_force(torque=(0, 0.5, 0))

    world.add_pre_step_callback(give)
    for _ in range(3):
        world.step()
    assert calls == [0.01] * 3
    momentum = soft._node_mass @ soft.velocities
    np.testing.assert_allclose(momentum, [0.01 * soft.mass_total, 0, 0], atol=1e-10 * soft.mass_total)
    np.testing.assert_allclose(ball.velocity, [0.02, 0, 0], atol=1e-12)
    np.testing.assert_allclose(ball.angular_velocity, [0, 0.005 / (0.4 * 2.0 * 0.01), 0], atol=1e-12)
