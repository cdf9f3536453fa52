"""The kind of elements that suits a mesh, an order and a law."""

from __future__ import annotations

from continua.errors import InputError
from continua.mesh import HexMesh, PlaneMesh, TetMesh, VolumeMesh
from continua.solids.bezier import BezierTets
from continua.solids.elements import Elements, LinearTets
from continua.solids.green import GreenTets
from continua.solids.hyperelastic import HyperelasticTets
from continua.solids.laws import Corotated, Hyperelastic, Law, Linear, StVenantKirchhoff
from continua.solids.quadrature import NodalElements, QuadratureTets

__all__ = ["make_elements"]


def make_elements(mesh: VolumeMesh, order: int, law: Law, plastic: bool) -> Elements:
    """Return the elements that suit the mesh, the order and the law."""
    if not isinstance(mesh, TetMesh | HexMesh | PlaneMesh):
        raise InputError(
            f"a soft body needs a TetMesh, a HexMesh, a TriMesh or a QuadMesh, not {type(mesh).__name__}; "
            "continua.mesh.tetrahedralize turns a closed surface into tetrahedra"
        )
    orders = (1, 2, 3) if isinstance(mesh, TetMesh) else (1,)
    if not isinstance(order, int) or order not in orders:
        has = "the orders 1, 2 and 3" if len(orders) > 1 else "order 1 only"
        raise InputError(f"a mesh of {mesh.NAME} has {has}, not {order!r}")
    if not isinstance(mesh, TetMesh):
        return NodalElements(mesh)
    if plastic:
        return QuadratureTets(mesh, order)
    if isinstance(law, Linear | Corotated):
        return LinearTets(mesh) if order == 1 else BezierTets(mesh, order)
    if isinstance(law, Hyperelastic) and order == 1:
        return GreenTets(mesh) if type(law) is StVenantKirchhoff else HyperelasticTets(mesh)
    return QuadratureTets(mesh, order)
