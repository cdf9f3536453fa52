"""Elastic solids: elements, material laws, time integration, and the soft body that joins them."""

from continua.solids.damping import RotatedDamping
from continua.solids.fields import FIELDS
from continua.solids.force_field import ForceField
from continua.solids.handles import Constraint, Pull
from continua.solids.haptics import Handle
from continua.solids.integrators import (
    INTEGRATORS,
    Explicit,
    ImplicitEuler,
    Integrator,
    Newmark,
    SemiImplicit,
)
from continua.solids.laws import (
    Corotated,
    CustomLaw,
    Fibrous,
    Law,
    Linear,
    MooneyRivlin,
    NeoHookean,
    RotatedLinear,
    ShapeKeeping,
    Spline,
    StableNeoHookean,
    StVenantKirchhoff,
)
from continua.solids.loads import FaceLoad, Press, Push, VolumeLoad
from continua.solids.plasticity import Plasticity
from continua.solids.soft_body import SoftBody
from continua.solids.statics import SettleReport

__all__ = [
    "FIELDS",
    "INTEGRATORS",
    "Constraint",
    "Corotated",
    "CustomLaw",
    "Explicit",
    "FaceLoad",
    "Fibrous",
    "ForceField",
    "Handle",
    "ImplicitEuler",
    "Integrator",
    "Law",
    "Linear",
    "MooneyRivlin",
    "NeoHookean",
    "Newmark",
    "Plasticity",
    "Press",
    "Pull",
    "Push",
    "RotatedDamping",
    "RotatedLinear",
    "SemiImplicit",
    "SettleReport",
    "ShapeKeeping",
    "SoftBody",
    "Spline",
    "StVenantKirchhoff",
    "StableNeoHookean",
    "VolumeLoad",
]
