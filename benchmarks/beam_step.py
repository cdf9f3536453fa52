"""One implicit step of a clamped beam, against MuJoCo flex and pyPBD, with the tip's error beside every time.

The beam is 1 x 0.25 x 0.25 m along x, clamped at x = 0, under gravity along -z, with E = 1e6 Pa, nu = 0.3 and
1000 kg/m3, in (4 n) x n x n cells of six tetrahedra. All take steps of 10 ms. The reference is scikit-fem with
a neo-Hookean law, the same mesh, consistent mass, and implicit Euler solved by Newton to convergence.
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
from benchmarks.report import Result

STEPS, ROUNDS = 60, 3
BARS = {3: 3.0, 6: 8.0}


@dataclass
class Timing:
    """Median milliseconds a step (the best round), and the tip's path [m]."""

    ms: float
    tips: np.ndarray


def continua_beam(beam: Beam) -> tuple[Callable[[], object], Callable[[], float]]:
    """Return functions that step our beam and tell how far its tip has moved."""
    body = ct.SoftBody(
        ct.TetMesh(beam.points, beam.tets),
        material=ct.Corotated(young=beam.young, poisson=beam.poisson, density=beam.density),
    )
    body.pin(beam.clamped)
    world = ct.World([body], gravity=(0.0, 0.0, -beam.gravity), dt=beam.dt)
    rest = body.rest_positions[beam.tip, 2]
    return world.step, lambda: float(body.positions[beam.tip, 2] - rest)


def _time(make: Callable[[Beam], tuple[Callable, Callable]], beam: Beam) -> Timing:
    step, tip = make(beam)
    times, tips = [], []
    for _ in range(STEPS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
        tips.append(tip())
    return Timing(1e3 * statistics.median(times[1:]), np.array(tips))


def main(threads: int | None = None) -> Result:
    """Time all in turns for n = 3 and n = 6."""
    count = threads if threads is not None else 1
    os.environ["OMP_NUM_THREADS"] = str(count)  # for pyPBD; MuJoCo's step of one model uses one thread
    ct.set_threads(count)
    makers = {
        "Continua": continua_beam,
        "MuJoCo flex, discrete": mujoco_flex,
        "pyPBD, 30 substeps": lambda beam: pypbd_xpbd(beam, 30),
        "pyPBD, 5 substeps": lambda beam: pypbd_xpbd(beam, 5),
    }
    rows: list[dict[str, object]] = []
    worst, notes = np.inf, []
    for n, bar in BARS.items():
        beam = Beam.make(n)
        reference = reference_tips(beam, STEPS)
        best: dict[str, Timing] = {}
        _time(continua_beam, beam)  # compile
        for _ in range(ROUNDS):
            for name, make in makers.items():
                timing = _time(make, beam)
                if name not in best or timing.ms < best[name].ms:
                    best[name] = timing
        ours, flex = best["Continua"], best["MuJoCo flex, discrete"]
        for name, timing in best.items():
            error = timing.tips - reference
            rows.append(
                {
                    "n": n,
                    "tets": len(beam.tets),
                    "what": name,
                    "ms a step": timing.ms,
                    "times ours": timing.ms / ours.ms,
                    "tip error rms [mm]": 1e3 * float(np.sqrt((error**2).mean())),
                    "at 0.1 s [mm]": 1e3 * float(abs(error[9])),
                    "peak sag [m]": float(-timing.tips.min()),
                }
            )
        rows.append({"n": n, "what": "reference", "peak sag [m]": float(-reference.min())})
        worst = min(worst, flex.ms / ours.ms)
        met = "met" if flex.ms / ours.ms >= bar else "not met"
        notes.append(f"n = {n}: {flex.ms / ours.ms:.1f} times faster than MuJoCo flex; bar {bar:g}: {met}")
    return Result(f"One step of the shared cantilever, {count} thread(s)", rows, float(worst), None, notes)
