"""Viscous fluid in a jar, whose pressure limits the sub-steps."""

import numpy as np
import pytest

import continua as ct
from continua.sph import Force
from continua.sph.forces.viscosity import solve_viscosity


def jar(viscosity, height=0.6, **options):
    honey = ct.Fluid(
        ((0, 0, 0), (0.2, height, 0.2)), viscosity=viscosity, density=1400.0, name="honey", **options
    )
    wall = ct.Box((0.1, height, 0.1), (0.2, 2.0 * height, 0.2), inside=True)
    return ct.World([honey], colliders=[wall], dt=0.01), honey


@pytest.mark.parametrize("viscosity", [0.0, 13.0, 100.0, 1e3, 1e5])
def test_honey_rests_in_a_tall_jar(viscosity):
    world, honey = jar(viscosity)
    for _ in range(12):
        world.step()
        speed = np.linalg.norm(honey.velocities, axis=1)
        assert speed.max() < 1.5
        assert viscosity == 0.0 or np.sqrt(np.mean(speed**2)) < 0.2
    # the surface sinks by less than a particle
    assert honey.positions[:, 1].max() > 0.6 - 0.025


@pytest.mark.parametrize("viscosity", [100.0, 1e3])
def test_the_bottom_of_a_tall_jar_carries_the_weight(viscosity):
    """Not the walls: honey at rest exerts no friction. The mean over the second half of 0.6 s."""
    world, honey = jar(viscosity)
    ratios = []
    for step in range(60):
        world.step()
        if step >= 30:
            bottom = honey.positions[:, 1] < 0.075
            depth = 0.6 - honey.positions[bottom, 1].mean()
            ratios.append(honey.pressure[bottom].mean() / (1400.0 * 9.81 * depth))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.05)
    assert np.sqrt(np.mean(honey.velocities**2)) < 0.01


@pytest.mark.parametrize("boundary", ["density_map", "volume_map"])
@pytest.mark.parametrize("solver", [ct.DFSPH(), ct.IISPH()], ids=["dfsph", "iisph"])
def test_honey_rests_with_maps_and_other_solvers(boundary, solver):
    world, honey = jar(100.0, boundary=boundary, solver=solver)
    for _ in range(8):
        world.step()
        assert np.linalg.norm(honey.velocities, axis=1).max() < 1.0


def test_a_step_that_is_a_numpy_number_gives_the_same_velocities():
    """Products of NumPy's double precision scalars and single precision arrays are arrays of double precision."""

    def velocities(dt):
        world, honey = jar(100.0)
        honey.arrays["velocities"][:] = np.sin(40.0 * honey.positions[:, [1, 2, 0]])
        honey.changed = True
        world.step(1e-4)
        particles = world.system(ct.Fluid).particles
        solve_viscosity(particles, dt)
        return particles.velocities

    expected = velocities(0.003)
    assert expected.dtype == np.float32
    assert np.isfinite(expected).all()
    np.testing.assert_array_equal(velocities(np.float64(0.003)), expected)


class Recorded(Force):
    """No force: it records the type of the step."""

    def __init__(self):
        self.types = set()

    def implicit_step(self, particles, dt, prescribed):
        self.types.add(type(dt))
        return 0


def test_forces_are_given_the_step_as_a_plain_number():
    recorded = Recorded()
    world, _ = jar(0.0, height=1.2, forces=[recorded])
    lengths = set()
    for _ in range(8):
        world.step()
        lengths |= {sub.dt for sub in world.system(ct.Fluid).substeps}
    assert len(lengths) > 2  # the pressure limits the steps
    assert recorded.types == {float}
