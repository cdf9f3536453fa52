"""Derived fields of sheets: stretch, stress, curvature and energy of the triangles, computed on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from continua.frames import Field, readonly_copy
from continua.shells.bending import hinge_angles
from continua.shells.cloth_elements import ClothElements
from continua.validation import choice

__all__ = ["CLOTH_FIELDS", "cloth_field", "lazy_fields"]

CLOTH_FIELDS: Mapping[str, str] = {"stress": "Pa", "stretch": "", "bending": "1/m"}
"""Derived fields of sheets and their units, one value per triangle.

* stress: Cauchy stress in VTK's order (xx, yy, zz, xy, yz, xz), shape [m, 6];
* stretch: the two principal stretches, the largest first, shape [m, 2];
* bending: curvature across the edge of a triangle that is bent most, shape [m].
"""


def cloth_field(elements: ClothElements, x: NDArray[np.float64], name: str) -> Field:
    """Return a derived field at positions x [n, 3]."""
    choice(name, "the name of a field", CLOTH_FIELDS)
    values = {"stress": _stress, "stretch": _stretch, "bending": _bending}[name](elements, x)
    return Field(readonly_copy(values), CLOTH_FIELDS[name], "cells")


def lazy_fields(
    elements: ClothElements, x: NDArray[np.float64], stress: NDArray[np.float64]
) -> dict[str, tuple[str, Callable[[], Field]]]:
    """Return for every field its unit and a function that computes it; stress is known already, shape [m, 6]."""

    def compute(name: str) -> Callable[[], Field]:
        if name == "stress":
            return lambda: Field(stress, CLOTH_FIELDS[name], "cells")
        return lambda: cloth_field(elements, x, name)

    return {name: (unit, compute(name)) for name, unit in CLOTH_FIELDS.items()}


def vtk_stress(stress: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric tensors [m, 3, 3] as xx, yy, zz, xy, yz, xz."""
    return readonly_copy(stress[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]])


def _stress(elements: ClothElements, x: NDArray[np.float64]) -> NDArray[np.float64]:
    elements.update(x)
    return vtk_stress(elements.membrane.stress(x))


def _stretch(elements: ClothElements, x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.svd(elements.membrane.deformation(x), compute_uv=False), np.float64)


def _bending(elements: ClothElements, x: NDArray[np.float64]) -> NDArray[np.float64]:
    mesh = elements.mesh
    hinges, pairs = mesh.hinges, mesh.hinge_triangles
    angles = hinge_angles(mesh, x)
    edge = np.linalg.norm(mesh.points[hinges[:, 2]] - mesh.points[hinges[:, 1]], axis=1)
    # the angle over the distance of the centroids across the edge, a third of both heights
    curvature = np.abs(angles) * edge / (2.0 / 3.0 * mesh.areas[pairs].sum(axis=1))
    result = np.zeros(mesh.element_count)
    for side in range(2):
        np.maximum.at(result, pairs[:, side], curvature)
    return result
