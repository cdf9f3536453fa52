"""The outer surface of each body as a sequence of PLY or OBJ files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.frames import BodyFrame, Frame, RunInfo, TopologyCache
from continua.output.image_files import ImageFiles
from continua.output.sequence import SequenceSink
from continua.render.composition import smooth_surface
from continua.render.fluid_surface import with_fluid_surface
from continua.render.surface import SmoothSurface

__all__ = ["ObjSink", "PlySink"]


class PlySink(SequenceSink):
    """`ply/BODY_000123.ply`: binary, connected vertices with normals and every field on points.

    A field "velocity" of vectors becomes the properties velocity_x, velocity_y and velocity_z.
    """

    suffix = ".ply"

    def write_body(self, path: Path, body: BodyFrame, frame: Frame) -> None:
        """Write one PLY file."""
        body = with_fluid_surface(body)
        nodes, triangles = np.unique(body.triangles, return_inverse=True)
        triangles = triangles.reshape(-1, 3)
        smooth = SmoothSurface(body.rest_positions[nodes], triangles, crease=180.0)
        positions = np.asarray(body.positions)[nodes]
        columns: dict[str, NDArray] = dict(zip("xyz", positions.T))
        normals = np.zeros_like(positions)
        normals[smooth.nodes] = smooth.normals(positions)
        columns |= dict(zip(("nx", "ny", "nz"), normals.T))
        for name, field in body.fields.items():
            if field.on == "points":
                values = np.asarray(field.values)[nodes]
                parts = values.T if values.ndim == 2 else values[None]
                names = [f"{name}_{axis}" for axis in "xyz"[: len(parts)]] if values.ndim == 2 else [name]
                columns |= dict(zip(names, parts))
        vertices = np.empty(len(nodes), np.dtype([(name, "<f4") for name in columns]))
        for name, column in columns.items():
            vertices[name] = column
        faces = np.empty(len(triangles), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
        faces["count"], faces["corners"] = 3, triangles
        units = [f"comment {name} [{field.unit}]" for name, field in body.fields.items() if field.unit]
        header = "\n".join(
            [
                "ply",
                "format binary_little_endian 1.0",
                f"comment time {frame.time!r} s",
                *units,
                f"element vertex {len(vertices)}",
                *(f"property float {name}" for name in columns),
                f"element face {len(faces)}",
                "property list uchar int vertex_indices",
                "end_header",
                "",
            ]
        )
        with atomic_write(path) as file:
            file.write(header.encode() + vertices.tobytes() + faces.tobytes())


class ObjSink(SequenceSink):
    """`obj/BODY_000123.obj`: text, with normals that keep the body's creases sharp.

    A body with an embedded surface is written as that surface. Texture coordinates are written too, and an image goes
    into `obj/texture-DIGEST.png` with a material file of that name.
    """

    suffix = ".obj"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(folder)
        self._surfaces: TopologyCache[SmoothSurface] = TopologyCache()
        self._images = ImageFiles(self.output, self.files)

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the files of the first `start` frames and delete those of all later ones."""
        super().open(info, start)
        if start == 0:
            self._images.remove()

    def write_body(self, path: Path, body: BodyFrame, frame: Frame) -> None:
        """Write one OBJ file."""
        body = with_fluid_surface(body.with_embedded_surface())
        smooth = self._surfaces.get(body, lambda: smooth_surface(body))
        nodes, triangles = np.unique(body.triangles, return_inverse=True)
        triangles = triangles.reshape(-1, 3)
        positions = np.asarray(body.positions)[nodes].astype(np.float32)
        normals = smooth.normals(body.positions).astype(np.float32)
        columns, face, head, coordinates = [triangles, smooth.triangles], "f %d//%d %d//%d %d//%d\n", "", ""
        if body.uv is not None:
            uv, places = np.unique(body.uv.reshape(-1, 2), axis=0, return_inverse=True)
            columns, face = (
                [triangles, places.reshape(-1, 3), smooth.triangles],
                "f %d/%d/%d %d/%d/%d %d/%d/%d\n",
            )
            coordinates = "vt %.9g %.9g\n" * len(uv) % tuple(uv.ravel().tolist())
            if body.texture is not None:
                name = self._images.write(body.texture, material=True)
                head, coordinates = f"mtllib {name}.mtl\n", f"{coordinates}usemtl {name}\n"
        corners = np.stack(columns, axis=2).reshape(len(triangles), 3 * len(columns)) + 1
        text = [
            f"# time {frame.time!r} s, metres, y up\n",
            head,
            "v %.9g %.9g %.9g\n" * len(positions) % tuple(positions.ravel().tolist()),
            "vn %.6g %.6g %.6g\n" * len(normals) % tuple(normals.ravel().tolist()),
            coordinates,
            face * len(corners) % tuple(corners.ravel().tolist()),
        ]
        with atomic_write(path, "w") as file:
            file.write("".join(text))
