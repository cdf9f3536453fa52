"""The kernels of a law, made from its functions: written once for all laws, compiled for each.

A law has a function `point`, or `principal` for the isotropic part and perhaps `anisotropic` for what is added to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import prange

from continua.materials.point_kernels import fill_points
from continua.materials.principal_stretch import principal_point
from continua.materials.tet_kernels import fill_records
from continua.numerics import inline, kernel_pair
from continua.numerics.kernel import KernelPair, instantiate, kernel_factory

if TYPE_CHECKING:
    from continua.materials.law import Hyperelastic, Law

__all__ = ["points_kernel", "tets_kernel"]

# the names that stand for the functions of a law in the templates below
POINT: Any = None
PRINCIPAL: Any = None
ANISOTROPIC: Any = None
LEAST_STRETCH = 0.0


def _isotropic_point(F, p, definite, T):
    return principal_point(PRINCIPAL, LEAST_STRETCH, F, p, definite, T)


def _anisotropic_point(F, p, definite, T):
    energy, P = principal_point(PRINCIPAL, LEAST_STRETCH, F, p, definite, T)
    return ANISOTROPIC(energy, P, F, p, definite, T)


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
