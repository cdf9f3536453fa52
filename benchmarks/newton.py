"""One step of a St. Venant-Kirchhoff body against a corotated one, of the same 24,576 tetrahedra, in turns."""

from __future__ import annotations

import statistics
import time

import continua as ct
from benchmarks.report import Result

STEPS, ROUNDS, BAR = 40, 3, 2.5
LAWS = (ct.Corotated, ct.StVenantKirchhoff, ct.NeoHookean, ct.StableNeoHookean)


def _milliseconds(law: type, newton: int) -> tuple[float, float, float]:
    """Return the median milliseconds of a step, its solver iterations and linearisations."""
    body = ct.SoftBody(ct.mesh.bridge(8), material=law(young=1e6, poisson=0.3), newton=newton, name="bridge")
    body.pin(lambda x: x[:, 0] < 1e-6)
    world = ct.World([body], dt=0.02)
    times, iterations, linearised = [], [], []
    for _ in range(STEPS):
        start = time.perf_counter()
        report = world.step()[0]
        times.append(time.perf_counter() - start)
        iterations.append(report.iterations)
        linearised.append(report.newton_iterations)
    return 1e3 * statistics.median(times[2:]), statistics.mean(iterations), statistics.mean(linearised)


def main(threads: int | None = None) -> Result:
    """Time steps of all laws in turns, with one linearisation a step, and St. Venant-Kirchhoff with Newton too."""
    count = threads if threads is not None else 2
    ct.set_threads(count)
    cases = [(law, 1) for law in LAWS] + [(ct.StVenantKirchhoff, 10)]
    best: dict[tuple[type, int], tuple[float, float, float]] = {}
    for case in cases:
        _milliseconds(*case)  # compile
    for _ in range(ROUNDS):
        for case in cases:
            timing = _milliseconds(*case)
            best[case] = min(timing, best.get(case, timing))
    corotated = best[ct.Corotated, 1][0]
    rows: list[dict[str, object]] = [
        {
            "law": law.__name__,
            "newton": newton,
            "ms a step": ms,
            "times corotated": ms / corotated,
            "solver iterations": iterations,
            "linearisations": linearised,
        }
        for (law, newton), (ms, iterations, linearised) in best.items()
    ]
    ratio = best[ct.StVenantKirchhoff, 1][0] / corotated
    note = f"24,576 tets, dt 20 ms, {count} threads; St. Venant-Kirchhoff takes {ratio:.2f} times a corotated step"
    return Result(
        "One step of a large-strain law against a corotated one", rows, 1.0 / ratio, 1.0 / BAR, [note]
    )
