"""A plane wind tunnel of 1024 x 1024 cells whose obstacle is changed every ten steps: cutting anew and solving."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.pressure import sweep_seconds
from benchmarks.report import Result, against


def outline(turn: float) -> ct.Polygon:
    angle = np.linspace(0.0, 2.0 * np.pi, 9)[:-1]
    radius = 0.12 * (1.0 + 0.3 * np.cos(3.0 * angle + turn))
    return ct.Polygon.spline(np.stack([0.5 + radius * np.cos(angle), 0.5 + radius * np.sin(angle)], axis=1))


def main(threads: int | None = None) -> Result:
    ct.set_threads(threads or 2)
    tunnel = ct.WindTunnel((1.0, 1.0), (1024, 1024), obstacles=[outline(0.0)], rtol=1e-3, name="tunnel")
    world = ct.World([tunnel], dt=0.0008)
    cuts, steps = [], []
    for number in range(30):
        if number % 10 == 9:
            start = time.perf_counter()
            tunnel.obstacles = [outline(0.1 * number)]
            cuts.append(time.perf_counter() - start)
        start = time.perf_counter()
        world.step()
        steps.append(time.perf_counter() - start)
    for number in range(6):  # more edits, to take the least
        start = time.perf_counter()
        tunnel.obstacles = [outline(3.0 + 0.1 * number)]
        cuts.append(time.perf_counter() - start)
    flow, solves = tunnel.flow, []
    flow.fields.velocity[1] += (
        np.random.default_rng(0).normal(size=flow.fields.velocity[1].shape).astype(np.float32)
    )
    b = -(flow.fields.divergence(flow.domain.cut_cells.face_fractions) * flow.grid.spacing).astype(np.float32)
    for _ in range(6):
        p = np.zeros(b.shape)
        start = time.perf_counter()
        solve = flow.projection.solver.solve(b, p, rtol=1e-3)
        solves.append(time.perf_counter() - start)
    level = flow.projection.solver.levels[0]
    sweep = sweep_seconds(level)
    cut, best = min(cuts), min(solves)
    rows: list[dict[str, object]] = [
        {"": "cutting anew", "ms": 1e3 * cut},
        {"": f"pressure to 1e-3 from zero ({solve.iterations} cycles)", "ms": 1e3 * best},
        {"": "one red-black sweep of the fine grid", "ms": 1e3 * sweep},
        {"": "whole step, two to four sub-steps", "ms": 1e3 * min(steps)},
    ]
    notes = [
        against("cutting over one solve to 1e-3", cut / best, 0.5, at_most=True),
        against("solve in sweeps of the fine grid", best / sweep, 60, at_most=True),
        against("cutting [ms] (printed in 2015: 25 ms)", 1e3 * cut, 25, at_most=True),
    ]
    return Result(
        "Wind tunnel, 1024 x 1024 (ratio: half a solve over cutting)", rows, 0.5 * best / cut, 1.0, notes
    )
