"""Smoke past a sphere, a frame of 1/25 s at 64^3 and 128^3; Mantaflow took 1.5 s and 9.3 s with one thread."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.report import Result, against

# s a frame in Blender 3.4 with one thread, taken in another run: orders of magnitude
MANTAFLOW = {64: 1.5, 128: 9.3}


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
    notes.append(against("smoke through a wall two cells thick", leak(), 0.0, at_most=True))
    return Result("Smoke past a sphere, frames of 1/25 s", rows, min(ratios), 4.0, notes)
