"""One implicit step of a hanging sheet against MuJoCo flex and pyPBD, with its stretch; and iterations over its size.

The sheet is 1 x 1 m of n x n cells, held at two corners, with E = 1e5 Pa, nu = 0.3, 1 mm and 0.2 kg/m2, and falls from
the horizontal for 1 s with steps of 10 ms. Times are processor time on one thread. The stretch is that of the edges
along the cells, mean and largest, at the end; "converged" are our steps with Newton's method to convergence.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import continua as ct
from benchmarks.report import Result, against
from benchmarks.run import Run

WIDTH, YOUNG, POISSON, THICKNESS, AREA_DENSITY, GRAVITY, DT = 1.0, 1e5, 0.3, 1e-3, 0.2, 9.81, 0.01
MUJOCO_BAR, PYPBD_BAR, GROWTH_BAR = 5.0, 3.0, 2.0
SUBSTEPS = 30

Stepper = tuple[Callable[[], Any], Callable[[], np.ndarray]]


def continua_sheet(n: int, newton: int | None = None, solver: str | None = None) -> Stepper:
    """Return functions that step our sheet and return its node positions, row by row."""
    mesh = ct.mesh.surfaces.sheet((WIDTH, WIDTH), (n, n), pattern="crossed")
    law = ct.StVenantKirchhoff(young=YOUNG, poisson=POISSON, density=AREA_DENSITY / THICKNESS)
    sheet = ct.Cloth(mesh, law, thickness=THICKNESS, newton=newton, solver=solver)
    sheet.pin([0, n])
    world = ct.World([sheet], gravity=(0.0, -GRAVITY, 0.0), dt=DT)
    return lambda: world.step(DT)[0], lambda: sheet.positions


def mujoco_sheet(n: int) -> Stepper:
    """MuJoCo flex with its implicit integrator."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option timestep="{DT}" integrator="discrete" solver="CG" tolerance="1e-6" gravity="0 0 -{GRAVITY}">
            <flag contact="disable"/>
          </option>
          <size memory="800M"/>
          <worldbody>
            <flexcomp name="s" type="grid" dim="2" count="{n + 1} {n + 1} 1" radius="0.001"
                spacing="{WIDTH / n} {WIDTH / n} {WIDTH / n}" mass="{AREA_DENSITY * WIDTH**2}">
              <edge equality="false" damping="0"/>
              <contact selfcollide="none"/>
              <elasticity young="{YOUNG}" poisson="{POISSON}" thickness="{THICKNESS}" damping="0" elastic2d="both"/>
              <pin id="0 {n}"/>
            </flexcomp>
          </worldbody>
        </mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return lambda: mujoco.mj_step(model, data), lambda: data.flexvert_xpos.copy()


def pypbd_sheet(n: int) -> Stepper:
    """XPBD of PositionBasedDynamics: springs along the edges and isometric bending; its gravity is along -y."""
    import pypbd

    simulation = pypbd.Simulation.getCurrent()
    simulation.initDefault()
    model = simulation.getModel()
    model.cleanup()
    plane = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    model.addRegularTriangleModel(n + 1, n + 1, [0.0, 0.0, 0.0], plane, [WIDTH, WIDTH])
    particles = model.getParticles()
    for i in range(particles.getNumberOfParticles()):
        particles.setMass(i, AREA_DENSITY * WIDTH**2 / (n + 1) ** 2)
    particles.setMass(0, 0.0)
    particles.setMass(n, 0.0)
    sheet = model.getTriangleModels()[0]
    model.addClothConstraints(
        sheet, 4, YOUNG * THICKNESS, YOUNG, YOUNG, YOUNG, POISSON, POISSON, False, False
    )
    model.addBendingConstraints(sheet, 3, YOUNG * THICKNESS**3 / 12.0 / (1.0 - POISSON**2))
    pypbd.TimeManager.getCurrent().setTimeStepSize(DT)
    stepper = simulation.getTimeStep()
    stepper.setValueUInt(pypbd.TimeStepController.NUM_SUB_STEPS, SUBSTEPS)
    stepper.setValueUInt(pypbd.TimeStepController.MAX_ITERATIONS, 1)
    count = particles.getNumberOfParticles()
    return lambda: stepper.step(model), lambda: np.array([particles.getPosition(i) for i in range(count)])


def _stretch(n: int, x: np.ndarray) -> tuple[float, float]:
    """Return the mean and the largest stretch of the edges along the cells."""
    grid = x.reshape(n + 1, n + 1, 3)
    lengths = [np.linalg.norm(np.diff(grid, axis=axis), axis=2).ravel() for axis in (0, 1)]
    stretch = np.concatenate(lengths) / (WIDTH / n)
    return float(stretch.mean()), float(stretch.max())


def _time(run: Run, name: str, make: Callable[[], Stepper], n: int) -> dict[str, object]:
    step, positions = make()
    times, iterations, residuals = [], [], []
    for _ in run.steps(run.choose(5, 100), name, 0.4):
        start = time.process_time()
        report = step()
        times.append(1e3 * (time.process_time() - start))
        if report is not None:
            iterations.append(report.iterations)
            residuals.append(report.residual)
    mean, largest = _stretch(n, positions())
    row: dict[str, object] = {
        "n": n,
        "what": name,
        "ms per step": float(statistics.median(times[1:])),
        "stretch mean": mean,
        "stretch max": largest,
    }
    if iterations:
        row |= {"iterations": float(np.mean(iterations)), "residual": float(max(residuals))}
    return row


def main(run: Run) -> Result:
    """Time Continua and the peers in turns."""
    count = run.set_threads(1)
    os.environ["OMP_NUM_THREADS"] = str(count)  # for pyPBD; MuJoCo steps one model on one thread
    rows: list[dict[str, object]] = []
    ratios, notes, growth = [], [], {}
    sizes = run.choose((8,), (50, 100))
    cases = [*sizes, *run.choose((), (-40, -80, -160, -320))]
    for n in run.cases(cases, lambda n: f"n = {abs(n)}" if n > 0 else f"n = {-n}, multigrid"):
        if n < 0:
            n = -n
            step, _ = continua_sheet(n, solver="multigrid")
            start = time.process_time()
            used = [step().iterations for _ in run.steps(40, "multigrid", 0.8)]
            each = 1e3 * (time.process_time() - start) / len(used)
            growth[n] = float(np.mean(used))
            rows.append({"n": n, "what": "Continua, multigrid", "ms per step": each, "iterations": growth[n]})
            continue
        makers: dict[str, Callable[[], Stepper]] = {
            "Continua": lambda n=n: continua_sheet(n),  # type: ignore[misc]
            "Continua, converged": lambda n=n: continua_sheet(n, newton=50),  # type: ignore[misc]
            "MuJoCo flex": lambda n=n: mujoco_sheet(n),  # type: ignore[misc]
            f"pyPBD, {SUBSTEPS} substeps": lambda n=n: pypbd_sheet(n),  # type: ignore[misc]
        }
        continua_sheet(n)[0]()  # compiles
        found = {}
        for name, make in makers.items():
            row = run.peer(name.split(",")[0], lambda name=name, make=make, n=n: _time(run, name, make, n))
            if row is not None:
                found[name] = row
        ours: Any = found["Continua"]["ms per step"]
        rows += [
            row | {"times ours": row["ms per step"] / ours}  # type: ignore[operator]
            for row in found.values()
        ]
        for name, bar in (("MuJoCo flex", MUJOCO_BAR), (f"pyPBD, {SUBSTEPS} substeps", PYPBD_BAR)):
            if name in found:
                ratio: Any = found[name]["ms per step"] / ours  # type: ignore[operator]
                ratios.append(ratio / bar)
                notes.append(against(f"n = {n}, times faster than {name}", ratio, bar))
    if len(growth) > 1:
        first, last = min(growth), max(growth)
        notes.append(
            against(
                f"growth of the iterations from n = {first} to {last}",
                growth[last] / growth[first],
                GROWTH_BAR,
                at_most=True,
            )
        )
    notes.append("ratio = times faster than a peer over its bar, the smallest")
    title = f"One step of a hanging sheet, {count} thread(s)"
    return Result(title, rows, min(ratios, default=None), 1.0, notes)
