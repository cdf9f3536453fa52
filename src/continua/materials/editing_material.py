"""A law for shape and image editing (Georgii 2007): no transverse contraction, adjustable shear stiffness."""

from __future__ import annotations

from dataclasses import dataclass

from continua.materials.corotated import principal
from continua.materials.law import Law
from continua.materials.registry import constant, law_function, register
from continua.materials.spd_projection import project_spd

__all__ = ["EditingMaterial"]


@law_function
def _add_shear(T, F, i, j, weight):
    """Add weight q to the energy, q = (a.b)^2 / (|a|^2 + |b|^2) of the columns a, b = i, j of F.

    Returns the energy and its gradients by a (3) and b (3); the second derivatives are added to T [9, 9].
    """
    a, b = (F[i], F[3 + i], F[6 + i]), (F[j], F[3 + j], F[6 + j])
    m = a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + b[0] * b[0] + b[1] * b[1] + b[2] * b[2]
    if m < 1e-18:  # both columns vanish: no angle between them
        return 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    c = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    s = 2.0 * weight * c / m
    t = s * c / m
    u, v, w = 2.0 * weight / m, 2.0 * s / m, 4.0 * t / m
    for r in range(3):
        for k in range(3):
            mixed = v * (a[r] * b[k] + b[r] * a[k])
            T[3 * r + i, 3 * k + i] += u * b[r] * b[k] - mixed + w * a[r] * a[k] - (t if r == k else 0.0)
            T[3 * r + j, 3 * k + j] += u * a[r] * a[k] - mixed + w * b[r] * b[k] - (t if r == k else 0.0)
            cross = (
                u * b[r] * a[k] - v * (b[r] * b[k] + a[r] * a[k]) + w * a[r] * b[k] + (s if r == k else 0.0)
            )
            T[3 * r + i, 3 * k + j] += cross
            T[3 * k + j, 3 * r + i] += cross
    return (
        0.5 * s * c,
        (s * b[0] - t * a[0], s * b[1] - t * a[1], s * b[2] - t * a[2]),
        (s * a[0] - t * b[0], s * a[1] - t * b[1], s * a[2] - t * b[2]),
    )


@law_function
def _add_shears(energy, P, F, p, definite, T):
    weight = p[1] * (p[2] - 1.0)
    e01, a0, b0 = _add_shear(T, F, 0, 1, weight)
    e02, a1, b1 = _add_shear(T, F, 0, 2, weight)
    e12, a2, b2 = _add_shear(T, F, 1, 2, weight)
    P = (
        P[0] + a0[0] + a1[0], P[1] + b0[0] + a2[0], P[2] + b1[0] + b2[0],
        P[3] + a0[1] + a1[1], P[4] + b0[1] + a2[1], P[5] + b1[1] + b2[1],
        P[6] + a0[2] + a1[2], P[7] + b0[2] + a2[2], P[8] + b1[2] + b2[2],
    )  # fmt: skip
    if definite:
        project_spd(T)
    return energy + e01 + e02 + e12, P


@register(
    "editing_material",
    title="Editing material",
    summary="For shape and image editing: no transverse contraction; parts rotate rather than shear, or the reverse.",
)
@dataclass(frozen=True)
class EditingMaterial(Law):
    """The modified law of Georgii (2007) for shape and image editing: stress E e_ii on the axes, a E e_ij off them.

    There is no transverse contraction, and with `shear` (a) below 1 dragged parts shear, above 1 they rotate; 1 is
    Hooke's law with a Poisson's ratio of 0. The axes are those of the rest shape, so it is
    not isotropic. For large deformations the energy is that of `Corotated` plus
    (a - 1) E/2 (u.v)^2 / (|u|^2 + |v|^2) for every pair u, v of columns of F, which is (a - 1) E e_ij^2 for
    small strains, rotation invariant, and finite for every F.

    Attributes:
        shear: Shear stiffness relative to Hooke's law, greater than 0.
    """

    young: float = constant(
        1e6, "Young's modulus: its stiffness.", unit="Pa", ge=0.0, scene={"gt": 0.0, "le": 1e13}
    )
    poisson: float = constant(
        0.0,
        "Poisson's ratio, always 0.",
        ge=0.0,
        le=0.0,
        hint="an EditingMaterial has no transverse contraction",
        in_scene=False,
    )
    shear: float = constant(
        3.0,
        "Shear stiffness relative to Hooke's law; above 1 parts rotate rather than shear.",
        gt=0.0,
        scene={"le": 1e6},
        in_parts=True,
    )

    principal = principal
    anisotropic = _add_shears
    is_rotation_invariant = True

    @property
    def constants(self) -> tuple[float, ...]:
        """Lame's constants [Pa] and the factor of shear."""
        return (*self.lame, self.shear)
