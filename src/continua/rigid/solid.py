"""The shape of a rigid body in its own axes: what it weighs, how it looks, and what finds its contacts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
from numpy.typing import NDArray

from continua.contact import Box, Capsule, Cylinder, MeshShape, Shape, Sphere
from continua.contact.outlines import axis_frame
from continua.contact.rigid_shapes import BALL, BOX, CYLINDER, MESH, ROD
from continua.errors import InputError
from continua.mesh import SurfaceMesh, VolumeMesh, surfaces
from continua.mesh.transform import rotation_matrix
from continua.rigid.mass import moments, principal
from continua.rigid.samples import Samples, primitive_points, sample_tree, surface_points
from continua.sdf import DistanceField, ExactDistance, PlacedField, exact

__all__ = ["Solid", "solid_of"]


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid around its centre of mass, along its principal axes.

    Attributes:
        kind: What it is for the contact search, see `contact.rigid_shapes`.
        size: Its size there, shape [3].
        volume: Volume [m3].
        inertia: Principal moments for a mass of 1 [m2], shape [3].
        center: Where its centre is when it is made [m], shape [3].
        turn: How its axes stand then: columns of a rotation, shape [3, 3].
        surface: Its surface, in its own axes.
        thin: Least distance from the centre to the surface, roughly [m].
        field: Its signed distance in its own axes; only meshes have one.
        notes: What was remarkable about the mesh.
    """

    kind: int
    size: NDArray[np.float64]
    volume: float
    inertia: NDArray[np.float64]
    center: NDArray[np.float64]
    turn: NDArray[np.float64]
    surface: SurfaceMesh
    thin: float
    field: ExactDistance | PlacedField | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def radius(self) -> float:
        """Largest distance from the centre to the surface [m]."""
        return float(np.linalg.norm(self.surface.points, axis=1).max())

    @cached_property
    def samples(self) -> Samples:
        """Points of the surface in its own axes, for distances of other shapes."""
        if self.kind == MESH:
            return sample_tree(surface_points(self.surface, self.radius))
        return sample_tree(primitive_points(self.kind, self.size))

    def distances(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return signed distances [n] [m] and unit normals [n, 3] of a mesh at points [n, 3] in its own axes."""
        assert self.field is not None
        gaps, normals = self.field.value_and_gradient(points)
        return gaps, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)


def solid_of(shape: Shape | SurfaceMesh | VolumeMesh) -> Solid:
    """Return the solid that a primitive shape or a closed mesh makes."""
    if isinstance(shape, (SurfaceMesh, VolumeMesh)):
        return _mesh_solid(shape, None)
    if not isinstance(shape, (Sphere, Box, Capsule, Cylinder, MeshShape)):
        raise InputError(
            f"a rigid body is a Sphere, a Box, a Capsule, a Cylinder or a closed mesh, not {type(shape).__name__}"
        )
    if shape.inside or getattr(shape, "rounding", 0.0) > 0.0:
        raise InputError(f"a rigid body cannot be a hollow or rounded {shape.kind}; give it a mesh instead")
    if shape.motion is not None:
        raise InputError(f"give the motion to the rigid body, not to the {shape.kind} it is made of")
    if isinstance(shape, MeshShape):
        return _mesh_solid(shape.mesh, shape.field)
    match shape:
        case Sphere():
            return _ball(shape.radius, np.array(shape.center))
        case Box():
            return _box(
                0.5 * np.array(shape.size), np.array(shape.center), rotation_matrix(np.array(shape.rotate))
            )
        case Capsule():
            way = np.subtract(shape.end, shape.start)
            length = float(np.linalg.norm(way))
            middle = 0.5 * np.add(shape.start, shape.end)
            return _rod(shape.radius, 0.5 * length, middle, axis_frame(way / length).T)
        case _:
            return _cylinder(
                shape.radius, 0.5 * shape.height, np.array(shape.center), axis_frame(np.array(shape.axis)).T
            )


def _ball(r: float, center: NDArray[np.float64]) -> Solid:
    return Solid(
        BALL, np.array([r, 0.0, 0.0]), 4.0 / 3.0 * pi * r**3, np.full(3, 0.4 * r * r), center, np.eye(3),
        surfaces.sphere(r, 4), r,
    )  # fmt: skip


def _box(half: NDArray[np.float64], center: NDArray[np.float64], turn: NDArray[np.float64]) -> Solid:
    x, y, z = half**2
    inertia = np.array([y + z, x + z, x + y]) / 3.0
    surface = surfaces.box(2.0 * half, origin=-half)
    return Solid(BOX, half, float(8.0 * half.prod()), inertia, center, turn, surface, float(half.min()))


def _rod(r: float, h: float, center: NDArray[np.float64], turn: NDArray[np.float64]) -> Solid:
    pipe, ball = 2.0 * pi * r * r * h, 4.0 / 3.0 * pi * r**3
    volume = pipe + ball
    along = pipe * 0.5 * r * r + ball * 0.4 * r * r
    across = pipe * (0.25 * r * r + h * h / 3.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r)
    points, triangles = Capsule((0.0, 0.0, -h), (0.0, 0.0, h), r)._outline()
    return Solid(
        ROD, np.array([r, h, 0.0]), volume, np.array([across, across, along]) / volume, center, turn,
        SurfaceMesh(points, triangles), r,
    )  # fmt: skip


def _cylinder(r: float, h: float, center: NDArray[np.float64], turn: NDArray[np.float64]) -> Solid:
    across = 0.25 * r * r + h * h / 3.0
    points, triangles = Cylinder((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), r, 2.0 * h)._outline()
    return Solid(
        CYLINDER, np.array([r, h, 0.0]), 2.0 * pi * r * r * h, np.array([across, across, 0.5 * r * r]), center, turn,
        SurfaceMesh(points, triangles), min(r, h),
    )  # fmt: skip


def _mesh_solid(mesh: SurfaceMesh | VolumeMesh, given: object) -> Solid:
    surface = mesh if isinstance(mesh, SurfaceMesh) else mesh.surface
    volume, center, inertia = moments(surface)
    values, axes = principal(inertia / volume)
    points = (surface.points - center) @ axes
    own = SurfaceMesh(points, surface.triangles)
    size = np.abs(points).max(axis=0)
    return Solid(
        MESH, size, volume, values, center, axes, own, 0.5 * float(size.min()),
        _own_field(given, own, center, axes), tuple(mesh.notes),
    )  # fmt: skip


def _own_field(
    given: object, own: SurfaceMesh, center: NDArray[np.float64], axes: NDArray[np.float64]
) -> ExactDistance | PlacedField:
    """Return the distance of a mesh in the axes of its solid, from the one that was given for where it stands."""
    if given is None:
        return exact(own)
    if isinstance(given, ExactDistance):
        return exact(own, sign=given.sign)
    if isinstance(given, (DistanceField, PlacedField)):
        return given.transformed(translate=-center @ axes, rotate=axes.T)
    raise InputError(
        f"the field of a rigid body must come from sdf.fit, sdf.load or sdf.exact, not {type(given).__name__}"
    )
