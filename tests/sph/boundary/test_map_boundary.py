"""Density map boundaries: sliding, rotation, friction, shaking."""

import numpy as np
import pytest

import continua as ct
from continua.motion import Motion


def test_one_particle_slides_down_a_plane_on_the_analytic_path():
    tilt = np.radians(30.0)
    normal = np.array([np.sin(tilt), np.cos(tilt), 0.0])
    down = np.array([np.cos(tilt), -np.sin(tilt), 0.0])
    d = 0.05
    paths = {}
    for boundary in ("density_map", "particles"):
        start = 0.012 * normal if boundary == "density_map" else 0.5 * d * normal
        particle = ct.Fluid(
            points=[start], particle_radius=0.5 * d, boundary=boundary, viscosity=0.0, max_dt=0.002
        )
        slope = ct.Plane((0, 0, 0), tuple(normal)) if boundary == "density_map" else ct.Box(
            tuple(1.5 * down - 0.5 * normal), (6, 1, 1), rotate=(0, 0, -tilt))  # fmt: skip
        world = ct.World([particle], colliders=[slope], dt=0.01)
        path = []
        for _ in range(60):
            world.step()
            path.append(particle.positions[0] - start)
        path = np.array(path)
        t = 0.01 * np.arange(1, 61)
        paths[boundary] = (
            np.abs(path @ down - 0.5 * 9.81 * np.sin(tilt) * t**2)[20:] / (t**2)[20:],
            path @ normal,
        )
    along, away = paths["density_map"]
    assert along.max() < 0.01 * 0.5 * 9.81 * np.sin(tilt) * 3  # the first steps fall onto the wall
    assert np.ptp(away[20:]) < 1e-3 * d  # no jumps
    assert np.ptp(paths["particles"][1][20:]) > 3 * np.ptp(away[20:])


def test_only_a_rough_rotating_ball_sets_water_in_motion():
    def swirl(friction):
        water = ct.Fluid(
            points=_around(0.16), particle_radius=0.025, boundary="density_map", wall_friction=friction, xsph=0.05,
        )  # fmt: skip
        ball = ct.Sphere((0, 0.2, 0), 0.15, motion=Motion.rotate((0, 1, 0), (0, 0.2, 0), 20.0))
        tank = ct.Box((0, 0.5, 0), (0.6, 1.0, 0.6), inside=True)
        world = ct.World([water], colliders=[tank, ball], dt=0.01)
        for _ in range(40):
            world.step()
        x, v = water.positions, water.velocities
        return float((x[:, 2] * v[:, 0] - x[:, 0] * v[:, 2]).mean())

    smooth, rough = swirl(0.0), swirl(0.5)
    assert abs(smooth) < 0.05 * abs(rough)
    assert rough > 1e-3


def _around(radius):
    axis = 0.05 * (np.arange(12) - 5.5)
    points = np.stack(np.meshgrid(axis, 0.05 * (np.arange(8) + 0.5), axis, indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    return points[np.linalg.norm(points - [0, 0.2, 0], axis=1) > radius + 0.02]


def test_friction_never_reverses_the_slip():
    water = ct.Fluid(
        ((-0.3, 0, -0.3), (0.3, 0.1, 0.3)), particle_radius=0.025, boundary="density_map", wall_friction=50.0,
        velocity=(1.0, 0, 0),
    )  # fmt: skip
    world = ct.World([water], colliders=[ct.Plane()], dt=0.005)
    for _ in range(20):
        before = world.energy()["kinetic"] + world.energy()["gravity"]
        world.step()
        assert world.energy()["kinetic"] + world.energy()["gravity"] < before + 1e-3
        low = water.positions[:, 1] < 0.03
        assert water.velocities[low, 0].min() > -0.3  # due to neighbours, not to the wall


@pytest.mark.parametrize("boundary", ["density_map", "volume_map", "particles"])
def test_no_particle_leaves_a_box_shaken_at_twenty_metres_per_second(boundary):
    shake = Motion(lambda t, rest: rest + 0.4 * np.sin(50.0 * t) * np.array([1.0, 0.0, 0.3]))  # 20 m/s
    tank = ct.Box((0, 0.2, 0), (0.4, 0.4, 0.4), inside=True, motion=shake)
    water = ct.Fluid(((-0.2, 0, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.025, boundary=boundary, xsph=0.05,
                     solver=ct.DFSPH(density_error=1e-3))  # fmt: skip
    world = ct.World([water], colliders=[tank], dt=0.01)
    for _ in range(12):
        world.step()
        gaps = tank.distances_at(water.positions, world.time, 0.0)[0]
        assert (gaps >= -1e-5).all()


def test_invalid_boundaries_raise_one_sentence():
    with pytest.raises(ct.InputError, match="extension"):
        ct.DensityMap(extension=0.0)
    with pytest.raises(ct.InputError, match="inset"):
        ct.VolumeMap(inset=3.0)
    water = ct.Fluid(((-0.01, 0, -0.01), (0.01, 0.02, 0.01)), particle_radius=0.005)
    with pytest.raises(ct.InputError, match="too large for a cylinder"):
        ct.World(
            [water],
            colliders=[ct.Cylinder((0, 0.01, 0), axis=(0, 1, 0), radius=0.009, height=1.0, inside=True)],
        )
