"""Shapes of colliders and rigid bodies: signed distances, poses and triangle meshes for drawing."""

from continua.geometry.animated_mesh_shape import AnimatedMeshShape, follow_surface
from continua.geometry.gear import Gear
from continua.geometry.mesh_shape import MeshShape
from continua.geometry.primitive_shapes import Box, Capsule, Cylinder, Plane, Sphere
from continua.geometry.shape import Pose, Shape

__all__ = [
    "AnimatedMeshShape",
    "Box",
    "Capsule",
    "Cylinder",
    "Gear",
    "MeshShape",
    "Plane",
    "Pose",
    "Shape",
    "Sphere",
    "follow_surface",
]
