"""One step of bodies with hyperelastic laws against a corotated one on the same mesh, in turns."""

from __future__ import annotations

import statistics
import time

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run

BAR = 2.5
LAWS = (ct.Corotated, ct.StVenantKirchhoff, ct.NeoHookean, ct.StableNeoHookean)


def _milliseconds(run: Run, n: int, law: type, newton: int) -> tuple[float, float, float]:
    """Return the median milliseconds of a step, and the mean linear iterations and linearisations per step."""
    body = ct.SoftBody(ct.mesh.bridge(n), material=law(young=1e6, poisson=0.3), newton=newton, name="bridge")
    body.pin(lambda x: x[:, 0] < 1e-6)
    world = ct.World([body], dt=0.02)
    times, iterations, linearised = [], [], []
    for _ in run.steps(run.choose(4, 40)):
        start = time.perf_counter()
        report = world.step()[0]
        times.append(time.perf_counter() - start)
        iterations.append(report.iterations)
        linearised.append(report.newton_iterations)
    return (
        1e3 * statistics.median(times[2:] or times),
        float(statistics.mean(iterations)),
        float(statistics.mean(linearised)),
    )


def main(run: Run) -> Result:
    """Time steps of all laws in turns, with one linearisation per step, and St. Venant-Kirchhoff with Newton too."""
    count = run.set_threads(2)
    n = run.choose(2, 8)
    laws = [(law, 1) for law in LAWS] + [(ct.StVenantKirchhoff, 10)]
    best: dict[tuple[type, int], tuple[float, float, float]] = {}
    rounds = [case for _ in range(run.choose(1, 4)) for case in laws]  # the first round compiles
    for number, case in enumerate(run.cases(rounds, lambda case: f"{case[0].__name__}, newton = {case[1]}")):
        timing = _milliseconds(run, n, *case)
        if run.quick or number >= len(laws):
            best[case] = min(timing, best.get(case, timing))
    corotated = best[ct.Corotated, 1][0]
    rows: list[dict[str, object]] = [
        {
            "law": law.__name__,
            "newton": newton,
            "ms per step": ms,
            "times corotated": ms / corotated,
            "linear iterations": iterations,
            "linearisations": linearised,
        }
        for (law, newton), (ms, iterations, linearised) in best.items()
    ]
    ratio = best[ct.StVenantKirchhoff, 1][0] / corotated
    note = f"{6 * 8 * n**3:,} tets, dt = 20 ms, {count} threads; St. Venant-Kirchhoff takes {ratio:.2f} corotated steps"
    return Result(
        "One step of a hyperelastic law against a corotated one",
        rows,
        1.0 / ratio,
        1.0 / BAR,
        [note, "ratio = a corotated step over one of St. Venant-Kirchhoff"],
    )
