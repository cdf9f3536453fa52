"""Incompressible bodies in contact with others: compressible ones of any stiffness, and rigid ones."""

import numpy as np
import pytest

import continua as ct


def _momentum(bodies):
    return np.array([body._node_mass @ body.velocities for body in bodies]).sum(axis=0)


@pytest.mark.parametrize(("young", "dt"), [(3e4, 0.004), (3e6, 0.004), (3e7, 0.01)])
def test_momentum_is_kept_and_energy_does_not_grow(young, dt):
    """A partner held in the projections changed the momentum by seven times its size at 3e4 Pa."""
    ball = ct.SoftBody(
        ct.mesh.sphere(radius=0.3, cells=2),
        material=ct.NeoHookean(young=3e4),
        incompressible=True,
        name="ball",
    )
    mesh = ct.mesh.sphere(radius=0.2, cells=2).transformed(translate=(0.1, 0.55, 0.05))
    partner = ct.SoftBody(mesh, material=ct.Corotated(young=young), name="partner")
    ball.set_velocity((0.0, 1.0, 0.0))
    partner.set_velocity((0.3, -2.0, 0.0))
    world = ct.World([ball, partner], gravity=(0.0, 0.0, 0.0), dt=dt)
    before, start = _momentum([ball, partner]), world.energy()["kinetic"]
    touched = 0
    for _ in range(round(0.2 / dt)):
        touched += world.step()[0].contacts > 0
        energy = world.energy()
        assert energy["kinetic"] + energy["elastic"] <= start * (1.0 + 1e-9)
    assert touched > 3
    size = sum(float(b._node_mass @ np.linalg.norm(b.velocities, axis=1)) for b in (ball, partner))
    assert np.abs(_momentum([ball, partner]) - before).max() <= 1e-12 * size


@pytest.mark.parametrize("density", [100.0, 1000.0])
def test_a_rigid_ball_comes_to_rest_on_an_incompressible_block(density):
    block = ct.SoftBody(
        ct.mesh.box((0.4, 0.2, 0.4), (3, 2, 3)),
        material=ct.NeoHookean(young=5e4),
        incompressible=True,
        damping=(1.0, 0.002),
        name="block",
    )
    block.pin(lambda x: x[:, 1] < 1e-9)
    ball = ct.RigidBody(ct.Sphere((0.2, 0.31, 0.2), 0.1), density=density, name="ball")
    world = ct.World([block, ball], dt=0.005)
    for _ in range(160):
        reports = world.step()
    assert all(report.converged for report in reports)
    weight = 9.81 * ball.mass
    assert world.energy()["kinetic"] < 1e-3 * weight * 0.1
    assert block.contact_forces[:, 1].sum() == pytest.approx(-weight, rel=0.05)
