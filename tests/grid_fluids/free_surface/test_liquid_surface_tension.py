"""Surface tension of liquids on grids: Laplace pressure, drops at rest, oscillating drops."""

import numpy as np
import pytest

import continua as ct

SIGMA, RHO = 0.07, 1000.0


def drop(dim, radius, cells, *, squeeze=0.0, **options):
    """Return a drop of `radius` [cells] in the centre of a box of `cells`, 1 mm each, without gravity."""
    h = 1e-3
    middle = 0.5 * cells * h + 0.13 * h
    where = (middle, middle, middle if dim == 3 else 0.0)
    if squeeze:
        turn = np.linspace(0.0, 2.0 * np.pi, 160, endpoint=False)
        r = radius * h * (1.0 + squeeze * np.cos(2.0 * turn))
        shape = ct.Polygon(np.stack([middle + r * np.cos(turn), middle + r * np.sin(turn)], axis=1))
    else:
        shape = ct.Sphere(center=where, radius=radius * h)
    liquid = ct.Liquid(
        (cells * h,) * dim, (cells,) * dim, shapes=[shape], surface_tension=SIGMA, density=RHO, **options
    )
    return liquid, ct.World([liquid], gravity=(0.0, 0.0, 0.0), dt=0.002)


@pytest.mark.parametrize(("dim", "cells", "radius"), [(2, 24, 8.0), (3, 16, 5.5)])
def test_a_drop_at_rest_has_the_laplace_pressure(dim, cells, radius):
    liquid, world = drop(dim, radius, cells)
    for _ in range(5):
        world.step()
    deep = liquid.field("level_set") < -1.5e-3
    assert liquid.field("pressure")[deep].mean() == pytest.approx(
        (dim - 1) * SIGMA / (radius * 1e-3), rel=0.04
    )
    # spurious currents are slow compared with capillary waves of one cell
    assert max(abs(u).max() for u in liquid.flow.fields.velocity) < 0.05 * (SIGMA / (RHO * 1e-3)) ** 0.5


def test_a_drop_oscillates_with_rayleighs_period():
    radius = 8.0
    liquid, world = drop(2, radius, 28, squeeze=0.12)
    across = []
    while world.time < 0.29:
        world.step()
        spread = liquid.particles[:, :2].std(axis=0)
        across.append(spread[0] - spread[1])
    a, t = np.array(across), 0.002 * (1 + np.arange(len(across)))
    zeros = [t[n] - 0.002 * a[n] / (a[n] - a[n - 1]) for n in range(1, len(a)) if a[n - 1] * a[n] < 0.0]
    # a plane drop: omega^2 = (n^3 - n) sigma / (rho R^3), n = 2
    period = 2.0 * np.pi / np.sqrt(6.0 * SIGMA / (RHO * (radius * 1e-3) ** 3))
    assert zeros[2] - zeros[0] == pytest.approx(period, rel=0.03)


def test_substeps_obey_the_capillary_limit():
    liquid, world = drop(2, 5.0, 16)
    world.step()
    assert len(liquid.substeps) >= 0.002 / (0.3 * np.sqrt(RHO * 1e-9 / SIGMA))


def test_negative_surface_tension_is_rejected():
    with pytest.raises(ct.InputError, match="surface_tension"):
        ct.Liquid((1.0, 1.0), (16, 16), block=((0, 0), (1, 0.5)), surface_tension=-1.0)


def _contact_angle(angle: float) -> float:
    """Return the angle of a circle fitted to a plane drop that spread on the bottom of a box from a half circle."""
    n = 24
    drop = ct.Sphere(center=(0.5, 0.0, 0.0), radius=0.27)
    liquid = ct.Liquid(
        (1.0, 1.0),
        (n, n),
        shapes=[drop],
        surface_tension=1.0,
        density=1.0,
        viscosity=0.15,
        contact_angle=angle,
    )
    world = ct.World([liquid], dt=0.01, gravity=(0.0, 0.0, 0.0))
    for _ in range(100):
        world.step()
    phi = liquid.flow.level_set.phi[0]
    points = []
    for di, dj in ((1, 0), (0, 1)):
        here, there = phi[: n - di, : n - dj], phi[di:, dj:]
        for i, j in np.argwhere((here < 0.0) != (there < 0.0)):
            t = here[i, j] / (here[i, j] - there[i, j])
            points.append(((i + 0.5 + t * di) / n, (j + 0.5 + t * dj) / n))
    p = np.array(points)
    a, b, c = np.linalg.lstsq(np.c_[2.0 * p, np.ones(len(p))], (p**2).sum(axis=1), rcond=None)[0]
    return float(np.degrees(np.arccos(-b / np.sqrt(c + a * a + b * b))))


def test_a_drop_on_a_wall_takes_the_contact_angle():
    for angle in (60.0, 90.0, 120.0):
        assert abs(_contact_angle(angle) - angle) < 5.0
    with pytest.raises(ct.InputError, match="contact_angle"):
        ct.Liquid((1.0, 1.0), (16, 16), block=((0, 0), (1, 0.5)), contact_angle=200.0)
