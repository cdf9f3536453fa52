"""Smoke past a sphere, a frame of 1/25 s at 64^3 and 128^3; Mantaflow took 1.5 s and 9.3 s with one thread."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.report import Result

MANTAFLOW = {
    64: 1.5,
    128: 9.3,
}  # s a frame in Blender, one thread, measured on another run; orders of magnitude


def plume(n: int) -> ct.World:
    source = ct.Inflow(
        ct.Sphere(center=(0.5, 0.15, 0.5), radius=0.1), temperature=60.0, velocity=(0.0, 0.8, 0.0)
    )
    ball = ct.Sphere(center=(0.52, 0.5, 0.5), radius=0.12)
    smoke = ct.Smoke((1.0, 1.0, 1.0), (n, n, n), inflow=source, obstacles=[ball], name="smoke")
    return ct.World([smoke], dt=1.0 / 25.0)


def main(threads: int | None = None) -> Result:
    ct.set_threads(threads or 1)
    rows: list[dict[str, object]] = []
    ratios = []
    for n in (64, 128):
        world = plume(n)
        world.step()
        seconds, parts = [], []
        for _ in range(12):
            start = time.perf_counter()
            report = world.step()[0]
            seconds.append(time.perf_counter() - start)
            parts.append(report.substeps)
        mean = float(np.mean(seconds))
        ratios.append(MANTAFLOW[n] / mean)
        rows.append(
            {
                "cells": f"{n}^3",
                "s a frame": mean,
                "sub-steps": float(np.mean(parts)),
                "Mantaflow": MANTAFLOW[n],
            }
        )
    return Result("Smoke past a sphere, frames of 1/25 s", rows, min(ratios), 4.0)
