"""Rigid bodies and colliders as obstacles of grid fluids, and the forces on them."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.grid_fluids import CutCells, SdfShape, make_grid


def piston(speed: float = 0.4, density: float = 1e9) -> ct.World:
    body = ct.RigidBody(
        ct.Box(center=(0.1, 0.5, 0.0), size=(0.4, 2.0, 2.0)),
        density=density,
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
    out = flow.fields.velocity[1][0, -1].mean() * flow.grid.size[1]
    assert out == pytest.approx(0.4 * flow.grid.size[1], rel=1e-6)
    assert flow.domain.cut_cells.solid_cells[0, :4].all()
    assert world.body("air").obstacles == ()


@pytest.mark.parametrize("density", [5.0, 0.5])
def test_a_piston_shares_its_momentum_with_the_air_before_it(density):
    world = piston(0.4, density)
    body = world.body("piston")
    for _ in range(60):
        world.step(0.001)
    # a column from the wall at 0.3 m to the open end at 2 m, 1 m high and 2 m deep, has to be moved along, and nothing
    # holds it once it moves; on the grid it starts at the centre of the cell that the wall cuts
    mass = density * 0.4 * 2.0 * 2.0
    column = 1.2 * (2.0 - 4.5 / 16) * 1.0 * 2.0
    assert body.velocity[0] == pytest.approx(0.4 * mass / (mass + column), rel=1e-3)
    assert abs(body.angular_velocity).max() < 1e-6


@pytest.mark.parametrize("density", [1.2, 0.3])
def test_added_mass_of_a_ball_is_half_the_displaced_air(density):
    ball = ct.RigidBody(
        ct.Sphere(center=(0.51, 0.49, 0.5), radius=0.16),
        density=density,
        velocity=(1.0, 0.0, 0.0),
        name="ball",
    )
    sides = dict.fromkeys(("left", "right", "bottom", "top", "back", "front"), "open")
    air = ct.Smoke((1.0, 1.0, 1.0), (24, 24, 24), sides=sides, rtol=1e-6, name="air")
    world = ct.World([ball, air], gravity=(0.0, 0.0, 0.0), dt=0.001)
    for _ in range(25):
        world.step()
    # Lamb's added mass of a ball is half of what it displaces
    assert ball.velocity[0] == pytest.approx(density / (density + 0.5 * 1.2), rel=0.05)
    assert abs(ball.velocity[1:]).max() < 0.01
    assert abs(ball.angular_velocity).max() < 0.05


def test_a_light_cylinder_is_accelerated_by_the_wind():
    ball = ct.RigidBody(
        ct.Cylinder(center=(0.6, 0.5, 0.0), axis=(0.0, 0.0, 1.0), radius=0.12, height=0.2),
        density=3.0,
        name="leaf",
    )
    wind = ct.WindTunnel((2.0, 1.0), (48, 24), speed=1.0, viscosity=0.012, obstacles=(), name="wind")
    world = ct.World([ball, wind], gravity=(0.0, 0.0, 0.0), dt=0.02)
    speeds = []
    for _ in range(60):
        world.step()
        speeds.append(ball.velocity[0])
    assert 0.2 < speeds[-1] < 1.0
    assert speeds[-1] > speeds[20] > 0.0


def test_a_restored_world_with_a_piston_continues_bitwise_identical():
    world, other = piston(density=2.0), piston(density=2.0)
    for _ in range(3):
        world.step()
    state = world.state()
    other.restore(state)
    for one in (world, other):
        for _ in range(3):
            one.step()
    for key, value in world.state().items():
        assert np.array_equal(value, other.state()[key]), key


def test_wind_flows_around_a_falling_ball_and_a_collider_but_not_around_a_plane_outside():
    ball = ct.RigidBody(ct.Sphere(center=(1.0, 0.8, 0.0), radius=0.2), density=1000.0, name="ball")
    post = ct.Cylinder(center=(3.0, 1.0, 0.0), axis=(0.0, 0.0, 1.0), radius=0.3, height=1.0)
    ground = ct.Plane(point=(0.0, -1.0, 0.0))
    tunnel = ct.WindTunnel((4.0, 2.0), (64, 32), name="tunnel")
    world = ct.World([ball, tunnel], colliders=[post, ground], dt=0.02)
    closed = tunnel.flow.domain.cut_cells.solid_cells[0]
    assert closed[16, 12]
    assert closed[48, 16]
    assert not closed[16, 0]
    for _ in range(20):  # 0.4 s: it falls by 0.78 m
        world.step()
    assert not tunnel.flow.domain.cut_cells.solid_cells[0, 16, 14]
    assert tunnel.flow.domain.cut_cells.solid_cells[0, 16, 1]
    assert world.reports[1].converged


def test_a_distance_field_is_an_obstacle_like_the_mesh_it_came_from():
    surface = ct.mesh.torus(0.5, 0.2).surface
    grid = make_grid((2.0, 2.0, 2.0), (16, 16, 16), (-1.0, -1.0, -1.0))
    field = ct.sdf.fit(surface, tolerance=1e-6)
    exact, fitted = CutCells(grid, [surface], np.float64), CutCells(grid, [field], np.float64)
    for one, two in zip(exact.face_fractions, fitted.face_fractions, strict=True):
        np.testing.assert_allclose(one, two, atol=0.05)
    drawn = SdfShape(field).description()
    gaps = ct.sdf.exact(surface)(np.asarray(drawn["points"]))
    assert np.abs(gaps).max() < 0.02
    sides = np.asarray(drawn["points"])[np.asarray(drawn["triangles"])]
    volume = np.einsum("ij,ij->i", sides[:, 0], np.cross(sides[:, 1], sides[:, 2])).sum() / 6.0
    assert volume == pytest.approx(2.0 * np.pi**2 * 0.5 * 0.2**2, rel=0.1)


def test_an_invalid_obstacle_is_rejected():
    with pytest.raises(ct.InputError, match="a closed mesh or a distance field, not 'car'"):
        ct.WindTunnel(obstacles=["car"])
