"""What a step costs and how wrong it is, for orders 1, 2 and 3: a bar swings about its axis.

The bar is 1 x 0.25 x 0.25 m along x, clamped at x = 0, with E = 1e6 Pa, nu = 0.3 and 1000 kg/m3, in (4 n) x n x n
cells of six tetrahedra. It starts with an angular velocity about its axis that grows along it to 20 rad/s, and takes
steps of 5 ms. The error is that of the twist of its free end over 0.3 s (rms), relative to the largest twist of the
reference, which is a fine mesh of order 3 with the same steps. The ratio is the time of a step of order 1 over that of
order 2 at the same error, read off the line through the errors of order 1 in logarithms.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np

import continua as ct
from benchmarks.report import Result

STEPS, ROUNDS, DT = 60, 3, 0.005
MESHES = {1: (2, 3, 4, 6, 8, 12, 16), 2: (1, 2, 3, 4), 3: (1, 2)}
REFERENCE = 3, 4  # order and n


@dataclass
class Run:
    """Median milliseconds a step (the best round), the twist of the free end after every step [rad], sizes."""

    ms: float
    twist: np.ndarray
    tets: int
    unknowns: int


def run(order: int, n: int) -> Run:
    """Swing the bar once."""
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
    # a product of two linear functions is not linear: its coefficients are not its values at the nodes
    spin = 20.0 * rest[:, :1] * np.cross([1.0, 0.0, 0.0], rest)
    state = body.state()
    coefficients = getattr(body._elements, "coefficients", lambda values: values)
    state["velocities"] = coefficients(spin)
    state["velocities_before"] = np.stack([state["velocities"]] * 2)
    body.restore(state)
    world = ct.World([body], gravity=(0.0, 0.0, 0.0), dt=DT)
    ends = np.flatnonzero((rest[:, 0] > 1 - 1e-9) & (np.abs(rest[:, 1:]).min(axis=1) > 0.125 - 1e-9))
    start = rest[ends, 1] + 1j * rest[ends, 2]
    times, twist = [], []
    for _ in range(STEPS):
        begin = time.perf_counter()
        world.step()
        times.append(time.perf_counter() - begin)
        x = body.positions[ends]
        twist.append(float(np.angle((x[:, 1] + 1j * x[:, 2]) / start).mean()))
    return Run(1e3 * statistics.median(times[1:]), np.array(twist), mesh.element_count, 3 * body.node_count)


def main(threads: int | None = None) -> Result:
    """Time all meshes in turns, and compare orders 1 and 2 at equal error."""
    count = threads if threads is not None else 1
    ct.set_threads(count)
    reference = run(*REFERENCE).twist
    best: dict[tuple[int, int], Run] = {}
    for _ in range(ROUNDS):
        for order, numbers in MESHES.items():
            for n in numbers:
                this = run(order, n)
                if (order, n) not in best or this.ms < best[order, n].ms:
                    best[order, n] = this
    errors = {
        key: float(np.sqrt(((one.twist - reference) ** 2).mean()) / np.abs(reference).max())
        for key, one in best.items()
    }
    linear = [(errors[1, n], best[1, n].ms) for n in MESHES[1]]
    log_error, log_ms = np.log([pair[0] for pair in linear])[::-1], np.log([pair[1] for pair in linear])[::-1]
    rows: list[dict[str, object]] = []
    ratios: dict[int, list[float]] = {2: [], 3: []}
    for (order, n), one in best.items():
        row: dict[str, object] = {
            "order": order,
            "n": n,
            "tets": one.tets,
            "unknowns": one.unknowns,
            "ms a step": one.ms,
            "error [%]": 100 * errors[order, n],
        }
        if order > 1 and log_error[0] <= np.log(errors[order, n]) <= log_error[-1]:
            same = float(np.exp(np.interp(np.log(errors[order, n]), log_error, log_ms)))
            ratios[order].append(same / one.ms)
            row["ms of order 1 at this error"] = same
            row["times faster"] = same / one.ms
        rows.append(row)
    notes = [
        f"reference: order {REFERENCE[0]}, n = {REFERENCE[1]}; largest twist {np.abs(reference).max():.2f} rad"
    ]
    if ratios[3]:
        notes.append(f"order 3 at equal error: {min(ratios[3]):.1f} times faster than order 1")
    return Result(
        f"A swing about the axis, {count} thread(s)", rows, min(ratios[2], default=float("nan")), 4.0, notes
    )
