"""All solvers over the size of a body: update and solve of a step from zero, and where multigrid begins to pay."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.bridge import least, product_time, solve_time, system
from benchmarks.multigrid_vs_amg import cholesky_time, pyamg_time, rigid_modes
from benchmarks.report import Result
from continua.linalg import BlockMatrix, SlicedEllMatrix

RTOL = 1e-4


def main(threads: int | None = None) -> Result:
    """Time the bridge from n = 2 to 16."""
    ct.set_threads(threads if threads is not None else 2)
    rows: list[dict[str, object]] = []
    ratio = np.nan
    for n in (2, 4, 6, 8, 12, 16):
        matrix, rhs, fixed = system(ct.mesh.bridge(n))
        solvers = {
            "Multigrid": ct.Multigrid(rtol=RTOL),
            "SSOR": ct.PCG(rtol=RTOL),
            "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
            "Merged": ct.MergedPCG(rtol=RTOL),
        }
        spent = {name: sum(solve_time(s, matrix, rhs, fixed, 5)[:2]) for name, s in solvers.items()}
        # twice as wide elements of order 2 have the same nodes
        coarse = system(ct.mesh.bridge(n // 2), order=2)
        for name, solver in {
            "PMultigrid, order 2": ct.PMultigrid(rtol=RTOL),
            "Jacobi, order 2": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
        }.items():
            spent[name] = sum(solve_time(solver, *coarse, 3)[:2])
        if n <= 8:
            spent["Direct"] = _direct_time(matrix, rhs, fixed)
        if n <= 12:  # strangers, for honesty
            free = np.repeat(fixed == 0, 3)
            A, b = matrix.to_scipy().tocsr()[free][:, free], rhs.ravel()[free]
            modes = rigid_modes(ct.mesh.bridge(n).points)[free]
            spent["PyAMG"] = pyamg_time(A, b, modes, RTOL)[0]
            spent["CHOLMOD"] = cholesky_time(A, b)
        rows.append({"nodes": len(rhs), **{f"{name} ms": 1e3 * seconds for name, seconds in spent.items()}})
        ratio = spent["Jacobi"] / spent["Multigrid"]
    bins = SlicedEllMatrix.from_matrix(matrix)
    x, out = np.ones_like(rhs), np.zeros_like(rhs)
    binned = least(lambda: bins.multiply(x, out)) / product_time(matrix)
    notes = [f"a product in bins takes {binned:.2f} times one in block rows, padding {bins.overhead:.1%}"]
    return Result("Update and solve of a step to 1e-4, from zero", rows, float(ratio), None, notes)


def _direct_time(matrix: BlockMatrix, rhs: np.ndarray, fixed: np.ndarray) -> float:
    """Return seconds of a factorisation, which the solver would keep while nothing changes, and a solve."""
    solver = ct.Direct()

    def anew() -> None:
        solver.setup(matrix)
        solver.update(matrix, fixed)
        solver.solve(rhs, np.zeros_like(rhs))

    return least(anew, 1)
