"""The cost of building a scene, estimated from its options before anything is made."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import continua.mesh as meshes
from continua.errors import ContinuaError, InputError
from continua.grid_fluids.geometry.grid import BYTES_PER_CELL
from continua.registry import BodyCost, body_kind
from continua.scene import liquids, shapes
from continua.scene.build_mesh import parametric_surface
from continua.scene.models import Scene
from continua.sph import BYTES_PER_PARTICLE
from continua.validation import memory_limit

__all__ = [
    "SceneCost",
    "estimate_cost",
    "estimate_fluid",
    "estimate_grid_fluid",
    "estimate_soft",
    "fluid_memory",
    "soft_memory",
]

BASE_MEMORY = 200e6  # Python, Numba and the compiled kernels [bytes]

_ASK_MEMORY = 2e9  # bytes above which a build is large
_ASK_SECONDS = 30.0  # s above which a build is large

_MEMORY = {1: (3000.0, 800.0), 2: (3500.0, 5000.0), 3: (5000.0, 34000.0)}
"""Peak bytes per node and per element by order, of building and stepping boxes of 10,000 to 900,000 elements."""

_HEX_MEMORY = 3500.0, 141000.0
"""The same of hexahedra of order 2, of a box of 2,744."""

_SECONDS = {1: 1.5e-5, 2: 1.3e-4, 3: 8e-4}
"""Seconds per element until the first step is done, by order, on two cores."""

_NODES_PER_TET = {1: 0.18, 2: 1.4, 3: 4.6}  # of large meshes
_BLOB_TETS = 13.5  # tetrahedra per volume of a blob, in cubes of the edge length
_FILLED_TETS = 8.5  # the same for a filled surface
_TETS_PER_TRIANGLE = 3.0  # a filled surface keeps its triangles
_TETS_PER_VOLUME = 4.0  # tetrahedra over the number that the largest volume allows
_FILL_SECONDS = 1e-3  # s per tetrahedron to fill a surface
_DEFAULT_EDGE = 1.0 / 20.0  # of the diagonal of the bounding box
_BYTES_PER_ELEMENT = 50.0  # of a mesh file
_LIQUID_BYTES_PER_CELL = 8 * 150  # eight particles in a cell that is full
_PARTICLE_PICTURE_BYTES = 480e6  # to draw particles; hardly depends on their number
_SECONDS_PER_PARTICLE = 2e-5
_SECONDS_PER_CELL = 3e-6
_SURFACE_FILES = {".stl", ".obj", ".ply", ".off", ".glb", ".gltf"}


@dataclass(frozen=True)
class SceneCost:
    """The estimated cost of building a scene and of its first step.

    Attributes:
        bodies: The cost of each body whose cost is known.
    """

    bodies: tuple[BodyCost, ...]

    @property
    def memory(self) -> float:
        """Peak memory of the process [bytes]."""
        return BASE_MEMORY + sum(body.memory for body in self.bodies)

    @property
    def seconds(self) -> float:
        """Wall time [s]."""
        return sum(body.seconds for body in self.bodies)

    @property
    def is_large(self) -> bool:
        """Whether a user should be asked first."""
        return self.memory > _ASK_MEMORY or self.seconds > _ASK_SECONDS

    @property
    def fits(self) -> bool:
        """Whether this machine has the memory."""
        return self.memory <= memory_limit()

    def __str__(self) -> str:
        counts: dict[str, float] = {}
        for body in self.bodies:
            counts[body.what] = counts.get(body.what, 0.0) + body.count
        parts = [f"{count_text(count)} {what}" for what, count in counts.items() if count]
        gigabytes = self.memory / 1e9
        parts.append(
            f"{gigabytes:.2g} GB of memory" if gigabytes < 10.0 else f"{gigabytes:,.0f} GB of memory"
        )
        parts.append(time_text(self.seconds))
        return f"about {', '.join(parts)} to start"

    def check_memory(self) -> None:
        """Raise `InputError` if this machine does not have the memory."""
        if not self.fits:
            raise InputError(
                f"the scene needs {self}, but this machine has only {memory_limit() / 1e9:.2g} GB for it; "
                "use coarser meshes"
            )


def estimate_cost(scene: Scene) -> SceneCost:
    """Return the estimated cost of a scene; bodies that cannot be estimated are left out."""
    found = []
    for number, body in enumerate(scene.bodies):
        with suppress(ContinuaError):  # the build reports it
            if (cost := body_kind(body).cost_of(scene, number)) is not None:
                found.append(cost)
    return SceneCost(tuple(found))


def count_text(count: float) -> str:
    """Return a count for people, such as "12 million"."""
    if count >= 9.5e5:
        return f"{count / 1e6:.2g} million" if count < 9.95e7 else f"{count / 1e6:,.0f} million"
    return f"{float(f'{count:.2g}'):,.0f}"


def time_text(seconds: float) -> str:
    """Return a duration for people, such as "3 minutes"."""
    if seconds < 1.0:
        return "less than a second"
    for unit, size in (("hour", 3600.0), ("minute", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.0f} seconds"


def soft_memory(nodes: float, elements: float, order: int, hexes: bool = False) -> float:
    """Return the peak memory of a soft body [bytes]."""
    per_node, per_element = _HEX_MEMORY if hexes and order == 2 else _MEMORY[order]
    return per_node * nodes + per_element * elements


def estimate_soft(scene: Scene, number: int) -> BodyCost:
    """Return the cost of a soft body."""
    spec = scene.bodies[number]
    elements, seconds = _elements(spec.mesh, scene)
    hexes = getattr(spec.mesh, "elements", "") == "hexes"
    nodes = (1.1 if spec.order == 1 else 8.8) * elements if hexes else _NODES_PER_TET[spec.order] * elements
    return BodyCost(
        elements,
        "hexahedra" if hexes else "tetrahedra",
        soft_memory(nodes, elements, spec.order, hexes),
        seconds + _SECONDS[spec.order] * elements,
    )


def estimate_fluid(scene: Scene, number: int) -> BodyCost:
    """Return the cost of a particle fluid."""
    spec = scene.bodies[number]
    volume = 0.0
    if spec.block is not None:
        volume += math.prod(max(b - a, 0.0) for a, b in zip(spec.block.min, spec.block.max, strict=True))
    if spec.mesh is not None:
        place = spec.transform or shapes.Transform()
        # of a mesh that is scaled to a size only the cube around it is known
        volume += place.scale**3 * _volume(spec.mesh, scene) if place.size is None else place.size**3
    count = volume / (2.0 * spec.particle_radius) ** 3
    return BodyCost(count, "particles", fluid_memory(scene, number, count), count * _SECONDS_PER_PARTICLE)


def fluid_memory(scene: Scene, number: int, count: float) -> float:
    """Return the peak memory of a run [bytes] for `count` particles in body `number`.

    That of the picture is counted with the first fluid.
    """
    first = next(k for k, body in enumerate(scene.bodies) if body.type == scene.bodies[number].type)
    return count * BYTES_PER_PARTICLE + (_PARTICLE_PICTURE_BYTES if number == first else 0.0)


def estimate_grid_fluid(scene: Scene, number: int) -> BodyCost:
    """Return the cost of a grid fluid."""
    spec = scene.bodies[number]
    count = float(math.prod(spec.cells))
    bytes_per_cell = BYTES_PER_CELL + (_LIQUID_BYTES_PER_CELL if isinstance(spec, liquids.Liquid) else 0)
    return BodyCost(count, "cells", count * bytes_per_cell, count * _SECONDS_PER_CELL)


def _elements(spec: Any, scene: Scene) -> tuple[float, float]:
    """Return the number of elements of a mesh, and the seconds to make it beyond those of a body."""
    match spec:
        case shapes.BoxMesh():
            return math.prod(spec.cells) * (1.0 if spec.elements == "hexes" else spec.split), 0.0
        case shapes.RectangleMesh():
            return math.prod(spec.cells) * 2.0, 0.0
        case shapes.PolygonMesh():
            x, y = zip(*spec.outline, strict=True)
            box = (max(x) - min(x)) * (max(y) - min(y))
            return (2.3 * box / spec.size**2 if spec.size else 4.0 * len(spec.outline)), 0.0
        case shapes.BridgeMesh():
            return 48.0 * spec.n**3, 0.0
        case shapes.SphereMesh():
            return 20.0 * spec.cells**3, 0.0
        case shapes.CylinderMesh() | shapes.TorusMesh() | shapes.BowlMesh():
            return 18.0 * spec.cells[0] ** 2 * spec.cells[1], 0.0
        case shapes.BlobMesh():
            return _BLOB_TETS * _blob_volume(spec) / spec.size**3, 0.0
        case shapes.ParametricMesh():
            return _filled(parametric_surface(spec), spec.tetrahedralize)
        case shapes.FileMesh():
            path = scene.file(spec.path)
            if path.suffix.lower() in _SURFACE_FILES:
                return _filled(_read_surface(path), spec.tetrahedralize)
            return path.stat().st_size / _BYTES_PER_ELEMENT if path.is_file() else 0.0, 0.0
    return 0.0, 0.0


def _filled(surface: meshes.SurfaceMesh, wishes: shapes.Tetrahedralize | None) -> tuple[float, float]:
    """Return the number of tetrahedra in a surface, and the seconds to fill it."""
    volume, triangles = _enclosed_volume(surface), len(surface.triangles)
    low, high = surface.bounds
    edge = _DEFAULT_EDGE * float(np.linalg.norm(np.subtract(high, low)))
    if wishes is not None and wishes.size is not None:
        edge = wishes.size
    count = _FILLED_TETS * volume / max(edge, 1e-300) ** 3 + _TETS_PER_TRIANGLE * triangles
    if wishes is not None and wishes.max_volume is not None:
        count = max(count, _TETS_PER_VOLUME * volume / wishes.max_volume)
    return count, _FILL_SECONDS * count


def _volume(spec: Any, scene: Scene) -> float:
    """Return the volume of a mesh [m3]."""
    match spec:
        case shapes.BoxMesh() | shapes.BridgeMesh():
            return math.prod(spec.size)
        case shapes.SphereMesh():
            return 4.0 / 3.0 * math.pi * spec.radius**3
        case shapes.CylinderMesh():
            return math.pi * spec.radius**2 * spec.height
        case shapes.TorusMesh():
            return 2.0 * math.pi**2 * spec.radius * spec.tube**2
        case shapes.BowlMesh():
            solid = 2.0 * math.pi / 3.0 * (1.0 - math.cos(math.radians(spec.opening)))
            return solid * (spec.radius**3 - (spec.radius - spec.thickness) ** 3)
        case shapes.BlobMesh():
            return _blob_volume(spec)
        case shapes.ParametricMesh():
            return _enclosed_volume(parametric_surface(spec))
        case shapes.FileMesh() if scene.file(spec.path).suffix.lower() in _SURFACE_FILES:
            return _enclosed_volume(_read_surface(scene.file(spec.path)))
    return 0.0


def _blob_volume(spec: shapes.BlobMesh) -> float:
    """Return the sum of the volumes of round cones [m3], of which some may overlap."""
    total = 0.0
    for limb in spec.limbs:
        a, b = limb.radius, limb.radius if limb.end_radius is None else limb.end_radius
        length = math.dist(limb.start, limb.end)
        total += math.pi / 3.0 * length * (a * a + a * b + b * b) + 2.0 / 3.0 * math.pi * (a**3 + b**3)
    return total


def _read_surface(path: Path) -> meshes.SurfaceMesh:
    mesh = meshes.read(path, images=False)
    return mesh if isinstance(mesh, meshes.SurfaceMesh) else mesh.surface


def _enclosed_volume(surface: meshes.SurfaceMesh) -> float:
    """Return the volume inside of a surface [m3], also of one with small holes."""
    a, b, c = np.moveaxis((surface.points - surface.points.mean(axis=0))[surface.triangles], 1, 0)
    return abs(float(np.einsum("ij,ij->", a, np.cross(b, c)))) / 6.0
