"""Elements that evaluate a law at quadrature points, on the unknowns of a body's own elements.

A body's elements may be faster ones that keep no deformation gradients. Methods that need stress and deformation
point by point (the discrete gradient of `EnergyMomentum`, damping of the rate of deformation) use these.
"""

from __future__ import annotations

from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.mesh import TetMesh
from continua.solids.elements.curved_corotated_tet import CurvedCorotatedTets
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureElements, QuadratureTets

__all__ = ["point_elements"]


def point_elements(elements: Elements, same_energy: bool = False) -> QuadratureTets | NodalElements:
    """Return new elements with quadrature points on the mesh, the nodes and the order of the given ones.

    With `same_energy` they have the points of the given ones where those have more in curved elements.
    """
    mesh = elements.mesh
    mean_volume = isinstance(elements, QuadratureElements) and elements.means is not None
    if isinstance(mesh, TetMesh):
        more = same_energy and isinstance(elements, CurvedCorotatedTets)
        return QuadratureTets(mesh, elements.order, mean_volume, curved_points=more)
    if not isinstance(elements, NodalElements):
        raise InputError(f"{type(elements).__name__} have no quadrature points on a {type(mesh).__name__}")
    return NodalElements(elements.mesh, elements.order, elements.plane_stress, mean_volume)
