"""Selection of the elements for a mesh, an order and a law."""

from __future__ import annotations

from continua.deformable.elements import Elements
from continua.errors import InputError
from continua.materials import Corotated, Hyperelastic, Law, Linear, StVenantKirchhoff
from continua.mesh import HexMesh, PlaneMesh, TetMesh, VolumeMesh
from continua.solids.elements.bernstein_geometry import BernsteinGeometry
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.corotated_tet import CorotatedTets
from continua.solids.elements.curved_corotated_tet import CurvedCorotatedTets
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.linear_tet import LinearTets
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.elements.stvk_tet import StVKTets
from continua.validation import choice, shortened, whole_number

__all__ = ["checked_order", "make_elements"]


def checked_order(mesh: VolumeMesh, order: int) -> int:
    """Return the order of elements on a mesh, or raise InputError if there are none."""
    if not isinstance(mesh, TetMesh | HexMesh | PlaneMesh):
        raise InputError(
            f"a soft body needs a TetMesh, a HexMesh, a TriMesh or a QuadMesh, not {shortened(mesh)}; "
            "continua.mesh.tetrahedralize turns a closed surface into tetrahedra"
        )
    return whole_number(order, f"the order of {mesh.NAME}", low=1, high=3 if isinstance(mesh, TetMesh) else 2)


def make_elements(
    mesh: VolumeMesh, order: int, law: Law, plastic: bool, plane: str | None = None, mean_volume: bool = False
) -> Elements:
    """Return the elements for the mesh, the order and the law; `plane` is "strain", "stress" or None.

    With `mean_volume` they average the change of volume; see `solids.elements.mean_volume`.
    """
    order = checked_order(mesh, order)
    assert isinstance(mesh, TetMesh | HexMesh | PlaneMesh)
    if plane is not None:
        choice(plane, "plane", ("strain", "stress"))
        if not isinstance(mesh, PlaneMesh):
            raise InputError(
                f"plane is for a TriMesh or a QuadMesh, and a body of {mesh.NAME} is solid in all directions; "
                "leave it out"
            )
    if not isinstance(mesh, TetMesh):
        if plane == "stress" and plastic:
            raise InputError(
                "a plastic body cannot be in plane stress; use plane='strain' or leave out plasticity"
            )
        return NodalElements(mesh, order, plane == "stress", mean_volume)
    if plastic or mean_volume:
        return QuadratureTets(mesh, order, mean_volume)
    if isinstance(law, Linear | Corotated):
        if order == 1:
            return LinearTets(mesh)
        exact = isinstance(law, Corotated) and law.rotation in ("auto", "exact")
        if mesh.curved_boundary is not None and BernsteinGeometry(mesh, order).rest_shape is not None:
            return CurvedCorotatedTets(mesh, order) if exact else QuadratureTets(mesh, order)
        return CorotatedTets(mesh, order) if exact else BernsteinTets(mesh, order)
    if isinstance(law, Hyperelastic) and order == 1:
        return StVKTets(mesh) if type(law) is StVenantKirchhoff else HyperelasticTets(mesh)
    return QuadratureTets(mesh, order)
