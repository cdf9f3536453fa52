"""Time to a residual of 1e-8, including the update for new values, against PyAMG and CHOLMOD."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

import continua as ct
from benchmarks.bridge import irregular, solve_time, system
from benchmarks.report import Result
from benchmarks.run import Run

RTOL = 1e-8


def rigid_modes(points: np.ndarray) -> np.ndarray:
    """Return the six rigid motions as columns, shape [3 n, 6]."""
    x = points - points.mean(axis=0)
    modes = np.zeros((len(x), 3, 6))
    modes[:, :, :3] = np.eye(3)
    for axis in range(3):
        modes[:, :, 3 + axis] = np.cross(np.eye(3)[axis], x)
    return modes.reshape(-1, 6)


def pyamg_time(
    run: Run, A: sparse.csr_array, b: np.ndarray, modes: np.ndarray, rtol: float = RTOL
) -> tuple[float, int]:
    """Return seconds of setup and solve by smoothed aggregation with rigid-body modes, and iterations."""
    import pyamg

    count: list[float] = []

    def solve() -> None:
        count.clear()
        levels = pyamg.smoothed_aggregation_solver(
            sparse.bsr_matrix(A, blocksize=(3, 3)), B=modes, max_coarse=300
        )
        levels.solve(b, tol=rtol, accel="cg", residuals=count)

    return run.least(solve, 2), len(count) - 1


def cholesky_time(run: Run, A: sparse.csr_array, b: np.ndarray) -> float:
    """Return seconds of a numeric factorisation and a solve by CHOLMOD, without the symbolic analysis."""
    import cvxopt
    from cvxopt import cholmod

    low = sparse.tril(A).tocoo()
    K = cvxopt.spmatrix(low.data.tolist(), low.row.tolist(), low.col.tolist(), A.shape)
    factor = cholmod.symbolic(K)

    def solve() -> None:
        cholmod.numeric(K, factor)
        cholmod.solve(factor, cvxopt.matrix(b))

    return run.least(solve, 1)


def main(run: Run) -> Result:
    """Time two bridges and an irregular cube."""
    run.set_threads(2)
    rows: list[dict[str, object]] = []
    notes, ratios = [], []
    small, large, cells = run.choose((1, 2, 3), (8, 16, 20))
    meshes = {
        f"bridge, n = {small}": ct.mesh.bridge(small),
        "irregular": irregular(cells),
        f"bridge, n = {large}": ct.mesh.bridge(large),
    }
    for name in run.cases(list(meshes)):
        mesh = meshes[name]
        matrix, rhs, fixed = system(mesh)
        update, solve, iterations = solve_time(run, ct.Multigrid(rtol=RTOL), matrix, rhs, fixed)
        ours = update + solve
        rows.append({"what": name, "solver": "Multigrid", "ms": 1e3 * ours, "iterations": iterations})
        free = np.repeat(fixed == 0, 3)
        A, b = matrix.to_scipy().tocsr()[free][:, free], rhs.ravel()[free]
        modes = rigid_modes(mesh.points)[free]
        run.stage(f"{name}, PyAMG")
        amg = run.peer("PyAMG", lambda A=A, b=b, modes=modes: pyamg_time(run, A, b, modes))
        if amg is not None:
            rows.append(
                {"what": name, "solver": "PyAMG SA", "ms": 1e3 * amg[0], "iterations": amg[1], "times": amg[0] / ours}
            )  # fmt: skip
            ratios.append(amg[0] / ours)
            notes.append(f"{name}: {ratios[-1]:.1f} times faster than PyAMG")
        if name.startswith("bridge") and not run.quick and not run.full and mesh.node_count > 20_000:
            notes.append(f"{name}: CHOLMOD only with --full")
            continue
        run.stage(f"{name}, CHOLMOD")
        direct = run.peer("CHOLMOD (cvxopt)", lambda A=A, b=b: cholesky_time(run, A, b))
        if direct is not None:
            rows.append({"what": name, "solver": "CHOLMOD", "ms": 1e3 * direct, "times": direct / ours})
            notes.append(
                f"{name}: {direct / ours:.1f} times faster than CHOLMOD's numeric factorisation and solve"
            )
    notes.append("ratio = PyAMG over Multigrid, the smallest")
    return Result("Update and solve to 1e-8", rows, min(ratios, default=None), 5.0, notes)
