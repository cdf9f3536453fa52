"""Iterations of multigrid in conjugate gradients on meshes of real surfaces, at two sizes, held and free."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import continua as ct
from benchmarks.bridge import solve_time, system
from benchmarks.report import Result
from continua.errors import InputError
from continua.sdf import ExactDistance

RTOL, MOST = 1e-6, 25


def main(threads: int | None = None) -> Result:
    """Fill every surface with cells of a twentieth and a 45th of its diagonal, and solve a step of 20 ms."""
    ct.set_threads(threads if threads is not None else 2)
    folder = os.environ.get("CONTINUA_SURFACES", "")
    files = sorted(Path(folder).glob("*.obj")) if folder else []
    if not files:
        raise InputError("set CONTINUA_SURFACES to a folder with surfaces (.obj)")
    rows: list[dict[str, object]] = []
    counts: list[int] = []
    for file in files:
        surface = ct.mesh.read(file)
        assert isinstance(surface, ct.SurfaceMesh)
        surface = ct.mesh.close_holes(surface if surface.is_closed else surface.welded())
        distance = ExactDistance(surface)
        diagonal = float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
        bounds = surface.bounds + 0.1 * diagonal * np.array([[-1.0], [1.0]])
        for cells in (20, 45):
            mesh = ct.mesh.fill(lambda p, d=distance: d.closest(p).distances, bounds, diagonal / cells)
            matrix, rhs, _ = system(mesh)
            y = mesh.points[:, 1]
            held = (y < y.min() + 0.05 * np.ptp(y)).astype(np.uint8)
            line: dict[str, object] = {"surface": file.stem, "nodes": mesh.node_count, "tets": len(mesh.tets)}
            update, solve, line["iterations"] = solve_time(
                ct.Multigrid(rtol=RTOL, fallback=False), matrix, rhs, held
            )
            noise = np.random.default_rng(0).normal(size=rhs.shape)
            free = solve_time(ct.Multigrid(rtol=RTOL, fallback=False), matrix, noise, np.zeros_like(held), 1)
            line["free, noise"] = free[2]
            line["update ms"], line["solve ms"] = 1e3 * update, 1e3 * solve
            line["SSOR ms"] = 1e3 * sum(solve_time(ct.PCG(rtol=RTOL), matrix, rhs, held)[:2])
            counts += [line["iterations"], line["free, noise"]]  # type: ignore[list-item]
            rows.append(line)
    worst = max(MOST + 1 if count < 0 else count for count in counts)
    return Result("Surfaces: iterations to 1e-6, dt = 20 ms", rows, MOST / worst, 1.0)
