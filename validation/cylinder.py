"""Flow past a circular cylinder at Reynolds numbers from 20 to 200 against published drag, lift and Strouhal numbers.

`python -m validation.cylinder [REYNOLDS ...]` measures in three tunnels: a narrow one with coarse and with fine cells,
and one of 40 diameters with coarse cells. The product of the last with the ratio of the first two is compared with the
literature. `validation/data/cylinder-literature.csv` names the sources.
"""

from __future__ import annotations

import csv
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import continua as ct

DATA = Path(__file__).with_name("data") / "cylinder-literature.csv"
COARSE, FINE = 10, 30  # cells across the cylinder
NARROW, WIDE = 10.0, 40.0  # heights of the tunnels, in diameters
_ONSET = 47.0  # Reynolds number above which vortices are shed


@dataclass(frozen=True)
class Figures:
    """Figures of the flow past a cylinder.

    Attributes:
        drag: Mean drag coefficient from pressure and friction on the cylinder.
        lift: Amplitude of the lift coefficient; 0 if the flow is steady.
        strouhal: Strouhal number f D / U; 0 if the flow is steady.
        loss: The drag from the momentum lost between inlet and outlet.
    """

    drag: float
    lift: float = 0.0
    strouhal: float = 0.0
    loss: float = 0.0


def published(reynolds: float, source: str = "linnick") -> Figures | None:
    """Return the figures of a source, or None if it has none for this Reynolds number."""
    lines = [line for line in DATA.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        if row["source"] == source and float(row["reynolds"]) == reynolds:
            return Figures(float(row["drag"]), float(row["lift"] or 0.0), float(row["strouhal"] or 0.0))
    return None


def measure(
    reynolds: float,
    across: int,
    height: float,
    *,
    upstream: float | None = None,
    downstream: float = 15.0,
    seconds: float | None = None,
    cfl: float = 0.6,
) -> Figures:
    """Simulate the flow past a cylinder of diameter 1 in a tunnel with slip walls.

    Args:
        reynolds: Reynolds number.
        across: Cells across the cylinder.
        height: Height of the tunnel, in diameters.
        upstream: Distance of the cylinder from the inlet, in diameters; half the height by default.
        downstream: Distance of the cylinder from the outlet, in diameters.
        seconds: Simulated time [s] at an inflow speed of 1 m/s; the last 40 % count.
        cfl: Courant number of the time step, for the inflow speed.
    """
    steady = reynolds < _ONSET
    upstream = 0.5 * height if upstream is None else upstream
    seconds = (40.0 if steady else 100.0) if seconds is None else seconds
    size = (upstream + downstream, height)
    cylinder = ct.Cylinder(
        center=(upstream, 0.5 * height + 0.05, 0.0), axis=(0.0, 0.0, 1.0), radius=0.5, height=2.0
    )
    cells = tuple(round(length * across) for length in size)
    tunnel = ct.WindTunnel(
        size, cells, obstacles=[cylinder], speed=1.0, density=1.0, viscosity=1.0 / reynolds, name="tunnel"
    )
    if not steady:  # a velocity to one side starts the shedding sooner
        tunnel.flow.fields.velocity[2][0, : round((upstream + 1.0) * across), :] += 0.3
    world = ct.World([tunnel], dt=cfl / across)
    rows = []
    while world.time < seconds:
        world.step()
        rows.append((world.time, *tunnel.coefficients(1.0), 2.0 * _lost(tunnel)))
    t, drag, lift, loss = np.array([row for row in rows if row[0] > 0.6 * seconds]).T
    if steady:
        return Figures(float(drag[-1]), loss=float(loss[-1]))
    y = lift - lift.mean()
    rising = np.flatnonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))
    crossings = t[rising] - y[rising] * (t[rising + 1] - t[rising]) / (y[rising + 1] - y[rising])
    whole = _between(t, crossings)
    return Figures(
        float(drag[whole].mean()),
        0.5 * float(np.ptp(y)),
        1.0 / float(np.diff(crossings).mean()),
        float(loss[whole].mean()),
    )


def _lost(tunnel: ct.WindTunnel) -> float:
    """Return the momentum flux with pressure at the inlet minus that at the outlet [N/m], where pressure is 0."""
    u, p = tunnel.flow.fields.velocity[1][0].astype(np.float64), tunnel.flow.fields.pressure[0]
    return float((p[0] + u[0] ** 2 - u[-1] ** 2).sum()) * tunnel.grid.spacing


def _between(t: NDArray[np.float64], crossings: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the times in whole periods."""
    return (t >= crossings[0]) & (t < crossings[-1])


def extrapolate(narrow_coarse: Figures, narrow_fine: Figures, wide_coarse: Figures) -> Figures:
    """Return the figures to expect in the wide tunnel with fine cells: the effects of cells and walls are factors."""

    def product(name: str) -> float:
        a, b, c = (float(getattr(f, name)) for f in (narrow_coarse, narrow_fine, wide_coarse))
        return b * c / a if a else 0.0

    return Figures(*(product(name) for name in ("drag", "lift", "strouhal", "loss")))


def _row(name: str, figures: Figures, seconds: float | None = None) -> str:
    """Return a line of the table."""
    spent = "" if seconds is None else f"  {seconds:4.0f} s"
    momentum = f"{figures.loss:7.3f}" if figures.loss else 7 * " "
    lift = f"{figures.lift:7.3f}{figures.strouhal:9.4f}" if figures.strouhal else 16 * " "
    return f"  {name:46s}{figures.drag:7.3f}{momentum}{lift}{spent}"


def main(reynolds: float) -> None:
    """Measure at a Reynolds number, and print the table."""
    print(f"Reynolds number {reynolds:g}{'':30s}drag    loss   lift Strouhal", flush=True)
    found = []
    for across, height in ((COARSE, NARROW), (FINE, NARROW), (COARSE, WIDE)):
        start = time.perf_counter()
        found.append(measure(reynolds, across, height))
        name = f"{across} cells across, walls {height:g} diameters apart"
        print(_row(name, found[-1], time.perf_counter() - start), flush=True)
    print(_row(f"{FINE} cells and {WIDE:g} diameters, from these", extrapolate(*found)))
    for source, name in (
        ("linnick", "Linnick and Fasel (2005)"),
        ("liu", "Liu, Zheng and Sung (1998)"),
        ("dennis", "Dennis and Chang (1970)"),
        ("fornberg", "Fornberg (1980), unbounded"),
    ):
        printed = published(reynolds, source)
        if printed is not None:
            print(_row(name, printed), flush=True)


if __name__ == "__main__":
    for given in sys.argv[1:] or ("20", "40", "100", "200"):
        main(float(given))
