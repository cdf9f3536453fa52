"""VTI files hold what the grid holds, in the order that VTK reads."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.frames import RunInfo
from continua.output import make_sink


def run(tmp_path):
    smoke = ct.Smoke(
        (1.0, 1.5, 0.5), (8, 12, 4), inflow=ct.Inflow(ct.Sphere((0.5, 0.3, 0.25), 0.2)), name="smoke"
    )
    world = ct.World([smoke], dt=0.02)
    sink = make_sink("vti", tmp_path)
    sink.open(RunInfo("fire", 50.0, 0.04))
    frames = list(world.run(0.04, 50.0, [sink]))
    return frames, sink.close()


def test_a_grid_comes_back_from_its_file(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    frames, files = run(tmp_path)
    assert files[0].name == "fire-grid.pvd"
    assert len(files) == 4
    grid = pyvista.read(files[-1])
    assert grid.dimensions == (9, 13, 5)
    volume = frames[-1]["smoke"].volume
    expected = volume.fields["smoke"].values
    found = np.asarray(grid.cell_data["smoke"]).reshape(4, 12, 8).transpose(2, 1, 0)
    np.testing.assert_array_equal(found, expected)
    velocity = np.asarray(grid.cell_data["velocity"]).reshape(4, 12, 8, 3).transpose(2, 1, 0, 3)
    np.testing.assert_array_equal(velocity, volume.fields["velocity"].values)


def test_a_run_without_grids_is_told_so(tmp_path):
    world = ct.World([ct.RigidBody(ct.Sphere(), name="ball", density=1000.0)])
    sink = make_sink("vti", tmp_path)
    sink.open(RunInfo("fall", 50.0, 0.02))
    with pytest.raises(ct.InputError, match="no body of this run is a grid fluid"):
        list(world.run(0.02, 50.0, [sink]))
