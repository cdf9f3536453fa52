"""Processor time of a run of each shipped scene on one thread, for the column "cost" of `continua scenes`.

The steps of each scene are measured until its part of the budget is used up, and the rest is extrapolated from the
mean. Frames in which a kernel is compiled are left out. Except in the quick form, the times are written to the file
that `continua scenes` reads. Scenes of which little has been measured on this machine come first, so that further runs
complete the file.
"""

from __future__ import annotations

import json
import time
import warnings

from benchmarks.report import Result, machine
from benchmarks.run import Run
from continua.atomic_io import atomic_write
from continua.cli.scenes import COSTS
from continua.numerics import compile_stats
from continua.scene import load_scene, shipped_scenes

_NOTHING: dict[str, float | int] = {"measured_frames": 0}
QUICK = ("newton-cradle", "split-block")


def measure(name: str, run: Run) -> dict[str, float | int]:
    """Return the processor seconds of the steps of a scene, and how many of its frames were measured."""
    scene = load_scene(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about the scene, not about its cost
        world = scene.build()
        frames = world.frame_plan(scene.seconds, scene.fps)[0]
        goal = run.choose(2, frames)
        going = world.run(scene.seconds, scene.fps)
        next(going)  # the first frame needs no step
        seconds, measured = 0.0, 0
        for _ in run.steps(goal):
            start, compiled = time.process_time(), compile_stats()[0]
            next(going)
            if compile_stats()[0] == compiled:
                seconds += time.process_time() - start
                measured += 1
    mean = seconds / measured if measured else time.process_time() - start
    return {"cpu_seconds": mean * frames, "frames": frames, "measured_frames": measured}


def _known() -> dict[str, dict[str, float | int]]:
    """Return what earlier runs on this machine have measured."""
    if not COSTS.exists():
        return {}
    found = json.loads(COSTS.read_text(encoding="utf-8"))
    if found["machine"] != machine()["cpu"]:
        return {}
    return {name: cost for name, cost in found["scenes"].items() if name in shipped_scenes()}


def main(run: Run) -> Result:
    """Measure all scenes."""
    run.set_threads(1)
    known = _known()
    names = sorted(shipped_scenes(), key=lambda name: known.get(name, _NOTHING)["measured_frames"])
    costs = {name: measure(name, run) for name in run.cases(QUICK if run.quick else names)}
    rows: list[dict[str, object]] = [
        {
            "scene": name,
            "frames": cost["frames"],
            "measured": cost["measured_frames"],
            "run s": cost["cpu_seconds"],
        }
        for name, cost in costs.items()
    ]
    if not run.quick:
        for name, cost in costs.items():
            if cost["measured_frames"] >= known.get(name, _NOTHING)["measured_frames"]:
                known[name] = {**cost, "cpu_seconds": round(cost["cpu_seconds"], 2)}
        with atomic_write(COSTS, "w") as file:
            json.dump({"machine": machine()["cpu"], "scenes": dict(sorted(known.items()))}, file, indent=1)
            file.write("\n")
        run.notes = [note for note in run.notes if "stopped after" not in note]
        run.notes.append(
            f"written to {COSTS.name}; runs that were not measured to their end are extrapolated"
        )
    return Result("Processor time of the steps of a run of each shipped scene, one thread", rows, None)
