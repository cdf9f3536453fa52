"""What can be turned while a world runs: material values, gravity and pulls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from continua.errors import InputError
from continua.frames import Frame
from continua.studio.hand import Hand
from continua.studio.protocol import Gravity, Material, PullBegin

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["apply_gravity", "apply_material", "describe_world", "take_hold"]


def describe_world(world: World) -> dict[str, Any]:
    """Return the values of all sliders, ready for JSON."""
    return {
        "dt": float(world.dt),
        "gravity": [float(g) for g in world.gravity],
        "materials": {body.name: _material(body) for body in world.bodies},
    }


def _material(body: Any) -> dict[str, float]:
    law = body.material
    mass_part, stiffness_part = body.damping
    return {
        "young": float(law.young),
        "poisson": float(law.poisson),
        "density": float(law.density),
        "damping_mass": float(mass_part),
        "damping_stiffness": float(stiffness_part),
    }


def _body(world: World, name: str) -> Any:
    for body in world.bodies:
        if body.name == name:
            return body
    raise InputError(f'there is no body called "{name}" in this scene')


def apply_material(world: World, command: Material) -> None:
    """Give a body the material values that the command names."""
    body = _body(world, command.body)
    changes: dict[str, Any] = {
        key: value for key in ("young", "poisson", "density") if (value := getattr(command, key)) is not None
    }
    mass_part, stiffness_part = body.damping
    if command.damping_mass is not None or command.damping_stiffness is not None:
        changes["damping"] = (
            mass_part if command.damping_mass is None else command.damping_mass,
            stiffness_part if command.damping_stiffness is None else command.damping_stiffness,
        )
    if changes:
        body.set_material(**changes)


def apply_gravity(world: World, command: Gravity) -> None:
    """Give the world the gravity [m/s^2] of the command."""
    world.gravity = command.value


def take_hold(world: World, frame: Frame, command: PullBegin) -> Hand:
    """Hold the surface around a point, drawn to a target; `frame` is a recent one of the world."""
    body = _body(world, command.body)
    return Hand(body, frame[body.name], command.triangle, command.barycentric, command.target)
