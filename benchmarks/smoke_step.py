"""Frames of 1/25 s against Mantaflow in Blender, one thread: smoke past a sphere, and a dam break with its surface.

Both are measured in processor seconds. Blender is that of $CONTINUA_BLENDER, or the one on the path.
"""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.mantaflow import mantaflow
from benchmarks.report import Result, against
from benchmarks.run import Run


def plume(n: int) -> ct.World:
    """Return smoke that rises past a sphere in n^3 cells."""
    source = ct.Inflow(
        ct.Sphere(center=(0.5, 0.15, 0.5), radius=0.1), temperature=60.0, velocity=(0.0, 0.8, 0.0)
    )
    ball = ct.Sphere(center=(0.52, 0.5, 0.5), radius=0.12)
    smoke = ct.Smoke((1.0, 1.0, 1.0), (n, n, n), inflow=source, obstacles=[ball], name="smoke")
    return ct.World([smoke], dt=1.0 / 25.0)


def dam(n: int) -> ct.World:
    """Return the block of water of the peer in n^3 cells: 0.3 x 0.6 x 0.96 m near one end of a box of 1 m."""
    block = ((0.02, 0.02, 0.02), (0.32, 0.62, 0.98))
    return ct.World([ct.Liquid((1.0, 1.0, 1.0), (n, n, n), block=block, name="water")], dt=1.0 / 25.0)


def leak(run: Run) -> float:
    """Return the smoke above a wall two cells thick over that below it, after 40 frames of a closed box."""
    n = run.choose(8, 24)
    wall = ct.Box(center=(0.5, 1.0, 0.0), size=(2.0, 2.0 / n, 2.0))
    warm = ct.Inflow(ct.Sphere(center=(0.5, 0.2, 0.0), radius=0.15), temperature=80.0)
    smoke = ct.Smoke((1.0, 2.0), (n, 2 * n), inflow=warm, obstacles=[wall], sides={}, name="smoke")
    world = ct.World([smoke], dt=0.04)
    for _ in range(run.choose(2, 40)):
        world.step()
    q = smoke.field("smoke")[0]
    return float(q[:, n + 2 :].sum() / q[:, :n].sum())


def measure(run: Run, kind: str, n: int, frames: int) -> dict[str, object]:
    """Return the times of a frame, with the surface of a liquid."""
    world = plume(n) if kind == "smoke" else dam(n)
    if not run.quick:
        world.step()  # compiles
        world.frame()
        world.reset()
    wall, cpu, substeps = [], [], []
    for _ in run.steps(frames, part=0.4):
        start, busy = time.perf_counter(), time.process_time()
        substeps.append(world.step()[0].substeps)
        if kind == "liquid":
            world.frame()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return {
        "scene": kind,
        "cells": f"{n}^3",
        "frames": len(wall),
        "s per frame": float(np.mean(wall)),
        "CPU s per frame": float(np.mean(cpu)),
        "sub-steps": float(np.mean(substeps)),
    }


def main(run: Run) -> Result:
    """Run smoke at two sizes and a dam break."""
    run.set_threads(1)
    rows, ratios, notes = [], [], []
    cases = run.choose(
        [("smoke", 8, 1), ("liquid", 8, 1)], [("smoke", 64, 12), ("smoke", 128, 6), ("liquid", 64, 25)]
    )
    for kind, n, frames in run.cases(cases, lambda case: f"{case[0]}, {case[1]}^3 cells"):
        row = measure(run, kind, n, frames)
        rows.append(row)
        done = int(str(row["frames"]))
        theirs = run.peer(
            "Mantaflow (Blender)", lambda k=kind, n=n, f=done: mantaflow(k, n, f, run.seconds_left)
        )
        if theirs is not None:
            row["Mantaflow CPU s per frame"] = theirs
            ratios.append(theirs / float(str(row["CPU s per frame"])))
            notes.append(against(f"{n}^3 {kind}, times faster than Mantaflow", ratios[-1], 4.0))
    notes += [
        against("smoke through a wall two cells thick", leak(run), 0.0, at_most=True),
        "ratio = processor time of Mantaflow over ours, the smallest",
    ]
    title = "Smoke past a sphere and a dam break, frames of 1/25 s"
    return Result(title, rows, min(ratios, default=None), 4.0, notes, ("scene", "cells"))
