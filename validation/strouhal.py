"""How often vortices leave a round post at Reynolds number 100: the Strouhal number f D / U is 0.164 in the open air.

Williamson (1989), Phys. Fluids A 1, 2742: 0.164. Walls near the post make it a little larger.
"""

from __future__ import annotations

import numpy as np

import continua as ct


def strouhal(across: int = 12, seconds: float = 60.0) -> tuple[float, float]:
    """Return the Strouhal number and the mean drag coefficient, for so many cells across a post of width 1."""
    post = ct.Cylinder(center=(4.0, 4.05, 0.0), axis=(0.0, 0.0, 1.0), radius=0.5, height=2.0)
    size, density = (14.0, 8.0), 1.0
    cells = tuple(round(length * across) for length in size)
    tunnel = ct.WindTunnel(
        size, cells, obstacles=[post], speed=1.0, density=density, viscosity=density / 100.0, name="tunnel"
    )
    # a push to one side lets vortices begin sooner
    tunnel.flow.velocity[2][0, : 5 * across, :] += 0.3
    world = ct.World([tunnel], dt=0.5 / across)
    lift, drag, times = [], [], []
    while world.time < seconds:
        world.step()
        one, two = tunnel.coefficients(1.0)
        times.append(world.time)
        drag.append(one)
        lift.append(two)
    late = np.array(times) > 0.6 * seconds
    t, y = np.array(times)[late], np.array(lift)[late]
    y = y - y.mean()
    rising = np.flatnonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))
    crossings = t[rising] - y[rising] * (t[rising + 1] - t[rising]) / (y[rising + 1] - y[rising])
    print("lift swings by", y.max() - y.min())
    return 1.0 / float(np.diff(crossings).mean()), float(np.mean(np.array(drag)[late]))


if __name__ == "__main__":
    number, coefficient = strouhal()
    print(f"Strouhal number {number:.4f} (0.164 in the open)")
    print(f"drag coefficient {coefficient:.3f} (1.33 in the open, more between walls)")
