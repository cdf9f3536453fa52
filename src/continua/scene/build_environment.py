"""What surrounds the bodies of a scene: colliders and obstacles, motions, contact and wind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from continua.contact_solver import Contact
from continua.environment import Wind
from continua.geometry import AnimatedMeshShape, Box, Capsule, Cylinder, Gear, MeshShape, Plane, Shape, Sphere
from continua.grid_fluids import Polygon
from continua.motion import Motion
from continua.scene import environment, grid_fluids, motions
from continua.scene.build_mesh import build_animation, build_surface, turn_vector
from continua.scene.models import Scene

__all__ = ["build_collider", "build_contact", "build_motion", "build_wind", "rgb", "to_inf"]


def _polygon(spec: grid_fluids.Polygon, answer: dict[str, Any]) -> Shape:
    """Return the polygon, or the curve, that a scene describes."""
    make = Polygon.spline if spec.smooth else Polygon
    return make(spec.points, depth=spec.depth, **answer)


def to_inf(moment: float | None) -> float:
    """Return the moment, or infinity where a scene leaves the end open [s]."""
    return math.inf if moment is None else moment


def build_motion(spec: Any) -> Motion:
    """Return the motion that a scene describes."""
    match spec:
        case motions.Translate():
            return Motion.translate(spec.velocity, until=to_inf(spec.until))
        case motions.Rotate():
            rate = math.radians(spec.degrees_per_second)
            return Motion.rotate(spec.axis, spec.point, rate, until=to_inf(spec.until))
        case motions.Keyframes():
            turns = None if spec.rotations is None else np.radians(spec.rotations)
            return Motion.keyframes(spec.times, spec.offsets, rotations=turns, point=spec.point)
    raise TypeError(f"unknown motion {spec!r}")


def build_contact(spec: environment.Contact) -> Contact:
    """Return how the bodies of a scene touch."""
    pairs = {
        (pair.between[0], pair.between[1]): pair.model_dump(exclude={"between"}, exclude_none=True)
        for pair in spec.pairs
    }
    return Contact(
        spec.friction,
        restitution=spec.restitution,
        thickness=spec.thickness,
        self_contact=spec.self_contact,
        pairs=pairs,
        budget_ms=spec.budget_ms,
    )


def build_collider(scene: Scene, spec: Any, *key: str | int) -> Shape:
    """Return the shape of a collider or obstacle that stands in the scene at `key`."""
    answer: dict[str, Any] = {
        "friction": spec.friction,
        "restitution": spec.restitution,
        "slip": spec.slip,
        "contact_angle": spec.contact_angle,
        "name": spec.name or "",
    }
    with scene.at(*key):
        answer["motion"] = None if spec.motion is None else build_motion(spec.motion)
        match spec:
            case grid_fluids.Polygon():
                return _polygon(spec, answer)
            case environment.Plane():
                return Plane(spec.point, spec.normal, **answer)
            case environment.Sphere():
                return Sphere(spec.center, spec.radius, spec.inside, **answer)
            case environment.Box():
                return Box(
                    spec.center,
                    spec.size,
                    rotate=turn_vector(spec.rotate),
                    rounding=spec.rounding,
                    inside=spec.inside,
                    **answer,
                )
            case environment.Cylinder():
                return Cylinder(
                    spec.center,
                    axis=spec.axis,
                    radius=spec.radius,
                    height=spec.height,
                    rounding=spec.rounding,
                    inside=spec.inside,
                    **answer,
                )
            case environment.Capsule():
                return Capsule(spec.start, spec.end, spec.radius, inside=spec.inside, **answer)
            case environment.MeshShape():
                mesh, field = build_surface(spec.mesh, spec, spec.transform, scene)
                return MeshShape(mesh, field, rounding=spec.rounding, inside=spec.inside, **answer)
            case environment.AnimatedMesh():
                animation = build_animation(spec, scene)
                return AnimatedMeshShape(animation, spec.rounding, spec.two_sided, **answer)
            case environment.Gear():
                return Gear(
                    spec.center,
                    axis=spec.axis,
                    radius=spec.radius,
                    width=spec.width,
                    teeth=spec.teeth,
                    depth=spec.depth,
                    **answer,
                )
    raise TypeError(f"unknown collider {spec!r}")


def build_wind(scene: Scene) -> Wind | None:
    """Return the wind of the scene, if it blows."""
    if scene.wind is None:
        return None
    with scene.at("wind"):
        spec = scene.wind
        return Wind(spec.velocity, gust=spec.gust, period=spec.period, density=spec.density)


def rgb(color: str) -> tuple[float, float, float]:
    """Return red, green and blue from 0 to 1 of a colour such as #ff8800."""
    red, green, blue = (int(color[start : start + 2], 16) / 255.0 for start in (1, 3, 5))
    return red, green, blue
