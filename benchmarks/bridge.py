"""The bridge of the solver benchmarks, 8 n x n x n cells of six tets clamped at one end, and its linear systems."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import prange

import continua as ct
from benchmarks.run import Run
from continua.linalg import BlockMatrix, LinearSolver, SolveReport
from continua.numerics import kernel_pair

YOUNG, DT = 2e6, 0.02


def bridge_body(n: int, solver: LinearSolver | None, law: type = ct.Corotated) -> ct.SoftBody:
    """Return the clamped bridge."""
    material = law(young=YOUNG, poisson=0.3, density=1000.0)
    body = ct.SoftBody(ct.mesh.bridge(n), material=material, solver=solver, name="bridge")
    body.pin(body.rest_positions[:, 0] < 1e-9)
    return body


def with_matrix(kind: type, **options: object) -> Any:
    """Return a solver of this kind whose attribute `matrix` is the matrix of the body that uses it."""

    class WithMatrix(kind):  # type: ignore[misc]
        matrix: BlockMatrix

        def setup(self, matrix: BlockMatrix) -> None:
            self.matrix = matrix
            super().setup(matrix)

    return WithMatrix(**options)


class Products:
    """Times single products with a matrix between steps, so that both see the same drift of the machine."""

    def __init__(self, matrix: BlockMatrix) -> None:
        self._matrix = matrix
        self._x = np.random.default_rng(0).normal(size=(matrix.pattern.node_count, 3))
        self._out = np.zeros_like(self._x)
        self.seconds: list[float] = []

    def time(self) -> None:
        """Time one product; the one before it brings the matrix into the cache, as an iteration would."""
        self._matrix.multiply(self._x, self._out)
        start = time.perf_counter()
        self._matrix.multiply(self._x, self._out)
        self.seconds.append(time.perf_counter() - start)

    @property
    def median(self) -> float:
        """The median seconds."""
        return float(np.median(self.seconds))


def product_time(run: Run, matrix: BlockMatrix) -> float:
    """Return the least seconds of one float64 product with the matrix."""
    x = np.random.default_rng(0).normal(size=(matrix.pattern.node_count, 3))
    out = np.zeros_like(x)
    return run.least(lambda: matrix.multiply(x, out), 40)


def triad(run: Run, megabytes: float) -> float:
    """Return GB/s of a = b + s c over three arrays of `megabytes` in total, as in STREAM, on all threads."""
    size = int(run.choose(0.1, megabytes) * 1e6 / 24)
    a, b, c = np.zeros(size), np.ones(size), np.ones(size)
    step = _triad.serial if run.quick else _triad.parallel
    return 24e-9 * size / run.least(lambda: step(a, b, c, 3.0), 30)


@kernel_pair
def _triad(a, b, c, s):
    for k in prange(a.shape[0]):
        a[k] = b[k] + s * c[k]


def irregular(cells: int = 20) -> ct.TetMesh:
    """Return a cube of 6 cells^3 tets with displaced nodes in random order, without any regularity to exploit."""
    box = ct.mesh.box((1.0, 1.0, 1.0), (cells, cells, cells))
    rng = np.random.default_rng(0)
    inside = ((box.points > 1e-9) & (box.points < 1.0 - 1e-9)).all(axis=1)
    moved = 0.2 / cells * rng.uniform(-1, 1, box.points.shape) * inside[:, None]
    order = rng.permutation(box.node_count)
    rank = np.empty(box.node_count, np.int64)
    rank[order] = np.arange(box.node_count)
    return ct.TetMesh((box.points + moved)[order], rank[box.tets])


class _Recorder:
    """A linear solver that keeps what it is given and solves nothing."""

    matrix: BlockMatrix
    rhs: np.ndarray
    fixed: np.ndarray

    def setup(self, matrix: BlockMatrix) -> None:
        self.matrix = matrix

    def update(self, _matrix: BlockMatrix, fixed: np.ndarray, *_projections: object) -> None:
        self.fixed = fixed.copy()

    def solve(self, rhs: np.ndarray, _x: np.ndarray, *_arguments: object, **_options: object) -> SolveReport:
        self.rhs = rhs.copy()
        return SolveReport(0, 0.0, True)


def system(
    mesh: ct.TetMesh, *, order: int = 1, young: float = YOUNG, poisson: float = 0.3, contrast: float = 1.0
) -> tuple[BlockMatrix, np.ndarray, np.ndarray]:
    """Return the matrix and the right-hand side of a body's first step under gravity, and its fixed nodes.

    Args:
        mesh: The mesh; its nodes of least x are clamped.
        order: Order of the elements.
        young: Young's modulus [Pa].
        poisson: Poisson's ratio.
        contrast: The half of larger x is stiffer by this factor.

    Returns:
        The matrix, the right-hand side, shape [n, 3], and 1 for every clamped node, shape [n].
    """
    recorder = _Recorder()
    law = ct.Corotated(young=young, poisson=poisson, density=1000.0)
    stiff = ct.Corotated(young=contrast * young, poisson=poisson, density=1000.0)
    centers = mesh.points[mesh.tets].mean(axis=1)[:, 0]
    parts = [] if contrast == 1.0 else [(centers > centers.mean(), stiff)]
    body = ct.SoftBody(mesh, material=law, parts=parts, order=order, solver=recorder, name="body")
    x = body.rest_positions[:, 0]
    body.pin(x < x.min() + 1e-9)
    ct.World([body], dt=DT).step()
    return recorder.matrix, recorder.rhs, recorder.fixed


def solve_time(
    run: Run, solver: LinearSolver, matrix: BlockMatrix, rhs: np.ndarray, fixed: np.ndarray, rounds: int = 3
) -> tuple[float, float, int]:
    """Return the least seconds of an update of the solver and of a solve from zero, and iterations.

    The iterations are -1 if the solver did not converge.
    """
    solver.setup(matrix)
    update = run.least(lambda: solver.update(matrix, fixed), rounds)
    report = solver.solve(rhs, np.zeros_like(rhs))
    seconds = run.least(lambda: solver.solve(rhs, np.zeros_like(rhs)), rounds)
    return update, seconds, report.iterations if report.converged else -1
