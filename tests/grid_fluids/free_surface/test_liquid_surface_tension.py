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
