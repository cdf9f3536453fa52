"""Derived fields on elements: stress, stretches, energy density, plastic strain, inverted elements.

They are computed on request from the law at the quadrature points of every element, independently of the elements that
the body itself uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import Elements
from continua.frames import Field, readonly_copy
from continua.materials import Law
from continua.mesh import TetMesh
from continua.numerics import signed_svd_batch
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureElements, QuadratureTets
from continua.validation import choice

__all__ = ["FIELDS", "DerivedFields", "State"]

FIELDS: Mapping[str, str] = {
    "stress": "Pa",
    "stretch": "",
    "energy_density": "J/m³",
    "plastic_strain": "",
    "inverted": "",
}
"""Derived fields on cells and their units.

* stress: mean Cauchy stress of an element, shape [m, 6] in VTK's order (xx, yy, zz, xy, yz, xz);
* stretch: its principal stretches, the largest first, the last negative where it is inverted, shape [m, 3];
* energy_density: elastic energy per volume at rest;
* plastic_strain: norm of the logarithm of the plastic stretch;
* inverted: 1 for elements with a point of det F <= 0.
"""

_VTK_ORDER = [0, 1, 2, 3, 5, 4]


@dataclass(frozen=True, eq=False)
class State:
    """The state that fields are computed from: coefficients, law, constants, plastic deformation."""

    coefficients: NDArray[np.float64]
    law: Law
    constants: NDArray[np.float64]
    plastic: NDArray[np.float64] | None = None


class DerivedFields:
    """Computes the fields of a body at a given state; safe to call from any thread."""

    def __init__(self, elements: Elements) -> None:
        self._source = elements
        self._elements: QuadratureElements | None = None
        self._state: State | None = None
        self._lock = Lock()

    def __getstate__(self) -> Elements:
        return self._source  # the rest is computed on request

    def __setstate__(self, state: Elements) -> None:
        DerivedFields.__init__(self, state)

    def available(self, state: State) -> dict[str, tuple[str, Callable[[], Field]]]:
        """Return for every field its unit, and a function that computes it."""

        def compute(name: str) -> Callable[[], Field]:
            return lambda: self.field(name, state)

        return {name: (unit, compute(name)) for name, unit in FIELDS.items()}

    def field(self, name: str, state: State) -> Field:
        """Return the field called `name`."""
        choice(name, "the name of a field", FIELDS)
        with self._lock:
            elements = self._at(state)
            values = getattr(self, f"_{name}")(elements)
        return Field(readonly_copy(values), FIELDS[name], "cells")

    def _at(self, state: State) -> QuadratureElements:
        """Return quadrature elements evaluated at the state."""
        if self._elements is None:
            mesh = self._source.mesh
            mean_volume = isinstance(self._source, QuadratureElements) and self._source.means is not None
            if isinstance(mesh, TetMesh):
                self._elements = QuadratureTets(mesh, self._source.order, mean_volume)
            else:
                assert isinstance(self._source, NodalElements)
                self._elements = NodalElements(
                    self._source.mesh, self._source.order, self._source.plane_stress, mean_volume
                )
        if self._state is not state:
            self._elements.set_law(state.law, state.constants)
            self._elements.plastic = state.plastic
            self._elements.update(state.coefficients)
            self._state = state
        return self._elements

    @staticmethod
    def _stress(elements: QuadratureElements) -> NDArray[np.float64]:
        return elements.stress()[:, _VTK_ORDER]

    @staticmethod
    def _stretch(elements: QuadratureElements) -> NDArray[np.float64]:
        return _mean(_stretches(elements.deformation()), elements)

    @staticmethod
    def _energy_density(elements: QuadratureElements) -> NDArray[np.float64]:
        return _mean(elements.energy_density()[..., None], elements)[:, 0]

    @staticmethod
    def _plastic_strain(elements: QuadratureElements) -> NDArray[np.float64]:
        if elements.plastic is None:
            return np.zeros(elements.element_count)
        stretches = _stretches(elements.plastic.reshape(*elements.weights.shape, 3, 3))
        strain = np.linalg.norm(np.log(np.abs(stretches)), axis=-1)
        return _mean(strain[..., None], elements)[:, 0]

    @staticmethod
    def _inverted(elements: QuadratureElements) -> NDArray[np.float64]:
        return (np.linalg.det(elements.deformation()) <= 0.0).any(axis=1).astype(np.float64)


def _stretches(F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return signed singular values [m, q, 3] of matrices [m, q, 3, 3]."""
    _, stretches, _ = signed_svd_batch(np.ascontiguousarray(F.reshape(-1, 3, 3)))
    return stretches.reshape(F.shape[:-1])


def _mean(values: NDArray[np.float64], elements: QuadratureElements) -> NDArray[np.float64]:
    """Return the mean over the points of each element [m, c] of values [m, q, c]."""
    weights = elements.weights / elements.weights.sum(axis=1, keepdims=True)
    return np.einsum("mq,mqc->mc", weights, values)
