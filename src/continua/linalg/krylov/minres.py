"""MINRES: minimal residuals for symmetric indefinite systems, such as displacement and pressure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import block_kernels
from continua.linalg.krylov import minres_kernels as kernels
from continua.linalg.krylov import ssor_kernels
from continua.linalg.matrix import BlockMatrix
from continua.linalg.multigrid.multigrid import Multigrid, PMultigrid
from continua.linalg.saddle_point import SaddlePointMatrix
from continua.linalg.solver import SolveReport, check_limits, check_system
from continua.validation import array, choice, instance_of, shortened

__all__ = ["MINRES"]

_KINDS = {
    "none": kernels.NONE,
    "jacobi": kernels.JACOBI,
    "ssor": kernels.SSOR,
    "multigrid": kernels.EXTERNAL,
}
_RELAXATION = 1.0  # of SSOR, with which the preconditioner is least sensitive to the number of parts
_MARGIN = 0.9  # part of the tolerance at which the recurrence of the residual calls for the true one
_AGREEMENT = (
    0.1  # difference between recurrence and true residual, relative to the latter, that forces a restart
)
_PROGRESS = 0.5  # factor by which the true residual must fall between two restarts
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)  # times |K| |x| + |b|: what rounding leaves of a residual


class SsorParts(NamedTuple):
    """Parts of the rows of A in which SSOR sweeps, as the kernel takes them."""

    starts: NDArray[np.int64]
    inner: NDArray[np.int32]
    diagonal: NDArray[np.int32]


class _Residual(NamedTuple):
    """The true residual: its norm, what the tolerance applies to, and the size of the terms in both fields."""

    norm: float
    measure: float
    scales: tuple[float, float]
    at_rounding: bool


class MINRES:
    """Preconditioned minimal residuals (Paige and Saunders 1975) for [[A, B^T], [B, -C]], or for one symmetric matrix.

    The preconditioner is block diagonal: an approximation of A^-1, and the inverse of the diagonal `matrix.schur` that
    approximates the Schur complement. With "none", "jacobi" and "ssor" the whole iteration is one compiled function;
    with multigrid, each iteration is two compiled calls around a cycle.

    A solve converges only if the true residual b - K x, computed from the solution, passes: in the Euclidean norm
    relative to the right-hand side, and in each field relative to |K| |x| + |b|. If the residual of the recurrence and
    the true one disagree, the method restarts from the true one. Singular systems with a consistent right-hand side
    converge to a solution; with `nullspace` it is the one orthogonal to it.

    Args:
        rtol: Tolerance of the true residual.
        max_iterations: Limit of the iterations over all restarts.
        preconditioner: For A: "none", "jacobi", "ssor", "multigrid" (one V-cycle) or a `Multigrid` with other options.
        nullspace: Vectors that the matrix maps to zero, shape [k, size] or [size], zero where the first field is
            fixed: a constant pressure, for example.
    """

    def __init__(
        self,
        rtol: float = 1e-6,
        max_iterations: int = 2000,
        preconditioner: str | Multigrid = "jacobi",
        nullspace: NDArray[np.float64] | None = None,
    ) -> None:
        self.rtol, self.max_iterations = check_limits(rtol, max_iterations)
        self.multigrid: Multigrid | None = None
        if isinstance(preconditioner, Multigrid):
            self.multigrid, preconditioner = preconditioner, "multigrid"
        self.preconditioner = choice(preconditioner, "the preconditioner of MINRES", _KINDS)
        self.nullspace = None if nullspace is None else np.atleast_2d(array(nullspace, "nullspace"))
        if self.nullspace is not None and self.nullspace.ndim > 2:
            raise InputError(f"nullspace must be a vector or several, not {shortened(nullspace)}")
        self.reason = ""
        self.last: SolveReport | None = None
        self.restarts = 0
        self._own_multigrid = preconditioner == "multigrid" and self.multigrid is None
        self._matrix: SaddlePointMatrix | None = None

    def setup(self, matrix: SaddlePointMatrix | BlockMatrix) -> None:
        """Allocate the work vectors for matrices with this pattern, and prepare the preconditioner."""
        system = _with_two_fields(matrix)
        self._matrix = None
        p = system.pattern
        n, m, size = p.node_count, system.B.row_count, system.size
        self._null = _orthonormal(self.nullspace, size)
        self._V, self._Z, self._W = (np.zeros((2, size)) for _ in range(3))
        self._r, self._true = np.zeros(size), np.zeros(size)
        ssor = self.preconditioner == "ssor"
        self._y = np.zeros((n if ssor else 0, 3))
        self._inverse, self._jacobi = np.zeros((n, 6)), np.zeros((n, 6))
        self._scaled = np.zeros((n if ssor else 0, 6))
        self._schur_inverse = np.ones(m)
        chunks = -(-n // block_kernels.CHUNK) - (-m // block_kernels.CHUNK)
        self._partial = np.zeros((chunks, 2))
        self._state = np.zeros(kernels.STATE_SIZE)
        starts = ssor_kernels.part_starts(n, p.parallel)
        inner = np.zeros((n if ssor else 0, 2), np.int32)
        if ssor:
            ssor_kernels.split_rows.serial(p.indptr, p.indices, starts, inner)
        self._parts = SsorParts(starts, inner, p.diagonal)
        if self._own_multigrid:
            order = 1 if p.geometry is None else p.geometry.order
            self.multigrid = PMultigrid() if order > 1 else Multigrid()
        if self.multigrid is not None:
            self.multigrid.setup(system.A)

    def update(
        self,
        matrix: SaddlePointMatrix | BlockMatrix,
        fixed: NDArray[np.uint8] | None = None,
        projections: NDArray[np.float64] | None = None,
    ) -> None:
        """Use new values and constraints of the first field; see `LinearSolver.update`."""
        system = _with_two_fields(matrix)
        if len(self._r if hasattr(self, "_r") else ()) != system.size:
            raise InputError(f"call setup() with this matrix before update(): it has {system.size} unknowns")
        for name, values in (("A", system.A.blocks), ("B", system.B.values), ("C", system.C.data)):
            if not np.isfinite(values).all():
                raise InputError(f"{name} has values that are not finite; MINRES needs finite matrices")
        p = system.pattern
        fixed = np.zeros(p.node_count, np.uint8) if fixed is None else fixed
        check_system(system.A, fixed, projections)
        self._arrays = system.arrays(fixed, projections)
        self._kind = _KINDS[self.preconditioner]
        definite = system.A.invert_diagonal(fixed, projections, self._jacobi)
        self._inverse[:] = self._jacobi
        if self._kind == kernels.SSOR:
            ssor_kernels.diagonal_blocks.variant(p.parallel)(
                system.A.blocks, p.diagonal, fixed, _RELAXATION, self._parts.starts, self._scaled, self._inverse
            )  # fmt: skip
            if projections is not None:
                block_kernels.project_diagonal.variant(p.parallel)(
                    system.A.blocks, p.diagonal, fixed, projections, _RELAXATION, self._inverse, self._scaled
                )
        self._notes: tuple[str, ...] = ()
        if not definite and self._kind != kernels.NONE:
            self._kind = kernels.NONE
            self._notes = (
                "the diagonal of A is not positive definite; MINRES ran without a preconditioner for it",
            )
        elif self.multigrid is not None:
            self.multigrid.update(system.A, fixed, projections)
        self._set_schur(system)
        self._matrix = system

    def _set_schur(self, system: SaddlePointMatrix) -> None:
        """Set the inverse diagonal of the Schur complement."""
        if system.schur is not None:
            schur = system.schur
        elif self._kind == kernels.NONE:
            schur = np.ones(system.B.row_count)
        else:
            schur = np.empty(system.B.row_count)
            kernels.schur_diagonal.variant(system.pattern.parallel)(self._arrays, self._jacobi, schur)
            positive = schur > 0.0
            schur[~positive] = schur[positive].mean() if positive.any() else 1.0
        self._schur_inverse = 1.0 / schur

    def solve(
        self,
        rhs: NDArray[np.float64],
        x: NDArray[np.float64],
        tolerance_scale: NDArray[np.float64] | None = None,
        guess_directions: NDArray[np.float64] | None = None,
    ) -> SolveReport:
        """Solve K x = rhs in place, starting from x.

        Args:
            rhs: Right-hand side, shape [3 n + m], or [n, 3] for a matrix without a second field.
            x: Initial guess, and the solution; fixed components keep their values.
            tolerance_scale: A second load vector of that shape: the tolerance is relative to rhs and this one together.
            guess_directions: Not used.
        """
        b, solution, scale = self._checked(rhs, x, tolerance_scale)
        reference = _norm(np.concatenate([self._free(b), scale]))
        self.restarts = 0
        self._state[:] = 0.0
        self._least_scales = (0.0, 0.0)
        residual = self._measure(b, solution, reference)
        if reference == 0.0:  # relative to the residual and the terms of the initial guess
            reference, self._least_scales = residual.norm, residual.scales
            residual = self._measure(b, solution, reference)
        best, before, why = (residual, solution.copy()), np.inf, ""
        restart = True
        while residual.measure > self.rtol and not why:
            if restart:
                if residual.norm > best[0].norm:
                    solution[:] = best[1]
                    residual = self._measure(b, solution, reference)
                if residual.norm > _PROGRESS * before:
                    why = self._stagnation(residual)
                    break
                before = residual.norm
                self._r[:] = self._true
                self._state[kernels.RESUME] = kernels.START
            code = self._iterate(solution, reference, residual)
            if code == kernels.NOT_FINITE:
                self.last = SolveReport(self._iterations, -1.0, False, warnings=self._broken())
                return self.last
            residual = self._measure(b, solution, reference)
            restart = not _norm(self._true - self._r) <= _AGREEMENT * residual.norm
            self.restarts += restart and residual.measure > self.rtol
            if residual.norm < best[0].norm:
                best = (residual, solution.copy())
            if code == kernels.ITERATION_LIMIT:
                why = f"MINRES reached its limit of {self.max_iterations} iterations"
            elif code == kernels.LEAST_SQUARES:
                why = (
                    "the matrix is singular or nearly so, and the right-hand side is not in its range; "
                    "MINRES ended at a least-squares solution"
                )
            elif code == kernels.NOT_DEFINITE:
                why = "the preconditioner of MINRES is not positive definite"
        if restart and residual.measure > self.rtol and residual.norm > best[0].norm:
            residual, solution = best
        solution -= (self._null * solution).sum(axis=1) @ self._null if len(self._null) else 0.0
        converged = bool(residual.measure <= self.rtol)
        if not converged and why:
            why += f", at a residual of {residual.measure:.1e}; the tolerance is {self.rtol:g}"
        x[...] = solution.reshape(x.shape)
        notes = self._notes if converged or not why else (*self._notes, why)
        self.last = SolveReport(self._iterations, residual.measure, converged, warnings=notes)
        return self.last

    @property
    def _iterations(self) -> int:
        return int(self._state[kernels.ITERATION])

    def _checked(
        self, rhs: NDArray[np.float64], x: NDArray[np.float64], tolerance_scale: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return flat copies of the vectors; raise InputError if one does not fit or is not finite."""
        if self._matrix is None:
            raise InputError("call setup() and update() before solve()")
        size, n = self._matrix.size, self._matrix.pattern.node_count
        flat = []
        for name, vector in (("rhs", rhs), ("x", x), ("tolerance_scale", tolerance_scale)):
            if vector is None and name == "tolerance_scale":
                flat.append(np.zeros(0))
                continue
            given = array(vector, f"{name} of MINRES", finite=False)
            if not np.isfinite(given).all():
                raise InputError(f"{name} has values that are not finite; MINRES needs finite numbers")
            if given.shape != (size,) and not (size == 3 * n and given.shape == (n, 3)):
                raise InputError(f"{name} has shape {list(given.shape)}; the matrix needs [{size}]")
            flat.append(given.reshape(-1))
        if not isinstance(x, np.ndarray):
            raise InputError(f"x must be an array, which the solution is written to, not {shortened(x)}")
        return flat[0], flat[1], flat[2]

    def _free(self, b: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the right-hand side in the free directions."""
        assert self._matrix is not None
        kernel = kernels.true_residual.variant(self._matrix.pattern.parallel)
        kernel(self._arrays, b, np.zeros_like(b), self._true, self._partial)
        return self._true.copy()

    def _measure(self, b: NDArray[np.float64], x: NDArray[np.float64], reference: float) -> _Residual:
        """Compute the true residual of x."""
        assert self._matrix is not None
        kernel = kernels.true_residual.variant(self._matrix.pattern.parallel)
        squares = kernel(self._arrays, b, x, self._true, self._partial)
        first, second, *terms = (float(np.sqrt(square)) for square in squares)
        norm = float(np.hypot(first, second))
        scales = (max(terms[0], self._least_scales[0]), max(terms[1], self._least_scales[1]))
        pairs = ((norm, reference), (first, scales[0]), (second, scales[1]))
        measure = max(value / scale if scale > 0.0 else 0.0 for value, scale in pairs)
        return _Residual(norm, measure, scales, norm <= _ROUNDING * float(np.hypot(terms[0], terms[1])))

    def _iterate(self, x: NDArray[np.float64], reference: float, residual: _Residual) -> int:
        """Iterate until the kernel returns for another reason than the preconditioner; return that reason."""
        assert self._matrix is not None
        run = kernels.minres.variant(self._matrix.pattern.parallel)
        # from a zero guess |B| |x| says nothing yet: the true residual will tell
        second = residual.scales[1] if x.any() else np.inf
        goal = _MARGIN * self.rtol
        limits = np.array([goal * reference, goal * second, self.max_iterations])
        while True:
            code = run(
                self._arrays, self._parts, self._kind, self._inverse, self._scaled, self._schur_inverse, self._null,
                self._V, self._Z, self._W, x, self._r, self._y, limits, self._state, self._partial,
            )  # fmt: skip
            if code != kernels.APPLY_PRECONDITIONER:
                return int(code)
            self._apply_multigrid()

    def _apply_multigrid(self) -> None:
        """Set Z[1] to a multigrid cycle for V[1], in the first field."""
        assert self.multigrid is not None
        h = self.multigrid.hierarchy
        assert h is not None
        n = len(self._inverse)
        h.b[:n] = self._V[1, : 3 * n].reshape(n, 3)[h.order]
        h.cycle()
        self._Z[1, : 3 * n] = h.x[h.rank].reshape(-1)

    def _stagnation(self, residual: _Residual) -> str:
        """Return why the true residual does not fall any more."""
        along = float(np.sqrt(((self._null * self._true).sum(axis=1) ** 2).sum()))
        if along > _PROGRESS * residual.norm:
            return "the right-hand side has a part in the nullspace of the matrix, which no solution reaches"
        if residual.at_rounding:
            return "MINRES stagnated at the rounding level of double precision"
        return (
            "MINRES stagnated: the matrix is singular or nearly so and the right-hand side not in its range, "
            "or the preconditioner is not symmetric"
        )

    def _broken(self) -> tuple[str, ...]:
        return (*self._notes, "MINRES met numbers that are not finite and left x as it was")

    def __str__(self) -> str:
        text = f"MINRES(rtol={self.rtol:g}, max_iterations={self.max_iterations}), {self.preconditioner} preconditioner"
        if self._matrix is not None:
            n, m = self._matrix.pattern.node_count, self._matrix.B.row_count
            text += f", {self._matrix.size} unknowns ({n} nodes, {m} scalar dofs)"
        if self.last is not None:
            text += f", last solve: {self.last.iterations} iterations to {self.last.residual:.1e}"
        if self.multigrid is not None and self.multigrid.hierarchy is not None:
            text += f"\n{self.multigrid}"
        return text + (f"; {self.reason}" if self.reason else "")

    def __repr__(self) -> str:
        return f"MINRES(rtol={self.rtol:g}, preconditioner={self.preconditioner!r})"


def _with_two_fields(matrix: SaddlePointMatrix | BlockMatrix) -> SaddlePointMatrix:
    instance_of(matrix, (SaddlePointMatrix, BlockMatrix), "the matrix of MINRES")
    return SaddlePointMatrix(matrix) if isinstance(matrix, BlockMatrix) else matrix


def _norm(vector: NDArray[np.float64]) -> float:
    """Return the Euclidean norm; unlike that of BLAS, its bits do not depend on the number of threads."""
    return float(np.sqrt(np.square(vector).sum()))


def _orthonormal(vectors: NDArray[np.float64] | None, size: int) -> NDArray[np.float64]:
    """Return an orthonormal basis of the nullspace, shape [k, size]."""
    if vectors is None:
        return np.zeros((0, size))
    if vectors.ndim != 2 or vectors.shape[1] != size:
        raise InputError(f"nullspace must have shape [k, {size}], not {list(vectors.shape)}")
    if not np.isfinite(vectors).all():
        raise InputError("nullspace has values that are not finite")
    basis: list[NDArray[np.float64]] = []
    for vector in vectors:
        rest, length = vector.copy(), _norm(vector)
        for _ in range(2):
            for other in basis:
                rest -= (other * rest).sum() * other
        if _norm(rest) > 1e-10 * length:
            basis.append(rest / _norm(rest))
    return np.array(basis).reshape(-1, size)
