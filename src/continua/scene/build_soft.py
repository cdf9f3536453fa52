"""Soft bodies of a scene: placed, filled with matter, held and loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import continua.mesh as meshes
from continua import deformable, materials, solids
from continua.deformable.element_materials import with_constants
from continua.errors import InputError
from continua.registry import BodySummary
from continua.scene import loads, motions, soft_bodies
from continua.scene.build_environment import build_motion, rgb, to_inf
from continua.scene.build_mesh import Placement, build_animation, read_textured, transformed_mesh
from continua.scene.build_selection import select_nodes, select_parts
from continua.scene.cost import soft_memory
from continua.scene.models import Scene
from continua.scene.solvers import build_solver
from continua.solids.elements.bernstein_geometry import bernstein_node_count
from continua.solids.elements.lagrange import quadratic_node_count
from continua.voxels import Voxels, read_voxels

__all__ = [
    "attach_conditions",
    "build_integrator",
    "build_law",
    "build_mesh",
    "build_paint",
    "build_part",
    "build_soft",
    "describe_soft",
]


def _soft_spec(scene: Scene, number: int) -> soft_bodies.SoftBody:
    spec = scene.bodies[number]
    assert isinstance(spec, soft_bodies.SoftBody)
    return spec


def build_mesh(scene: Scene, number: int) -> meshes.VolumeMesh:
    """Return the placed mesh of the soft body `number` of the scene."""
    return transformed_mesh(scene, number, _soft_spec(scene, number))[0]


def build_law(spec: Any) -> materials.Law:
    """Return the material law of a model."""
    return materials.LAWS[spec.type](**spec.model_dump(exclude={"type"}))


def build_integrator(spec: Any) -> deformable.Integrator | str:
    """Return the integrator of a model, or its name."""
    if isinstance(spec, str):
        return spec
    return deformable.INTEGRATORS[spec.type](**spec.model_dump(exclude={"type"}))


def build_soft(scene: Scene, number: int) -> solids.SoftBody:
    """Return soft body `number` of the scene."""
    spec = _soft_spec(scene, number)
    mesh, where = transformed_mesh(scene, number, spec)
    with scene.at("bodies", number, "material"):
        material = build_law(spec.material)
    with scene.at("bodies", number):
        body = solids.SoftBody(
            mesh,
            material=material,
            parts=[build_part(scene, number, index, mesh, material) for index in range(len(spec.parts))],
            order=spec.order,
            curved=spec.curved,
            plane=spec.plane,
            volumetric=spec.volumetric,
            name=spec.name,
            mass=spec.mass,
            damping=_damping(spec.damping),
            friction=spec.friction,
            restitution=spec.restitution,
            plasticity=_plasticity(spec.plasticity),
            integrator=build_integrator(spec.integrator),
            newton=spec.newton,
            solver=build_solver(spec.solver),
            color=None if spec.color is None else rgb(spec.color),
            paint=None if spec.paint is None else build_paint(spec.paint, scene),
            skin=_skin(scene, number, where),
            voxels=_voxels(scene, number, mesh),
            incompressible=spec.incompressible,
            volume_recovery_time=spec.volume_recovery_time,
        )
    attach_conditions(scene, number, mesh, body)
    if spec.initial is not None:
        with scene.at("bodies", number, "initial"):
            body.set_velocity(spec.initial.velocity, spec.initial.angular_velocity)
    return body


def describe_soft(scene: Scene, number: int) -> BodySummary:
    """Return what `continua info` tells of a soft body."""
    spec, mesh = _soft_spec(scene, number), build_mesh(scene, number)
    if isinstance(mesh, meshes.TetMesh):
        nodes = bernstein_node_count(mesh, spec.order)
    elif isinstance(mesh, meshes.HexMesh | meshes.PlaneMesh) and spec.order == 2:
        nodes = quadratic_node_count(mesh)
    else:
        nodes = mesh.node_count
    law: Any = spec.material
    return BodySummary(
        f"{mesh.element_count:,}",
        3 * nodes,
        f"{law.type}, E = {law.young:.3g} Pa, nu = {getattr(law, 'poisson', 0.0):g}, {law.density:g} kg/m³",
        str(spec.order),
        soft_memory(nodes, mesh.element_count, spec.order, isinstance(mesh, meshes.HexMesh)),
    )


def _voxels(scene: Scene, number: int, mesh: meshes.VolumeMesh) -> Voxels | None:
    """Return the image that a body carries; one without a place of its own fills the box around the body."""
    spec = _soft_spec(scene, number).voxels
    if spec is None:
        return None
    with scene.at("bodies", number, "voxels"):
        image = read_voxels(scene.file(spec.path), spec.origin, spec.spacing)
        bare = spec.path.lower().endswith(".npy") and spec.origin is None and spec.spacing is None
        return Voxels.around(image.values, mesh.bounds) if bare else image


def _skin(scene: Scene, number: int, where: Placement) -> meshes.SurfaceMesh | None:
    """Return the detailed surface of a body, placed as the body is."""
    spec = _soft_spec(scene, number)
    if spec.skin is None:
        return None
    with scene.at("bodies", number, "skin"):
        surface = read_textured(spec.skin.path, spec.skin.texture, scene)
        if not isinstance(surface, meshes.SurfaceMesh):
            raise InputError(f"{spec.skin.path} is no surface; a skin is a surface such as OBJ, STL or PLY")
        return surface if spec.transform is None else surface.transformed(**where._asdict())


def _damping(spec: soft_bodies.Damping) -> tuple[float, float] | deformable.RotatedDamping:
    if spec.rotated > 0.0:
        return deformable.RotatedDamping(time=spec.rotated, mass=spec.mass, stiffness=spec.stiffness)
    return spec.mass, spec.stiffness


def _plasticity(spec: soft_bodies.Plasticity | None) -> solids.Plasticity | None:
    if spec is None:
        return None

    def goal(rest: NDArray[np.float64]) -> NDArray[np.float64]:
        center = rest.mean(axis=0)
        return center + (rest - center) * np.array(spec.goal)

    options = spec.model_dump(exclude={"goal"})
    return solids.Plasticity(**options, goal=None if spec.goal is None else goal)


def build_part(
    scene: Scene, number: int, index: int, mesh: meshes.VolumeMesh, material: materials.Law
) -> tuple[NDArray[np.intp] | str, materials.Law]:
    """Return part `index` of a deformable body: the elements and their material."""
    spec = scene.bodies[number].parts[index]
    key = ("bodies", number, "parts", index, "where")
    chosen = select_parts(scene, key, spec.where, mesh, mesh.points[mesh.cells].mean(axis=1), "element")
    changes = spec.model_dump(exclude={"where"}, exclude_none=True)
    with scene.at("bodies", number, "parts", index):
        return chosen, with_constants(material, changes)


def attach_conditions(
    scene: Scene, number: int, mesh: meshes.VolumeMesh, body: deformable.DeformableBody
) -> None:
    """Pin, drive, lock, load and pull a deformable body as the scene says."""
    spec = scene.bodies[number]
    for kind in ("pin", "drive", "lock", "push"):
        for index, action in enumerate(getattr(spec, kind)):
            place = scene.at("bodies", number, kind, index)
            with place:
                nodes = select_nodes(action.where, mesh, body, scene.at(*place.key, "where"))
                match action:
                    case motions.Pin():
                        body.pin(nodes, until=to_inf(action.until))
                    case motions.Drive():
                        path = (
                            build_animation(action.motion, scene, images=False)
                            if isinstance(action.motion, motions.FollowAnimation)
                            else build_motion(action.motion)
                        )
                        body.drive(nodes, path, until=to_inf(action.until))
                    case motions.Lock():
                        motion = None if action.motion is None else build_motion(action.motion)
                        body.lock(nodes, action.direction, motion, until=to_inf(action.until))
                    case loads.Push():
                        body.push(nodes, _timed(action.force, action.course), until=to_inf(action.until))
    _area_and_volume_loads(scene, number, mesh, body)
    for index, pull in enumerate(spec.pull):
        with scene.at("bodies", number, "pull", index):
            body.pull(point=pull.point, target=pull.target, stiffness=pull.stiffness)


def _area_and_volume_loads(
    scene: Scene, number: int, mesh: meshes.VolumeMesh, body: deformable.DeformableBody
) -> None:
    """Press and load as the scene says; springs have no such loads."""
    spec = scene.bodies[number]
    for kind in ("press", "load_faces", "load_volume"):
        volume = kind == "load_volume"
        for index, load in enumerate(getattr(spec, kind, ())):
            key = ("bodies", number, kind, index)
            centers = mesh.points[mesh.cells].mean(axis=1) if volume else body.face_centers
            where = select_parts(
                scene, (*key, "where"), load.where, mesh, centers, "element" if volume else "face"
            )
            until = to_inf(load.until)
            with scene.at(*key):
                match load:
                    case loads.Press():
                        body.apply_pressure(where, _timed(load.pressure, load.course), until=until)
                    case loads.LoadFaces():
                        body.apply_traction(where, _timed(load.traction, load.course), until=until)
                    case loads.LoadVolume():
                        body.apply_body_force(where, _force(load), until=until)


def _timed(value: Any, course: loads.TimeFunction | None) -> Any:
    """Return a load's value, or a function of time where the scene gives it a course."""
    if course is None:
        return value
    return partial(_scaled, np.asarray(value, dtype=np.float64), course)


def _scaled(value: NDArray[np.float64], course: loads.TimeFunction, time: float) -> NDArray[np.float64]:
    return float(np.interp(time, course.times, course.factors)) * value


def _uniform_field(force: NDArray[np.float64], _time: float, _x: NDArray[np.float64]) -> NDArray[np.float64]:
    return force


def _scaled_field(
    field: deformable.ForceField, course: loads.TimeFunction, time: float, x: NDArray[np.float64]
) -> NDArray[np.float64]:
    return _scaled(field.at(time, x), course, time)


def _force(load: loads.LoadVolume) -> Any:
    """Return the force density of a volume load: a vector, or a field."""
    match load.field:
        case loads.Wave() as wave:
            field = deformable.ForceField.wave(wave.force, wave.direction, wave.length, wave.period)
        case loads.Radial() as radial:
            field = deformable.ForceField.radial(radial.center, radial.force, radial.radius)
        case _:
            if load.course is None:
                return load.force
            field = deformable.ForceField(partial(_uniform_field, np.array(load.force)))
    if load.course is None:
        return field
    return deformable.ForceField(partial(_scaled_field, field, load.course))


def build_paint(spec: Any, scene: Scene) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the pattern as a function of rest positions."""
    if isinstance(spec, soft_bodies.Checker):
        return lambda x: (np.floor(x / spec.size + 1e-6).sum(axis=1) % 2.0).astype(np.float64)
    from PIL import Image, UnidentifiedImageError

    path = scene.file(spec.path)
    try:
        with Image.open(path) as file:
            pixels = np.asarray(file.convert("L"), dtype=np.float64) / 255.0
    except (OSError, UnidentifiedImageError) as error:
        raise InputError(f"{spec.path} cannot be read as a picture: {error}") from None

    def sample(x: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = x.min(axis=0), x.max(axis=0)
        part = (x - low) / np.maximum(high - low, 1e-300)
        column = np.minimum(part[:, 0] * pixels.shape[1], pixels.shape[1] - 1).astype(int)
        row = np.minimum((1.0 - part[:, 1]) * pixels.shape[0], pixels.shape[0] - 1).astype(int)
        return pixels[row, column]

    return sample
