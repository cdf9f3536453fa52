"""Meshes of a scene and their distance fields: made, read, fitted and placed."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import continua.mesh as meshes
from continua import sdf, shells
from continua.errors import InputError
from continua.mesh.repair import check_not_flat
from continua.mesh.transform import apply_transform
from continua.numerics.kernel_cache import cache_root
from continua.numerics.progress import report_progress
from continua.numerics.rotations import rotation_matrix
from continua.scene import cloth, environment, rigid, shapes
from continua.scene.models import Scene
from continua.textures import Texture
from continua.validation import unit_vector

__all__ = [
    "Placement",
    "build_animation",
    "build_shape",
    "build_surface",
    "parametric_surface",
    "placed_points",
    "placement",
    "transformed_mesh",
    "turn_vector",
]

_NEAR = 20.0  # contacts need the field near the surface
_SAY_AFTER = 2.0  # s
_FACES_UP = 0.99  # cosine of the angle between up and the normal of a floor


def build_shape(spec: Any, scene: Scene) -> meshes.VolumeMesh:
    """Return the mesh that a model of one describes."""
    match spec:
        case shapes.BoxMesh():
            if spec.elements == "hexes":
                return meshes.hex_box(spec.size, spec.cells, origin=spec.origin)
            return meshes.box(spec.size, spec.cells, split=spec.split, origin=spec.origin)
        case shapes.RectangleMesh():
            return meshes.rectangle(
                spec.size, spec.cells, kind=spec.elements, origin=spec.origin, thickness=spec.thickness
            )
        case shapes.PolygonMesh():
            return meshes.polygon(
                spec.outline,
                holes=spec.holes,
                lines=spec.lines,
                size=spec.size,
                min_angle=spec.min_angle,
                thickness=spec.thickness,
            )
        case shapes.BridgeMesh():
            return meshes.bridge(spec.n, spec.size)
        case shapes.SphereMesh():
            return meshes.sphere(spec.radius, spec.cells)
        case shapes.CylinderMesh():
            return meshes.cylinder(spec.radius, spec.height, spec.cells)
        case shapes.TorusMesh():
            return meshes.torus(spec.radius, spec.tube, spec.cells)
        case shapes.BowlMesh():
            return meshes.bowl(spec.radius, spec.thickness, spec.opening, spec.cells)
        case shapes.BlobMesh():
            limbs = [
                meshes.RoundCone(**{**limb.model_dump(), "name": limb.name or ""}) for limb in spec.limbs
            ]
            return meshes.blob(limbs, spec.size, spec.blend)
        case shapes.ParametricMesh():
            wishes = {} if spec.tetrahedralize is None else spec.tetrahedralize.model_dump(exclude_none=True)
            return meshes.tetrahedralize(parametric_surface(spec), **wishes)
        case shapes.FileMesh():
            return _file_mesh(spec, scene.file(spec.path))
    raise TypeError(f"unknown mesh {spec!r}")


def parametric_surface(spec: shapes.ParametricMesh) -> meshes.SurfaceMesh:
    """Return the surface that formulas describe."""
    return meshes.parametric(spec.x, spec.y, spec.z, u=spec.u, v=spec.v, cells=spec.cells)


def read_textured(path: str, texture: str | None, scene: Scene) -> Any:
    """Return a mesh from a file with the image that the file names, with another one, or with none.

    Args:
        path: The file of the mesh.
        texture: The image, "none", or None for that of the file.
        scene: The scene.
    """
    mesh = meshes.read(scene.file(path), images=texture is None)
    if texture is None or texture == "none":
        return mesh
    if not isinstance(mesh, meshes.SurfaceMesh):
        raise InputError(f"{path} is no surface, so no image can be put on it; remove 'texture'")
    return mesh.textured(Texture.read(scene.file(texture)))


def _file_mesh(spec: shapes.FileMesh, path: Path) -> meshes.VolumeMesh:
    if spec.texture is not None:
        raise InputError(
            "elements carry no image; give the body a 'skin' with a texture, and remove 'texture' here"
        )
    mesh = meshes.read(path, images=False)
    if isinstance(mesh, meshes.TetMesh):
        return mesh
    if isinstance(mesh, meshes.HexMesh):
        return mesh if spec.hexes == "keep" else mesh.to_tets()
    check_not_flat(mesh)
    if spec.tetrahedralize is None:
        raise InputError(
            f"{spec.path} has only a surface; add 'tetrahedralize: {{size: ...}}' to fill it with tetrahedra"
        )
    wishes = spec.tetrahedralize.model_dump(exclude_none=True)
    return meshes.tetrahedralize(mesh, **wishes)


def turn_vector(spec: shapes.Rotation | None) -> Any:
    """Return a rotation as axis times angle [rad]."""
    if spec is None:
        return np.zeros(3)
    return unit_vector(spec.axis, "an axis") * math.radians(spec.degrees)


def build_surface(
    spec: Any, wishes: shapes.DistanceFieldSpec, place: shapes.Transform | None, scene: Scene
) -> tuple[meshes.SurfaceMesh | meshes.VolumeMesh, sdf.DistanceField | sdf.TransformedField | None]:
    """Return the placed surface of something rigid, and its fitted field if one is wished for.

    Args:
        spec: The model of its mesh; one from a file needs no tetrahedra.
        wishes: Where its field comes from.
        place: Where it is put.
        scene: The scene.
    """
    mesh: meshes.SurfaceMesh | meshes.VolumeMesh
    match spec:
        case shapes.FileMesh() | rigid.RigidFile() | cloth.SheetFile():
            mesh = read_textured(spec.path, spec.texture, scene)
        case shapes.ParametricMesh():
            mesh = parametric_surface(spec)
        case cloth.SheetRectangle():
            mesh = meshes.surfaces.sheet(spec.size, spec.cells, pattern=spec.pattern)
        case cloth.SheetTube():
            mesh = meshes.surfaces.tube(spec.radius, spec.height, spec.cells)
        case cloth.SheetSphere():
            mesh = meshes.surfaces.sphere(spec.radius, spec.cells)
        case cloth.SheetPatterns():
            mesh = _sewn(spec)
        case cloth.SheetParametric():
            mesh = meshes.parametric(
                spec.x, spec.y, spec.z, u=spec.u, v=spec.v, cells=spec.cells, closed=False
            )
        case cloth.SheetPillow():
            mesh = meshes.surfaces.pillow(spec.size, spec.cells, height=spec.height)
        case rigid.RigidTorus():
            mesh = meshes.surfaces.torus(spec.radius, spec.tube, spec.cells)
        case rigid.RigidWheel():
            mesh = meshes.surfaces.paddle_wheel(
                spec.radius, spec.width, spec.paddles, spec.hub, spec.thickness
            )
        case _:
            mesh = build_shape(spec, scene)
    field: sdf.DistanceField | sdf.TransformedField | None = None
    surface = mesh if isinstance(mesh, meshes.SurfaceMesh) else mesh.surface
    if wishes.field is not None:
        field = sdf.load(scene.file(wishes.field), surface)
    elif wishes.fit is not None:
        field = _fitted(surface, wishes.fit)
    if place is None:
        return mesh, field
    where = _mesh_placement(place, mesh.points, scene)._asdict()
    return mesh.transformed(**where), None if field is None else field.transformed(**where)


def _sewn(spec: cloth.SheetPatterns) -> shells.SheetMesh:
    """Return the sheet of patterns sewn to each other."""
    pieces = {
        piece.name: shells.Pattern(
            piece.outline,
            piece.holes,
            piece.lines,
            piece.sides,
            piece.wrap,
            turn_vector(piece.rotate),
            piece.translate,
            piece.grain,
        )
        for piece in spec.patterns
    }
    return shells.sew(pieces, spec.seams, size=spec.size, gather=spec.gather, min_angle=spec.min_angle)


class Placement(NamedTuple):
    """Scale, rotation as axis times angle [rad], and translation [m] of a mesh or shape, in this order."""

    scale: float
    rotate: NDArray[np.float64] | None
    translate: NDArray[np.float64]


def placement(
    place: shapes.Transform | None,
    longest: float,
    lowest: Callable[[NDArray[np.float64]], float],
    scene: Scene,
) -> Placement:
    """Return where a transform puts something.

    Args:
        place: The transform.
        longest: Longest side of its bounding box before [m].
        lowest: Returns the smallest coordinate along a unit vector before [m].
        scene: The scene, for the floor.
    """
    if place is None:
        return Placement(1.0, None, np.zeros(3))
    if place.size is not None and not longest > 0.0:
        raise InputError("a mesh whose points coincide cannot be scaled to a size")
    scale = place.scale if place.size is None else place.size / longest
    translate, turn = np.array(place.translate), turn_vector(place.rotate)
    if place.place == "on_floor":
        up, height = _floor(scene)
        translate = translate + (height - scale * lowest(rotation_matrix(turn).T @ up)) * up
    return Placement(scale, None if place.rotate is None else turn, translate)


def _mesh_placement(place: shapes.Transform | None, points: NDArray[np.float64], scene: Scene) -> Placement:
    """Return where a transform puts a mesh with these points [n, 3]."""
    longest = float(np.ptp(points, axis=0).max())
    return placement(place, longest, lambda direction: float((points @ direction).min()), scene)


def _floor(scene: Scene) -> tuple[NDArray[np.float64], float]:
    """Return the direction against gravity, and how high the floor is along it [m]."""
    gravity = np.array(scene.gravity)
    up = -unit_vector(gravity, "gravity") if gravity.any() else np.array([0.0, 1.0, 0.0])
    for collider in scene.colliders:
        if isinstance(collider, environment.Plane):
            normal = unit_vector(collider.normal, "a normal")
            if normal @ up > _FACES_UP:
                return up, float(np.array(collider.point) @ normal / (normal @ up))
    return up, 0.0


def build_animation(
    spec: shapes.AnimationSource, scene: Scene, *, images: bool = True
) -> meshes.MeshAnimation:
    """Return the animated surface that a scene describes, in its place."""
    animation = meshes.MeshAnimation.read(
        scene.file(spec.path),
        animation=spec.animation,
        fps=spec.fps,
        interpolation=spec.interpolation,
        loop=spec.loop,
        speed=spec.speed,
        start=spec.start,
        images=images,
    )
    if spec.transform is None:
        return animation
    points = animation.positions(spec.start)
    scale, rotate, translate = _mesh_placement(spec.transform, points, scene)
    return animation.transformed(translate, rotate, scale)


def _fitted(surface: meshes.SurfaceMesh, tolerance: float) -> sdf.DistanceField:
    """Fit a field, or take the one that an earlier run has left beside the compiled kernels."""
    path = cache_root() / f"field-{sdf.mesh_hash(surface)[:32]}-{tolerance:g}.sdf"
    if path.is_file():
        try:
            return sdf.load(path, surface)
        except InputError:
            pass  # of another version, or cut short: made again
    start, said = time.perf_counter(), False

    def show(part: float, text: str) -> None:
        nonlocal said
        report_progress(part, f"fitting a distance field: {text}")
        if not said and time.perf_counter() - start > _SAY_AFTER:
            said = True
            print("continua: fitting a distance field (once) ...", file=sys.stderr, flush=True)

    field = sdf.fit(surface, tolerance=tolerance, near=_NEAR, progress=show)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        field.save(path)
    except OSError:
        pass  # then the next run fits it again
    return field


def transformed_mesh(scene: Scene, number: int, spec: Any) -> tuple[meshes.VolumeMesh, Placement]:
    """Return the mesh of body `number`, moved, turned and scaled as its transform says, and how that is."""
    with scene.at("bodies", number, "mesh"):
        mesh = build_shape(spec.mesh, scene)
    with scene.at("bodies", number, "transform"):
        where = _mesh_placement(spec.transform, mesh.points, scene)
        return mesh if spec.transform is None else mesh.transformed(**where._asdict()), where


def placed_points(transform: Any, points: NDArray[np.float64], scene: Scene) -> NDArray[np.float64]:
    """Return points [n, 3] moved, turned and scaled as a transform says."""
    if transform is None:
        return points
    scale, rotate, translate = _mesh_placement(transform, points, scene)
    return apply_transform(points, translate, rotate, scale)[0]
