"""Liquids with viscosity on grids: films, and blocks that slump."""

import numpy as np
import pytest

import continua as ct


def film(thickness, viscosity, seconds, cells=(16, 32)):
    """Return a film that runs down a wall on its left, after some time, and the velocity across it at half height."""
    size = (0.25, 0.5)
    liquid = ct.Liquid(
        size,
        cells,
        block=((0.0, 0.0), (thickness, 0.5)),
        sides={"left": "no-slip", "bottom": "open", "top": "open"},
        viscosity=viscosity,
        precision="double",
        rtol=1e-6,
        cfl=1.0,
    )
    world = ct.World([liquid], dt=0.005)
    while world.time < seconds - 1e-9:
        world.step()
    return liquid, -liquid.flow.fields.velocity[2][0, :, cells[1] // 3]


@pytest.mark.parametrize("thickness", [0.125, 0.1])  # eight cells, and 6.4
def test_a_film_down_a_wall_has_a_parabolic_profile(thickness):
    nu = 0.4
    liquid, u = film(thickness, 1000.0 * nu, 0.12)
    x = (np.arange(16) + 0.5) * liquid.grid.spacing
    inside = x < thickness - liquid.grid.spacing
    # Nusselt: no slip at the wall, no stress at the surface
    exact = 9.81 / nu * (thickness * x - 0.5 * x**2)
    assert u[inside] == pytest.approx(exact[inside], abs=0.02 * exact[inside].max())


def test_a_film_starts_to_flow_as_the_series_solution():
    nu, h, t = 0.05, 0.125, 0.05
    liquid, u = film(h, 1000.0 * nu, t)
    x = (np.arange(16) + 0.5) * liquid.grid.spacing
    exact = 9.81 / nu * (h * x - 0.5 * x**2)
    for n in range(20):
        k = (n + 0.5) * np.pi / h
        exact -= 2.0 * 9.81 / (nu * h * k**3) * np.sin(k * x) * np.exp(-nu * k**2 * t)
    inside = x < h - liquid.grid.spacing
    assert u[inside] == pytest.approx(exact[inside], abs=0.05 * exact[inside].max())


def test_a_block_of_honey_slumps_slower_than_one_of_water():
    widths = []
    for viscosity in (0.0, 100.0, 1000.0):
        liquid = ct.Liquid(
            (1.0, 0.5),
            (32, 16),
            block=((0.35, 0.0), (0.65, 0.35)),
            sides={"bottom": "no-slip"},
            viscosity=viscosity,
        )
        world = ct.World([liquid], dt=0.02)
        volume = liquid.volume
        for _ in range(15):
            world.step()
        widths.append(np.ptp(liquid.particles[:, 0]))
        assert liquid.volume == pytest.approx(volume, rel=0.01)
    assert widths[0] > 1.3 * widths[1]
    assert widths[1] > 1.3 * widths[2]
    assert widths[2] < 0.45


def test_a_ball_sinks_slowly_in_honey():
    # Stokes: v = 2/9 (rho_b - rho) g r^2 / mu, less by walls near the ball
    speeds = []
    for viscosity in (0.0, 100.0):
        ball = ct.RigidBody(ct.Sphere(center=(0.5, 0.6, 0.5), radius=0.12), density=2000.0, name="ball")
        honey = ct.Liquid(
            (1.0, 1.0, 1.0), (16, 16, 16), block=((0, 0, 0), (1.0, 0.9, 1.0)), viscosity=viscosity
        )
        world = ct.World([ball, honey], dt=0.02)
        for _ in range(10):
            world.step()
        speeds.append(-ball.velocity[1])
    stokes = 2.0 / 9.0 * 1000.0 * 9.81 * 0.12**2 / 100.0
    assert speeds[0] > 0.5
    assert 0.3 * stokes < speeds[1] < stokes


def test_negative_viscosity_is_rejected():
    with pytest.raises(ct.InputError, match="viscosity"):
        ct.Liquid((1.0, 1.0), (16, 16), block=((0, 0), (1, 0.5)), viscosity=-1.0)
