"""What a picture shows, said once for all back ends: shapes, colours, camera, ground, legend, scale.

A `Look` holds what must not change inside a sequence (camera, value range, ground). A `Composition` is one
frame seen with a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.frames import BodyFrame, Frame, Volume
from continua.render.camera import Camera
from continua.render.colors import PALETTE, map_colors, srgb_to_linear
from continua.render.fluid_surface import surfaced
from continua.render.marks import arrow_lines, force_scale, largest_force, rods
from continua.render.surface import CREASE, SmoothSurface

__all__ = [
    "DEFAULT_COLOR",
    "Cloud",
    "Composition",
    "Fog",
    "Ground",
    "Legend",
    "Look",
    "Shape",
    "body_colors",
    "check_color",
    "compose",
    "make_look",
    "nice",
    "shown_fog",
    "smooth_surface",
]

DEFAULT_COLOR = "von_mises"
"""The field that colours bodies when none was asked for; bodies that do not have it are plain."""

_LABELS = {"von_mises": "von Mises stress", "displacement": "displacement", "velocity": "speed"}
# A body at rest shows no colours: below these values there is only round-off.
_NOISE = {"Pa": 1e-3, "m": 1e-9, "m/s": 1e-9}
_NEUTRAL = (0.74, 0.76, 0.79)
_LIQUID_CREASE = 75.0  # degrees; a liquid is round where it is cut off at walls too
_SMOKE = (0.50, 0.52, 0.56)
_ROD = (0.30, 0.33, 0.38)
_THIN = 0.0045  # radius of a joint's rod, as a part of the scene's


@dataclass(frozen=True, slots=True)
class Legend:
    """What the colours mean: a title, the unit, the range, and whether values above it exist."""

    title: str
    unit: str
    low: float
    high: float
    exceeded: bool

    @property
    def signed(self) -> bool:
        """Whether the range is about zero, as that of vorticity."""
        return self.low == -self.high


@dataclass(frozen=True, slots=True)
class Ground:
    """A plane to draw: a point of it [m], its unit normal, and how far out it fades [m]."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    center: tuple[float, float, float]
    fade: float
    spacing: float


@dataclass(frozen=True, slots=True)
class Look:
    """What stays the same over a sequence of pictures.

    Attributes:
        size: Width and height in pixels.
        camera: The camera.
        color: Name of the field that colours the bodies, or "plain".
        legend: The meaning of the colours; None if no body is coloured.
        low: Lower corner of all that moves in the sequence [m].
        high: Upper corner of all that moves in the sequence [m].
        show_time: Whether the simulated time is written in the corner.
        fluid: Whether fluids are drawn as "points" or as a reconstructed "surface".
        arrow_scale: Length of an arrow for its contact force [m/N]; 0 draws none.
        joints: Whether joints of rigid bodies are drawn.
    """

    size: tuple[int, int]
    camera: Camera
    color: str
    legend: Legend | None
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    show_time: bool = True
    fluid: str = "points"
    arrow_scale: float = 0.0
    joints: bool = False

    @property
    def center(self) -> NDArray[np.float64]:
        """Middle of all that moves [m]."""
        return (np.array(self.low) + np.array(self.high)) / 2

    @property
    def radius(self) -> float:
        """Half the diagonal of all that moves [m]."""
        return max(float(np.linalg.norm(np.subtract(self.high, self.low))) / 2, 1e-9)


@dataclass(frozen=True, slots=True)
class Shape:
    """One surface: vertices with positions [m] and unit normals, and triangles.

    It is painted in one linear RGB `color`, or by `values` at the vertices as parts of the colour map's range
    from 0 to 1. Values are blended inside a triangle and then turned into colours, never the other way round.
    """

    name: str
    positions: NDArray[np.float64]
    normals: NDArray[np.float64]
    triangles: NDArray[np.int32]
    color: NDArray[np.float64]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Cloud:
    """Particles: positions [m], their radius [m], and a colour or values as a `Shape` has them."""

    name: str
    positions: NDArray[np.float64]
    radius: float
    color: NDArray[np.float64]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Fog:
    """Smoke in a box of cubic cells: lower corner [m], spacing [m], amounts [nx, ny, nz], and a linear RGB colour."""

    name: str
    origin: tuple[float, float, float]
    spacing: float
    amounts: NDArray[np.float32]
    color: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Composition:
    """One frame, ready to be drawn; `arrows` are contact forces, from where they act to their heads [m], [k, 2, 3]."""

    look: Look
    shapes: tuple[Shape, ...]
    grounds: tuple[Ground, ...]
    time: float
    clouds: tuple[Cloud, ...] = ()
    fogs: tuple[Fog, ...] = ()
    arrows: NDArray[np.float64] | None = None


def nice(value: float, *, up: bool) -> float:
    """Return the round number (1, 2 or 5 times a power of ten) next to `value`, above or below it."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 2.0, 5.0, 10.0]) * power
    fits = steps[steps >= value * (1 - 1e-9)] if up else steps[steps <= value * (1 + 1e-9)]
    return float(fits[0] if up else fits[-1])


def spiral(count: int) -> NDArray[np.float64]:
    """Return evenly spread unit vectors (a Fibonacci spiral), shape [count, 3]."""
    height = 1 - (2 * np.arange(count) + 1) / count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(turn), height, radius * np.sin(turn)], axis=1)


def _outermost(points: NDArray) -> NDArray:
    """Return the points that lie farthest out in some direction; they stand for all when placing a camera."""
    directions = np.vstack([spiral(96), np.eye(3), -np.eye(3)])
    return points[np.unique(np.argmax(points @ directions.T, axis=0))]


def shown_fog(body: BodyFrame, color: str) -> Volume | None:
    """Return the grid of a body whose smoke is drawn as such, or None: it has none, is plane, or shows a field."""
    volume = body.volume
    if volume is None or "smoke" not in volume.fields or (color != "smoke" and color in body.fields):
        return None
    return volume if volume.shape[2] > 1 else None


def check_color(frame: Frame, color: str | None) -> None:
    """Raise `InputError` if bodies are to be coloured by a field that none of them has.

    Args:
        frame: Any frame of the sequence.
        color: Name of a field, or "plain"; None if nothing was asked for, which always works.
    """
    bodies = list(frame)
    if color is None or color == "plain" or not bodies:
        return
    if any(color in body.fields or (color == "smoke" and shown_fog(body, color)) for body in bodies):
        return
    known = dict.fromkeys(name for body in bodies for name in body.fields.units)
    raise InputError(f'no body can be coloured by "{color}"; choose from {", ".join(["plain", *known])}')


class _Survey:
    """Finds where the bodies of a sequence are and which values they take."""

    def __init__(self) -> None:
        self.outer = np.empty((0, 3))
        self.unit: str | None = None
        self.lowest = self.highest = 0.0
        self.tops: dict[int, float] = {}
        self.forces: dict[int, float] = {}

    def add(self, body: BodyFrame, index: int, color: str) -> None:
        """Take one body of the frame number `index` into account."""
        self.forces[index] = max(self.forces.get(index, 0.0), largest_force(body))
        fog = shown_fog(body, color)
        if fog is not None:
            low = np.array(fog.origin)
            ends = np.stack([low, low + fog.spacing * np.array(fog.shape)])
            box = np.array(np.meshgrid(*ends.T, indexing="ij")).reshape(3, -1).T
            self.outer = _outermost(np.vstack([self.outer, box]))
            return
        nodes = np.unique(body.triangles) if body.point_radius is None else np.arange(len(body.positions))
        if not len(nodes):
            return
        points = body.positions[nodes]
        if not np.isfinite(points).all():
            raise InputError(f'body "{body.name}" cannot be drawn: its positions are not finite')
        self.outer = _outermost(np.vstack([self.outer, points]))
        if color in body.fields:
            image = body.voxels if color == "voxels" else None  # finer than what the nodes carry
            values = body.scalars(color)[nodes] if image is None else image.values.ravel()
            if not np.isfinite(values).all():
                raise InputError(f'body "{body.name}" cannot be coloured: its {color} is not finite')
            self.unit = body.fields[color].unit
            # so would those of a flow along walls, on both ends of the scale
            bottom = float(np.quantile(values, 0.005)) if body.volume is not None else float(values.min())
            self.lowest = min(self.lowest, bottom)
            self.highest = max(self.highest, float(values.max()))
            # Stress peaks at clamped edges would leave the rest of the body in one colour.
            top = float(np.quantile(values, 0.995))
            self.tops[index] = max(self.tops.get(index, 0.0), top)

    def legend(self, color: str, given: tuple[float, float] | None) -> Legend | None:
        """Return the meaning of the colours, with a round range unless one was given."""
        if self.unit is None:
            return None
        if given is not None:
            low, high = (float(v) for v in given)
            if not (np.isfinite([low, high]).all() and high > low):
                raise InputError(
                    f"the value range must be two growing numbers, not {given[0]} and {given[1]}"
                )
        else:
            # So would the few frames of an impact leave those of the whole rest of a run.
            top = float(np.quantile(list(self.tops.values()), 0.9))
            low = -nice(-self.lowest, up=True) if self.lowest < 0 else 0.0
            high = _range_top(top) if top > max(low, _NOISE.get(self.unit, 0.0)) else low + 1.0
            if color == "vorticity":  # turning either way counts the same
                low, high = -max(-low, high), max(-low, high)
        title = _LABELS.get(color, color.replace("_", " "))
        return Legend(title, self.unit, low, high, self.highest > high * (1 + 1e-9))


def make_look(
    frames: Iterable[Frame],
    *,
    size: tuple[int, int] = (1280, 720),
    color: str | None = None,
    camera: Camera | Mapping[str, Any] | None = None,
    value_range: tuple[float, float] | None = None,
    show_time: bool = True,
    fluid: str = "points",
    contact_forces: bool = False,
    joints: bool = False,
) -> Look:
    """Choose camera and value range so that they suit all of `frames`.

    Args:
        frames: The frames of the sequence; they are looked at once, one by one.
        size: Width and height in pixels.
        color: Name of a field, or "plain"; by default "von_mises". Bodies without that field are plain.
        camera: A camera or options for one (see `Camera.of`); by default fitted to the frames.
        value_range: Lowest and highest value of the colour map, in the field's SI unit; by default from
            zero to a round number near the largest values.
        show_time: Write the simulated time in the corner.
        fluid: Draw fluids as "points", or as a "surface" (needs the "fluid" extra).
        contact_forces: Draw arrows of the contact forces on all bodies.
        joints: Draw rods from the joints of rigid bodies to the bodies' centres.

    Raises:
        InputError: The field was asked for and no body of the first frame has it, or an option is out of range.
    """
    if fluid not in ("points", "surface"):
        raise InputError(f'fluids are drawn as "points" or as "surface", not "{fluid}"')
    width, height = (int(side) for side in size)
    if not (16 <= width <= 16384 and 16 <= height <= 16384):
        raise InputError(f"a picture must be from 16 to 16384 pixels wide and high, not {width} x {height}")
    survey = _Survey()
    shown = color or DEFAULT_COLOR
    for number, frame in enumerate(frames):
        if number == 0:
            check_color(frame, color)
        for body in frame:
            survey.add(body.dressed(shown), frame.index, shown)
        if joints and len(frame.joints):
            survey.outer = _outermost(np.vstack([survey.outer, frame.joints.reshape(-1, 3)]))
    outer = survey.outer if len(survey.outer) else np.array([[-0.5, -0.5, -0.5], [0.5, 0.5, 0.5]])
    look = Look(
        size=(width, height),
        camera=Camera.of(camera, outer, (width, height)),
        color=shown,
        legend=survey.legend(shown, value_range),
        low=tuple(outer.min(axis=0)),
        high=tuple(outer.max(axis=0)),
        show_time=show_time,
        fluid=fluid,
        joints=joints,
    )
    if contact_forces:
        look = replace(look, arrow_scale=force_scale([*survey.forces.values()], look.radius))
    return look


def _range_top(value: float) -> float:
    """Return the next number with a short decimal form above `value`, for the end of a legend."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
    return float(steps[steps >= value / power * (1 - 1e-9)][0] * power)


def compose(
    frame: Frame, look: Look, surfaces: dict[str, tuple[Any, SmoothSurface]] | None = None
) -> Composition:
    """Turn a frame into shapes.

    Args:
        frame: The frame.
        look: Camera, colours and ranges.
        surfaces: Surfaces of earlier frames by body; filled and used again while the triangles stay the same.
    """
    surfaces = {} if surfaces is None else surfaces
    shapes, clouds, fogs = [], [], []
    for number, found in enumerate(frame):
        body = found.dressed(look.color)
        if look.fluid == "surface":
            body = surfaced(body)
        fog = shown_fog(body, look.color)
        if fog is not None:
            smoke = np.asarray(fog.fields["smoke"].values, np.float32)
            color = srgb_to_linear(_SMOKE if body.color is None else body.color)
            fogs.append(Fog(body.name, fog.origin, fog.spacing, smoke, color))
        elif body.point_radius is not None:
            clouds.append(_cloud(body, number, look))
        elif len(body.triangles):
            shapes.append(_body_shape(body, number, look, surfaces))
    grounds = []
    for collider in frame.colliders:
        if collider["kind"] == "plane":
            grounds.append(_ground(collider, look))
        elif collider["kind"] == "sphere":
            shapes.append(_sphere_shape(collider, look))
        elif collider["kind"] == "mesh":
            shapes.append(_mesh_shape(collider, look))
    if look.joints and len(frame.joints):
        shapes.append(Shape("joints", *rods(frame.joints, _THIN * look.radius), srgb_to_linear(_ROD)))
    arrows = arrow_lines(frame, look.arrow_scale, look.radius) if look.arrow_scale > 0.0 else None
    return Composition(look, tuple(shapes), tuple(grounds), frame.time, tuple(clouds), tuple(fogs), arrows)


def smooth_surface(body: BodyFrame, surfaces: dict[str, tuple[Any, SmoothSurface]]) -> SmoothSurface:
    """Return the body's surface from `surfaces`, made anew only if its triangles changed."""
    key, surface = surfaces.get(body.name, (None, None))
    if surface is None or key is None or not (key is body.triangles or np.array_equal(key, body.triangles)):
        crease = _LIQUID_CREASE if body.kind == "liquid" else CREASE
        surface = SmoothSurface(body.rest_positions, body.triangles, crease)
        surfaces[body.name] = (body.triangles, surface)
    return surface


def plain_color(body: BodyFrame, number: int) -> NDArray[np.float64]:
    """Return the sRGB colour of a body that no field colours; `number` picks the palette's entry."""
    return np.asarray(body.color if body.color is not None else PALETTE[number % len(PALETTE)], dtype=float)


def body_colors(body: BodyFrame, number: int, color: str, legend: Legend | None) -> NDArray[np.float64]:
    """Return the sRGB colour of each node, shape [n, 3]."""
    if legend is None or color not in body.fields:
        return np.broadcast_to(plain_color(body, number), body.positions.shape)
    return map_colors(body.scalars(color), legend.low, legend.high)


def _on_scale(body: BodyFrame, look: Look) -> NDArray[np.float64] | None:
    """Return the nodes' values as parts of the range, or None for a body that keeps its own colour."""
    if look.legend is None or look.color not in body.fields:
        return None
    low, high = look.legend.low, look.legend.high
    return np.clip((body.scalars(look.color) - low) / (high - low), 0.0, 1.0)


def _cloud(body: BodyFrame, number: int, look: Look) -> Cloud:
    assert body.point_radius is not None
    positions = np.asarray(body.positions, dtype=float)
    color = srgb_to_linear(plain_color(body, number))
    return Cloud(body.name, positions, body.point_radius, color, _on_scale(body, look))


def _body_shape(body: BodyFrame, number: int, look: Look, surfaces: dict) -> Shape:
    surface = smooth_surface(body, surfaces)
    positions = np.asarray(body.positions, dtype=float)
    values = _on_scale(body, look)
    if values is not None:
        values = values[surface.nodes]
    return Shape(
        body.name,
        positions[surface.nodes],
        surface.normals(positions),
        surface.triangles,
        srgb_to_linear(plain_color(body, number)),
        values,
    )


def _pose(collider: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return turn and shift of a collider; both are none for one that does not move."""
    pose = np.asarray(collider.get("pose", np.eye(3, 4)), dtype=float)
    return pose[:, :3], pose[:, 3]


def _mesh_shape(collider: Mapping[str, Any], look: Look) -> Shape:
    """Return the triangles of a collider; of one around everything only those that face the camera."""
    turn, shift = _pose(collider)
    rest, triangles = np.asarray(collider["points"], dtype=float), np.asarray(collider["triangles"])
    surface = SmoothSurface(rest, triangles, crease=35.0)
    points = rest @ turn.T + shift
    shown = surface.triangles
    if collider.get("inside"):
        a, b, c = (points[surface.nodes[shown[:, i]]] for i in range(3))
        towards = np.einsum("ij,ij->i", np.cross(b - a, c - a), np.array(look.camera.position) - a) > 0
        shown = np.ascontiguousarray(shown[towards])
    return Shape("mesh", points[surface.nodes], surface.normals(points), shown, srgb_to_linear(_NEUTRAL))


def _sphere_shape(collider: Mapping[str, Any], look: Look) -> Shape:
    """Return a globe of triangles; of a sphere around everything only the far side."""
    turn, shift = _pose(collider)
    center, radius = turn @ np.asarray(collider["center"], dtype=float) + shift, float(collider["radius"])
    rows, columns = 48, 96
    tilt = np.linspace(0, np.pi, rows + 1)[:, None]
    turn = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None]
    ball = np.stack([np.sin(tilt) * np.cos(turn), np.cos(tilt) + 0 * turn, np.sin(tilt) * np.sin(turn)], -1)
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    a, b = i * columns + j, i * columns + (j + 1) % columns
    triangles = np.concatenate(
        [
            np.stack([a, b, b + columns], -1).reshape(-1, 3),
            np.stack([a, b + columns, a + columns], -1).reshape(-1, 3),
        ]
    ).astype(np.int32)
    normals = ball.reshape(-1, 3)
    points = center + radius * normals
    if collider.get("inside"):
        middle = points[triangles].mean(axis=1)
        away = np.einsum("ij,ij->i", middle - center, middle - np.array(look.camera.position)) > 0
        triangles, normals = triangles[away][:, ::-1], -normals
    return Shape("sphere", points, normals, np.ascontiguousarray(triangles), srgb_to_linear(_NEUTRAL))


def _ground(collider: Mapping[str, Any], look: Look) -> Ground:
    turn, shift = _pose(collider)
    point = turn @ np.asarray(collider["point"], dtype=float) + shift
    normal = turn @ np.asarray(collider["normal"], dtype=float)
    normal = normal / np.linalg.norm(normal)
    # a hair lower than it is, so that what lies flat on it, and a little in it, is seen
    point = point - 2e-3 * look.radius * normal
    foot = look.center - np.dot(look.center - point, normal) * normal
    height = abs(float(np.dot(look.center - point, normal)))
    return Ground(
        point=tuple(point),
        normal=tuple(normal),
        center=tuple(foot),
        fade=5.0 * look.radius + 2.0 * height,
        spacing=nice(0.45 * look.radius, up=False),
    )
