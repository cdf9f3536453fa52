"""What deformable bodies share: boundary conditions, time integration, static equilibrium, and the base of bodies."""

from continua.deformable.boundary_conditions import (
    BodyForce,
    Constraint,
    ForceField,
    HapticTool,
    Pressure,
    Pull,
    Push,
    Traction,
)
from continua.deformable.damping import RotatedDamping
from continua.deformable.deformable_body import DeformableBody
from continua.deformable.integrators import (
    INTEGRATORS,
    EnergyMomentum,
    Explicit,
    ImplicitEuler,
    Integrator,
    Newmark,
    SemiImplicit,
)
from continua.deformable.statics import StaticReport

__all__ = [
    "INTEGRATORS",
    "BodyForce",
    "Constraint",
    "DeformableBody",
    "EnergyMomentum",
    "Explicit",
    "ForceField",
    "HapticTool",
    "ImplicitEuler",
    "Integrator",
    "Newmark",
    "Pressure",
    "Pull",
    "Push",
    "RotatedDamping",
    "SemiImplicit",
    "StaticReport",
    "Traction",
]
