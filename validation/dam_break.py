"""The front of a collapsing column of water against the experiment of Martin and Moyce (1952).

Phil. Trans. R. Soc. Lond. A 244, 312-324, Table 2: a column of width a = 2.25 in and height 2 a is released; its front
is at Z = x/a at the time T = t sqrt(2 g/a). The gate takes a moment to open, which delays small T.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import continua as ct

DATA = Path(__file__).with_name("data") / "martin-moyce-1952-dam-break.csv"
WIDTH = 0.05715  # m
GRAVITY = 9.81


def experiment() -> np.ndarray:
    """Return T and Z of the experiment, shape [n, 2]."""
    return np.loadtxt(DATA, delimiter=",", comments="#", skiprows=4)


def front(across: int = 14, depth: int = 7, until: float = 3.4, solver: object = None) -> np.ndarray:
    """Return T and Z of the simulated front, shape [n, 2].

    Args:
        across: Particles over the width of the column.
        depth: Particles over the depth of the channel.
        until: Last T.
        solver: Pressure solver.
    """
    d = WIDTH / across
    size = np.array([5.0 * WIDTH, 3.0 * WIDTH, depth * d])
    water = ct.Fluid(
        ((0.0, 0.0, 0.0), (WIDTH, 2.0 * WIDTH, depth * d)),
        particle_radius=0.5 * d,
        viscosity=0.001,
        solver=solver,
    )
    tank = ct.Box(tuple(0.5 * size), tuple(size), inside=True)
    world = ct.World([water], colliders=[tank], dt=0.002)
    rate = np.sqrt(2.0 * GRAVITY / WIDTH)
    path = []
    while world.time * rate < until:
        world.step()
        # single drops run ahead of the front: skip as many particles as lie side by side across the channel
        x = np.sort(water.positions[:, 0])
        path.append((world.time * rate, (x[-depth] + 0.5 * d) / WIDTH))
    return np.array(path)


def gate_delay(path: np.ndarray) -> float:
    """Return the delay of T in the experiment by the opening of the gate, from its points with 0.8 < T < 1.2."""
    early = [row for row in experiment() if 0.8 < row[0] < 1.2]
    return float(np.mean([row[0] - np.interp(row[1], path[:, 1], path[:, 0]) for row in early]))


def compare(path: np.ndarray, delay: float = 0.0) -> np.ndarray:
    """Return T, Z of the experiment, Z simulated `delay` earlier and their relative difference, shape [n, 4]."""
    table = experiment()
    simulated = np.interp(table[:, 0] - delay, path[:, 0], path[:, 1])
    return np.column_stack([table, simulated, simulated / table[:, 1] - 1.0])


def report(path: np.ndarray) -> None:
    """Print the simulated front and that of the experiment."""
    delay = gate_delay(path)
    print(f"delay of the gate, from the points with T < 1.2: {delay:.2f}")
    print("    T   Z experiment   Z simulated   difference   with the delay")
    for row, late in zip(compare(path), compare(path, delay), strict=True):
        print(f"{row[0]:5.2f} {row[1]:14.2f} {row[2]:13.3f} {100 * row[3]:+10.1f} % {100 * late[3]:+14.1f} %")
    for what, table in (("as measured", compare(path)), ("with the delay", compare(path, delay))):
        largest = np.abs(table[table[:, 0] > 1.2, 3]).max()
        print(f"largest difference for T > 1.2, {what}: {100 * largest:.1f} %")


if __name__ == "__main__":
    report(front())
