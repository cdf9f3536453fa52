from __future__ import annotations

import meshio
import numpy as np
import pytest
import vtk
from vtk.util.numpy_support import vtk_to_numpy

from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import make_sink

INFO = RunInfo(name="swing", fps=10.0, seconds=0.5)


def run(folder, frames, start=0):
    sink = make_sink("vtu", folder)
    sink.open(INFO, start)
    for frame in frames[start:]:
        sink.write(frame)
    return sink.close()


def vtk_read(path):
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    return reader.GetOutput()


def test_meshio_reads_the_frame(tmp_path, frames):
    run(tmp_path, frames)
    body = frames[4]["block"]
    mesh = meshio.read(tmp_path / "vtu" / "block_000004.vtu")
    np.testing.assert_array_equal(mesh.points, body.positions)
    np.testing.assert_array_equal(mesh.cells_dict["tetra"], body.cells["tetra"])
    for name in body.fields:
        np.testing.assert_array_equal(mesh.point_data[name], body[name].astype(np.float32))


def test_vtk_reads_time_energy_and_positive_volumes(tmp_path, frames):
    run(tmp_path, frames)
    grid = vtk_read(tmp_path / "vtu" / "block_000003.vtu")
    data = grid.GetFieldData()
    assert data.GetArray("TimeValue").GetValue(0) == frames[3].time
    assert data.GetArray("energy_elastic").GetValue(0) == frames[3]["block"].energy["elastic"]
    sizes = vtk.vtkCellSizeFilter()
    sizes.SetInputData(vtk_read(tmp_path / "vtu" / "block_000000.vtu"))
    sizes.Update()
    volumes = vtk_to_numpy(sizes.GetOutput().GetCellData().GetArray("Volume"))
    assert volumes.sum() == pytest.approx(0.25, rel=1e-12)  # the box is 1 x 0.5 x 0.5 m
    assert volumes.min() > 0


def test_pvd_lists_every_body_at_every_time(tmp_path, two_bodies):
    files = run(tmp_path, two_bodies)
    assert files[0] == tmp_path / "swing.pvd"
    assert len(files) == 1 + 2 * len(two_bodies)
    reader = vtk.vtkXMLGenericDataObjectReader()
    listed = vtk.vtkXMLDataParser()
    listed.SetFileName(str(files[0]))
    assert listed.Parse() == 1
    collection = listed.GetRootElement().FindNestedElementWithName("Collection")
    entries = [collection.GetNestedElement(i) for i in range(collection.GetNumberOfNestedElements())]
    assert len(entries) == 2 * len(two_bodies)
    for i, entry in enumerate(entries):
        assert float(entry.GetAttribute("timestep")) == two_bodies[i // 2].time
        reader.SetFileName(str(tmp_path / entry.GetAttribute("file")))
        reader.Update()
        assert reader.GetOutput().GetNumberOfPoints() == len(two_bodies[0]["block"].positions)


def test_other_cells_keep_their_vtk_kind(tmp_path):
    from dataclasses import replace

    from moving_box import make_frame

    frame = make_frame(0)
    cube = np.array(
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float
    )
    corners = np.eye(4, 3, -1)
    edges = [(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)]
    quadratic = np.vstack([corners + 3.0, [(corners[a] + corners[b]) / 2 + 3.0 for a, b in edges]])
    points = np.vstack([cube, quadratic])
    body = replace(
        frame["block"],
        positions=points,
        rest_positions=points,
        cells={
            "hexahedron": np.arange(8)[None].astype(np.int32),
            "tetra10": np.arange(8, 18)[None].astype(np.int32),
        },
        fields={},
    )
    run(tmp_path, [replace(frame, bodies={"block": body})])
    grid = vtk_read(tmp_path / "vtu" / "block_000000.vtu")
    assert [grid.GetCellType(i) for i in range(2)] == [vtk.VTK_HEXAHEDRON, vtk.VTK_QUADRATIC_TETRA]
    sizes = vtk.vtkCellSizeFilter()
    sizes.SetInputData(grid)
    sizes.Update()
    volumes = vtk_to_numpy(sizes.GetOutput().GetCellData().GetArray("Volume"))
    np.testing.assert_allclose(volumes, [1.0, 1.0 / 6.0], rtol=1e-12)


def test_missing_earlier_frames_are_reported(tmp_path, frames):
    run(tmp_path, frames[:3])
    pvd = next(tmp_path.glob("*.pvd"))
    text = pvd.read_text()
    pvd.write_text("".join(line for line in text.splitlines(True) if "_000002" not in line))
    with pytest.raises(InputError, match="frame 2 is not listed"):
        make_sink("vtu", tmp_path).open(INFO, 3)
    pvd.write_text(text)
    (tmp_path / "vtu" / "block_000001.vtu").unlink()
    with pytest.raises(InputError, match="frame 1 was written but is missing"):
        make_sink("vtu", tmp_path).open(INFO, 3)


def test_unknown_kind_is_one_sentence():
    with pytest.raises(InputError, match='did you mean "vtu"'):
        make_sink("vtuu", ".")
