"""Rigid bodies and colliders of a world as obstacles of its fluids on grids."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.eulerian import CutCells, DistanceShape, make_grid


def piston(speed: float = 0.4) -> ct.World:
    body = ct.RigidBody(
        ct.Box(center=(0.1, 0.5, 0.0), size=(0.4, 2.0, 2.0)),
        density=1.0,
        velocity=(speed, 0.0, 0.0),
        name="piston",
    )
    air = ct.Smoke((2.0, 1.0), (32, 16), sides={"right": "open"}, precision="double", rtol=1e-10, name="air")
    return ct.World([body, air], gravity=(0.0, 0.0, 0.0), dt=0.02)


def test_a_rigid_piston_displaces_its_own_volume():
    world = piston()
    for _ in range(4):
        world.step()
    flow = world.body("air").flow
    out = flow.velocity[1][0, -1].mean() * flow.grid.size[1]
    assert out == pytest.approx(0.4 * flow.grid.size[1], rel=1e-6)
    assert flow.closed[0, :4].all()
    assert world.body("air").obstacles == ()


def test_a_restored_world_goes_on_with_the_same_bits():
    world, other = piston(), piston()
    for _ in range(3):
        world.step()
    state = world.state()
    other.restore(state)
    for one in (world, other):
        for _ in range(3):
            one.step()
    for key, value in world.state().items():
        assert np.array_equal(value, other.state()[key]), key


def test_wind_goes_around_a_falling_ball_and_a_collider_but_not_around_a_floor_outside():
    ball = ct.RigidBody(ct.Sphere(center=(1.0, 0.8, 0.0), radius=0.2), density=1000.0, name="ball")
    post = ct.Cylinder(center=(3.0, 1.0, 0.0), axis=(0.0, 0.0, 1.0), radius=0.3, height=1.0)
    floor = ct.Plane(point=(0.0, -1.0, 0.0))
    tunnel = ct.WindTunnel((4.0, 2.0), (64, 32), name="tunnel")
    world = ct.World([ball, tunnel], colliders=[post, floor], dt=0.02)
    closed = tunnel.flow.closed[0]
    assert closed[16, 12]
    assert closed[48, 16]
    assert not closed[16, 0]
    for _ in range(20):  # 0.4 s: it falls by 0.78 m
        world.step()
    assert not tunnel.flow.closed[0, 16, 14]
    assert tunnel.flow.closed[0, 16, 1]
    assert world.reports[1].converged


def test_a_distance_field_is_an_obstacle_like_the_mesh_it_came_from():
    surface = ct.mesh.torus(0.5, 0.2).surface
    grid = make_grid((2.0, 2.0, 2.0), (16, 16, 16), (-1.0, -1.0, -1.0))
    field = ct.sdf.fit(surface, tolerance=1e-6)
    exact, fitted = CutCells(grid, [surface], np.float64), CutCells(grid, [field], np.float64)
    for one, two in zip(exact.parts, fitted.parts, strict=True):
        np.testing.assert_allclose(one, two, atol=0.05)
    drawn = DistanceShape(field).description()
    gaps = ct.sdf.exact(surface)(np.asarray(drawn["points"]))
    assert np.abs(gaps).max() < 0.02
    sides = np.asarray(drawn["points"])[np.asarray(drawn["triangles"])]
    volume = np.einsum("ij,ij->i", sides[:, 0], np.cross(sides[:, 1], sides[:, 2])).sum() / 6.0
    assert volume == pytest.approx(2.0 * np.pi**2 * 0.5 * 0.2**2, rel=0.1)


def test_what_is_no_obstacle_is_refused():
    with pytest.raises(ct.InputError, match="a closed mesh or a distance field, not str"):
        ct.WindTunnel(obstacles=["car"])
