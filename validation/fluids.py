"""Particle fluids at full size: a falling cube, a pillar, a dam, a shaken tank, a ball, a water wheel.

Sizes are those of Bender and Koschier (2017). `python -m validation.fluids [NAME[:ACROSS[:SECONDS]] ...]`, for example
`slosh:20:5` for a smaller and shorter run. Progress is printed every ten seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import continua as ct


class Progress:
    """Prints progress and the largest speed every ten seconds."""

    def __init__(self, world: ct.World, until: float) -> None:
        self.world, self.until = world, until
        self.begun = self.printed = time.perf_counter()

    def __call__(self) -> bool:
        """Return whether the run goes on."""
        now = time.perf_counter()
        if now - self.printed > 10.0:
            self.printed = now
            done = self.world.time / self.until
            fast = max(
                float(np.abs(b.velocities).max()) for b in self.world.bodies if isinstance(b, ct.Fluid)
            )
            left = (now - self.begun) * (1.0 / max(done, 1e-9) - 1.0)
            print(
                f"    {100 * done:5.1f} %, {left:.0f} s left, up to {fast:.3g} m/s",
                file=sys.stderr,
                flush=True,
            )
        return self.world.time < self.until - 1e-9


def falling_cube(across: int = 30, seconds: float = 0.4, speed: float = 20.0) -> dict[str, float]:
    """Throw a cube of across^3 particles at the floor of a tank; return how many left it, and the largest density."""
    d = 0.02
    side = across * d
    low = np.array([0.5 * side, 0.5 * side, 0.5 * side])
    cube = ct.Fluid((low, low + side), particle_radius=d / 2, velocity=(0, -speed, 0))
    size = np.array([2 * side, 8 * side, 2 * side])
    world = ct.World([cube], colliders=[ct.Box(tuple(0.5 * size), tuple(size), inside=True)])
    densest, penetrations, steps = 0.0, 0, 0
    goes_on = Progress(world, seconds)
    while goes_on():
        world.step(0.01)
        densest = max(densest, float(cube.density_error.max()))
        system = world.system(ct.Fluid)
        assert system is not None
        penetrations += sum(s.penetrations for s in system.substeps)
        steps += len(system.substeps)
    x = cube.positions
    outside = ((x < -1e-6) | (x > size + 1e-6)).any(axis=1) | ~np.isfinite(x).all(axis=1)
    return {
        "particles": cube.node_count,
        "outside": int(outside.sum()),
        "largest density": 1.0 + densest,
        "penetrations corrected": penetrations,
        "steps": steps,
        "largest speed at the end": float(np.linalg.norm(cube.velocities, axis=1).max()),
    }


def largest_divergence(world: ct.World) -> float:
    """Return the largest rate [1/s] at which a particle's density grows, after the divergence solve if there is one."""
    system = world.system(ct.Fluid)
    assert system is not None
    system.update_neighbours_and_density(world.time)
    p = system.particles
    if system.fluids[0].solver.solve_divergence(p, system.substeps[-1].dt).iterations:
        p.velocities.reshape(-1, 4)[:, :3] += p.velocity_changes.reshape(-1, 4)[:, :3]
    rates = np.zeros(p.count, np.float32)
    p.compute_density_rates(p.velocities, rates)
    return float(rates[p.neighbour_lists.counts >= 20].max())  # without splashes


def pillar(across: int = 20, seconds: float = 0.6) -> dict[str, float]:
    """Let a pillar of across^2 times 10 across particles rest at steps of 5 ms; return how much it moves."""
    d = 0.02
    side = across * d
    water = ct.Fluid(((0, 0, 0), (side, 10 * side, side)), particle_radius=d / 2, xsph=0.05, max_dt=0.005)
    tank = ct.Box((0.5 * side, 6 * side, 0.5 * side), (side, 12 * side, side), inside=True)
    world = ct.World([water], colliders=[tank])
    highest = water.positions[:, 1].max()
    capped = 0
    goes_on = Progress(world, seconds)
    while goes_on():
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
        goes_on = Progress(world, seconds)
        while goes_on():
            world.step(0.02)
            worst.append(largest_divergence(world))
        found[f"{solver.name}: median over time of the largest divergence 1/s"] = float(np.median(worst))
        found[f"{solver.name}: largest"] = max(worst)
    return found


def slosh(across: int = 39, seconds: float = 60.0) -> dict[str, float]:
    """Shake a closed tank, half filled with across^3 particles, at speeds up to 20 m/s; return how many were lost."""
    d = 1.0 / across
    water = ct.Fluid(
        ((0, 0, 0), (1, 1, 1)), particle_radius=d / 2, boundary="density_map", xsph=0.05,
        solver=ct.DFSPH(density_error=1e-3),
    )  # fmt: skip

    def sway(time: float, rest: np.ndarray) -> np.ndarray:
        """Return the positions of points: slow swings, and every 4 s half a second at up to 20 m/s."""
        hard = np.sin(np.pi * np.clip((time % 4.0 - 3.0) / 0.5, 0.0, 1.0)) ** 2
        swing = 0.3 * np.sin(2.0 * time) * np.array([1.0, 0.0, 0.3])
        return rest + swing + hard * 0.3 * np.sin(66.0 * time) * np.array([0.9, 0.3, 0.3])

    tank = ct.Box((0.5, 1, 0.5), (1, 2, 1), inside=True, motion=ct.Motion(sway))
    world = ct.World([water], colliders=[tank], dt=0.01)
    deepest, penetrations = 0.0, 0
    speeds = []
    goes_on = Progress(world, seconds)
    while goes_on():
        world.step()
        system = world.system(ct.Fluid)
        assert system is not None
        penetrations += sum(s.penetrations for s in system.substeps)
        gaps = tank.distances_at(water.positions, world.time, 0.0)[0]
        deepest = min(deepest, float(gaps.min()))
        speed = np.linalg.norm(water.velocities, axis=1)
        speeds.append((np.sqrt((speed**2).mean()), np.quantile(speed, 0.999), speed.max()))
        if (gaps < -1e-3 * d).any() or not np.isfinite(gaps).all():
            break
    return {
        "particles": water.node_count,
        "seconds": world.time,
        "lost": int((~(gaps >= -1e-3 * d)).sum()),
        "deepest in a wall, diameters": -deepest / d,
        "largest speed": float(np.max(speeds, axis=0)[2]),
        "largest speed of all but a thousandth": float(np.max(speeds, axis=0)[1]),
        "largest root mean square of speeds": float(np.max(speeds, axis=0)[0]),
        "penetrations corrected": penetrations,
    }


def ball(across: int = 20, seconds: float = 8.0) -> dict[str, float]:
    """Double the density of a floating ball repeatedly; return its mean height above the bottom, in radii.

    `across` is the number of particles across the tank. The ball floats lower each time, and sinks past 1000 kg/m3.
    """
    radius, d, side = 0.1, 0.6 / across, 0.6
    water = ct.Fluid(
        ((0, 0, 0), (side, 0.4, side)), particle_radius=d / 2, boundary="density_map", xsph=0.05, name="water"
    )
    body = ct.RigidBody(ct.Sphere((0.5 * side, 0.5 + d, 0.5 * side), radius), density=125.0, name="ball")
    tank = ct.Box((0.5 * side, 1, 0.5 * side), (side, 2, side), inside=True)
    world = ct.World([water, body], colliders=[tank], dt=0.005)
    densities = (125.0, 250.0, 500.0, 1000.0, 2000.0)
    volume = 4.0 / 3.0 * np.pi * radius**3
    goes_on = Progress(world, seconds)
    heights: dict[float, list[float]] = {density: [] for density in densities}
    while goes_on():
        density = densities[min(int(len(densities) * world.time / seconds), len(densities) - 1)]
        body.mass = density * volume
        world.step()
        heights[density].append(float(body.center_of_mass[1]))
    found = {}
    for density, path in heights.items():
        half = path[len(path) // 2 :]
        found[f"{density:g} kg/m3: height of the centre in radii"] = float(np.mean(half)) / radius
        if density < 1000.0:
            parts = np.linspace(0.0, 2.0 * radius, 20001)
            sunk = parts[
                np.searchsorted(np.pi * parts**2 * (3.0 * radius - parts) / 3.0, density / 1000.0 * volume)
            ]
            level = (water.node_count * d**3 + density / 1000.0 * volume) / side**2
            found[f"{density:g} kg/m3: after Archimedes"] = float(level + radius - sunk) / radius
    return found


def wheel(across: int = 0, seconds: float = 6.0) -> dict[str, float]:
    """Run the shipped water wheel; return its speed and its variation over the last half. `across` is not used."""
    world = ct.load_scene("water-wheel").build()
    turning = world.body("wheel")
    assert isinstance(turning, ct.RigidBody)
    speeds = []
    goes_on = Progress(world, seconds)
    while goes_on():
        world.step()
        speeds.append(float(turning.angular_velocity[2]))
    last = np.array(speeds[len(speeds) // 2 :])
    quarters = [part.mean() for part in np.array_split(last, 4)]
    return {
        "rad/s": float(last.mean()),
        "deviation of quarters": float(np.ptp(quarters) / abs(last.mean())),
        "slowest": float(np.abs(last).min()),
    }


RUNS: dict[str, Callable[..., dict[str, float]]] = {
    "cube": falling_cube,
    "pillar": pillar,
    "dam": dam,
    "slosh": slosh,
    "ball": ball,
    "wheel": wheel,
}

if __name__ == "__main__":
    for given in sys.argv[1:] or RUNS:
        name, *rest = given.split(":")
        options = dict(zip(("across", "seconds"), (int(rest[0]) if rest else 0, *map(float, rest[1:]))))
        start = time.perf_counter()
        print(given)
        for what, value in RUNS[name](**{key: value for key, value in options.items() if value}).items():
            print(f"  {what}: {value:g}")
        print(f"  ({time.perf_counter() - start:.0f} s)", flush=True)
