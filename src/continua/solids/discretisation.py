"""What a soft body makes from its mesh alone: elements, surface and derived fields, anew for each topology."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.deformable.boundary_surface import BoundarySurface
from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.materials import Law
from continua.mesh import VolumeMesh
from continua.solids.derived_fields import DerivedFields
from continua.solids.elements.factory import make_elements
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.multigrid_geometry import attach_multigrid_geometry
from continua.solids.plasticity.plasticity import Plasticity, PlasticState

__all__ = ["Discretisation"]


@dataclass(frozen=True, eq=False)
class Discretisation:
    """Elements of a mesh and what follows from them.

    Attributes:
        mesh: The mesh.
        elements: The elements.
        surface: The outer surface.
        derived_fields: Fields that are computed on request.
        element_size: Edge of a regular tetrahedron of the elements' mean volume, over their order [m].
    """

    mesh: VolumeMesh
    elements: Elements
    surface: BoundarySurface
    derived_fields: DerivedFields
    element_size: float

    @classmethod
    def of(
        cls,
        mesh: VolumeMesh,
        order: int,
        law: Law,
        plastic: bool,
        plane: str | None = None,
        mean_volume: bool = False,
    ) -> Discretisation:
        """Return the discretisation of a mesh for elements of an order under a law; see `make_elements`."""
        elements = make_elements(mesh, order, law, plastic, plane, mean_volume)
        attach_multigrid_geometry(elements)
        element_volume = mesh.volume / mesh.element_count
        size = float((6.0 * np.sqrt(2.0) * element_volume) ** (1.0 / 3.0) / order)
        return cls(mesh, elements, BoundarySurface(elements), DerivedFields(elements), size)

    def plastic_state(self, plasticity: Plasticity | None, law: Law, name: str) -> PlasticState | None:
        """Return the plastic state of a body of this name, without plastic deformation; None if it is elastic."""
        if plasticity is None:
            return None
        if not law.is_rotation_invariant:
            raise InputError(
                f"the law {type(law).__name__} is not rotation invariant and cannot be plastic; use Corotated"
            )
        assert isinstance(self.elements, QuadratureTets | NodalElements)
        return PlasticState(plasticity, self.elements, f"body '{name}'" if name else "a body")
