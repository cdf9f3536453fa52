"""A dam break of 59,319 particles against SPlisHSPlasH: same radius, kernel, tolerances and CFL rule.

$CONTINUA_WALLS chooses the boundary models, such as "particles,density_map".
"""

from __future__ import annotations

import os
from itertools import product

import numpy as np

import continua as ct
from benchmarks.fluid_peers import ACROSS, BOUNDARIES, ours, peer
from benchmarks.report import Result
from benchmarks.run import Run


def main(run: Run) -> Result:
    """Run both for every boundary model, number of threads and tolerance."""
    rows: list[dict[str, object]] = []
    ratios = []
    walls = os.environ.get("CONTINUA_WALLS", ",".join(BOUNDARIES)).split(",")
    unknown = [name for name in walls if name not in BOUNDARIES]
    if unknown:
        raise ct.InputError(
            f"CONTINUA_WALLS has {unknown[0]!r}; the boundary models are {', '.join(BOUNDARIES)}"
        )
    counts = run.choose((1,), (1,), (1, 2)) if run.threads is None else (run.threads,)
    errors = run.choose((5e-4,), (5e-4,), (5e-4, 1e-4))
    seconds, across = run.choose((0.02, 8), (0.25, ACROSS), (0.5, ACROSS))
    cases = list(product(run.choose(walls[:1], walls), counts, errors))
    memory = 0.0
    for boundary, count, error in run.cases(cases, lambda c: f"{c[0]}, {c[1]} thread(s), {100 * c[2]:g} %"):
        ct.set_threads(count)
        mine = ours(run, seconds, error, boundary, across)
        run.stage(f"{boundary}, {count} thread(s), {100 * error:g} %, SPlisHSPlasH")
        theirs = None
        if not run.quick:
            theirs = run.peer(
                "SPlisHSPlasH", lambda b=boundary, c=count, e=error: peer(run, seconds, e, b, c)
            )
        end = mine["times"][-1] if theirs is None else min(mine["times"][-1], theirs["end"] - mine["first"])
        for key in ("wall", "cpu"):
            mine[key] = float(np.interp(end, mine["times"], mine[f"{key}s"])) / end
        memory = mine["bytes"]
        if theirs is not None:
            ratios.append(theirs["wall"] / mine["wall"])
        for name, figures in (("Continua", mine), ("SPlisHSPlasH", theirs)):
            if figures is None:
                continue
            row: dict[str, object] = {
                "boundary": boundary,
                "threads": count,
                "density error": f"{100 * error:g} %",
                "engine": name,
                "s per simulated s": figures["wall"],
                "CPU s": figures["cpu"],
                "steps": figures["steps"],
                "iterations": f"{figures['density_it']:.1f} / {figures['div_it']:.1f}",
                "max density": figures["density_max"],
                "outside": figures["outside"],
            }
            if figures is mine and theirs is not None:
                row |= {"ratio": ratios[-1], "CPU ratio": theirs["cpu"] / mine["cpu"]}
            rows.append(row)
    notes = [
        "iterations: those of the density solve / of the divergence solve, per step",
        f"our memory: {memory:.0f} bytes per particle",
        "ratio = SPlisHSPlasH's wall time per simulated second over ours, the smallest",
    ]
    title = f"Dam break, {across**3:,} particles, {seconds:g} s"
    return Result(title, rows, min(ratios, default=None), 2.0, notes)
