"""From a scene to a world: meshes are made or read, placed, filled with matter, held and loaded."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import continua.mesh as meshes
from continua import solids
from continua.contact import Box, Capsule, Contact, Cylinder, Gear, MeshShape, Plane, Shape, Sphere
from continua.errors import InputError
from continua.eulerian import GridFluid
from continua.linalg import PCG, Direct, LinearSolver, MergedPCG, Multigrid, PMultigrid
from continua.motion import Motion
from continua.rigid import RigidGroup
from continua.scene import fluids, grid_fluids, loads, matter, motions, selectors, surroundings
from continua.scene.build_fluid import build_fluid
from continua.scene.build_grid import build_grid_fluid, build_polygon
from continua.scene.build_mesh import build_shape, build_surface, turn_vector
from continua.scene.build_rigid import build_joints, build_rigid
from continua.scene.models import Scene
from continua.scene.problems import Place
from continua.solids.materials import changed
from continua.sph import Fluid
from continua.surroundings import Wind
from continua.world import World

__all__ = ["build_body", "build_mesh", "build_world", "select"]

_SIDES = {"left": (0, 0), "right": (0, 1), "bottom": (1, 0), "top": (1, 1), "back": (2, 0), "front": (2, 1)}


def build_world(scene: Scene, progress: Callable[[int], None] | None = None) -> World:
    """Return the world that `scene` describes.

    Args:
        scene: What to build.
        progress: Called with the number of each body before it is made, and of bodies at the end; may raise to stop.

    Raises:
        InputError: Something in the scene cannot be used; the message names file, line and key.
    """
    bodies = []
    for number in range(len(scene.bodies)):
        if progress is not None:
            progress(number)
        bodies.append(build_body(scene, number))
    if progress is not None:
        progress(len(bodies))
    joints = build_joints(scene, bodies)
    with scene.at():
        world = World(
            bodies,
            gravity=scene.gravity,
            dt=scene.dt,
            colliders=[_collider(scene, spec, "colliders", k) for k, spec in enumerate(scene.colliders)],
            contact=_contact(scene.contact),
            joints=joints,
            wind=_wind(scene),
            settled=scene.settled,
            fields=scene.output.fields,
            name=scene.name,
        )
    _schedule(scene, world)
    return world


def _soft_spec(scene: Scene, number: int) -> matter.SoftBody:
    spec = scene.bodies[number]
    assert isinstance(spec, matter.SoftBody)
    return spec


def build_body(scene: Scene, number: int) -> solids.SoftBody | RigidGroup | Fluid | GridFluid:
    """Return body `number` of the scene."""
    match scene.bodies[number]:
        case matter.SoftBody():
            return _soft_body(scene, number)
        case fluids.Fluid() as spec:
            mesh = None if spec.mesh is None else _placed(scene, number, spec)
            return build_fluid(scene, number, mesh, None if spec.color is None else _rgb(spec.color))
        case grid_fluids.Smoke() | grid_fluids.WindTunnel() as spec:
            return build_grid_fluid(
                scene, number, _collider, None if spec.color is None else _rgb(spec.color)
            )
    return build_rigid(scene, number, _motion, _rgb)


def build_mesh(scene: Scene, number: int) -> meshes.VolumeMesh:
    """Return the placed mesh of the soft body `number` of the scene."""
    return _placed(scene, number, _soft_spec(scene, number))


def _placed(scene: Scene, number: int, spec: Any) -> meshes.VolumeMesh:
    with scene.at("bodies", number, "mesh"):
        mesh = build_shape(spec.mesh, scene)
    if spec.transform is None:
        return mesh
    turn = spec.transform.rotate
    with scene.at("bodies", number, "transform"):
        return mesh.transformed(
            translate=spec.transform.translate,
            rotate=None if turn is None else turn_vector(turn),
            scale=spec.transform.scale,
        )


def select(where: Any, mesh: meshes.VolumeMesh, positions: NDArray[np.float64]) -> NDArray[np.intp] | str:
    """Return what a selector chooses among rest `positions` [n, 3]: numbers of nodes, or a region's name."""
    if isinstance(where, str):
        return np.flatnonzero(_side(where, positions))
    match where:
        case selectors.BoxSelector():
            inside = (positions >= np.array(where.min)) & (positions <= np.array(where.max))
            return np.flatnonzero(inside.all(axis=1))
        case selectors.SphereSelector():
            distance = np.linalg.norm(positions - np.array(where.center), axis=1)
            return np.flatnonzero(distance <= where.radius)
        case selectors.HalfSpaceSelector():
            return np.flatnonzero((positions - np.array(where.point)) @ _unit(where.normal) <= 0.0)
        case selectors.NodesSelector():
            if max(where.nodes) >= mesh.node_count:
                raise InputError(
                    f"node {max(where.nodes)} does not exist; the mesh has {mesh.node_count} nodes"
                )
            return np.unique(np.array(where.nodes, dtype=np.intp))
        case selectors.FacesSelector():
            raise InputError("face numbers choose faces only, for 'press' and 'load_faces'")
        case selectors.RegionSelector():
            return where.region
    raise TypeError(f"unknown selector {where!r}")


def _unit(vector: tuple[float, float, float]) -> NDArray[np.float64]:
    array = np.array(vector, dtype=np.float64)
    return array / np.linalg.norm(array)


def _side(word: str, positions: NDArray[np.float64]) -> NDArray[np.bool_]:
    if word == "all":
        return np.ones(len(positions), dtype=bool)
    axis, end = _SIDES[word]
    low, high = positions.min(axis=0), positions.max(axis=0)
    slack = 1e-6 * float(np.linalg.norm(high - low))
    return positions[:, axis] >= high[axis] - slack if end else positions[:, axis] <= low[axis] + slack


_LAWS: dict[str, type[solids.Law]] = {
    law.name: law
    for law in (
        solids.Corotated,
        solids.Fibrous,
        solids.Linear,
        solids.MooneyRivlin,
        solids.NeoHookean,
        solids.RotatedLinear,
        solids.ShapeKeeping,
        solids.Spline,
        solids.StVenantKirchhoff,
        solids.StableNeoHookean,
    )
}


def _law(spec: Any) -> solids.Law:
    return _LAWS[spec.type](**spec.model_dump(exclude={"type"}))


def _integrator(spec: Any) -> solids.Integrator | str:
    if isinstance(spec, str):
        return spec
    return solids.INTEGRATORS[spec.type](**spec.model_dump(exclude={"type"}))


_SOLVERS: dict[str, Any] = {
    "pcg": PCG,
    "merged_pcg": MergedPCG,
    "multigrid": Multigrid,
    "pmultigrid": PMultigrid,
    "direct": Direct,
}


def _solver(spec: Any) -> LinearSolver | None:
    if isinstance(spec, str):
        return None if spec == "auto" else _SOLVERS[spec]()
    return _SOLVERS[spec.type](**spec.model_dump(exclude={"type"}))


def _soft_body(scene: Scene, number: int) -> solids.SoftBody:
    spec = _soft_spec(scene, number)
    mesh = build_mesh(scene, number)
    with scene.at("bodies", number, "material"):
        material = _law(spec.material)
    with scene.at("bodies", number):
        body = solids.SoftBody(
            mesh,
            material=material,
            parts=[_part(scene, number, index, mesh, material) for index in range(len(spec.parts))],
            order=spec.order,
            name=spec.name,
            mass=spec.mass,
            damping=_damping(spec.damping),
            friction=spec.friction,
            restitution=spec.restitution,
            plasticity=_plasticity(spec.plasticity),
            integrator=_integrator(spec.integrator),
            newton=spec.newton,
            solver=_solver(spec.solver),
            color=None if spec.color is None else _rgb(spec.color),
            paint=None if spec.paint is None else _paint(spec.paint, scene),
        )
    _actions(scene, number, mesh, body)
    if spec.initial is not None:
        with scene.at("bodies", number, "initial"):
            body.set_velocity(spec.initial.velocity, spec.initial.angular_velocity)
    return body


def _damping(spec: matter.Damping) -> tuple[float, float] | solids.RotatedDamping:
    if spec.rotated > 0.0:
        return solids.RotatedDamping(time=spec.rotated, mass=spec.mass, stiffness=spec.stiffness)
    return spec.mass, spec.stiffness


def _plasticity(spec: matter.Plasticity | None) -> solids.Plasticity | None:
    if spec is None:
        return None

    def goal(rest: NDArray[np.float64]) -> NDArray[np.float64]:
        center = rest.mean(axis=0)
        return center + (rest - center) * np.array(spec.goal)

    options = spec.model_dump(exclude={"goal"})
    return solids.Plasticity(**options, goal=None if spec.goal is None else goal)


def _part(
    scene: Scene, number: int, index: int, mesh: meshes.VolumeMesh, material: solids.Law
) -> tuple[NDArray[np.intp] | str, solids.Law]:
    spec = _soft_spec(scene, number).parts[index]
    key = ("bodies", number, "parts", index, "where")
    chosen = _centers(scene, key, spec.where, mesh, mesh.points[mesh.cells].mean(axis=1), "element")
    changes = spec.model_dump(exclude={"where"}, exclude_none=True)
    with scene.at("bodies", number, "parts", index):
        return chosen, changed(material, changes)


def _actions(scene: Scene, number: int, mesh: meshes.VolumeMesh, body: solids.SoftBody) -> None:
    """Pin, drive, lock, load and pull as the scene says."""
    spec = _soft_spec(scene, number)
    for kind in ("pin", "drive", "lock", "push"):
        for index, action in enumerate(getattr(spec, kind)):
            place = scene.at("bodies", number, kind, index)
            with place:
                nodes = _chosen(action.where, mesh, body, scene.at(*place.key, "where"))
                match action:
                    case motions.Pin():
                        body.pin(nodes, until=_or_never(action.until))
                    case motions.Drive():
                        body.drive(nodes, _motion(action.motion), until=_or_never(action.until))
                    case motions.Lock():
                        motion = None if action.motion is None else _motion(action.motion)
                        body.lock(nodes, action.direction, motion, until=_or_never(action.until))
                    case loads.Push():
                        body.push(nodes, _timed(action.force, action.course), until=_or_never(action.until))
    _area_and_volume_loads(scene, number, mesh, body)
    for index, pull in enumerate(spec.pull):
        with scene.at("bodies", number, "pull", index):
            body.pull(point=pull.point, target=pull.target, stiffness=pull.stiffness)


def _area_and_volume_loads(scene: Scene, number: int, mesh: meshes.VolumeMesh, body: solids.SoftBody) -> None:
    """Press and load as the scene says."""
    spec = _soft_spec(scene, number)
    for kind in ("press", "load_faces", "load_volume"):
        volume = kind == "load_volume"
        for index, load in enumerate(getattr(spec, kind)):
            key = ("bodies", number, kind, index)
            centers = mesh.points[mesh.cells].mean(axis=1) if volume else body.face_centers
            where = _centers(
                scene, (*key, "where"), load.where, mesh, centers, "element" if volume else "face"
            )
            until = _or_never(load.until)
            with scene.at(*key):
                match load:
                    case loads.Press():
                        body.press(where, _timed(load.pressure, load.course), until=until)
                    case loads.LoadFaces():
                        body.load_faces(where, _timed(load.traction, load.course), until=until)
                    case loads.LoadVolume():
                        body.load_volume(where, _force(load), until=until)


def _centers(
    scene: Scene,
    key: tuple[str | int, ...],
    where: Any,
    mesh: meshes.VolumeMesh,
    centers: NDArray[np.float64],
    kind: str,
) -> NDArray[np.intp] | str:
    """Return the elements or faces that a selector chooses by their centres."""
    with scene.at(*key):
        if isinstance(where, selectors.FacesSelector) and kind == "face":
            if max(where.faces) >= len(centers):
                raise InputError(
                    f"face {max(where.faces)} does not exist; the surface has {len(centers)} faces"
                )
            return np.unique(np.array(where.faces, dtype=np.intp))
        if isinstance(where, selectors.NodesSelector):
            raise InputError(
                f"node numbers cannot choose {kind}s; use a box, a sphere, a half space or a region"
            )
        chosen = select(where, mesh, centers)
        if len(chosen) == 0:
            low, high = mesh.bounds
            raise InputError(f"selects no {kind}; the body reaches from {_text(low)} to {_text(high)}")
    return chosen


def _timed(value: Any, course: loads.Course | None) -> Any:
    """Return a load's value, or a function of time where the scene gives it a course."""
    if course is None:
        return value
    factor = _factor(course)
    size = np.asarray(value, dtype=np.float64)
    return lambda time: factor(time) * size


def _factor(course: loads.Course) -> Callable[[float], float]:
    return lambda time: float(np.interp(time, course.times, course.factors))


def _force(load: loads.LoadVolume) -> Any:
    """Return the force density of a volume load: a vector, or a field."""
    match load.field:
        case loads.Wave() as wave:
            field = solids.ForceField.wave(wave.force, wave.direction, wave.length, wave.period)
        case loads.Radial() as radial:
            field = solids.ForceField.radial(radial.center, radial.force, radial.radius)
        case _:
            if load.course is None:
                return load.force
            even = np.array(load.force)
            field = solids.ForceField(lambda _, x: even)
    if load.course is None:
        return field
    factor = _factor(load.course)
    return solids.ForceField(lambda time, x: factor(time) * field.at(time, x))


def _schedule(scene: Scene, world: World) -> None:
    """Put the changes of material on the world's calendar; at time 0 every changed body is as it was made."""
    first, later = [], []
    for index, change in enumerate(scene.changes):
        with scene.at("changes", index, "body"):
            body = world.body(change.body)
            spec = scene.bodies[world.bodies.index(body)]
            if not isinstance(spec, matter.SoftBody):
                raise InputError(f"body '{change.body}' is no soft body and has no material to change")
        with scene.at("changes", index, "part"):
            if change.part is not None and change.part >= len(spec.parts):
                raise InputError(
                    f"body '{change.body}' has {len(spec.parts)} parts, so no part {change.part}"
                )
        constants = change.model_dump(exclude={"time", "body", "part"}, exclude_none=True)
        with scene.at("changes", index):
            changed(body.material, constants)
        made = {key: getattr(body.material, key) for key in constants}
        if change.part is not None:
            own = spec.parts[change.part]
            made |= {key: value for key in constants if (value := getattr(own, key)) is not None}
        first.append((0.0, partial(_change, body, change.part, made)))
        later.append((change.time, partial(_change, body, change.part, constants)))
    for time, event in first + later:
        world.at(time, event)


def _change(body: solids.SoftBody, part: int | None, constants: dict[str, float], _: World) -> None:
    body.set_material(part=part, **constants)


def _chosen(
    where: Any, mesh: meshes.VolumeMesh, body: solids.SoftBody, place: Place
) -> NDArray[np.intp] | str:
    with place:
        nodes = select(where, mesh, body.rest_positions)
        if len(nodes) == 0:
            low, high = body.rest_positions.min(axis=0), body.rest_positions.max(axis=0)
            raise InputError(
                f"selects no node of '{body.name}', which reaches from {_text(low)} to {_text(high)}"
            )
    return nodes


def _text(vector: NDArray[np.float64]) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in vector) + "]"


def _or_never(moment: float | None) -> float:
    return math.inf if moment is None else moment


def _motion(spec: Any) -> Motion:
    match spec:
        case motions.Translate():
            return Motion.translate(spec.velocity, until=_or_never(spec.until))
        case motions.Rotate():
            rate = math.radians(spec.degrees_per_second)
            return Motion.rotate(spec.axis, spec.point, rate, until=_or_never(spec.until))
        case motions.Keyframes():
            return Motion.keyframes(spec.times, spec.offsets)
    raise TypeError(f"unknown motion {spec!r}")


def _contact(spec: surroundings.Contact) -> Contact:
    pairs = {
        (pair.between[0], pair.between[1]): pair.model_dump(exclude={"between"}, exclude_none=True)
        for pair in spec.pairs
    }
    return Contact(spec.friction, spec.restitution, spec.thickness, spec.self_contact, pairs)


def _collider(scene: Scene, spec: Any, *key: str | int) -> Shape:
    """Return the shape of a collider or obstacle that stands in the scene at `key`."""
    answer: dict[str, Any] = {
        "friction": spec.friction,
        "restitution": spec.restitution,
        "name": spec.name or "",
    }
    with scene.at(*key):
        answer["motion"] = None if spec.motion is None else _motion(spec.motion)
        match spec:
            case grid_fluids.Polygon():
                return build_polygon(spec, answer)
            case surroundings.Plane():
                return Plane(spec.point, spec.normal, **answer)
            case surroundings.Sphere():
                return Sphere(spec.center, spec.radius, spec.inside, **answer)
            case surroundings.Box():
                return Box(
                    spec.center,
                    spec.size,
                    turn_vector(spec.rotate),
                    spec.rounding,
                    inside=spec.inside,
                    **answer,
                )
            case surroundings.Cylinder():
                return Cylinder(
                    spec.center,
                    spec.axis,
                    spec.radius,
                    spec.height,
                    spec.rounding,
                    inside=spec.inside,
                    **answer,
                )
            case surroundings.Capsule():
                return Capsule(spec.start, spec.end, spec.radius, inside=spec.inside, **answer)
            case surroundings.MeshShape():
                mesh, field = build_surface(spec.mesh, spec, spec.transform, scene)
                return MeshShape(mesh, field, rounding=spec.rounding, inside=spec.inside, **answer)
            case surroundings.Gear():
                return Gear(spec.center, spec.axis, spec.radius, spec.width, spec.teeth, spec.depth, **answer)
    raise TypeError(f"unknown collider {spec!r}")


def _wind(scene: Scene) -> Wind | None:
    if scene.wind is None:
        return None
    with scene.at("wind"):
        spec = scene.wind
        return Wind(spec.velocity, gust=spec.gust, period=spec.period, density=spec.density)


def _paint(spec: Any, scene: Scene) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the pattern as a function of rest positions."""
    if isinstance(spec, matter.Checker):
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


def _rgb(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[start : start + 2], 16) / 255.0 for start in (1, 3, 5))
    return red, green, blue
