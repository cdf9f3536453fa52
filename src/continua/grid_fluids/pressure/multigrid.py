"""Cut-cell multigrid for the pressure Poisson equation (after Weber, Mueller-Roemer, Stork and Fellner 2015).

Coarse cells are 2 x 2 (x 2) finer ones. Their equations are those of the same finite volumes on the coarser grid:
areas of faces are summed, distances doubled. Residuals are summed and corrections copied. This coarse matrix is half
the Galerkin product of these transfers, and has to be: with the product itself a cycle converges very slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.geometry.grid import padded_zeros
from continua.grid_fluids.geometry.regions import Regions
from continua.grid_fluids.pressure import poisson_kernels as kernels
from continua.grid_fluids.pressure import poisson_simd as simd
from continua.numerics import get_threads
from continua.pickling import KeepsArrayViews

__all__ = ["Level", "MultigridReport", "OperatorTerm", "PoissonMultigrid"]

_PARALLEL_FROM = 32768  # cells; below this starting threads costs more than it saves
_COARSE_SWEEPS = 4  # at least, before and after the correction of a coarse grid
_COARSEST_CELLS = 300
_COARSE_ITERATIONS = 400
_RESIDUAL_REPLACEMENT = (
    2e-3  # reduction at which a single-precision residual is recomputed: the first steps round most
)


@dataclass(frozen=True)
class MultigridReport:
    """Convergence of a solve: residuals relative to the right-hand side, the first one before any iteration."""

    residuals: tuple[float, ...]
    converged: bool

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return len(self.residuals) - 1

    @property
    def residual(self) -> float:
        """The last relative residual."""
        return self.residuals[-1]


class OperatorTerm(Protocol):
    """A symmetric positive semi-definite term of low rank that is added to the matrix."""

    def add_product(self, x: NDArray, y: NDArray) -> float:
        """Add its product with x to y; return the dot product of x with that product."""


class Level(KeepsArrayViews):
    """One grid of the hierarchy: face weights [3 arrays], Dirichlet terms, diagonal, and the vectors of a cycle."""

    def __init__(self, weights: Sequence[NDArray], dirichlet: NDArray) -> None:
        self.weights = tuple(weights)
        self.dirichlet = dirichlet
        self.shape: tuple[int, int, int] = dirichlet.shape
        self.dtype = dirichlet.dtype
        self.parallel = dirichlet.size >= _PARALLEL_FROM
        self.diagonal = np.empty_like(dirichlet)
        self.x = padded_zeros(dirichlet.shape, dirichlet.dtype)
        self.b = padded_zeros(dirichlet.shape, dirichlet.dtype)
        contiguous = all(a.flags.c_contiguous for a in (*self.weights, dirichlet))
        self.simd = dirichlet.dtype == np.float32 and dirichlet.shape[2] >= simd.WIDE and contiguous
        self.inverse = (
            padded_zeros(dirichlet.shape, dirichlet.dtype)
            if self.simd
            else np.zeros((0, 0, 0), dirichlet.dtype)
        )

    def update(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Recompute the diagonal of the cells in [low, high) after weights or Dirichlet terms changed."""
        parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
        kernels.diagonal.variant(parallel)(
            *self.weights, self.dirichlet, self.diagonal, self.inverse, low, high
        )

    def presmooth(self, count: int, below: Level | None) -> None:
        """Relax `count` times from zero, red then black; restrict the residual to the level `below`."""
        if self.simd:
            self._wavefront(count, 0, simd.FROM_ZERO, None, below)
            return
        half = kernels.red_black_half_sweep.variant(self.parallel)
        kernels.first_half_sweep.variant(self.parallel)(self.x, self.b, self.diagonal, 0)
        for number in range(1, 2 * count):
            half(self.x, self.b, *self.weights, self.diagonal, number % 2)
        if below is not None:
            kernels.restrict_residual.variant(self.parallel)(
                self.x, self.b, *self.weights, self.diagonal, below.b
            )

    def postsmooth(self, count: int, below: Level | None) -> None:
        """Add the correction of the level `below`, and relax `count` times, black then red."""
        if self.simd:
            self._wavefront(count, 1, simd.RELAX if below is None else simd.CORRECT, below, None)
            return
        if below is not None:
            kernels.prolong.variant(self.parallel)(below.x, self.x)
        half = kernels.red_black_half_sweep.variant(self.parallel)
        for number in range(1, 2 * count + 1):
            half(self.x, self.b, *self.weights, self.diagonal, number % 2)

    def _wavefront(
        self, count: int, colour: int, start_mode: int, above: Level | None, below: Level | None
    ) -> None:
        """Relax `count` times, with as many sweeps as possible in one pass over memory."""
        run = simd.smooth.variant(self.parallel)
        none = np.zeros((0, 0, 0), self.dtype)
        x, b, *weights, inverse, d = self.as_planes(
            self.x, self.b, *self.weights, self.inverse, self.diagonal
        )
        slabs = max(1, min(get_threads(), x.shape[0] // simd.MIN_SLAB_PLANES)) if self.parallel else 1
        for first in range(0, 2 * count, simd.MAX_HALF_SWEEPS):
            steps = min(2 * count - first, simd.MAX_HALF_SWEEPS)
            up = above.as_planes(above.x)[0] if above is not None and first == 0 else none
            down = below.as_planes(below.b)[0] if below is not None and first + steps == 2 * count else none
            run(
                x,
                b,
                *weights,
                inverse,
                colour,
                steps,
                start_mode if first == 0 else simd.RELAX,
                up,
                d,
                down,
                slabs,
            )

    def as_planes(self, *arrays: NDArray) -> list[NDArray]:
        """Return arrays of the level; those of a plane grid with their rows as planes."""
        if self.shape[0] > 1:
            return list(arrays)
        across = [self.weights[1] if a is self.weights[0] else a for a in arrays]
        return [a.reshape(a.shape[1], 1, a.shape[2]) for a in across]

    def apply(self, x: NDArray, y: NDArray, parts: NDArray[np.float64]) -> float:
        """Set y = A x, both made by `padded_zeros`; return x . y, summed in a fixed order."""
        if self.simd:
            x, y, *weights, dirichlet = self.as_planes(x, y, *self.weights, self.dirichlet)
            simd.apply.variant(self.parallel)(x, *weights, dirichlet, y, parts, kernels.CHUNK)
        else:
            kernels.apply.variant(self.parallel)(x, *self.weights, self.diagonal, y, parts)
        return ordered_sum(parts)

    @property
    def bytes(self) -> int:
        """Memory of the level."""
        return sum(
            a.nbytes for a in (*self.weights, self.dirichlet, self.diagonal, self.inverse, self.x, self.b)
        )


def _coarse_shape(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple((n + 1) // 2 for n in shape)


class PoissonMultigrid(KeepsArrayViews):
    """Multigrid solver for Poisson and Helmholtz equations on a grid with partly open faces.

    Args:
        weights: Open fractions of the faces across the three array axes, 0 at the sides of the box; kept, not copied.
        dirichlet: Terms added to the diagonal by Dirichlet conditions, for instance twice the area of an open side;
            shape of the cells.
        coarse_dirichlet: The same for the coarser grids; `dirichlet` by default. A free surface has its exact
            distance on the finest grid only.
        mass: Zeroth-order term added to the diagonal, summed on coarser grids.
        smoothing: Red-black Gauss-Seidel sweeps before and after the correction of the finest grid; coarser ones get
            twice as many, up to four, or as many if they are more.
        levels: Largest number of grids.

    Attributes:
        extra_term: Term added to the matrix on the finest grid; conjugate gradients include it, cycles do not.
    """

    regions: Regions
    _coarsest_regions: Regions | None

    def __init__(
        self,
        weights: Sequence[NDArray],
        dirichlet: NDArray,
        *,
        coarse_dirichlet: NDArray | None = None,
        mass: NDArray | None = None,
        smoothing: int = 2,
        levels: int = 32,
    ) -> None:
        if smoothing < 1:
            raise InputError(f"multigrid needs at least one smoothing sweep, not {smoothing}")
        self.smoothing = smoothing
        self.extra_term: OperatorTerm | None = None
        self._plane = dirichlet.shape[0] == 1
        self._mass = [mass]
        self._coarse_dirichlet = dirichlet if coarse_dirichlet is None else coarse_dirichlet
        self.levels = [Level(weights, dirichlet if mass is None else dirichlet + mass)]
        self._add_levels(levels)
        self.update(np.zeros(3, np.int64), np.array(dirichlet.shape))
        self._work: tuple[NDArray, ...] = ()

    def _add_levels(self, depth: int) -> None:
        """Allocate coarser grids until one is small."""
        while depth > len(self.levels) and np.prod(self.levels[-1].shape) > _COARSEST_CELLS:
            dtype, shape = self.levels[0].dtype, _coarse_shape(self.levels[-1].shape)
            faces = [padded_zeros([n + (a == b) for b, n in enumerate(shape)], dtype) for a in range(3)]
            self._mass.append(None if self._mass[0] is None else np.zeros(shape, dtype))
            self.levels.append(Level(faces, np.zeros(shape, dtype)))

    def update(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Update all levels after weights or Dirichlet terms changed in the cells [low, high)."""
        low, high = low.astype(np.int64), high.astype(np.int64)
        for number, level in enumerate(self.levels):
            if number > 0:
                self._coarsen(number, low, high)
            low, high = np.maximum(low - 1, 0), np.minimum(high + 1, level.shape)
            level.update(low, high)
            halves = np.array([1 if self._plane else 2, 2, 2])
            low, high = low // halves, -(-high // halves)
        self.regions = Regions(self.levels[0].weights, self.levels[0].dirichlet)
        last = self.levels[-1]
        self._coarsest_regions = Regions(last.weights, last.dirichlet) if len(self.levels) > 1 else None

    def _coarsen(self, number: int, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Set the cells [low, high) of a coarser level from the next finer one."""
        fine, level = self.levels[number - 1], self.levels[number]
        parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
        for axis in range(3):
            if not (self._plane and axis == 0):
                last = high + (np.arange(3) == axis)
                kernels.coarsen_faces.variant(parallel)(
                    fine.weights[axis], axis, self._plane, level.weights[axis], low, last
                )
        above = self._coarse_dirichlet if number == 1 else self._dirichlet(number - 1)
        sum_up = kernels.coarsen_cells.variant(parallel)
        sum_up(above, 0.5, self._plane, level.dirichlet, low, high)
        mass, finer = self._mass[number], self._mass[number - 1]
        if mass is not None and finer is not None:
            sum_up(finer, 1.0, self._plane, mass, low, high)
            window = tuple(slice(int(a), int(b)) for a, b in zip(low, high))
            level.dirichlet[window] += mass[window]

    def _dirichlet(self, number: int) -> NDArray:
        """Return the Dirichlet terms of a level, without the mass."""
        mass = self._mass[number]
        return self.levels[number].dirichlet if mass is None else self.levels[number].dirichlet - mass

    @property
    def bytes(self) -> int:
        """Memory of all levels and of the vectors of a solve."""
        return sum(level.bytes for level in self.levels) + sum(a.nbytes for a in self._work)

    def v_cycle(self) -> None:
        """Replace the finest `x` by an approximate solution for the finest `b`: one symmetric V-cycle from zero."""
        *upper, last = self.levels
        if not upper:
            last.presmooth(self.smoothing, None)
            last.postsmooth(self.smoothing, None)
            return
        coarse = max(self.smoothing, min(2 * self.smoothing, _COARSE_SWEEPS))
        sweeps = [self.smoothing, *(len(upper) - 1) * [coarse]]
        for (level, below), count in zip(pairwise(self.levels), sweeps, strict=True):
            level.presmooth(count, below)
        assert self._coarsest_regions is not None
        self._coarsest_regions.remove_mean(last.b)
        kernels.solve_coarsest(last.x, last.b, *last.weights, last.diagonal, 1e-6, _COARSE_ITERATIONS)
        for number in range(len(upper) - 1, -1, -1):
            upper[number].postsmooth(sweeps[number], self.levels[number + 1])

    def solve(
        self,
        b: NDArray,
        x: NDArray[np.float64],
        *,
        rtol: float = 1e-6,
        max_iterations: int = 60,
        accelerate: bool = True,
    ) -> MultigridReport:
        """Improve `x` (double precision, shape of the cells) until |b - A x| <= rtol |b|.

        The mean of `b` over each closed region is subtracted, so that the singular equations are solvable.

        Args:
            b: Right-hand side; 0 in solid cells.
            x: The initial guess, and the result.
            rtol: Tolerance of the residual, relative to the right-hand side.
            max_iterations: Largest number of iterations, one V-cycle each.
            accelerate: Use V-cycles as the preconditioner of conjugate gradients, instead of plain V-cycles.
        """
        fine = self.levels[0]
        if not self._work:
            chunks = -(-fine.shape[0] * fine.shape[1] // kernels.CHUNK)
            self._work = (
                padded_zeros(fine.shape, fine.dtype),
                padded_zeros(fine.shape, fine.dtype),
                np.empty(chunks),
            )
        parts = self._work[2]
        b = np.array(b, dtype=fine.dtype)
        self.regions.remove_mean(b)
        kernels.dot_products.variant(fine.parallel)(b, b, parts)
        scale = float(np.sqrt(ordered_sum(parts)))
        if not np.isfinite(scale):
            return MultigridReport((np.inf,), False)
        if scale == 0.0:
            x[:] = 0.0
            return MultigridReport((0.0,), True)
        if x.any():
            kernels.clear_isolated.variant(fine.parallel)(x, *fine.weights, fine.dirichlet)
            history = [self._residual_norm(b, x) / scale]
        else:
            fine.b[:], history = b, [1.0]
        run = self._pcg if accelerate else self._iterate_cycles
        while history[-1] > rtol and len(history) <= max_iterations:
            before = history[-1]
            run(b, x, history, scale, rtol, max_iterations)
            if not history[-1] < 0.9 * before:  # stopped by rounding
                break
        self.regions.remove_mean(x)
        return MultigridReport(tuple(history), history[-1] <= rtol)

    def _residual_norm(self, b: NDArray, x: NDArray) -> float:
        """Put the residual into the finest right-hand side, and return its norm."""
        fine, parts = self.levels[0], self._work[2]
        kernels.residual.variant(fine.parallel)(x, b, *fine.weights, fine.diagonal, fine.b, parts)
        if self.extra_term is not None:
            product = np.zeros_like(x)
            self.extra_term.add_product(x, product)
            fine.b -= product.astype(fine.dtype)
            kernels.dot_products.variant(fine.parallel)(fine.b, fine.b, parts)
        return float(np.sqrt(ordered_sum(parts)))

    def _iterate_cycles(
        self, b: NDArray, x: NDArray, history: list[float], scale: float, rtol: float, max_iterations: int
    ) -> None:
        while history[-1] > rtol and len(history) <= max_iterations:
            self.v_cycle()
            x += self.levels[0].x
            history.append(self._residual_norm(b, x) / scale)
            if len(history) > 2 and history[-1] > 0.9 * history[-3]:  # the first cycle may increase it
                break

    def _pcg(
        self, b: NDArray, x: NDArray, history: list[float], scale: float, rtol: float, max_iterations: int
    ) -> None:
        """Conjugate gradients from the residual in the finest `b`; ends with the true residual there."""
        fine = self.levels[0]
        p, q, parts = self._work
        real = fine.dtype.type
        rho, start = 0.0, history[-1]
        replace = fine.dtype == np.float32 and rtol < 0.1 * _RESIDUAL_REPLACEMENT * start
        while history[-1] > rtol and len(history) <= max_iterations:
            self.regions.remove_mean(fine.b)
            self.v_cycle()
            kernels.dot_products.variant(fine.parallel)(fine.x, fine.b, parts)
            before, rho = rho, ordered_sum(parts)
            beta = rho / before if before > 0.0 else 0.0
            if before > 0.0:
                kernels.cg_direction.variant(fine.parallel)(p, fine.x, real(beta))
            else:
                p[:] = fine.x
            curvature = fine.apply(p, q, parts)
            if self.extra_term is not None:
                curvature += self.extra_term.add_product(p, q)
            if not (curvature > 0.0 and rho > 0.0):
                break
            kernels.cg_update.variant(fine.parallel)(x, fine.b, p, q, real(rho / curvature), parts)
            history.append(float(np.sqrt(ordered_sum(parts))) / scale)
            if replace and history[-1] < _RESIDUAL_REPLACEMENT * start:
                history[-1], replace = self._residual_norm(b, x) / scale, False
        history[-1] = self._residual_norm(b, x) / scale

    def __repr__(self) -> str:
        sizes = ", ".join("x".join(str(n) for n in level.shape) for level in self.levels)
        return f"<PoissonMultigrid: {len(self.levels)} levels ({sizes}), {self.smoothing}+{self.smoothing} sweeps>"


def ordered_sum(parts: NDArray[np.float64]) -> float:
    """Sum strictly from first to last."""
    return float(np.cumsum(parts)[-1])
