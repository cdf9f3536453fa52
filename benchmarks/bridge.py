"""The bridge that the solver benchmarks share: 8 n x n x n cells of six tets, clamped at one end."""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

import continua as ct
from continua.linalg import BlockMatrix, LinearSolver
from continua.solids.elements.base import AssembledSystem
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.linear_tet import LinearTets
from continua.solids.solver_setup import attach_multigrid_geometry

YOUNG, DT = 2e6, 0.02


def bridge_body(n: int, solver: LinearSolver | None, young: float = YOUNG, **options: object) -> ct.SoftBody:
    """Return the clamped bridge."""
    material = ct.Corotated(young=young, poisson=0.3, density=1000.0)
    body = ct.SoftBody(ct.mesh.bridge(n), material=material, solver=solver, name="bridge", **options)
    body.pin(body.rest_positions[:, 0] < 1e-9)
    return body


def left_end(points: np.ndarray) -> np.ndarray:
    """Return 1 for the nodes of the clamped end."""
    return (points[:, 0] < points[:, 0].min() + 1e-9).astype(np.uint8)


def least(function: Callable[[], object], rounds: int = 20) -> float:
    """Return the least seconds of a function."""
    function()
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


class Stopwatch:
    """Adds up the seconds of some methods of an object."""

    def __init__(self, thing: object, *names: str) -> None:
        self.seconds = dict.fromkeys(names, 0.0)
        for name in names:
            setattr(thing, name, self._timed(name, getattr(thing, name)))

    def _timed(self, name: str, method: Callable) -> Callable:
        def call(*args: object) -> object:
            start = time.perf_counter()
            result = method(*args)
            self.seconds[name] += time.perf_counter() - start
            return result

        return call

    def take(self) -> dict[str, float]:
        """Return the seconds since the last call."""
        seconds, self.seconds = self.seconds, dict.fromkeys(self.seconds, 0.0)
        return seconds


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


def product_time(matrix: BlockMatrix) -> float:
    """Return the least seconds of one float64 product with the matrix."""
    x = np.random.default_rng(0).normal(size=(matrix.pattern.node_count, 3))
    out = np.zeros_like(x)
    return least(lambda: matrix.multiply(x, out), 40)


def triad(megabytes: float) -> float:
    """Return GB/s of a = b + s c over three arrays of together `megabytes`, as in STREAM, on all threads."""
    size = int(megabytes * 1e6 / 24)
    a, b, c = np.zeros(size), np.ones(size), np.ones(size)
    return 24e-9 * size / least(lambda: _triad(a, b, c, 3.0), 30)


@numba.njit(parallel=True, fastmath=True)
def _triad(a, b, c, s):
    for k in numba.prange(a.shape[0]):
        a[k] = b[k] + s * c[k]


def irregular(cells: tuple[int, int, int] = (20, 20, 20)) -> ct.TetMesh:
    """Return a block of 48,000 tets with displaced nodes, numbered at random: nothing regular to lean on."""
    box = ct.mesh.box((1.0, 1.0, 1.0), cells)
    rng = np.random.default_rng(0)
    inside = ((box.points > 1e-9) & (box.points < 1.0 - 1e-9)).all(axis=1)
    moved = 0.2 / np.array(cells) * rng.uniform(-1, 1, box.points.shape) * inside[:, None]
    order = rng.permutation(box.node_count)
    rank = np.empty(box.node_count, np.int64)
    rank[order] = np.arange(box.node_count)
    return ct.TetMesh((box.points + moved)[order], rank[box.tets])


def system(
    mesh: ct.TetMesh, *, order: int = 1, young: float = YOUNG, poisson: float = 0.3, contrast: float = 1.0
) -> tuple[BlockMatrix, np.ndarray, np.ndarray]:
    """Return the matrix of one step, gravity as right-hand side, and the clamped nodes."""
    elements = LinearTets(mesh) if order == 1 else BernsteinTets(mesh, order)
    attach_multigrid_geometry(elements)
    law = ct.Corotated(young=young, poisson=poisson)
    constants = np.array(law.element_constants(np.arange(mesh.element_count)))
    centers = mesh.points[mesh.tets].mean(axis=1)[:, 0]
    constants[centers > centers.mean(), :2] *= contrast
    elements.set_law(law, constants)
    elements.update(elements.rest_positions)
    matrix = BlockMatrix(elements.pattern)
    mass = elements.mass(np.full(mesh.element_count, 1000.0), False)
    rhs, zero = np.zeros_like(elements.rest_positions), np.zeros_like(elements.rest_positions)
    load = DT * np.add.reduceat(mass, elements.pattern.indptr[:-1])[:, None] * np.array([0.0, -9.81, 0.0])
    elements.assemble(AssembledSystem(matrix, rhs, mass, 1.0, DT * DT, DT, zero, load))
    return matrix, rhs, left_end(elements.rest_positions)


def solve_time(
    solver: LinearSolver, matrix: BlockMatrix, rhs: np.ndarray, fixed: np.ndarray, rounds: int = 3
) -> tuple[float, float, int]:
    """Return the least seconds of bringing the solver up to date and of solving from zero, and iterations."""
    solver.setup(matrix)
    update = least(lambda: solver.update(matrix, fixed), rounds)
    report = solver.solve(rhs, np.zeros_like(rhs))
    seconds = least(lambda: solver.solve(rhs, np.zeros_like(rhs)), rounds)
    return update, seconds, report.iterations if report.converged else -1
