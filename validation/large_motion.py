"""Energy of a cantilever that swings far, without damping, over a hundred periods.

The bar of 1 x 0.1 x 0.1 m starts with the velocities of its first mode, which by the theory of small bending has an
amplitude of 40 cm. The table has the largest change of the energy, relative to that at the start, and how far the end
swings.
`python -m validation.large_motion PERIODS` takes another number of periods.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

import continua as ct

YOUNG, DENSITY, THICKNESS, AMPLITUDE = 2e4, 1000.0, 0.1, 0.4
FREQUENCY = 1.875**2 * THICKNESS * (YOUNG / DENSITY / 12.0) ** 0.5  # rad/s, of bending with a length of 1 m
PERIOD = 2.0 * np.pi / FREQUENCY
CONSTANTS = {"young": YOUNG, "poisson": 0.3, "density": DENSITY}
CASES = (
    (ct.Corotated(**CONSTANTS), "tets", 1),
    (ct.Corotated(**CONSTANTS), "tets", 2),
    (ct.StVenantKirchhoff(**CONSTANTS), "tets", 1),
    (ct.NeoHookean(**CONSTANTS), "tets", 1),
    (ct.NeoHookean(**CONSTANTS), "hexes", 1),
)


def swing(
    law: ct.materials.Law, kind: str, order: int, integrator: str, periods: float, dt: float = 0.02
) -> tuple[float, float]:
    """Return the largest relative change of the energy, and the largest excursion of the end [m]."""
    make = ct.mesh.box if kind == "tets" else ct.mesh.hex_box
    body = ct.SoftBody(
        make(size=(1.0, THICKNESS, THICKNESS), cells=(8, 1, 1)),
        material=law,
        order=order,
        integrator=integrator,
        name="bar",
    )
    body.pin("left")
    rest = body.rest_positions
    velocities = np.zeros_like(rest)
    velocities[:, 1] = AMPLITUDE * FREQUENCY * rest[:, 0] ** 2
    body.velocities = velocities
    world = ct.World([body], gravity=(0, 0, 0), dt=dt)
    start, drift, reach = sum(body.energy().values()), 0.0, 0.0
    end = rest[:, 0] > 1.0 - 1e-9
    for _ in range(round(periods * PERIOD / dt)):
        world.step()
        drift = max(drift, abs(sum(body.energy().values()) / start - 1.0))
        reach = max(reach, abs(float((body.positions - rest)[end, 1].mean())))
    return drift, reach


def main() -> None:
    periods = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    print(f"{periods:g} periods of {PERIOD:.2f} s in steps of 0.02 s")
    print(
        f"{'law':20}{'elements':>10}{'order':>7}{'integrator':>17}{'change':>10}{'reach':>10}{'computed in':>13}"
    )
    for law, kind, order in CASES:
        for integrator in ("energy_momentum", "newmark"):
            begin = perf_counter()
            try:
                drift, reach = swing(law, kind, order, integrator, periods)
                result = f"{drift:>10.1e}{reach:>8.3f} m"
            except ct.DivergedError:
                result = f"{'diverged':>20}"
            print(
                f"{type(law).__name__:20}{kind:>10}{order:>7}{integrator:>17}{result}"
                f"{perf_counter() - begin:>11.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
