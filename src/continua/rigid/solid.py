"""The shape of a rigid body in its own axes: what it weighs, how it looks, and what finds its contacts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi

import numpy as np
from numpy.typing import NDArray

from continua.contact import Box, Capsule, Cylinder, Shape, Sphere
from continua.contact.outlines import axis_frame
from continua.contact.rigid_shapes import BALL, BOX, CYLINDER, MESH, ROD
from continua.errors import InputError
from continua.mesh import SurfaceMesh, VolumeMesh, surfaces
from continua.mesh.transform import rotation_matrix
from continua.rigid.mass import moments, principal
from continua.sdf import ExactDistance, exact

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
    field: ExactDistance | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def radius(self) -> float:
        """Largest distance from the centre to the surface [m]."""
        return float(np.linalg.norm(self.surface.points, axis=1).max())

    @cached_property
    def samples(self) -> NDArray[np.float64]:
        """Points of the surface in its own axes, for distances of other shapes [m], shape [s, 3]."""
        return _spots(self.surface, self.radius) if self.kind == MESH else _samples(self.kind, self.size)


def solid_of(shape: Shape | SurfaceMesh | VolumeMesh) -> Solid:
    """Return the solid that a primitive shape or a closed mesh makes."""
    if isinstance(shape, (SurfaceMesh, VolumeMesh)):
        return _mesh_solid(shape)
    if not isinstance(shape, (Sphere, Box, Capsule, Cylinder)):
        raise InputError(
            f"a rigid body is a Sphere, a Box, a Capsule, a Cylinder or a closed mesh, not {type(shape).__name__}"
        )
    if shape.inside or getattr(shape, "rounding", 0.0) > 0.0:
        raise InputError(f"a rigid body cannot be a hollow or rounded {shape.kind}; give it a mesh instead")
    if shape.motion is not None:
        raise InputError(f"give the motion to the rigid body, not to the {shape.kind} it is made of")
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


def _mesh_solid(mesh: SurfaceMesh | VolumeMesh) -> Solid:
    surface = mesh if isinstance(mesh, SurfaceMesh) else mesh.surface
    volume, center, inertia = moments(surface)
    values, axes = principal(inertia / volume)
    points = (surface.points - center) @ axes
    own = SurfaceMesh(points, surface.triangles)
    size = np.abs(points).max(axis=0)
    return Solid(
        MESH, size, volume, values, center, axes, own, 0.5 * float(size.min()),
        exact(own), tuple(mesh.notes),
    )  # fmt: skip


def _spots(surface: SurfaceMesh, radius: float) -> NDArray[np.float64]:
    """Return the nodes of a surface, and points on its triangles where they are coarse against its size."""
    corners = surface.points[surface.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    parts = np.minimum(np.ceil(longest / (radius / 5.0)).astype(int), 12)
    points = [surface.points]
    for n in np.unique(parts[parts > 1]):
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        inside = (i + j <= n) & ~((i == n) | (j == n) | (i + j == 0))
        weights = np.stack([i[inside], j[inside], n - i[inside] - j[inside]], axis=1) / n
        points.append(np.einsum("sw,twd->tsd", weights, corners[parts == n]).reshape(-1, 3))
    everything = np.concatenate(points)
    _, first = np.unique(np.round(everything / (1e-9 * radius)), axis=0, return_index=True)
    return everything[np.sort(first)]


def _samples(kind: int, size: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points of a primitive's surface; a ball and a rod are their core, to be met with their radius."""
    if kind == BALL:
        return np.zeros((1, 3))
    if kind == ROD:
        return np.linspace(-1.0, 1.0, 9)[:, None] * np.array([0.0, 0.0, size[1]])
    if kind == BOX:
        grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        return grid[(np.abs(grid) == 1.0).any(axis=1)] * size
    angle = 2.0 * pi * np.arange(24) / 24
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(24)], axis=1)
    side = np.concatenate([ring * [size[0], size[0], 0] + [0, 0, z * size[1]] for z in np.linspace(-1, 1, 5)])
    ends = np.concatenate(
        [0.5 * ring[::3] * [size[0], size[0], 0] + [0, 0, z * size[1]] for z in (-1.0, 1.0)]
    )
    return np.concatenate([side, ends, [[0, 0, -size[1]], [0, 0, size[1]]]])
