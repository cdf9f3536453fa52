"""A fitted field with a transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.numerics.rotations import rotation_matrix
from continua.sdf.checks import as_queries
from continua.sdf.field import DistanceField, FieldTable
from continua.validation import array, instance_of, number, vector3

__all__ = ["TransformedField"]


class TransformedField:
    """A `DistanceField` that was scaled, rotated and translated; returned by `DistanceField.transformed`.

    Attributes:
        field: The field in its own axes.
        turn: How its axes stand: columns of a rotation, shape [3, 3].
        shift: Where its origin is [m], shape [3].
    """

    def __init__(self, field: DistanceField, turn: NDArray[np.float64], shift: NDArray[np.float64]) -> None:
        self.field = instance_of(field, DistanceField, "the field that is transformed")
        self.turn = array(turn, "the axes of a field", (3, 3))
        self.shift = vector3(shift, "the origin of a field")

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return signed distances [m] of points [n, 3]; shape [n]."""
        return self.field(self._into(points))

    def gradient(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return gradients at points [n, 3], about of length 1; shape [n, 3]."""
        return self.value_and_gradient(points)[1]

    def value_and_gradient(self, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] [m] and gradients [n, 3] at points [n, 3]."""
        values, gradients = self.field.value_and_gradient(self._into(points))
        return values, gradients @ self.turn.T

    def transformed(
        self, translate: ArrayLike = (0.0, 0.0, 0.0), rotate: ArrayLike | None = None, scale: float = 1.0
    ) -> TransformedField:
        """Return the field of the body scaled, then turned about the origin, then moved; see `DistanceField`."""
        turn = np.eye(3) if rotate is None else rotation_matrix(rotate)
        scale = number(scale, "the scale of a distance field", above=0.0)
        shift = scale * turn @ self.shift + vector3(translate, "translate")
        return TransformedField(scaled(self.field, scale), turn @ self.turn, shift)

    def _into(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.ascontiguousarray((as_queries(points) - self.shift) @ self.turn)

    def __repr__(self) -> str:
        return f"<TransformedField of {self.field!r}>"


def scaled(field: DistanceField, scale: float) -> DistanceField:
    """Return the field of a body that is `scale` times as large."""
    if scale == 1.0:
        return field
    table = field.table
    frame = np.append(scale * table.frame[:3], table.frame[3] / scale)
    with np.errstate(over="ignore"):
        coefficients = (scale * table.coefficients.astype(np.float64)).astype(np.float32)
    if not np.isfinite(coefficients).all():
        raise InputError(f"a distance field cannot be scaled by {scale:g}: its values would not be finite")
    bigger = FieldTable(frame, table.grid, table.nodes, table.ends, table.degrees, coefficients)
    return DistanceField(bigger, field.report.scaled(scale), field.source_hash)
