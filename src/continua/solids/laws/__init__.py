"""Material laws: energy, stress and tangent as functions of the deformation gradient. One law a file."""

from continua.solids.laws.corotated import Corotated
from continua.solids.laws.custom import CustomLaw
from continua.solids.laws.fibrous import Fibrous
from continua.solids.laws.law import Hyperelastic, Law
from continua.solids.laws.linear import Linear
from continua.solids.laws.mooney_rivlin import MooneyRivlin
from continua.solids.laws.neo_hookean import NeoHookean
from continua.solids.laws.rotated_linear import RotatedLinear
from continua.solids.laws.shape_keeping import ShapeKeeping
from continua.solids.laws.spline import Spline
from continua.solids.laws.st_venant_kirchhoff import StVenantKirchhoff
from continua.solids.laws.stable_neo_hookean import StableNeoHookean

__all__ = [
    "Corotated",
    "CustomLaw",
    "Fibrous",
    "Hyperelastic",
    "Law",
    "Linear",
    "MooneyRivlin",
    "NeoHookean",
    "RotatedLinear",
    "ShapeKeeping",
    "Spline",
    "StVenantKirchhoff",
    "StableNeoHookean",
]
