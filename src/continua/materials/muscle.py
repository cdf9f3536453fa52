"""Skeletal muscle: a quasi-incompressible Mooney-Rivlin matrix with fibres that can be activated."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.materials.fiber import FiberDirections, add_fiber, fiber_stretch
from continua.materials.law import Law
from continua.materials.registry import constant, law_function, register
from continua.materials.volume_measures import log_ratio
from continua.validation import whole_numbers

__all__ = ["Muscle"]

ACTIVE_INTEGRAL = 0.508 / 0.75  # of the whole active bell
PASSIVE_LINEAR = 1.4  # normalised length from which the passive force grows linearly


@law_function
def _principal(f0, f1, f2, p):
    """c10 (I1 J^-2/3 - 3) + c01 (I2 J^-4/3 - 3) + K/2 (log J)^2, by the logarithms of the stretches.

    With y_i = f_i dW/df_i and z_ij = f_j dy_i/df_j every term is a sum of powers of the stretches.
    """
    c01 = 0.5 * p[1] * p[2]
    c10 = 0.5 * p[1] - c01
    K = p[0] + 2.0 / 3.0 * p[1]
    s0, s1, s2 = f0 * f0, f1 * f1, f2 * f2
    log_j = log(f0 * f1 * f2)
    c = exp(-2.0 / 3.0 * log_j)
    a0, a1, a2 = c * s0, c * s1, c * s2  # squares of the stretches at constant volume
    b0, b1, b2 = a1 * a2, a0 * a2, a0 * a1  # their inverses
    i1, i2 = a0 + a1 + a2, b0 + b1 + b2
    v = K * log_j  # not a power of J: that would blow up for wide inverted elements
    y0 = c10 * (2.0 * a0 - 2.0 / 3.0 * i1) + c01 * (2.0 / 3.0 * i2 - 2.0 * b0) + v
    y1 = c10 * (2.0 * a1 - 2.0 / 3.0 * i1) + c01 * (2.0 / 3.0 * i2 - 2.0 * b1) + v
    y2 = c10 * (2.0 * a2 - 2.0 / 3.0 * i1) + c01 * (2.0 / 3.0 * i2 - 2.0 * b2) + v
    m, n = 4.0 / 9.0 * i1 * c10, 4.0 / 9.0 * i2 * c01
    u = K + m + n
    q, r = 4.0 / 3.0 * c10, 4.0 / 3.0 * c01
    z00, z11, z22 = u + q * a0 + r * b0, u + q * a1 + r * b1, u + q * a2 + r * b2
    z01 = u - q * (a0 + a1) - r * (b0 + b1)
    z02 = u - q * (a0 + a2) - r * (b0 + b2)
    z12 = u - q * (a1 + a2) - r * (b1 + b2)
    energy = c10 * (i1 - 3.0) + c01 * (i2 - 3.0) + 0.5 * K * log_j * log_j
    return (
        energy,
        (y0 / f0, y1 / f1, y2 / f2),
        (
            (z00 - y0) / s0,
            (z11 - y1) / s1,
            (z22 - y2) / s2,
            z01 / (f0 * f1),
            z02 / (f0 * f2),
            z12 / (f1 * f2),
        ),
    )


@law_function
def _active(l):
    """Return the integral, the value and the slope of the active force at the normalised length l."""
    if l <= 0.4 or l >= 1.6:
        return (0.0 if l < 1.0 else ACTIVE_INTEGRAL), 0.0, 0.0
    if l < 0.6:
        x = l - 0.4
        return 3.0 * x * x * x, 9.0 * x * x, 18.0 * x
    if l <= 1.4:
        x = l - 1.0
        return 0.024 + x + 0.4 - 4.0 / 3.0 * (x * x * x + 0.064), 1.0 - 4.0 * x * x, -8.0 * x
    x = l - 1.6
    return ACTIVE_INTEGRAL + 3.0 * x * x * x, 9.0 * x * x, 18.0 * x


@law_function
def _passive(l):
    """Return the integral, the value and the slope of the passive force at the normalised length l."""
    x = min(l, PASSIVE_LINEAR) - 1.0
    if x <= 0.0:
        return 0.0, 0.0, 0.0
    grown = exp(6.6 * x)
    integral, value, slope = 0.05 * ((grown - 1.0) / 6.6 - x), 0.05 * (grown - 1.0), 0.33 * grown
    d = max(l - PASSIVE_LINEAR, 0.0)
    return integral + d * (value + 0.5 * slope * d), value + slope * d, slope


@law_function
def _add_fibers(energy, P, F, p, definite, T):
    strength, optimum, activation = p[3], p[4], p[5]
    a = (p[6], p[7], p[8])
    w, stretch = fiber_stretch(F, a)
    l = stretch / optimum
    e0, t0, s0 = _active(l)
    e1, t1, s1 = _passive(l)
    energy += strength * optimum * (activation * e0 + e1)
    tension = strength * (activation * t0 + t1)
    slope = strength / optimum * (activation * s0 + s1)
    return energy, add_fiber(P, T, a, w, stretch, tension, slope, definite)


@register(
    "muscle",
    title="Muscle",
    summary="Skeletal muscle: a nearly incompressible Mooney-Rivlin matrix with fibres that contract when activated.",
)
@dataclass(frozen=True)
class Muscle(Law):
    """Muscle (Irving 2007): an isotropic Mooney-Rivlin matrix plus fibres with an active and a passive tension.

    Matrix: c10 (I1 J^-2/3 - 3) + c01 (I2 J^-4/3 - 3) + K/2 (log J)^2 with c10 + c01 = mu/2 and the bulk
    modulus K. Below a stretch of 0.25 its stress is extrapolated linearly. Fibres pull with
    `strength` (activation fa(l) + fp(l)) at the length l = |F a| / `optimum`: fa is a bell between 0.4 and 1.6, fp
    grows exponentially from 1 on and linearly from 1.4 on. Without strength it is Mooney-Rivlin rubber.

    Attributes:
        second_invariant: Share of the second invariant in the shear stiffness, 0 to 1; 0 is neo-Hookean.
        fiber: Direction of the fibres at rest, one vector or one per element [m, 3]; any length.
        activation: Fraction of the active force, 0 to 1.
        strength: Largest active stress [Pa].
        optimum: Stretch at which the active force is largest.
    """

    young: float = constant(
        6e4,
        "Young's modulus of the matrix.",
        unit="Pa",
        ge=0.0,
        scene={"gt": 0.0, "le": 1e13},
    )
    poisson: float = constant(
        0.49,
        "Poisson's ratio of the matrix.",
        gt=-1.0,
        lt=0.5,
        hint="0.5 is incompressible; use 0.49 or less, or 'incompressible: true' of the body",
    )
    density: float = constant(1060.0, "Mass per volume at rest.", unit="kg/m³", gt=0.0, scene={"le": 1e6})
    second_invariant: float = constant(
        0.25, "Share of the second invariant in the shear stiffness; 0 is neo-Hookean.", ge=0.0, le=1.0
    )
    fiber: ArrayLike | FiberDirections = constant(
        (1.0, 0.0, 0.0), "Direction of the fibres at rest.", vector=True, in_parts=True
    )
    activation: float = constant(
        0.0, "Fraction of the active force.", ge=0.0, le=1.0, in_parts=True, in_events=True
    )
    strength: float = constant(
        3e5,
        "Largest active stress of the fibres.",
        unit="Pa",
        ge=0.0,
        scene={"le": 1e13},
        in_parts=True,
    )
    optimum: float = constant(1.4, "Stretch at which the active force is largest.", ge=0.2, le=5.0)

    principal = _principal
    volume = log_ratio
    least_stretch = 0.25
    anisotropic = _add_fibers
    is_rotation_invariant = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "fiber", FiberDirections(self.fiber, "fiber"))

    def element_constants(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the constants of elements: Lame's, the second invariant's part, the fibre's, its direction."""
        elements = whole_numbers(elements, "elements", (None,)).astype(np.int32)
        rows = np.empty((len(elements), 9))
        rows[:, :6] = *self.lame, self.second_invariant, self.strength, self.optimum, self.activation
        rows[:, 6:] = self.fiber.of(elements)  # type: ignore[union-attr]
        return rows
