"""Turns snapshots into messages for a page: meshes once, then only what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame, Frame
from continua.render.colors import PALETTE, color_map
from continua.studio.protocol import Kind, pack
from continua.studio.session import Snapshot

__all__ = ["Encoder", "field_list"]

_LABELS = {"displacement": "Displacement", "von_mises": "Von Mises stress", "velocity": "Speed"}
_ENERGIES = ("kinetic", "elastic", "gravity")


def field_list(frame: Frame) -> list[dict[str, str]]:
    """Return name, label and unit of every field that can colour the bodies, the usual ones first."""
    found: dict[str, str] = {}
    for body in frame:
        for name, unit in body.fields.units.items():
            found.setdefault(name, unit)
    names = [name for name in _LABELS if name in found] + [name for name in found if name not in _LABELS]
    return [
        {"name": name, "label": _LABELS.get(name, name.replace("_", " ").capitalize()), "unit": found[name]}
        for name in names
    ]


@dataclass(frozen=True, slots=True)
class _Surface:
    """The part of a body that can be seen: which nodes, and triangles that count among those."""

    nodes: NDArray[np.integer]
    triangles: NDArray[np.uint32]

    @classmethod
    def of(cls, body: BodyFrame) -> _Surface:
        nodes, corners = np.unique(body.triangles, return_inverse=True)
        return cls(nodes, corners.reshape(-1, 3).astype(np.uint32))


class Encoder:
    """Remembers what one page already has, and packs what it lacks.

    Attributes:
        field: The field whose values the page wants, or None; the scene's own at first.
    """

    def __init__(self) -> None:
        self.field: str | None = None
        self.epoch = 0
        self._surfaces: list[_Surface] = []
        self._sent: dict[str, NDArray[np.float32]] = {}
        self._sampled = -1

    def topology(self, snapshot: Snapshot) -> bytes:
        """Pack the meshes, colliders and fields of the snapshot's scene; from now on its frames follow."""
        frame = snapshot.frame
        self.epoch = snapshot.epoch
        self.field = snapshot.opening.color
        self._surfaces = [_Surface.of(body) for body in frame]
        self._sent.clear()
        self._sampled = -1
        arrays: dict[str, NDArray] = {"colormap": np.round(255.0 * color_map()).astype(np.uint8)}
        bodies = []
        for number, (body, surface) in enumerate(zip(frame, self._surfaces)):
            arrays[f"{number}/triangles"] = surface.triangles
            arrays[f"{number}/rest"] = body.rest_positions[surface.nodes].astype(np.float32)
            bodies.append(
                {
                    "name": body.name,
                    "kind": body.kind,
                    "color": body.color or PALETTE[number % len(PALETTE)],
                    "nodes": len(body.positions),
                    "cells": {kind: len(cells) for kind, cells in body.cells.items()},
                }
            )
        header = {
            "epoch": snapshot.epoch,
            "field": self.field,
            "camera": dict(snapshot.opening.camera),
            "bodies": bodies,
            "fields": field_list(frame),
            "colliders": [_plain(collider) for collider in frame.colliders],
        }
        return pack(Kind.TOPOLOGY, header, arrays)

    def frame(self, snapshot: Snapshot) -> bytes:
        """Pack a frame of the scene whose meshes were packed last; unchanged arrays are left out."""
        frame = snapshot.frame
        arrays: dict[str, NDArray] = {}
        for number, (body, surface) in enumerate(zip(frame, self._surfaces)):
            wanted = {f"{number}/positions": body.positions[surface.nodes].astype(np.float32)}
            if self.field is not None and self.field in body.fields:
                values = body.scalars(self.field)[surface.nodes]
                wanted[f"{number}/{self.field}"] = values.astype(np.float32)
            for name, values in wanted.items():
                before = self._sent.get(name)
                if before is None or not np.array_equal(before, values):
                    arrays[name] = self._sent[name] = values
        arrays["samples"] = self._new_samples(snapshot)
        return pack(Kind.FRAME, self._frame_header(snapshot), arrays)

    def _new_samples(self, snapshot: Snapshot) -> NDArray[np.float32]:
        """Return time, milliseconds a step and energies of the snapshots since the last frame, [k, 5]."""
        rows = [
            (time, step_ms, *(energy.get(name, 0.0) for name in _ENERGIES))
            for seq, time, step_ms, energy in snapshot.samples
            if seq > self._sampled
        ]
        self._sampled = snapshot.seq
        return np.array(rows, dtype=np.float32).reshape(-1, 2 + len(_ENERGIES))

    def choose(self, field: str | None) -> None:
        """Send another field from now on."""
        self.field = field
        self._sent = {name: values for name, values in self._sent.items() if name.endswith("/positions")}

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
            "iterations": sum(report.iterations for report in frame.reports),
            "converged": all(report.converged for report in frame.reports),
            "inverted": sum(report.inverted for report in frame.reports),
            "contacts": sum(report.contacts for report in frame.reports),
            "warnings": list(warnings)[:5],
        }


def _plain(collider: Mapping[str, object]) -> dict[str, Any]:
    """Return a collider with its arrays as lists."""
    return {
        key: np.asarray(value).tolist() if isinstance(value, (np.ndarray, np.generic, tuple, list)) else value
        for key, value in collider.items()
    }
