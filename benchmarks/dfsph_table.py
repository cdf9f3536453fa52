"""Pressure solvers side by side on one dam break at fixed time steps (Bender and Koschier, Table 6.1)."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.report import Result
from validation.fluids import largest_divergence


def run(solver: object, dt: float, across: int, seconds: float) -> dict[str, float]:
    """Return seconds a simulated second, mean iterations, and the largest local divergence at the end [1/s]."""
    d = 0.04
    side = across * d
    water = ct.Fluid(
        ((0, 0, 0), (side, side, side)), particle_radius=d / 2, viscosity=0.01, xsph=0.05, solver=solver,
        max_dt=dt, cfl=1e9,
    )  # fmt: skip
    tank = ct.Box((1.5 * side, side, 0.5 * side), (3 * side, 2 * side, side), inside=True)
    world = ct.World([water], colliders=[tank])
    world.step(dt)
    start = time.perf_counter()
    iterations, divergence, done = [], [], 0
    while done * dt < seconds:
        world.step(dt)
        done += 1
        assert world.fluid_system is not None
        iterations += [s.density.iterations for s in world.fluid_system.history]
        divergence += [s.divergence.iterations for s in world.fluid_system.history]
    taken = time.perf_counter() - start
    return {
        "s": taken / (done * dt),
        "it": float(np.mean(iterations)),
        "div": float(np.mean(divergence)),
        "divergence": largest_divergence(world),
    }


def main(threads: int | None = None, across: int = 50, seconds: float = 0.2) -> Result:
    if threads:
        ct.set_threads(threads)
    rows: list[dict[str, object]] = []
    at_four: dict[str, float] = {}
    for dt in (0.004, 0.002, 0.001, 0.0005):
        for solver in (ct.DFSPH(), ct.IISPH(), ct.PBF(), ct.PCISPH()):
            found = run(solver, dt, across, seconds)
            if dt == 0.004:
                at_four[solver.name] = found["s"]
            rows.append(
                {
                    "dt ms": 1e3 * dt,
                    "solver": solver.name,
                    "iterations": f"{found['it']:.1f} / {found['div']:.1f}",
                    "s per simulated s": found["s"],
                    "max local divergence 1/s": found["divergence"],
                }
            )
    ratio = min(at_four["iisph"] / at_four["dfsph"] / 5.0, at_four["pcisph"] / at_four["dfsph"] / 10.0)
    notes = ["ratio: how far IISPH is beyond 5x and PCISPH beyond 10x of DFSPH's time at 4 ms, the smaller"]
    return Result(f"Pressure solvers, {across**3:,} particles, {seconds:g} s", rows, ratio, 1.0, notes)
