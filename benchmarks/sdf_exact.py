"""Exact signed distance to a surface: queries per second on one thread, against Open3D and libigl.

SciPy's tree of the vertices, which answers an easier question, is the baseline where neither is installed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

import continua as ct
from benchmarks.report import Result, against
from benchmarks.run import Run
from benchmarks.shared_surfaces import detailed_surface

BAR = 100_000  # queries per second on one thread


def _rate(
    run: Run, query: Callable[[np.ndarray], np.ndarray], points: np.ndarray, rounds: int = 3
) -> tuple[float, np.ndarray]:
    """Return queries per second and the answers."""
    seconds = run.least(lambda: query(points), rounds)
    return len(points) / seconds, np.asarray(query(points), float).ravel()


def _open3d(mesh: ct.SurfaceMesh) -> Callable[[np.ndarray], np.ndarray]:
    import open3d

    scene = open3d.t.geometry.RaycastingScene(nthreads=1)
    points = open3d.core.Tensor(mesh.points.astype(np.float32))
    scene.add_triangles(points, open3d.core.Tensor(mesh.triangles.astype(np.uint32)))
    return lambda p: scene.compute_signed_distance(open3d.core.Tensor(p.astype(np.float32))).numpy()


def _libigl(mesh: ct.SurfaceMesh) -> Callable[[np.ndarray], np.ndarray]:
    import igl

    kind = igl.SIGNED_DISTANCE_TYPE_PSEUDONORMAL
    return lambda p: igl.signed_distance(p, mesh.points, mesh.triangles, sign_type=kind)[0]


def main(run: Run) -> Result:
    """Query random points around a surface; the file $CONTINUA_SURFACE replaces it."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    threads = run.set_threads(1)
    mesh = detailed_surface(run.choose(6, 60))
    lower, upper = mesh.bounds
    pad = 0.1 * float((upper - lower).max())
    points = np.random.default_rng(1).uniform(lower - pad, upper + pad, (run.choose(500, 100_000), 3))
    start = time.perf_counter()
    field = ct.sdf.exact(mesh)
    build = time.perf_counter() - start
    ours, distances = _rate(run, field, points)
    rows: list[dict[str, object]] = [{"library": "Continua", "queries/s": ours, "build [s]": build}]
    rates = {}
    for name in run.cases(("Open3D", "libigl")):
        query = run.peer(name, lambda name=name: PEERS[name](mesh))
        if query is None:
            continue
        rates[name], found = _rate(run, query, points, 1)
        rows.append(
            {
                "library": name,
                "queries/s": rates[name],
                "ours over it": ours / rates[name],
                "largest difference [m]": float(np.abs(found - distances).max()),
            }
        )
    tree = cKDTree(mesh.points)
    nearest, _ = _rate(run, lambda p: tree.query(p)[0], points, 1)
    rows.append({"library": "SciPy, nearest vertex", "queries/s": nearest, "ours over it": ours / nearest})
    fastest = max(rates.values(), default=nearest)
    notes = [
        f"{mesh.triangle_count:,} triangles, {len(points):,} points, {threads} thread(s)",
        against("queries per second", ours, BAR),
        f"ratio = our queries per second over those of {max(rates, key=lambda n: rates[n]) if rates else 'SciPy'}",
    ]
    return Result("Exact signed distance", rows, ours / fastest, None, notes)


PEERS = {"Open3D": _open3d, "libigl": _libigl}
