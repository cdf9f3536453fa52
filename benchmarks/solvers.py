"""All linear solvers over the size of a body: update and solve of a step from zero."""

from __future__ import annotations

import numpy as np

import continua as ct
from benchmarks.bridge import product_time, solve_time, system
from benchmarks.multigrid_vs_amg import cholesky_time, pyamg_time, rigid_modes
from benchmarks.report import Result
from benchmarks.run import Run
from continua.linalg import BlockMatrix, SlicedEllMatrix

RTOL = 1e-4


def main(run: Run) -> Result:
    """Time bridges of growing size."""
    run.set_threads(2)
    rows: list[dict[str, object]] = []
    ratio = 0.0
    for n in run.cases(run.choose((2,), (2, 4, 6, 8, 12, 16)), "n = {}".format):
        mesh = ct.mesh.bridge(n)
        matrix, rhs, fixed = system(mesh)
        solvers = {
            "Multigrid": ct.Multigrid(rtol=RTOL),
            "SSOR": ct.PCG(rtol=RTOL),
            "Jacobi": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
            "Merged": ct.MergedPCG(rtol=RTOL),
        }
        spent = {name: sum(solve_time(run, s, matrix, rhs, fixed, 5)[:2]) for name, s in solvers.items()}
        # elements of order 2 that are twice as wide have the same nodes
        coarse = system(ct.mesh.bridge(n // 2), order=2)
        for name, solver in {
            "PMultigrid, order 2": ct.PMultigrid(rtol=RTOL),
            "Jacobi, order 2": ct.PCG(rtol=RTOL, preconditioner="jacobi"),
        }.items():
            spent[name] = sum(solve_time(run, solver, *coarse, 3)[:2])
        if n <= 8:
            spent["Direct"] = _direct_time(run, matrix, rhs, fixed)
        if n <= run.choose(2, 8, 12):
            free = np.repeat(fixed == 0, 3)
            A, b = matrix.to_scipy().tocsr()[free][:, free], rhs.ravel()[free]
            modes = rigid_modes(mesh.points)[free]
            amg = run.peer("PyAMG", lambda A=A, b=b, modes=modes: pyamg_time(run, A, b, modes, RTOL)[0])
            cholesky = run.peer("CHOLMOD (cvxopt)", lambda A=A, b=b: cholesky_time(run, A, b))
            spent |= {} if amg is None else {"PyAMG": amg}
            spent |= {} if cholesky is None else {"CHOLMOD": cholesky}
        rows.append({"nodes": len(rhs), **{f"{name} ms": 1e3 * seconds for name, seconds in spent.items()}})
        ratio = spent["Jacobi"] / spent["Multigrid"]
    bins = SlicedEllMatrix.from_matrix(matrix)
    x, out = np.ones_like(rhs), np.zeros_like(rhs)
    binned = run.least(lambda: bins.multiply(x, out)) / product_time(run, matrix)
    notes = [
        f"a product in bins takes {binned:.2f} times one in block rows, padding {bins.overhead:.1%}",
        "ratio = Jacobi-PCG over Multigrid at the largest size",
    ]
    return Result("Update and solve of a step to 1e-4, from zero", rows, float(ratio), None, notes)


def _direct_time(run: Run, matrix: BlockMatrix, rhs: np.ndarray, fixed: np.ndarray) -> float:
    """Return seconds of a factorisation, which the solver reuses while the matrix is unchanged, and a solve."""
    solver = ct.Direct()

    def solve() -> None:
        solver.setup(matrix)
        solver.update(matrix, fixed)
        solver.solve(rhs, np.zeros_like(rhs))

    return run.least(solve, 1)
