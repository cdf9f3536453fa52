"""The kernels of a law, made from its functions: written once for all laws, compiled for each.

A law has a function `point`, or `principal` for the isotropic part and perhaps `anisotropic` for what is added to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import prange

from continua.materials.mean_volume_points import fill_pressure_points, fill_volumes
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import (
    extended_volume,
    principal_point,
    principal_pressure_point,
)
from continua.materials.tet_kernels import fill_records
from continua.numerics import inline, kernel_pair
from continua.numerics.kernel import KernelPair, instantiate, kernel_factory
from continua.numerics.mat3 import signed_svd

if TYPE_CHECKING:
    from continua.materials.law import Hyperelastic, Law

__all__ = ["points_kernel", "pressure_points_kernel", "tets_kernel", "volumes_kernel"]

# the names that stand for the functions of a law in the templates below
POINT: Any = None
PRINCIPAL: Any = None
ANISOTROPIC: Any = None
VOLUME: Any = None
TRACE: Any = None
LEAST_STRETCH = 0.0


def _isotropic_point(F, p, definite, T):
    return principal_point(PRINCIPAL, LEAST_STRETCH, F, p, definite, T)


def _anisotropic_point(F, p, definite, T):
    energy, P = principal_point(PRINCIPAL, LEAST_STRETCH, F, p, definite, T)
    return ANISOTROPIC(energy, P, F, p, definite, T)


def _trace(F):
    return F[0] + F[4] + F[8] - 3.0


def _volume(F):
    _, f, _ = signed_svd(F)
    return extended_volume(VOLUME, f[0], f[1], f[2], LEAST_STRETCH)[0]


def _linear_pressure_point(F, p, definite, T):
    energy, P = POINT(F, p, definite, T)
    s = p[p.shape[0] - 1]
    P = (P[0] + s, P[1], P[2], P[3], P[4] + s, P[5], P[6], P[7], P[8] + s)
    return energy + 0.5 * s * TRACE(F), P, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def _isotropic_pressure_point(F, p, definite, T):
    return principal_pressure_point(PRINCIPAL, VOLUME, LEAST_STRETCH, F, p, definite, T)


def _anisotropic_pressure_point(F, p, definite, T):
    energy, P, G = principal_pressure_point(PRINCIPAL, VOLUME, LEAST_STRETCH, F, p, definite, T)
    energy, P = ANISOTROPIC(energy, P, F, p, definite, T)
    return energy, P, G


def _evaluate_volumes(coefficients, elements, gradients, plane, plastic, volumes, chunks):
    for chunk in prange(chunks.shape[0]):
        fill_volumes(VOLUME, coefficients, elements, gradients, plane, plastic, volumes, chunk)


def _evaluate_pressure_points(
    coefficients,
    elements,
    gradients,
    plane,
    constants,
    plastic,
    definite,
    records,
    measure_gradients,
    inverted,
):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_pressure_points(
            POINT, coefficients, elements, gradients, plane, constants, plastic, definite, records,
            measure_gradients, chunk,
        )  # fmt: skip


def _evaluate_points(
    coefficients, elements, gradients, plane, constants, plastic, definite, records, inverted
):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_points(
            POINT, coefficients, elements, gradients, plane, constants, plastic, definite, records, chunk
        )


def _evaluate_tets(positions, tets, rest_inverse, volumes, constants, records, inverted):
    for chunk in prange(inverted.shape[0]):
        inverted[chunk] = fill_records(
            PRINCIPAL, positions, tets, rest_inverse, volumes, constants, LEAST_STRETCH, records, chunk
        )


@kernel_factory
def points_kernel(law: type[Law]) -> KernelPair:
    """Return the kernels that fill the records of `materials.point_kernels` for a law."""
    point = law.point
    source = law.principal.source if point is None else point.source
    if point is None:
        values = {"PRINCIPAL": law.principal, "LEAST_STRETCH": law.least_stretch}
        template = _isotropic_point
        if law.anisotropic is not None:
            values["ANISOTROPIC"] = law.anisotropic
            template, source = _anisotropic_point, law.anisotropic.source
        point = inline(instantiate(template, source, f"{law.__name__}_point", **values))
    return kernel_pair(instantiate(_evaluate_points, source, f"{law.__name__}_evaluate_points", POINT=point))


@kernel_factory
def tets_kernel(law: type[Hyperelastic]) -> KernelPair:
    """Return the kernels that fill the records of `materials.tet_kernels` for a law."""
    values = {"PRINCIPAL": law.principal, "LEAST_STRETCH": law.least_stretch}
    name = f"{law.__name__}_evaluate_tets"
    return kernel_pair(instantiate(_evaluate_tets, law.principal.source, name, **values))


def _linear_trace(law: type[Law]) -> Any:
    return inline(instantiate(_trace, law.point.source, f"{law.__name__}_trace"))  # type: ignore[union-attr]


@kernel_factory
def volumes_kernel(law: type[Law]) -> KernelPair:
    """Return the kernels that evaluate a law's measure of volume; see `materials.mean_volume_points`."""
    assert law.volume is not None
    if law.point is not None:
        source, measure = law.point.source, _linear_trace(law)
    else:
        source = law.principal.source
        values = {"VOLUME": law.volume, "LEAST_STRETCH": law.least_stretch}
        measure = inline(instantiate(_volume, source, f"{law.__name__}_volume", **values))
    return kernel_pair(
        instantiate(_evaluate_volumes, source, f"{law.__name__}_evaluate_volumes", VOLUME=measure)
    )


@kernel_factory
def pressure_points_kernel(law: type[Law]) -> KernelPair:
    """Return the kernels that fill the records of a law under given pressures; see `materials.mean_volume_points`."""
    assert law.volume is not None
    name = f"{law.__name__}_pressure_point"
    if law.point is not None:
        source = law.point.source
        point = instantiate(_linear_pressure_point, source, name, POINT=law.point, TRACE=_linear_trace(law))
    else:
        values = {"PRINCIPAL": law.principal, "VOLUME": law.volume, "LEAST_STRETCH": law.least_stretch}
        template, source = _isotropic_pressure_point, law.principal.source
        if law.anisotropic is not None:
            values["ANISOTROPIC"] = law.anisotropic
            template, source = _anisotropic_pressure_point, law.anisotropic.source
        point = instantiate(template, source, name, **values)
    return kernel_pair(
        instantiate(
            _evaluate_pressure_points, source, f"{law.__name__}_evaluate_pressure_points", POINT=inline(point)
        )
    )
