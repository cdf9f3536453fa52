"""Encodes snapshots as messages for a page: meshes once per topology version, then only what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, EmbeddedSurface, Frame, Volume
from continua.output.wire_format import (
    MessageKind,
    body_header,
    collider_header,
    collider_points,
    collider_poses,
    field_list,
    frame_textures,
    pack,
    range_mode,
    texture_arrays,
)
from continua.render.colors import color_map
from continua.render.fluid_surface import with_fluid_surface
from continua.render.iso import iso_surface, tets_of
from continua.sph.surface_reconstruction import require_pysplashsurf
from continua.studio.encoding.clip_plane import ClipPlane
from continua.studio.encoding.volume_encoder import encode_volume
from continua.studio.session.snapshot import Snapshot
from continua.textures import Texture

__all__ = ["FrameEncoder"]

_NON_NEGATIVE = frozenset(
    {"density_error"}
)  # below the rest density a fluid is at its free surface, which is not an error
_MOST_WARNINGS = 10  # in a frame
_ENERGIES = ("kinetic", "elastic", "gravity")


@dataclass(frozen=True, slots=True)
class _VisibleSurface:
    """The visible part of a body: node numbers, and triangles of indices into them."""

    nodes: NDArray[np.integer]
    triangles: NDArray[np.uint32]

    @classmethod
    def of(
        cls, body: BodyFrame, clip: ClipPlane | None, coordinate: float, marked: NDArray[np.integer]
    ) -> _VisibleSurface:
        if body.has_dynamic_topology:  # particles, or a surface that is sent with every frame
            return cls(np.arange(len(body.positions)), np.zeros((0, 3), np.uint32))
        triangles = body.triangles if clip is None else clip.triangles(body, coordinate)
        embedding = [] if body.skin is None else [np.unique(body.skin.nodes)]
        nodes = np.unique(np.concatenate([triangles.ravel(), marked, *embedding])).astype(np.int64)
        return cls(nodes, np.searchsorted(nodes, triangles).reshape(-1, 3).astype(np.uint32))


class FrameEncoder:
    """Tracks what one page already has, and encodes what it lacks.

    Args:
        client: The page's number in the session.

    Attributes:
        field: The field whose values the page needs, or None; initially that of the scene.
        fluid_style: How the page draws fluids: "points" or "surface".
        interior: What the page draws inside bodies: "none", "surfaces" (isosurfaces) or "volume".
        levels: The isovalues.
        forces: Whether the page draws contact forces.
        joints: Whether it draws joint lines.
    """

    def __init__(self, client: int = 0) -> None:
        self._client = client
        self.field: str | None = None
        self.fluid_style = "points"
        self.interior = "none"
        self.levels: tuple[float, ...] = ()
        self.forces, self.joints = False, True
        self.epoch = 0
        self._clip: ClipPlane | None = None
        self._clip_coordinate = 0.0
        self._scene_id = self._field_epoch = -1
        self._surfaces: dict[int, _VisibleSurface] = {}
        self._versions: dict[int, int] = {}
        self._sent: dict[str, NDArray] = {}
        self._images: set[str] = set()
        self._last_sample = -1
        self._marker_keys: set[str] = set()

    def is_current(self, snapshot: Snapshot) -> bool:
        """Return whether the page has the meshes and markers of a snapshot."""
        return self.epoch == snapshot.epoch and self._marker_keys == snapshot.markers.keys()

    def encode_topology(self, snapshot: Snapshot) -> bytes:
        """Encode the meshes, colliders and fields of a snapshot; its frames can follow."""
        frame = snapshot.frame
        self.epoch = snapshot.epoch
        new_world = self._field_epoch != snapshot.epoch
        if new_world:  # another clip plane keeps the selected field
            self.field, self._field_epoch = snapshot.color, snapshot.epoch
        if self._scene_id != snapshot.scene_id:
            self._clip, self._scene_id = None, snapshot.scene_id
        self._clip_coordinate = 0.0 if self._clip is None else self._clip.coordinate(frame)
        self._sent.clear()
        if new_world:  # the page keeps its plots while the world stays
            self._last_sample = -1
        self._marker_keys = set(snapshot.markers)
        arrays: dict[str, NDArray] = {
            "colormap": np.round(255.0 * color_map()).astype(np.uint8),
            "divergingColormap": np.round(255.0 * color_map(signed=True)).astype(np.uint8),
        }
        bodies = [self._add_mesh(number, body, snapshot, arrays) for number, body in enumerate(frame)]
        self._add_textures(frame_textures(frame), arrays)
        header = {
            "epoch": snapshot.epoch,
            "sceneId": snapshot.scene_id,
            "field": self.field,
            "camera": dict(snapshot.scene.camera),
            "bodies": bodies,
            "fields": field_list(frame),
            "colliders": [collider_header(n, about, arrays) for n, about in enumerate(frame.colliders)],
            "poses": collider_poses(frame),
        }
        return pack(MessageKind.TOPOLOGY, header, arrays)

    def encode_frame(self, snapshot: Snapshot) -> bytes:
        """Encode a frame; unchanged arrays are omitted. Bodies with another topology version have their new mesh."""
        frame = snapshot.frame
        arrays: dict[str, NDArray] = {}
        changed: dict[int, dict[str, Any]] = {}
        for number, body in enumerate(frame):
            if body.topology_version != self._versions[number]:
                self._forget(number, snapshot)
                changed[number] = self._add_mesh(number, body, snapshot, arrays)
            surface = self._surfaces[number]
            if not body.has_dynamic_topology:
                wanted: dict[str, NDArray] = {
                    f"{number}/positions": body.positions[surface.nodes].astype(np.float32)
                }
                values = self._values(body)
                if values is not None:
                    wanted[f"{number}/{self.field}"] = values[surface.nodes].astype(np.float32)
                    if self.interior == "surfaces":
                        arrays |= self._isosurfaces(number, body, values)
            else:
                wanted = self._fluid(number, body)
            if body.volume is not None and body.volume.shape[2] > 1:
                wanted[f"{number}/volume"] = _quantized_volume(body.volume, self.field)
            self._add(wanted, arrays)
        self._add({f"collider/{n}/points": points for n, points in collider_points(frame).items()}, arrays)
        boundary = snapshot.boundary_forces
        if snapshot.streamlines is not None:
            arrays["streamlines"] = snapshot.streamlines
        self._add({f"{key}/arrows": values for key, values in boundary.arrows.items()}, arrays)
        self._add({f"{key}/spring": values for key, values in boundary.springs.items()}, arrays)
        self._add(self._overlays(frame), arrays)
        arrays["samples"] = self._new_samples(snapshot)
        return pack(MessageKind.FRAME, {**self._frame_header(snapshot), "bodies": changed}, arrays)

    def _add_mesh(
        self, number: int, body: BodyFrame, snapshot: Snapshot, arrays: dict[str, NDArray]
    ) -> dict[str, Any]:
        """Add the mesh of a body and the nodes of its markers to the arrays, and return its header."""
        marked = [nodes for owner, nodes in snapshot.markers.values() if owner == number]
        if self.interior == "volume" and len(tets_of(body)):
            marked.append(np.arange(len(body.positions), dtype=np.int32))
        surface = _VisibleSurface.of(
            body, self._clip, self._clip_coordinate, np.concatenate([np.zeros(0, np.int64), *marked])
        )
        self._surfaces[number], self._versions[number] = surface, body.topology_version
        arrays[f"{number}/triangles"] = surface.triangles
        arrays[f"{number}/nodes"] = surface.nodes.astype(np.uint32)
        arrays[f"{number}/rest"] = body.rest_positions[surface.nodes].astype(np.float32)
        if body.skin is not None and self._clip is None:
            arrays |= _embedded_surface(number, body.skin, surface)
        if body.texture is not None and body.uv is not None and len(body.uv) == len(surface.triangles):
            arrays[f"{number}/uv"] = np.asarray(body.uv, np.float32)
        self._add_textures([body.texture if body.skin is None else body.skin.texture], arrays)
        image = None
        if self.interior == "volume":
            found, image = encode_volume(number, body, surface.nodes, self._clip, self._clip_coordinate)
            arrays |= found
        for key, (owner, nodes) in snapshot.markers.items():
            if owner == number:
                arrays[f"{key}/markers"] = np.searchsorted(surface.nodes, nodes).astype(np.uint32)
        return {**body_header(number, body), "image": image}

    def _add_textures(self, textures: Iterable[Texture | None], arrays: dict[str, NDArray]) -> None:
        """Add the images that the page does not have yet."""
        missing = [
            texture for texture in textures if texture is not None and texture.digest not in self._images
        ]
        arrays |= texture_arrays(missing)
        self._images |= {texture.digest for texture in missing}

    def _forget(self, number: int, snapshot: Snapshot) -> None:
        """Forget what was sent of a body, which has another mesh now."""
        keys = [key for key, (owner, _) in snapshot.markers.items() if owner == number]
        starts = (f"{number}/", *(f"{key}/" for key in keys))
        self._sent = {name: values for name, values in self._sent.items() if not name.startswith(starts)}

    def _isosurfaces(self, number: int, body: BodyFrame, values: NDArray) -> dict[str, NDArray]:
        """Return the isosurfaces of a body as one mesh, with the value at each point."""
        tets = tets_of(body)
        points, triangles, levels, first = [np.zeros((0, 3))], [np.zeros((0, 3), np.int32)], [np.zeros(0)], 0
        for level in self.levels if len(tets) else ():
            vertices, found = iso_surface(body.positions, tets, values, level)
            points.append(vertices)
            triangles.append(found + first)
            levels.append(np.full(len(vertices), level))
            first += len(vertices)
        return {
            f"{number}/iso/points": np.concatenate(points).astype(np.float32),
            f"{number}/iso/triangles": np.concatenate(triangles).astype(np.uint32),
            f"{number}/iso/values": np.concatenate(levels).astype(np.float32),
        }

    def _overlays(self, frame: Frame) -> dict[str, NDArray]:
        """Return points and forces of contacts [c, 6], and end points of joint lines [k, 6]; empty if not drawn."""
        contacts = [body.contacts for body in frame if self.forces and body.contacts is not None]
        forces = [np.hstack([found.points, found.forces]) for found in contacts]
        joints = frame.joints.reshape(-1, 6) if self.joints else np.zeros((0, 6))
        found = {
            "contact_forces": np.concatenate([np.zeros((0, 6)), *forces]).astype(np.float32),
            "joint_lines": joints.astype(np.float32),
        }
        return {name: values for name, values in found.items() if len(values) or name in self._sent}

    def _values(self, body: BodyFrame) -> NDArray | None:
        """Return the values of the selected field at a body's points, or None if it does not have the field."""
        if self.field is None or self.field not in body.fields:
            return None
        values = body.scalars(self.field)
        if range_mode(self.field) == "flag":  # a flagged cell flags all its nodes
            values = np.sign(values)
        return np.maximum(values, 0.0) if self.field in _NON_NEGATIVE else values

    def _fluid(self, number: int, body: BodyFrame) -> dict[str, NDArray]:
        """Return the particles of a fluid, whose number changes, or its surface."""
        shown = with_fluid_surface(body) if self.fluid_style == "surface" else body
        wanted: dict[str, NDArray] = {
            f"{number}/positions": shown.positions.astype(np.float32),
            f"{number}/triangles": shown.triangles.astype(np.uint32),
        }
        values = self._values(shown)
        if values is not None:
            wanted[f"{number}/{self.field}"] = values.astype(np.float32)
        return wanted

    def _add(self, wanted: Mapping[str, NDArray], arrays: dict[str, NDArray]) -> None:
        """Add the arrays that the page does not have yet."""
        for name, values in wanted.items():
            before = self._sent.get(name)
            if before is None or not np.array_equal(before, values):
                arrays[name] = self._sent[name] = values

    def _new_samples(self, snapshot: Snapshot) -> NDArray[np.float32]:
        """Return time, milliseconds per step and energies of the snapshots since the last frame, [k, 5]."""
        rows = [
            (time, step_ms, *(energy.get(name, 0.0) for name in _ENERGIES))
            for seq, time, step_ms, energy in snapshot.samples
            if seq > self._last_sample
        ]
        self._last_sample = snapshot.seq
        return np.array(rows, dtype=np.float32).reshape(-1, 2 + len(_ENERGIES))

    def set_clip_plane(self, axis: int | None, position: float, flip: bool) -> None:
        """Show only one side of a plane from now on; the topology has to be encoded again."""
        self._clip = None if axis is None else ClipPlane(axis, position, flip)
        self.epoch = 0

    def set_interior(self, mode: str, levels: tuple[float, ...]) -> None:
        """Send isosurfaces of the selected field, or the elements for a volume rendering, from now on."""
        if "volume" in (mode, self.interior) and mode != self.interior:
            self.epoch = 0  # elements need interior nodes, which have to be sent
        self.interior, self.levels = mode, levels

    def set_field(self, field: str | None) -> None:
        """Send another field from now on."""
        self.field = field
        kept = ("/positions", "/triangles", "/arrows", "/spring", "contact_forces", "joint_lines")
        self._sent = {name: values for name, values in self._sent.items() if name.endswith(kept)}

    def set_fluid_style(self, style: str) -> None:
        """Send fluids as "points" or as a "surface" from now on.

        Raises:
            MissingExtraError: Surfaces need pysplashsurf, which is not installed.
        """
        if style == "surface":
            require_pysplashsurf()
        self.fluid_style = style

    def set_overlays(self, forces: bool, joints: bool) -> None:
        """Select whether contact forces and joint lines are sent."""
        self.forces, self.joints = forces, joints

    def _frame_header(self, snapshot: Snapshot) -> dict[str, Any]:
        frame, stats = snapshot.frame, snapshot.stats
        latest = sorted(snapshot.warnings, key=lambda warning: -warning.step)[:_MOST_WARNINGS]
        return {
            "seq": snapshot.seq,
            "epoch": snapshot.epoch,
            "time": frame.time,
            "step": frame.step,
            "field": self.field,
            "stepMs": stats.step_ms,
            "stepsPerSecond": stats.steps_per_second,
            "rate": stats.rate,
            "stageMs": dict(stats.stage_ms),
            "iterations": sum(report.iterations for report in frame.reports),
            "converged": all(report.converged for report in frame.reports),
            "inverted": sum(report.inverted for report in frame.reports),
            "contacts": sum(report.contacts for report in frame.reports),
            "warnings": [asdict(warning) for warning in latest],
            "fluidStyle": self.fluid_style,
            "overlays": {"forces": self.forces, "joints": self.joints},
            "reports": {
                report.body: {
                    "substeps": report.substeps,
                    "newton": report.newton_iterations,
                    "iterations": report.iterations,
                    "inverted": report.inverted,
                    "contacts": report.contacts,
                }
                for report in frame.reports
            },
            "solvers": dict(snapshot.solvers),
            "forces": snapshot.boundary_forces.forces,
            "magnitudes": snapshot.boundary_forces.magnitudes,
            "pullForces": {
                number: force
                for (client, number), force in snapshot.pull_forces.items()
                if client == self._client
            },
            "probe": snapshot.probe,
            "pinned": snapshot.pinned,
            "planeFlow": snapshot.plane_flow,
            "volumes": _volumes(frame, self.field),
            "poses": collider_poses(frame),
        }


def _embedded_surface(number: int, skin: EmbeddedSurface, surface: _VisibleSurface) -> dict[str, NDArray]:
    """Return an embedded surface and its interpolation weights; the page deforms it, which keeps frames small."""
    coordinates = {}
    if skin.texture is not None and skin.uv is not None:
        coordinates[f"{number}/embedded/uv"] = np.asarray(skin.uv, np.float32)
    return coordinates | {
        f"{number}/embedded/rest": skin.rest.astype(np.float32),
        f"{number}/embedded/triangles": skin.triangles.astype(np.uint32),
        f"{number}/embedded/nodes": np.searchsorted(surface.nodes, skin.nodes).astype(np.uint32),
        f"{number}/embedded/weights": skin.weights.astype(np.float32),
    }


def _volumes(frame: Frame, field: str | None) -> dict[int, dict[str, Any]]:
    """Return origin [m], spacing [m] and cells of 3D grid fluids, by body number."""
    found = {}
    for number, body in enumerate(frame):
        if body.volume is not None and body.volume.shape[2] > 1:
            volume = body.volume
            found[number] = {
                "origin": volume.origin,
                "spacing": volume.spacing,
                "cells": volume.shape,
                "maxValue": _cell_magnitudes(volume, field)[1],
            }
    return found


def _cell_magnitudes(volume: Volume, field: str | None) -> tuple[NDArray, float]:
    """Return magnitudes of a quantity in cells, and the value of byte 255: 1 for smoke, else the maximum."""
    fallback = "smoke" if "smoke" in volume.fields else "velocity"
    name = fallback if field is None or field not in volume.fields else field
    values = np.asarray(volume.fields[name].values)
    values = np.linalg.norm(values, axis=-1) if values.ndim == 4 else np.abs(values)
    return values, 1.0 if name == "smoke" else max(float(values.max()), 1e-12)


def _quantized_volume(volume: Volume, field: str | None) -> NDArray[np.uint8]:
    """Return a quantity in cells as bytes, x fastest."""
    values, maximum = _cell_magnitudes(volume, field)
    return np.clip(255.0 / maximum * values, 0.0, 255.0).astype(np.uint8).transpose(2, 1, 0).ravel()
