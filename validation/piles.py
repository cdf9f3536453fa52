"""Piles of soft bodies at rest for a minute: no jitter, no growth of energy, no drift.

Towers, a wall of bricks, balls and rings in a tub, with E = 1e5 to 1e7 Pa and steps of 10 and 20 ms. Each pile falls
into place for some seconds. Then the largest kinetic energy, the largest growth of the total energy in a step (both
relative to m g h) and the largest drift of a node are recorded for 60 s.

Run: python -m validation.piles [SECONDS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

import continua as ct

FALL = 6.0
"""Time [s] that a pile gets to come to rest."""


class Rest(NamedTuple):
    """Motion of a pile at rest.

    Attributes:
        kinetic: Largest kinetic energy, relative to m g h.
        growth: Largest growth of the total energy in a step, relative to m g h.
        drift: Largest displacement of a node along an axis [m].
    """

    kinetic: float
    growth: float
    drift: float


def _body(mesh: ct.TetMesh, at: tuple[float, float, float], young: float, number: int) -> ct.SoftBody:
    return ct.SoftBody(
        mesh.transformed(translate=at),
        material=ct.Corotated(young=young, poisson=0.3, density=1000.0),
        damping=(2.0, 0.01),
        name=f"b{number}",
    )


def tower(young: float) -> tuple[list[ct.SoftBody], list]:
    """Return four blocks on top of each other, each slightly offset."""
    block = ct.mesh.box((0.2, 0.15, 0.2), (2, 2, 2))
    return [_body(block, (0.03 * k, 0.001 + 0.152 * k, 0.02 * k), young, k) for k in range(4)], []


def wall(young: float) -> tuple[list[ct.SoftBody], list]:
    """Return six bricks in three rows."""
    brick = ct.mesh.box((0.2, 0.1, 0.12), (3, 2, 2))
    places = [(0.11 * row + 0.215 * c, 0.002 + 0.103 * row, 0.0) for row in range(3) for c in range(3 - row)]
    return [_body(brick, at, young, k) for k, at in enumerate(places)], []


def balls(young: float) -> tuple[list[ct.SoftBody], list]:
    """Return eight balls in two layers in a tub."""
    rng = np.random.default_rng(1)
    bodies = []
    for k in range(8):
        x, z = 0.22 * (k % 2) - 0.11 + 0.01 * rng.random(), 0.22 * ((k // 2) % 2) - 0.11 + 0.01 * rng.random()
        bodies.append(_body(ct.mesh.sphere(0.1, 3), (x, 0.11 + 0.21 * (k // 4), z), young, k))
    return bodies, [ct.Cylinder((0, 2.4, 0), radius=0.28, height=5.0, inside=True)]


def rings(young: float) -> tuple[list[ct.SoftBody], list]:
    """Return eight rings that fall into a tub one after the other."""
    rng = np.random.default_rng(1)
    bodies = []
    for k in range(8):
        ring = ct.mesh.torus(0.1, 0.04, (2, 12))
        at = (0.02 * rng.random(), 0.16 + 0.29 * k, 0.02 * rng.random())
        bodies.append(_body(ring.transformed(rotate=rng.normal(size=3)), at, young, k))
    return bodies, [ct.Cylinder((0, 4.9, 0), radius=0.25, height=10.0, inside=True)]


def rest(
    make: Callable[[float], tuple[list[ct.SoftBody], list]],
    young: float,
    dt: float,
    fall: float,
    seconds: float,
) -> Rest:
    """Let a pile fall and come to rest, and return how much it still moves."""
    bodies, walls = make(young)
    world = ct.World(bodies, colliders=[ct.Plane(), *walls], dt=dt, contact=ct.Contact(friction=0.5))
    for _ in range(round(fall / dt)):
        world.step()
    places = [body.positions for body in bodies]
    scale = sum(body.mass_total for body in bodies) * 9.81 * max(float(x[:, 1].max()) for x in places)
    kinetic = growth = 0.0
    last = sum(world.energy().values())
    for _ in range(round(seconds / dt)):
        world.step()
        energy = world.energy()
        now = sum(energy.values())
        kinetic, growth = max(kinetic, energy["kinetic"]), max(growth, now - last)
        last = now
    drift = max(float(np.abs(b.positions - x).max()) for b, x in zip(bodies, places, strict=True))
    return Rest(kinetic / scale, growth / scale, drift)


PILES = [
    (tower, 1e5, 0.01),
    (tower, 1e7, 0.01),
    (tower, 1e7, 0.02),
    (wall, 1e6, 0.02),
    (wall, 1e7, 0.01),
    (balls, 1e6, 0.02),
    (balls, 1e7, 0.02),
    (rings, 2e5, 0.01),
]


def main() -> int:
    """Print the motion of piles at rest; return 1 if a kinetic energy exceeds 1e-6 of m g h."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    print(
        f"{'pile':8} {'E [Pa]':>8} {'dt [ms]':>8} {'kinetic':>9} {'growth':>9} {'drift [m]':>9} {'wall [s]':>9}"
    )
    worst = 0.0
    for make, young, dt in PILES:
        start = perf_counter()
        found = rest(make, young, dt, FALL, seconds)
        worst = max(worst, found.kinetic)
        print(
            f"{make.__name__:8} {young:8.0e} {1e3 * dt:8.0f} {found.kinetic:9.1e} {found.growth:9.1e} "
            f"{found.drift:9.1e} {perf_counter() - start:9.0f}",
            flush=True,
        )
    print(f"largest kinetic energy at rest: {worst:.1e} of m g h, over {seconds:g} s")
    return int(not worst < 1e-6)


if __name__ == "__main__":
    sys.exit(main())
