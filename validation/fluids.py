"""Facts of particle fluids at the sizes of Bender and Koschier (2017): a falling cube, a pillar at rest, a dam.

python -m validation.fluids [cube] [pillar] [dam]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import continua as ct


def falling_cube(across: int = 30, speed: float = 20.0, seconds: float = 0.4) -> dict[str, float]:
    """Throw a cube of across^3 particles at the floor of a tank; return how many left it, and the largest density."""
    d = 0.02
    side = across * d
    low = np.array([0.5 * side, 0.5 * side, 0.5 * side])
    cube = ct.Fluid((low, low + side), particle_radius=d / 2, velocity=(0, -speed, 0))
    size = np.array([2 * side, 8 * side, 2 * side])
    world = ct.World([cube], colliders=[ct.Box(tuple(0.5 * size), tuple(size), inside=True)])
    densest, put_back, steps = 0.0, 0, 0
    while world.time < seconds:
        world.step(0.01)
        densest = max(densest, float(cube.density_error.max()))
        system = world.fluid_system
        assert system is not None
        put_back += sum(s.returned for s in system.history)
        steps += len(system.history)
    x = cube.positions
    outside = ((x < -1e-6) | (x > size + 1e-6)).any(axis=1) | ~np.isfinite(x).all(axis=1)
    return {
        "particles": cube.node_count,
        "outside": int(outside.sum()),
        "largest density": 1.0 + densest,
        "put back": put_back,
        "steps": steps,
        "largest speed at the end": float(np.linalg.norm(cube.velocities, axis=1).max()),
    }


def largest_divergence(world: ct.World) -> float:
    """Return the largest rate [1/s] at which a particle's density grows, after the divergence solve if there is one."""
    system = world.fluid_system
    assert system is not None
    system.measure(world.time)
    p = system.particles
    if system.fluids[0].solver.free_of_divergence(p, system.history[-1].dt).iterations:
        p.velocities.reshape(-1, 4)[:, :3] += p.pushes.reshape(-1, 4)[:, :3]
    rates = np.zeros(p.count, np.float32)
    p.rates(p.velocities, rates)
    return float(rates[p.lists.counts >= 20].max())  # splashes are left alone


def pillar(across: int = 20, seconds: float = 0.6) -> dict[str, float]:
    """Let a pillar of across^2 times 10 across particles rest at steps of 5 ms; return how calm it is."""
    d = 0.02
    side = across * d
    water = ct.Fluid(((0, 0, 0), (side, 10 * side, side)), particle_radius=d / 2, xsph=0.05, max_dt=0.005)
    tank = ct.Box((0.5 * side, 6 * side, 0.5 * side), (side, 12 * side, side), inside=True)
    world = ct.World([water], colliders=[tank])
    highest = water.positions[:, 1].max()
    capped = 0
    while world.time < seconds:
        report = world.step(0.005)[0]
        capped += not report.converged
    return {
        "particles": water.node_count,
        "largest speed": float(np.linalg.norm(water.velocities, axis=1).max()),
        "rise of the highest in diameters": float((water.positions[:, 1].max() - highest) / d),
        "kinetic energy of a particle over m g d": water.energy()["kinetic"] / (water.mass_total * 9.81 * d),
        "largest divergence 1/s": largest_divergence(world),
        "steps at the limit of iterations": capped,
    }


def dam(across: int = 50, seconds: float = 0.6) -> dict[str, float]:
    """Return the largest local divergence of a dam break [1/s] of across^3 particles with DFSPH and with IISPH."""
    found = {}
    for solver in (ct.DFSPH(), ct.IISPH()):
        d = 0.04
        side = across * d
        block = ((0, 0, 0), (side, side, side))
        water = ct.Fluid(block, particle_radius=d / 2, viscosity=0.01, xsph=0.05, solver=solver, max_dt=0.004)
        tank = ct.Box((1.5 * side, side, 0.5 * side), (3 * side, 2 * side, side), inside=True)
        world = ct.World([water], colliders=[tank])
        worst = []
        while world.time < seconds:
            world.step(0.02)
            worst.append(largest_divergence(world))
        found[f"{solver.name}: median over time of the largest divergence 1/s"] = float(np.median(worst))
        found[f"{solver.name}: largest"] = max(worst)
    return found


RUNS = {"cube": falling_cube, "pillar": pillar, "dam": dam}

if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        start = time.perf_counter()
        print(name)
        for what, value in RUNS[name]().items():
            print(f"  {what}: {value:g}")
        print(f"  ({time.perf_counter() - start:.0f} s)", flush=True)
