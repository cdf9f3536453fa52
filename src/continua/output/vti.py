"""VTI files (VTK image data) of fluids on grids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from continua.atomic_io import atomic_write
from continua.errors import InputError
from continua.frames import BodyFrame, Frame, Volume
from continua.output.files import file_names
from continua.output.vtu import Appended, VtuSink

__all__ = ["VtiSink"]


def _vti_bytes(volume: Volume, time: float) -> bytes:
    """Return the whole VTI file of a grid at `time` [s]: fields on cells, in single precision."""
    data = Appended()
    field_data = data.array("TimeValue", np.array([time]), tuples=True)
    cells = ""
    for name, field in volume.fields.items():
        values = np.asarray(field.values, np.float32)
        swapped = np.swapaxes(values, 0, 2)  # x runs fastest in the file
        cells += data.array(name, swapped.reshape(-1, *values.shape[3:]))
    extent = " ".join(f"0 {n}" for n in volume.shape)
    origin, h = " ".join(repr(float(v)) for v in volume.origin), repr(float(volume.spacing))
    xml = (
        '<?xml version="1.0"?>\n'
        '<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64" '
        'compressor="vtkZLibDataCompressor">\n'
        f'<ImageData WholeExtent="{extent}" Origin="{origin}" Spacing="{h} {h} {h}">\n'
        f"<FieldData>\n{field_data}</FieldData>\n"
        f'<Piece Extent="{extent}">\n<PointData>\n</PointData>\n<CellData>\n{cells}</CellData>\n'
        '</Piece>\n</ImageData>\n<AppendedData encoding="raw">\n_'
    )
    return b"".join([xml.encode(), *data.chunks, b"\n</AppendedData>\n</VTKFile>\n"])


class VtiSink(VtuSink):
    """`vti/BODY_000123.vti` for each fluid on a grid and frame, and `NAME-grid.pvd` with their times."""

    suffix = ".vti"

    @property
    def pvd(self) -> Path:
        """The PVD file."""
        return self.folder / f"{next(iter(file_names([self.info.name]).values()))}-grid.pvd"

    def write(self, frame: Frame) -> None:
        """Write the fluids on grids, then list them."""
        bodies = {name: body for name, body in frame.bodies.items() if body.volume is not None}
        if not bodies:
            raise InputError('no body of this run is a fluid on a grid; choose "vtu" instead of "vti"')
        super().write(replace(frame, bodies=bodies))

    def write_body(self, path: Path, body: BodyFrame, frame: Frame) -> None:
        """Write one VTI file."""
        assert body.volume is not None
        with atomic_write(path) as file:
            file.write(_vti_bytes(body.volume, frame.time))
