"""The interface of material laws, and the checks that they share."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.materials.registry import LawFunction, constant, constants_of
from continua.validation import array, flag, whole_numbers

if TYPE_CHECKING:
    from continua.numerics.kernel import KernelPair

__all__ = ["Hyperelastic", "Law", "lame"]


def lame(young: float, poisson: float) -> tuple[float, float]:
    """Return Lame's constants (lambda, mu) [Pa] of Young's modulus and Poisson's ratio."""
    if poisson == 0.5:
        raise InputError(
            "a material with a Poisson's ratio of 0.5 has no finite bulk modulus; soft bodies of tetrahedra, "
            "hexahedra or triangles of order 1 keep the volume by pressures instead; elsewhere use 0.49 or less"
        )
    return young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))


@dataclass(frozen=True)
class Law:
    """A material law with engineering constants.

    A subclass is registered (see `materials.registry`) and supplies compiled functions of the deformation gradient F
    and the `constants` p, either

    * `point(F, p, definite, T)`: writes dP/dF into the first nine rows of T [27, 9] and returns the energy density and
      P, with F and P as tuples of nine; or
    * `principal(f0, f1, f2, p)`: returns energy density, gradient and Hessian (00, 11, 22, 01, 02, 12) in the principal
      stretches. Below `least_stretch` the stress is extrapolated linearly. `anisotropic(energy, P, F, p, definite, T)`,
      if there is one, adds to the result.

    `volume` is the measure g of the change of volume if the energy is lambda/2 g^2 plus terms without Lame's lambda
    (see `materials.volume_measures`); elements that average the volume need it. With `point` it must be the trace of
    F - 1.

    `is_small_strain` marks laws for small strains only; `is_rotation_invariant` tells whether the strain is measured in
    the rotated frame of the element or in the rest frame. `constant_stiffness` marks laws whose force is linear in the
    displacement, so that the stiffness need not be assembled at every step.

    Attributes:
        young: Young's modulus [Pa]; 0 is a material without stiffness, whose nodes fall independently.
        poisson: Poisson's ratio, at most 0.5; with 0.5 the body is incompressible, which tetrahedra, hexahedra and
            triangles of order 1 can be.
        density: Mass density at rest [kg/m3].
    """

    young: float = constant(
        1e6,
        "Young's modulus: its stiffness; 0 is a material without stiffness.",
        unit="Pa",
        ge=0.0,
        scene={"le": 1e13},
        in_parts=True,
        in_events=True,
    )
    poisson: float = constant(
        0.3,
        "Poisson's ratio: how much it keeps its volume (0.5: the body is incompressible).",
        gt=-1.0,
        le=0.5,
        hint="0.5 is incompressible",
        in_parts=True,
        in_events=True,
    )
    density: float = constant(
        1000.0,
        "Mass per volume at rest.",
        unit="kg/m³",
        gt=0.0,
        scene={"le": 1e6},
        in_parts=True,
        in_events=True,
    )

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    is_small_strain: ClassVar[bool] = False
    is_rotation_invariant: ClassVar[bool]
    constant_stiffness: ClassVar[bool] = False
    point: ClassVar[LawFunction | None] = None
    principal: ClassVar[LawFunction]
    least_stretch: ClassVar[float] = -inf
    volume: ClassVar[LawFunction | None] = None
    anisotropic: ClassVar[LawFunction | None] = None

    def __post_init__(self) -> None:
        for key, (_, description) in constants_of(self).items():
            description.check(key, getattr(self, key))

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants (lambda, mu) [Pa]."""
        return lame(self.young, self.poisson)

    @property
    def constants(self) -> tuple[float, ...]:
        """The constants that the kernels take; the first two are Lame's."""
        return self.lame

    @property
    def rounding_amplification(self) -> float:
        """Rounding errors of the stress relative to those of a closed formula."""
        return 1.0

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of the given elements, shape [len(elements), k]."""
        elements = whole_numbers(elements, "elements", (None,)).astype(np.int32)
        return np.tile(np.array(self.constants), (len(elements), 1))

    @property
    def evaluate_points(self) -> KernelPair:
        """The kernels that evaluate the law at quadrature points, see `materials.point_kernels`."""
        from continua.materials.law_kernels import points_kernel

        return points_kernel(type(self))

    @property
    def mean_volume_kernels(self) -> tuple[KernelPair, KernelPair]:
        """The kernels of the measure of volume, and of the law under a given pressure; see `mean_volume_points`."""
        from continua.materials.law_kernels import pressure_points_kernel, volumes_kernel

        return volumes_kernel(type(self)), pressure_points_kernel(type(self))

    @property
    def volume_ratio_kernels(self) -> tuple[KernelPair, KernelPair]:
        """Those of `mean_volume_kernels` with the measure J - 1, whatever the law's own is."""
        from continua.materials.law_kernels import ratio_points_kernel, ratio_volumes_kernel

        return ratio_volumes_kernel(type(self)), ratio_points_kernel(type(self))

    def energy(self, F: ArrayLike) -> NDArray[np.float64]:
        """Return the energy density [J/m3] at deformation gradients F [..., 3, 3]."""
        return self._evaluate(F, False)[..., -1]

    def stress(self, F: ArrayLike) -> NDArray[np.float64]:
        """Return the first Piola-Kirchhoff stress P = d energy / d F [Pa], shape [..., 3, 3]."""
        records = self._evaluate(F, False)
        return records[..., 9:18].reshape(*records.shape[:-1], 3, 3).copy()

    def tangent(self, F: ArrayLike, definite: bool = False) -> NDArray[np.float64]:
        """Return dP/dF [Pa], shape [..., 9, 9], F and P row by row.

        With `definite` it is projected to a positive semidefinite one, as in the assembly.
        """
        from continua.materials.point_kernels import upper_to_full

        return upper_to_full(self._evaluate(F, definite)[..., 18:-1])

    def _evaluate(self, F: ArrayLike, definite: bool) -> NDArray[np.float64]:
        """Return the records of `materials.point_kernels` for deformation gradients F [..., 3, 3]."""
        from continua.materials.point_kernels import CHUNK, POINT

        definite = flag(definite, "'definite' of a tangent")
        given = array(F, "a deformation gradient", finite=False)
        if given.ndim < 2 or given.shape[-2:] != (3, 3):
            raise InputError(f"a deformation gradient must have the shape [3, 3], not {list(given.shape)}")
        F, count = given, given.size // 9
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
    """An isotropic law for large strains, given by an energy of the principal stretches.

    Linear tetrahedra of such a law are linearised in their principal frame, which needs less than a general point.
    """

    is_rotation_invariant = True

    @property
    def evaluate_tets(self) -> KernelPair:
        """The kernels that evaluate the law in linear tetrahedra, see `materials.tet_kernels`."""
        from continua.materials.law_kernels import tets_kernel

        return tets_kernel(type(self))
