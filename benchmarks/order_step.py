"""Time of a step and error of orders 1, 2 and 3: a bar that swings about its axis.

The bar is 1 x 0.25 x 0.25 m along x, clamped at x = 0, with E = 1e6 Pa, nu = 0.3 and 1000 kg/m3, in (4 n) x n x n
cells of six tetrahedra. Its initial angular velocity about the axis grows linearly along it to 20 rad/s; the time step
is 5 ms. The error is that of the twist of the free end over 0.3 s (rms), relative to the largest twist of the
reference: a fine mesh of order 3 with the same steps. The ratio is the time of a step of order 1 over that of order 2
at the same error, interpolated between the meshes of order 1 in logarithms.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run
from continua.solids.elements import BernsteinTets

DT = 0.005
MESHES = {1: (2, 3, 4, 6, 8, 12, 16), 2: (1, 2, 3, 4), 3: (1, 2)}
REFERENCE = (3, 4)  # order and n


@dataclass
class Swing:
    """Median milliseconds per step, the twist of the free end after every step [rad], and sizes."""

    ms: float
    twist: np.ndarray
    tets: int
    unknowns: int


def swing(run: Run, order: int, n: int, part: float = 1.0) -> Swing:
    """Let the bar swing once."""
    mesh = ct.mesh.box(size=(1.0, 0.25, 0.25), cells=(4 * n, n, n), origin=(0.0, -0.125, -0.125))
    body = ct.SoftBody(
        mesh,
        material=ct.Corotated(young=1e6, poisson=0.3, density=1000.0),
        order=order,
        name="bar",
        solver=ct.PCG(rtol=1e-5),
    )
    rest = body.rest_positions
    body.pin(lambda x: x[:, 0] < 1e-9)
    velocities = 20.0 * rest[:, :1] * np.cross([1.0, 0.0, 0.0], rest)
    if order > 1:  # the field is quadratic: its Bernstein coefficients are not its values at the nodes
        velocities = BernsteinTets(mesh, order).coefficients(velocities)
    state = body.state()
    state["velocities"] = velocities
    state["velocities_before"] = np.broadcast_to(velocities, state["velocities_before"].shape)
    body.restore(state)
    world = ct.World([body], gravity=(0.0, 0.0, 0.0), dt=DT)
    ends = np.flatnonzero((rest[:, 0] > 1 - 1e-9) & (np.abs(rest[:, 1:]).min(axis=1) > 0.125 - 1e-9))
    start = rest[ends, 1] + 1j * rest[ends, 2]
    times, twist = [], []
    for _ in run.steps(run.choose(8, 60), part=part):
        begin = time.perf_counter()
        world.step()
        times.append(time.perf_counter() - begin)
        x = body.positions[ends]
        twist.append(float(np.angle((x[:, 1] + 1j * x[:, 2]) / start).mean()))
    return Swing(1e3 * statistics.median(times[1:]), np.array(twist), mesh.element_count, 3 * body.node_count)


def main(run: Run) -> Result:
    """Time all meshes in turns, and compare orders 1 and 2 at equal error."""
    count = run.set_threads(1)
    meshes = run.choose({1: (1, 2), 2: (1,), 3: (1,)}, MESHES)
    fine = run.choose((3, 1), REFERENCE)
    reference = np.zeros(0)
    best: dict[tuple[int, int], Swing] = {}
    rounds = [(order, n) for order, numbers in meshes.items() for n in numbers] * run.choose(1, 3)
    for order, n in run.cases([fine, *rounds], lambda case: f"order {case[0]}, n = {case[1]}"):
        this = swing(run, order, n)
        if not len(reference):
            reference = this.twist
        elif (order, n) not in best or this.ms < best[order, n].ms:
            best[order, n] = this
    errors = {key: _error(one.twist, reference) for key, one in best.items()}
    linear = sorted((errors[key], best[key].ms) for key in best if key[0] == 1)
    log_error, log_ms = np.log([pair[0] for pair in linear]), np.log([pair[1] for pair in linear])
    rows: list[dict[str, object]] = []
    ratios: dict[int, list[float]] = {2: [], 3: []}
    for (order, n), one in best.items():
        row: dict[str, object] = {
            "order": order,
            "n": n,
            "tets": one.tets,
            "unknowns": one.unknowns,
            "ms per step": one.ms,
            "error [%]": 100 * errors[order, n],
        }
        if order > 1 and errors[order, n] > 0.0 and log_error[0] <= np.log(errors[order, n]) <= log_error[-1]:
            same = float(np.exp(np.interp(np.log(errors[order, n]), log_error, log_ms)))
            ratios[order].append(same / one.ms)
            row["ms of order 1 at this error"] = same
            row["times faster"] = same / one.ms
        rows.append(row)
    notes = [
        f"reference: order {fine[0]}, n = {fine[1]}; largest twist {np.abs(reference).max():.2f} rad",
        "ratio = order 1 over order 2 at equal error, the smallest",
    ]
    if ratios[3]:
        notes.append(f"order 3 at equal error: {min(ratios[3]):.1f} times faster than order 1")
    title = f"A swing about the axis, {count} thread(s)"
    return Result(title, rows, min(ratios[2], default=None), 4.0, notes)


def _error(twist: np.ndarray, reference: np.ndarray) -> float:
    """Return the rms difference over the steps that both have done, relative to the largest twist."""
    steps = min(len(twist), len(reference))
    return float(np.sqrt(((twist[:steps] - reference[:steps]) ** 2).mean()) / np.abs(reference[:steps]).max())
