"""Fibre-reinforced: a stable neo-Hookean matrix with one or two families of elastic fibres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.materials.fiber import FiberDirections, add_fiber, fiber_stretch
from continua.materials.law import Law
from continua.materials.registry import constant, law_function, register
from continua.materials.stable_neo_hookean import principal
from continua.materials.volume_measures import volume_ratio
from continua.validation import whole_numbers

__all__ = ["FiberReinforced"]


@law_function
def _add_family(energy, P, T, F, p, k, definite):
    """Add the fibres with stiffness p[k] and direction p[k + 1 : k + 4]."""
    if p[k] == 0.0:
        return energy, P
    a = (p[k + 1], p[k + 2], p[k + 3])
    w, stretch = fiber_stretch(F, a)
    tension = p[k] * (stretch - 1.0)
    energy += 0.5 * tension * (stretch - 1.0)
    return energy, add_fiber(P, T, a, w, stretch, tension, p[k], definite)


@law_function
def _add_fibers(energy, P, F, p, definite, T):
    energy, P = _add_family(energy, P, T, F, p, 2, definite)
    return _add_family(energy, P, T, F, p, 6, definite)


@register(
    "fiber_reinforced",
    title="Fibre-reinforced",
    summary="A stable neo-Hookean matrix with one or two families of fibres.",
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

    fiber: ArrayLike | FiberDirections = constant(
        (1.0, 0.0, 0.0), "Direction of the fibres at rest.", vector=True, in_parts=True
    )
    fiber_stiffness: float = constant(
        1e6,
        "What the fibres add to Young's modulus in their direction.",
        unit="Pa",
        ge=0.0,
        scene={"le": 1e13},
        in_parts=True,
    )
    second_fiber: ArrayLike | FiberDirections | None = constant(
        None, "Direction of a second family of fibres.", vector=True
    )
    second_stiffness: float = constant(
        0.0,
        "What the second family adds to Young's modulus in its direction.",
        unit="Pa",
        ge=0.0,
        scene={"le": 1e13},
    )

    principal = principal
    volume = volume_ratio
    anisotropic = _add_fibers
    is_rotation_invariant = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.second_fiber is None and self.second_stiffness > 0.0:
            raise InputError("second_stiffness needs the direction second_fiber")
        object.__setattr__(self, "fiber", FiberDirections(self.fiber, "fiber"))
        if self.second_fiber is not None:
            object.__setattr__(self, "second_fiber", FiberDirections(self.second_fiber, "second_fiber"))

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of elements: Lame's, then stiffness and direction of each family."""
        elements = whole_numbers(elements, "elements", (None,)).astype(np.int32)
        rows = np.zeros((len(elements), 10))
        rows[:, :2] = self.lame
        rows[:, 2] = self.fiber_stiffness
        rows[:, 3:6] = self.fiber.of(elements)  # type: ignore[union-attr]
        if self.second_fiber is not None:
            rows[:, 6] = self.second_stiffness
            rows[:, 7:10] = self.second_fiber.of(elements)  # type: ignore[union-attr]
        return rows
