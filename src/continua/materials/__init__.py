"""Material laws: energy, stress and tangent as functions of the deformation gradient. One law per file."""

from continua.materials.corotated import Corotated
from continua.materials.custom import CustomLaw
from continua.materials.editing_material import EditingMaterial
from continua.materials.fabric import FABRICS, Fabric
from continua.materials.fiber_reinforced import FiberReinforced
from continua.materials.law import Hyperelastic, Law
from continua.materials.linear import Linear
from continua.materials.muscle import Muscle
from continua.materials.neo_hookean import NeoHookean
from continua.materials.orthotropic import Orthotropic
from continua.materials.registry import LAWS
from continua.materials.spline_hyperelastic import SplineHyperelastic
from continua.materials.st_venant_kirchhoff import StVenantKirchhoff
from continua.materials.stable_neo_hookean import StableNeoHookean

__all__ = [
    "FABRICS",
    "LAWS",
    "Corotated",
    "CustomLaw",
    "EditingMaterial",
    "Fabric",
    "FiberReinforced",
    "Hyperelastic",
    "Law",
    "Linear",
    "Muscle",
    "NeoHookean",
    "Orthotropic",
    "SplineHyperelastic",
    "StVenantKirchhoff",
    "StableNeoHookean",
]
