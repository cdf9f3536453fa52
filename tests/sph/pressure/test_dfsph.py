import numpy as np
import pytest

import continua as ct

NO_GRAVITY = (0.0, 0.0, 0.0)


def momentum(fluid):
    v, x = fluid.velocities, fluid.positions
    return fluid.particle_mass * v.sum(axis=0), fluid.particle_mass * np.cross(x, v).sum(axis=0)


def column(across, high, d=0.04, **options):
    size = (across * d, 2 * high * d, across * d)
    tank = ct.Box(tuple(0.5 * s for s in size), size, inside=True)
    water = ct.Fluid(
        ((0, 0, 0), (across * d, high * d, across * d)), particle_radius=d / 2, name="water", **options
    )
    return ct.World([water], colliders=[tank], dt=0.005), water


@pytest.mark.parametrize("tension", [0.0, 20.0])
def test_momentum_is_conserved_without_boundaries(tension):
    block = ct.Fluid(((-0.2, -0.2, -0.2), (0.2, 0.2, 0.2)), particle_radius=0.02).positions
    velocity = np.random.default_rng(0).normal(size=block.shape) + np.cross([0, 0, 8.0], block)
    water = ct.Fluid(
        points=block, particle_radius=0.02, viscosity=5.0, surface_tension=tension, velocity=velocity
    )
    world = ct.World([water], gravity=NO_GRAVITY, dt=0.01)
    linear, angular = momentum(water)
    scale = water.particle_mass * np.linalg.norm(velocity, axis=1).sum()
    world.step()
    steps = len(world.system(ct.Fluid).substeps)
    now = momentum(water)
    # round-off of single precision
    assert np.abs(now[0] - linear).max() < 3e-7 * scale * steps
    assert np.abs(now[1] - angular).max() < 3e-7 * scale * 0.35 * steps


def test_errors_stay_below_tolerance_in_every_step():
    world, water = column(8, 8, solver=ct.DFSPH(density_error=1e-4, divergence_error=1e-3))
    water.arrays["velocities"][:] = [1.0, -1.0, 0.3]  # thrown into a corner
    for _ in range(30):
        world.step()
        for sub in world.system(ct.Fluid).substeps:
            assert sub.density.error <= 1e-4
            assert sub.divergence.error <= 1e-3


def test_pressure_is_hydrostatic_and_motion_decays():
    world, water = column(12, 12, xsph=0.1, solver=ct.DFSPH(density_error=2e-5))
    d, slopes, kinetic = water.diameter, [], []
    for step in range(220):
        world.step()
        kinetic.append(world.energy()["kinetic"])
        if step >= 120:
            x, pressure = water.positions, water.pressure
            above = np.empty(len(x))
            above[np.argsort(-x[:, 1])] = (
                (np.arange(len(x)) + 0.5) * water.particle_mass * 9.81 / (12 * d) ** 2
            )
            inner = (
                (np.abs(x[:, [0, 2]] - 6 * d) < 3.5 * d).all(axis=1)
                & (x[:, 1] > 1.5 * d)
                & (x[:, 1] < 10 * d)
            )
            slopes.append(np.polyfit(above[inner], pressure[inner], 1)[0])
    assert abs(np.mean(slopes) - 1.0) < 0.02
    assert np.mean(kinetic[-20:]) < 0.1 * np.mean(kinetic[:20])


def test_compressed_start_relaxes():
    """A start that is 13 % too dense neither explodes nor throws particles out."""
    d = 0.04
    lattice = (
        np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 3) * d * 0.96 + 0.5 * d
    )
    water = ct.Fluid(points=lattice, particle_radius=d / 2, xsph=0.05)
    tank = ct.Box((4 * d, 8 * d, 4 * d), (8 * d, 16 * d, 8 * d), inside=True)
    world = ct.World([water], colliders=[tank], dt=0.01)
    world.step()
    assert water.density_error.max() < 0.14
    for _ in range(40):
        world.step()
    assert np.maximum(water.density_error, 0.0).mean() < 1e-3
    assert water.positions[:, 1].max() < 12 * d  # the tank is 16 high


@pytest.mark.parametrize("first", [1e-6, 1e-4])
def test_a_very_short_step_does_not_burst(first):
    """Fluid that starts a little too dense at the walls expands at a rate that does not depend on the step."""
    d = 0.02
    water = ct.Fluid(((0, 0, 0), (10 * d, 10 * d, 10 * d)), particle_radius=d / 2, xsph=0.05)
    tank = ct.Box((5 * d, 10 * d, 5 * d), (10 * d, 20 * d, 10 * d), inside=True)
    world = ct.World([water], colliders=[tank])
    world.step(first)
    assert water.density_error.max() > 0.01
    for _ in range(5):
        world.step(0.005)
        # one percent of ten diameters within 5 ms would be 0.4 m/s
        assert np.linalg.norm(water.velocities, axis=1).max() < 0.4


def test_local_divergence_is_far_below_that_of_iisph():
    """The largest rate at which a particle's density grows in a dam break, splashes left out."""

    def worst(solver):
        d, side = 0.04, 0.4
        water = ct.Fluid(
            ((0, 0, 0), (side,) * 3), particle_radius=d / 2, xsph=0.05, solver=solver, max_dt=0.004
        )
        tank = ct.Box((1.5 * side, side, 0.5 * side), (3 * side, 2 * side, side), inside=True)
        world = ct.World([water], colliders=[tank])
        found = []
        while world.time < 0.3:
            world.step(0.02)
            system = world.system(ct.Fluid)
            system.update_neighbours_and_density(world.time)
            p = system.particles
            if solver.solve_divergence(p, 0.004).iterations:
                p.velocities += p.velocity_changes * np.tile(np.float32([1, 1, 1, 0]), p.count)
            rates = np.zeros(p.count, np.float32)
            p.compute_density_rates(p.velocities, rates)
            found.append(rates[p.neighbour_lists.counts >= 20].max())
        return np.median(found)

    assert worst(ct.DFSPH()) < 0.1 * worst(ct.IISPH())


def test_warm_start_saves_iterations_at_rest():
    def iterations(solver):
        world, _ = column(6, 20, xsph=0.2, solver=solver)
        for _ in range(60):
            world.step()
        done = 0
        for _ in range(20):
            world.step()
            done += sum(sub.density.iterations for sub in world.system(ct.Fluid).substeps)
        return done / 20

    assert (
        iterations(ct.DFSPH(density_error=1e-3, warm_start=True))
        < iterations(ct.DFSPH(density_error=1e-3, warm_start=False)) / 2
    )


def test_falling_cube_stays_inside():
    """12 m/s onto the bottom of the tank, with steps by the CFL rule."""
    water = ct.Fluid(((-0.2, 0.1, -0.2), (0.2, 0.5, 0.2)), particle_radius=0.02, velocity=(0, -12, 0))
    world = ct.World([water], colliders=[ct.Box((0, 0.5, 0), (0.6, 1.0, 0.6), inside=True)], dt=0.01)
    for _ in range(15):
        world.step()
        x = water.positions
        assert np.isfinite(x).all()
        assert (np.abs(x - [0, 0.5, 0]) <= [0.3 + 1e-6, 0.5 + 1e-6, 0.3 + 1e-6]).all()
    assert water.density_error.max() < 0.1


def test_plane_holds_water():
    water = ct.Fluid(((-0.1, 0, -0.1), (0.1, 0.12, 0.1)), particle_radius=0.01, xsph=0.05)
    world = ct.World([water], colliders=[ct.Plane((0, 0, 0), (0, 1, 0))], dt=0.01)
    for _ in range(15):
        world.step()
    assert water.positions[:, 1].min() > 0.0
    assert np.ptp(water.positions[:, 0]) > 0.4  # it has spread


def test_moving_tank_carries_water_along():
    tank = ct.Box((0, 0.2, 0), (0.4, 0.4, 0.2), inside=True, motion=ct.Motion.translate((1.0, 0.2, 0)))
    water = ct.Fluid(
        ((-0.2, 0, -0.1), (0.2, 0.12, 0.1)), particle_radius=0.01, velocity=(1.0, 0.2, 0), xsph=0.05
    )
    world = ct.World([water], colliders=[tank], dt=0.02)
    for _ in range(20):
        world.step()
        assert (
            np.abs(water.positions - [world.time, 0.2 + 0.2 * world.time, 0]) <= [0.2001, 0.2001, 0.1001]
        ).all()
    # at rest relative to the tank
    assert np.abs(water.velocities.mean(axis=0) - [1.0, 0.2, 0.0]).max() < 0.02
    assert np.linalg.norm(water.velocities - [1.0, 0.2, 0.0], axis=1).mean() < 0.2


def run(threads, steps, world=None):
    before = ct.get_threads()
    ct.set_threads(threads)
    try:
        if world is None:
            world, _ = column(10, 10, viscosity=1.0, xsph=0.02)
            world.body("water").arrays["velocities"][:] = [1.0, 0.0, 0.5]
        for _ in range(steps):
            world.step()
        return world
    finally:
        ct.set_threads(before)


def test_results_are_bitwise_identical_for_any_thread_count(monkeypatch):
    for module in ("particles", "neighbour_search", "boundary.akinci"):
        name = "PARALLEL_FROM" if module == "particles" else "_PARALLEL_FROM"
        monkeypatch.setattr(f"continua.sph.{module}.{name}", 0)
    one, two = run(1, 3), run(2, 3)
    assert one.system(ct.Fluid).particles.parallel
    for key, value in one.state().items():
        np.testing.assert_array_equal(value, two.state()[key], err_msg=key)


def test_restored_run_continues_bitwise_identically():
    through = run(1, 6)
    half = run(1, 3)
    other, _ = column(10, 10, viscosity=1.0, xsph=0.02)
    other.restore(half.state())
    other = run(1, 3, other)
    for key, value in through.state().items():
        np.testing.assert_array_equal(value, other.state()[key], err_msg=key)


def test_memory_is_below_600_bytes_per_particle():
    world, water = column(20, 20)
    world.step(0.005)
    system, lists = world.system(ct.Fluid), world.system(ct.Fluid).particles.neighbour_lists
    entries = len(lists.neighbours) / water.node_count
    assert entries < 50  # 40 neighbours and a margin
    assert system.nbytes() / water.node_count + 8 * (40 - entries) < 600


def test_diverged_step_keeps_the_last_good_state():
    world, water = column(5, 5)
    world.step()
    good = water.state()
    water.arrays["velocities"][0] = np.nan
    water.changed = True
    with pytest.raises(ct.DivergedError, match="exploded"):
        world.step()
    water.restore(good)
    world.step()
    assert np.isfinite(water.positions).all()
