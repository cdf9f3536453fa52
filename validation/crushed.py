"""Recovery of a crushed body: every law that handles inversion, on a cube of 20,250 tetrahedra.

The cube is compressed to 1 % of its height, with noise that inverts about half of the elements, and released. The table
has the largest distance of a node from the rest shape, relative to the size of the cube, without rigid motion.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from scipy.spatial.transform import Rotation

import continua as ct

LAWS = (
    ct.Corotated(1e4, 0.3),
    ct.StVenantKirchhoff(1e4, 0.3),
    ct.NeoHookean(1e4, 0.3),
    ct.StableNeoHookean(1e4, 0.3),
    ct.SplineHyperelastic(1e4, 0.3),
    ct.FiberReinforced(1e4, 0.3, fiber=(1, 1, 0), fiber_stiffness=2e4),
    ct.Muscle(1e4, 0.4, fiber=(0, 1, 0), strength=1e4),
    ct.EditingMaterial(1e4, shear=2.0),
)


RECOVERED = 0.002
"""Error, relative to the size of the body, below which the body counts as recovered."""


def error(body: ct.SoftBody) -> float:
    """Return the largest distance of a node from the rest shape without rigid motion, relative to the size."""
    now = body.positions - body.positions.mean(axis=0)
    rest = body.rest_positions - body.rest_positions.mean(axis=0)
    turn, _ = Rotation.align_vectors(now, rest)
    return float(np.abs(turn.apply(rest) - now).max()) / 0.4


def crushed(law: ct.materials.Law, cells: int, seconds: float = 4.0) -> tuple[int, int, float, float]:
    """Return the numbers of inverted elements at the start and at the end, the simulated time [s], and the error."""
    body = ct.SoftBody(
        ct.mesh.box(size=(0.4, 0.4, 0.4), cells=(cells, cells, cells)),
        material=law,
        damping=(3.0, 0.0),
        newton=3,
        name="cube",
    )
    state = body.state()
    x = state["positions"]
    x[:, 1] *= 0.01
    x += 0.1 * (0.4 / cells) * np.random.default_rng(2).normal(size=x.shape)
    body.restore(state)
    world = ct.World([body], gravity=(0, 0, 0), dt=0.01)
    corners = x[body.mesh.tets]
    first = int((np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0.0).sum())
    left = error(body)
    while world.time < seconds and left > RECOVERED:
        for _ in range(10):
            report = world.step()[0]
        left = error(body)
    return first, report.inverted, world.time, left


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(f"{6 * cells**3} tetrahedra, compressed to 1 % of their height and released")
    print(
        f"{'law':20}{'inverted at start':>20}{'at the end':>12}{'recovered':>12}{'error':>9}{'computed in':>13}"
    )
    for law in LAWS:
        start = perf_counter()
        first, last, time, left = crushed(law, cells)
        seconds = perf_counter() - start
        print(
            f"{type(law).__name__:20}{first:>20}{last:>12}{time:>10.2f} s{100 * left:>8.2f}%{seconds:>11.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
