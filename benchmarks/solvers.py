"""All solvers over the size of a body: update and solve of a step from zero, and where multigrid begins to pay."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.bridge import least, product_time, solve_time, system
from benchmarks.multigrid_vs_amg import cholesky_time, pyamg_time, rigid_modes
from benchmarks.report import Result
from continua.linalg import BinMatrix

RTOL = 1e-4


def main(threads: int | None = None) -> Result:
    """Time the bridge from n = 2 to 16."""
    ct.set_threads(threads if threads is not None else 2)
    rows: list[dict[str, object]] = []
    ratio = np.nan
    for n in (2, 4, 6, 8, 12, 16):
        matrix, rhs, fixed = system(ct.mesh.bridge(n))
        line: dict[str, object] = {"nodes": len(rhs)}
        spent = {}
        solvers = {
            "Multigrid": ct.Multigrid(rtol=RTOL),
            "SSOR": ct.PCG(rtol=RTOL),
            "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
            "Merged": ct.MergedPCG(rtol=RTOL),
        }
        if n <= 6:
            solvers["Direct"] = ct.Direct()
        for name, solver in solvers.items():
            update, solve, _ = solve_time(solver, matrix, rhs, fixed, 2 if name == "Direct" else 5)
            if name == "Direct":  # it keeps its factor: count one

                def anew(
                    solver: ct.Direct = solver, matrix: object = matrix, fixed: np.ndarray = fixed
                ) -> None:
                    solver.setup(matrix)  # type: ignore[arg-type]
                    solver.update(matrix, fixed)  # type: ignore[arg-type]

                update = least(anew, 1)
            spent[name] = update + solve
            line[f"{name} ms"] = 1e3 * spent[name]
        if n <= 8:  # strangers, for honesty
            free = np.repeat(fixed == 0, 3)
            A, b = matrix.to_scipy().tocsr()[free][:, free], rhs.ravel()[free]
            modes = rigid_modes(ct.mesh.bridge(n).points)[free]
            line["PyAMG ms"] = 1e3 * pyamg_time(A, b, modes, RTOL)[0]
            line["CHOLMOD ms"] = 1e3 * cholesky_time(A, b)
        rows.append(line)
        ratio = spent["Jacobi"] / spent["Multigrid"]
    bins = BinMatrix.from_matrix(matrix)
    x, out = np.ones_like(rhs), np.zeros_like(rhs)
    binned = least(lambda: bins.multiply(x, out)) / product_time(matrix)
    notes = [f"a product in bins takes {binned:.2f} times one in block rows, padding {bins.overhead:.1%}"]
    return Result("Update and solve of a step to 1e-4, from zero", rows, float(ratio), None, notes)
