"""Surfaces that move on a prescribed path: sequences of meshes, and animated glTF files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.file_input import check_file
from continua.mesh import files
from continua.mesh.checks import compact, read_only
from continua.mesh.gltf import read_glb
from continua.mesh.gltf_rig import GltfRig
from continua.mesh.keyframes import hermite
from continua.mesh.surface_mesh import SurfaceMesh
from continua.mesh.transform import apply_transform
from continua.mesh.volume_mesh import VolumeMesh
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, choice, file_path, flag, number, pluralize, text, whole_number

__all__ = ["MeshAnimation"]

_Points = NDArray[np.float64]
_WELD = 1e-6  # distance of points that are made one, relative to the size of the surface
_WELD_TIMES = 9  # moments at which points have to be at the same place to be made one
_LOOP = 1e-3  # difference of the last and the first shape of a loop, relative to the size of the surface
_REMEMBERED = 4  # moments whose positions are kept: a step asks for those at its start and its end many times


class _Track(Protocol):
    """Positions [m] and velocities [m/s] of points, shape [n, 3] each, from time 0 to `duration` [s]."""

    duration: float

    def at(self, time: float) -> tuple[_Points, _Points]: ...


class _FrameTrack:
    """Frames at equal intervals, interpolated linearly or by cubic Hermite splines (Catmull and Rom 1974)."""

    def __init__(self, frames: _Points, fps: float, cubic: bool, loop: bool) -> None:
        self._frames, self._fps, self._cubic, self._loop = frames, fps, cubic, loop
        self.duration = (len(frames) if loop else len(frames) - 1) / fps

    def at(self, time: float) -> tuple[_Points, _Points]:
        """Return the frame, or what lies between two; of a loop, the first follows the last."""
        place = time * self._fps
        k = min(int(place), len(self._frames) - (1 if self._loop else 2))
        u, h = place - k, 1.0 / self._fps
        p, q = self._frame(k), self._frame(k + 1)
        if not self._cubic:
            return (1.0 - u) * p + u * q, (q - p) / h
        p_rate, q_rate = self._slope(k), self._slope(k + 1)
        return hermite(p, p_rate, q, q_rate, u, h)

    def _frame(self, k: int) -> _Points:
        return self._frames[k % len(self._frames)]

    def _slope(self, k: int) -> _Points:
        """Return the velocity at frame k from its neighbours; at an end from the two or three frames there."""
        last = len(self._frames) - 1
        if self._loop or 0 < k < last:
            return 0.5 * self._fps * (self._frame(k + 1) - self._frame(k - 1))
        if last == 1:
            return self._fps * (self._frames[1] - self._frames[0])
        side = 1 if k == 0 else -1
        a, b, c = (self._frames[k + side * i] for i in range(3))
        return side * self._fps * (2.0 * b - 1.5 * a - 0.5 * c)


class _RigTrack:
    """The points of a glTF file, from its first key to its last one."""

    def __init__(self, rig: GltfRig, nodes: NDArray[np.integer]) -> None:
        self._rig, self._nodes = rig, nodes
        times = rig.times
        self._first = float(times[0])
        self.duration = float(times[-1]) - self._first

    def at(self, time: float) -> tuple[_Points, _Points]:
        """Return the points that are used."""
        x, v = self._rig.at(self._first + time)
        return x[self._nodes], v[self._nodes]


class MeshAnimation(KeepsReadOnlyArrays):
    """A surface of triangles whose nodes move on prescribed paths: a character, a beating heart, a recorded shape.

    As a collider see `AnimatedMeshShape`; nodes of a soft body follow it by `SoftBody.drive`.

    Attributes:
        surface: The surface at the start, with its image if it has one.
        duration: Length of the animation [s], at its own speed.
        loop: Whether it begins again at its end; otherwise it stays there.
        speed: How much faster than recorded it runs.
        start: Simulated time at which it begins [s]; before, it is at its first shape.
    """

    surface: SurfaceMesh

    def __init__(
        self,
        frames: ArrayLike,
        triangles: ArrayLike,
        *,
        fps: float = 24.0,
        interpolation: Literal["linear", "cubic"] = "linear",
        loop: bool = False,
        speed: float = 1.0,
        start: float = 0.0,
    ) -> None:
        """Make an animation from the positions of the nodes in each frame.

        Args:
            frames: Positions [m], shape [frames, n, 3], two frames at least.
            triangles: Node numbers, shape [k, 3]; counter-clockwise seen from outside.
            fps: Frames per second.
            interpolation: "linear" or "cubic" between frames; velocities are the exact rates of either.
            loop: Whether the first frame follows the last one.
            speed: How much faster than recorded it runs.
            start: Simulated time at which it begins [s].
        """
        positions = array(frames, "the frames of an animation", (None, None, 3), empty=False)
        fps = number(fps, "the fps of an animation", above=0.0, unit="1/s")
        choice(interpolation, "the interpolation of an animation", ("linear", "cubic"))
        if len(positions) < 2:
            raise InputError("an animation needs two frames at least, and there is one")
        track = _FrameTrack(read_only(positions), fps, interpolation == "cubic", flag(loop, "'loop'"))
        self._begin(track, SurfaceMesh(positions[0], triangles), loop, speed, start)

    def _begin(self, track: _Track, surface: SurfaceMesh, loop: bool, speed: float, start: float) -> None:
        self._track, self.surface = track, surface
        self.duration = track.duration
        self.loop = flag(loop, "'loop' of an animation")
        self.speed = number(speed, "the speed of an animation", above=0.0)
        self.start = number(start, "the start of an animation", unit="s")
        self._matrix, self._shift = np.eye(3), np.zeros(3)
        self._memory: dict[float, tuple[_Points, _Points]] = {}

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        animation: str | int | None = None,
        fps: float = 24.0,
        interpolation: Literal["linear", "cubic"] = "linear",
        loop: bool = False,
        speed: float = 1.0,
        start: float = 0.0,
        images: bool = True,
    ) -> Self:
        """Read an animated GLB file (skins, morph targets and moving nodes), or a sequence of mesh files.

        Args:
            path: A .glb file, or the pattern of a sequence such as `walk_*.obj`, in the order of its numbers; all
                its meshes need the same triangles.
            animation: Name or number (from 0) of an animation in a GLB file; the first by default.
            fps: Frames per second of a sequence.
            interpolation: "linear" or "cubic" between the frames of a sequence; a GLB file has its own.
            loop: Whether it begins again at its end. A sequence goes on from its last frame to its first one; a GLB
                file has to end as it begins.
            speed: How much faster than recorded it runs.
            start: Simulated time at which it begins [s].
            images: Whether images of materials are read.

        Raises:
            InputError: A file is missing or damaged, has no animation, or the meshes differ.
        """
        path = file_path(path, "the path of an animation")
        if any(mark in path.name for mark in "*?["):
            if animation is not None:
                raise InputError(
                    "a sequence of files has one animation; leave out 'animation'", where=str(path)
                )
            surfaces = _sequence(path, images)
            frames = np.stack([surface.points for surface in surfaces])
            made = cls(
                frames,
                surfaces[0].triangles,
                fps=fps,
                interpolation=interpolation,
                loop=loop,
                speed=speed,
                start=start,
            )
            made.surface = surfaces[0]
            return made
        if path.suffix.lower() != ".glb":
            raise InputError(
                "an animation is a .glb file, or a sequence of files by a pattern such as walk_*.obj",
                where=str(path),
            )
        check_file(path)
        if animation is not None:
            animation = (
                text(animation, "the name of an animation")
                if isinstance(animation, str)
                else whole_number(animation, "the number of an animation", low=0)
            )
        try:
            return cls._from_glb(path, animation, images, loop, speed, start)
        except InputError as error:
            raise error if error.where else InputError(error.message, where=str(path)) from None

    @classmethod
    def _from_glb(
        cls, path: Path, animation: str | int | None, images: bool, loop: bool, speed: float, start: float
    ) -> Self:
        rig, triangles, image = read_glb(path, images=images, animation=0 if animation is None else animation)
        if not len(rig.times):
            raise InputError("its animation moves no node, skin or morph target of the scene")
        track = _RigTrack(rig, np.arange(sum(len(part.rest) for part in rig.parts)))
        if not track.duration > 0.0:
            raise InputError("its animation is a single moment; use it as a mesh")
        moments = [track.at(t)[0] for t in np.linspace(0.0, track.duration, _WELD_TIMES)]
        kept = _first_at_same_path(np.concatenate(moments, axis=1))
        triangles = kept[triangles]
        whole = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
        if not whole.any():
            raise InputError("all its triangles are collapsed")
        _, cells, nodes = compact(moments[0], triangles[whole])
        uv = None if image.uv is None else image.uv[whole]
        notes = image.notes
        if len(nodes) < len(kept):
            notes = (*notes, f"welded {pluralize(len(kept) - len(nodes), 'node')} that move together")
        surface = SurfaceMesh(moments[0][nodes], cells, notes, uv=uv, texture=image.texture)
        size = float(np.linalg.norm(surface.bounds[1] - surface.bounds[0]))
        jump = float(np.linalg.norm(moments[-1] - moments[0], axis=1).max())
        if flag(loop, "'loop' of an animation") and not jump <= _LOOP * size:
            raise InputError(
                f"it cannot loop: at its end, points are up to {jump:.3g} m from where they begin; export a cycle that "
                "ends as it begins, or set 'loop' to false"
            )
        made = cls.__new__(cls)
        made._begin(_RigTrack(rig, nodes), surface, loop, speed, start)
        return made

    def transformed(
        self,
        translate: ArrayLike = (0.0, 0.0, 0.0),
        rotate: ArrayLike | None = None,
        scale: float | ArrayLike = 1.0,
    ) -> Self:
        """Return the animation scaled, then turned about the origin, then moved; see `SurfaceMesh.transformed`."""
        corners, _ = apply_transform(np.vstack([np.zeros(3), np.eye(3)]), translate, rotate, scale)
        made = type(self).__new__(type(self))
        surface = self.surface.transformed(translate, rotate, scale)
        made._begin(self._track, surface, self.loop, self.speed, self.start)
        matrix = (corners[1:] - corners[0]).T
        made._matrix, made._shift = matrix @ self._matrix, matrix @ self._shift + corners[0]
        return made

    def positions(self, time: float) -> _Points:
        """Return the positions of the nodes [m] at a simulated time [s], read-only, shape [n, 3]."""
        return self._at(time)[0]

    def velocities(self, time: float) -> _Points:
        """Return the velocities of the nodes [m/s], the exact rates of `positions`, read-only, shape [n, 3].

        Where they jump, at a frame or a key, those after it.
        """
        return self._at(time)[1]

    def _at(self, time: float) -> tuple[_Points, _Points]:
        time = number(time, "the time of an animation")
        if time not in self._memory:
            own = self.speed * (time - self.start)
            moves = own >= 0.0 and (self.loop or own < self.duration)
            own = own % self.duration if self.loop and own >= 0.0 else min(max(own, 0.0), self.duration)
            x, v = self._track.at(own)
            v = self.speed * v if moves else np.zeros_like(v)
            while len(self._memory) >= _REMEMBERED:
                del self._memory[next(iter(self._memory))]
            self._memory[time] = (
                read_only(x @ self._matrix.T + self._shift),
                read_only(v @ self._matrix.T),
            )
        return self._memory[time]

    def __repr__(self) -> str:
        loop = ", in a loop" if self.loop else ""
        return (
            f"<MeshAnimation: {self.surface.triangle_count} triangles, {self.surface.node_count} nodes, "
            f"{self.duration:g} s{loop}>"
        )


def _sequence(pattern: Path, images: bool) -> list[SurfaceMesh]:
    """Return the surfaces of the files of a pattern, in the order of the numbers in their names."""
    try:
        paths = sorted(pattern.parent.glob(pattern.name), key=lambda path: _natural(path.name))
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"the pattern cannot be used ({error})", where=str(pattern)) from None
    if len(paths) < 2:
        raise InputError(
            f"an animation needs two files at least, and the pattern matches {len(paths)}", where=str(pattern)
        )
    surfaces: list[SurfaceMesh] = []
    for path in paths:
        mesh = files.read(path, images=images and not surfaces)
        surface = mesh.surface if isinstance(mesh, VolumeMesh) else mesh
        if surfaces and not np.array_equal(surface.triangles, surfaces[0].triangles):
            raise InputError(
                f"its triangles are not those of {paths[0].name}; all meshes of a sequence need the same",
                where=str(path),
            )
        surfaces.append(surface)
    return surfaces


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts walk_9 before walk_10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def _first_at_same_path(paths: _Points) -> NDArray[np.int64]:
    """Return for each point the first one with the same path [n, m], to rounding."""
    from scipy import sparse  # slow to import, and seldom needed
    from scipy.sparse import csgraph
    from scipy.spatial import cKDTree

    if not np.isfinite(paths).all():
        raise InputError("it moves points to places that are not finite; export it again")
    reach = _WELD * float(np.linalg.norm(np.ptp(paths, axis=0)))
    pairs = cKDTree(paths).query_pairs(reach, output_type="ndarray")
    n = len(paths)
    graph = sparse.coo_array((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), (n, n))
    count, part = csgraph.connected_components(graph, directed=False)
    first = np.full(count, n)
    np.minimum.at(first, part, np.arange(n))
    return first[part]
