"""Grid fluids in scenes."""

from __future__ import annotations

import numpy as np
import pytest

import continua as ct
from continua.scene import load_scene


def write(tmp_path, body: str):
    path = tmp_path / "scene.yaml"
    path.write_text(f"bodies:\n  - {body}\n")
    return path


def test_a_tunnel_with_a_polygon_is_built_as_written(tmp_path):
    path = write(
        tmp_path,
        "{type: wind_tunnel, name: air, size: [2, 1], cells: [32, 16], speed: 3, viscosity: 0.01, streaks: 2, "
        "obstacles: [{type: polygon, points: [[0.8, 0.3], [1.2, 0.3], [1.0, 0.7]]}]}",
    )
    tunnel = load_scene(path).build().body("air")
    assert isinstance(tunnel, ct.WindTunnel)
    assert tunnel.grid.cells == (32, 16)
    assert tunnel.speed == 3.0
    assert tunnel.flow.domain.cut_cells.solid_cells[0, 16, 7]
    np.testing.assert_allclose(tunnel.flow.fields.velocity[1][0, 0], 3.0)


def test_smoke_takes_sides_and_inflows(tmp_path):
    path = write(
        tmp_path,
        "{type: smoke, name: s, size: [1, 1], cells: [16, 16], sides: {left: [0.5, 0, 0], right: open}, "
        "inflow: [{shape: {type: sphere, center: [0.5, 0.5, 0], radius: 0.2}, smoke: 0.7}]}",
    )
    smoke = load_scene(path).build().body("s")
    assert smoke.flow.fields.scalars["smoke"].max() == pytest.approx(0.7)
    assert {side.name: side.kind for side in smoke.flow.domain.sides}["right"] == "open"
    np.testing.assert_allclose(smoke.flow.fields.velocity[1][0, 0], 0.5)


def test_what_cannot_be_is_said_with_its_place(tmp_path):
    path = write(tmp_path, "{type: smoke, name: s, size: [1, 2], cells: [16, 16]}")
    with pytest.raises(ct.InputError, match=r"bodies\[0\].*must be cubes"):
        load_scene(path).build()
    path = write(tmp_path, "{type: smoke, name: s, size: [1, 1], cells: [16, 16], sides: {left: [1, 0, 0]}}")
    with pytest.raises(ct.InputError, match="incompressible"):
        load_scene(path).build()
