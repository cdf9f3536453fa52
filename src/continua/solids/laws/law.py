"""The one shape of a material law, and the checks that isotropic laws share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from continua.errors import InputError
from continua.numerics.kernel import KernelPair

__all__ = ["Hyperelastic", "Law", "lame"]


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Return Lame's constants (lambda, mu) [Pa] of Young's modulus and Poisson's ratio."""
    return young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))


@dataclass(frozen=True)
class Law:
    """An isotropic material given by the constants an engineer measures.

    A subclass supplies three compiled functions of the deformation gradient F [3, 3] and the Lame constants
    p = (lambda, mu); they know nothing of meshes or time:

    * `energy(F, p)`: energy density [J/m3];
    * `stress(F, p)`: first Piola-Kirchhoff stress P = d energy / d F [Pa], shape [3, 3];
    * `tangent(F, p, definite)`: dP/dF, shape [9, 9], F row by row; with `definite` projected to the nearest
      positive semidefinite matrix.

    `follows_rotation` tells the assembly which frame the small strain is measured in: the element's rotated
    one, or the rest frame.

    Attributes:
        young: Young's modulus [Pa].
        poisson: Poisson's ratio; from 0.49 on linear tetrahedra lock, 0.5 is not possible here.
        density: Mass density at rest [kg/m3].
    """

    young: float = 1e6
    poisson: float = 0.3
    density: float = 1000.0

    name: ClassVar[str]
    follows_rotation: ClassVar[bool]
    energy: ClassVar[Callable]
    stress: ClassVar[Callable]
    tangent: ClassVar[Callable]

    def __post_init__(self) -> None:
        for key in ("young", "poisson", "density"):
            if not isfinite(getattr(self, key)):
                raise InputError(f"{key} must be a finite number, not {getattr(self, key)}")
        if self.young <= 0.0:
            raise InputError(f"young must be greater than 0 Pa, not {self.young:g}")
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


@dataclass(frozen=True)
class Hyperelastic(Law):
    """A law for large strains, given by an energy of the principal stretches.

    Besides the three functions of `Law` it supplies `records`, a pair of kernels that linearises all elements
    of a mesh (see `solids.hyper_kernels`).
    """

    follows_rotation = True
    records: ClassVar[KernelPair]
