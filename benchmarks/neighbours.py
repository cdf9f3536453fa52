"""Neighbour search of 59,319 particles against SPlisHSPlasH's own timer of it, and SciPy's tree."""

from __future__ import annotations

import time

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.fluid_peers import ACROSS, RADIUS, peer, points
from benchmarks.report import Result
from benchmarks.run import Run
from continua.sph import CellGrid, NeighbourLists

SUPPORT = 4 * RADIUS  # radius of the search [m]


def main(run: Run) -> Result:
    """Time sort, gather and lists of a jittered lattice."""
    threads = run.set_threads(1)
    across = run.choose(8, ACROSS)
    n = across**3
    xyzw = np.zeros((n, 4), np.float32)
    xyzw[:, :3] = points(across) + np.random.default_rng(0).uniform(-0.003, 0.003, (n, 3))
    grid, lists = CellGrid(SUPPORT), NeighbourLists()
    sorted_rows, spare = xyzw.copy(), np.empty_like(xyzw)
    wall = cpu = np.inf
    for _ in run.steps(run.choose(2, 20), "Continua"):
        start, busy = time.perf_counter(), time.process_time()
        order = grid.sort(sorted_rows.ravel())
        np.take(sorted_rows, order, axis=0, out=spare)
        sorted_rows, spare = spare, sorted_rows
        lists.update(grid, sorted_rows.ravel())
        wall = min(wall, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - busy)
    tree = run.least(lambda: cKDTree(xyzw[:, :3]).query_pairs(SUPPORT, output_type="ndarray"), 1)
    table: list[dict[str, object]] = [
        {"search": "Continua: sort, gather, lists", "ms": 1e3 * wall, "CPU ms": 1e3 * cpu},
        {"search": "SciPy cKDTree, every pair once", "ms": 1e3 * tree},
    ]
    run.stage("SPlisHSPlasH")
    theirs = None
    if not run.quick:
        theirs = run.peer("SPlisHSPlasH", lambda: peer(run, 0.1, 5e-4, "particles", threads))
    if theirs is not None:
        table.append({"search": "SPlisHSPlasH, with its boundary particles", "ms": 1e3 * theirs["search"]})
    baseline = tree if theirs is None else theirs["search"]
    notes = [
        f"{lists.counts.mean():.1f} neighbours per particle, {threads} thread(s)",
        f"ratio = {'cKDTree' if theirs is None else 'SPlisHSPlasH'} over Continua",
    ]
    return Result(f"Neighbour search, {n:,} particles", table, baseline / wall, 2.0, notes)
