"""Spline-based tissue (Irving 2007): soft at small strains, stiff beyond, separately in tension and compression."""

from __future__ import annotations

from dataclasses import dataclass

from continua.materials.law import Hyperelastic
from continua.materials.registry import constant, law_function, register
from continua.materials.volume_measures import stretch_trace

__all__ = ["SplineHyperelastic"]


@law_function
def _hardening(s, p):
    """Return the integral of D, D and its slope at the strain s; D is odd if both sides are equal.

    D(s) = s (1 + (k - 1)/(3 h^2) s^2) up to the strain h, and k s - 2/3 h (k - 1) beyond: slope 1 at rest, k from h.
    """
    if s < 0.0:
        h, k, x = p[2], p[3], -s
    else:
        h, k, x = p[4], p[5], s
    if x < h:
        b = (k - 1.0) / (3.0 * h * h) * x * x
        integral, value, slope = x * x * (0.5 + 0.25 * b), x * (1.0 + b), 1.0 + 3.0 * b
    else:
        shift = 2.0 / 3.0 * h * (k - 1.0)
        # the integral up to h, h^2 (1/2 + (k - 1)/12), makes the constant
        integral, value, slope = 0.5 * k * x * x - shift * x + 0.25 * h * h * (k - 1.0), k * x - shift, k
    return integral, (value if s > 0.0 else -value), slope


@law_function
def _principal(f0, f1, f2, p):
    lam, mu = p[0], p[1]
    e0, g0, h0 = _hardening(f0 - 1.0, p)
    e1, g1, h1 = _hardening(f1 - 1.0, p)
    e2, g2, h2 = _hardening(f2 - 1.0, p)
    trace = f0 + f1 + f2 - 3.0
    t = lam * trace
    energy = 2.0 * mu * (e0 + e1 + e2) + 0.5 * t * trace
    gradient = (2.0 * mu * g0 + t, 2.0 * mu * g1 + t, 2.0 * mu * g2 + t)
    return energy, gradient, (2.0 * mu * h0 + lam, 2.0 * mu * h1 + lam, 2.0 * mu * h2 + lam, lam, lam, lam)


@register(
    "spline_hyperelastic",
    title="Spline-based tissue",
    summary="Soft tissue: soft at small strains, stiffer beyond.",
)
@dataclass(frozen=True)
class SplineHyperelastic(Hyperelastic):
    """Biphasic tissue (Irving 2007): principal stress 2 mu D(f - 1) + lambda sum (f - 1), with D a cubic and a line.

    Up to the strain `hardening_strain` the slope of D grows from 1 to `hardening`, then it is constant. Compression may
    have its own constants; by default it equals tension. Defined for every deformation, including inversion.

    Attributes:
        hardening_strain: Tensile strain at which the stiffness has reached its final value.
        hardening: Ratio of the final stiffness to that at rest.
        compression_strain: The same strain in compression; None takes `hardening_strain`.
        compression_hardening: The same ratio in compression; None takes `hardening`.
    """

    hardening_strain: float = constant(
        0.5, "Strain at which the stiffness has reached its final value.", gt=0.0, scene={"le": 100.0}
    )
    hardening: float = constant(
        7.0, "Ratio of the final stiffness to that at rest.", gt=0.0, scene={"le": 1e6}
    )
    compression_strain: float | None = constant(
        None, "The same strain in compression; by default as in tension.", gt=0.0, scene={"le": 100.0}
    )
    compression_hardening: float | None = constant(
        None, "The same ratio in compression; by default as in tension.", gt=0.0, scene={"le": 1e6}
    )

    principal = _principal
    volume = stretch_trace

    @property
    def constants(self) -> tuple[float, ...]:
        """Lame's constants [Pa]; strain and ratio of hardening in compression, and in tension."""
        h, k = self.hardening_strain, self.hardening
        compression = h if self.compression_strain is None else self.compression_strain
        ratio = k if self.compression_hardening is None else self.compression_hardening
        return (*self.lame, compression, ratio, h, k)
