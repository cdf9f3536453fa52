"""The cut-cell multigrid for the pressure (after Weber, Mueller-Roemer, Stork and Fellner 2015).

Coarse cells are 2 x 2 (x 2) finer ones. Their equations are those of the same finite volumes on the coarser grid:
areas of faces are summed, distances doubled. Residuals are summed and corrections copied. That coarse matrix is half
the Galerkin product of these transfers, and has to be: with the product itself a cycle gains almost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.geometry.grid import padded
from continua.grid_fluids.geometry.regions import Regions
from continua.grid_fluids.pressure import poisson_kernels as kernels
from continua.grid_fluids.pressure import poisson_simd as wide
from continua.numerics import get_threads

__all__ = ["Level", "More", "Multigrid", "Solve"]

_PARALLEL_FROM = 32768  # cells; below, starting threads costs more than it saves
_COARSEST = 300  # cells
_COARSE_ITERATIONS = 400
_REPLACE = (
    2e-3  # drop at which a residual in single precision is worked out anew: the first steps round it most
)


@dataclass(frozen=True)
class Solve:
    """How a solve went: the residuals relative to the right-hand side, the first before the first iteration."""

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


class More(Protocol):
    """What is added to a matrix of pressure: something symmetric and positive of low rank."""

    def add(self, x: NDArray, y: NDArray) -> float:
        """Add its product with x to y; return x times that product."""


class Level:
    """One grid of the hierarchy: weights of faces [3 arrays], what fixes cells, diagonal, and arrays of a cycle."""

    def __init__(self, weights: Sequence[NDArray], fixed: NDArray) -> None:
        self.weights = tuple(weights)
        self.fixed = fixed
        self.shape: tuple[int, int, int] = fixed.shape
        self.dtype = fixed.dtype
        self.parallel = fixed.size >= _PARALLEL_FROM
        self.diagonal = np.empty_like(fixed)
        self.x = padded(fixed.shape, fixed.dtype)
        self.b = padded(fixed.shape, fixed.dtype)
        whole = all(a.flags.c_contiguous for a in (*self.weights, fixed))
        self.wide = fixed.dtype == np.float32 and fixed.shape[2] >= wide.WIDE and whole
        self.inverse = padded(fixed.shape, fixed.dtype) if self.wide else np.zeros((0, 0, 0), fixed.dtype)

    def refresh(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Sum the diagonal of the cells from `low` to before `high` anew, after weights or `fixed` changed."""
        parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
        kernels.diagonal.pick(parallel)(*self.weights, self.fixed, self.diagonal, self.inverse, low, high)

    def relax_down(self, count: int, below: Level | None) -> None:
        """Relax `count` times from zero, red then black; hand the sums of the residual to the level `below`."""
        if self.wide:
            self._waves(count, 0, wide.FROM_ZERO, None, below)
            return
        half = kernels.half_sweep.pick(self.parallel)
        kernels.start_sweep.pick(self.parallel)(self.x, self.b, self.diagonal, 0)
        for number in range(1, 2 * count):
            half(self.x, self.b, *self.weights, self.diagonal, number % 2)
        if below is not None:
            kernels.restrict.pick(self.parallel)(self.x, self.b, *self.weights, self.diagonal, below.b)

    def relax_up(self, count: int, below: Level | None) -> None:
        """Add the correction of the level `below`, and relax `count` times, black then red."""
        if self.wide:
            self._waves(count, 1, wide.RELAX if below is None else wide.CORRECT, below, None)
            return
        if below is not None:
            kernels.refined.pick(self.parallel)(below.x, self.x)
        half = kernels.half_sweep.pick(self.parallel)
        for number in range(1, 2 * count + 1):
            half(self.x, self.b, *self.weights, self.diagonal, number % 2)

    def _waves(self, count: int, colour: int, begin: int, above: Level | None, below: Level | None) -> None:
        """Relax `count` times, as many sweeps in one pass over memory as may be."""
        run = wide.smooth.pick(self.parallel)
        none = np.zeros((0, 0, 0), self.dtype)
        x, b, *weights, inverse, d = self.rows(self.x, self.b, *self.weights, self.inverse, self.diagonal)
        slabs = max(1, min(get_threads(), x.shape[0] // wide.LEAST_SLAB)) if self.parallel else 1
        for first in range(0, 2 * count, wide.MOST_STEPS):
            steps = min(2 * count - first, wide.MOST_STEPS)
            up = above.rows(above.x)[0] if above is not None and first == 0 else none
            down = below.rows(below.b)[0] if below is not None and first + steps == 2 * count else none
            run(
                x,
                b,
                *weights,
                inverse,
                colour,
                steps,
                begin if first == 0 else wide.RELAX,
                up,
                d,
                down,
                slabs,
            )

    def rows(self, *arrays: NDArray) -> list[NDArray]:
        """Return arrays of the level, of a plane one with its rows as planes."""
        if self.shape[0] > 1:
            return list(arrays)
        across = [self.weights[1] if a is self.weights[0] else a for a in arrays]
        return [a.reshape(a.shape[1], 1, a.shape[2]) for a in across]

    def apply(self, x: NDArray, y: NDArray, parts: NDArray[np.float64]) -> float:
        """Set y = A x, both made by `padded`; return x . y, added in a fixed order."""
        if self.wide:
            x, y, *weights, fixed = self.rows(x, y, *self.weights, self.fixed)
            wide.apply.pick(self.parallel)(x, *weights, fixed, y, parts, kernels.CHUNK)
        else:
            kernels.apply.pick(self.parallel)(x, *self.weights, self.diagonal, y, parts)
        return ordered(parts)

    @property
    def bytes(self) -> int:
        """Memory of the level."""
        return sum(a.nbytes for a in (*self.weights, self.fixed, self.diagonal, self.inverse, self.x, self.b))


def _coarser(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple((n + 1) // 2 for n in shape)


class Multigrid:
    """Solves the equations of pressure on a grid with partly open faces.

    Args:
        weights: Open parts of the faces across the three array axes, 0 at the sides of the box; kept, not copied.
        fixed: What is added to the diagonal, for instance twice the area of an open side; shape of the cells.
        coarse_fixed: The same as coarser grids shall see it; `fixed` itself by default. A free surface has its exact
            distance on the finest grid only.
        mass: Added to every diagonal, on coarser grids summed: a term without derivatives.
        smoothing: Red-black Gauss-Seidel sweeps before and after the coarse correction.
        levels: At most so many grids.

    Attributes:
        more: What is added to the matrix on the finest grid; cycles do not know it, conjugate gradients do.
    """

    regions: Regions
    _coarsest: Regions | None

    def __init__(
        self,
        weights: Sequence[NDArray],
        fixed: NDArray,
        *,
        coarse_fixed: NDArray | None = None,
        mass: NDArray | None = None,
        smoothing: int = 2,
        levels: int = 32,
    ) -> None:
        if smoothing < 1:
            raise InputError(f"multigrid needs at least one smoothing sweep, not {smoothing}")
        self.smoothing = smoothing
        self.more: More | None = None
        self._flat = fixed.shape[0] == 1
        self._mass = [mass]
        self._coarse_fixed = fixed if coarse_fixed is None else coarse_fixed
        self.levels = [Level(weights, fixed if mass is None else fixed + mass)]
        self._grow(levels)
        self.refresh(np.zeros(3, np.int64), np.array(fixed.shape))
        self._work: tuple[NDArray, ...] = ()

    def _grow(self, depth: int) -> None:
        """Make room for coarser grids until one is small."""
        while depth > len(self.levels) and np.prod(self.levels[-1].shape) > _COARSEST:
            dtype, shape = self.levels[0].dtype, _coarser(self.levels[-1].shape)
            faces = [padded([n + (a == b) for b, n in enumerate(shape)], dtype) for a in range(3)]
            self._mass.append(None if self._mass[0] is None else np.zeros(shape, dtype))
            self.levels.append(Level(faces, np.zeros(shape, dtype)))

    def refresh(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Take over what changed in the weights and `fixed` of the cells from `low` to before `high`."""
        low, high = low.astype(np.int64), high.astype(np.int64)
        for number, level in enumerate(self.levels):
            if number > 0:
                self._coarsen(number, low, high)
            low, high = np.maximum(low - 1, 0), np.minimum(high + 1, level.shape)
            level.refresh(low, high)
            halves = np.array([1 if self._flat else 2, 2, 2])
            low, high = low // halves, -(-high // halves)
        self.regions = Regions(self.levels[0].weights, self.levels[0].fixed)
        last = self.levels[-1]
        self._coarsest = Regions(last.weights, last.fixed) if len(self.levels) > 1 else None

    def _coarsen(self, number: int, low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
        """Make the cells from `low` to before `high` of a coarser level from the next finer one."""
        fine, level = self.levels[number - 1], self.levels[number]
        parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
        for axis in range(3):
            if not (self._flat and axis == 0):
                last = high + (np.arange(3) == axis)
                kernels.coarse_faces.pick(parallel)(
                    fine.weights[axis], axis, self._flat, level.weights[axis], low, last
                )
        above = self._coarse_fixed if number == 1 else self._held(number - 1)
        sum_up = kernels.coarse_cells.pick(parallel)
        sum_up(above, 0.5, self._flat, level.fixed, low, high)
        mass, finer = self._mass[number], self._mass[number - 1]
        if mass is not None and finer is not None:
            sum_up(finer, 1.0, self._flat, mass, low, high)
            window = tuple(slice(int(a), int(b)) for a, b in zip(low, high))
            level.fixed[window] += mass[window]

    def _held(self, number: int) -> NDArray:
        """Return what fixes the cells of a level, without the mass."""
        mass = self._mass[number]
        return self.levels[number].fixed if mass is None else self.levels[number].fixed - mass

    @property
    def bytes(self) -> int:
        """Memory of all levels and of the vectors of a solve."""
        return sum(level.bytes for level in self.levels) + sum(a.nbytes for a in self._work)

    def cycle(self) -> None:
        """Replace the finest `x` by an approximate solution for the finest `b`: one symmetric V-cycle from zero."""
        *upper, last = self.levels
        if not upper:
            last.relax_down(self.smoothing, None)
            last.relax_up(self.smoothing, None)
            return
        for level, below in pairwise(self.levels):
            level.relax_down(self.smoothing, below)
        assert self._coarsest is not None
        self._coarsest.level_out(last.b)
        kernels.coarsest(last.x, last.b, *last.weights, last.diagonal, 1e-6, _COARSE_ITERATIONS)
        for number in range(len(upper) - 1, -1, -1):
            upper[number].relax_up(self.smoothing, self.levels[number + 1])

    def solve(
        self,
        b: NDArray,
        x: NDArray[np.float64],
        *,
        rtol: float = 1e-6,
        max_iterations: int = 60,
        accelerate: bool = True,
    ) -> Solve:
        """Improve `x` (double precision, shape of the cells) until |b - A x| <= rtol |b|.

        The mean of `b` over each closed region is taken out of it: no flow can have another.

        Args:
            b: Right-hand side; 0 in closed cells.
            x: The first guess, and the result.
            rtol: Residual to reach, relative to the right-hand side.
            max_iterations: Most iterations, one V-cycle each.
            accelerate: Use cycles as a preconditioner of conjugate gradients, or plainly one after the other.
        """
        fine = self.levels[0]
        if not self._work:
            chunks = -(-fine.shape[0] * fine.shape[1] // kernels.CHUNK)
            self._work = (padded(fine.shape, fine.dtype), padded(fine.shape, fine.dtype), np.empty(chunks))
        parts = self._work[2]
        b = np.array(b, dtype=fine.dtype)
        self.regions.level_out(b)
        kernels.dots.pick(fine.parallel)(b, b, parts)
        scale = float(np.sqrt(ordered(parts)))
        if not np.isfinite(scale):
            return Solve((np.inf,), False)
        if scale == 0.0:
            x[:] = 0.0
            return Solve((0.0,), True)
        if x.any():
            history = [self._remaining(b, x) / scale]
        else:
            fine.b[:], history = b, [1.0]
        run = self._conjugate if accelerate else self._plain
        while history[-1] > rtol and len(history) <= max_iterations:
            before = history[-1]
            run(b, x, history, scale, rtol, max_iterations)
            if not history[-1] < 0.9 * before:  # rounding ends it
                break
        self.regions.level_out(x)
        return Solve(tuple(history), history[-1] <= rtol)

    def _remaining(self, b: NDArray, x: NDArray) -> float:
        """Put the residual into the finest right-hand side, and return its length."""
        fine, parts = self.levels[0], self._work[2]
        kernels.true_residual.pick(fine.parallel)(
            x, b, *fine.weights, fine.fixed, fine.diagonal, fine.b, parts
        )
        if self.more is not None:
            gone = np.zeros_like(x)
            self.more.add(x, gone)
            fine.b -= gone.astype(fine.dtype)
            kernels.dots.pick(fine.parallel)(fine.b, fine.b, parts)
        return float(np.sqrt(ordered(parts)))

    def _plain(
        self, b: NDArray, x: NDArray, history: list[float], scale: float, rtol: float, most: int
    ) -> None:
        while history[-1] > rtol and len(history) <= most:
            self.cycle()
            x += self.levels[0].x
            history.append(self._remaining(b, x) / scale)
            if len(history) > 2 and history[-1] > 0.9 * history[-3]:  # the first cycle may make it larger
                break

    def _conjugate(
        self, b: NDArray, x: NDArray, history: list[float], scale: float, rtol: float, most: int
    ) -> None:
        """Conjugate gradients from the residual in the finest `b`; ends with the true residual there."""
        fine = self.levels[0]
        p, q, parts = self._work
        real = fine.dtype.type
        rho, start = 0.0, history[-1]
        drifts = fine.dtype == np.float32 and rtol < 0.1 * _REPLACE * start
        while history[-1] > rtol and len(history) <= most:
            self.regions.level_out(fine.b)
            self.cycle()
            kernels.dots.pick(fine.parallel)(fine.x, fine.b, parts)
            before, rho = rho, ordered(parts)
            beta = rho / before if before > 0.0 else 0.0
            if before > 0.0:
                kernels.turn_direction.pick(fine.parallel)(p, fine.x, real(beta))
            else:
                p[:] = fine.x
            curve = fine.apply(p, q, parts)
            if self.more is not None:
                curve += self.more.add(p, q)
            if not (curve > 0.0 and rho > 0.0):
                break
            kernels.step_along.pick(fine.parallel)(x, fine.b, p, q, real(rho / curve), parts)
            history.append(float(np.sqrt(ordered(parts))) / scale)
            if drifts and history[-1] < _REPLACE * start:
                history[-1], drifts = self._remaining(b, x) / scale, False
        history[-1] = self._remaining(b, x) / scale

    def __repr__(self) -> str:
        sizes = ", ".join("x".join(str(n) for n in level.shape) for level in self.levels)
        return f"<Multigrid: {len(self.levels)} levels ({sizes}), {self.smoothing}+{self.smoothing} sweeps>"


def ordered(parts: NDArray[np.float64]) -> float:
    """Add strictly from first to last."""
    return float(np.cumsum(parts)[-1])
