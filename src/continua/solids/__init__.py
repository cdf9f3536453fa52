"""Elastic solids: elements, material laws, time integration, and the soft body that joins them."""

from continua.solids.fields import FIELDS
from continua.solids.force_field import ForceField
from continua.solids.handles import Constraint, Pull
from continua.solids.integrators import (
    INTEGRATORS,
    Explicit,
    ImplicitEuler,
    Integrator,
    Newmark,
    SemiImplicit,
)
from continua.solids.laws import Corotated, Law, Linear, NeoHookean, StableNeoHookean, StVenantKirchhoff
from continua.solids.loads import FaceLoad, Press, Push, VolumeLoad
from continua.solids.motion import Motion
from continua.solids.soft_body import SoftBody
from continua.solids.statics import SettleReport

__all__ = [
    "FIELDS",
    "INTEGRATORS",
    "Constraint",
    "Corotated",
    "Explicit",
    "FaceLoad",
    "ForceField",
    "ImplicitEuler",
    "Integrator",
    "Law",
    "Linear",
    "Motion",
    "NeoHookean",
    "Newmark",
    "Press",
    "Pull",
    "Push",
    "SemiImplicit",
    "SettleReport",
    "SoftBody",
    "StVenantKirchhoff",
    "StableNeoHookean",
    "VolumeLoad",
]
