"""The interface of material laws, and the checks that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.materials.point_kernels import CHUNK, POINT, upper_to_full
from continua.numerics.kernel import KernelPair
from continua.values import isfinite

__all__ = ["Hyperelastic", "Law", "lame"]


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Return Lame's constants (lambda, mu) [Pa] of Young's modulus and Poisson's ratio."""
    return young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))


@dataclass(frozen=True)
class Law:
    """A material law with the constants an engineer measures.

    A subclass supplies `evaluate_points`, a pair of kernels that evaluates energy, stress and tangent at many points at
    once (see `materials.point_kernels`), and `constants`, the numbers that those kernels take.

    `is_small_strain` marks laws for small strains only; `is_rotation_invariant` tells whether the strain is measured in
    the rotated frame of the element or in the rest frame. `constant_stiffness` marks laws whose force is linear in the
    displacement, so that the stiffness need not be assembled at every step.

    Attributes:
        young: Young's modulus [Pa]; 0 is a material without stiffness, which falls like dust.
        poisson: Poisson's ratio, less than 0.5; from 0.49 on linear tetrahedra lock.
        density: Mass density at rest [kg/m3].
    """

    young: float = 1e6
    poisson: float = 0.3
    density: float = 1000.0

    name: ClassVar[str]
    is_small_strain: ClassVar[bool] = False
    is_rotation_invariant: ClassVar[bool]
    constant_stiffness: ClassVar[bool] = False
    evaluate_points: ClassVar[KernelPair]

    def __post_init__(self) -> None:
        for key in ("young", "poisson", "density"):
            if not isfinite(getattr(self, key)):
                raise InputError(f"{key} must be a finite number, not {getattr(self, key)}")
        if self.young < 0.0:
            raise InputError(f"young must be at least 0 Pa, not {self.young:g}")
        if not -1.0 < self.poisson < 0.5:
            raise InputError(
                f"poisson must be greater than -1 and less than 0.5, not {self.poisson:g} "
                "(0.5 is incompressible; use 0.49 or less)"
            )
        if self.density <= 0.0:
            raise InputError(f"density must be greater than 0 kg/m3, not {self.density:g}")

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants (lambda, mu) [Pa]."""
        return lame(self.young, self.poisson)

    @property
    def constants(self) -> tuple[float, ...]:
        """The constants that the kernels take; the first two are Lame's."""
        return self.lame

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of the given elements, shape [len(elements), k]."""
        return np.tile(np.array(self.constants), (len(elements), 1))

    def energy(self, F: ArrayLike) -> NDArray[np.float64]:
        """Return the energy density [J/m3] at deformation gradients F [..., 3, 3]."""
        return self._evaluate(F, False)[..., POINT - 1]

    def stress(self, F: ArrayLike) -> NDArray[np.float64]:
        """Return the first Piola-Kirchhoff stress P = d energy / d F [Pa], shape [..., 3, 3]."""
        records = self._evaluate(F, False)
        return records[..., 9:18].reshape(*records.shape[:-1], 3, 3).copy()

    def tangent(self, F: ArrayLike, definite: bool = False) -> NDArray[np.float64]:
        """Return dP/dF [Pa], shape [..., 9, 9], F and P row by row.

        With `definite` it is projected to a positive semidefinite one, as in the assembly.
        """
        return upper_to_full(self._evaluate(F, definite)[..., 18:-1])

    def _evaluate(self, F: ArrayLike, definite: bool) -> NDArray[np.float64]:
        """Return the records of `materials.point_kernels` for deformation gradients F [..., 3, 3]."""
        F = np.asarray(F, dtype=np.float64)
        if F.ndim < 2 or F.shape[-2:] != (3, 3):
            raise InputError(f"a deformation gradient has the shape [3, 3], not {F.shape}")
        count = F.size // 9
        records = np.empty((count, 1, POINT))
        # an "element" of three nodes at the columns of F, whose shape functions have the unit vectors as gradients
        self.evaluate_points.serial(
            np.ascontiguousarray(np.swapaxes(F, -1, -2).reshape(-1, 3)),
            np.arange(3 * count, dtype=np.int32).reshape(count, 3),
            np.tile(np.eye(3), (count, 1, 1, 1)),
            0.0,
            self.element_constants(np.arange(count, dtype=np.int32)),
            None,
            definite,
            records,
            np.empty(-(-count // CHUNK), np.int64),
        )
        return records.reshape(*F.shape[:-2], POINT)


@dataclass(frozen=True)
class Hyperelastic(Law):
    """A law for large strains, given by an energy of the principal stretches.

    Besides `evaluate_points` it supplies `evaluate_tets`, a pair of kernels for linear tetrahedra, whose single point
    needs less (see `materials.tet_kernels`).
    """

    is_rotation_invariant = True
    evaluate_tets: ClassVar[KernelPair]
