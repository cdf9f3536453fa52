"""Neighbour search of 59,319 particles against SPlisHSPlasH's own timer of it, and SciPy's tree."""

from __future__ import annotations

import time

import numpy as np
from scipy.spatial import cKDTree

import continua as ct
from benchmarks.fluid_peers import peer, points
from benchmarks.report import Result
from continua.sph import CellGrid, NeighbourLists
from continua.sph.neighbour_search_kernels import gather_rows


def main(threads: int | None = None) -> Result:
    threads = threads or 1
    ct.set_threads(threads)
    rows = np.zeros((59319, 4), np.float32)
    rows[:, :3] = points() + np.random.default_rng(0).uniform(-0.003, 0.003, (59319, 3))
    grid, lists = CellGrid(0.05), NeighbourLists()
    flat, spare = rows.ravel(), np.empty(4 * 59319, np.float32)
    wall = cpu = np.inf
    for _ in range(20):
        start, worked = time.perf_counter(), time.process_time()
        order = grid.sort(flat)
        gather_rows.variant(True)(flat, order, spare)
        flat, spare = spare, flat
        lists.update(grid, flat)
        wall = min(wall, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - worked)
    start = time.perf_counter()
    cKDTree(rows[:, :3]).query_pairs(0.05, output_type="ndarray")
    tree = time.perf_counter() - start
    theirs = peer(0.1, 5e-4, "particles", threads)["search"]
    table: list[dict[str, object]] = [
        {"": "continua: sort, move, lists", "ms": 1e3 * wall, "CPU ms": 1e3 * cpu},
        {"": "SPlisHSPlasH (with its wall particles)", "ms": 1e3 * theirs},
        {"": "SciPy cKDTree, pairs once", "ms": 1e3 * tree},
    ]
    notes = [f"{lists.counts.mean():.1f} neighbours a particle, {threads} thread(s)"]
    return Result("Neighbour search, 59,319 particles", table, theirs / wall, 2.0, notes)
