"""Orders 2 and 3 from 5k to 60k nodes: multigrid over degrees and meshes against conjugate gradients."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.bridge import solve_time, system
from benchmarks.report import Result

RTOL = 1e-3
CELLS = {2: (5, 7, 10, 12, 15), 3: (3, 5, 6, 8, 10)}


def main(threads: int | None = None) -> Result:
    """Time cubes of growing size, update counted, from zero to 1e-3 (Weber 2015 compares so)."""
    ct.set_threads(threads if threads is not None else 2)
    rows: list[dict[str, object]] = []
    notes, least_ratio = [], np.inf
    for order, sizes in CELLS.items():
        counts, times, nodes = [], [], []
        for n in sizes:
            matrix, rhs, fixed = system(
                ct.mesh.box((1.0, 0.5, 0.5), (2 * n, n, n)), order=order, young=5e5, poisson=0.45
            )
            line: dict[str, object] = {"order": order, "nodes": len(rhs)}
            spent = {}
            for name, solver in {
                "PMultigrid": ct.PMultigrid(rtol=RTOL),
                "SSOR": ct.PCG(rtol=RTOL),
                "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
            }.items():
                update, solve, iterations = solve_time(solver, matrix, rhs, fixed)
                spent[name] = update + solve
                line[f"{name} ms"] = 1e3 * spent[name]
                line[f"{name} iterations"] = iterations
            ratio = spent["Jacobi"] / spent["PMultigrid"]
            line["times"] = ratio
            bar = 6.0 if len(rhs) >= 50_000 else 3.0 if len(rhs) >= 25_000 else None
            if bar is not None:
                least_ratio = min(least_ratio, ratio / bar)
                notes.append(
                    f"order {order}, {len(rhs)} nodes: {ratio:.1f} times Jacobi-PCG; bar {bar:g}: "
                    f"{'met' if ratio >= bar else 'not met'}"
                )
            counts.append(line["PMultigrid iterations"])
            times.append(spent["PMultigrid"])
            nodes.append(len(rhs))
            rows.append(line)
        growth = np.polyfit(np.log(nodes), np.log(times), 1)[0]
        notes.append(f"order {order}: iterations {counts}, time grows as (nodes)^{growth:.2f}")
    return Result("Orders 2 and 3, update and solve to 1e-3", rows, float(least_ratio), 1.0, notes)
