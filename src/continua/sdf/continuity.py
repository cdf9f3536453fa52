"""Weak continuity: smaller jumps between cells, at the price of a little more error inside them."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from continua.numerics import dot
from continua.sdf import continuity_kernels as compiled
from continua.sdf.field import FieldTable
from continua.sdf.sampling_rules import coefficient_count, exponents, orthonormal

__all__ = ["CellFaces", "smooth"]

_DEEPEST = 6  # levels between two neighbours; beyond, their face is left as it is
_ITERATIONS = 500
_TOLERANCE = 1e-4  # of the residual: the energy is then right to its square


class CellFaces:
    """The faces between the leaves of a field.

    Args:
        table: The field; its coefficients are not read.
        centers: Middle of each leaf [m], shape [n, 3].
        halves: Half the size of each leaf [m], shape [n].
        scale: The length [m] that counts as 1 in areas and volumes.
    """

    def __init__(
        self, table: FieldTable, centers: NDArray[np.float64], halves: NDArray[np.float64], scale: float
    ) -> None:
        n = len(halves)
        self.degrees = table.degrees
        self.starts = (table.ends - coefficient_count(table.degrees.astype(np.int64))).astype(np.int64)
        near = np.empty((n, 6), np.int32)
        compiled.neighbours.variant(n > 256)(table, centers, halves, near)
        cell, side = np.nonzero(near >= 0)
        other = near[cell, side]
        ratio = np.rint(np.log2(halves[other] / halves[cell])).astype(np.int64)
        # Each face once: from its smaller cell, or from the lower one of two equal ones.
        taken = ((ratio > 0) & (ratio <= _DEEPEST)) | ((ratio == 0) & (side % 2 == 1))
        cell, side, other, ratio = cell[taken], side[taken], other[taken], ratio[taken]
        axis = side // 2
        self.faces = np.stack([cell, other, axis, side % 2], axis=1).astype(np.int64)
        self.parts = np.empty((len(cell), 2), np.int64)
        for d in range(2):
            across = (axis + 1 + d) % 3
            offset = centers[cell, across] - (centers[other, across] - halves[other])
            self.parts[:, d] = 2**ratio - 1 + np.floor(offset / (2.0 * halves[cell])).astype(np.int64)
        self.areas = (2.0 * halves[cell] / scale) ** 2
        self.volumes = (2.0 * halves / scale) ** 3
        self.sizes = 2.0 * halves / scale
        self.places = _part_matrices(int(table.degrees.max()), int(ratio.max(initial=0)))
        top = np.sqrt(2.0 * np.arange(self.places.shape[1]) + 1.0)
        self.ends = np.stack([top * (-1.0) ** np.arange(len(top)), top])
        owners = np.concatenate([cell, other])
        numbers = np.concatenate([2 * np.arange(len(cell)), 2 * np.arange(len(cell)) + 1])
        order = np.lexsort((numbers, owners))
        self.indices = numbers[order]
        self.indptr = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=n))])

    def jumps(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the jump across each face for coefficients c of polynomials of mean square 1."""
        result = np.empty((len(self.faces), *self.places.shape[1:]))
        run = compiled.jumps.variant(len(self.faces) > 256)
        run(self.faces, self.parts, self.places, self.ends, self.starts, self.degrees, c, result)
        return result

    def energy(self, c: NDArray[np.float64]) -> float:
        """Return half the integral of the squared jump over all faces."""
        return 0.5 * dot(np.einsum("fjk,fjk->f", *[self.jumps(c)] * 2), self.areas)

    def gradient(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of the energy."""
        result = np.empty_like(c)
        compiled.gradient.variant(len(self.starts) > 256)(
            self.faces, self.parts, self.places, self.ends, self.areas, self.indptr, self.indices,
            self.starts, self.degrees, self.jumps(c), result,
        )  # fmt: skip
        return result


def _part_matrices(degree: int, deepest: int) -> NDArray[np.float64]:
    """Return for each of the 2^m parts of an interval, m = 0 ... `deepest`, its polynomials' share in the whole's."""
    x, w = legendre.leggauss(degree + 1)
    own = orthonormal(degree, x) * (0.5 * w)
    matrices = []
    for m in range(deepest + 1):
        for part in range(2**m):
            whole = (x + 1.0 + 2.0 * part) / 2**m - 1.0
            matrices.append(own @ orthonormal(degree, whole).T)
    return np.triu(np.stack(matrices))


def smooth(faces: CellFaces, c: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    """Return coefficients near `c` with smaller jumps: the minimum of jump energy plus beta / 2 |y - y'|^2.

    y are the coefficients of polynomials of unit L2 norm, y' those of the fit (Koschier 2016). The linear system
    is solved by conjugate gradients.
    """
    counts = coefficient_count(faces.degrees.astype(np.int64))
    root = np.repeat(np.sqrt(faces.volumes), counts)
    total = np.concatenate([exponents(int(p)).sum(axis=1) for p in faces.degrees])
    diagonal = beta + np.repeat(1.0 / faces.sizes, counts) * (6.0 + 4.0 * total)
    goal = root * c
    y = goal.copy()
    # Both sides of the system less (M + beta) y at the start, y = y'.
    residual = -faces.gradient(c) / root
    first = dot(residual, residual)
    z = residual / diagonal
    direction = z.copy()
    rho = dot(residual, z)
    for _ in range(_ITERATIONS):
        if dot(residual, residual) <= _TOLERANCE**2 * first or first == 0.0:
            break
        image = faces.gradient(direction / root) / root + beta * direction
        step = rho / dot(direction, image)
        y += step * direction
        residual -= step * image
        z = residual / diagonal
        rho, before = dot(residual, z), rho
        direction = z + (rho / before) * direction
    return y / root
