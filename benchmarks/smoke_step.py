"""Frames of 1/25 s beside Mantaflow in Blender, one thread: smoke past a sphere, and a dam break with its surface.

Both are counted in seconds of processor. Without Blender on the path (or in $CONTINUA_BLENDER) the figures that were
noted before are used: 1.5 s and 9.3 s for smoke at 64^3 and 128^3, and 2.8 s for the liquid at 64^3.
"""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.mantaflow import mantaflow
from benchmarks.report import Result, against


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
    q = smoke.flow.fields.scalars["smoke"][0]
    return float(q[:, n + 2 :].sum() / q[:, :n].sum())


def dam() -> ct.World:
    """Return the block of water of the peer: 0.3 x 0.6 x 0.96 m near one end of a box of 1 m."""
    block = ((0.02, 0.02, 0.02), (0.32, 0.62, 0.98))
    return ct.World([ct.Liquid((1.0, 1.0, 1.0), (64, 64, 64), block=block, name="water")], dt=1.0 / 25.0)


def frames_of(name: str, world: ct.World, frames: int, *, surface: bool) -> dict[str, object]:
    """Return what a frame of a world takes, with the surface of its liquid if wanted."""
    wall, cpu, parts = [], [], 0
    for _ in range(frames):
        start, busy = time.perf_counter(), time.process_time()
        parts += world.step()[0].substeps
        if surface:
            world.frame()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return {
        "cells": name,
        "s a frame": float(np.mean(wall)),
        "s of processor": float(np.mean(cpu)),
        "sub-steps": parts / frames,
    }


def main(threads: int | None = None) -> Result:
    ct.set_threads(threads or 1)
    rows, ratios, notes = [], [], []
    for kind, n, frames in (("smoke", 64, 12), ("smoke", 128, 6), ("liquid", 64, 25)):
        world = plume(n) if kind == "smoke" else dam()
        world.step()  # compiles
        world.frame()
        world.reset()
        row = frames_of(f"{n}^3 {kind}", world, frames, surface=kind == "liquid")
        row["Mantaflow"], how = mantaflow(kind, n, frames)
        rows.append(row)
        ratios.append(float(str(row["Mantaflow"])) / float(str(row["s of processor"])))
        notes.append(against(f"{n}^3 {kind}, times faster than Mantaflow ({how})", ratios[-1], 4.0))
    notes.append(against("smoke through a wall two cells thick", leak(), 0.0, at_most=True))
    return Result("Smoke past a sphere and a dam break, frames of 1/25 s", rows, min(ratios), 4.0, notes)
