"""One step of a world with the bridge under the linear law, against one product with its matrix; and bandwidth."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.bridge import DT, YOUNG, Products, least, left_end, triad
from benchmarks.report import Result

RTOL, STEPS = 1e-3, 60


def main(threads: int | None = None) -> Result:
    """Let the bridge of n = 16 swing with a constant matrix."""
    ct.set_threads(threads if threads is not None else 2)
    rows = [_case(n) for n in (4, 8, 16)]
    spmv = float(rows[-1]["in SpMV"])  # type: ignore[arg-type]
    notes = [f"n = 16: a step takes {spmv:.1f} SpMV; bar 14: {'met' if spmv <= 14 else 'not met'}"]
    return Result("A step with a constant matrix, 1e-3 from the warm start", rows, 14 / spmv, 1.0, notes)


def _case(n: int) -> dict[str, object]:
    solver = ct.Multigrid(rtol=RTOL)
    law = ct.Linear(young=YOUNG, poisson=0.3, density=1000.0)
    body = ct.SoftBody(ct.mesh.bridge(n), material=law, solver=solver, name="bridge")
    body.pin(body.rest_positions[:, 0] < 1e-9)
    world = ct.World([body], dt=DT)
    A = body._stepper.matrix
    products = Products(A)
    seconds, iterations = [], []
    for _ in range(STEPS):
        start = time.perf_counter()
        world.step()
        seconds.append(time.perf_counter() - start)
        iterations.append(body.solver.last.iterations)
        products.time()
    # some steps need an iteration more than others: the mean, without the tenth that others on the machine disturbed
    middle = float(np.mean(np.sort(seconds[5:])[: -(len(seconds) // 10)]))
    p = A.pattern
    fixed = left_end(body.rest_positions)
    product = products.median
    h = solver.hierarchy
    assert h is not None
    cycle = least(h.cycle)
    finest = cycle - least(lambda: h.cycle(1))  # its sweeps up and down and its transfers
    size = (p.block_count * 76 + 48 * p.node_count) * 1e-9
    sweep = (2 * h.finest.nbytes + 290 * p.node_count) * 1e-9
    peak = triad(max(1.0, 1e3 * size))
    return {
        "n": n,
        "ms a step": 1e3 * middle,
        "in SpMV": middle / product,
        "steps/s": 1.0 / middle,
        "iterations": float(np.mean(iterations[5:])),
        "SpMV ms": 1e3 * product,
        "cycle in SpMV": cycle / product,
        "SpMV GB/s": size / product,
        "% of triad": 100 * size / product / peak,
        "smoother GB/s": sweep / finest,
        "% of triad ": 100 * sweep / finest / peak,
        "setup ms": 1e3 * least(lambda: solver.update(A, fixed), 5),
    }
