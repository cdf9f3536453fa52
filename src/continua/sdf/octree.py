"""The growing octree of a fit: which cells there are, how well each degree fits them, and which ones to take."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.sdf import fit_kernels
from continua.sdf.sampling_rules import SamplingRule, coefficient_count, exponents, rule, within

__all__ = ["Octree", "RefinementChoice", "RootCell", "Sampler"]

Sampler = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Takes centres [n, 3] and half sizes [n] of cells and places [s]; returns distances [n, s, s, s], all in metres."""

LEVELS = 10  # finest level of the octree
_CELL_COST = 2.4  # what a cell takes besides its coefficients, in units of one coefficient
_COARSE, _FINE = rule(12), rule(8)  # samples: many in the few big cells, which are smooth or split anyway
_COARSE_LEVELS = 2
_BATCH = 1024  # cells sampled at once
_DEGREES = _COARSE.degree + 1


class RootCell(NamedTuple):
    """The box of a field: `grid` cells of size `size` [m] from `lower` [m]; errors count in units of `scale` [m]."""

    lower: NDArray[np.float64]
    size: float
    grid: NDArray[np.int32]
    scale: float

    @property
    def diagonal(self) -> float:
        """Diagonal of the box [m]."""
        return float(self.size * np.linalg.norm(self.grid))


class RefinementChoice(NamedTuple):
    """The leaves that are best at one price of a coefficient.

    Attributes:
        leaves: Their numbers, shape [n].
        degrees: Their degrees, shape [n].
        error: Sum of their weighted squared errors.
        size: Number of coefficients.
    """

    leaves: NDArray[np.int64]
    degrees: NDArray[np.int64]
    error: float
    size: int


class Octree:
    """All cells that were ever sampled. Errors are squared L2 norms in units of `frame.scale`, weighted by nearness."""

    def __init__(self, frame: RootCell, sampler: Sampler, near: float) -> None:
        self.frame = frame
        self._sampler = sampler
        self._near = float(near)
        cells = np.stack(np.meshgrid(*[np.arange(n) for n in frame.grid], indexing="ij"), axis=-1)
        self.levels = np.empty(0, np.int64)
        self.cells = np.empty((0, 3), np.int64)
        self.children = np.empty(0, np.int64)
        self.rows = np.empty(0, np.int64)
        self.errors = np.empty((0, _DEGREES))
        self.ahead = np.empty((0, 8, _FINE.degree))
        self.samples = 0
        self._stores: dict[int, list[NDArray[np.float64]]] = {}
        self._add(cells.reshape(-1, 3), np.zeros(int(np.prod(frame.grid)), np.int64))
        self.roots = len(self.levels)

    def geometry(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return centres [n, 3] and half sizes [n] of cells [m]."""
        halves = 0.5 * self.frame.size * np.exp2(-self.levels[numbers].astype(np.float64))
        return self.frame.lower + (2.0 * self.cells[numbers] + 1.0) * halves[:, None], halves

    def weights(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much errors count where the distance has these values [m] (Koschier 2016)."""
        return np.exp(-self._near * np.abs(values) / self.frame.diagonal)

    def numbered(self, leaves: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the nodes of the octree with these leaves as a `FieldTable` has them, and the leaves' order there."""
        place = np.full(len(self.levels), -1)
        place[leaves] = np.arange(len(leaves))
        nodes, order = [], []
        taken, count, found = np.arange(self.roots), self.roots, 0
        while len(taken):
            split = place[taken] < 0
            row = np.empty(len(taken), np.int32)
            row[~split] = -1 - found - np.arange(int((~split).sum()))
            row[split] = count + 8 * np.arange(int(split.sum()))
            nodes.append(row)
            order.append(place[taken[~split]])
            found += int((~split).sum())
            count += 8 * int(split.sum())
            taken = (self.children[taken[split]][:, None] + np.arange(8)).ravel()
        return np.concatenate(nodes), np.concatenate(order)

    def split(self, numbers: NDArray[np.int64]) -> None:
        """Give cells eight children each, and sample these."""
        self.children[numbers] = len(self.levels) + 8 * np.arange(len(numbers))
        octants = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(1, 8, 3)
        cells = (2 * self.cells[numbers][:, None, :] + octants).reshape(-1, 3)
        self._add(cells, np.repeat(self.levels[numbers] + 1, 8))

    def _add(self, cells: NDArray[np.int64], levels: NDArray[np.int64]) -> None:
        first = len(self.levels)
        count = len(levels)
        self.levels = np.concatenate([self.levels, levels])
        self.cells = np.concatenate([self.cells, cells])
        self.children = np.concatenate([self.children, np.full(count, -1)])
        self.rows = np.concatenate([self.rows, np.zeros(count, np.int64)])
        self.errors = np.concatenate([self.errors, np.full((count, _DEGREES), np.inf)])
        self.ahead = np.concatenate([self.ahead, np.full((count, 8, self.ahead.shape[2]), np.inf)])
        for coarse in (True, False):
            which = first + np.flatnonzero((levels < _COARSE_LEVELS) == coarse)
            for begin in range(0, len(which), _BATCH):
                self._measure(which[begin : begin + _BATCH], _COARSE if coarse else _FINE)

    def _measure(self, numbers: NDArray[np.int64], law: SamplingRule) -> None:
        """Sample cells and note how well they and their children would be fitted by each degree."""
        centers, halves = self.geometry(numbers)
        values = self._sampler(centers, halves, law.places)
        n, p = len(numbers), law.degree
        self.samples += values.size
        coefficients = np.empty((n, p + 1, p + 1, p + 1))
        errors, ahead = np.empty((n, p + 1)), np.empty((n, 8, len(law.half_matrix)))
        fit_kernels.analyse.variant(n >= 16)(
            values, self._near / self.frame.diagonal,
            law.matrix, law.weights, law.half_matrix, law.half_weights, coefficients, errors, ahead,
        )  # fmt: skip
        volume = (2.0 * halves) ** 3 / self.frame.scale**5
        self.errors[numbers, : p + 1] = errors * volume[:, None]
        q = min(ahead.shape[2], self.ahead.shape[2])
        self.ahead[numbers, :, :q] = ahead[:, :, :q] * (0.125 * volume)[:, None, None]
        store = self._stores.setdefault(p, [])
        self.rows[numbers] = sum(map(len, store)) + np.arange(n)
        i, j, k = exponents(p).T
        store.append(coefficients[:, i, j, k])

    def worth_splitting(self, price: float) -> NDArray[np.int64]:
        """Return the leaves that cost more, in error and coefficients at a price, than their children would.

        The samples of a cell show its children in low degrees only. Where even the highest degree leaves a large
        error, the children are expected to leave an eighth of it.
        """
        leaves = np.flatnonzero((self.children < 0) & (self.levels < LEVELS))
        errors = self.errors[leaves]
        own = self._costs(errors, price).min(axis=1)
        ahead = self._costs(self.ahead[leaves], price).min(axis=2).sum(axis=1)
        highest = (
            np.where(self.levels[leaves] < _COARSE_LEVELS, len(_COARSE.half_matrix), len(_FINE.half_matrix))
            - 1
        )
        hoped = errors.min(axis=1) / 8.0 + 8.0 * price * (coefficient_count(highest) + _CELL_COST)
        return leaves[np.minimum(ahead, hoped) < own]

    def choose(self, price: float) -> RefinementChoice:
        """Return the best leaves and degrees at a price of a coefficient: the optimal pruning, from the leaves up."""
        own = self._costs(self.errors, price)
        degrees = own.argmin(axis=1)
        best = own[np.arange(len(own)), degrees]
        parents = np.flatnonzero(self.children >= 0)
        split = np.zeros(len(own), bool)
        for level in range(int(self.levels.max()) - 1, -1, -1):
            here = parents[self.levels[parents] == level]
            below = best[self.children[here][:, None] + np.arange(8)].sum(axis=1)
            better = below < best[here]
            split[here] = better
            best[here] = np.where(better, below, best[here])
        taken, leaves = np.arange(self.roots), []
        while len(taken):
            leaves.append(taken[~split[taken]])
            taken = (self.children[taken[split[taken]]][:, None] + np.arange(8)).ravel()
        found = np.concatenate(leaves)
        chosen = degrees[found]
        size = int(np.sum(coefficient_count(chosen)))
        return RefinementChoice(found, chosen, float(self.errors[found, chosen].sum()), size)

    @staticmethod
    def _costs(errors: NDArray[np.float64], price: float) -> NDArray[np.float64]:
        """Return error plus price for each degree; the last axis of `errors` is the degree."""
        return errors + price * (coefficient_count(np.arange(errors.shape[-1])) + _CELL_COST)

    def coefficients(self, choice: RefinementChoice) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return coefficients of orthonormal Legendre polynomials [m], leaf after leaf, and where each begins [n]."""
        counts = coefficient_count(choice.degrees)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        result = np.empty(int(np.sum(counts)))
        for law in (_COARSE, _FINE):
            if law.degree not in self._stores:
                continue
            store = np.concatenate(self._stores[law.degree])
            ours = (self.levels[choice.leaves] < _COARSE_LEVELS) == (law is _COARSE)
            for p in range(law.degree + 1):
                which = np.flatnonzero(ours & (choice.degrees == p))
                if not len(which):
                    continue
                raw = store[self.rows[choice.leaves[which]]][:, within(law.degree, p)]
                flat = np.ascontiguousarray(raw).ravel()
                changed = np.empty_like(flat)
                begins = np.arange(len(which), dtype=np.int64) * raw.shape[1]
                fit_kernels.change_basis.variant(len(which) > 64)(
                    law.to_legendre, begins, np.full(len(which), p, np.uint8), flat, changed
                )
                result[(starts[which][:, None] + np.arange(raw.shape[1])).ravel()] = changed
        return result, starts
