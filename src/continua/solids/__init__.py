"""Elastic solids: elements, time integration, boundary conditions, and the soft body that joins them."""

from continua.solids.boundary_conditions import (
    BodyForce,
    Constraint,
    ForceField,
    HapticTool,
    Pressure,
    Pull,
    Push,
    Traction,
)
from continua.solids.damping import RotatedDamping
from continua.solids.derived_fields import FIELDS
from continua.solids.integrators import (
    INTEGRATORS,
    EnergyMomentum,
    Explicit,
    ImplicitEuler,
    Integrator,
    Newmark,
    SemiImplicit,
)
from continua.solids.plasticity import Plasticity
from continua.solids.soft_body import SoftBody
from continua.solids.statics import StaticReport

__all__ = [
    "FIELDS",
    "INTEGRATORS",
    "BodyForce",
    "Constraint",
    "EnergyMomentum",
    "Explicit",
    "ForceField",
    "HapticTool",
    "ImplicitEuler",
    "Integrator",
    "Newmark",
    "Plasticity",
    "Pressure",
    "Pull",
    "Push",
    "RotatedDamping",
    "SemiImplicit",
    "SoftBody",
    "StaticReport",
    "Traction",
]
