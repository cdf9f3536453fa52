"""A step of the bridge under the linear law against one product with its matrix; and the bandwidth reached."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.bridge import DT, Products, bridge_body, triad, with_matrix
from benchmarks.report import Result, against
from benchmarks.run import Run

RTOL, BAR = 1e-3, 14.0


def main(run: Run) -> Result:
    """Let bridges of three sizes swing with a constant matrix."""
    run.set_threads(2)
    rows = [_case(run, n) for n in run.cases(run.choose((2,), (4, 8, 16)), "n = {}".format)]
    spmv = float(str(rows[-1]["in SpMV"]))
    notes = [
        against(f"n = {rows[-1]['n']}, SpMV per step", spmv, BAR, at_most=True),
        f"ratio = one product with the matrix over a step, n = {rows[-1]['n']}",
    ]
    return Result(
        "A step with a constant matrix, to 1e-3 from the warm start", rows, 1.0 / spmv, 1.0 / BAR, notes
    )


def _case(run: Run, n: int) -> dict[str, object]:
    solver = with_matrix(ct.Multigrid, rtol=RTOL)
    body = bridge_body(n, solver, ct.Linear)
    world = ct.World([body], dt=DT)
    A = solver.matrix
    products = Products(A)
    seconds, iterations = [], []
    for _ in run.steps(run.choose(6, 60), part=0.7):
        start = time.perf_counter()
        report = world.step()[0]
        seconds.append(time.perf_counter() - start)
        iterations.append(report.iterations)
        products.time()
    # iterations differ from step to step, so the mean; without the slowest tenth, which other programs disturb
    late = np.sort(seconds[5:] if len(seconds) > 5 else seconds)
    middle = float(np.mean(late[: max(1, len(late) - len(seconds) // 10)]))
    p = A.pattern
    x = body.rest_positions[:, 0]
    fixed = (x < x.min() + 1e-9).astype(np.uint8)
    product = products.median
    h = solver.hierarchy
    cycle = run.least(h.cycle)
    finest = cycle - run.least(lambda: h.cycle(1))  # sweeps before and after, and transfers
    size = (p.block_count * 76 + 48 * p.node_count) * 1e-9
    sweep = (2 * h.finest.nbytes + 290 * p.node_count) * 1e-9
    peak = triad(run, max(1.0, 1e3 * size))
    return {
        "n": n,
        "ms per step": 1e3 * middle,
        "in SpMV": middle / product,
        "steps/s": 1.0 / middle,
        "iterations": float(np.mean(iterations)),
        "SpMV ms": 1e3 * product,
        "cycle in SpMV": cycle / product,
        "SpMV GB/s": size / product,
        "SpMV % of triad": 100 * size / product / peak,
        "smoother GB/s": sweep / max(finest, 1e-9),
        "smoother % of triad": 100 * sweep / max(finest, 1e-9) / peak,
        "setup ms": 1e3 * run.least(lambda: solver.update(A, fixed), 5),
    }
