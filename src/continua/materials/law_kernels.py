"""The kernels of a law, made from its functions: written once for all laws, compiled for each.

A law has a function `point`, or `principal` for the isotropic part and perhaps `anisotropic` for what is added to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import prange

from continua.materials.mean_volume_points import fill_pressure_points, fill_volumes
from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import (
    combined_modes,
    extended,
    extended_volume,
    fill_tangent,
    principal_point,
    principal_pressure_point,
)
from continua.materials.tet_kernels import fill_records
from continua.numerics import inline, kernel_pair
from continua.numerics.kernel import KernelPair, instantiate, kernel_factory
from continua.numerics.mat3 import cross3, det3, signed_svd

if TYPE_CHECKING:
    from continua.materials.law import Hyperelastic, Law

__all__ = [
    "points_kernel",
    "pressure_points_kernel",
    "ratio_points_kernel",
    "ratio_volumes_kernel",
    "tets_kernel",
    "volumes_kernel",
]

# the names that stand for the functions of a law in the templates below
POINT: Any = None
PRINCIPAL: Any = None
ISOTROPIC: Any = None
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


def _ratio(F):
    return det3(F) - 1.0


def _linear_ratio_point(F, p, definite, T):
    energy, P = POINT(F, p, definite, T)
    s = p[p.shape[0] - 1]
    r0, r1, r2 = (F[0], F[1], F[2]), (F[3], F[4], F[5]), (F[6], F[7], F[8])
    a, b, c = cross3(r1, r2), cross3(r2, r0), cross3(r0, r1)
    G = (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
    P = (
        P[0] + s * G[0], P[1] + s * G[1], P[2] + s * G[2], P[3] + s * G[3], P[4] + s * G[4],
        P[5] + s * G[5], P[6] + s * G[6], P[7] + s * G[7], P[8] + s * G[8],
    )  # fmt: skip
    return energy + 0.5 * s * (det3(F) - 1.0), P, G


def _isotropic_ratio_point(F, p, definite, T):
    U, f, V = signed_svd(F)
    energy, g, h = extended(PRINCIPAL, f[0], f[1], f[2], p, LEAST_STRETCH)
    s = p[p.shape[0] - 1]
    k = (f[1] * f[2], f[0] * f[2], f[0] * f[1])
    g = (g[0] + s * k[0], g[1] + s * k[1], g[2] + s * k[2])
    h = (h[0], h[1], h[2], h[3] + s * f[2], h[4] + s * f[1], h[5] + s * f[0])
    fill_tangent(U, f, V, g, h, definite, T)
    energy += 0.5 * s * (f[0] * f[1] * f[2] - 1.0)
    return energy, combined_modes(g, T), combined_modes(k, T)


def _anisotropic_ratio_point(F, p, definite, T):
    energy, P, G = ISOTROPIC(F, p, definite, T)
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


@kernel_factory
def ratio_volumes_kernel(law: type[Law]) -> KernelPair:
    """Return the kernels that evaluate J - 1 as the measure of volume; see `materials.mean_volume_points`."""
    source = (law.principal if law.point is None else law.point).source
    measure = inline(instantiate(_ratio, source, f"{law.__name__}_ratio"))
    name = f"{law.__name__}_evaluate_ratio_volumes"
    return kernel_pair(instantiate(_evaluate_volumes, source, name, VOLUME=measure))


@kernel_factory
def ratio_points_kernel(law: type[Law]) -> KernelPair:
    """Return the kernels that fill the records of a law under given stresses s, with J - 1 as the measure of volume.

    See `materials.mean_volume_points`. In the definite tangent s has its part, but with a `point` of the law's own.
    """
    name = f"{law.__name__}_ratio_point"
    if law.point is not None:
        source = law.point.source
        point = instantiate(_linear_ratio_point, source, name, POINT=law.point)
    else:
        source = law.principal.source
        values = {"PRINCIPAL": law.principal, "LEAST_STRETCH": law.least_stretch}
        point = instantiate(_isotropic_ratio_point, source, name, **values)
        if law.anisotropic is not None:
            isotropic, source = inline(point), law.anisotropic.source
            name = f"{law.__name__}_anisotropic_ratio_point"
            values = {"ISOTROPIC": isotropic, "ANISOTROPIC": law.anisotropic}
            point = instantiate(_anisotropic_ratio_point, source, name, **values)
    name = f"{law.__name__}_evaluate_ratio_points"
    return kernel_pair(instantiate(_evaluate_pressure_points, source, name, POINT=inline(point)))
