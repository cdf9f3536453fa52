"""Finite elements: shape functions, stiffness, forces and their assembly."""

from continua.deformable.elements import AssembledSystem, Elements
from continua.solids.elements.bernstein_tet import BernsteinTets
from continua.solids.elements.corotated_tet import CorotatedTets
from continua.solids.elements.factory import make_elements
from continua.solids.elements.hyperelastic_tet import HyperelasticTets
from continua.solids.elements.linear_tet import LinearTets
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.elements.stvk_tet import StVKTets

__all__ = [
    "AssembledSystem",
    "BernsteinTets",
    "CorotatedTets",
    "Elements",
    "HyperelasticTets",
    "LinearTets",
    "NodalElements",
    "QuadratureTets",
    "StVKTets",
    "make_elements",
]
