"""A plane wind tunnel of 1024 x 1024 cells whose obstacle is changed every ten steps: cutting anew and solving."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.pressure import sweep_seconds
from benchmarks.report import Result


def outline(turn: float) -> ct.Polygon:
    angle = np.linspace(0.0, 2.0 * np.pi, 9)[:-1]
    radius = 0.12 * (1.0 + 0.3 * np.cos(3.0 * angle + turn))
    return ct.Polygon.spline(np.stack([0.5 + radius * np.cos(angle), 0.5 + radius * np.sin(angle)], axis=1))


def main(threads: int | None = None) -> Result:
    ct.set_threads(threads or 2)
    tunnel = ct.WindTunnel((1.0, 1.0), (1024, 1024), obstacles=[outline(0.0)], rtol=1e-3, name="tunnel")
    world = ct.World([tunnel], dt=0.0008)
    cuts, solves, steps = [], [], []
    for number in range(40):
        if number % 10 == 9:
            start = time.perf_counter()
            tunnel.obstacles = [outline(0.1 * number)]
            cuts.append(time.perf_counter() - start)
        start = time.perf_counter()
        world.step()
        steps.append(time.perf_counter() - start)
    flow = tunnel.flow
    for _ in range(4):
        u = [v.copy() for v in flow.velocity]
        flow.velocity[1] += np.random.default_rng(0).normal(size=flow.velocity[1].shape).astype(np.float32)
        flow.potential[:] = 0.0
        start = time.perf_counter()
        solve = flow.project(world.dt)
        solves.append(time.perf_counter() - start)
        for a, v in enumerate(u):
            flow.velocity[a][:] = v
    sweep = sweep_seconds(flow.solver.levels[0])
    cut, best = min(cuts), min(solves)
    rows: list[dict[str, object]] = [
        {"": "cutting anew", "ms": 1e3 * cut},
        {"": f"pressure to 1e-3 from zero ({solve.iterations} cycles)", "ms": 1e3 * best},
        {"": "the same in sweeps of the fine grid", "ms": best / sweep},
        {"": "whole step", "ms": 1e3 * min(steps)},
    ]
    return Result("Wind tunnel, 1024 x 1024 (ratio: half a solve over cutting)", rows, 0.5 * best / cut, 1.0)
