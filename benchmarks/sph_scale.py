"""Time and memory per particle over the number of particles."""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import continua as ct
from benchmarks.bridge import triad
from benchmarks.report import Result
from benchmarks.run import Run

CHUNKS = 10


def main(run: Run) -> Result:
    """Let cubes of water collapse, 50 sub-steps each: the first find the pressures from zero and iterate more."""
    run.set_threads(2)
    bandwidth = triad(run, 400)
    rows: list[dict[str, object]] = []
    unit = 1 if sys.platform == "darwin" else 1024
    sizes = run.choose((5, 6), (39, 50, 63), (39, 63, 100))
    for across in run.cases(sizes, lambda n: f"{n**3:,} particles"):
        d = 1.0 / across
        water = ct.Fluid(
            ((0, 0, 0), (1, 1, 1)), particle_radius=d / 2, solver=ct.DFSPH(density_error=5e-4), max_dt=0.1 * d
        )
        world = ct.World([water], colliders=[ct.Box((1, 1, 0.5), (2, 2, 1), inside=True)])
        system = world.system(ct.Fluid)
        assert system is not None
        world.step(1e-6 * d)  # compiles
        steps: list[Any] = []
        taken = 0.0
        for _ in run.steps(run.choose(2, CHUNKS)):
            start = time.perf_counter()
            world.step(5.0 * d / CHUNKS)
            taken += time.perf_counter() - start
            steps += system.substeps
        passes = sum(2 * (s.density.iterations + s.divergence.iterations) + 4 for s in steps)
        moved = passes * (8 * system.particles.neighbour_lists.counts.sum() + 64 * water.node_count)
        rows.append(
            {
                "particles": water.node_count,
                "us per particle and step": 1e6 * taken / len(steps) / water.node_count,
                "iterations": sum(s.density.iterations + s.divergence.iterations for s in steps) / len(steps),
                "us per particle and pass": 1e6 * taken / passes / water.node_count,
                "bytes per particle": system.nbytes() / water.node_count,
                "GB/s": moved / taken / 1e9,
                "of triad": moved / taken / 1e9 / bandwidth,
                "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30,
            }
        )
    per_step = [float(str(row["us per particle and step"])) for row in rows]
    notes = ["ratio = time per particle and step of the smallest size over that of the largest"]
    return Result("Particle fluids by size", rows, per_step[0] / per_step[-1], 1 / 1.5, notes)
