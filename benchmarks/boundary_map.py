"""Density maps of a tank and of a bunny against SPlisHSPlasH, and their values against brute-force integrals."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import continua as ct
from benchmarks.fluid_peers import PEER_BEGIN, RADIUS, TANK, parse_result, run_splishsplash
from benchmarks.report import Result, against
from benchmarks.run import PeerStoppedError, Run
from benchmarks.shared_surfaces import bunny
from continua.sph import BoundaryMap, build_map, cubic_spline

R = 4 * RADIUS
Tank = tuple[tuple[float, float, float], tuple[float, float, float]]
PEER = r"""
c["boundaryHandlingMethod"] = 1
body = scene["RigidBodies"][0]
if len(sys.argv) > 2:
    body.update(geometryFile=sys.argv[2], mapInvert=False, mapResolution=3 * [int(sys.argv[3])], scale=[1, 1, 1],
                translation=[50, 0, 0])
scene["RigidBodies"] = [body]
base = open_scene()
def on_step():  # the map is built before the first step
    print("RESULT " + json.dumps(dict(wall=time.perf_counter() - start[0], cpu=time.process_time() - start[1])))
    sys.stdout.flush()
    os._exit(0)
base.setTimeStepCB(on_step)
start = time.perf_counter(), time.process_time()
base.runSimulation()
"""


def peer(run: Run, threads: int, mesh: Path | None, cells: int) -> dict[str, Any]:
    """Return the processor seconds ("cpu") of SPlisHSPlasH for its map and the first step of 59,319 particles.

    If the budget ends before, they are those used until then, and "stopped" is true.
    """
    arguments = [str(threads)] + ([] if mesh is None else [str(mesh), str(cells)])
    before = _children_seconds()
    try:
        return {
            **parse_result(run_splishsplash(PEER_BEGIN + PEER, arguments, run.seconds_left)),
            "stopped": False,
        }
    except PeerStoppedError:
        return {"cpu": _children_seconds() - before, "stopped": True}


def _children_seconds() -> float:
    """Return the processor seconds of all processes started from here that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(run: Run, make: Callable[[], BoundaryMap]) -> tuple[BoundaryMap, float]:
    """Return a map and the seconds of processor time to build it."""
    if not run.quick:
        make()
    busy = time.process_time()
    found = make()
    return found, time.process_time() - busy


def worst(run: Run, tank: Tank, extension: float, distances: tuple[float, ...]) -> float:
    """Return the largest relative error [%] of the tank's map near a side, an edge and a corner."""
    box, bounds = ct.Box(*tank, inside=True), _bounds(tank)
    found = build_map(
        lambda p: box.distances(p)[0],
        bounds,
        R,
        extension=extension,
        inset=0.0 if extension == 1 else None,
        inverted=True,
    )
    n = run.choose(20, 120)
    q = 2 * (np.arange(n) + 0.5) / n - 1
    ball = np.stack(np.meshgrid(q, q, q, indexing="ij"), axis=-1).reshape(-1, 3)
    length = np.linalg.norm(ball, axis=1)
    ball, weight = ball[length < 1], cubic_spline(length[length < 1], 1.0)
    errors = []
    for axes in ((0, 1, 0), (1, 1, 0), (1, 1, 1)):
        for away in distances:
            point = np.where(np.array(axes) > 0, bounds[0] + away * R, bounds.mean(axis=0) + 0.003)
            depth = (box.distances(point + R * ball)[0] + found.inset) / R
            exact = float((weight * np.maximum(1 - depth / extension, 0)).sum() / weight.sum())
            errors.append(abs(found(point[None])[0][0] / exact - 1))
    return 100 * max(errors)


def _bounds(tank: Tank) -> np.ndarray:
    center, size = np.array(tank[0]), np.array(tank[1])
    return np.stack([center - 0.5 * size, center + 0.5 * size])


def main(run: Run) -> Result:
    """Build both maps with Continua and with SPlisHSPlasH."""
    count = run.set_threads(1)
    tank: Tank = run.choose(((0.0, 0.2, 0.0), (0.4, 0.4, 0.3)), TANK)
    box = ct.Box(*tank, inside=True)
    surface = bunny(run.choose(6, 58)).transformed(scale=run.choose(0.2, 2.0))
    field = ct.sdf.exact(surface)
    cells = run.choose(8, 40, 80)
    cases: dict[str, tuple[Callable[[], BoundaryMap], ct.SurfaceMesh | None, float]] = {
        "tank, 40 x 30 x 15": (
            lambda: build_map(lambda p: box.distances(p)[0], _bounds(tank), R, inverted=True), None, 30.0,
        ),
        f"bunny, {cells} x {cells} x {cells}": (lambda: build_map(field, surface.bounds, R), surface, 10.0),
    }  # fmt: skip
    rows: list[dict[str, object]] = []
    notes, ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in run.cases(list(cases)):
            make, mesh, bar = cases[name]
            found, mine = timed(run, make)
            row: dict[str, object] = {
                "map": name,
                "Continua CPU s": mine,
                "flat / spline bricks": f"{found.flat_count} / {found.spline_count}",
                "MB": found.nbytes / 1e6,
            }
            rows.append(row)
            if run.quick:
                continue
            path = None
            if mesh is not None:
                path = Path(folder) / "shape.obj"
                _write(path, mesh)
            run.stage(f"{name}, SPlisHSPlasH")
            theirs = run.peer("SPlisHSPlasH", lambda path=path: peer(run, count, path, cells))
            if theirs is None:
                continue
            if theirs["stopped"]:
                row["SPlisHSPlasH CPU s, at least"] = theirs["cpu"]
                run.notes.append(
                    f"{name}: SPlisHSPlasH stopped after {theirs['cpu']:.0f} s of processor time, before its first step"
                )
                continue
            row |= {"SPlisHSPlasH CPU s": theirs["cpu"], "ratio": theirs["cpu"] / mine}
            ratios.append(theirs["cpu"] / mine)
            notes.append(against(f"{name}, times faster than SPlisHSPlasH", ratios[-1], bar))
    far = worst(run, tank, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    near = worst(run, tank, 0.125, (0.0, 0.25))
    notes += [
        f"largest error near a side, an edge and a corner: {far:.2f} % with the paper's extension, "
        f"{near:.2f} % at the surface and the first layer with ours",
        "the resolution is the peer's; our nodes are a quarter of the support radius apart",
        "the peer's time includes one step of its 59,319 particles, about 0.3 s",
        "ratio = SPlisHSPlasH's processor time over ours, the smallest",
    ]
    return Result("Density maps", rows, min(ratios, default=None), None, notes)


def _write(path: Path, mesh: ct.SurfaceMesh) -> None:
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.points]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in mesh.triangles]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
