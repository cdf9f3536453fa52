"""Damping of deformable bodies: Rayleigh's, and damping of deformation in the frame of each element's rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.linalg import BlockMatrix
from continua.materials import Law
from continua.validation import LARGEST, number, numbers, shortened

__all__ = ["Damper", "RotatedDamping", "split_damping"]


@dataclass(frozen=True)
class RotatedDamping:
    """Damping of deformation in the corotated frame of each element.

    Unlike stiffness damping it does not depend on the law: it is the same for flat and inverted elements, and does
    not grow where a law stiffens. Rotations are not damped, and momentum and angular momentum are kept.

    Attributes:
        time: c [s]: the constants of the damping are c times Lame's; 0.01 to 0.05 suits a soft body.
        mass: Rayleigh mass damping [1/s].
        stiffness: Rayleigh stiffness damping [s].
    """

    time: float = 0.02
    mass: float = 0.0
    stiffness: float = 0.0

    def __post_init__(self) -> None:
        for key in ("time", "mass", "stiffness"):
            number(getattr(self, key), f"{key} of a RotatedDamping", low=0.0)


def split_damping(damping: ArrayLike | RotatedDamping) -> tuple[tuple[float, float], float]:
    """Return Rayleigh's (alpha [1/s], beta [s]) and the time [s] of the rotated damping."""
    if isinstance(damping, RotatedDamping):
        return (float(damping.mass), float(damping.stiffness)), float(damping.time)
    pair = numbers(damping)
    if pair is None or pair.shape != (2,) or not (pair <= LARGEST).all() or (pair < 0.0).any():
        raise InputError(
            "damping must be two finite numbers of at least 0 (alpha [1/s], beta [s]) or a RotatedDamping, not "
            f"{shortened(damping)}"
        )
    return (float(pair[0]), float(pair[1])), 0.0


class Damper(Protocol):
    """The matrix of damping of deformation over the nodes of a body's elements.

    Attributes:
        time: The damping time of a `RotatedDamping` [s].
    """

    time: float

    def set_constants(self, constants: NDArray[np.float64], time: float) -> None:
        """Damp as a `RotatedDamping` of this time [s]; the first two constants of the body's law are Lame's [Pa]."""

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Damp by the stiffness of a law, with the constants of every element, shape [m, k]."""

    def at(self, coefficients: NDArray[np.float64]) -> BlockMatrix:
        """Return the damping matrix [kg/s] at the given coefficients; it is valid until the next call."""
