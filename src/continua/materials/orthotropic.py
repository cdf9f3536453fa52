"""Orthotropic elasticity: nine engineering constants and material axes, on Green's strain."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.materials.fiber import FiberDirections
from continua.materials.law import Law
from continua.materials.registry import constant, law_function, register
from continua.materials.spd_projection import project_spd
from continua.validation import whole_numbers

__all__ = ["Orthotropic"]

LEAST_VOLUME = 0.5  # volume ratio J below which the law resists collapse and inversion
_VOIGT = (0, 5, 4, 5, 1, 3, 4, 3, 2)  # index pairs (row by row) in the order 11, 22, 33, 23, 13, 12


@law_function
def _point(F, p, definite, T):
    """Write dP/dF and return energy density and P.

    p holds Lame's constants of the isotropic mean, the stiffness C [6, 6] in the rest frame, and that against collapse.
    """
    e00 = 0.5 * (F[0] * F[0] + F[3] * F[3] + F[6] * F[6] - 1.0)
    e11 = 0.5 * (F[1] * F[1] + F[4] * F[4] + F[7] * F[7] - 1.0)
    e22 = 0.5 * (F[2] * F[2] + F[5] * F[5] + F[8] * F[8] - 1.0)
    g12 = F[1] * F[2] + F[4] * F[5] + F[7] * F[8]
    g02 = F[0] * F[2] + F[3] * F[5] + F[6] * F[8]
    g01 = F[0] * F[1] + F[3] * F[4] + F[6] * F[7]
    s0 = p[2] * e00 + p[3] * e11 + p[4] * e22 + p[5] * g12 + p[6] * g02 + p[7] * g01
    s1 = p[8] * e00 + p[9] * e11 + p[10] * e22 + p[11] * g12 + p[12] * g02 + p[13] * g01
    s2 = p[14] * e00 + p[15] * e11 + p[16] * e22 + p[17] * g12 + p[18] * g02 + p[19] * g01
    s3 = p[20] * e00 + p[21] * e11 + p[22] * e22 + p[23] * g12 + p[24] * g02 + p[25] * g01
    s4 = p[26] * e00 + p[27] * e11 + p[28] * e22 + p[29] * g12 + p[30] * g02 + p[31] * g01
    s5 = p[32] * e00 + p[33] * e11 + p[34] * e22 + p[35] * g12 + p[36] * g02 + p[37] * g01
    energy = 0.5 * (s0 * e00 + s1 * e11 + s2 * e22 + s3 * g12 + s4 * g02 + s5 * g01)
    S = (s0, s5, s4, s5, s1, s3, s4, s3, s2)
    # dP_iJ/dF_kL = delta_ik S_JL + F_iA C_AJBL F_kB; rows 9-11 of T hold F_iA C_AJBL for one J and L
    for j in range(3):
        for l in range(3):
            for i in range(3):
                for b in range(3):
                    value = 0.0
                    for a in range(3):
                        value += F[3 * i + a] * p[2 + 6 * _VOIGT[3 * a + j] + _VOIGT[3 * b + l]]
                    T[9 + i, b] = value
            for i in range(3):
                for k in range(3):
                    value = S[3 * j + l] if i == k else 0.0
                    for b in range(3):
                        value += T[9 + i, b] * F[3 * k + b]
                    T[3 * i + j, 3 * k + l] = value
    cofactor = (
        F[4] * F[8] - F[5] * F[7], F[5] * F[6] - F[3] * F[8], F[3] * F[7] - F[4] * F[6],
        F[2] * F[7] - F[1] * F[8], F[0] * F[8] - F[2] * F[6], F[1] * F[6] - F[0] * F[7],
        F[1] * F[5] - F[2] * F[4], F[2] * F[3] - F[0] * F[5], F[0] * F[4] - F[1] * F[3],
    )  # fmt: skip
    short = min(F[0] * cofactor[0] + F[1] * cofactor[1] + F[2] * cofactor[2] - LEAST_VOLUME, 0.0)
    pressure = p[38] * short
    if short < 0.0:
        energy += 0.5 * pressure * short
        for r in range(9):
            for c in range(9):
                T[r, c] += p[38] * cofactor[r] * cofactor[c]
        for i in range(3):  # d cof_iJ / dF_kL = e_ikm e_JLN F_mN
            for j in range(3):
                k, m, l, n = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                T[3 * i + j, 3 * k + l] += pressure * F[3 * m + n]
                T[3 * i + j, 3 * m + n] += pressure * F[3 * k + l]
                T[3 * i + j, 3 * k + n] -= pressure * F[3 * m + l]
                T[3 * i + j, 3 * m + l] -= pressure * F[3 * k + n]
    if definite:
        project_spd(T)
        for r in range(9):  # where nothing remains, rounding must not leave negative eigenvalues
            T[r, r] += 1e-13 * p[38]
    return energy, (
        F[0] * s0 + F[1] * s5 + F[2] * s4 + pressure * cofactor[0],
        F[0] * s5 + F[1] * s1 + F[2] * s3 + pressure * cofactor[1],
        F[0] * s4 + F[1] * s3 + F[2] * s2 + pressure * cofactor[2],
        F[3] * s0 + F[4] * s5 + F[5] * s4 + pressure * cofactor[3],
        F[3] * s5 + F[4] * s1 + F[5] * s3 + pressure * cofactor[4],
        F[3] * s4 + F[4] * s3 + F[5] * s2 + pressure * cofactor[5],
        F[6] * s0 + F[7] * s5 + F[8] * s4 + pressure * cofactor[6],
        F[6] * s5 + F[7] * s1 + F[8] * s3 + pressure * cofactor[7],
        F[6] * s4 + F[7] * s3 + F[8] * s2 + pressure * cofactor[8],
    )


def _modulus(which: str, default: float = 1e6) -> Any:
    return constant(
        default, f"{which}.", unit="Pa", gt=0.0, scene={"le": 1e13}, in_parts=True, in_events=True
    )


def _ratio(stretched: str, contracted: str) -> Any:
    return constant(
        0.3,
        f"Poisson's ratio: contraction along the {contracted} axis when it is stretched along the {stretched}.",
        in_parts=True,
        in_events=True,
    )


@register(
    "orthotropic",
    title="Orthotropic elasticity",
    summary="Nine constants along three material axes, for wood, laminates and bone.",
)
@dataclass(frozen=True)
class Orthotropic(Law):
    """Orthotropic Hooke's law on Green's strain: energy E:C:E / 2 with E = (F^T F - I)/2, C along material axes.

    Rotation invariant, for large rotations and moderate strains (Kirchhoff material). Below a volume ratio J of 1/2 it
    also resists collapse and inversion, by k/2 (J - 1/2)^2 with k the largest stiffness along an axis.

    The constants have to be those of a stable material: a strain of negative energy is refused.

    Attributes:
        young: Young's modulus along the first axis [Pa].
        young_2: Young's modulus along the second axis [Pa].
        young_3: Young's modulus along the third axis [Pa].
        poisson_12: Contraction along the second axis when stretched along the first; poisson_21 follows from
            poisson_12 / young = poisson_21 / young_2.
        poisson_13: Contraction along the third axis when stretched along the first.
        poisson_23: Contraction along the third axis when stretched along the second.
        shear_12: Shear modulus between the first and the second axis [Pa].
        shear_13: Shear modulus between the first and the third axis [Pa].
        shear_23: Shear modulus between the second and the third axis [Pa].
        axis: First axis at rest, one vector or one per element [m, 3]; any length.
        second_axis: Second axis; its part perpendicular to the first is taken. The third is perpendicular to both.
        poisson: Always 0; the three ratios above replace it.
    """

    young: float = _modulus("Young's modulus along the first axis")
    poisson: float = constant(
        0.0,
        "Always 0.",
        ge=0.0,
        le=0.0,
        hint="an Orthotropic law has poisson_12, poisson_13 and poisson_23",
        in_scene=False,
    )
    young_2: float = _modulus("Young's modulus along the second axis")
    young_3: float = _modulus("Young's modulus along the third axis")
    poisson_12: float = _ratio("first", "second")
    poisson_13: float = _ratio("first", "third")
    poisson_23: float = _ratio("second", "third")
    shear_12: float = _modulus("Shear modulus between the first and second axis", 4e5)
    shear_13: float = _modulus("Shear modulus between the first and third axis", 4e5)
    shear_23: float = _modulus("Shear modulus between the second and third axis", 4e5)
    axis: ArrayLike | FiberDirections = constant(
        (1.0, 0.0, 0.0), "First material axis at rest.", vector=True, in_parts=True
    )
    second_axis: ArrayLike | FiberDirections = constant(
        (0.0, 1.0, 0.0),
        "Second material axis at rest; its part perpendicular to the first is taken.",
        vector=True,
        in_parts=True,
    )

    point = _point
    is_rotation_invariant = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("axis", "second_axis"):
            object.__setattr__(self, name, FiberDirections(getattr(self, name), name))
        self._check_stable()
        one, two = self.axis.vectors, self.second_axis.vectors  # type: ignore[union-attr]
        if one.ndim == two.ndim == 2 and len(one) != len(two):
            raise InputError(
                f"axis has {len(one)} vectors and second_axis {len(two)}; give one for each element"
            )
        if (np.linalg.norm(np.cross(one, two), axis=-1) < 1e-6).any():
            raise InputError("second_axis must not be parallel to axis; give two different directions")

    def _check_stable(self) -> None:
        moduli = {"young": self.young, "young_2": self.young_2, "young_3": self.young_3}
        pairs = (("poisson_12", "young", "young_2"), ("poisson_13", "young", "young_3"))
        for name, first, second in (*pairs, ("poisson_23", "young_2", "young_3")):
            limit = sqrt(moduli[first] / moduli[second])
            if abs(getattr(self, name)) >= limit:
                raise InputError(
                    f"{name} must be between -{limit:.6g} and {limit:.6g}, the root of {first} / {second}, not "
                    f"{getattr(self, name):g}, or some strain has negative energy"
                )
        compliance = self._compliance
        scale = np.sqrt(np.diag(compliance))
        if np.linalg.eigvalsh(compliance / np.outer(scale, scale))[0] <= 1e-12:
            raise InputError(
                "poisson_12, poisson_13 and poisson_23 are together too large for a stable material: some strain has "
                "negative energy; reduce one of them"
            )

    @property
    def _compliance(self) -> NDArray[np.float64]:
        """Strains along the axes by stresses along the axes [1/Pa], shape [3, 3]."""
        s12, s13 = -self.poisson_12 / self.young, -self.poisson_13 / self.young
        s23 = -self.poisson_23 / self.young_2
        return np.array(
            [[1.0 / self.young, s12, s13], [s12, 1.0 / self.young_2, s23], [s13, s23, 1.0 / self.young_3]]
        )

    @property
    def _stiffness(self) -> NDArray[np.float64]:
        """Stiffness along the axes [Pa], shape [6, 6], in the order 11, 22, 33, 23, 13, 12 with engineering shears."""
        table = np.zeros((6, 6))
        table[:3, :3] = np.linalg.inv(self._compliance * self.young) * self.young
        table[:3, :3] = 0.5 * (table[:3, :3] + table[:3, :3].T)
        table[3, 3], table[4, 4], table[5, 5] = self.shear_23, self.shear_13, self.shear_12
        return table

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's constants (lambda, mu) [Pa] of the isotropic mean over all directions (Voigt 1889)."""
        C = self._stiffness
        axial, mixed = C[0, 0] + C[1, 1] + C[2, 2], C[0, 1] + C[0, 2] + C[1, 2]
        mu = float((axial - mixed + 3.0 * (C[3, 3] + C[4, 4] + C[5, 5])) / 15.0)
        return float((axial + 2.0 * mixed) / 9.0 - 2.0 / 3.0 * mu), mu

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of elements: Lame's of the mean, the stiffness in the rest frame, that at collapse."""
        elements = whole_numbers(elements, "elements", (None,)).astype(np.int32)
        stiffness = self._stiffness
        rows = np.empty((len(elements), 39))
        rows[:, :2] = self.lame
        rows[:, 38] = stiffness.diagonal()[:3].max()
        one = self.axis.of(elements)  # type: ignore[union-attr]
        two = self.second_axis.of(elements)  # type: ignore[union-attr]
        two = two - np.einsum("mi,mi->m", one, two)[:, None] * one
        two /= np.linalg.norm(two, axis=1)[:, None]
        axes = np.stack([one, two, np.cross(one, two)], axis=1)
        pairs = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
        # strains along the axes (engineering shears) by strains in the rest frame, Bond's matrix
        turn = np.empty((len(elements), 6, 6))
        for r, (a, b) in enumerate(pairs):
            for c, (i, j) in enumerate(pairs):
                value = axes[:, a, i] * axes[:, b, j]
                if i != j:
                    value = value + axes[:, a, j] * axes[:, b, i]
                turn[:, r, c] = value * (1.0 if a == b else 2.0) * (1.0 if i == j else 0.5)
        rows[:, 2:38] = np.einsum("mra,rs,msb->mab", turn, stiffness, turn, optimize=True).reshape(-1, 36)
        return rows
