"""The spline law of soft tissue: soft for small strains, stiff beyond, each of compression and tension its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from numba import prange

from continua.errors import InputError
from continua.numerics import inline, kernel_pair
from continua.solids.hyper_kernels import fill_records
from continua.solids.laws.law import Hyperelastic
from continua.solids.laws.principal import principal_point
from continua.solids.point_kernels import fill_points
from continua.values import isfinite

__all__ = ["Spline"]


@inline
def _hardening(s, p):
    """Return the integral of D, D and its slope at the strain s; D is odd where both sides are alike.

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


@inline
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


@inline
def _point(F, p, definite, T):
    return principal_point(_principal, -inf, F, p, definite, T)


@kernel_pair
def _points(coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_points(
            _point, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
        )


@kernel_pair
def _records(positions, tets, rest_inverse, volumes, constants, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_records(
            _principal, positions, tets, rest_inverse, volumes, constants, -inf, records, chunk
        )


@dataclass(frozen=True)
class Spline(Hyperelastic):
    """Biphasic tissue (Irving 2007): principal stress 2 mu D(f - 1) + lambda sum (f - 1), with D a cubic and a line.

    Up to the strain `hardening_strain` the slope of D grows from 1 to `hardening`, where it stays. Compression has
    numbers of its own; without them it is like tension. Defined for every deformation, inverted ones included.

    Attributes:
        hardening_strain: Strain from which a pulled piece has its full stiffness.
        hardening: How many times stiffer it is there than at rest.
        compression_strain: The same for a pressed piece; None takes `hardening_strain`.
        compression_hardening: How many times stiffer a pressed piece gets; None takes `hardening`.
    """

    hardening_strain: float = 0.5
    hardening: float = 7.0
    compression_strain: float | None = None
    compression_hardening: float | None = None

    name = "spline"
    points = _points
    records = _records

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("hardening_strain", "hardening", "compression_strain", "compression_hardening"):
            value = getattr(self, key)
            if value is not None and not (isfinite(value) and value > 0.0):
                raise InputError(f"{key} must be greater than 0, not {value}")

    @property
    def constants(self) -> tuple[float, ...]:
        """Lame's constants [Pa]; strain and strength of hardening when pressed, and when pulled."""
        h, k = self.hardening_strain, self.hardening
        pressed = h if self.compression_strain is None else self.compression_strain
        strength = k if self.compression_hardening is None else self.compression_hardening
        return (*self.lame, pressed, strength, h, k)
