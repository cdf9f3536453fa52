"""Surface tension against its formula (Akinci, Akinci and Teschner 2013), written out for two drops of one particle."""

import numpy as np
import pytest

import continua as ct


def cohesion(s, r):
    """Return the spline C(s) of cohesion [1/m3] for the kernel radius r."""
    part = (r - s) ** 3 * s**3
    return 32.0 / (np.pi * r**9) * (part if 2.0 * s > r else 2.0 * part - r**6 / 64.0)


def kernel(s, r):
    """Return the cubic spline W and its slope."""
    q = s / r
    if q <= 0.5:
        value, slope = 6.0 * (q**3 - q**2) + 1.0, 6.0 * (3.0 * q**2 - 2.0 * q)
    else:
        value, slope = 2.0 * (1.0 - q) ** 3, -6.0 * (1.0 - q) ** 2
    return 8.0 / (np.pi * r**3) * value, 8.0 / (np.pi * r**4) * slope


@pytest.mark.parametrize("gamma", [1.0, 2.5])
@pytest.mark.parametrize("distance", [0.012, 0.02, 0.031])
def test_two_particles_attract_each_other_according_to_the_formula(gamma, distance):
    d, rho = 0.02, 1000.0
    r, volume = 2.0 * d, d**3
    points = [[-0.5 * distance, 0.0, 0.0], [0.5 * distance, 0.0, 0.0]]
    pair = ct.Fluid(points=points, particle_radius=d / 2, density=rho, viscosity=0.0, surface_tension=gamma)
    world = ct.World([pair], gravity=(0.0, 0.0, 0.0))
    world.step(1e-4)
    value, slope = kernel(distance, r)
    delta = volume * (kernel(0.0, r)[0] + value)  # density relative to rest, of both
    assert delta < 1.0  # no pressure
    # of the left one; x_ij points away from the other, and grad W towards it
    pull = gamma * rho * volume * cohesion(distance, r)
    normal = r * volume / delta * -slope  # towards the other; n_j is its opposite
    acceleration = 1.0 / delta * (pull - gamma * 2.0 * normal)
    assert pair.velocities[0, 0] == pytest.approx(1e-4 * acceleration, rel=2e-3)
    assert pair.velocities[1, 0] == pytest.approx(-1e-4 * acceleration, rel=2e-3)
