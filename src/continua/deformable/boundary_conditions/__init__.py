"""Boundary conditions of a soft body: Dirichlet constraints, loads, springs and haptic tools."""

from continua.deformable.boundary_conditions.constraints import BoundaryCondition, Constraint, Pull
from continua.deformable.boundary_conditions.dirichlet import DirichletSet
from continua.deformable.boundary_conditions.force_field import ForceField
from continua.deformable.boundary_conditions.haptic_tool import HapticTool
from continua.deformable.boundary_conditions.loads import BodyForce, Load, Pressure, Push, Traction

__all__ = [
    "BodyForce",
    "BoundaryCondition",
    "Constraint",
    "DirichletSet",
    "ForceField",
    "HapticTool",
    "Load",
    "Pressure",
    "Pull",
    "Push",
    "Traction",
]
