"""The picture of a scene at rest, shown while its world is built and the kernels of the world are compiled.

Nothing here waits for a kernel: one that is not compiled yet is refused, and what would need it is drawn in a simpler
way or left out. Large meshes and fluids are drawn with fewer elements and particles.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import continua.mesh as meshes
from continua.environment import Environment
from continua.errors import InputError
from continua.frames import CHANGES_EVERY_FRAME, BodyFields, BodyFrame, Field, StepReport, Volume
from continua.geometry import MeshShape, Shape
from continua.mesh import surfaces
from continua.numerics.kernel import on_compile
from continua.numerics.progress import progress_listener
from continua.numerics.rotations import rotation_matrix
from continua.registry import body_kind, register_system
from continua.rigid.mass import moments
from continua.scene import (
    Scene,
    cloth,
    environment,
    fluids,
    grid_fluids,
    liquids,
    rigid,
    shapes,
    shell,
    soft_bodies,
    springs,
)
from continua.scene.build_cloth import cloth_surface
from continua.scene.build_environment import build_collider, build_wind, rgb
from continua.scene.build_mesh import build_surface
from continua.scene.build_rigid import build_rigid, instance_places
from continua.scene.build_springs import build_network
from continua.sph.sampling import block_points
from continua.system import System
from continua.world import World

__all__ = ["PreviewBody", "preview_world"]

_MAX_TETS = 20_000
_MAX_BLOB_CELLS = 5_000  # of the size of the elements in the box around a blob
_MAX_PARTICLES = 60_000
_MAX_VOLUME_CELLS = 32  # along an axis
_MAX_FILE = 20 * 2**20  # bytes
_NO_FIELD = shapes.DistanceFieldSpec()
_NO_TRIANGLES = np.zeros((0, 3), np.int32)
_ROUND = (shapes.SphereMesh, shapes.CylinderMesh, shapes.TorusMesh, shapes.BowlMesh)  # know their surface
_TETS = {  # elements of a mesh: a factor, and the exponents of its `cells`
    "box": (6, (1, 1, 1)),
    "rectangle": (2, (1, 1)),
    "sphere": (20, (3,)),
    "cylinder": (18, (2, 1)),
    "torus": (18, (2, 1)),
    "bowl": (18, (2, 1)),
}


class PreviewBody:
    """A body of a scene as it is drawn at the start; it does not move.

    Args:
        frame: Its picture.
        obstacles: Shapes inside of it that are drawn too.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, frame: BodyFrame, obstacles: Sequence[Shape] = ()) -> None:
        self.name = frame.name
        self.color = frame.color
        self.obstacles = tuple(obstacles)
        self._frame = frame

    @property
    def node_count(self) -> int:
        """Number of points that are drawn."""
        return len(self._frame.positions)

    @property
    def mass_total(self) -> float:
        """Zero: the mass is not known yet [kg]."""
        return 0.0

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions of the points [m], shape [n, 3]; a copy."""
        return self._frame.positions.copy()

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """The same."""
        return self._frame.rest_positions

    @property
    def triangles(self) -> NDArray[np.int32]:
        """The surface, shape [k, 3]."""
        return self._frame.triangles

    def prepare(self, environment: Environment) -> None:
        """Enter a world."""

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return the picture."""
        return self._frame

    def energy(self) -> dict[str, float]:
        """Return no energies."""
        return {}

    def state(self) -> dict[str, NDArray]:
        """Return an empty state."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""

    def reset(self) -> None:
        """Do nothing."""

    def summary(self) -> dict[str, int | str]:
        """Return that it is not built yet."""
        return {"kind": "not built yet"}

    def geometry_bytes(self) -> bytes:
        """Return the points as bytes."""
        return self._frame.positions.tobytes()


@register_system
class PreviewSystem(System):
    """The bodies of a preview; they cannot be stepped."""

    kinds: ClassVar = (PreviewBody,)

    def step(self, dt: float) -> Sequence[StepReport]:
        """Refuse: the world is not built yet."""
        raise InputError("the scene is not built yet")

    def obstacles(self) -> Iterable[Shape]:
        """Return the obstacles of the bodies."""
        return [shape for body in self.bodies for shape in body.obstacles]


class _NotCompiledError(Exception):
    """A kernel would have to be compiled."""


class _LateError(Exception):
    """The time is up."""


def preview_world(scene: Scene, seconds: float = 2.0) -> World:
    """Return a world with a picture of each body and collider of a scene; it cannot be stepped.

    Bodies that cannot be drawn, or not in time, are left out.

    Args:
        scene: The scene.
        seconds: When to stop, approximately [s].
    """
    end = time.perf_counter() + seconds

    def stop_in_time(_part: float | None, _text: str) -> None:
        if time.perf_counter() > end:
            raise _LateError

    def attempts(count: int, make: Callable[[int], Any]) -> Iterator[Any]:
        for number in range(count):
            # an error is reported when the world is built
            with suppress(Exception):
                stop_in_time(None, "")
                yield make(number)

    with _without_compiling(), progress_listener(stop_in_time):
        bodies = list(attempts(len(scene.bodies), lambda number: _body(scene, number)))
        colliders = list(
            attempts(len(scene.colliders), lambda k: _collider(scene, scene.colliders[k], "colliders", k))
        )
        wind = next(attempts(1, lambda _: build_wind(scene)), None)
        world = World(
            bodies, gravity=scene.gravity, dt=scene.dt, colliders=colliders, wind=wind, name=scene.name
        )
    _, _, world.dt = world.frame_plan(scene.seconds, scene.fps)
    return world


@contextmanager
def _without_compiling() -> Iterator[None]:
    """Raise `_NotCompiledError` instead of compiling a kernel in this thread."""
    own = threading.get_ident()

    def refuse(kernel: str) -> None:
        if threading.get_ident() == own:
            raise _NotCompiledError(kernel)

    with on_compile(refuse):
        yield


# --- bodies -------------------------------------------------------------------------------------------------------


def _body(scene: Scene, number: int) -> PreviewBody:
    spec = scene.bodies[number]
    match spec:
        case soft_bodies.SoftBody():
            return PreviewBody(_soft(scene, spec))
        case springs.Springs() | springs.PositionBased():
            return PreviewBody(_springs(scene, number, spec))
        case cloth.Cloth() | shell.Shell():
            return PreviewBody(_surface_frame(spec, "cloth", cloth_surface(scene, number)))
        case rigid.RigidBody():
            return PreviewBody(_rigid(scene, number, spec))
        case fluids.Fluid():
            return PreviewBody(_fluid(scene, spec))
        case liquids.Liquid():
            return PreviewBody(_liquid(scene, number, spec), _obstacles(scene, number, spec))
        case grid_fluids.Smoke() | grid_fluids.WindTunnel():
            return PreviewBody(_grid_fluid(spec), _obstacles(scene, number, spec))
    return PreviewBody(body_kind(spec).make(scene, number).frame())


def _frame(
    spec: Any,
    kind: str,
    positions: NDArray[np.float64],
    triangles: NDArray[np.int32] = _NO_TRIANGLES,
    fields: Sequence[tuple[str, str]] = (("displacement", "m"), ("velocity", "m/s")),
    **options: Any,
) -> BodyFrame:
    """Return the frame of a body at rest; all of its fields are zero vectors."""
    zeros = np.zeros_like(positions)
    return BodyFrame(
        name=spec.name,
        kind=kind,
        positions=positions,
        rest_positions=positions,
        cells={},
        triangles=triangles,
        fields=BodyFields({name: Field(zeros, unit) for name, unit in fields}),
        color=None if spec.color is None else rgb(spec.color),
        **options,
    )


def _soft(scene: Scene, spec: soft_bodies.SoftBody) -> BodyFrame:
    """Return the outer surface of a soft body, or its skin."""
    model: Any = spec.mesh
    if spec.skin is not None:
        model = shapes.FileMesh(type="file", path=spec.skin.path, texture=spec.skin.texture)
    elif spec.order > 1 and spec.curved is not False and isinstance(model, _ROUND):
        # the curved faces of a few elements are nearly those of many straight ones
        cells = np.atleast_1d(model.cells) * spec.order
        model = model.model_copy(
            update={"cells": tuple(map(int, cells)) if len(cells) > 1 else int(cells[0])}
        )
    return _surface_frame(spec, "soft", _surface(scene, model, spec.transform))


def _springs(scene: Scene, number: int, spec: springs.Springs | springs.PositionBased) -> BodyFrame:
    """Return the surface of a network, or its points."""
    network = build_network(scene, number)
    ends = network.points[network.springs]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    radius = spec.radius or 0.1 * float(np.median(lengths[lengths > 0.0]))  # as `Springs` does
    return _frame(
        spec,
        "springs",
        network.points,
        network.triangles,
        point_radius=None if len(network.triangles) else radius,
    )


def _rigid(scene: Scene, number: int, spec: rigid.RigidBody) -> BodyFrame:
    model: Any = spec.shape
    if isinstance(model, rigid.RigidSphere | rigid.RigidBox | rigid.RigidCapsule | rigid.RigidCylinder):
        return replace(build_rigid(scene, number).frame(), energy={})
    surface = _surface(scene, model.mesh if isinstance(model, rigid.RigidMesh) else model, spec.transform)
    places, turns = instance_places(spec)
    _, center, _ = moments(surface)
    arms = surface.points - center
    vectors = np.zeros_like(places) if turns is None else turns
    points = [
        center + place + arms @ rotation_matrix(vector).T
        for place, vector in zip(places, vectors, strict=True)
    ]
    starts = surface.node_count * np.arange(len(places))
    triangles = (surface.triangles[None] + starts[:, None, None]).reshape(-1, 3).astype(np.int32)
    uv = None if surface.uv is None else np.tile(surface.uv, (len(places), 1, 1))
    return _frame(spec, "rigid", np.concatenate(points), triangles, uv=uv, texture=surface.texture)


def _surface_frame(spec: Any, kind: str, surface: meshes.SurfaceMesh) -> BodyFrame:
    return _frame(spec, kind, surface.points, surface.triangles, uv=surface.uv, texture=surface.texture)


def _fluid(scene: Scene, spec: fluids.Fluid) -> BodyFrame:
    """Return the particles of a block, or the surface of a mesh that is filled."""
    if spec.mesh is not None:
        return _surface_frame(spec, "soft", _surface(scene, spec.mesh, spec.transform))
    radius, points = spec.particle_radius, np.zeros((0, 3))
    if spec.block is not None:
        corners = np.array([spec.block.min, spec.block.max])
        low, high = corners.min(axis=0), corners.max(axis=0)
        count = float(np.prod((high - low) / (2.0 * radius)))
        radius *= max(1.0, (count / _MAX_PARTICLES) ** (1.0 / 3.0))
        points = block_points(low, high, 2.0 * radius)
    return _frame(
        spec,
        "fluid",
        points,
        fields=[("velocity", "m/s")],
        point_radius=radius,
        topology_version=CHANGES_EVERY_FRAME,
    )


def _grid_fluid(spec: grid_fluids.Smoke | grid_fluids.WindTunnel) -> BodyFrame:
    """Return the sheet through the middle of a grid and, in 3D, an empty volume."""
    dim = len(spec.cells)
    low = np.zeros(3)
    low[:dim] = spec.origin or (0.0,) * dim
    spacing = spec.size[0] / spec.cells[0]
    (x, y), (nx, ny) = low[:2], spec.cells[:2]
    z = 0.0 if dim == 2 else low[2] + spacing * (spec.cells[2] // 2 + 0.5)
    right, top = x + spacing * nx, y + spacing * ny
    corners = np.array([[x, y, z], [right, y, z], [right, top, z], [x, top, z]])
    volume = None
    if dim == 3:
        step = math.ceil(max(spec.cells) / _MAX_VOLUME_CELLS)
        count = tuple(max(1, n // step) for n in spec.cells)
        quantities = {"velocity": Field(np.zeros((*count, 3), np.float32), "m/s")}
        if isinstance(spec, grid_fluids.Smoke) or spec.streaks:
            quantities["smoke"] = Field(np.zeros(count, np.float32), "")
        volume = Volume((low[0], low[1], low[2]), step * spacing, quantities)
    sides = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    return _frame(spec, "grid", corners, sides, fields=[("velocity", "m/s")], volume=volume)


def _liquid(scene: Scene, number: int, spec: liquids.Liquid) -> BodyFrame:
    """Return the surfaces of the blocks and shapes that are filled, inside of the grid."""
    dim = len(spec.cells)
    low = np.zeros(3)
    low[:dim] = spec.origin or (0.0,) * dim
    high = low.copy()
    high[:dim] += spec.size
    parts: list[tuple[NDArray[np.float64], NDArray[np.int32]]] = []
    for block in spec.blocks:
        start, end = (np.clip(corner, low, high) for corner in (block.min, block.max))
        parts.append(_block(start, end, dim))
    for k, item in enumerate(spec.shapes):
        with suppress(_NotCompiledError):
            parts.append(_drawn(_collider(scene, item, "bodies", number, "shapes", k)))
    starts = np.cumsum([0, *(len(points) for points, _ in parts)])
    points = np.concatenate([np.zeros((0, 3)), *(np.clip(points, low, high) for points, _ in parts)])
    triangles = [part + start for (_, part), start in zip(parts, starts[:-1], strict=True)]
    return _frame(
        spec,
        "liquid",
        points,
        np.concatenate([_NO_TRIANGLES, *triangles]).astype(np.int32),
        fields=[("velocity", "m/s")],
        topology_version=CHANGES_EVERY_FRAME,
    )


def _block(
    start: NDArray[np.float64], end: NDArray[np.float64], dim: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return a box, or in a plane a rectangle, between two corners."""
    if dim == 3:
        box = surfaces.box(end - start, origin=start)
        return box.points, box.triangles
    (x, y, z), (right, top, _) = start, end
    corners = np.array([[x, y, z], [right, y, z], [right, top, z], [x, top, z]])
    return corners, np.array([[0, 1, 2], [0, 2, 3]], np.int32)


# --- meshes and shapes --------------------------------------------------------------------------------------------


def _surface(scene: Scene, model: Any, place: shapes.Transform | None) -> meshes.SurfaceMesh:
    """Return the placed surface of a mesh, without a distance field and without tetrahedra inside of a file's one."""
    if hasattr(model, "path") and scene.file(model.path).stat().st_size > _MAX_FILE:
        raise InputError("the file is too large for a preview")
    mesh, _ = build_surface(_coarse(model), _NO_FIELD, place, scene)
    return mesh if isinstance(mesh, meshes.SurfaceMesh) else mesh.surface


def _coarse(model: Any) -> Any:
    """Return the model of a mesh with fewer elements, if it has many."""
    match model:
        case shapes.BridgeMesh(n=n):
            return model.model_copy(update={"n": min(n, int((_MAX_TETS / 48) ** (1.0 / 3.0)))})
        case shapes.BlobMesh(limbs=limbs, size=size):
            ends = np.array([end for limb in limbs for end in (limb.start, limb.end)])
            reach = 2.0 * max(max(limb.radius, limb.end_radius or 0.0) for limb in limbs)
            count = float(np.prod((np.ptp(ends, axis=0) + reach) / size))
            return model.model_copy(
                update={"size": size * max(1.0, (count / _MAX_BLOB_CELLS) ** (1.0 / 3.0))}
            )
    if model.type not in _TETS:
        return model
    factor, exponents = _TETS[model.type]
    counts = np.atleast_1d(model.cells)
    share = (factor * math.prod(counts.astype(float) ** exponents) / _MAX_TETS) ** (1.0 / sum(exponents))
    if share <= 1.0:
        return model
    fewer = [min(int(n), max(3, int(n / share))) for n in counts]
    return model.model_copy(update={"cells": tuple(fewer) if len(fewer) > 1 else fewer[0]})


class _NoDistance:
    """Stands for the distance field of a shape that is only drawn."""

    def __call__(self, points: ArrayLike) -> NDArray[np.float64]:
        raise _NotCompiledError("distance field")

    def gradient(self, points: ArrayLike) -> NDArray[np.float64]:
        raise _NotCompiledError("distance field")


def _collider(scene: Scene, spec: Any, *key: str | int) -> Shape:
    """Return a collider or obstacle to be drawn."""
    if not isinstance(spec, environment.MeshShape):
        return build_collider(scene, spec, *key)
    surface = _surface(scene, spec.mesh, spec.transform)
    return MeshShape(surface, _NoDistance(), rounding=spec.rounding, inside=spec.inside)


def _obstacles(scene: Scene, number: int, spec: Any) -> list[Shape]:
    return [_collider(scene, item, "bodies", number, "obstacles", k) for k, item in enumerate(spec.obstacles)]


def _drawn(shape: Shape) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return points and triangles of a shape that is no plane."""
    about: Any = shape.description()
    if about["kind"] == "sphere":
        ball = surfaces.sphere(about["radius"], 8)
        return ball.points + np.asarray(about["center"]), ball.triangles
    return np.asarray(about["points"]), np.asarray(about["triangles"])
