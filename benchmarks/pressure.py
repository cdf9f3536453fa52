"""The cut-cell multigrid of grid fluids: rates, time over size, bandwidth, memory, and against ICCG and PyAMG."""

from __future__ import annotations

import time

import numpy as np
from numba import njit, prange

import continua as ct
from benchmarks.pressure_peers import iccg, pyamg_seconds
from benchmarks.report import Result
from continua.eulerian import CutCells, FreeSurface, Multigrid, make_grid
from continua.eulerian import laplace_kernels as kernels

SIZES = ((64, 64, 64), (128, 128, 128), (256, 128, 128), (256, 256, 256))


def problem(cells, dtype, kind):
    """Return weights, fixed, level set or None, and right-hand side of a box with a sphere in a flow along x."""
    h = 1.0 / cells[1]
    grid = make_grid(tuple(h * n for n in cells), cells)
    cut = CutCells(grid, [ct.Sphere(center=(0.5 * h * cells[0], 0.5, 0.5), radius=0.1)], dtype)
    weights = cut.parts
    for a in range(3):
        ends = [slice(None)] * 3
        ends[a] = [0, -1]
        weights[a][tuple(ends)] = 0
    fixed, b = np.zeros(cells, dtype), np.zeros(cells, dtype)
    phi = None
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
    return weights, fixed, phi, b


def solver_of(weights, fixed, phi, smoothing):
    if phi is None:
        return Multigrid(weights, fixed, smoothing=smoothing)
    return FreeSurface(weights, fixed, phi, smoothing=smoothing).solver


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
    half = kernels.half_sweep.pick(level.parallel)
    best = np.inf
    for _ in range(6):
        start = time.perf_counter()
        for colour in (0, 1):
            half(level.x, level.b, *level.weights, level.diagonal, colour)
        best = min(best, time.perf_counter() - start)
    return best


def main(threads: int | None = None) -> Result:
    ct.set_threads(threads or 2)
    stream = bandwidth()
    rows: list[dict[str, object]] = []
    times, cells_of = [], []
    notes = [f"bandwidth of a = b + s c: {stream:.1f} GB/s"]
    for cells in SIZES:
        for kind in ("open", "closed", "surface"):
            weights, fixed, phi, b = problem(cells, np.float32, kind)
            strong = solver_of(weights, fixed, phi, 8)
            _, solve8 = timed(strong, b, 1e-6, phi is not None, 1)
            fast = solver_of(weights, fixed, phi, 2)
            rough, _ = timed(fast, b, 5e-3, phi is not None)
            fine, solve2 = timed(fast, b, 1e-6, phi is not None)
            row = {
                "cells": "x".join(map(str, cells)),
                "case": kind,
                "cycles to 5e-3 (8+8)": int(np.argmax(np.array(solve8.residuals) <= 5e-3)),
                "orders a cycle (8+8)": -np.log10(solve8.residual) / solve8.iterations,
                "s to 5e-3": rough,
                "s to 1e-6": fine,
                "cycles (2+2)": solve2.iterations,
                "bytes a cell": (fast.bytes + 8 * b.size + 2 * b.nbytes) / b.size,
            }
            if kind == "open":
                level = fast.levels[0]
                second = sweep_seconds(level)
                row["sweep share"] = 56.0 * b.size / second / 1e9 / stream
                times.append(fine)
                cells_of.append(b.size)
            rows.append(row)
    weights, fixed, _, b = problem((128, 128, 128), np.float64, "open")
    ten, solve = timed(Multigrid(weights, fixed), b, 1e-10, False, 1)
    notes.append(f"128^3 in double precision to {solve.residual:.1e}: {ten:.2f} s, {solve.iterations} cycles")
    weights, fixed, _, b = problem((128, 128, 128), np.float32, "open")
    diagonal = Multigrid(weights, fixed).levels[0].diagonal
    mine = rows[3]["s to 1e-6"]
    seconds, count = iccg(weights, diagonal, b, 1e-6)
    amg = pyamg_seconds(weights, diagonal, b, 1e-6)
    notes += [
        f"128^3 to 1e-6: here {mine:.2f} s, ICCG {seconds:.1f} s ({count} iterations, {seconds / mine:.1f} times), "
        f"PyAMG {amg:.1f} s ({amg / mine:.1f} times, set-up counted)",
        f"exponent of time over cells: {np.polyfit(np.log(cells_of), np.log(times), 1)[0]:.3f}",
    ]
    ratio = min(seconds / mine / 15.0, amg / mine / 10.0)
    return Result(
        "Pressure of grid fluids (ratio: the least of 15 x ICCG and 10 x PyAMG)", rows, ratio, 1.0, notes
    )
