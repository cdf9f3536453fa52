"""Scaling, turning and moving of points and meshes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.numerics.rotations import rotation_matrix
from continua.validation import LARGEST, number, numbers, unit_vector, vector3

__all__ = ["Transformable", "apply_transform"]


def apply_transform(
    points: NDArray[np.float64], translate: ArrayLike, rotate: ArrayLike | None, scale: float | ArrayLike
) -> tuple[NDArray[np.float64], bool]:
    """Scale, turn and move points; also say whether the scaling mirrors them."""
    one = numbers(scale)
    factors = vector3(np.full(3, one) if one is not None and one.shape == () else scale, "scale")
    if (np.abs(factors) < 1.0 / LARGEST).any():
        raise InputError("scale must not be zero")
    result = points * factors
    if rotate is not None:
        result = result @ rotation_matrix(rotate).T
    return result + vector3(translate, "translate"), bool(np.prod(np.sign(factors)) < 0)


class Transformable(ABC):
    """Base of meshes: sizes and places them by their bounding box."""

    __slots__ = ()

    points: NDArray[np.float64]

    @abstractmethod
    def transformed(
        self,
        translate: ArrayLike = (0.0, 0.0, 0.0),
        rotate: ArrayLike | None = None,
        scale: float | ArrayLike = 1.0,
    ) -> Self:
        """Return the mesh scaled, turned and moved; every kind of mesh has its own."""

    def fit(self, size: float) -> Self:
        """Return the mesh scaled about the origin so that the longest side of its bounding box is `size` [m]."""
        size = number(size, "the size of a mesh", above=0.0, unit="m")
        longest = float(np.ptp(self.points, axis=0).max())
        if not longest > 0.0:
            raise InputError("a mesh whose points coincide cannot be scaled to a size")
        return self.transformed(scale=size / longest)

    def on_floor(self, height: float = 0.0, *, up: ArrayLike = (0.0, 1.0, 0.0)) -> Self:
        """Return the mesh moved along `up` so that its lowest point is at `height` [m]."""
        height = number(height, "the height of the floor", unit="m")
        direction = unit_vector(up, "the direction 'up'")
        return self.transformed(translate=(height - float((self.points @ direction).min())) * direction)
