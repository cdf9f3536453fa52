"""Dam break of 59,319 particles against SPlisHSPlasH: same radius, kernel, tolerances and CFL rule."""

from __future__ import annotations

import os
from itertools import product

import continua as ct
from benchmarks.fluid_peers import BOUNDARIES, ours, peer
from benchmarks.report import Result


def main(threads: int | None = None, seconds: float = 0.5) -> Result:
    rows, ratios = [], []
    walls = os.environ.get("CONTINUA_WALLS", ",".join(BOUNDARIES)).split(",")
    counts = (1, 2) if threads is None else (threads,)
    for boundary, count in product(walls, counts):
        for error in (5e-4, 1e-4):
            ct.set_threads(count)
            mine, theirs = ours(seconds, error, boundary), peer(seconds, error, boundary, count)
            ratios.append(theirs["wall"] / mine["wall"])
            for name, run in (("continua", mine), ("SPlisHSPlasH", theirs)):
                rows.append(
                    {
                        "walls": boundary,
                        "threads": count,
                        "density error": f"{100 * error:g} %",
                        "": name,
                        "s per simulated s": run["wall"],
                        "CPU s": run["cpu"],
                        "steps": run["steps"],
                        "iterations": f"{run['density_it']:.1f} / {run['div_it']:.1f}",
                        "max density": run["density_max"],
                        "outside": run["outside"],
                        "ratio": ratios[-1] if run is mine else "",
                        "CPU ratio": theirs["cpu"] / mine["cpu"] if run is mine else "",
                    }
                )
    notes = [
        "iterations are those of the density and of the divergence solve; $CONTINUA_WALLS chooses the walls"
    ]
    notes.append(f"our memory: {mine['bytes']:.0f} bytes a particle")
    return Result(f"Dam break, 59,319 particles, {seconds:g} s", rows, min(ratios), 2.0, notes)
