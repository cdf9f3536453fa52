"""Time stepping shared by all kinds of bodies: what a step requests from the world, and substepping with retries."""

from continua.timestepping.requests import (
    ContactResult,
    MomentBalance,
    SolveResult,
    StepCoroutine,
    VelocityProjection,
    VelocitySystem,
    VolumeProjection,
)
from continua.timestepping.substepping import (
    NO_CONTACT,
    BodyStep,
    StepDriver,
    SubstepError,
    advance_with_retries,
)

__all__ = [
    "NO_CONTACT",
    "BodyStep",
    "ContactResult",
    "MomentBalance",
    "SolveResult",
    "StepCoroutine",
    "StepDriver",
    "SubstepError",
    "VelocityProjection",
    "VelocitySystem",
    "VolumeProjection",
    "advance_with_retries",
]
