"""Orders 2 and 3: multigrid over degrees and meshes against conjugate gradients, from 5,000 to 60,000 nodes."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.bridge import solve_time, system
from benchmarks.report import Result, against
from benchmarks.run import Run

RTOL = 1e-3
CELLS = {2: (5, 7, 10, 12, 15), 3: (3, 5, 6, 8, 10)}


def main(run: Run) -> Result:
    """Time cuboids of growing size, with the update, from zero to 1e-3 (as Weber 2015 compares)."""
    run.set_threads(2)
    rows: list[dict[str, object]] = []
    notes: list[str] = []
    cells = run.choose({2: (2,), 3: (1,)}, CELLS)
    cases = [(order, n) for order, sizes in cells.items() for n in sizes]
    found: dict[int, list[tuple[int, float, int]]] = {order: [] for order in cells}
    ratio = 0.0
    for order, n in run.cases(
        cases, lambda case: f"order {case[0]}, {2 * case[1]} x {case[1]} x {case[1]} cells"
    ):
        box = ct.mesh.box((1.0, 0.5, 0.5), (2 * n, n, n))
        matrix, rhs, fixed = system(box, order=order, young=5e5, poisson=0.45)
        line: dict[str, object] = {"order": order, "nodes": len(rhs)}
        spent = {}
        for name, solver in {
            "PMultigrid": ct.PMultigrid(rtol=RTOL),
            "SSOR": ct.PCG(rtol=RTOL),
            "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
        }.items():
            update, solve, iterations = solve_time(run, solver, matrix, rhs, fixed)
            spent[name] = update + solve
            line[f"{name} ms"] = 1e3 * spent[name]
            line[f"{name} iterations"] = iterations
            if name == "PMultigrid":
                found[order].append((len(rhs), spent[name], iterations))
        ratio = spent["Jacobi"] / spent["PMultigrid"]
        line["times"] = ratio
        bar = 6.0 if len(rhs) >= 50_000 else 3.0 if len(rhs) >= 25_000 else None
        if bar is not None:
            notes.append(
                against(f"order {order}, {len(rhs)} nodes, times faster than Jacobi-PCG", ratio, bar)
            )
        rows.append(line)
    for order, entries in found.items():
        if len(entries) > 1:
            nodes, times, counts = zip(*entries, strict=True)
            growth = np.polyfit(np.log(nodes), np.log(times), 1)[0]
            notes.append(f"order {order}: iterations {list(counts)}, time grows as (nodes)^{growth:.2f}")
    notes.append("ratio = Jacobi-PCG over PMultigrid, the last case")
    return Result("Orders 2 and 3, update and solve to 1e-3", rows, ratio, None, notes)
