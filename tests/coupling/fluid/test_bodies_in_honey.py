"""Rigid and soft bodies in very viscous fluids, whose drag acts within a small part of a sub-step."""

import numpy as np
import pytest

import continua as ct

RADIUS, LENGTH, DIAMETER = 0.1, 0.4, 0.0125


def tube(viscosity, body, low, high):
    """Return a world with a body in a tube full of fluid that has come to rest around it; it has no particles there."""
    rings = []
    for k in range(8):
        r = (k + 0.5) * DIAMETER
        t = 2.0 * np.pi * (np.arange(round(2.0 * np.pi * r / DIAMETER)) + 0.5 * (k % 2))
        t /= round(2.0 * np.pi * r / DIAMETER)
        rings.append(np.stack([r * np.cos(t), r * np.sin(t)], 1))
    disc = np.concatenate(rings)
    layers = [np.column_stack([disc[:, 0], np.full(len(disc), y), disc[:, 1]]) for y in _heights()]
    points = np.concatenate(layers)
    margin = 0.4 * DIAMETER
    inside = ((points > np.array(low) - margin) & (points < np.array(high) + margin)).all(axis=1)
    if isinstance(body, ct.RigidBody):
        inside = np.linalg.norm(points - body.center_of_mass, axis=1) < 0.05 + margin
    honey = ct.Fluid(points=points[~inside], viscosity=viscosity, particle_radius=DIAMETER / 2, name="honey")
    wall = ct.Cylinder((0, LENGTH, 0), axis=(0, 1, 0), radius=RADIUS, height=2 * LENGTH, inside=True)
    return ct.World([honey, body], colliders=[wall], dt=0.01)


def _heights():
    return (np.arange(round(LENGTH / DIAMETER)) + 0.5) * DIAMETER


@pytest.mark.parametrize("viscosity", [100.0, 1000.0, 1e4])
def test_a_ball_in_honey_does_not_shake(viscosity):
    """Its drag would stop it in 2 ms, 0.2 ms and 0.02 ms; sub-steps are 2 to 5 ms long."""
    ball = ct.RigidBody(ct.Sphere((0, LENGTH / 2, 0), 0.05), density=2000.0, name="ball")
    world = tube(viscosity, ball, (0, 0, 0), (0, 0, 0))
    for _ in range(15):
        world.step()
    speeds = []
    for _ in range(10):
        world.step()
        speeds.append(np.linalg.norm(ball.velocity))
    # the fluid itself still settles between the particles' rings, with less than this
    assert max(speeds) < 0.02
    assert np.abs(ball.center_of_mass[[0, 2]]).max() < 1e-3


def test_a_soft_cube_in_honey_does_not_shake():
    mesh = ct.mesh.box((0.08, 0.08, 0.08), (2, 2, 2), origin=(-0.04, 0.16, -0.04))
    cube = ct.SoftBody(mesh, material=ct.NeoHookean(young=1e5, density=1500.0), name="cube")
    world = tube(1000.0, cube, (-0.04, 0.16, -0.04), (0.04, 0.24, 0.04))
    for _ in range(15):
        world.step()
    for _ in range(10):
        world.step()
        assert np.abs(cube.velocities).max() < 0.05
    assert cube.positions.mean(axis=0)[1] == pytest.approx(0.2, abs=0.01)
