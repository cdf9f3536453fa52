"""Pressure solvers side by side on one dam break at fixed time steps (Bender and Koschier, Table 6.1)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

import continua as ct
from benchmarks.report import Result
from continua.sph import PressureSolver
from validation.fluids import largest_divergence


@dataclass
class Run:
    """How a solver went: when each step ended, iterations, and the largest local divergence at the end [1/s].

    `clock` holds the seconds taken until the end of each step; `end` is empty if the run came to its end.
    """

    dt: float
    clock: list[float] = field(default_factory=list)
    iterations: list[tuple[int, int]] = field(default_factory=list)
    divergence: float = float("nan")
    end: str = ""

    def rate(self, steps: int) -> float:
        """Return the seconds a simulated second over the first steps."""
        return self.clock[steps - 1] / (steps * self.dt) if steps else float("nan")


def run(solver: PressureSolver, dt: float, across: int, seconds: float, patience: float) -> Run:
    """Simulate `seconds` of a dam break of across^3 particles, for `patience` [s] at most."""
    d = 0.04
    side = across * d
    water = ct.Fluid(
        ((0, 0, 0), (side, side, side)), particle_radius=d / 2, viscosity=0.01, xsph=0.05, solver=solver,
        max_dt=dt, cfl=1e9,
    )  # fmt: skip
    tank = ct.Box((1.5 * side, side, 0.5 * side), (3 * side, 2 * side, side), inside=True)
    world = ct.World([water], colliders=[tank])
    found = Run(dt)
    system = world.system(ct.Fluid)
    assert system is not None
    start = time.perf_counter()
    try:
        while world.time < seconds - 0.5 * dt:
            world.step(dt)
            found.clock.append(time.perf_counter() - start)
            found.iterations += [(s.density.iterations, s.divergence.iterations) for s in system.substeps]
            if found.clock[-1] > patience:
                found.end = f"first {1e3 * world.time:.0f} ms"
                break
        found.divergence = largest_divergence(world)
    except ct.DivergedError:
        found.end = f"explodes at {1e3 * world.time:.0f} ms"
    return found


def compile_all() -> None:
    """Let every solver compile."""
    for solver in SOLVERS:
        run(solver, 0.004, 20, 0.008, 1e9)


# the paper's tolerances: 0.01 % of density, and 0.1 % by divergence
SOLVERS: tuple[PressureSolver, ...] = (
    ct.DFSPH(density_error=1e-4, divergence_error=1e-3),
    ct.IISPH(density_error=1e-4),
    ct.PBF(density_error=1e-4),
    ct.PCISPH(density_error=1e-4),
)


def main(
    threads: int | None = None, across: int = 50, seconds: float = 0.2, patience: float = 120.0
) -> Result:
    if threads:
        ct.set_threads(threads)
    compile_all()
    rows: list[dict[str, object]] = []
    shares = {"iisph": 5.0, "pcisph": 10.0}
    ratios: dict[str, float] = {}
    for dt in (0.004, 0.002, 0.001, 0.0005):
        ours: Run | None = None
        for solver in SOLVERS:
            found = run(solver, dt, across, seconds, patience)
            ours = found if ours is None else ours
            common = min(len(found.clock), len(ours.clock))
            slower = (
                found.rate(common) / ours.rate(common) if common and not found.end.startswith("expl") else 0.0
            )
            if dt == 0.004 and solver.name in shares:
                ratios[solver.name] = slower / shares[solver.name]
            its = np.mean(found.iterations, axis=0) if found.iterations else np.zeros(2)
            rows.append(
                {
                    "dt ms": 1e3 * dt,
                    "solver": solver.name,
                    "iterations": f"{its[0]:.1f} / {its[1]:.1f}",
                    "s per simulated s": found.rate(len(found.clock)),
                    "slower than dfsph": slower,
                    "max local divergence 1/s": found.divergence,
                    "": found.end,
                }
            )
            print(rows[-1], flush=True)
    notes = [
        "ratio: how far IISPH is beyond 5x and PCISPH beyond 10x of DFSPH's time at 4 ms, the smaller",
        f"a run ends after {patience:g} s; 'slower' compares the steps that both have done",
    ]
    return Result(
        f"Pressure solvers, {across**3:,} particles, {seconds:g} s", rows, min(ratios.values()), 1.0, notes
    )
