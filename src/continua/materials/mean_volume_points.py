"""A law at quadrature points of elements that average the volume: its measure, and the law under a given pressure.

The energy density is psi(F) + s g(F)/2, where psi is the law with a Lame's lambda of 0, g its measure of volume (see
`volume_measures`) and s the stress that elements derive from the mean of g (see `solids.elements.mean_volume`). The
records are those of `point_kernels`; the tangent is that for constant s.

With plasticity g is that of the elastic part Fe = F Fp^-1, per volume of the intermediate configuration.
"""

from __future__ import annotations

import numpy as np

from continua.materials.point_kernels import (
    CHUNK,
    SCRATCH,
    deformation_gradient,
    pull_back,
    pull_back_stress,
    specialised,
    write_record,
)
from continua.numerics.mat3 import det3, matmul3

__all__ = ["fill_pressure_points", "fill_volumes"]


@specialised
def _inverse_plastic(plastic, e, q):
    return (
        plastic[e, q, 0], plastic[e, q, 1], plastic[e, q, 2],
        plastic[e, q, 3], plastic[e, q, 4], plastic[e, q, 5],
        plastic[e, q, 6], plastic[e, q, 7], plastic[e, q, 8],
    )  # fmt: skip


@specialised
def fill_volumes(measure, coefficients, elements, gradients, plane, plastic, volumes, chunk):
    """Set `volumes` [m, q, 2] of one chunk of elements: the measure g of volume, and the plastic ratio det Fp."""
    for e in range(chunk * CHUNK, min(elements.shape[0], (chunk + 1) * CHUNK)):
        for q in range(gradients.shape[1]):
            F = deformation_gradient(coefficients, elements, gradients, plane, e, q)
            if plastic is None:
                volumes[e, q, 0], volumes[e, q, 1] = measure(F), 1.0
            else:
                A = _inverse_plastic(plastic, e, q)
                volumes[e, q, 0], volumes[e, q, 1] = measure(matmul3(F, A)), 1.0 / det3(A)


@specialised
def fill_pressure_points(
    point, coefficients, elements, gradients, plane, constants, plastic, definite, records, measure_gradients,
    chunk,
):  # fmt: skip
    """Fill the records of one chunk of elements; return how many have a point with det F <= 0.

    The arguments are those of `point_kernels.fill_points`; the last constant of an element is its stress s [Pa], and

    Args:
        point: The law: point(F, p, definite, T) returns dg/dF as well.
        measure_gradients: Result, dg/dF at the points per volume at rest [m, q, 9].
    """
    T = np.empty((SCRATCH, 9))
    count = 0
    for e in range(chunk * CHUNK, min(elements.shape[0], (chunk + 1) * CHUNK)):
        p = constants[e]
        turned = 0
        for q in range(gradients.shape[1]):
            F = deformation_gradient(coefficients, elements, gradients, plane, e, q)
            if plastic is None:
                energy, P, G = point(F, p, definite, T)
            else:
                A = _inverse_plastic(plastic, e, q)
                energy, P, G = point(matmul3(F, A), p, definite, T)
                P, volume = pull_back(P, A, T)
                G = pull_back_stress(G, A, volume)
                energy *= volume
            if det3(F) <= 0.0:
                turned = 1
            write_record(F, P, T, energy, records, e, q)
            for c in range(9):
                measure_gradients[e, q, c] = G[c]
        count += turned
    return count
