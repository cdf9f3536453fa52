"""Rigid bodies and joints of a scene."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua import rigid as bodies
from continua.errors import InputError
from continua.geometry import Box, Capsule, Cylinder, MeshShape, Sphere
from continua.numerics.rotations import rotation_matrix
from continua.registry import BodySummary
from continua.rigid import joints
from continua.scene import rigid
from continua.scene.build_environment import build_motion, rgb
from continua.scene.build_mesh import build_surface, placement
from continua.scene.models import Scene

__all__ = ["build_joints", "build_rigid", "describe_rigid", "instance_places"]


def build_rigid(scene: Scene, number: int) -> bodies.RigidInstances:
    """Return rigid body `number` of the scene."""
    spec = scene.bodies[number]
    assert isinstance(spec, rigid.RigidBody)
    with scene.at("bodies", number, "shape"):
        shape = _solid(spec, scene)
    places, turns = instance_places(spec)
    start = spec.initial or rigid.Start()
    options: dict[str, Any] = {
        "density": 1000.0 if spec.density is None and spec.mass is None else spec.density,
        "mass": spec.mass,
        "friction": spec.friction,
        "restitution": spec.restitution,
        "velocity": start.velocity,
        "angular_velocity": start.angular_velocity,
        "motion": None if spec.motion is None else build_motion(spec.motion),
        "color": None if spec.color is None else rgb(spec.color),
        "name": spec.name,
    }
    with scene.at("bodies", number):
        if len(places) == 1 and not places.any() and turns is None:
            return bodies.RigidBody(shape, **options)
        return bodies.RigidInstances(shape, places, rotations=turns, **options)


def describe_rigid(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of a rigid body."""
    spec = scene.bodies[number]
    count = math.prod(spec.grid.counts) if spec.grid is not None else max(1, len(spec.places))
    weight = f"{spec.mass:g} kg" if spec.mass is not None else f"{spec.density or 1000.0:g} kg/m³"
    return BodySummary(f"{count:,} rigid", 6 * count, f"{spec.shape.type}, {weight}")


def _solid(spec: rigid.RigidBody, scene: Scene) -> Any:
    """Return the placed shape of a rigid body."""
    place = spec.transform
    if not isinstance(spec.shape, _Primitive):
        mesh = spec.shape.mesh if isinstance(spec.shape, rigid.RigidMesh) else spec.shape
        return _mesh(*build_surface(mesh, spec.shape, place, scene))
    scale, turn_axis, shift = placement(place, _longest(spec.shape), partial(_lowest, spec.shape), scene)
    vector = np.zeros(3) if turn_axis is None else turn_axis
    up = rotation_matrix(vector) @ [0.0, 1.0, 0.0]
    at = (float(shift[0]), float(shift[1]), float(shift[2]))
    match spec.shape:
        case rigid.RigidSphere(radius=radius):
            return Sphere(at, scale * radius)
        case rigid.RigidBox(size=size):
            x, y, z = (scale * side for side in size)
            turn = (float(vector[0]), float(vector[1]), float(vector[2]))
            return Box(at, (x, y, z), rotate=turn)
        case rigid.RigidCapsule(radius=radius, length=length):
            half = 0.5 * scale * length * up
            return Capsule(tuple((shift - half).tolist()), tuple((shift + half).tolist()), scale * radius)
        case rigid.RigidCylinder(radius=radius, height=height):
            return Cylinder(at, axis=tuple(up.tolist()), radius=scale * radius, height=scale * height)
    raise TypeError(f"unknown shape {spec.shape!r}")


_Primitive = rigid.RigidSphere | rigid.RigidBox | rigid.RigidCapsule | rigid.RigidCylinder


def _longest(shape: Any) -> float:
    """Return the longest side of the bounding box of a primitive [m]."""
    match shape:
        case rigid.RigidSphere(radius=radius):
            return float(2.0 * radius)
        case rigid.RigidBox(size=size):
            return float(max(size))
        case rigid.RigidCapsule(radius=radius, length=length):
            return float(length + 2.0 * radius)
    return float(max(shape.height, 2.0 * shape.radius))


def _lowest(shape: Any, direction: NDArray[np.float64]) -> float:
    """Return the smallest coordinate of a primitive along a unit vector [m]."""
    along = abs(float(direction[1]))  # its axis
    match shape:
        case rigid.RigidSphere(radius=radius):
            return -float(radius)
        case rigid.RigidBox(size=size):
            return -0.5 * float(np.array(size) @ np.abs(direction))
        case rigid.RigidCapsule(radius=radius, length=length):
            return -float(radius + 0.5 * length * along)
    return -float(0.5 * shape.height * along + shape.radius * math.sqrt(max(0.0, 1.0 - along**2)))


def _mesh(mesh: Any, field: Any) -> Any:
    return mesh if field is None else MeshShape(mesh, field)


def instance_places(spec: rigid.RigidBody) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the shifts of the copies [k, 3], and how they are turned, if they are."""
    if spec.grid is None:
        return np.array(spec.places or [(0.0, 0.0, 0.0)], dtype=np.float64), None
    grid = spec.grid
    steps = np.stack(np.meshgrid(*(np.arange(n) for n in grid.counts), indexing="ij"), axis=-1).reshape(-1, 3)
    random = np.random.default_rng(grid.seed)
    places = steps * np.array(grid.spacing) + random.uniform(-grid.jitter, grid.jitter, steps.shape)
    if not grid.turn:
        return places, None
    axes = random.normal(size=places.shape)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return places, axes * random.uniform(0.0, math.pi, (len(places), 1))


def build_joints(scene: Scene, made: list[Any]) -> list[joints.Joint | joints.Motor]:
    """Return the joints and motors of the scene between the bodies that were made from it."""
    named = {body.name: body for body in made}
    result: list[joints.Joint | joints.Motor] = []
    for number, spec in enumerate(scene.joints):
        with scene.at("joints", number):
            a = _end(named, spec.a, spec.copy_a, "a")
            b = None if spec.b is None else _end(named, spec.b, spec.copy_b, "b")
            joint: joints.Joint
            match spec:
                case rigid.BallJoint():
                    joint = joints.Ball(a, b, point=spec.point, collide=spec.collide)
                case rigid.HingeJoint():
                    limits = None
                    if spec.limits is not None:
                        limits = (math.radians(spec.limits[0]), math.radians(spec.limits[1]))
                    joint = joints.Hinge(
                        a, b, point=spec.point, axis=spec.axis, limits=limits, collide=spec.collide
                    )
                case rigid.SliderJoint():
                    joint = joints.Slider(
                        a, b, point=spec.point, axis=spec.axis, limits=spec.limits, collide=spec.collide
                    )
                case _:
                    joint = joints.Fixed(a, b, point=spec.point, collide=spec.collide)
            joint.all_rows()
            result.append(joint)
            if isinstance(spec, (rigid.HingeJoint, rigid.SliderJoint)) and spec.motor is not None:
                assert isinstance(joint, (joints.Hinge, joints.Slider))
                result.append(joints.Motor(joint, spec.motor.speed, spec.motor.strength))
    return result


def _end(named: dict[str, Any], name: str, copy: int, key: str) -> tuple[bodies.RigidInstances, int]:
    body = named.get(name)
    if not isinstance(body, bodies.RigidInstances):
        has = ", ".join(n for n, other in named.items() if isinstance(other, bodies.RigidInstances)) or "none"
        raise InputError(f"'{key}' must name a rigid body, not '{name}' (there is: {has})")
    return body, copy
