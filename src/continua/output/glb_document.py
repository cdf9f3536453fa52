"""The container of a binary glTF file: arrays with their accessors, and a piece of JSON.

Written with `struct` and `json`: the format is a header, a piece of JSON and a piece of bytes, and none of
the libraries that the base install brings writes morph targets.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BYTE", "FLOAT", "UNSIGNED_BYTE", "UNSIGNED_INT", "Document", "glb_bytes"]

FLOAT, UNSIGNED_INT, BYTE, UNSIGNED_BYTE = 5126, 5125, 5120, 5121


class Document:
    """Collects the bytes and the accessors of a glTF file."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.views: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []

    def add(
        self, array: NDArray, component: int, kind: str, *, target: int | None = None, bounds: bool = False
    ) -> int:
        """Add an array and return the number of its accessor."""
        data = np.ascontiguousarray(array).tobytes()
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.size, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        accessor: dict[str, Any] = {
            "bufferView": len(self.views),
            "componentType": component,
            "count": len(array),
            "type": kind,
        }
        if component in (BYTE, UNSIGNED_BYTE):
            accessor["normalized"] = True
        if bounds:
            flat = array.reshape(len(array), -1)
            accessor["min"], accessor["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        self.views.append(view)
        self.accessors.append(accessor)
        self.chunks += [data, bytes(-len(data) % 4)]
        self.size += len(data) + -len(data) % 4
        return len(self.accessors) - 1

    def file(self, data: bytes) -> int:
        """Add the bytes of a file, such as an image, and return the number of their view."""
        self.views.append({"buffer": 0, "byteOffset": self.size, "byteLength": len(data)})
        self.chunks += [data, bytes(-len(data) % 4)]
        self.size += len(data) + -len(data) % 4
        return len(self.views) - 1

    def vertices(self, array: NDArray, *, bounds: bool = False) -> int:
        """Add vectors of vertices [n, 3] and return the number of their accessor."""
        return self.add(array.astype("<f4"), FLOAT, "VEC3", target=34962, bounds=bounds)


def glb_bytes(document: dict[str, Any], chunks: list[bytes]) -> bytes:
    """Return the container: header, JSON padded with spaces, binary buffer."""
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(chunks)
    total = 12 + 8 + len(text) + 8 + len(body)
    return b"".join(
        [
            struct.pack("<4sII", b"glTF", 2, total),
            struct.pack("<I4s", len(text), b"JSON"),
            text,
            struct.pack("<I4s", len(body), b"BIN\0"),
            body,
        ]
    )
