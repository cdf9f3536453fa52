"""Time and memory a particle from 60 thousand to a million particles."""

from __future__ import annotations

import resource
import time

import numpy as np

import continua as ct
from benchmarks.report import Result


def triad() -> float:
    """Return the memory bandwidth that a sum of two large arrays reaches [GB/s]."""
    a, b, c = (np.ones(16_000_000, np.float32) for _ in range(3))
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        np.add(a, b, out=c)
        best = min(best, time.perf_counter() - start)
    return 3 * a.nbytes / best / 1e9


def main(threads: int | None = None) -> Result:
    if threads:
        ct.set_threads(threads)
    bandwidth = triad()
    rows: list[dict[str, object]] = []
    for across in (39, 63, 100):
        d = 1.0 / across
        water = ct.Fluid(
            ((0, 0, 0), (1, 1, 1)), particle_radius=d / 2, solver=ct.DFSPH(density_error=5e-4), max_dt=0.1 * d
        )
        world = ct.World([water], colliders=[ct.Box((1, 1, 0.5), (2, 2, 1), inside=True)])
        system = world.system(ct.Fluid)
        assert system is not None
        world.step(1e-6 * d)  # compiles
        start = time.perf_counter()
        world.step(
            5.0 * d
        )  # 50 sub-steps: the first find the pressures from nothing, which takes more iterations
        taken = time.perf_counter() - start
        steps = system.substeps
        passes = sum(2 * (s.density.iterations + s.divergence.iterations) + 4 for s in steps)
        moved = passes * (8 * system.particles.neighbour_lists.counts.sum() + 64 * water.node_count)
        rows.append(
            {
                "particles": water.node_count,
                "us a particle and step": 1e6 * taken / len(steps) / water.node_count,
                "iterations": sum(s.density.iterations + s.divergence.iterations for s in steps) / len(steps),
                "us a particle and pass": 1e6 * taken / passes / water.node_count,
                "bytes a particle": system.nbytes() / water.node_count,
                "GB/s": moved / taken / 1e9,
                "of triad": moved / taken / 1e9 / bandwidth,
                "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            }
        )
    ratio = rows[0]["us a particle and step"] / rows[-1]["us a particle and step"]  # type: ignore[operator]
    notes = ["ratio: time a particle and step of the smallest over the largest; 1/1.5 or more is wanted"]
    return Result("Particle fluids by size", rows, ratio, 1 / 1.5, notes)
