"""Cut-cell multigrid of grid fluids: rates, time over size, bandwidth, memory, and against other solvers."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.bridge import triad
from benchmarks.pressure_peers import conjugate, pyamg_seconds
from benchmarks.report import Result, against
from benchmarks.run import Run
from benchmarks.voxel_multigrid import orders_per_iteration
from continua.grid_fluids import CutCells, GhostFluidPressure, PoissonMultigrid, make_grid

SIZES = ((64, 64, 64), (128, 128, 128), (256, 128, 128), (256, 256, 256))
KINDS = ("open", "closed", "surface")


def problem(cells, dtype, kind):
    """Return weights, fixed, level set or None, and right-hand side of a box with a sphere in a flow along x."""
    h = 1.0 / cells[1]
    grid = make_grid(tuple(h * n for n in cells), cells)
    cut = CutCells(grid, [ct.Sphere(center=(0.5 * h * cells[0], 0.5, 0.5), radius=0.1)], dtype)
    weights = cut.face_fractions
    for a in range(3):
        ends = [slice(None)] * 3
        ends[a] = [0, -1]
        weights[a][tuple(ends)] = 0
    fixed, b = np.zeros(cells, dtype), np.zeros(cells, dtype)
    if kind == "surface":
        height = 0.55 + 0.1 * np.sin(4.0 * h * np.arange(cells[0]))[:, None, None]
        phi = (h * (np.arange(cells[1]) + 0.5))[None, :, None] - height + np.zeros(cells)
        b[:, 0, :] = 1.0
        b[phi >= 0] = 0
        return weights, fixed, phi, b
    b[0] = 10.0
    if kind == "closed":
        b[-1] = -10.0
    else:
        fixed[-1] = 2.0
    return weights, fixed, None, b


def solver_of(weights, fixed, phi, smoothing):
    if phi is None:
        return PoissonMultigrid(weights, fixed, smoothing=smoothing)
    return GhostFluidPressure(weights, fixed, phi, smoothing=smoothing).solver


def timed(run, solver, b, rtol, accelerate, rounds=3):
    """Return the least seconds of a solve from zero, and its report."""
    solves = []

    def solve():
        solves.append(solver.solve(b, np.zeros(b.shape), rtol=rtol, accelerate=accelerate))

    if run.quick or rounds == 1:
        start = time.perf_counter()
        solve()
        return time.perf_counter() - start, solves[-1]
    return run.least(solve, rounds), solves[-1]


def sweep_seconds(run, level) -> float:
    """Return the seconds of one red-black sweep."""
    return run.least(lambda: level.postsmooth(1, None), 6)


def sweep_bytes(level) -> int:
    """Return the least bytes of a sweep with both colours in one pass: x twice, and five arrays (four in 2-D)."""
    read = 2 + (3 if level.shape[0] > 1 else 2)
    return (2 + read) * level.x.nbytes


def row_of(run, cells, kind) -> dict[str, object]:
    """Measure one size and kind of problem in single precision."""
    weights, fixed, phi, b = problem(cells, np.float32, kind)
    _, strong = timed(run, solver_of(weights, fixed, phi, 8), b, 1e-6, phi is not None, 1)
    fast = solver_of(weights, fixed, phi, 2)
    rough, _ = timed(run, fast, b, 5e-3, True, 2)
    fine, solve = timed(run, fast, b, 1e-6, True, 2)
    row: dict[str, object] = {
        "cells": "x".join(map(str, cells)),
        "case": kind,
        "cycles to 5e-3 (8+8)": int(np.argmax(np.array(strong.residuals) <= 5e-3)),
        "orders per cycle (8+8)": -np.log10(strong.residual) / strong.iterations,
        "s to 5e-3": rough,
        "s to 1e-6": fine,
        "cycles (2+2)": solve.iterations,
        "residual": solve.residual,
        "bytes per cell": (fast.bytes + 8 * b.size + b.nbytes) / b.size,
    }
    if kind == "open":
        level = fast.levels[0]
        row["GB/s of a sweep"] = sweep_bytes(level) / sweep_seconds(run, level) / 1e9
    return row


def double_precision(run, cells, kind) -> str:
    """Return a line on the time to ten digits in double precision."""
    weights, fixed, phi, b = problem(cells, np.float64, kind)
    seconds, solve = timed(run, solver_of(weights, fixed, phi, 2), b, 1e-10, True, 1)
    name = "x".join(map(str, cells))
    what = f"{name} {kind}, residual in double precision ({solve.iterations} cycles, {seconds:.2f} s)"
    return against(what, solve.residual, 1e-10, at_most=True)


def peers(run, mine: float, cells) -> tuple[list[str], float]:
    """Measure other solvers to 1e-6; return lines on them, and the least of their times over ours."""
    weights, fixed, _, b = problem(cells, np.float32, "open")
    diagonal = PoissonMultigrid(weights, fixed).levels[0].diagonal
    lines, ratios = [], []
    what = f"{'x'.join(map(str, cells))} to 1e-6, times faster than"
    for kind, bar in (("none", 15.0), ("ssor", 15.0), ("iccg", 15.0)):
        run.stage(f"CG, {kind}")
        seconds, count, left = conjugate(weights, diagonal, b, 1e-6, kind, limit=run.seconds_left)
        text = f"CG with {kind} ({seconds:.2f} s, {count} iterations to {left:.0e}, 1 thread)"
        lines.append(against(f"{what} {text}", seconds / mine, bar))
        ratios.append(seconds / mine)
    run.stage("PyAMG")
    amg = run.peer("PyAMG", lambda: pyamg_seconds(weights, diagonal, b, 1e-6))
    for kind, seconds in (amg or {}).items():
        lines.append(against(f"{what} PyAMG {kind} ({seconds:.1f} s)", seconds / mine, 10.0))
        ratios.append(seconds / mine)
    return lines, min(ratios)


def main(run: Run) -> Result:
    """Measure all sizes and kinds, then the peers."""
    run.set_threads(2)
    stream = triad(run, 576)
    sizes = run.choose(((8, 8, 8), (16, 8, 8)), SIZES[:3], SIZES)
    reference = run.choose((8, 8, 8), (128, 128, 128))
    cases = [(cells, kind) for cells in sizes for kind in KINDS]
    named = [*cases, "double precision", "peers", "other multigrids"]
    rows: list[dict[str, object]] = []
    notes: list[str] = []
    ratio = None
    for case in run.cases(named, lambda c: c if isinstance(c, str) else f"{'x'.join(map(str, c[0]))} {c[1]}"):
        if not isinstance(case, str):
            rows.append(row_of(run, *case))
        elif case == "double precision":
            notes += [double_precision(run, run.choose((8, 8, 8), (64, 64, 64)), kind) for kind in KINDS]
        elif case == "peers":
            name = "x".join(map(str, reference))
            mine = next(
                float(str(r["s to 1e-6"])) for r in rows if r["cells"] == name and r["case"] == "open"
            )
            lines, ratio = peers(run, mine, reference)
            notes += lines
        else:
            n = run.choose(16, 128)
            notes += [
                f"         orders per iteration at {n}^2, {name}: {value:.2f} (printed for 128^2: {printed})"
                for name, value, printed in orders_per_iteration(n)
            ]
    notes = [f"bandwidth of a = b + s c: {stream:.1f} GB/s", *_summary(rows, stream), *notes]
    notes.append("ratio = CG (none, SSOR, incomplete Cholesky) and PyAMG over ours, the smallest")
    return Result("Pressure of grid fluids", rows, ratio, None, notes, ("cells", "case"))


def _summary(rows: list[dict[str, object]], stream: float) -> list[str]:
    """Return lines on the figures of all sizes."""
    value = {
        (row["cells"], row["case"], name): float(v)
        for row in rows
        for name, v in row.items()
        if isinstance(v, int | float)
    }
    opened = [row["cells"] for row in rows if row["case"] == "open"]

    def column(name: str, *cases: str) -> list[float]:
        return [v for (_, case, n), v in value.items() if n == name and case in cases]

    first, last = opened[0], opened[-1]
    count = [np.prod([float(n) for n in str(cells).split("x")]) for cells in opened]
    exponent = float(np.polyfit(np.log(count), np.log(column("s to 1e-6", "open")), 1)[0])
    growth = value[last, "open", "cycles (2+2)"] / value[first, "open", "cycles (2+2)"]
    cycles = column("cycles to 5e-3 (8+8)", "open", "closed")
    orders = column("orders per cycle (8+8)", "open", "closed")
    free = column("orders per cycle (8+8)", "surface")
    share = value[last, "open", "GB/s of a sweep"] / stream
    return [
        against("cycles to 5e-3 without a free surface", max(cycles), 2, at_most=True),
        against("orders of magnitude per cycle, no free surface", min(orders), 1.35),
        *(
            [against("orders of magnitude per iteration below a free surface", min(free), 0.7)]
            if free
            else []
        ),
        against("cycles at the largest size over those at the smallest, open", growth, 1.34, at_most=True),
        against(f"red-black sweep at {last}, part of the bandwidth", share, 0.6),
        against("exponent of time over cells", exponent, 1.05, at_most=True),
        against("bytes per cell", max(column("bytes per cell", *KINDS)), 60, at_most=True),
        against("residual in single precision", max(column("residual", *KINDS)), 1e-6, at_most=True),
    ]
