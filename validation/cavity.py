"""The lid-driven cavity against Ghia, Ghia and Shin (1982).

J. Comput. Phys. 48, 387-411, Table I: the x velocity on the vertical centre line of a square cavity whose lid moves
with speed 1, in the steady state, for several Reynolds numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from continua.grid_fluids import Flow, make_grid

DATA = Path(__file__).with_name("data") / "ghia-1982-lid-driven-cavity.csv"
COLUMN = {100: 1, 400: 2, 1000: 3}


def printed(reynolds: int) -> np.ndarray:
    """Return y and u of the paper, shape [n, 2]."""
    table = np.loadtxt(DATA, delimiter=",", comments="#", skiprows=3)
    return table[:, [0, COLUMN[reynolds]]]


def centre_line(reynolds: int, n: int = 64, until: float = 40.0, cfl: float = 1.0) -> np.ndarray:
    """Return y and u of the steady flow, shape [n + 2, 2]."""
    grid = make_grid((1.0, 1.0), (n, n))
    sides = {"left": "no-slip", "right": "no-slip", "bottom": "no-slip", "top": (1.0, 0.0)}
    flow = Flow(grid, sides, density=1.0, viscosity=1.0 / reynolds, dtype=np.float64, rtol=1e-6)
    dt = cfl / n
    before = flow.fields.velocity[1].copy()
    for step in range(round(until / dt)):
        flow.step(dt)
        if step % 50 == 49:
            if np.abs(flow.fields.velocity[1] - before).max() < 1e-5:
                break
            before = flow.fields.velocity[1].copy()
    y = (np.arange(n) + 0.5) / n
    return np.column_stack([np.r_[0.0, y, 1.0], np.r_[0.0, flow.fields.velocity[1][0, n // 2], 1.0]])


def compare(reynolds: int, n: int = 64, cfl: float = 1.0) -> np.ndarray:
    """Return y, u of the paper, u here and their difference relative to the speed of the lid, shape [n, 4]."""
    table, line = printed(reynolds), centre_line(reynolds, n, cfl=cfl)
    found = np.interp(table[:, 0], line[:, 0], line[:, 1])
    return np.column_stack([table, found, found - table[:, 1]])


if __name__ == "__main__":
    for number in (100, 400):
        print(f"Re = {number}:     y    printed       here  difference")
        for row in compare(number, 96):
            print(f"{row[0]:18.4f} {row[1]:10.5f} {row[2]:10.5f} {100 * row[3]:+9.2f} %")
