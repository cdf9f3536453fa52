"""Distance fields fitted by polynomials on the cells of an octree."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.sdf import kernels
from continua.sdf.checks import as_queries
from continua.short_repr import tuple_repr
from continua.validation import number

if TYPE_CHECKING:
    from continua.sdf.transformed_field import TransformedField

__all__ = ["DistanceField", "FieldTable", "FitReport", "evaluate"]

_PARALLEL_FROM = 4096  # queries


class FieldTable(NamedTuple):
    """The arrays that `kernels.value_and_gradient` reads; kernels take the tuple as an argument.

    Attributes:
        frame: Lowest corner of the field's box [m] and one over the size of its base cells [1/m], shape [4].
        grid: Number of base cells along x, y, z, shape [3].
        nodes: For each node of the octree the first of its eight children (they follow each other; z changes
            fastest), or -1 minus its leaf; the base cells come first.
        ends: Where each leaf's coefficients end, shape [leaves].
        degrees: Degree of each leaf's polynomial, shape [leaves].
        coefficients: Of x^i y^j z^k, i + j + k <= degree, in lexicographic order, in metres; x, y and z run from
            -1 to 1 in the cell.
    """

    frame: NDArray[np.float64]
    grid: NDArray[np.int32]
    nodes: NDArray[np.int32]
    ends: NDArray[np.int32]
    degrees: NDArray[np.uint8]
    coefficients: NDArray[np.float32]

    def __repr__(self) -> str:
        return tuple_repr(self)


def evaluate(table: FieldTable, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values [m] of a field at points [n, 3]; shape [n]."""
    result = np.empty(len(points))
    kernels.field_values.variant(len(points) >= _PARALLEL_FROM)(table, points, result)
    return result


@dataclass(frozen=True)
class FitReport:
    """Accuracy of a field, measured against exact distances at random points in every cell.

    Attributes:
        tolerance: The required squared error.
        near: Exponent of the weight near the surface.
        continuity: Weight of the fit against jumps; 0 if they were left.
        squared_error: Integral of the squared error, weighted by nearness, in units of `scale`.
        rms_error: Root mean square error over the box [m].
        max_error: Largest error that was seen [m].
        near_error: Root mean square error within 0.05 `scale` of the surface [m].
        scale: Half the longest side of the body [m].
        samples: Exact distances that the fit took.
    """

    tolerance: float
    near: float
    continuity: float
    squared_error: float
    rms_error: float
    max_error: float
    near_error: float
    scale: float
    samples: int

    def scaled(self, factor: float) -> FitReport:
        """Return the report of the field of a body that is `factor` times as large."""
        factor = number(factor, "the factor of a report", above=0.0)
        return replace(
            self,
            rms_error=factor * self.rms_error,
            max_error=factor * self.max_error,
            near_error=factor * self.near_error,
            scale=factor * self.scale,
        )

    def __str__(self) -> str:
        return (
            f"squared error {self.squared_error:.3g} of {self.tolerance:g}, rms error {self.rms_error:.3g} m, "
            f"near the surface {self.near_error:.3g} m, largest {self.max_error:.3g} m"
        )


class DistanceField:
    """A signed distance as polynomials on the cells of an octree; negative inside.

    Made by `continua.sdf.fit` and `continua.sdf.load`.

    Attributes:
        table: The arrays that compiled code reads (`sdf.kernels.value_and_gradient`).
        report: The accuracy of the fit.
        source_hash: Hash of the mesh it was fitted to, see `continua.sdf.mesh_hash`; empty for a function.
    """

    table: FieldTable
    report: FitReport
    source_hash: str

    def __init__(self, table: FieldTable, report: FitReport, source_hash: str = "") -> None:
        self.table = table
        self.report = report
        self.source_hash = source_hash

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Lowest and highest corner of the box in which the field is fitted [m], shape [2, 3]."""
        lower, size = self.table.frame[:3], 1.0 / self.table.frame[3]
        return np.stack([lower, lower + size * self.table.grid])

    @property
    def cell_count(self) -> int:
        """Number of leaf cells."""
        return len(self.table.ends)

    @property
    def nbytes(self) -> int:
        """Size of all arrays [bytes]."""
        return sum(array.nbytes for array in self.table)

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return signed distances [m] of points [n, 3]; shape [n]."""
        return evaluate(self.table, as_queries(points))

    def gradient(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return gradients at points [n, 3], about of length 1; shape [n, 3]."""
        return self.value_and_gradient(points)[1]

    def value_and_gradient(self, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] [m] and gradients [n, 3] at points [n, 3]."""
        queries = as_queries(points)
        values, gradients = np.empty(len(queries)), np.empty((len(queries), 3))
        fill = kernels.field_gradients.variant(len(queries) >= _PARALLEL_FROM)
        fill(self.table, queries, values, gradients)
        return values, gradients

    def cells(self, points: ArrayLike) -> NDArray[np.int32]:
        """Return the number of the leaf cell that holds each of points [n, 3] of the box; shape [n]."""
        queries = as_queries(points)
        result = np.empty(len(queries), np.int32)
        kernels.field_cells(self.table, np.clip(queries, *self.bounds), result)
        return result

    def transformed(
        self, translate: ArrayLike = (0.0, 0.0, 0.0), rotate: ArrayLike | None = None, scale: float = 1.0
    ) -> TransformedField:
        """Return the field of the body scaled, then rotated about the origin, then translated.

        Args:
            translate: Displacement [m], shape [3].
            rotate: A vector along the axis whose length is the angle [rad], or a rotation matrix [3, 3].
            scale: A factor greater than 0.
        """
        from continua.sdf.transformed_field import TransformedField

        return TransformedField(self, np.eye(3), np.zeros(3)).transformed(translate, rotate, scale)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the field to a file that `continua.sdf.load` reads; its folder must exist."""
        from continua.sdf.file import save

        save(self, path)

    def __repr__(self) -> str:
        return f"<DistanceField: {self.cell_count} cells, {self.nbytes / 1e6:.2f} MB>"
