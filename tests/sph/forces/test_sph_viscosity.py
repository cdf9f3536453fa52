import numpy as np
import pytest

import continua as ct


def lattice_sum(k, d):
    """Return Monaghan's viscous sum (2005) for v_y = sin(k x) on a cubic lattice, relative to the exact k^2."""
    radius = 2.0 * d
    steps = d * np.arange(-2, 3)
    x, y, z = (axis.ravel() for axis in np.meshgrid(steps, steps, steps))
    r = np.sqrt(x * x + y * y + z * z)
    near = (r > 0.0) & (r < radius)
    x, y, r = x[near], y[near], r[near]
    q = r / radius
    slope = np.where(q <= 0.5, 18.0 * q - 12.0, -6.0 * (1.0 - q) ** 2 / q) * 8.0 / (np.pi * radius**5)
    return -10.0 * d**3 * np.sum(y * y / (r * r + 0.01 * radius**2) * slope * (1.0 - np.cos(k * x))) / k**2


@pytest.mark.parametrize(("viscosity", "dt"), [(100.0, 1e-3), (2000.0, 2e-4)], ids=["explicit", "implicit"])
def test_a_shear_wave_decays_at_the_rate_of_the_lattice_sum(viscosity, dt):
    d, waves = 0.04, 16
    k = 2.0 * np.pi / (waves * d)
    points = ct.Fluid(((0, 0, 0), (2 * waves * d, 12 * d, 12 * d)), particle_radius=d / 2).positions
    velocity = np.zeros_like(points)
    velocity[:, 1] = 0.01 * np.sin(k * points[:, 0])
    water = ct.Fluid(points=points, particle_radius=d / 2, viscosity=viscosity, velocity=velocity)
    world = ct.World([water], gravity=(0, 0, 0), dt=dt)
    inner = ((points > points.min(axis=0) + 3 * d) & (points < points.max(axis=0) - 3 * d)).all(axis=1)
    world.step()
    wave = velocity[inner, 1]
    left = water.velocities[inner, 1] @ wave / (wave @ wave)
    decay = viscosity / 1000.0 * k * k * lattice_sum(k, d) * dt
    # one explicit step takes that part; an implicit one divides by one more
    lost = 1.0 - left if viscosity < 1000.0 else 1.0 / left - 1.0
    assert lost == pytest.approx(decay, rel=0.03)
