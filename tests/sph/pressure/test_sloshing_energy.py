"""Sloshing in a shaken tank: all energy is work of the walls, and no particle leaves."""

from dataclasses import dataclass

import numpy as np

import continua as ct


@dataclass(frozen=True)
class Audited(ct.DFSPH):
    """DFSPH that records for each solve the change of kinetic energy and the work of the walls [J]."""

    def solve_divergence(self, p, dt):
        return self._recorded(p, super().solve_divergence, dt)

    def solve_density(self, p, dt):
        return self._recorded(p, super().solve_density, dt)

    def _recorded(self, p, solve, dt):
        before = p.velocities.reshape(-1, 4)[:, :3].astype(np.float64)
        report = solve(p, dt)
        after = before + p.velocity_changes.reshape(-1, 4)[:, :3]
        gain = 0.5 * p.volume * float(((after**2 - before**2).sum(axis=1) / p.inverse_density).sum())
        # a wall acts on particles with V p grad(delta); its work is that times its velocity
        LEDGER.append((gain, p.volume * float(p.xyzp[3::4].astype(np.float64) @ p.boundary.rate)))
        return report


LEDGER: list[tuple[float, float]] = []


def test_energy_in_a_tank_shaken_at_20_metres_per_second_is_work_of_the_walls():
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
    # walls at 20 m/s hit water at 20 m/s: only jets are faster than the sum
    assert np.sqrt(np.mean(np.square(speeds))) < 30.0
    assert tank.distances_at(water.positions, world.time, 0.0)[0].min() > -1e-3 * d
