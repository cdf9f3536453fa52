"""Cuts through a beam: time of a cut by the elements it divides, and steps and iterations before and after ten cuts.

A beam of 1 x 0.25 x 0.25 m, clamped at x = 0, in (4 n) x n x n cells of six tetrahedra, steps of 10 ms under gravity. A
small cut (a notch at the free end) and planes across and along it are made. The times of the mesh alone
(`cutting.cut_tets`) and of the body (`SoftBody.cut`, which makes elements, surface and solver anew) stand side by side.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run
from continua.cutting import CutSurface, cut_tets
from continua.linalg import LinearSolver

CUTS = {
    "notch": CutSurface.swept([[0.97, 0.18, -1.0], [0.97, 2.0, -1.0]], (0.0, 0.0, 3.0)),
    "across": CutSurface.plane((0.512, 0.0, 0.0), (1.0, 0.11, 0.07)),
    "along": CutSurface.plane((0.0, 0.131, 0.0), (0.01, 1.0, 0.02)),
}
APART = ct.Contact(pairs={("beam", "beam"): {"collide": False}})


def _beam(n: int, solver: LinearSolver | None = None) -> ct.SoftBody:
    body = ct.SoftBody(
        ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(4 * n, n, n)),
        material=ct.Corotated(young=1e6, poisson=0.3, density=1000.0),
        solver=solver,
        name="beam",
    )
    body.pin(lambda x: x[:, 0] < 1e-9)
    return body


def _steps(run: Run, body: ct.SoftBody) -> tuple[float, float]:
    """Return the median processor time of a step [ms], and its mean iterations."""
    world = ct.World([body], contact=APART, dt=0.01)
    times, iterations = [], []
    for _ in run.steps(run.choose(3, 12), "steps", 0.3):
        start = time.process_time()
        iterations.append(world.step()[0].iterations)
        times.append(time.process_time() - start)
    return 1e3 * statistics.median(times), float(np.mean(iterations))


def main(run: Run) -> Result:
    """Cut beams of some sizes."""
    run.set_threads(1)
    rows: list[dict[str, object]] = []
    worst = np.inf
    cut_tets(_beam(2).mesh, CUTS["across"])  # compiles
    for n in run.cases(run.choose((3,), (6, 12, 15), (6, 12, 15, 20)), "n = {}".format):
        body = _beam(n)
        before, _ = _steps(run, body)
        for name, surface in CUTS.items():
            start = time.process_time()
            change = cut_tets(body.mesh, surface)
            alone = time.process_time() - start
            fresh = _beam(n)
            start = time.process_time()
            fresh.cut(surface)
            whole = time.process_time() - start
            rows.append(
                {
                    "n": n,
                    "tets": body.element_count,
                    "cut": name,
                    "divided": len(np.unique(change.mesh.subdomains.owners)),
                    "mesh [ms]": 1e3 * alone,
                    "body [ms]": 1e3 * whole,
                    "mesh / step": 1e3 * alone / before,
                    "step before [ms]": before,
                }
            )
        before, iterations = _steps(run, _beam(n, ct.Multigrid()))
        many = _beam(n, ct.Multigrid())
        rng = np.random.default_rng(4)
        for k in range(10):
            many.cut(CutSurface.plane((0.06 + 0.09 * k, 0.1, 0.1), (1.0, *(0.3 * rng.normal(size=2)))))
        after, more = _steps(run, many)
        worst = min(worst, iterations / more)
        rows.append(
            {
                "n": n,
                "tets": body.element_count,
                "cut": "10 across",
                "divided": len(np.unique(many.mesh.subdomains.owners)),
                "step before [ms]": before,
                "step after [ms]": after,
                "iterations before": iterations,
                "iterations after": more,
            }
        )
    return Result(
        "cuts through a clamped beam, processor time of one thread",
        rows,
        worst,
        0.5,
        [
            "The ratio is that of the iterations of multigrid before and after ten cuts, the smallest of the sizes."
        ],
        keys=("n", "cut"),
    )
