"""Turns snapshots into messages for a page: meshes once, then only what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame, Skin, Volume
from continua.output.wire_format import (
    Kind,
    body_facts,
    changes_shape,
    collider_facts,
    field_list,
    pack,
    poses_of,
    starts_at,
)
from continua.render.colors import color_map
from continua.render.fluid_surface import with_fluid_surface
from continua.render.iso import iso_surface, tets_of
from continua.sph.surface import check_surfaces
from continua.studio.encoding.clip_plane import Cut
from continua.studio.encoding.volume_encoder import matter_of
from continua.studio.session.snapshot import Snapshot

__all__ = ["Encoder"]

_ABOVE_ZERO = frozenset({"density_error"})  # below rest a fluid is at its surface, which is no error
_ENERGIES = ("kinetic", "elastic", "gravity")


@dataclass(frozen=True, slots=True)
class _Surface:
    """The part of a body that can be seen: which nodes, and triangles that count among those."""

    nodes: NDArray[np.integer]
    triangles: NDArray[np.uint32]

    @classmethod
    def of(cls, body: BodyFrame, cut: Cut | None, height: float, marked: NDArray[np.integer]) -> _Surface:
        if changes_shape(body):  # a fluid: all particles, or a surface that comes with every frame
            return cls(np.arange(len(body.positions)), np.zeros((0, 3), np.uint32))
        triangles = body.triangles if cut is None else cut.triangles(body, height)
        carrying = [] if body.skin is None else [np.unique(body.skin.nodes)]
        nodes = np.unique(np.concatenate([triangles.ravel(), marked, *carrying])).astype(np.int64)
        return cls(nodes, np.searchsorted(nodes, triangles).reshape(-1, 3).astype(np.uint32))


class Encoder:
    """Remembers what one page already has, and packs what it lacks.

    Args:
        client: The page's number in the session.

    Attributes:
        field: The field whose values the page wants, or None; the scene's own at first.
        fluid: How the page draws fluids: "points" or "surface".
        inside: What the page draws inside of bodies: "none", "surfaces" of equal value or the "volume".
        levels: The values of those surfaces.
        forces: Whether the page draws contact forces.
        joints: Whether it draws the lines of joints.
    """

    def __init__(self, client: int = 0) -> None:
        self._client = client
        self.field: str | None = None
        self.fluid = "points"
        self.inside = "none"
        self.levels: tuple[float, ...] = ()
        self.forces, self.joints = False, True
        self.epoch = 0
        self._cut: Cut | None = None
        self._view = self._colored = -1
        self._surfaces: list[_Surface] = []
        self._sent: dict[str, NDArray] = {}
        self._sampled = -1
        self._marked: set[str] = set()

    def fits(self, snapshot: Snapshot) -> bool:
        """Tell whether the page has the meshes and marks that a snapshot needs."""
        return self.epoch == snapshot.epoch and self._marked == snapshot.marks.keys()

    def topology(self, snapshot: Snapshot) -> bytes:
        """Pack the meshes, colliders and fields of the snapshot's scene; from now on its frames follow."""
        frame = snapshot.frame
        self.epoch = snapshot.epoch
        another = self._colored != snapshot.epoch
        if another:  # another cut of the same world keeps the field that was chosen
            self.field, self._colored = snapshot.opening.color, snapshot.epoch
        if self._view != snapshot.view:
            self._cut, self._view = None, snapshot.view
        height = 0.0 if self._cut is None else self._cut.height(frame)
        self._surfaces = []
        for number, body in enumerate(frame):
            marked = [nodes for owner, nodes in snapshot.marks.values() if owner == number]
            if self.inside == "volume" and body.kind == "soft":
                marked.append(np.arange(len(body.positions), dtype=np.int32))
            self._surfaces.append(
                _Surface.of(body, self._cut, height, np.concatenate([np.zeros(0, np.int64), *marked]))
            )
        self._sent.clear()
        if another:  # the page keeps its plots while the world stays
            self._sampled = -1
        self._marked = set(snapshot.marks)
        arrays: dict[str, NDArray] = {
            "colormap": np.round(255.0 * color_map()).astype(np.uint8),
            "signed": np.round(255.0 * color_map(signed=True)).astype(np.uint8),
        }
        bodies = []
        for number, (body, surface) in enumerate(zip(frame, self._surfaces)):
            arrays[f"{number}/triangles"] = surface.triangles
            arrays[f"{number}/nodes"] = surface.nodes.astype(np.uint32)
            arrays[f"{number}/rest"] = body.rest_positions[surface.nodes].astype(np.float32)
            if body.skin is not None and self._cut is None:
                arrays |= _skin(number, body.skin, surface)
            image = None
            if self.inside == "volume":
                found, image = matter_of(number, body, surface.nodes, self._cut, height)
                arrays |= found
            bodies.append({**body_facts(number, body), "image": image})
        for key, (owner, nodes) in snapshot.marks.items():
            arrays[f"{key}/marks"] = np.searchsorted(self._surfaces[owner].nodes, nodes).astype(np.uint32)
        header = {
            "epoch": snapshot.epoch,
            "view": snapshot.view,
            "field": self.field,
            "camera": dict(snapshot.opening.camera),
            "bodies": bodies,
            "fields": field_list(frame),
            "colliders": [collider_facts(n, about, arrays) for n, about in enumerate(frame.colliders)],
            "poses": poses_of(frame),
        }
        return pack(Kind.TOPOLOGY, header, arrays)

    def frame(self, snapshot: Snapshot) -> bytes:
        """Pack a frame of the scene whose meshes were packed last; unchanged arrays are left out."""
        frame = snapshot.frame
        arrays: dict[str, NDArray] = {}
        for number, (body, surface) in enumerate(zip(frame, self._surfaces)):
            if not changes_shape(body):
                wanted: dict[str, NDArray] = {
                    f"{number}/positions": body.positions[surface.nodes].astype(np.float32)
                }
                values = self._values(body)
                if values is not None:
                    wanted[f"{number}/{self.field}"] = values[surface.nodes].astype(np.float32)
                    if self.inside == "surfaces":
                        arrays |= self._levels(number, body, values)
            else:
                wanted = self._fluid(number, body)
            if body.volume is not None and body.volume.shape[2] > 1:
                wanted[f"{number}/volume"] = _packed_volume(body.volume, self.field)
            self._add(wanted, arrays)
        live = snapshot.live
        if snapshot.lines is not None:
            arrays["streamlines"] = snapshot.lines
        self._add({f"{key}/arrows": values for key, values in live.arrows.items()}, arrays)
        self._add({f"{key}/spring": values for key, values in live.springs.items()}, arrays)
        self._add(self._extras(frame), arrays)
        arrays["samples"] = self._new_samples(snapshot)
        return pack(Kind.FRAME, self._frame_header(snapshot), arrays)

    def _levels(self, number: int, body: BodyFrame, values: NDArray) -> dict[str, NDArray]:
        """Return the surfaces of equal value in a body, all in one, with the value at each point."""
        tets = tets_of(body)
        points, triangles, levels, first = [np.zeros((0, 3))], [np.zeros((0, 3), np.int32)], [np.zeros(0)], 0
        for level in self.levels if len(tets) else ():
            places, found = iso_surface(body.positions, tets, values, level)
            points.append(places)
            triangles.append(found + first)
            levels.append(np.full(len(places), level))
            first += len(places)
        return {
            f"{number}/iso/points": np.concatenate(points).astype(np.float32),
            f"{number}/iso/triangles": np.concatenate(triangles).astype(np.uint32),
            f"{number}/iso/values": np.concatenate(levels).astype(np.float32),
        }

    def _extras(self, frame: Frame) -> dict[str, NDArray]:
        """Return points and forces of contacts [c, 6], and ends of the lines of joints [k, 6]; none if not drawn."""
        pressed = [body.contacts for body in frame if self.forces and body.contacts is not None]
        forces = [np.hstack([contacts.points, contacts.forces]) for contacts in pressed]
        joints = frame.joints.reshape(-1, 6) if self.joints else np.zeros((0, 6))
        found = {
            "contact_forces": np.concatenate([np.zeros((0, 6)), *forces]).astype(np.float32),
            "joint_lines": joints.astype(np.float32),
        }
        return {name: values for name, values in found.items() if len(values) or name in self._sent}

    def _values(self, body: BodyFrame) -> NDArray | None:
        """Return the values of the chosen field at a body's points, or None if it has none."""
        if self.field is None or self.field not in body.fields:
            return None
        values = body.scalars(self.field)
        if starts_at(self.field) == "flag":  # one marked cell marks all its nodes
            values = np.sign(values)
        return np.maximum(values, 0.0) if self.field in _ABOVE_ZERO else values

    def _fluid(self, number: int, body: BodyFrame) -> dict[str, NDArray]:
        """Return the particles of a fluid, which come and go, or the surface around them."""
        shown = with_fluid_surface(body) if self.fluid == "surface" else body
        wanted: dict[str, NDArray] = {
            f"{number}/positions": shown.positions.astype(np.float32),
            f"{number}/triangles": shown.triangles.astype(np.uint32),
        }
        values = self._values(shown)
        if values is not None:
            wanted[f"{number}/{self.field}"] = values.astype(np.float32)
        return wanted

    def _add(self, wanted: Mapping[str, NDArray], arrays: dict[str, NDArray]) -> None:
        """Add those arrays that the page does not have yet."""
        for name, values in wanted.items():
            before = self._sent.get(name)
            if before is None or not np.array_equal(before, values):
                arrays[name] = self._sent[name] = values

    def _new_samples(self, snapshot: Snapshot) -> NDArray[np.float32]:
        """Return time, milliseconds a step and energies of the snapshots since the last frame, [k, 5]."""
        rows = [
            (time, step_ms, *(energy.get(name, 0.0) for name in _ENERGIES))
            for seq, time, step_ms, energy in snapshot.samples
            if seq > self._sampled
        ]
        self._sampled = snapshot.seq
        return np.array(rows, dtype=np.float32).reshape(-1, 2 + len(_ENERGIES))

    def slice(self, axis: int | None, place: float, flip: bool) -> None:
        """Show what is on one side of a plane from now on; the meshes have to be packed anew."""
        self._cut = None if axis is None else Cut(axis, place, flip)
        self.epoch = 0

    def look_inside(self, look: str, levels: tuple[float, ...]) -> None:
        """Send surfaces where the chosen field has these values, or what lies inside, from now on."""
        if "volume" in (look, self.inside) and look != self.inside:
            self.epoch = 0  # elements hang on nodes inside, which have to be sent
        self.inside, self.levels = look, levels

    def choose(self, field: str | None) -> None:
        """Send another field from now on."""
        self.field = field
        kept = ("/positions", "/triangles", "/arrows", "/spring", "contact_forces", "joint_lines")
        self._sent = {name: values for name, values in self._sent.items() if name.endswith(kept)}

    def draw_fluids(self, look: str) -> None:
        """Send fluids as "points" or as a "surface" from now on.

        Raises:
            MissingExtraError: Surfaces need pysplashsurf, which is not installed.
        """
        if look == "surface":
            check_surfaces()
        self.fluid = look

    def draw_extras(self, forces: bool, joints: bool) -> None:
        """Send contact forces and lines of joints from now on, or no longer."""
        self.forces, self.joints = forces, joints

    def _frame_header(self, snapshot: Snapshot) -> dict[str, Any]:
        frame, stats = snapshot.frame, snapshot.stats
        warnings = dict.fromkeys(
            f"{report.body}: {warning}" for report in frame.reports for warning in report.warnings
        )
        return {
            "seq": snapshot.seq,
            "epoch": snapshot.epoch,
            "time": frame.time,
            "step": frame.step,
            "field": self.field,
            "stepMs": stats.step_ms,
            "stepsPerSecond": stats.steps_per_second,
            "rate": stats.rate,
            "shares": dict(stats.shares),
            "iterations": sum(report.iterations for report in frame.reports),
            "converged": all(report.converged for report in frame.reports),
            "inverted": sum(report.inverted for report in frame.reports),
            "contacts": sum(report.contacts for report in frame.reports),
            "warnings": [*warnings][:5],
            "fluid": self.fluid,
            "extras": {"forces": self.forces, "joints": self.joints},
            "reports": {
                report.body: {
                    "parts": report.substeps,
                    "newton": report.newton,
                    "iterations": report.iterations,
                    "inverted": report.inverted,
                    "contacts": report.contacts,
                }
                for report in frame.reports
            },
            "solvers": dict(snapshot.solvers),
            "forces": snapshot.live.forces,
            "sizes": snapshot.live.sizes,
            "hands": {
                number: force for (client, number), force in snapshot.hands.items() if client == self._client
            },
            "probe": snapshot.probe,
            "held": snapshot.held,
            "tunnel": snapshot.tunnel,
            "volumes": _volumes(frame, self.field),
            "poses": poses_of(frame),
        }


def _skin(number: int, skin: Skin, surface: _Surface) -> dict[str, NDArray]:
    """Return a detailed surface and what carries it; the page moves it, so that frames stay small."""
    return {
        f"{number}/skin/rest": skin.rest.astype(np.float32),
        f"{number}/skin/triangles": skin.triangles.astype(np.uint32),
        f"{number}/skin/nodes": np.searchsorted(surface.nodes, skin.nodes).astype(np.uint32),
        f"{number}/skin/weights": skin.weights.astype(np.float32),
    }


def _volumes(frame: Frame, field: str | None) -> dict[int, dict[str, Any]]:
    """Return corner [m], spacing [m] and cells of the fluids on grids in space, by the numbers of their bodies."""
    found = {}
    for number, body in enumerate(frame):
        if body.volume is not None and body.volume.shape[2] > 1:
            volume = body.volume
            found[number] = {
                "origin": volume.origin,
                "spacing": volume.spacing,
                "cells": volume.shape,
                "top": _in_cells(volume, field)[1],
            }
    return found


def _in_cells(volume: Volume, field: str | None) -> tuple[NDArray, float]:
    """Return sizes of a quantity in cells and the one that is the largest byte: of smoke 1, of others the largest."""
    fallback = "smoke" if "smoke" in volume.fields else "velocity"
    name = fallback if field is None or field not in volume.fields else field
    values = np.asarray(volume.fields[name].values)
    values = np.linalg.norm(values, axis=-1) if values.ndim == 4 else np.abs(values)
    return values, 1.0 if name == "smoke" else max(float(values.max()), 1e-12)


def _packed_volume(volume: Volume, field: str | None) -> NDArray[np.uint8]:
    """Return a quantity in cells as bytes, x fastest."""
    values, top = _in_cells(volume, field)
    return np.clip(255.0 / top * values, 0.0, 255.0).astype(np.uint8).transpose(2, 1, 0).ravel()
