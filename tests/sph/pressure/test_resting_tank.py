"""Water at rest, and in slow waves, without artificial viscosity."""

import numpy as np
import pytest

import continua as ct
from continua.sph.pressure import vibration_kernels

D = 0.025


@pytest.mark.parametrize("boundary", ["particles", "density_map"])
def test_water_comes_to_rest_with_the_weight_above_as_its_pressure(boundary):
    side, high = 12 * D, 16 * D
    water = ct.Fluid(((0, 0, 0), (side, high, side)), particle_radius=D / 2, boundary=boundary)
    tank = ct.Box((side / 2, high, side / 2), (side, 2 * high, side), inside=True)
    world = ct.World([water], colliders=[tank], dt=0.01)
    slopes, spreads = [], []
    for step in range(200):
        world.step()
        if step < 100:
            continue
        x, pressure = water.positions, water.pressure
        weight = np.empty(len(x))
        weight[np.argsort(-x[:, 1])] = (np.arange(len(x)) + 0.5) * water.particle_mass * 9.81 / side**2
        inner = (np.abs(x[:, [0, 2]] - side / 2) < 4 * D).all(axis=1)
        inner &= (x[:, 1] > 2 * D) & (x[:, 1] < high - 2 * D)
        slopes.append(np.polyfit(weight[inner], pressure[inner], 1)[0])
        middle = np.abs(x[:, 1] - high / 2) < D
        local = pressure[middle] - 1000 * 9.81 * (high / 2 - x[middle, 1])
        spreads.append(local.std() / local.mean())
    assert np.mean(slopes) == pytest.approx(1.0, abs=0.01)
    assert np.mean(spreads) < 0.03
    assert np.sqrt(np.mean(np.sum(water.velocities**2, axis=1))) < 0.01 * np.sqrt(9.81 * high)


def test_a_slow_wave_keeps_its_energy_and_makes_no_noise():
    """The first mode of a tank as potential flow; motion across it is noise."""
    size = np.array([32, 16, 6]) * D
    points = ct.Fluid(((0, 0, 0), size), particle_radius=D / 2).positions
    k, speed = np.pi / size[0], 0.2
    depth = k * size[1]
    velocity = np.zeros_like(points)
    velocity[:, 0] = speed * np.sin(k * points[:, 0]) * np.cosh(k * points[:, 1]) / np.cosh(depth)
    velocity[:, 1] = -speed * np.cos(k * points[:, 0]) * np.sinh(k * points[:, 1]) / np.cosh(depth)
    water = ct.Fluid(points=points, particle_radius=D / 2, velocity=velocity)
    tank = ct.Box(tuple(0.5 * size * [1, 2, 1]), tuple(size * [1, 2, 1]), inside=True)
    world = ct.World([water], colliders=[tank], dt=0.01)
    frequency = np.sqrt(9.81 * k * np.tanh(depth))
    period = 2.0 * np.pi / frequency
    shift, noise = [], []
    for _ in range(round(2.5 * period / 0.01)):
        world.step()
        shift.append(water.positions[:, 0].mean() - size[0] / 2)
        noise.append(np.sqrt(np.mean(water.velocities[:, 2] ** 2)))
    first, last = np.abs(shift[: round(50 * period)]).max(), np.abs(shift[-round(50 * period) :]).max()
    assert last / first > np.exp(-0.35 * 2.0 * period)
    assert np.mean(noise[-50:]) < 0.05 * speed


def test_damping_of_vibrations_spares_linear_flows_and_keeps_momentum():
    rng = np.random.default_rng(2)
    block = ct.Fluid(((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)), particle_radius=0.01).positions
    points = block + rng.uniform(-0.002, 0.002, block.shape)
    system = ct.World([ct.Fluid(points=points, particle_radius=0.01)]).system(ct.Fluid)
    system.update_neighbours_and_density(0.0)
    p = system.particles
    x = p.xyzp.reshape(-1, 4)[:, :3].astype(float)
    stiffness = rng.uniform(0.0, 0.1 * 1000.0 * 0.02**2, p.count).astype(np.float32)

    def change(velocity):
        vectors, changes = np.zeros((p.count, 4), np.float32), np.zeros(4 * p.count, np.float32)
        vectors[:, :3] = velocity
        begin, end, neighbours, weights = p.neighbour_arrays
        gradients = np.empty(12 * p.count, np.float32)
        vibration_kernels.velocity_gradients.variant(False)(
            p.xyzp, vectors.ravel(), begin, end, neighbours, weights, gradients
        )
        vibration_kernels.vibration_damping.variant(False)(
            p.xyzp, vectors.ravel(), begin, end, neighbours, gradients, stiffness, 1.0 / p.radius, p.volume,
            p.inverse_density, changes,
        )  # fmt: skip
        return changes.reshape(-1, 4)[:, :3].astype(float)

    linear = x @ rng.normal(size=(3, 3)) + [1.0, -2.0, 0.5]
    assert np.abs(change(linear)).max() < 1e-4 * np.abs(linear).max()
    noise = rng.normal(size=x.shape)
    lost = change(noise)
    scale = np.linalg.norm(lost, axis=1).sum()
    assert np.abs(lost.sum(axis=0)).max() < 1e-6 * scale
    assert np.abs(np.cross(x, lost).sum(axis=0)).max() < 1e-7 * scale
    assert ((noise + lost) ** 2).sum() < 0.9 * (noise**2).sum()
