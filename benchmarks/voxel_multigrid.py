"""Multigrid on voxels after McAdams, Sifakis and Teran (2010) in 2-D, for its orders of magnitude per iteration.

Cells are fluid, wall or air. A coarse cell is air if any of its four is, else fluid if any is, else wall. The smoother
is damped Jacobi, with Gauss-Seidel passes in a band along the boundary before and after; transfers are bilinear
("McAdams") or constant ("modified"). Every method preconditions conjugate gradients with eight passes, in a square with
two round obstacles. Weber et al. (2015) print orders of magnitude per iteration for these and for cut cells.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import factorized, spsolve_triangular

import continua as ct
from continua.grid_fluids import CutCells, GhostFluidPressure, PoissonMultigrid, make_grid

FLUID, WALL, AIR = 0, 1, 2
PASSES = 4  # before and after
BAND = 2


def posed(n: int, surface: bool):
    """Return the grid, the obstacles, and the level set of the liquid or None."""
    grid = make_grid((1.0, 1.0), (n, n))
    balls = [ct.Sphere(center=(0.3, 0.4, 0.0), radius=0.12), ct.Sphere(center=(0.65, 0.3, 0.0), radius=0.15)]
    y = grid.centers()[:, 1].reshape(grid.shape)
    x = grid.centers()[:, 0].reshape(grid.shape)
    return grid, balls, y - 0.7 - 0.05 * np.sin(7.0 * x) if surface else None


def cell_kinds(n: int, surface: bool) -> np.ndarray:
    grid, balls, phi = posed(n, surface)
    kinds = np.zeros((n, n), int)
    if phi is not None:
        kinds[phi[0] >= 0.0] = AIR
    gaps = np.min([ball.distances(grid.centers())[0] for ball in balls], axis=0)
    kinds[gaps.reshape(n, n) < 0.0] = WALL
    return kinds


def coarser(kinds: np.ndarray) -> np.ndarray:
    four = np.stack([kinds[i::2, j::2] for i in (0, 1) for j in (0, 1)])
    return np.where((four == AIR).any(axis=0), AIR, np.where((four == FLUID).any(axis=0), FLUID, WALL))


def laplacian(kinds: np.ndarray) -> sparse.csr_matrix:
    """Return the five-point matrix of the fluid cells; pressure is zero on faces to air, other rows are 1."""
    n = len(kinds)
    number = np.arange(n * n).reshape(n, n)
    fluid = kinds == FLUID
    diagonal = np.zeros((n, n))
    rows, columns = [], []
    for axis in range(2):
        for step in (1, -1):
            here = np.arange(n)
            inside = (here + step >= 0) & (here + step < n)
            shape = (-1, 1) if axis == 0 else (1, -1)
            beside = np.where(inside.reshape(shape), np.roll(kinds, -step, axis), WALL)
            diagonal += fluid * ((beside == FLUID) + 2.0 * (beside == AIR))
            pair = fluid & (beside == FLUID)
            rows.append(number[pair])
            columns.append(np.roll(number, -step, axis)[pair])
    diagonal[~fluid | (diagonal == 0.0)] = 1.0
    r, c = np.concatenate(rows), np.concatenate(columns)
    off = sparse.csr_matrix((np.ones(len(r)), (r, c)), shape=(n * n,) * 2)
    return (sparse.diags(diagonal.ravel()) - off).tocsr()


def transfer(n: int, linear: bool) -> sparse.csr_matrix:
    """Prolongation from n / 2 to n cells along each axis."""
    m = n // 2
    line = sparse.lil_matrix((n, m))
    for i in range(n):
        own = i // 2
        other = min(max(own + (1 if i % 2 else -1), 0), m - 1)
        line[i, own] += 0.75 if linear else 1.0
        line[i, other] += 0.25 if linear else 0.0
    return sparse.kron(line, line).tocsr()


class VoxelMultigrid:
    """The preconditioner."""

    def __init__(self, kinds: np.ndarray, linear: bool) -> None:
        self.levels = []
        while True:
            a = laplacian(kinds)
            fluid = (kinds == FLUID).ravel()
            edge = fluid & (np.asarray(abs(a).sum(axis=1)).ravel() != 8.0)
            for _ in range(BAND):
                edge = fluid & (np.asarray(abs(a) @ edge.astype(float)).ravel() > 0.0)
            band = np.flatnonzero(edge)
            inner = a[band][:, band]
            self.levels.append(
                (a, fluid, band, sparse.tril(inner, format="csr"), sparse.triu(inner, format="csr"))
            )
            if len(kinds) <= 8:
                break
            kinds = coarser(kinds)
        self.transfers = [transfer(int(np.sqrt(a[0].shape[0])), linear) for a in self.levels[:-1]]
        last = self.levels[-1][0] + 1e-10 * sparse.identity(self.levels[-1][0].shape[0])
        self.bottom = factorized(last.tocsc())

    def _smooth(self, number, x, b, forward):
        a, fluid, band, lower, upper = self.levels[number]
        for _ in range(PASSES):
            for half in range(2):
                if half == (0 if forward else 1):
                    for _ in range(2):
                        left = (b - a @ x)[band]
                        x[band] += spsolve_triangular(lower if forward else upper, left, lower=forward)
                else:
                    x += fluid * (2.0 / 3.0) * (b - a @ x) / a.diagonal()
        return x

    def __call__(self, b, number=0):
        if number == len(self.levels) - 1:
            return self.bottom(b)
        a, fluid = self.levels[number][:2]
        x = self._smooth(number, np.zeros_like(b), b, True)
        p = self.transfers[number]
        coarse = p.T @ (fluid * (b - a @ x))
        below = self.levels[number + 1][1]
        x += fluid * (p @ (below * self(below * coarse, number + 1)))
        return self._smooth(number, x, b, False)


def _orders(a, b, precondition, most=30):
    """Return orders of magnitude per iteration of preconditioned conjugate gradients to 1e-9."""
    x, r = np.zeros_like(b), b.copy()
    p, rho, count = np.zeros_like(b), 0.0, 0
    start = np.linalg.norm(b)
    while np.linalg.norm(r) > 1e-9 * start and count < most:
        z = precondition(r)
        before, rho = rho, r @ z
        p = z + (rho / before if before else 0.0) * p
        q = a @ p
        alpha = rho / (p @ q)
        x, r, count = x + alpha * p, r - alpha * q, count + 1
    return -np.log10(np.linalg.norm(r) / start) / count


def cut_orders(n: int, surface: bool) -> float:
    """Return orders of magnitude per iteration of the cut-cell multigrid on the same flow."""
    grid, balls, phi = posed(n, surface)
    cut = CutCells(grid, balls, np.float64)
    for axis in (1, 2):
        ends = [slice(None)] * 3
        ends[axis] = [0, -1]
        cut.face_fractions[axis][tuple(ends)] = 0.0
    b = np.zeros(grid.shape)
    b[0, 0], b[0, -1] = 1.0, (0.0 if surface else -1.0)
    if phi is None:
        solver = PoissonMultigrid(cut.face_fractions, np.zeros(grid.shape), smoothing=PASSES)
    else:
        b[phi >= 0.0] = 0.0
        solver = GhostFluidPressure(cut.face_fractions, np.zeros(grid.shape), phi, smoothing=PASSES).solver
    solve = solver.solve(b, np.zeros(grid.shape), rtol=1e-9)
    return -np.log10(solve.residual) / solve.iterations


def orders_per_iteration(n: int = 128) -> list[tuple[str, float, float]]:
    """Return name, orders of magnitude per iteration and the printed value of each method and problem."""
    printed = {
        "McAdams": (0.699, 0.735),
        "McAdams, constant transfers": (0.997, 0.866),
        "cut cells": (1.419, 1.111),
    }
    found = []
    for surface in (False, True):
        kinds = cell_kinds(n, surface)
        a = laplacian(kinds)
        b = np.zeros((n, n))
        b[0], b[-1] = 1.0, (0.0 if surface else -1.0)
        b = np.where(kinds == FLUID, b, 0.0).ravel()
        if not surface:
            b -= np.where((kinds == FLUID).ravel(), b[(kinds == FLUID).ravel()].mean(), 0.0)
        where = "free surface" if surface else "closed"
        for name, linear in (("McAdams", True), ("McAdams, constant transfers", False)):
            rate = _orders(a, b, VoxelMultigrid(kinds, linear))
            found.append((f"{name}, {where}", rate, printed[name][surface]))
        found.append((f"cut cells, {where}", cut_orders(n, surface), printed["cut cells"][surface]))
    return found
