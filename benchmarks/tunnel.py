"""A 2-D wind tunnel whose obstacle changes every ten steps: cutting cells against a pressure solve."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.pressure import sweep_seconds
from benchmarks.report import Result, against
from benchmarks.run import Run
from continua.grid_fluids import CutCells, PoissonMultigrid, make_grid


def outline(turn: float) -> ct.Polygon:
    """Return a smooth outline with three lobes, turned by an angle [rad]."""
    angle = np.linspace(0.0, 2.0 * np.pi, 9)[:-1]
    radius = 0.12 * (1.0 + 0.3 * np.cos(3.0 * angle + turn))
    return ct.Polygon.spline(np.stack([0.5 + radius * np.cos(angle), 0.5 + radius * np.sin(angle)], axis=1))


def pressure_solver(n: int) -> tuple[PoissonMultigrid, np.ndarray]:
    """Return the pressure solver of the same domain, closed but for one side, and a random right-hand side."""
    grid = make_grid((1.0, 1.0), (n, n))
    weights = CutCells(grid, [outline(0.0)], np.float32).face_fractions
    for axis in (1, 2):
        ends = [slice(None)] * 3
        ends[axis] = [0, -1]
        weights[axis][tuple(ends)] = 0
    dirichlet = np.zeros(grid.shape, np.float32)
    dirichlet[:, -1] = 2.0
    solver = PoissonMultigrid(weights, dirichlet)
    b = np.random.default_rng(0).normal(size=grid.shape).astype(np.float32)
    b[solver.levels[0].diagonal == 0.0] = 0.0
    return solver, b


def main(run: Run) -> Result:
    """Step the tunnel, change its obstacle, and time pressure solves of the same size."""
    run.set_threads(2)
    n = run.choose(32, 1024)
    tunnel = ct.WindTunnel((1.0, 1.0), (n, n), obstacles=[outline(0.0)], rtol=1e-3, name="tunnel")
    world = ct.World([tunnel], dt=0.8192 / n)
    cuts, steps = [], []

    def change(turn: float) -> None:
        start = time.perf_counter()
        tunnel.obstacles = [outline(turn)]
        cuts.append(time.perf_counter() - start)

    for number in run.steps(run.choose(2, 30), "tunnel"):
        if number % 10 == 9:
            change(0.1 * number)
        start = time.perf_counter()
        world.step()
        steps.append(time.perf_counter() - start)
    for number in range(run.choose(1, 6)):
        change(3.0 + 0.1 * number)
    run.stage("pressure")
    solver, b = pressure_solver(n)
    report = solver.solve(b, np.zeros(b.shape), rtol=1e-3)
    best = run.least(lambda: solver.solve(b, np.zeros(b.shape), rtol=1e-3), 6)
    sweep = sweep_seconds(run, solver.levels[0])
    cut = min(cuts)
    rows: list[dict[str, object]] = [
        {"what": "cutting the cells of a changed obstacle", "ms": 1e3 * cut},
        {"what": "pressure to 1e-3 from zero", "ms": 1e3 * best},
        {"what": "red-black sweep of the finest grid", "ms": 1e3 * sweep},
        {"what": "step of two to four sub-steps", "ms": 1e3 * min(steps)},
    ]
    notes = [
        f"the pressure takes {report.iterations} cycles",
        against("cutting over one solve to 1e-3", cut / best, 0.5, at_most=True),
        against("solve in sweeps of the finest grid", best / sweep, 60, at_most=True),
        against("cutting [ms] (Weber 2015 prints 25 ms)", 1e3 * cut, 25, at_most=True),
        "ratio = a pressure solve over cutting",
    ]
    return Result(f"Wind tunnel, {n} x {n} cells", rows, best / cut, 2.0, notes)
