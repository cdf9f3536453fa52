"""One HTML file of a run that any browser plays: the page of the studio, and the motion in a few bytes a number.

Positions are rounded to 1/65535 of the box that a body moves in, along each axis; from frame to frame only the
differences are kept, and all of it is deflated. Each topology version of a body has its mesh once. The surface of a
liquid on a grid changes every frame: its points are numbered as its triangles use them first, which leaves small
numbers. The file loads nothing from elsewhere, and says so to the browser.
"""

from __future__ import annotations

import base64
import html
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.frames import BodyFrame, Frame, check_same_connectivity
from continua.output.deferred_sink import DeferredSink
from continua.output.wire_format import (
    MessageKind,
    body_header,
    collider_header,
    collider_points,
    collider_poses,
    field_list,
    frame_textures,
    pack,
    texture_arrays,
)
from continua.render.colors import color_map

__all__ = ["HtmlSink", "folded", "squeezed", "topology_key"]

_PAGE = Path(__file__).parents[1] / "studio" / "page"
_STEPS = 65535  # from one side of the box to the other
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "worker-src blob:",
    ]
)


class HtmlSink(DeferredSink):
    """`NAME.html`, which plays the run in a browser without a server and without Continua; made when the run ends.

    It has the surfaces, the obstacles, and the field that colours the run; displacement can be shown too.
    """

    kind = "html"
    suffix = ".html"

    def finish(self) -> list[Path]:
        """Write the file."""
        frames = list(self.spool.frames())
        first = frames[0]
        arrays: dict[str, NDArray] = {
            "colormap": np.round(255.0 * color_map()).astype(np.uint8),
            "divergingColormap": np.round(255.0 * color_map(signed=True)).astype(np.uint8),
        }
        moves = []
        for number, name in enumerate(first.bodies):
            moves.append(self._body(number, [_body_of(frame, name) for frame in frames], arrays))
            self.report_done((number + 1) * len(frames) // len(first.bodies))
        color = self.color if any(self.color in body.fields for body in first) else None
        camera = self.info.view.get("camera")
        header: dict[str, Any] = {
            "name": self.info.name,
            "version": version("continua"),
            "fps": float(self.info.fps),
            "times": [frame.time for frame in frames],
            "steps": [frame.step for frame in frames],
            "poses": [collider_poses(frame) for frame in frames],
            "motions": moves,
            "colliderMotions": _collider_motions(frames, arrays),
            "epoch": 1,
            "sceneId": 1,
            "field": color,
            "camera": dict(camera) if isinstance(camera, Mapping) else {},
            "bodies": [body_header(number, body) for number, body in enumerate(first)],
            "fields": field_list(first),
            "colliders": [collider_header(n, about, arrays) for n, about in enumerate(first.colliders)],
        }
        arrays |= texture_arrays(texture for frame in frames for texture in frame_textures(frame))
        with atomic_write(self.output.record(self.path)) as file:
            file.write(_page(self.info.name, pack(MessageKind.REPLAY, header, arrays)).encode())
        return [self.path]

    def _body(self, number: int, frames: Sequence[BodyFrame], arrays: dict[str, NDArray]) -> dict[str, Any]:
        """Put a body's mesh and motion into the arrays; return what is needed to read them."""
        first = frames[0]
        if first.has_dynamic_topology and first.point_radius is None:
            return self._changing(number, frames, arrays)
        entry: dict[str, Any] = {"counts": [len(body.positions) for body in frames]}
        entry |= self._topologies(number, frames, arrays)
        entry["positions"] = _keep(arrays, f"{number}/positions", [body.positions for body in frames])
        if self.color in first.fields:
            values = [body.scalars(self.color)[:, None] for body in frames]
            entry["values"] = _keep(arrays, f"{number}/values", values)
        return entry

    def _topologies(
        self, number: int, frames: Sequence[BodyFrame], arrays: dict[str, NDArray]
    ) -> dict[str, Any]:
        """Put the mesh of each topology version into the arrays; return which of them each frame has."""
        shown = [frames[0]]
        numbers = []
        for body in frames:
            if body.topology_version != shown[-1].topology_version:
                shown.append(body)
            elif not body.has_dynamic_topology:
                check_same_connectivity(shown[-1], body)
            numbers.append(len(shown) - 1)
        for count, body in enumerate(shown):
            key = topology_key(number, count)
            arrays[f"{key}/triangles"] = body.triangles.astype(np.uint32)
            arrays[f"{key}/nodes"] = np.arange(len(body.positions), dtype=np.uint32)
            arrays[f"{key}/rest"] = body.rest_positions.astype(np.float32)
            if body.uv is not None and body.texture is not None:
                arrays[f"{key}/uv"] = np.asarray(body.uv, np.float32)
        if len(shown) == 1:
            return {}
        return {"topologies": numbers, "bodies": [body_header(number, body) for body in shown]}

    def _changing(
        self, number: int, frames: Sequence[BodyFrame], arrays: dict[str, NDArray]
    ) -> dict[str, Any]:
        """The same for a surface that changes every frame."""
        orders, faces = zip(*[folded(body.triangles, len(body.positions)) for body in frames], strict=True)
        arrays[f"{number}/triangles"] = np.zeros((0, 3), np.uint32)
        arrays[f"{number}/nodes"] = np.zeros(0, np.uint32)
        arrays[f"{number}/rest"] = np.zeros((0, 3), np.float32)
        every = np.concatenate(faces)
        arrays[f"{number}/faces"] = np.concatenate([every & 255, every >> 8 & 255, every >> 16]).astype(
            np.uint8
        )
        entry: dict[str, Any] = {
            "counts": [len(order) for order in orders],
            "faces": [len(codes) for codes in faces],
        }
        places = [body.positions[order] for body, order in zip(frames, orders, strict=True)]
        entry["positions"] = _keep(arrays, f"{number}/positions", places, in_time=False)
        if self.color in frames[0].fields:
            values = [
                body.scalars(self.color)[order, None] for body, order in zip(frames, orders, strict=True)
            ]
            entry["values"] = _keep(arrays, f"{number}/values", values, in_time=False)
        return entry


def _collider_motions(frames: Sequence[Frame], arrays: dict[str, NDArray]) -> dict[int, dict[str, Any]]:
    """Put the points of colliders that deform into the arrays; return what is needed to read them, by number."""
    moments = [collider_points(frame) for frame in frames]
    return {
        number: {
            "counts": [len(points[number]) for points in moments],
            "positions": _keep(
                arrays, f"collider/{number}/motion", [points[number].astype(np.float64) for points in moments]
            ),
        }
        for number in moments[0]
    }


def topology_key(number: int, version: int) -> str:
    """Return the start of the names of the arrays of a body's mesh; `version` counts its topologies from 0."""
    return f"{number}/topology{version}" if version else f"{number}"


def _body_of(frame: Frame, name: str) -> BodyFrame:
    if name not in frame.bodies:
        raise InputError(
            f'body "{name}" is not in frame {frame.index}, which a replay cannot show; choose "usd", "vtu" or "ply"'
        )
    return frame[name]


def folded(triangles: NDArray, points: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the points of a surface in the order in which its triangles use them, and its corners as small numbers.

    A corner that is a new point is 0, any other by how many it is before the next new one.
    """
    corners = np.asarray(triangles).ravel()
    used, places = np.unique(corners, return_index=True)
    order = used[np.argsort(places)].astype(np.int64)
    rank = np.zeros(points, np.int64)
    rank[order] = np.arange(len(order))
    numbers = rank[corners]
    following = np.maximum.accumulate(np.concatenate([[-1], numbers]))[:-1] + 1
    return order, following - numbers


def _keep(
    arrays: dict[str, NDArray], name: str, frames: Sequence[NDArray], *, in_time: bool = True
) -> dict[str, list[float]]:
    """Squeeze the arrays of all frames into one; return the corners of the box they lie in."""
    finite = [values[np.isfinite(values).all(axis=1)] for values in frames]
    every = np.concatenate(finite) if any(map(len, finite)) else np.zeros((1, frames[0].shape[1]))
    low, high = every.min(axis=0), every.max(axis=0)
    arrays[name] = squeezed(frames, low, high, in_time=in_time)
    return {"low": low.tolist(), "high": high.tolist()}


def squeezed(
    frames: Sequence[NDArray[np.float64]],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    in_time: bool = True,
) -> NDArray[np.uint8]:
    """Return arrays [n, k] of values in a box as differences, in time or from row to row, that deflate well.

    Each value becomes a whole number from 0 to 65535, each number its difference from the frame before (from 0 if
    the number of rows has changed), or from the row before, modulo 65536, each difference d an even number 2 d or, if
    it is negative, an odd one -2 d - 1. The result has the low bytes of all of them, then the high bytes.
    """
    scale = _STEPS / np.where(high > low, high - low, 1.0)
    pieces, before = [], np.zeros((0, 0), np.int64)
    for values in frames:
        whole = np.rint((np.nan_to_num(np.asarray(values, np.float64), nan=0.0) - low) * scale)
        now = np.clip(whole, 0, _STEPS).astype(np.int64)
        start = now - before if before.shape == now.shape else now
        change = start if in_time else np.diff(now, axis=0, prepend=0)
        change = (change + 32768) % 65536 - 32768
        pieces.append(np.where(change < 0, -2 * change - 1, 2 * change).ravel())
        before = now
    flat = np.concatenate(pieces).astype("<u2")
    return np.concatenate([flat & 255, flat >> 8]).astype(np.uint8)


def _page(name: str, data: bytes) -> str:
    """Return the page of the studio with everything inside it."""
    style = (_PAGE / "assets" / "index.css").read_text(encoding="utf-8")
    script = (_PAGE / "assets" / "studio.js").read_text(encoding="utf-8")
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE).replace("<!--", "<\\!--")
    text = base64.b64encode(zlib.compress(data, 9)).decode()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(name)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<div id="root"></div>\n<noscript>The replay needs JavaScript.</noscript>\n'
        f'<script id="continua-replay" type="text/plain">{text}</script>\n'
        f'<script type="module">{script}</script>\n</body>\n</html>\n'
    )
