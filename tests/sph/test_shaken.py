"""A shaken tank: how fast water gets is the work of the walls, and nothing leaves."""

from dataclasses import dataclass

import numpy as np

import continua as ct


@dataclass(frozen=True)
class Audited(ct.DFSPH):
    """DFSPH that notes for each solve the change of kinetic energy and the work of the walls [J]."""

    def free_of_divergence(self, p, dt):
        return self._noted(p, super().free_of_divergence, dt)

    def keep_density(self, p, dt):
        return self._noted(p, super().keep_density, dt)

    def _noted(self, p, solve, dt):
        before = p.velocities.reshape(-1, 4)[:, :3].astype(np.float64)
        facts = solve(p, dt)
        after = before + p.pushes.reshape(-1, 4)[:, :3]
        gain = 0.5 * p.volume * float(((after**2 - before**2).sum(axis=1) / p.light).sum())
        # a wall pushes particles with V p grad(delta), and does its speed times that in work
        LEDGER.append((gain, p.volume * float(p.rows[3::4].astype(np.float64) @ p.walls.rate)))
        return facts


LEDGER: list[tuple[float, float]] = []


def test_in_a_tank_shaken_at_20_metres_a_second_all_energy_is_work_of_the_walls():
    LEDGER.clear()
    d = 1 / 8
    water = ct.Fluid(
        ((0, 0, 0), (1, 1, 1)), particle_radius=d / 2, boundary="density_map", xsph=0.05,
        solver=Audited(density_error=1e-3),
    )  # fmt: skip
    shake = ct.Motion(lambda time, rest: rest + 0.3 * np.sin(66.0 * time) * np.array([0.9, 0.3, 0.3]))
    tank = ct.Box((0.5, 1, 0.5), (1, 2, 1), inside=True, motion=shake)
    world = ct.World([water], colliders=[tank], dt=0.01)
    speeds = []
    for _ in range(40):
        world.step()
        speeds.append(np.linalg.norm(water.velocities, axis=1))
    gain, work = np.array(LEDGER).T
    assert np.maximum(gain - work, 0.0).sum() < 0.02 * np.abs(work).sum()
    # walls of 20 m/s meet water of 20 m/s: only jets are faster than both together
    assert np.sqrt(np.mean(np.square(speeds))) < 30.0
    assert tank.distances_at(water.positions, world.time, 0.0)[0].min() > -1e-3 * d
