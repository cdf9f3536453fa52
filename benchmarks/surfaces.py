"""Iterations of multigrid-PCG on tetrahedral meshes of surfaces, at two sizes, clamped and free.

The surfaces are the OBJ files of the folder $CONTINUA_SURFACES, or a torus and a smooth blob with limbs.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import continua as ct
from benchmarks.bridge import solve_time, system
from benchmarks.report import Result, against
from benchmarks.run import Run
from benchmarks.shared_surfaces import limbs

RTOL, MOST = 1e-6, 25


def _surfaces() -> dict[str, ct.SurfaceMesh]:
    """Return closed surfaces by name."""
    folder = os.environ.get("CONTINUA_SURFACES")
    if not folder:
        return {"torus": ct.mesh.torus(0.1, 0.04, (3, 24)).surface, "limbs": limbs()}
    found = {}
    for file in sorted(Path(folder).glob("*.obj")):
        surface = ct.mesh.read(file)
        if not isinstance(surface, ct.SurfaceMesh):
            raise ct.InputError(f"{file} is not a triangle surface")
        found[file.stem] = ct.mesh.close_holes(surface if surface.is_closed else surface.welded())
    if not found:
        raise ct.InputError(f"the folder {folder} of CONTINUA_SURFACES has no surfaces (.obj)")
    return found


def main(run: Run) -> Result:
    """Fill every surface with tets of a twentieth and a 45th of its diagonal, and solve a step of 20 ms."""
    run.set_threads(2)
    surfaces = _surfaces()
    if run.quick:
        surfaces = dict(list(surfaces.items())[:1])
    rows: list[dict[str, object]] = []
    counts: list[int] = []
    ratios = []
    cases = [(name, cells) for name in surfaces for cells in run.choose((10,), (20, 45))]
    for name, cells in run.cases(cases, lambda case: f"{case[0]}, {case[1]} cells"):
        surface = surfaces[name]
        distance = ct.sdf.exact(surface)
        diagonal = float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
        bounds = surface.bounds + 0.1 * diagonal * np.array([[-1.0], [1.0]])
        mesh = ct.mesh.fill(distance, bounds, diagonal / cells)
        matrix, rhs, _ = system(mesh)
        y = mesh.points[:, 1]
        clamped = (y < y.min() + 0.05 * np.ptp(y)).astype(np.uint8)
        multigrid = ct.Multigrid(rtol=RTOL, fallback=False)
        update, solve, iterations = solve_time(run, multigrid, matrix, rhs, clamped)
        noise = np.random.default_rng(0).normal(size=rhs.shape)
        free = ct.Multigrid(rtol=RTOL, fallback=False)
        free_iterations = solve_time(run, free, matrix, noise, np.zeros_like(clamped), 1)[2]
        ssor = sum(solve_time(run, ct.PCG(rtol=RTOL), matrix, rhs, clamped)[:2])
        ratios.append(ssor / (update + solve))
        counts += [iterations, free_iterations]
        rows.append(
            {
                "surface": name,
                "cells": cells,
                "nodes": mesh.node_count,
                "tets": mesh.element_count,
                "iterations": iterations,
                "free, noise": free_iterations,
                "update ms": 1e3 * update,
                "solve ms": 1e3 * solve,
                "SSOR ms": 1e3 * ssor,
            }
        )
    worst = max(MOST + 1 if count < 0 else count for count in counts)
    notes = [
        against("most iterations", worst, MOST, at_most=True),
        "ratio = SSOR-PCG over multigrid with its update, the smallest",
    ]
    return Result(
        "Surfaces: iterations to 1e-6, dt = 20 ms", rows, min(ratios), None, notes, ("surface", "cells")
    )
