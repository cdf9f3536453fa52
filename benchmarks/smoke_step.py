"""Frames of 1/25 s beside Mantaflow in Blender, one thread: smoke past a sphere, and a dam break with its surface.

Mantaflow took 1.5 s and 9.3 s for smoke at 64^3 and 128^3, and 2.8 s for the liquid at 64^3.
"""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.report import Result, against

# s a frame in Blender 3.4 with one thread, taken in another run: orders of magnitude
MANTAFLOW = {64: 1.5, 128: 9.3}
MANTAFLOW_LIQUID = 2.8  # FLIP with its mesh


def plume(n: int) -> ct.World:
    source = ct.Inflow(
        ct.Sphere(center=(0.5, 0.15, 0.5), radius=0.1), temperature=60.0, velocity=(0.0, 0.8, 0.0)
    )
    ball = ct.Sphere(center=(0.52, 0.5, 0.5), radius=0.12)
    smoke = ct.Smoke((1.0, 1.0, 1.0), (n, n, n), inflow=source, obstacles=[ball], name="smoke")
    return ct.World([smoke], dt=1.0 / 25.0)


def leak(n: int = 24) -> float:
    """Return the smoke above a wall two cells thick, over that below, after 40 frames of a closed box."""
    wall = ct.Box(center=(0.5, 1.0, 0.0), size=(2.0, 2.0 / n, 2.0))
    warm = ct.Inflow(ct.Sphere(center=(0.5, 0.2, 0.0), radius=0.15), temperature=80.0)
    smoke = ct.Smoke((1.0, 2.0), (n, 2 * n), inflow=warm, obstacles=[wall], sides={}, name="smoke")
    world = ct.World([smoke], dt=0.04)
    for _ in range(40):
        world.step()
    q = smoke.flow.cells["smoke"][0]
    return float(q[:, n + 2 :].sum() / q[:, :n].sum())


def dam() -> ct.World:
    """Return the block of water of the peer: 0.3 x 0.6 x 0.96 m near one end of a box of 1 m."""
    block = ((0.02, 0.02, 0.02), (0.32, 0.62, 0.98))
    return ct.World([ct.Liquid((1.0, 1.0, 1.0), (64, 64, 64), block=block, name="water")], dt=1.0 / 25.0)


def splash(frames: int) -> dict[str, object]:
    """Return what a frame of the dam break takes, with its surface."""
    world = dam()
    for _ in range(2):
        world.step()
        world.frame()
    world.reset()
    parts = 0
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(frames):
        parts += world.step()[0].substeps
        world.frame()
    return {
        "cells": "64^3 liquid",
        "s a frame": (time.perf_counter() - start) / frames,
        "s of processor a frame": (time.process_time() - cpu) / frames,
        "sub-steps": parts / frames,
        "Mantaflow": MANTAFLOW_LIQUID,
    }


def main(threads: int | None = None) -> Result:
    ct.set_threads(threads or 1)
    rows: list[dict[str, object]] = []
    ratios, notes = [], []
    for n, frames in ((64, 12), (128, 6)):
        world = plume(n)
        world.step()
        seconds, busy, parts = [], [], []
        for _ in range(frames):
            start, cpu = time.perf_counter(), time.process_time()
            report = world.step()[0]
            seconds.append(time.perf_counter() - start)
            busy.append(time.process_time() - cpu)
            parts.append(report.substeps)
        mean = float(np.mean(seconds))
        ratios.append(MANTAFLOW[n] / mean)
        rows.append(
            {
                "cells": f"{n}^3",
                "s a frame": mean,
                "s of processor a frame": float(np.mean(busy)),
                "sub-steps": float(np.mean(parts)),
                "Mantaflow": MANTAFLOW[n],
            }
        )
        notes.append(against(f"{n}^3, times faster than Mantaflow", ratios[-1], 4.0))
    rows.append(splash(25))
    ratios.append(MANTAFLOW_LIQUID / float(str(rows[-1]["s a frame"])))
    notes.append(against("64^3 liquid, times faster than Mantaflow", ratios[-1], 4.0))
    notes.append(against("smoke through a wall two cells thick", leak(), 0.0, at_most=True))
    return Result("Smoke past a sphere and a dam break, frames of 1/25 s", rows, min(ratios), 4.0, notes)
