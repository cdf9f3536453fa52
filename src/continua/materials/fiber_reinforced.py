"""Fibre-reinforced: a stable neo-Hookean matrix with one or two families of elastic fibres."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numba import prange
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.materials.fiber import FiberDirections, add_fiber, fiber_stretch
from continua.materials.law import Law
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.materials.stable_neo_hookean import principal
from continua.numerics import inline, kernel_pair
from continua.values import isfinite

__all__ = ["FiberReinforced"]


@inline
def _add_family(energy, P, T, F, p, k, definite):
    """Add the fibres with stiffness p[k] and direction p[k + 1 : k + 4]."""
    if p[k] == 0.0:
        return energy, P
    a = (p[k + 1], p[k + 2], p[k + 3])
    w, stretch = fiber_stretch(F, a)
    tension = p[k] * (stretch - 1.0)
    energy += 0.5 * tension * (stretch - 1.0)
    return energy, add_fiber(P, T, a, w, stretch, tension, p[k], definite)


@inline
def _point(F, p, definite, T):
    energy, P = principal_point(principal, -inf, F, p, definite, T)
    energy, P = _add_family(energy, P, T, F, p, 2, definite)
    return _add_family(energy, P, T, F, p, 6, definite)


@kernel_pair
def _evaluate_points(
    coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted
):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_points(
            _point, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
        )


@dataclass(frozen=True)
class FiberReinforced(Law):
    """A fibre-reinforced solid: stable neo-Hookean matrix plus k/2 (|F a| - 1)^2 of each family of fibres.

    With one family it is transversely isotropic: along the fibres Young's modulus is `young + fiber_stiffness`, and
    `young` across them. Defined for every deformation; fibres resist compression as the matrix does.

    Attributes:
        fiber: Direction of the fibres at rest, one vector or one per element [m, 3]; any length.
        fiber_stiffness: What the fibres add to Young's modulus in their direction [Pa].
        second_fiber: Direction of a second family, or None.
        second_stiffness: What the second family adds in its direction [Pa].
    """

    fiber: ArrayLike | FiberDirections = (1.0, 0.0, 0.0)
    fiber_stiffness: float = 1e6
    second_fiber: ArrayLike | FiberDirections | None = None
    second_stiffness: float = 0.0

    name = "fiber_reinforced"
    is_rotation_invariant = True
    evaluate_points = _evaluate_points

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("fiber_stiffness", "second_stiffness"):
            value = getattr(self, key)
            if not (isfinite(value) and value >= 0.0):
                raise InputError(f"{key} must be at least 0 Pa, not {value}")
        if self.second_fiber is None and self.second_stiffness > 0.0:
            raise InputError("second_stiffness needs the direction second_fiber")
        object.__setattr__(self, "fiber", FiberDirections(self.fiber, "fiber"))
        if self.second_fiber is not None:
            object.__setattr__(self, "second_fiber", FiberDirections(self.second_fiber, "second_fiber"))

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of elements: Lame's, then stiffness and direction of each family."""
        rows = np.zeros((len(elements), 10))
        rows[:, :2] = self.lame
        rows[:, 2] = self.fiber_stiffness
        rows[:, 3:6] = self.fiber.of(elements)  # type: ignore[union-attr]
        if self.second_fiber is not None:
            rows[:, 6] = self.second_stiffness
            rows[:, 7:10] = self.second_fiber.of(elements)  # type: ignore[union-attr]
        return rows
