"""The geometry of a rigid body in its principal axes: mass properties, surface, and contact shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.geometry import Box, Capsule, Cylinder, MeshShape, Shape, Sphere
from continua.geometry.primitive_kernels import BOX, CAPSULE, CYLINDER, MESH, SPHERE
from continua.mesh import SurfaceMesh, VolumeMesh, surfaces
from continua.numerics.rotations import axis_frame, rotation_matrix
from continua.rigid.mass import moments, principal
from continua.rigid.surface_samples import Samples, primitive_points, sample_tree, surface_points
from continua.sdf import DistanceField, ExactDistance, TransformedField, exact

__all__ = ["RigidGeometry", "geometry_of"]


@dataclass(frozen=True, eq=False)
class RigidGeometry:
    """A solid in its principal axes around its centre of mass.

    Attributes:
        kind: Kind of primitive, see `geometry.primitive_kernels`.
        size: Size of the primitive, shape [3].
        volume: Volume [m3].
        inertia: Principal moments for a mass of 1 [m2], shape [3].
        center: Initial centre of mass [m], shape [3].
        rotation: Initial principal axes, as columns of a rotation, shape [3, 3].
        surface: Its surface, in its own axes.
        min_radius: Smallest distance from the centre to the surface, approximately [m].
        field: Signed distance in its own axes; only for meshes.
        notes: Remarks about the mesh.
    """

    kind: int
    size: NDArray[np.float64]
    volume: float
    inertia: NDArray[np.float64]
    center: NDArray[np.float64]
    rotation: NDArray[np.float64]
    surface: SurfaceMesh
    min_radius: float
    field: ExactDistance | TransformedField | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def radius(self) -> float:
        """Largest distance from the centre to the surface [m]."""
        return float(np.linalg.norm(self.surface.points, axis=1).max())

    @cached_property
    def samples(self) -> Samples:
        """Points of the surface in its own axes, sampled for contact with the distance of other shapes."""
        if self.kind == MESH:
            return sample_tree(surface_points(self.surface, self.radius))
        return sample_tree(primitive_points(self.kind, self.size))

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] [m] and unit normals [n, 3] of a mesh at points [n, 3] in its own axes."""
        assert self.field is not None
        gaps, normals = self.field.value_and_gradient(points)
        return gaps, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)

    def local_shape(self) -> Shape:
        """Return the geometry as a shape in its own axes."""
        a, b, c = (float(size) for size in self.size)
        if self.kind == SPHERE:
            return Sphere(radius=a)
        if self.kind == BOX:
            return Box(size=(2.0 * a, 2.0 * b, 2.0 * c))
        if self.kind == CAPSULE:
            return Capsule(start=(0.0, 0.0, -b), end=(0.0, 0.0, b), radius=a)
        if self.kind == CYLINDER:
            return Cylinder(axis=(0.0, 0.0, 1.0), radius=a, height=2.0 * b)
        return MeshShape(self.surface, field=self.field)


def geometry_of(shape: Shape | SurfaceMesh | VolumeMesh) -> RigidGeometry:
    """Return the geometry of a primitive shape or a closed mesh."""
    if isinstance(shape, (SurfaceMesh, VolumeMesh)):
        return _mesh_geometry(shape, None)
    if not isinstance(shape, (Sphere, Box, Capsule, Cylinder, MeshShape)):
        raise InputError(
            f"a rigid body is a Sphere, a Box, a Capsule, a Cylinder or a closed mesh, not {type(shape).__name__}"
        )
    if shape.inside or getattr(shape, "rounding", 0.0) > 0.0:
        raise InputError(f"a rigid body cannot be a hollow or rounded {shape.kind}; give it a mesh instead")
    if shape.motion is not None:
        raise InputError(f"give the motion to the rigid body, not to the {shape.kind} it is made of")
    if isinstance(shape, MeshShape):
        return _mesh_geometry(shape.mesh, shape.field)
    match shape:
        case Sphere():
            return _sphere(shape.radius, np.array(shape.center))
        case Box():
            return _box(
                0.5 * np.array(shape.size), np.array(shape.center), rotation_matrix(np.array(shape.rotate))
            )
        case Capsule():
            segment = np.subtract(shape.end, shape.start)
            length = float(np.linalg.norm(segment))
            center = 0.5 * np.add(shape.start, shape.end)
            return _capsule(shape.radius, 0.5 * length, center, axis_frame(segment / length).T)
        case _:
            return _cylinder(
                shape.radius, 0.5 * shape.height, np.array(shape.center), axis_frame(np.array(shape.axis)).T
            )


def _sphere(r: float, center: NDArray[np.float64]) -> RigidGeometry:
    return RigidGeometry(
        SPHERE, np.array([r, 0.0, 0.0]), 4.0 / 3.0 * pi * r**3, np.full(3, 0.4 * r * r), center, np.eye(3),
        surfaces.sphere(r, 4), r,
    )  # fmt: skip


def _box(
    half: NDArray[np.float64], center: NDArray[np.float64], rotation: NDArray[np.float64]
) -> RigidGeometry:
    x, y, z = half**2
    inertia = np.array([y + z, x + z, x + y]) / 3.0
    surface = surfaces.box(2.0 * half, origin=-half)
    return RigidGeometry(
        BOX, half, float(8.0 * half.prod()), inertia, center, rotation, surface, float(half.min())
    )


def _capsule(r: float, h: float, center: NDArray[np.float64], rotation: NDArray[np.float64]) -> RigidGeometry:
    tube, caps = 2.0 * pi * r * r * h, 4.0 / 3.0 * pi * r**3
    volume = tube + caps
    axial = tube * 0.5 * r * r + caps * 0.4 * r * r
    transverse = tube * (0.25 * r * r + h * h / 3.0) + caps * (0.4 * r * r + h * h + 0.75 * h * r)
    points, triangles = Capsule((0.0, 0.0, -h), (0.0, 0.0, h), r).local_triangles()
    return RigidGeometry(
        CAPSULE, np.array([r, h, 0.0]), volume, np.array([transverse, transverse, axial]) / volume, center, rotation,
        SurfaceMesh(points, triangles), r,
    )  # fmt: skip


def _cylinder(
    r: float, h: float, center: NDArray[np.float64], rotation: NDArray[np.float64]
) -> RigidGeometry:
    transverse = 0.25 * r * r + h * h / 3.0
    points, triangles = Cylinder(
        (0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), radius=r, height=2.0 * h
    ).local_triangles()
    return RigidGeometry(
        CYLINDER, np.array([r, h, 0.0]), 2.0 * pi * r * r * h, np.array([transverse, transverse, 0.5 * r * r]), center,
        rotation, SurfaceMesh(points, triangles), min(r, h),
    )  # fmt: skip


def _mesh_geometry(mesh: SurfaceMesh | VolumeMesh, given: object) -> RigidGeometry:
    surface = mesh if isinstance(mesh, SurfaceMesh) else mesh.surface
    volume, center, inertia = moments(surface)
    values, axes = principal(inertia / volume)
    points = (surface.points - center) @ axes
    own = SurfaceMesh(points, surface.triangles, uv=surface.uv, texture=surface.texture)
    size = np.abs(points).max(axis=0)
    return RigidGeometry(
        MESH, size, volume, values, center, axes, own, 0.5 * float(size.min()),
        _own_field(given, own, center, axes), tuple(mesh.notes),
    )  # fmt: skip


def _own_field(
    given: object, own: SurfaceMesh, center: NDArray[np.float64], axes: NDArray[np.float64]
) -> ExactDistance | TransformedField:
    """Return the signed distance of a mesh in its principal axes, from the one given for its initial position."""
    if given is None:
        return exact(own)
    if isinstance(given, ExactDistance):
        return exact(own, sign=given.sign)
    if isinstance(given, (DistanceField, TransformedField)):
        return given.transformed(translate=-center @ axes, rotate=axes.T)
    raise InputError(
        f"the field of a rigid body must come from sdf.fit, sdf.load or sdf.exact, not {type(given).__name__}"
    )
