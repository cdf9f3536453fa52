"""Plain data passed between packages: step reports, snapshots of bodies, and frames of a world.

A frame never changes after it was made, so that a sink in another thread can read it while the simulation goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.pickling import KeepsReadOnlyArrays
from continua.short_repr import ShortRepr, counted, short
from continua.textures import Texture
from continua.validation import array, choice, instances_of, rows3, text
from continua.voxels import Voxels

__all__ = [
    "CHANGES_EVERY_FRAME",
    "BodyFields",
    "BodyFrame",
    "ContactForces",
    "EmbeddedSurface",
    "Field",
    "Frame",
    "Overlap",
    "RunInfo",
    "Sink",
    "StepReport",
    "TopologyCache",
    "Volume",
    "WarningCount",
    "check_same_connectivity",
    "readonly_copy",
]


CHANGES_EVERY_FRAME = -1
"""The `topology_version` of bodies whose point set changes every frame: particles and surfaces of liquids."""


_MOST_BODIES = 8  # in the text of a frame


def readonly_copy(array: NDArray) -> NDArray:
    """Return a read-only copy of `array`."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


@dataclass(frozen=True, slots=True, repr=False)
class StepReport(ShortRepr):
    """How one body's step went.

    Attributes:
        body: Name of the body.
        step: Number of the step, from 1.
        time: Time at its end [s].
        dt: Its length [s].
        substeps: Substeps it was done in: more than 1 if it failed as a whole or was above the stability limit of an
            explicit integrator.
        newton_iterations: Number of linearisations of the forces.
        iterations: Iterations of the linear solves.
        residual: Largest residual of the linear solves, relative to the right-hand side.
        converged: Whether all solves reached their tolerance.
        inverted: Number of elements with negative volume.
        contacts: Number of active contacts of the body.
        contact_force: Sum of its contact forces, averaged over the step [N].
        max_penetration: Largest amount by which a distance ended below the required one [m].
        seconds: Wall time [s].
        warnings: What the user should know, one sentence each.
        solver: The linear solver and, if it was chosen automatically, the reason.
        error: Estimate of the error in the energy norm relative to the solution, if the solver makes one.
        projection_iterations: Iterations of the pressure solves of an incompressible body.
    """

    body: str
    step: int
    time: float
    dt: float
    substeps: int = 1
    newton_iterations: int = 1
    iterations: int = 0
    residual: float = 0.0
    converged: bool = True
    inverted: int = 0
    contacts: int = 0
    contact_force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    max_penetration: float = 0.0
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    solver: str = ""
    error: float | None = None
    projection_iterations: int = 0


@dataclass(frozen=True, slots=True)
class WarningCount:
    """A warning of some steps of a body; sentences that differ only in numbers are one warning.

    Attributes:
        body: Name of the body.
        text: The sentence, as in the last of these steps.
        count: Number of steps.
        step: Number of the last one.
    """

    body: str
    text: str
    count: int
    step: int


@dataclass(frozen=True, slots=True, repr=False)
class Overlap(ShortRepr, KeepsReadOnlyArrays):
    """Matter that is where it cannot be: a result of `World.overlaps`.

    Attributes:
        kind: "bodies" that intersect or contain each other, a "self"-intersection of a soft body, a body inside a
            "collider", or "inverted" elements.
        bodies: Names of the body or of both bodies, or of a body and the collider.
        count: Number of pairs of triangles that intersect (0 if a body is wholly inside the other), of nodes inside a
            collider, or of inverted elements.
        nodes: For each body the nodes inside the other and those of intersecting triangles or inverted elements.
        depth: How deep the deepest node is inside [m]; 0 if not known, as for self-intersections.
        elements: The inverted elements, or None.
    """

    kind: str
    bodies: tuple[str, ...]
    count: int
    nodes: tuple[NDArray[np.int32], ...]
    depth: float = 0.0
    elements: NDArray[np.int32] | None = None

    __getstate__ = KeepsReadOnlyArrays.__getstate__  # not those that a dataclass with slots would get
    __setstate__ = KeepsReadOnlyArrays.__setstate__


@dataclass(frozen=True, slots=True, repr=False)
class Field(KeepsReadOnlyArrays):
    """One quantity of a body: one value per point or per cell.

    Attributes:
        values: Array of shape [n] or [n, 3]; n is the number of points or of cells.
        unit: SI unit as text, for instance "m" or "Pa"; empty for a quantity without one.
        on: "points" or "cells".
    """

    values: NDArray
    unit: str
    on: str = "points"

    __getstate__ = KeepsReadOnlyArrays.__getstate__  # not those that a dataclass with slots would get
    __setstate__ = KeepsReadOnlyArrays.__setstate__

    def __repr__(self) -> str:
        return f"Field({short(self.values)}, unit {self.unit!r}, on {self.on})"


class BodyFields(Mapping[str, Field]):
    """The fields of a body by name; some are computed on first access.

    Iterating gives the fields that are written to files: the computed ones, and the exported ones among the lazy ones.
    `in` and `[]` find all of them.

    Args:
        computed: Fields that are known already.
        lazy: Unit of every other field, and a function that computes it.
        exported: Names of lazy fields that are written to files as well.
    """

    def __init__(
        self,
        computed: Mapping[str, Field],
        lazy: Mapping[str, tuple[str, Callable[[], Field]]] = MappingProxyType({}),
        exported: Iterable[str] = (),
    ) -> None:
        self._fields = dict(computed)
        self._lazy = lazy
        names = instances_of(exported, str, "the fields of a frame", "a name")
        self._listed = (*computed, *(name for name in names if name in lazy))
        self._left_out: tuple[str, ...] = ()  # by pickling

    def extended(
        self, lazy: Mapping[str, tuple[str, Callable[[], Field]]], exported: Iterable[str] = ()
    ) -> BodyFields:
        """Return these fields and further lazy ones."""
        more = BodyFields(self._fields, {**self._lazy, **lazy}, exported)
        more._listed = tuple(dict.fromkeys((*self._listed, *(name for name in exported if name in lazy))))
        return more

    def __getstate__(self) -> dict[str, object]:
        """Return what is pickled: the fields that are written to files and those that are known already.

        The others are computed from the elements of the body, which would be many times larger than the frame.
        """
        for name in self._listed:
            _ = self[name]
        left_out = (*self._left_out, *(name for name in self._lazy if name not in self._fields))
        return {**vars(self), "_lazy": {}, "_left_out": left_out}

    def __deepcopy__(self, memo: object) -> BodyFields:
        return self  # what is known never changes

    @property
    def units(self) -> dict[str, str]:
        """Units of all fields by name, those in files first."""
        computed = {name: self._fields[name].unit for name in self._listed if name in self._fields}
        return computed | {name: unit for name, (unit, _) in self._lazy.items()}

    def __getitem__(self, name: str) -> Field:
        if name not in self._fields and name in self._lazy:
            self._fields[name] = self._lazy[name][1]()
        if name in self._left_out:
            raise InputError(
                f"the field '{name}' was not computed before the frame was pickled; read it once before, or name it "
                "in World(fields=...)"
            )
        return self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields or name in self._lazy

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __repr__(self) -> str:
        units = self.units
        listed = [f"{name} [{units[name]}]" for name in self._listed]
        others = [name for name in units if name not in self._listed]
        return f"BodyFields({', '.join(listed)}" + (f"; on request {', '.join(others)})" if others else ")")


@dataclass(frozen=True, slots=True, repr=False)
class Volume:
    """Quantities on a regular grid of cubic cells.

    Attributes:
        origin: Corner with the smallest coordinates [m].
        spacing: Edge length of a cell [m].
        fields: Quantities by name, values at cell centres, shape [nx, ny, nz] or [nx, ny, nz, 3].
    """

    origin: tuple[float, float, float]
    spacing: float
    fields: Mapping[str, Field]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of cells along x, y and z."""
        n = next(iter(self.fields.values())).values.shape
        return n[0], n[1], n[2]

    def __repr__(self) -> str:
        cells = " x ".join(map(str, self.shape))
        return f"Volume({cells} cells of {self.spacing:g} m, fields {', '.join(self.fields)})"


@dataclass(frozen=True, slots=True, repr=False)
class EmbeddedSurface(ShortRepr, KeepsReadOnlyArrays):
    """A detailed surface embedded in a body: each of its nodes is a weighted mean of four nodes of the body.

    Attributes:
        rest: Its nodes in the undeformed body [m], shape [s, 3].
        triangles: Outward oriented, shape [k, 3]; indices into its own nodes.
        nodes: The nodes of the body that each node depends on, shape [s, 4].
        weights: Their weights, shape [s, 4]; rows add up to 1, negative ones extrapolate.
        uv: Texture coordinates of the corners of each triangle, shape [k, 3, 2], or None. They belong to triangles
            and not to nodes: a subset of the triangles, or triangles with other node numbers, have `uv[triangles]`.
        texture: The image on the surface, or None.
    """

    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    uv: NDArray[np.float64] | None = None
    texture: Texture | None = None

    __getstate__ = KeepsReadOnlyArrays.__getstate__  # not those that a dataclass with slots would get
    __setstate__ = KeepsReadOnlyArrays.__setstate__

    def interpolate(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Interpolate values at the body's nodes, shape [n] or [n, k], to the nodes of the surface."""
        return np.asarray(np.einsum("sc,sc...->s...", self.weights, np.asarray(values)[self.nodes]))


@dataclass(frozen=True, slots=True, repr=False)
class ContactForces(KeepsReadOnlyArrays):
    """Contact forces on a body, averaged over the last step, and the points where they act.

    Attributes:
        points: Where they act [m], shape [c, 3].
        forces: Forces on the body [N], shape [c, 3].
    """

    points: NDArray[np.float64]
    forces: NDArray[np.float64]

    __getstate__ = KeepsReadOnlyArrays.__getstate__  # not those that a dataclass with slots would get
    __setstate__ = KeepsReadOnlyArrays.__setstate__

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"ContactForces({counted(len(self), 'point')}, total {short(self.forces.sum(axis=0))} N)"

    @classmethod
    def none(cls) -> ContactForces:
        """Return no forces."""
        return cls(np.zeros((0, 3)), np.zeros((0, 3)))

    @classmethod
    def at_nodes(cls, positions: NDArray[np.float64], forces: NDArray[np.float64]) -> ContactForces:
        """Return the forces at those nodes that have one; both have the shape [n, 3]."""
        positions, forces = rows3(positions, "positions"), rows3(forces, "forces")
        if len(positions) != len(forces):
            raise InputError(
                f"there must be a force for each of {len(positions)} positions, not {len(forces)}"
            )
        pressed = np.flatnonzero(forces.any(axis=1))
        return cls(positions[pressed], forces[pressed])

    def at_nearest(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the forces as sums at the nearest of some positions [n, 3], shape [n, 3]."""
        positions = array(positions, "positions", (None, 3))
        total = np.zeros_like(positions)
        if len(self) and len(positions):
            from scipy.spatial import cKDTree

            nearest = cKDTree(positions).query(self.points)[1]
            np.add.at(total, nearest, self.forces)
        return total


@dataclass(frozen=True, slots=True, repr=False)
class BodyFrame(KeepsReadOnlyArrays):
    """A body at one moment.

    Attributes:
        name: The body's name, unique in its world.
        kind: What it is made of: "soft" for a soft body, "cloth", "springs", "rigid", "fluid" for particles, "grid" for a
            fluid on a grid, "liquid" for one with a surface.
        positions: Node positions [m], shape [n, 3].
        rest_positions: The same nodes in the undeformed body [m], shape [n, 3].
        cells: Volume cells by VTK-like kind: "tetra" [m, 4], "tetra10" [m, 10] (corners, then
            the mid-edge nodes in VTK order), "tetra20" [m, 20] (VTK's Lagrange tetrahedron of order 3),
            "hexahedron" [m, 8], "hexahedron27" [m, 27], of plane bodies "triangle" [m, 3], "triangle6" [m, 6],
            "quad" [m, 4], "quad9" [m, 9], "vertex" [m, 1] for particles, "line" [m, 2] for
            springs; indices into `positions`.
        triangles: Outer surface, outward oriented, shape [k, 3]; indices into `positions`.
        fields: Quantities by name; every soft body has "displacement" [m], "velocity" [m/s] and
            "von_mises" [Pa], all on points. More are computed on access, such as "stress" on cells (see
            `continua.solids.FIELDS`).
        color: RGB in 0..1 for plain pictures, or None for the default.
        energy: Energies [J] by name: "kinetic", "elastic", "gravity".
        point_radius: Radius of particles [m]; None for a body that has a surface.
        volume: Quantities of a fluid on a grid, or None. The `triangles` are a sheet through the middle,
            or the surface of a liquid.
        skin: An embedded surface that is drawn instead of `triangles`, or None.
        contacts: Its contact forces; None if they are not known.
        voxels: A 3-D image of the undeformed body, or None; the field "voxels" samples it at the nodes.
        topology_version: Rises whenever the nodes, `cells`, `triangles` or the nodes and triangles of `skin` change.
            Frames of a body with the same version have the same connectivity. `CHANGES_EVERY_FRAME` if no two
            frames share it.
        uv: Texture coordinates of the corners of `triangles`, shape [k, 3, 2], or None.
        texture: The image on the surface, drawn where no field colours it, or None.
    """

    name: str
    kind: str
    positions: NDArray[np.float64]
    rest_positions: NDArray[np.float64]
    cells: Mapping[str, NDArray[np.int32]]
    triangles: NDArray[np.int32]
    fields: BodyFields
    color: tuple[float, float, float] | None = None
    energy: Mapping[str, float] = field(default_factory=dict)
    point_radius: float | None = None
    volume: Volume | None = None
    skin: EmbeddedSurface | None = None
    contacts: ContactForces | None = None
    voxels: Voxels | None = None
    topology_version: int = 0
    uv: NDArray[np.float64] | None = None
    texture: Texture | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.fields, BodyFields):
            object.__setattr__(self, "fields", BodyFields(self.fields))

    __getstate__ = KeepsReadOnlyArrays.__getstate__  # not those that a dataclass with slots would get
    __setstate__ = KeepsReadOnlyArrays.__setstate__

    def __repr__(self) -> str:
        parts = [counted(len(self.positions), "node")]
        parts += [f"{len(cells)} {kind}" for kind, cells in self.cells.items()]
        parts.append(counted(len(self.triangles), "triangle"))
        return f"BodyFrame({self.name!r}, {self.kind}, {', '.join(parts)}; fields {', '.join(self.fields)})"

    def __getitem__(self, name: str) -> NDArray:
        """Return the values of the field called `name`."""
        return self.fields[name].values

    def scalars(self, name: str) -> NDArray[np.float64]:
        """Return a field as one number per node, shape [n].

        Vectors count by their length, symmetric tensors by their von Mises norm, stretches by the one farthest
        from 1; a field on cells is averaged over the cells around each node.
        """
        field = self.fields[choice(name, "the name of a field", self.fields.units)]
        values = np.asarray(field.values, dtype=np.float64)
        if name == "stretch" and values.ndim == 2:
            values = values[np.arange(len(values)), np.abs(values - 1.0).argmax(axis=1)]
        elif values.ndim == 2 and values.shape[1] == 6:
            xx, yy, zz, xy, yz, xz = values.T
            d = (xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2
            values = np.sqrt(0.5 * d + 3.0 * (xy**2 + yz**2 + xz**2))
        elif values.ndim == 2:
            values = np.sqrt(np.einsum("ij,ij->i", values, values))
        if field.on == "points":
            return values
        total, count, first = np.zeros(len(self.positions)), np.zeros(len(self.positions)), 0
        for block in self.cells.values():
            here = values[first : first + len(block)]
            first += len(block)
            nodes = block.ravel()
            total += np.bincount(nodes, np.repeat(here, block.shape[1]), len(total))
            count += np.bincount(nodes, minlength=len(count))
        return total / np.maximum(count, 1.0)

    def with_embedded_surface(self, color: str = "plain") -> BodyFrame:
        """Return the body as it is drawn: a body with a skin becomes that surface, with the values of one field."""
        skin, color = self.skin, text(color, "the name of a field")
        if skin is None:
            return self
        fields = {}
        if color in self.fields:
            values = self.scalars(color)
            # weights that extrapolate would give sizes a sign
            interpolated = skin.interpolate(values).clip(values.min(), values.max())
            fields[color] = Field(interpolated, self.fields[color].unit)
        return replace(
            self,
            positions=skin.rest + skin.interpolate(self.displacements),
            rest_positions=skin.rest,
            cells={},
            triangles=skin.triangles,
            fields=BodyFields(fields),
            skin=None,
            uv=skin.uv,
            texture=skin.texture,
        )

    @property
    def has_dynamic_topology(self) -> bool:
        """Whether the point set changes every frame, as for particles and surfaces of liquids."""
        return self.topology_version == CHANGES_EVERY_FRAME

    @property
    def displacements(self) -> NDArray[np.float64]:
        """Displacement of every node from rest [m], shape [n, 3]."""
        return self.positions - self.rest_positions


T = TypeVar("T")


class TopologyCache(Generic[T]):
    """What was computed from the connectivity of bodies, by name; valid until the topology version changes."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[BodyFrame, T]] = {}

    def get(self, body: BodyFrame, compute: Callable[[], T]) -> T:
        """Return the value for the topology of `body`, computed again if it has another version.

        Raises:
            InputError: The connectivity has changed, but not the version.
        """
        if self.is_current(body):
            return self._found[body.name][1]
        return self.replace(body, compute())

    def replace(self, body: BodyFrame, value: T) -> T:
        """Keep another value for the topology of `body`, and return it."""
        self._found[body.name] = (_without_motion(body), value)
        return value

    def is_current(self, body: BodyFrame) -> bool:
        """Return whether the value of `body` was computed for its topology version."""
        if body.name not in self._found or body.has_dynamic_topology:
            return False
        before = self._found[body.name][0]
        if before.topology_version != body.topology_version:
            return False
        check_same_connectivity(before, body)
        return True

    def clear(self) -> None:
        """Forget all values."""
        self._found.clear()


def _without_motion(body: BodyFrame) -> BodyFrame:
    """Return a body without what changes from frame to frame."""
    return replace(body, positions=body.rest_positions, fields=BodyFields({}), volume=None, contacts=None)


def check_same_connectivity(before: BodyFrame, body: BodyFrame) -> None:
    """Raise `InputError` unless two frames of a body with one topology version have the same connectivity."""
    old, new = ((*frame.cells.values(), frame.triangles) for frame in (before, body))
    if len(old) != len(new) or not all(a is b or np.array_equal(a, b) for a, b in zip(old, new)):
        raise InputError(
            f'body "{body.name}" changes its connectivity, but not its topology version '
            f"({body.topology_version}); each change of cells or triangles needs a higher version"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Frame(KeepsReadOnlyArrays):
    """A world at one moment.

    Attributes:
        index: Number of the frame, from 0.
        step: Number of time steps done so far.
        time: Simulated time [s].
        bodies: Body frames by name, in the world's order.
        reports: The last step's report of each body (empty at frame 0).
        colliders: Shapes to draw, each with `kind` "plane" (point, normal), "sphere" (center, radius) or "mesh"
            (points, triangles, and with an image uv and texture); one that moves has a `pose`, the rows of the 3x4
            matrix that takes it there, and one that deforms has `deforms` and the points of this time.
        joints: A line from each joint of rigid bodies to the centre of each of its bodies [m], shape [k, 2, 3].
        warnings: The warnings of all steps since the frame before, with the number of steps that gave each.
    """

    index: int
    step: int
    time: float
    bodies: Mapping[str, BodyFrame]
    reports: tuple[StepReport, ...] = ()
    colliders: tuple[Mapping[str, object], ...] = ()
    joints: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2, 3)))
    warnings: tuple[WarningCount, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", MappingProxyType(dict(self.bodies)))

    __getstate__ = KeepsReadOnlyArrays.__getstate__  # not those that a dataclass with slots would get
    __setstate__ = KeepsReadOnlyArrays.__setstate__

    def __repr__(self) -> str:
        bodies = [f"{body.name} ({body.kind}, {counted(len(body.positions), 'node')})" for body in self]
        if len(bodies) > _MOST_BODIES:
            bodies[_MOST_BODIES - 1 :] = [f"and {len(bodies) - _MOST_BODIES + 1} more"]
        return (
            f"Frame({self.index}, step {self.step}, t = {self.time:g} s: {', '.join(bodies) or 'no bodies'})"
        )

    def __getitem__(self, name: str) -> BodyFrame:
        """Return the frame of the body called `name`."""
        return self.bodies[name]

    def __iter__(self) -> Iterator[BodyFrame]:
        return iter(self.bodies.values())


@dataclass(frozen=True, slots=True, repr=False)
class RunInfo(ShortRepr):
    """What a sink knows about a run before its first frame.

    Attributes:
        name: Name of the run, used in file names.
        fps: Frames a second of simulated time.
        seconds: Length of the run [s].
        metadata: Text about the run that goes into the files which have a place for it.
        view: How to draw: any of the keywords of `continua.render.picture` ("camera", "color",
            "value_range", "size", "backend").
        progress: Called with (what, done, total), such as ("drawing mp4", 3, 60), by sinks whose `close` takes long.
    """

    name: str = "world"
    fps: float = 60.0
    seconds: float = 0.0
    metadata: Mapping[str, str] = field(default_factory=dict)
    view: Mapping[str, object] = field(default_factory=dict)
    progress: Callable[[str, int, int], None] | None = None


class Sink(Protocol):
    """A consumer of frames.

    A sink may be killed at any moment and opened again with `start`, the number of frames that are known to
    be complete; it keeps those, drops all later ones, and in the end leaves the same bytes as a run that was
    never interrupted.
    """

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Get ready for the frame number `start`; raises `InputError` if that cannot be."""

    def write(self, frame: Frame) -> None:
        """Take the next frame."""

    def close(self) -> list[Path]:
        """Finish, and return the files a person would open, the most useful first."""
        ...
