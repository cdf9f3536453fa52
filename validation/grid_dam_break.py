"""The front of a collapsing column of water on a grid against the experiment of Martin and Moyce (1952).

Experiment and comparison are those of `validation.dam_break`.
"""

from __future__ import annotations

import numpy as np

import continua as ct
from validation.dam_break import GRAVITY, WIDTH, report


def front(across: int = 16, until: float = 3.4) -> np.ndarray:
    """Return T and Z of the simulated front in 2-D, shape [n, 2].

    Args:
        across: Cells over the width of the column.
        until: Last T.
    """
    cells = (5 * across, 3 * across)
    water = ct.Liquid(
        (5.0 * WIDTH, 3.0 * WIDTH), cells, block=((0.0, 0.0), (WIDTH, 2.0 * WIDTH)), cfl=1.0, name="water"
    )
    world = ct.World([water], gravity=(0.0, -GRAVITY, 0.0), dt=0.002)
    rate = np.sqrt(2.0 * GRAVITY / WIDTH)
    path = []
    while world.time * rate < until:
        world.step()
        # single drops run ahead of the front: it ends with the last wet cell of the lowest row
        phi = water.field("level_set")[0, :, 0]
        last = int(np.flatnonzero(phi < 0.0)[-1])
        part = phi[last] / (phi[last] - phi[last + 1]) if last + 1 < len(phi) else 0.5
        path.append((world.time * rate, (last + 0.5 + part) / across))
    return np.array(path)


if __name__ == "__main__":
    report(front())
