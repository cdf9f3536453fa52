"""One implicit step of a clamped beam against MuJoCo flex and pyPBD, with the error of the tip beside every time.

The beam is 1 x 0.25 x 0.25 m along x, clamped at x = 0, under gravity along -z, with E = 1e6 Pa, nu = 0.3 and
1000 kg/m3, in (4 n) x n x n cells of six tetrahedra, with steps of 10 ms. The reference is scikit-fem with a
neo-Hookean law, the same mesh, consistent mass, and implicit Euler solved by Newton's method to convergence.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import continua as ct
from benchmarks.beam_peers import Beam, mujoco_flex, pypbd_xpbd, reference_tips
from benchmarks.report import Result, against
from benchmarks.run import Run

BARS = {3: 3.0, 6: 8.0}


@dataclass
class Timing:
    """Median milliseconds per step of the best round, and the deflection of the tip after every step [m]."""

    ms: float
    tips: np.ndarray


def continua_beam(beam: Beam) -> tuple[Callable[[], object], Callable[[], float]]:
    """Return functions that step our beam and return the deflection of its tip [m]."""
    body = ct.SoftBody(
        ct.TetMesh(beam.points, beam.tets),
        material=ct.Corotated(young=beam.young, poisson=beam.poisson, density=beam.density),
    )
    body.pin(beam.clamped)
    world = ct.World([body], gravity=(0.0, 0.0, -beam.gravity), dt=beam.dt)
    rest = body.rest_positions[beam.tip, 2]
    return world.step, lambda: float(body.positions[beam.tip, 2] - rest)


def _time(run: Run, name: str, make: Callable[[Beam], tuple[Callable, Callable]], beam: Beam) -> Timing:
    step, tip = make(beam)
    times, tips = [], []
    for _ in run.steps(run.choose(12, 60), name, 0.3):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
        tips.append(tip())
    return Timing(1e3 * statistics.median(times[1:]), np.array(tips))


def main(run: Run) -> Result:
    """Time Continua and the peers in turns."""
    count = run.set_threads(1)
    os.environ["OMP_NUM_THREADS"] = str(count)  # for pyPBD; MuJoCo steps one model on one thread
    makers = {
        "Continua": continua_beam,
        "MuJoCo flex, discrete": mujoco_flex,
        "pyPBD, 30 substeps": lambda beam: pypbd_xpbd(beam, 30),
        "pyPBD, 5 substeps": lambda beam: pypbd_xpbd(beam, 5),
    }
    rows: list[dict[str, object]] = []
    ratios, notes = [], []
    for n in run.cases(run.choose((1,), tuple(BARS)), "n = {}".format):
        beam = Beam.make(n)
        _time(run, "compiling", continua_beam, beam)
        best: dict[str, Timing] = {}
        for _ in range(run.choose(1, 3)):
            for name, make in makers.items():
                timing = run.peer(
                    name.split(",")[0], lambda name=name, make=make, beam=beam: _time(run, name, make, beam)
                )
                if timing is not None and (name not in best or timing.ms < best[name].ms):
                    best[name] = timing
        run.stage(f"n = {n}, reference")
        reference = reference_tips(beam, min(len(timing.tips) for timing in best.values()))
        ours = best["Continua"]
        for name, timing in best.items():
            error = timing.tips[: len(reference)] - reference
            rows.append(
                {
                    "n": n,
                    "tets": len(beam.tets),
                    "what": name,
                    "ms per step": timing.ms,
                    "times ours": timing.ms / ours.ms,
                    "tip error rms [mm]": 1e3 * float(np.sqrt((error**2).mean())),
                    "at 0.1 s [mm]": 1e3 * float(abs(error[9])),
                    "peak sag [m]": float(-timing.tips.min()),
                }
            )
        rows.append({"n": n, "what": "reference", "peak sag [m]": float(-reference.min())})
        if "MuJoCo flex, discrete" in best:
            ratios.append(best["MuJoCo flex, discrete"].ms / ours.ms)
            if n in BARS:
                notes.append(against(f"n = {n}, times faster than MuJoCo flex", ratios[-1], BARS[n]))
    notes.append("ratio = a step of MuJoCo flex over ours, the smallest")
    title = f"One step of the shared cantilever, {count} thread(s)"
    return Result(title, rows, min(ratios, default=None), None, notes)
