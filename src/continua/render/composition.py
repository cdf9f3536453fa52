"""What a picture shows, independent of the back end: shapes, colours, camera, ground, legend, scale.

A `View` holds what must not change within a sequence (camera, value range, ground). A `Composition` is one
frame prepared for drawing with a view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.frames import BodyFrame, Frame, TopologyCache, Volume
from continua.render.annotations_3d import force_arrows, force_scale, joint_rods, largest_force
from continua.render.camera import Camera
from continua.render.colors import PALETTE, map_colors, srgb_to_linear
from continua.render.fluid_surface import with_fluid_surface
from continua.render.surface import CREASE, SmoothSurface
from continua.textures import Texture

__all__ = [
    "DEFAULT_COLOR",
    "Cloud",
    "Composition",
    "Ground",
    "Legend",
    "Shape",
    "SmokeVolume",
    "View",
    "body_colors",
    "check_color",
    "compose",
    "default_color",
    "make_view",
    "round_nice",
    "smooth_surface",
    "visible_smoke",
]

DEFAULT_COLOR = "von_mises"
"""The field that colours bodies when none was asked for; bodies that do not have it are plain."""

_LABELS = {"von_mises": "von Mises stress", "displacement": "displacement", "velocity": "speed"}
# Smaller values are round-off: a body at rest shows no colours.
_NOISE = {"Pa": 1e-3, "m": 1e-9, "m/s": 1e-9}
_NEUTRAL = (0.74, 0.76, 0.79)
_LIQUID_CREASE = 75.0  # degrees; keeps a liquid smooth where walls cut it off
_SMOKE = (0.50, 0.52, 0.56)
_ROD_COLOR = (0.30, 0.33, 0.38)
_ROD_RADIUS = 0.0045  # of a joint, as a fraction of the scene's radius


@dataclass(frozen=True, slots=True)
class Legend:
    """The colour legend: title, unit, range, and whether values exceed the range."""

    title: str
    unit: str
    low: float
    high: float
    exceeded: bool

    @property
    def signed(self) -> bool:
        """Whether the range is symmetric about zero, as for vorticity."""
        return self.low == -self.high


@dataclass(frozen=True, slots=True)
class Ground:
    """A ground plane: a point on it [m], its unit normal, and the radius at which it fades out [m]."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    center: tuple[float, float, float]
    fade: float
    spacing: float


@dataclass(frozen=True, slots=True)
class View:
    """What is constant over a sequence of pictures.

    Attributes:
        size: Width and height in pixels.
        camera: The camera.
        color: Name of the field that colours the bodies, or "plain".
        legend: The meaning of the colours; None if no body is coloured.
        low: Lower corner of the bounding box of the sequence [m].
        high: Upper corner of the bounding box of the sequence [m].
        show_time: Whether the simulated time is written in the corner.
        fluid: Whether fluids are drawn as "points" or as a reconstructed "surface".
        arrow_scale: Length of an arrow per contact force [m/N]; 0 draws none.
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
        """Centre of the bounding box [m]."""
        return (np.array(self.low) + np.array(self.high)) / 2

    @property
    def radius(self) -> float:
        """Half the diagonal of the bounding box [m]."""
        return max(float(np.linalg.norm(np.subtract(self.high, self.low))) / 2, 1e-9)


@dataclass(frozen=True, slots=True)
class Shape:
    """One surface: vertices with positions [m] and unit normals, and triangles.

    It has one linear RGB `color`, or `values` at the vertices from 0 to 1 over the range of the colour map, or a
    `texture` with the coordinates `uv` of the corners of each triangle [k, 3, 2]. Values are interpolated inside a
    triangle and then mapped to colours, never the other way round.
    """

    name: str
    positions: NDArray[np.float64]
    normals: NDArray[np.float64]
    triangles: NDArray[np.int32]
    color: NDArray[np.float64]
    values: NDArray[np.float64] | None = None
    uv: NDArray[np.float64] | None = None
    texture: Texture | None = None


@dataclass(frozen=True, slots=True)
class Cloud:
    """Particles: positions [m], radius [m], and a colour or values as in `Shape`."""

    name: str
    positions: NDArray[np.float64]
    radius: float
    color: NDArray[np.float64]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class SmokeVolume:
    """Smoke in a box of cubic cells: lower corner [m], spacing [m], density [nx, ny, nz], and a linear RGB colour."""

    name: str
    origin: tuple[float, float, float]
    spacing: float
    density: NDArray[np.float32]
    color: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Composition:
    """One frame, ready to be drawn; `arrows` [k, 2, 3] are contact forces, from contact point to arrow head [m]."""

    view: View
    shapes: tuple[Shape, ...]
    grounds: tuple[Ground, ...]
    time: float
    clouds: tuple[Cloud, ...] = ()
    smoke_volumes: tuple[SmokeVolume, ...] = ()
    arrows: NDArray[np.float64] | None = None


def round_nice(value: float, *, up: bool) -> float:
    """Return the round number (1, 2 or 5 times a power of ten) nearest to `value`, above or below it."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 2.0, 5.0, 10.0]) * power
    fits = steps[steps >= value * (1 - 1e-9)] if up else steps[steps <= value * (1 + 1e-9)]
    return float(fits[0] if up else fits[-1])


def fibonacci_sphere(count: int) -> NDArray[np.float64]:
    """Return evenly distributed unit vectors (a Fibonacci spiral), shape [count, 3]."""
    height = 1 - (2 * np.arange(count) + 1) / count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5))
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(turn), height, radius * np.sin(turn)], axis=1)


def _extreme_points(points: NDArray) -> NDArray:
    """Return the points that are extreme in some direction; they are enough to fit a camera."""
    directions = np.vstack([fibonacci_sphere(96), np.eye(3), -np.eye(3)])
    return points[np.unique(np.argmax(points @ directions.T, axis=0))]


def visible_smoke(body: BodyFrame, color: str) -> Volume | None:
    """Return the grid of a body whose smoke is drawn as a volume; None without smoke, in 2D, or with a field."""
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
    if any(color in body.fields or (color == "smoke" and visible_smoke(body, color)) for body in bodies):
        return
    known = dict.fromkeys(name for body in bodies for name in body.fields.units)
    raise InputError(f'no body can be coloured by "{color}"; choose from {", ".join(["plain", *known])}')


def default_color(frame: Frame) -> str:
    """Return what is shown if nothing is asked for: stress, else the smoke or the speed of a fluid on a grid."""
    bodies = list(frame)
    if not any(DEFAULT_COLOR in body.fields for body in bodies):
        for body in bodies:
            if body.kind == "grid":
                return "smoke" if "smoke" in body.fields else "velocity"
    return DEFAULT_COLOR


class _SequenceExtent:
    """Bounds, value ranges and largest forces of a sequence of frames."""

    def __init__(self) -> None:
        self.outer = np.empty((0, 3))
        self.unit: str | None = None
        self.lowest = self.highest = 0.0
        self.tops: dict[int, float] = {}
        self.forces: dict[int, float] = {}

    def add(self, body: BodyFrame, index: int, color: str) -> None:
        """Include one body of frame number `index`."""
        self.forces[index] = max(self.forces.get(index, 0.0), largest_force(body))
        smoke = visible_smoke(body, color)
        if smoke is not None:
            low = np.array(smoke.origin)
            ends = np.stack([low, low + smoke.spacing * np.array(smoke.shape)])
            box = np.array(np.meshgrid(*ends.T, indexing="ij")).reshape(3, -1).T
            self.outer = _extreme_points(np.vstack([self.outer, box]))
            return
        nodes = np.unique(body.triangles) if body.point_radius is None else np.arange(len(body.positions))
        if not len(nodes):
            return
        points = body.positions[nodes]
        if not np.isfinite(points).all():
            raise InputError(f'body "{body.name}" cannot be drawn: its positions are not finite')
        self.outer = _extreme_points(np.vstack([self.outer, points]))
        if color in body.fields:
            image = body.voxels if color == "voxels" else None  # finer than what the nodes carry
            values = body.scalars(color)[nodes] if image is None else image.values.ravel()
            if not np.isfinite(values).all():
                raise InputError(f'body "{body.name}" cannot be coloured: its {color} is not finite')
            self.unit = body.fields[color].unit
            # wall values of a flow are outliers at both ends of the range
            bottom = float(np.quantile(values, 0.005)) if body.volume is not None else float(values.min())
            self.lowest = min(self.lowest, bottom)
            self.highest = max(self.highest, float(values.max()))
            # Without this, stress peaks at clamped edges leave the rest of the body in one colour.
            top = float(np.quantile(values, 0.995))
            self.tops[index] = max(self.tops.get(index, 0.0), top)

    def legend(self, color: str, given: tuple[float, float] | None) -> Legend | None:
        """Return the legend, with a round range unless one was given."""
        if self.unit is None:
            return None
        if given is not None:
            low, high = (float(v) for v in given)
            if not (np.isfinite([low, high]).all() and high > low):
                raise InputError(
                    f"the value range must be two increasing numbers, not {given[0]} and {given[1]}"
                )
        else:
            # The few frames of an impact must not set the range of the whole run.
            top = float(np.quantile(list(self.tops.values()), 0.9))
            low = -round_nice(-self.lowest, up=True) if self.lowest < 0 else 0.0
            high = _range_top(top) if top > max(low, _NOISE.get(self.unit, 0.0)) else low + 1.0
            if color == "vorticity":  # symmetric: both senses of rotation count the same
                low, high = -max(-low, high), max(-low, high)
        title = _LABELS.get(color, color.replace("_", " "))
        return Legend(title, self.unit, low, high, self.highest > high * (1 + 1e-9))


def make_view(
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
) -> View:
    """Choose camera and value range for a sequence of frames.

    Args:
        frames: The frames of the sequence; each is read once, in order.
        size: Width and height in pixels.
        color: Name of a field, or "plain"; by default that of `default_color`. Bodies without that field are plain.
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
    extent = _SequenceExtent()
    shown = color or DEFAULT_COLOR
    for number, frame in enumerate(frames):
        if number == 0:
            check_color(frame, color)
            shown = color or default_color(frame)
        for body in frame:
            extent.add(body.with_embedded_surface(shown), frame.index, shown)
        if joints and len(frame.joints):
            extent.outer = _extreme_points(np.vstack([extent.outer, frame.joints.reshape(-1, 3)]))
    outer = extent.outer if len(extent.outer) else np.array([[-0.5, -0.5, -0.5], [0.5, 0.5, 0.5]])
    view = View(
        size=(width, height),
        camera=Camera.of(camera, outer, (width, height)),
        color=shown,
        legend=extent.legend(shown, value_range),
        low=tuple(outer.min(axis=0)),
        high=tuple(outer.max(axis=0)),
        show_time=show_time,
        fluid=fluid,
        joints=joints,
    )
    if contact_forces:
        view = replace(view, arrow_scale=force_scale([*extent.forces.values()], view.radius))
    return view


def _range_top(value: float) -> float:
    """Return the next number with a short decimal form above `value`, for the end of a legend."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
    return float(steps[steps >= value / power * (1 - 1e-9)][0] * power)


def compose(frame: Frame, view: View, surfaces: TopologyCache[SmoothSurface] | None = None) -> Composition:
    """Prepare a frame for drawing.

    Args:
        frame: The frame.
        view: Camera, colours and ranges.
        surfaces: Cache of surfaces by body and topology version.
    """
    surfaces = TopologyCache() if surfaces is None else surfaces
    shapes, clouds, smoke_volumes = [], [], []
    for number, found in enumerate(frame):
        body = found.with_embedded_surface(view.color)
        if view.fluid == "surface":
            body = with_fluid_surface(body)
        smoke = visible_smoke(body, view.color)
        if smoke is not None:
            density = np.asarray(smoke.fields["smoke"].values, np.float32)
            color = srgb_to_linear(_SMOKE if body.color is None else body.color)
            smoke_volumes.append(SmokeVolume(body.name, smoke.origin, smoke.spacing, density, color))
        elif body.point_radius is not None:
            clouds.append(_cloud(body, number, view))
        elif len(body.triangles):
            shapes.append(_body_shape(body, number, view, surfaces))
    grounds = []
    for collider in frame.colliders:
        if collider["kind"] == "plane":
            grounds.append(_ground(collider, view))
        elif collider["kind"] == "sphere":
            shapes.append(_sphere_shape(collider, view))
        elif collider["kind"] == "mesh":
            shapes.append(_mesh_shape(collider, view))
    if view.joints and len(frame.joints):
        shapes.append(
            Shape("joints", *joint_rods(frame.joints, _ROD_RADIUS * view.radius), srgb_to_linear(_ROD_COLOR))
        )
    arrows = force_arrows(frame, view.arrow_scale, view.radius) if view.arrow_scale > 0.0 else None
    return Composition(
        view, tuple(shapes), tuple(grounds), frame.time, tuple(clouds), tuple(smoke_volumes), arrows
    )


def smooth_surface(body: BodyFrame) -> SmoothSurface:
    """Return the surface of a body with hard edges at its creases."""
    crease = _LIQUID_CREASE if body.kind == "liquid" else CREASE
    return SmoothSurface(body.rest_positions, body.triangles, crease)


def plain_color(body: BodyFrame, number: int) -> NDArray[np.float64]:
    """Return the sRGB colour of a body without a field; `number` selects the palette's entry."""
    return np.asarray(body.color if body.color is not None else PALETTE[number % len(PALETTE)], dtype=float)


def body_colors(body: BodyFrame, number: int, color: str, legend: Legend | None) -> NDArray[np.float64]:
    """Return the sRGB colour of each node, shape [n, 3]."""
    if legend is None or color not in body.fields:
        return np.broadcast_to(plain_color(body, number), body.positions.shape)
    return map_colors(body.scalars(color), legend.low, legend.high)


def _normalized_values(body: BodyFrame, view: View) -> NDArray[np.float64] | None:
    """Return the nodal values from 0 to 1 over the range, or None for a body with a plain colour."""
    if view.legend is None or view.color not in body.fields:
        return None
    low, high = view.legend.low, view.legend.high
    return np.clip((body.scalars(view.color) - low) / (high - low), 0.0, 1.0)


def _cloud(body: BodyFrame, number: int, view: View) -> Cloud:
    assert body.point_radius is not None
    positions = np.asarray(body.positions, dtype=float)
    color = srgb_to_linear(plain_color(body, number))
    return Cloud(body.name, positions, body.point_radius, color, _normalized_values(body, view))


def _body_shape(body: BodyFrame, number: int, view: View, surfaces: TopologyCache[SmoothSurface]) -> Shape:
    surface = surfaces.get(body, lambda: smooth_surface(body))
    positions = np.asarray(body.positions, dtype=float)
    values = _normalized_values(body, view)
    if values is not None:
        values = values[surface.nodes]
    textured = values is None and body.texture is not None and body.uv is not None
    return Shape(
        body.name,
        positions[surface.nodes],
        surface.normals(positions),
        surface.triangles,
        srgb_to_linear(plain_color(body, number)),
        values,
        body.uv if textured else None,
        body.texture if textured else None,
    )


def _pose(collider: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rotation and translation of a collider; the identity for one that does not move."""
    pose = np.asarray(collider.get("pose", np.eye(3, 4)), dtype=float)
    return pose[:, :3], pose[:, 3]


def _mesh_shape(collider: Mapping[str, Any], view: View) -> Shape:
    """Return the triangles of a collider; of an enclosing one only those that face the camera."""
    rotation, translation = _pose(collider)
    rest, triangles = np.asarray(collider["points"], dtype=float), np.asarray(collider["triangles"])
    surface = SmoothSurface(rest, triangles, crease=35.0)
    points = rest @ rotation.T + translation
    shown, uv = surface.triangles, None
    texture = collider.get("texture")
    if texture is not None:
        uv = np.asarray(collider["uv"], dtype=float)
    if collider.get("inside"):
        a, b, c = (points[surface.nodes[shown[:, i]]] for i in range(3))
        towards = np.einsum("ij,ij->i", np.cross(b - a, c - a), np.array(view.camera.position) - a) > 0
        shown = np.ascontiguousarray(shown[towards])
        uv = None if uv is None else uv[towards]
    neutral = srgb_to_linear(_NEUTRAL)
    return Shape("mesh", points[surface.nodes], surface.normals(points), shown, neutral, None, uv, texture)


def _sphere_shape(collider: Mapping[str, Any], view: View) -> Shape:
    """Return a triangulated sphere; of an enclosing one only the far side."""
    rotation, translation = _pose(collider)
    center, radius = (
        rotation @ np.asarray(collider["center"], dtype=float) + translation,
        float(collider["radius"]),
    )
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
        away = np.einsum("ij,ij->i", middle - center, middle - np.array(view.camera.position)) > 0
        triangles, normals = triangles[away][:, ::-1], -normals
    return Shape("sphere", points, normals, np.ascontiguousarray(triangles), srgb_to_linear(_NEUTRAL))


def _ground(collider: Mapping[str, Any], view: View) -> Ground:
    rotation, translation = _pose(collider)
    point = rotation @ np.asarray(collider["point"], dtype=float) + translation
    normal = rotation @ np.asarray(collider["normal"], dtype=float)
    normal = normal / np.linalg.norm(normal)
    # slightly lower than it is, so that bodies that rest on it or slightly penetrate it stay visible
    point = point - 2e-3 * view.radius * normal
    foot = view.center - np.dot(view.center - point, normal) * normal
    height = abs(float(np.dot(view.center - point, normal)))
    return Ground(
        point=tuple(point),
        normal=tuple(normal),
        center=tuple(foot),
        fade=5.0 * view.radius + 2.0 * height,
        spacing=round_nice(0.45 * view.radius, up=False),
    )
