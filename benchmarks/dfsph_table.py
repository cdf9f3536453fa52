"""Pressure solvers on one dam break at fixed time steps (after Table 6.1 of Bender and Koschier)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

import continua as ct
from benchmarks.report import Result, against
from benchmarks.run import Run
from continua.sph import PressureSolver
from validation.fluids import largest_divergence


@dataclass
class History:
    """How a solver went.

    Attributes:
        dt: Time step [s].
        clock: Seconds of wall time until the end of each step.
        iterations: Iterations of the density and of the divergence solve of each step.
        divergence: Largest local divergence at the end [1/s].
        end: How the run ended; empty if it came to its end.
    """

    dt: float
    clock: list[float] = field(default_factory=list)
    iterations: list[tuple[int, int]] = field(default_factory=list)
    divergence: float = float("nan")
    end: str = ""

    def rate(self, steps: int) -> float:
        """Return the seconds per simulated second over the first steps."""
        return self.clock[steps - 1] / (steps * self.dt) if steps else float("nan")


def simulate(run: Run, solver: PressureSolver, dt: float, across: int, seconds: float) -> History:
    """Simulate `seconds` of a dam break of across^3 particles, as far as the budget reaches."""
    d = 0.04
    side = across * d
    water = ct.Fluid(
        ((0, 0, 0), (side, side, side)), particle_radius=d / 2, viscosity=0.01, xsph=0.05, solver=solver,
        max_dt=dt,
    )  # fmt: skip
    water.cfl = 1e9  # fixed steps, which a fluid is not made with
    tank = ct.Box((1.5 * side, side, 0.5 * side), (3 * side, 2 * side, side), inside=True)
    world = ct.World([water], colliders=[tank])
    found = History(dt)
    system = world.system(ct.Fluid)
    assert system is not None
    start = time.perf_counter()
    try:
        for _ in run.steps(round(seconds / dt)):
            world.step(dt)
            found.clock.append(time.perf_counter() - start)
            found.iterations += [(s.density.iterations, s.divergence.iterations) for s in system.substeps]
        if len(found.clock) < round(seconds / dt):
            found.end = f"first {1e3 * world.time:.0f} ms"
        found.divergence = largest_divergence(world)
    except ct.DivergedError:
        found.end = f"diverges at {1e3 * world.time:.0f} ms"
    return found


# the paper's tolerances: 0.01 % of density, and 0.1 % by divergence
SOLVERS: tuple[PressureSolver, ...] = (
    ct.DFSPH(density_error=1e-4, divergence_error=1e-3),
    ct.IISPH(density_error=1e-4),
    ct.PBF(density_error=1e-4),
    ct.PCISPH(density_error=1e-4),
)


def main(run: Run) -> Result:
    """Run all solvers with growing accuracy in time."""
    run.set_threads(2)
    across, seconds = run.choose((5, 0.008), (25, 0.2), (50, 0.2))
    steps = run.choose((0.004,), (0.004, 0.002, 0.001), (0.004, 0.002, 0.001, 0.0005))
    rows: list[dict[str, object]] = []
    shares = {"iisph": 5.0, "pcisph": 10.0}
    notes, ratios = [], []
    ours = History(0.0)
    cases = [(dt, solver) for dt in steps for solver in SOLVERS]
    if not run.quick:
        run.stage("compiling")
        for solver in SOLVERS:
            simulate(run, solver, 0.004, 12, 0.008)
    for dt, solver in run.cases(cases, lambda case: f"dt = {1e3 * case[0]:g} ms, {case[1].name}"):
        found = simulate(run, solver, dt, across, seconds)
        if solver is SOLVERS[0]:
            ours = found
        common = min(len(found.clock), len(ours.clock))
        its = np.mean(found.iterations, axis=0) if found.iterations else np.zeros(2)
        row: dict[str, object] = {
            "dt [ms]": f"{1e3 * dt:g}",
            "solver": solver.name,
            "iterations": f"{its[0]:.1f} / {its[1]:.1f}",
            "s per simulated s": found.rate(len(found.clock)),
        }
        if common and not found.end.startswith("diverges"):
            slower = found.rate(common) / ours.rate(common)
            row |= {"slower than dfsph": slower, "max local divergence [1/s]": found.divergence}
            if dt == steps[0] and solver is not SOLVERS[0]:
                ratios.append(slower)
                if solver.name in shares:
                    notes.append(
                        against(
                            f"dt = {1e3 * dt:g} ms, {solver.name} over dfsph", slower, shares[solver.name]
                        )
                    )
        row["end"] = found.end
        rows.append(row)
    notes.append(f"ratio = the fastest other solver over dfsph at {1e3 * steps[0]:g} ms")
    return Result(
        f"Pressure solvers, {across**3:,} particles, {seconds:g} s", rows, min(ratios, default=None), None, notes,
        ("dt [ms]", "solver"),
    )  # fmt: skip
