"""Time to a residual of 1e-8, with the hierarchy or factor made for the new values, against PyAMG and Cholesky."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

import continua as ct
from benchmarks.bridge import irregular, least, solve_time, system
from benchmarks.report import Result

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
    A: sparse.csr_array, b: np.ndarray, modes: np.ndarray, rtol: float = RTOL
) -> tuple[float, int]:
    """Return seconds of setup and solve by smoothed aggregation with rigid-body modes, and iterations."""
    import pyamg

    count: list[float] = []

    def run() -> None:
        count.clear()
        levels = pyamg.smoothed_aggregation_solver(
            sparse.bsr_matrix(A, blocksize=(3, 3)), B=modes, max_coarse=300
        )
        levels.solve(b, tol=rtol, accel="cg", residuals=count)

    return least(run, 2), len(count) - 1


def cholesky_time(A: sparse.csr_array, b: np.ndarray) -> float:
    """Return seconds of a numeric factorisation and a solve by CHOLMOD; the order of elimination is known."""
    import cvxopt
    from cvxopt import cholmod

    low = sparse.tril(A).tocoo()
    K = cvxopt.spmatrix(low.data.tolist(), low.row.tolist(), low.col.tolist(), A.shape)
    factor = cholmod.symbolic(K)

    def run() -> None:
        cholmod.numeric(K, factor)
        cholmod.solve(factor, cvxopt.matrix(b))

    return least(run, 1)


def main(threads: int | None = None) -> Result:
    """Time n = 8, n = 16 and an irregular block."""
    ct.set_threads(threads if threads is not None else 2)
    rows: list[dict[str, object]] = []
    notes, ratios = [], []
    meshes = {
        "bridge, n = 8": ct.mesh.bridge(8),
        "irregular": irregular(),
        "bridge, n = 16": ct.mesh.bridge(16),
    }
    for name, mesh in meshes.items():
        matrix, rhs, fixed = system(mesh)
        update, solve, iterations = solve_time(ct.Multigrid(rtol=RTOL), matrix, rhs, fixed)
        ours = update + solve
        free = np.repeat(fixed == 0, 3)
        A = matrix.to_scipy().tocsr()[free][:, free]
        b = rhs.ravel()[free]
        theirs, count = pyamg_time(A, b, rigid_modes(mesh.points)[free])
        rows.append(
            {"what": name, "solver": "Multigrid", "ms": 1e3 * ours, "iterations": iterations, "times": 1.0}
        )
        rows.append(
            {
                "what": name,
                "solver": "PyAMG SA",
                "ms": 1e3 * theirs,
                "iterations": count,
                "times": theirs / ours,
            }
        )
        ratios.append(theirs / ours)
        direct = cholesky_time(A, b)
        rows.append({"what": name, "solver": "CHOLMOD", "ms": 1e3 * direct, "times": direct / ours})
        notes.append(
            f"{name}: {theirs / ours:.1f} times faster than PyAMG, {direct / ours:.1f} than CHOLMOD's numeric step"
        )
    return Result("Update and solve to 1e-8", rows, min(ratios), 5.0, notes)
