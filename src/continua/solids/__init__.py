"""Elastic solids: elements, material laws, time integration, and the soft body that joins them."""

from continua.solids.fields import FIELDS
from continua.solids.handles import Constraint, Pull, Push
from continua.solids.laws import Corotated, Law, Linear, NeoHookean, StableNeoHookean, StVenantKirchhoff
from continua.solids.motion import Motion
from continua.solids.soft_body import SoftBody
from continua.solids.statics import SettleReport

__all__ = [
    "FIELDS",
    "Constraint",
    "Corotated",
    "Law",
    "Linear",
    "Motion",
    "NeoHookean",
    "Pull",
    "Push",
    "SettleReport",
    "SoftBody",
    "StVenantKirchhoff",
    "StableNeoHookean",
]
