"""The cut-cell multigrid for the pressure (after Weber, Mueller-Roemer, Stork and Fellner 2015).

Coarse cells are 2 x 2 (x 2) finer ones. Their equations are those of the same finite volumes on the coarser grid:
areas of faces are summed, distances doubled. Residuals are summed and corrections copied. That coarse matrix is half
the Galerkin product of these transfers, and has to be: with the product itself a cycle gains almost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.eulerian import laplace_kernels as kernels
from continua.eulerian.regions import Regions

__all__ = ["Level", "Multigrid", "Solve"]

_PARALLEL_FROM = 32768  # cells; below, starting threads costs more than it saves
_COARSEST = 300  # cells
_COARSE_ITERATIONS = 400


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


class Level:
    """One grid of the hierarchy: weights of faces [3 arrays], diagonal, and the arrays of a cycle."""

    def __init__(self, weights: Sequence[NDArray], fixed: NDArray) -> None:
        self.weights = tuple(weights)
        self.shape: tuple[int, int, int] = fixed.shape
        self.dtype = fixed.dtype
        self.parallel = fixed.size >= _PARALLEL_FROM
        self.diagonal = np.empty_like(fixed)
        self.x = np.zeros_like(fixed)
        self.b = np.zeros_like(fixed)
        self.refresh(fixed)

    def refresh(self, fixed: NDArray) -> None:
        """Sum the diagonal anew, after weights or `fixed` changed."""
        kernels.diagonal.pick(self.parallel)(*self.weights, fixed, self.diagonal)

    def sweeps(self, count: int, *, from_zero: bool, forward: bool) -> None:
        """Relax `count` times, red then black (`forward`) or black then red."""
        half = kernels.half_sweep.pick(self.parallel)
        first = 0 if forward else 1
        for number in range(count):
            if from_zero and number == 0:
                kernels.start_sweep.pick(self.parallel)(self.x, self.b, self.diagonal, first)
            else:
                half(self.x, self.b, *self.weights, self.diagonal, first)
            half(self.x, self.b, *self.weights, self.diagonal, 1 - first)

    @property
    def bytes(self) -> int:
        """Memory of the level."""
        return sum(a.nbytes for a in (*self.weights, self.diagonal, self.x, self.b))


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
    """

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
        self.levels = [Level(weights, fixed if mass is None else fixed + mass)]
        self._depth = levels
        self._grow(fixed if coarse_fixed is None else coarse_fixed, mass)
        self.regions = Regions(self.levels[0].weights, fixed if mass is None else fixed + mass)
        self._work: tuple[NDArray, ...] = ()

    def _grow(self, fixed: NDArray, mass: NDArray | None) -> None:
        """Add coarser grids until one is small, or make the existing ones anew."""
        number = 0
        while self._depth > number + 1 and np.prod(self.levels[number].shape) > _COARSEST:
            fine = self.levels[number]
            flat = fine.shape[0] == 1
            shape = _coarser(fine.shape)
            weights = []
            for axis in range(3):
                faces = np.zeros([n + (a == axis) for a, n in enumerate(shape)], fine.dtype)
                if not (flat and axis == 0):
                    kernels.coarse_faces(fine.weights[axis], axis, flat, faces)
                weights.append(faces)
            held, matter = np.empty(shape, fine.dtype), None
            kernels.coarse_cells(fixed, 0.5, flat, held)
            fixed, total = held, held
            if mass is not None:
                matter = np.empty(shape, fine.dtype)
                kernels.coarse_cells(mass, 1.0, flat, matter)
                total = held + matter
            mass = matter
            number += 1
            del self.levels[number:]
            self.levels.append(Level(weights, total))
        last = self.levels[-1]
        total = fixed if mass is None else fixed + mass
        self._coarsest = Regions(last.weights, total) if len(self.levels) > 1 else None

    @property
    def bytes(self) -> int:
        """Memory of all levels and of the vectors of a solve."""
        return sum(level.bytes for level in self.levels) + sum(a.nbytes for a in self._work)

    def cycle(self) -> None:
        """Replace the finest `x` by an approximate solution for the finest `b`: one symmetric V-cycle from zero."""
        *upper, last = self.levels
        if not upper:
            last.sweeps(self.smoothing, from_zero=True, forward=True)
            last.sweeps(self.smoothing, from_zero=False, forward=False)
            return
        for number, level in enumerate(upper):
            level.sweeps(self.smoothing, from_zero=True, forward=True)
            below = self.levels[number + 1]
            kernels.restrict.pick(level.parallel)(level.x, level.b, *level.weights, level.diagonal, below.b)
        assert self._coarsest is not None
        self._coarsest.level_out(last.b)
        kernels.coarsest(last.x, last.b, *last.weights, last.diagonal, 1e-6, _COARSE_ITERATIONS)
        for number in range(len(upper) - 1, -1, -1):
            level = upper[number]
            kernels.refined.pick(level.parallel)(self.levels[number + 1].x, level.x)
            level.sweeps(self.smoothing, from_zero=False, forward=False)

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
            self._work = (np.empty_like(fine.x), np.empty_like(fine.x), np.empty(chunks))
        parts = self._work[2]
        b = np.array(b, dtype=fine.dtype)
        self.regions.level_out(b)
        kernels.dots.pick(fine.parallel)(b, b, parts)
        scale = float(np.sqrt(_ordered(parts)))
        if not np.isfinite(scale):
            return Solve((np.inf,), False)
        if scale == 0.0:
            x[:] = 0.0
            return Solve((0.0,), True)
        history = [self._remaining(b, x) / scale]
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
        kernels.true_residual.pick(fine.parallel)(x, b, *fine.weights, fine.diagonal, fine.b, parts)
        return float(np.sqrt(_ordered(parts)))

    def _plain(
        self, b: NDArray, x: NDArray, history: list[float], scale: float, rtol: float, most: int
    ) -> None:
        while history[-1] > rtol and len(history) <= most:
            self.cycle()
            x += self.levels[0].x
            history.append(self._remaining(b, x) / scale)
            if history[-1] > 0.9 * history[-2]:
                break

    def _conjugate(
        self, b: NDArray, x: NDArray, history: list[float], scale: float, rtol: float, most: int
    ) -> None:
        """Conjugate gradients from the residual in the finest `b`; ends with the true residual there."""
        fine = self.levels[0]
        p, q, parts = self._work
        real = fine.dtype.type
        rho = 0.0
        while history[-1] > rtol and len(history) <= most:
            self.regions.level_out(fine.b)
            self.cycle()
            kernels.dots.pick(fine.parallel)(fine.x, fine.b, parts)
            before, rho = rho, _ordered(parts)
            beta = rho / before if before > 0.0 else 0.0
            if before > 0.0:
                kernels.turn_direction.pick(fine.parallel)(p, fine.x, real(beta))
            else:
                p[:] = fine.x
            kernels.apply.pick(fine.parallel)(p, *fine.weights, fine.diagonal, q, parts)
            curve = _ordered(parts)
            if not (curve > 0.0 and rho > 0.0):
                break
            kernels.step_along.pick(fine.parallel)(x, fine.b, p, q, real(rho / curve), parts)
            history.append(float(np.sqrt(_ordered(parts))) / scale)
        history[-1] = self._remaining(b, x) / scale

    def __repr__(self) -> str:
        sizes = ", ".join("x".join(str(n) for n in level.shape) for level in self.levels)
        return f"<Multigrid: {len(self.levels)} levels ({sizes}), {self.smoothing}+{self.smoothing} sweeps>"


def _ordered(parts: NDArray[np.float64]) -> float:
    """Add strictly from first to last."""
    return float(np.cumsum(parts)[-1])
