import numpy as np
from scipy.integrate import quad

from continua.sph import Particles, cubic_spline, cubic_spline_derivative
from continua.sph.pressure import pressure_kernels as kernels


def particles(points, spacing, densities=(1000.0,), fluid=None):
    n = len(points)
    rows = np.zeros((n, 4), np.float32)
    rows[:, :3] = points
    p = Particles(
        2.0 * spacing, spacing**3, np.array(densities), np.zeros(len(densities)), rows.ravel(),
        np.zeros(4 * n, np.float32), np.zeros(n, np.uint8) if fluid is None else fluid, np.arange(n, dtype=np.int32),
    )  # fmt: skip
    p.sort()
    p.find_neighbours()
    p.boundary.clear(n)
    p.compute_density()
    return p


def lattice(count, spacing):
    return np.stack(np.meshgrid(*[np.arange(count) * spacing] * 3, indexing="ij"), -1).reshape(-1, 3)


def test_kernel_integrates_to_one_and_ends_at_its_radius():
    for radius in (0.05, 2.0):
        volume = quad(
            lambda s, r=radius: 4 * np.pi * s * s * cubic_spline(s, r), 0, radius, points=[radius / 2]
        )[0]
        assert abs(volume - 1.0) < 1e-10
        assert cubic_spline(np.array([radius, 2 * radius]), radius).max() == 0.0
        assert np.isclose(cubic_spline(np.array(0.0), radius), 8 / (np.pi * radius**3))


def test_derivative_agrees_with_differences():
    s = np.linspace(0.01, 1.2, 300)
    change = (cubic_spline(s + 1e-6, 1.0) - cubic_spline(s - 1e-6, 1.0)) / 2e-6
    np.testing.assert_allclose(cubic_spline_derivative(s, 1.0), change, atol=1e-7)


def test_lattice_has_rest_density():
    d = 0.03
    p = particles(lattice(7, d), d)
    assert abs(p.density.max() - 0.99997) < 2e-5  # the sum over an infinite lattice


def test_densities_and_alpha_agree_with_plain_sums_of_two_fluids():
    rng = np.random.default_rng(3)
    d = 0.1
    points = lattice(6, d) + rng.uniform(-0.03, 0.03, (216, 3))
    fluid = (np.arange(216) % 2).astype(np.uint8)
    rho = np.array([1000.0, 300.0])
    p = particles(points, d, rho, fluid)
    x = p.xyzp.reshape(-1, 4)[:, :3].astype(np.float64)
    offset = x[:, None] - x[None]
    distance = np.linalg.norm(offset, axis=2)
    density = d**3 * cubic_spline(distance, 2 * d).sum(axis=1)
    np.fill_diagonal(distance, 1.0)
    gradient = d**3 * (cubic_spline_derivative(distance, 2 * d) / distance)[..., None] * offset
    own = 1.0 / rho[p.fluid_index]
    squares = np.einsum("ijk,ijk,j->i", gradient, gradient, own)
    whole = gradient.sum(axis=1)
    np.testing.assert_allclose(p.density, density, rtol=2e-6)
    np.testing.assert_allclose(
        p.alpha, 1.0 / (own * np.einsum("ij,ij->i", whole, whole) + squares), rtol=2e-5
    )


def test_alpha_cancels_the_density_rate_of_one_particle():
    """The stiffness of a single particle, all others free, stops the change of its density exactly."""
    rng = np.random.default_rng(4)
    d = 0.1
    p = particles(lattice(6, d) + rng.uniform(-0.02, 0.02, (216, 3)), d)
    p.velocities.reshape(-1, 4)[:, :3] = rng.normal(size=(216, 3))
    rates = np.zeros(216, np.float32)
    p.compute_density_rates(p.velocities, rates)
    for i in (10, 100, 200):
        p.xyzp[3::4] = 0.0
        p.xyzp[4 * i + 3] = p.alpha[i] * rates[i]
        kernels.pressure_velocity_changes.serial(
            p.xyzp, *p.neighbour_arrays, p.inverse_density, p.boundary.gradient, p.velocity_changes
        )
        after = np.zeros(216, np.float32)
        p.compute_density_rates(p.velocities + p.velocity_changes, after)
        assert abs(after[i]) < 2e-5 * np.abs(rates).max()
