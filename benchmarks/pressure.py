"""The cut-cell multigrid of grid fluids: rates, time over size, bandwidth, memory, and against other solvers."""

from __future__ import annotations

import time

import numpy as np
from numba import njit, prange

import continua as ct
from benchmarks.pressure_peers import conjugate, pyamg_seconds
from benchmarks.report import Result, against
from benchmarks.voxel_multigrid import orders_an_iteration
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


@njit(parallel=True, fastmath=True)
def _triad(a, b, c):
    for i in prange(a.shape[0]):
        a[i] = b[i] + 0.5 * c[i]


def bandwidth() -> float:
    """Return GB/s of a = b + s c on arrays that no cache holds."""
    a, b, c = (np.ones(24_000_000) for _ in range(3))
    best = np.inf
    for _ in range(6):
        start = time.perf_counter()
        _triad(a, b, c)
        best = min(best, time.perf_counter() - start)
    return 3 * a.nbytes / best / 1e9


def timed(solver, b, rtol, accelerate, rounds=3):
    best, solve = np.inf, None
    for _ in range(rounds):
        x = np.zeros(b.shape)
        start = time.perf_counter()
        solve = solver.solve(b, x, rtol=rtol, accelerate=accelerate)
        best = min(best, time.perf_counter() - start)
    return best, solve


def sweep_seconds(level) -> float:
    """Return the seconds of one red-black sweep."""
    best = np.inf
    for _ in range(6):
        start = time.perf_counter()
        level.postsmooth(1, None)
        best = min(best, time.perf_counter() - start)
    return best


def sweep_bytes(level) -> int:
    """Return the least bytes of a sweep, both colours in one pass: x both ways, five (four in a plane) arrays."""
    read = 2 + (3 if level.shape[0] > 1 else 2)
    return (2 + read) * level.x.nbytes


def row_of(cells, kind) -> dict[str, object]:
    """Measure one size and kind of problem in single precision, and in double precision how far it gets."""
    weights, fixed, phi, b = problem(cells, np.float32, kind)
    _, strong = timed(solver_of(weights, fixed, phi, 8), b, 1e-6, phi is not None, 1)
    fast = solver_of(weights, fixed, phi, 2)
    rough, _ = timed(fast, b, 5e-3, True, 2)
    fine, solve = timed(fast, b, 1e-6, True, 2)
    row: dict[str, object] = {
        "cells": "x".join(map(str, cells)),
        "case": kind,
        "cycles to 5e-3 (8+8)": int(np.argmax(np.array(strong.residuals) <= 5e-3)),
        "orders a cycle (8+8)": -np.log10(strong.residual) / strong.iterations,
        "s to 5e-3": rough,
        "s to 1e-6": fine,
        "cycles (2+2)": solve.iterations,
        "reached": solve.residual,
        "bytes a cell": (fast.bytes + 8 * b.size + b.nbytes) / b.size,
    }
    if kind == "open":
        level = fast.levels[0]
        row["GB/s of a sweep"] = sweep_bytes(level) / sweep_seconds(level) / 1e9
    del fast, weights, fixed, phi, b
    return row


def doubles(cells, kind) -> str:
    """Return a line on how long ten digits take in double precision."""
    weights, fixed, phi, b = problem(cells, np.float64, kind)
    seconds, solve = timed(solver_of(weights, fixed, phi, 2), b, 1e-10, True, 1)
    name = "x".join(map(str, cells))
    met = "met    " if solve.residual <= 1e-10 else "NOT MET"
    reached = f"{solve.residual:.1e} in {solve.iterations} cycles, {seconds:.2f} s"
    return f"{met}  {name} {kind} in double precision: {reached} (bar: at most 1e-10)"


def peers(mine: float) -> tuple[list[str], float]:
    """Measure other solvers at 128^3 to 1e-6; return lines, and the least of their times over what is asked for."""
    weights, fixed, _, b = problem((128, 128, 128), np.float32, "open")
    diagonal = PoissonMultigrid(weights, fixed).levels[0].diagonal
    lines, ratios = [], []
    for kind, bar in (("none", None), ("ssor", 15.0), ("iccg", 15.0)):
        seconds, count, left = conjugate(weights, diagonal, b, 1e-6, kind)
        how = f"{seconds:.2f} s, {count} iterations to {left:.0e}, 1 thread"
        text = f"128^3 to 1e-6, times faster than CG with {kind} ({how})"
        if bar is None:
            lines.append(f"         {text}: {seconds / mine:.3g}")
        else:
            lines.append(against(text, seconds / mine, bar))
            ratios.append(seconds / mine / bar)
    for kind, seconds in pyamg_seconds(weights, diagonal, b, 1e-6).items():
        lines.append(
            against(f"128^3 to 1e-6, times faster than PyAMG {kind} ({seconds:.1f} s)", seconds / mine, 10.0)
        )
        ratios.append(seconds / mine / 10.0)
    return lines, min(ratios)


def main(threads: int | None = None, sizes=SIZES) -> Result:
    ct.set_threads(threads or 2)
    stream = bandwidth()
    rows = [row_of(cells, kind) for cells in sizes for kind in KINDS]
    opened = [row for row in rows if row["case"] == "open"]
    plain = [row for row in rows if row["case"] != "surface"]
    count = [np.prod([float(n) for n in str(row["cells"]).split("x")]) for row in opened]
    exponent = float(np.polyfit(np.log(count), np.log([row["s to 1e-6"] for row in opened]), 1)[0])
    largest = opened[-1]
    free = [row["orders a cycle (8+8)"] for row in rows if row["case"] == "surface"]
    cycles = max(r["cycles to 5e-3 (8+8)"] for r in plain)
    share = largest["GB/s of a sweep"] / stream
    notes = [
        f"bandwidth of a = b + s c: {stream:.1f} GB/s",
        against("cycles to 5e-3 without a free surface", cycles, 2, at_most=True),
        against("orders of magnitude a cycle, no free surface", min(r["orders a cycle (8+8)"] for r in plain), 1.35),
        against("orders of magnitude an iteration below a free surface", min(free), 0.7),
        against(
            "cycles at the largest size over those at the smallest, open",
            largest["cycles (2+2)"] / opened[0]["cycles (2+2)"], 1.34, at_most=True,
        ),
        against(f"red-black sweep at {largest['cells']}, part of the bandwidth", share, 0.6),
        against("exponent of time over cells", exponent, 1.05, at_most=True),
        against("bytes a cell", max(r["bytes a cell"] for r in rows), 60, at_most=True),
        against("residual reached in single precision", max(r["reached"] for r in rows), 1e-6, at_most=True),
        *(doubles((64, 64, 64), kind) for kind in KINDS),
        doubles((128, 128, 128), "open"),
    ]  # fmt: skip
    mine = next((float(r["s to 1e-6"]) for r in opened if r["cells"] == "128x128x128"), None)
    ratio = float("nan")
    if mine is not None:
        lines, ratio = peers(mine)
        notes += lines
    notes += [
        f"         orders an iteration at 128^2, {name}: {value:.2f} (printed: {printed})"
        for name, value, printed in orders_an_iteration()
    ]
    return Result(
        "Pressure of grid fluids (ratio: the least of SSOR-CG and ICCG over 15 and PyAMG over 10)",
        rows, ratio, 1.0, notes,
    )  # fmt: skip
