"""VTK XML files of the volume mesh with all fields, and a PVD file that lists them by time.

Written here and not through meshio because meshio has no place for the time and the energies, and because
raw appended blocks are a quarter smaller than base64.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.frames import BodyFrame, Frame, RunInfo, TopologyCache
from continua.output.files import file_names
from continua.output.sequence import SequenceSink

__all__ = ["Appended", "VtuSink"]

_VTK_KIND = {
    "vertex": 1,
    "line": 3,
    "triangle": 5,
    "quad": 9,
    "tetra": 10,
    "hexahedron": 12,
    "triangle6": 22,
    "tetra10": 24,
    "quad9": 28,
    "hexahedron27": 29,
    "tetra20": 71,
}
_VTK_TYPE = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}
_BLOCK = 1 << 20  # bytes that are compressed at a time


def _compressed(data: bytes) -> bytes:
    """Return `data` as VTK stores compressed arrays: block counts and sizes, then the blocks."""
    blocks = [zlib.compress(data[i : i + _BLOCK], 2) for i in range(0, len(data), _BLOCK)]
    sizes = [len(blocks), _BLOCK, len(data) % _BLOCK, *map(len, blocks)]
    return b"".join([np.array(sizes, "<u8").tobytes(), *blocks])


class Appended:
    """Collects arrays for the appended section and gives the XML element that points at each."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0

    def array(self, name: str, values: NDArray, *, tuples: bool = False, data: bytes | None = None) -> str:
        """Add an array, or its bytes if they are compressed already."""
        values = np.ascontiguousarray(values)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        data = _compressed(values.tobytes()) if data is None else data
        kind = _VTK_TYPE[values.dtype.str[1:]]
        shape = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
        shape += f' NumberOfTuples="{len(values)}"' if tuples else ""
        place = f'format="appended" offset="{self.size}"'
        self.chunks.append(data)
        self.size += len(data)
        return f'<DataArray type="{kind}" Name={quoteattr(name)}{shape} {place}/>\n'


class _Cells:
    """Connectivity, offsets and VTK kinds of a body's cells, compressed once per topology version.

    A body without volume cells shows its surface.
    """

    def __init__(self, body: BodyFrame) -> None:
        blocks = dict(body.cells) or {"triangle": body.triangles}
        lengths = [np.full(len(block), block.shape[1], np.int32) for block in blocks.values()]
        kinds = [np.full(len(block), _VTK_KIND[kind], np.uint8) for kind, block in blocks.items()]
        self.arrays = {
            "connectivity": np.concatenate(
                [np.asarray(block, np.int32).ravel() for block in blocks.values()]
            ),
            "offsets": np.cumsum(np.concatenate(lengths), dtype=np.int32),
            "types": np.concatenate(kinds),
        }
        self.data = {name: _compressed(array.tobytes()) for name, array in self.arrays.items()}


def _single(values: NDArray) -> NDArray:
    return values.astype(np.float32) if values.dtype == np.float64 else values


def _vtu_bytes(body: BodyFrame, time: float, cells: _Cells) -> bytes:
    """Return the whole VTU file of a body at `time` [s]: positions in double, fields in single precision."""
    data = Appended()
    field_data = data.array("TimeValue", np.array([time]), tuples=True)
    for name, joule in body.energy.items():
        field_data += data.array(f"energy_{name}", np.array([float(joule)]), tuples=True)
    fields = {"points": "", "cells": ""}
    for name, field in body.fields.items():
        fields[field.on] += data.array(name, _single(field.values))
    points = data.array("Points", body.positions)
    cell_arrays = "".join(
        data.array(name, array, data=cells.data[name]) for name, array in cells.arrays.items()
    )
    xml = (
        '<?xml version="1.0"?>\n'
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64" '
        'compressor="vtkZLibDataCompressor">\n<UnstructuredGrid>\n'
        f"<FieldData>\n{field_data}</FieldData>\n"
        f'<Piece NumberOfPoints="{len(body.positions)}" NumberOfCells="{len(cells.arrays["types"])}">\n'
        f"<Points>\n{points}</Points>\n"
        f"<Cells>\n{cell_arrays}</Cells>\n"
        f"<PointData>\n{fields['points']}</PointData>\n<CellData>\n{fields['cells']}</CellData>\n"
        '</Piece>\n</UnstructuredGrid>\n<AppendedData encoding="raw">\n_'
    )
    return b"".join([xml.encode(), *data.chunks, b"\n</AppendedData>\n</VTKFile>\n"])


class VtuSink(SequenceSink):
    """`vtu/BODY_000123.vtu` for each body and frame, and `NAME.pvd` with their times for ParaView.

    The PVD file is renewed with every frame, so that a run can be watched while it goes on.
    """

    suffix = ".vtu"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__(folder)
        self._entries: list[str] = []
        self._cells: TopologyCache[_Cells] = TopologyCache()

    @property
    def pvd(self) -> Path:
        """The PVD file."""
        return self.folder / f"{next(iter(file_names([self.info.name]).values()))}.pvd"

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the first `start` frames, take their times from the PVD file, and drop later frames."""
        self.info = info
        super().open(info, start)
        earlier = [index for index in self.output.frames(self.files, self.suffix) if index < start]
        self._entries = self._listed(max(earlier), start) if earlier else []
        self._write_pvd()

    def _listed(self, last: int, start: int) -> list[str]:
        """Return the PVD lines of the frames before `start`; `last` is the last of them that has files."""
        try:
            found = ET.parse(self.pvd).getroot().iter("DataSet")
            entries = [dict(item.attrib) for item in found]
            frames = [int(Path(entry["file"]).stem.rsplit("_", 1)[1]) for entry in entries]
        except (OSError, ET.ParseError, KeyError, ValueError, IndexError):
            raise InputError(
                "the list of earlier frames cannot be read; run again from the start with --force",
                where=str(self.pvd),
            ) from None
        if last not in frames:
            raise InputError(
                f"frame {last} is not listed, so the run cannot go on from it; run again from the start with --force",
                where=str(self.pvd),
            )
        return [_pvd_line(entry) for entry, frame in zip(entries, frames) if frame < start]

    def write(self, frame: Frame) -> None:
        """Write the bodies, then list them."""
        super().write(frame)
        for part, (name, file_name) in enumerate(file_names(frame.bodies).items()):
            file = f"{self.files.name}/{file_name}_{frame.index:06d}{self.suffix}"
            entry = {
                "timestep": repr(float(frame.time)),
                "group": "",
                "part": str(part),
                "name": name,
                "file": file,
            }
            self._entries.append(_pvd_line(entry))
        self._write_pvd()

    def write_body(self, path: Path, body: BodyFrame, frame: Frame) -> None:
        """Write one VTU file."""
        cells = self._cells.get(body, lambda: _Cells(body))
        with atomic_write(path) as file:
            file.write(_vtu_bytes(body, frame.time, cells))

    def _write_pvd(self) -> None:
        with atomic_write(self.output.record(self.pvd), "w") as file:
            file.write(_pvd_text(self._entries))

    def close(self) -> list[Path]:
        """Return the PVD file and the VTU files it lists."""
        return [self.pvd, *super().close()]


def _pvd_line(entry: dict[str, str]) -> str:
    return "<DataSet " + " ".join(f"{key}={quoteattr(value)}" for key, value in entry.items()) + "/>\n"


def _pvd_text(entries: Iterable[str]) -> str:
    return (
        '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">\n'
        "<Collection>\n" + "".join(entries) + "</Collection>\n</VTKFile>\n"
    )
