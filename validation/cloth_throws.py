"""Cloth in contact at length: random throws, and handkerchiefs in a drum; nothing may pierce anything after any step.

`python -m validation.cloth_throws throws 0 1000` throws one to three sheets with the seeds 0 to 999 at each other and
at a collider (30 steps each); `drum 60` tumbles 20 handkerchiefs in a spinning drum for 60 s; `ccd 100000` compares the
times of impact of 100,000 pairs of each kind with those of `ipctk`. Each prints what it found, and fails if anything
passed.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import continua as ct
from tests.shells.throws import count_piercings, random_rotation, square_cloth, throw

RADIUS, LENGTH, TURNS = 0.35, 0.5, 0.8  # of the drum [m], and its turns per second


def throws(first: int, last: int) -> None:
    """Throw with the seeds from `first` to `last` - 1."""
    stopped = 0
    for seed in range(first, last):
        stopped += len(throw(seed, steps=30)) > 0
        if (seed + 1) % 50 == 0:
            print(
                f"{seed + 1 - first} throws, none pierced; the fail-safe took part in {stopped}", flush=True
            )


def drum(seconds: float) -> None:
    """Tumble 20 handkerchiefs."""
    rng = np.random.default_rng(0)
    sheets = []
    for k in range(20):
        place = (0.03 * rng.normal(), -0.12 + 0.012 * k, 0.03 * rng.normal())
        turn = random_rotation(0.0, 0)
        sheets.append(square_cloth(6, 0.2, place, turn, thickness=2e-3, name=f"handkerchief {k + 1}"))
    spin = ct.Motion.rotate((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 2.0 * np.pi * TURNS)
    wall = ct.Cylinder(
        (0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), radius=RADIUS, height=LENGTH, inside=True, motion=spin
    )
    paddle = ct.Box((0.0, -RADIUS + 0.04, 0.0), (0.02, 0.08, LENGTH), motion=spin)
    contact = ct.Contact(friction=0.5, self_contact=True)
    world = ct.World(sheets, colliders=[wall, paddle], contact=contact, dt=0.01)
    stopped = 0
    for step in range(round(seconds / 0.01)):
        reports = world.step()
        stopped += any("fail-safe" in text for report in reports for text in report.warnings)
        count = count_piercings(*sheets)
        if count:
            raise SystemExit(f"{count} edges pierce triangles after step {step + 1}")
        if (step + 1) % 100 == 0:
            print(
                f"{0.01 * (step + 1):g} s, nothing pierced; the fail-safe took part in {stopped} steps",
                flush=True,
            )


def ccd(count: int) -> None:
    """Compare times of impact with those of an independent library."""
    import ipctk

    from tests.collision.test_ccd_oracle import KINDS, compare_with_tight_inclusion

    for kind in KINDS:
        for is_triangle in (True, False):
            hits = compare_with_tight_inclusion(ipctk, kind, is_triangle, count, seed=1)
            print(
                f"{kind}, {'vertex and triangle' if is_triangle else 'edges'}: {hits} impacts, none missed",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, *numbers = sys.argv[1:]
    {"throws": throws, "drum": drum, "ccd": ccd}[what](*map(int, numbers))
