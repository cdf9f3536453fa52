"""Smoke and wind tunnels as bodies of a world."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.grid_fluids import Inflow, Smoke, WindTunnel

WARM = Inflow(ct.Sphere(center=(0.5, 0.2, 0.0), radius=0.15), temperature=80.0)


def plume(**options) -> ct.World:
    smoke = Smoke((1.0, 2.0), (24, 48), inflow=WARM, name="smoke", **options)
    return ct.World([smoke], dt=0.04)


def test_warm_smoke_rises_and_heavy_smoke_sinks():
    world = plume()
    for _ in range(10):
        world.step()
    u = world.body("smoke").flow.fields.velocity[2]
    assert u[0, 12, 6] > 0.3
    heavy = Smoke((1.0, 1.0), (24, 24), weight=0.5, name="fog")
    x, y, _ = heavy.grid.centers().T.reshape(3, 24, 24)
    heavy.set_smoke((np.hypot(x - 0.5, y - 0.6) < 0.2).astype(float))
    world = ct.World([heavy], dt=0.04)
    for _ in range(10):
        world.step()
    q = heavy.flow.fields.scalars["smoke"][0]
    assert (q * y).sum() / q.sum() < 0.58


def test_smoke_in_a_closed_box_keeps_its_mass():
    smoke = Smoke((1.0, 1.0), (48, 48), sides={}, name="smoke")
    x, y, _ = smoke.grid.centers().T.reshape(3, 48, 48)
    smoke.set_smoke(np.exp(-((x - 0.35) ** 2 + (y - 0.5) ** 2) / 0.01))
    for d in range(2):
        px, py, _ = smoke.grid.face_centers(1 + d).T.reshape(3, *smoke.flow.fields.velocity[1 + d].shape)
        wave = (np.sin(np.pi * px) * np.cos(np.pi * py), -np.cos(np.pi * px) * np.sin(np.pi * py))
        smoke.flow.fields.velocity[1 + d][:] = wave[d]
    world = ct.World([smoke], dt=0.02)
    before = float(smoke.flow.fields.scalars["smoke"].sum())
    for _ in range(50):
        world.step()
    change = float(smoke.flow.fields.scalars["smoke"].sum()) / before - 1.0
    print(f"smoke mass changed by {100 * change:.2f} %")
    assert abs(change) < 0.01


def test_nothing_leaks_through_a_wall_two_cells_thick():
    wall = ct.Box(center=(0.5, 1.0, 0.0), size=(2.0, 2.0 / 24, 2.0))
    world = plume(obstacles=[wall], sides={})
    for _ in range(40):
        world.step()
    smoke = world.body("smoke")
    above = smoke.flow.fields.scalars["smoke"][0, :, 26:]
    assert smoke.flow.fields.scalars["smoke"].sum() > 20.0
    assert float(above.sum()) == 0.0


def test_a_restored_world_continues_bitwise_identical():
    moving = ct.Sphere(center=(0.3, 1.0, 0.0), radius=0.15, motion=ct.Motion.translate((0.3, 0.0, 0.0)))
    world = plume(obstacles=[moving])
    for _ in range(3):
        world.step()
    state = world.state()
    for _ in range(3):
        world.step()
    other = plume(obstacles=[moving])
    other.restore(state)
    for _ in range(3):
        other.step()
    for key, value in world.state().items():
        assert np.array_equal(value, other.state()[key]), key
    other.reset()
    fresh = plume(obstacles=[moving])
    for one in (other, fresh):
        one.step()
    for key, value in fresh.state().items():
        assert np.array_equal(value, other.state()[key]), key


def test_frames_contain_a_slice_and_the_whole_grid():
    world = plume()
    world.step()
    frame = world.frame()["smoke"]
    assert frame.kind == "grid"
    assert frame.volume is not None
    assert frame.volume.shape == (24, 48, 1)
    assert frame["smoke"].shape == (25 * 49,)
    assert frame["velocity"].shape == (25 * 49, 3)
    assert frame.triangles.max() < len(frame.positions)


def test_wind_flows_around_a_replaced_obstacle():
    ball = ct.Sphere(center=(1.0, 0.5, 0.0), radius=0.2)
    tunnel = WindTunnel(
        (2.0, 1.0), (64, 32), obstacles=[ball], streaks=4, name="tunnel", precision="double", rtol=1e-8
    )
    world = ct.World([tunnel], dt=0.02)
    world.step()
    # potential flow: twice the speed at the sides of a circle, and more between walls
    assert 1.8 < tunnel.flow.fields.max_speed() < 3.0
    tunnel.obstacles = [ct.Box(center=(1.2, 0.5, 0.0), size=(0.2, 0.3, 1.0))]
    report = world.step()[0]
    assert report.converged
    assert (
        np.abs(
            tunnel.flow.fields.divergence(tunnel.flow.domain.cut_cells.face_fractions)[
                ~tunnel.flow.domain.cut_cells.solid_cells
            ]
        ).max()
        < 1e-4
    )
    assert tunnel.flow.domain.cut_cells.solid_cells[0, 38, 16]
    assert not tunnel.flow.domain.cut_cells.solid_cells[0, 28, 16]


def test_bad_input_is_rejected():
    with pytest.raises(ct.InputError, match="contains no cell"):
        Smoke((1.0, 1.0), (8, 8), inflow=Inflow(ct.Sphere(center=(9.0, 0.0, 0.0), radius=0.1)))
    with pytest.raises(ct.InputError, match="precision"):
        WindTunnel(precision="half")
    with pytest.raises(ct.InputError, match="must be 'slip', 'no-slip' or 'open'"):
        Smoke((1.0, 1.0), (8, 8), sides={"top": "wet"})
    with pytest.raises(ct.InputError, match="slip must be True or False, not 'no-slip'"):
        WindTunnel(slip="no-slip")


def test_viscous_air_with_slip_exerts_no_friction():
    plate = ct.Box(center=(1.0, 0.5, 0.0), size=(0.8, 0.24, 1.0))
    drags = {}
    for slip in (None, True):
        tunnel = WindTunnel(
            (2.0, 1.0),
            (48, 24),
            obstacles=[plate],
            viscosity=0.02,
            slip=slip,
            name="tunnel",
            precision="double",
        )
        world = ct.World([tunnel], dt=0.02)
        for _ in range(10):
            world.step()
        drags[slip] = tunnel.force()[0]
        friction = tunnel.flow.viscous_solver.wall_force(0.02)
        assert (friction[0] == 0.0) == bool(slip)
    assert drags[True] < drags[None]
