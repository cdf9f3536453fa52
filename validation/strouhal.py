"""Vortex shedding of a circular cylinder at Reynolds number 100: the Strouhal number f D / U.

Williamson (1989), Phys. Fluids A 1, 2742: 0.164 in unbounded flow. Walls near the cylinder increase it a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import continua as ct


@dataclass(frozen=True)
class Street:
    """Figures of a vortex street.

    Attributes:
        strouhal: Strouhal number.
        drag: Mean drag coefficient from pressure and friction on the cylinder.
        loss: The same from the momentum lost between inlet and outlet.
        swing: Peak-to-peak amplitude of the lift coefficient.
    """

    strouhal: float
    drag: float
    loss: float
    swing: float


def street(
    across: int = 12,
    seconds: float = 60.0,
    size: tuple[float, float] = (14.0, 8.0),
    upstream: float = 4.0,
    cfl: float = 0.5,
) -> Street:
    """Simulate the flow past a cylinder of diameter 1 and return the figures of its vortex street.

    Args:
        across: Cells across the cylinder.
        seconds: Simulated time [s] at an inflow speed of 1 m/s; the last 40 % count.
        size: Length and height of the tunnel, in diameters.
        upstream: Distance of the cylinder from the inlet, in diameters.
        cfl: Courant number of the time step.
    """
    cylinder = ct.Cylinder(
        center=(upstream, 0.5 * size[1] + 0.05, 0.0), axis=(0.0, 0.0, 1.0), radius=0.5, height=2.0
    )
    cells = tuple(round(length * across) for length in size)
    tunnel = ct.WindTunnel(
        size, cells, obstacles=[cylinder], speed=1.0, density=1.0, viscosity=0.01, name="tunnel"
    )
    # a velocity to one side starts the shedding sooner
    tunnel.flow.fields.velocity[2][0, : round((upstream + 1.0) * across), :] += 0.3
    world = ct.World([tunnel], dt=cfl / across)
    rows = []
    while world.time < seconds:
        world.step()
        rows.append((world.time, *tunnel.coefficients(1.0), 2.0 * _lost(tunnel)))
    t, drag, lift, loss = np.array([row for row in rows if row[0] > 0.6 * seconds]).T
    y = lift - lift.mean()
    rising = np.flatnonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))
    crossings = t[rising] - y[rising] * (t[rising + 1] - t[rising]) / (y[rising + 1] - y[rising])
    whole = _between(t, crossings)
    return Street(
        1.0 / float(np.diff(crossings).mean()), drag[whole].mean(), loss[whole].mean(), float(np.ptp(y))
    )


def _lost(tunnel: ct.WindTunnel) -> float:
    """Return the momentum flux with pressure at the inlet minus that at the outlet [N/m], where pressure is 0."""
    u, p = tunnel.flow.fields.velocity[1][0].astype(np.float64), tunnel.flow.fields.pressure[0]
    return float((p[0] + u[0] ** 2 - u[-1] ** 2).sum()) * tunnel.grid.spacing


def _between(t: NDArray[np.float64], crossings: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the times in whole periods."""
    return (t >= crossings[0]) & (t < crossings[-1])


if __name__ == "__main__":
    print("tunnel [diam.]   cells across  Strouhal number  drag, wall  drag, momentum  swing of lift")
    for size, upstream, across in (
        ((14.0, 8.0), 4.0, 12),
        ((14.0, 8.0), 4.0, 20),
        ((24.0, 20.0), 8.0, 10),
    ):
        found = street(across, 60.0 if size[0] < 20.0 else 90.0, size, upstream)
        row = f"{found.strouhal:16.4f} {found.drag:11.3f} {found.loss:15.3f} {found.swing:14.3f}"
        print(f"{size[0]:9g} x {size[1]:<3g} {across:13d} {row}", flush=True)
    print("literature, unbounded:        0.164        1.33")
