"""Springs and position-based bodies in scene files: built, run, written, resumed."""

import meshio
import numpy as np
import pytest
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.output import checkpoint
from continua.scene import load_scene, parse_scene

SCENE = """
seconds: 0.2
fps: 20
dt: 0.01
bodies:
  - {type: springs, name: rope, network: {type: line, start: [0, 1, 0], end: [1, 1, 0], springs: 8}, mass: 0.1,
     bending: 0.001, yield_strain: 0.2, pin: [{where: left}]}
  - {type: springs, name: net, network: {type: sheet, cells: [4, 4], surface: false}, stiffness: 200, integrator: rk4,
     tear_strain: 0.5, transform: {translate: [0, 3, 0]}, pin: [{where: right}]}
  - {type: springs, name: hair, network: {type: strands, count: 5, springs: 4}, mass: 0.01,
     transform: {translate: [5, 0, 0]}}
  - {type: springs, name: pair, network: {type: explicit, points: [[9, 0, 0], [10, 0, 0]], springs: [[0, 1]]}}
  - {type: position_based, name: jelly, network: {type: lattice, cells: [2, 2, 2]}, transform: {translate: [0, -2, 0]},
     constraints: [{type: strain, young: 1e4}, {type: distance, compliance: 1e-3}],
     push: [{where: top, force: [0, 1, 0]}]}
  - {type: position_based, name: block, network: {type: mesh, mesh: {type: box, cells: [1, 1, 1]}}, method: pbd,
     transform: {translate: [20, 0, 0]}, initial: {velocity: [1, 0, 0]}}
colliders:
  - {type: plane, point: [0, -2.6, 0], normal: [0, 1, 0]}
"""


def test_all_networks_and_constraints_are_built():
    world = parse_scene(SCENE).build()
    rope, net, hair, pair, jelly, block = world.bodies
    assert [type(body).__name__ for body in world.bodies] == ["Springs"] * 4 + ["PositionBased"] * 2
    assert (rope.element_count, hair.element_count, pair.element_count) == (8, 20, 1)
    assert net.integrator.name == "rk4"
    assert net.rest_positions[:, 1].min() == 3.0
    assert [type(c).__name__ for c in jelly.constraints] == ["Strain", "Distance"]
    assert block.method == "pbd"
    np.testing.assert_array_equal(block.velocities[:, 0], 1.0)
    for _ in range(3):
        world.step()
    np.testing.assert_array_equal(rope.positions[0], [0.0, 1.0, 0.0])


def test_the_command_line_runs_them_and_files_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.yaml").write_text(SCENE)
    about = CliRunner().invoke(app, ["info", "all.yaml"])
    assert "8 springs" in about.output
    result = CliRunner().invoke(app, ["run", "all.yaml", "-o", "out", "--quiet"])
    assert result.exit_code == 0, result.output
    frames = list(load_scene("all.yaml").build().run(seconds=0.2, fps=20))
    for name, kind in (("rope", "line"), ("jelly", "tetra")):
        mesh = meshio.read(tmp_path / "out" / "vtu" / f"{name}_000004.vtu")
        np.testing.assert_array_equal(mesh.points, frames[4][name].positions)
        assert kind in {block.type for block in mesh.cells}


def test_a_run_is_resumed_bitwise(tmp_path):
    scene = parse_scene(SCENE)
    straight = scene.build()
    list(straight.run(seconds=0.2, fps=20))
    first = scene.build()
    for frame in first.run(seconds=0.2, fps=20):
        if frame.index == 2:
            break
    checkpoint.save(tmp_path / "c.h5", first, scene.text, frames_done=3, seconds=0.2, fps=20)
    saved = checkpoint.load(tmp_path / "c.h5")
    second = parse_scene(saved.scene).build()
    second.restore(saved.state)
    list(second.run(seconds=0.2, fps=20))
    for key, value in straight.state().items():
        np.testing.assert_array_equal(value, second.state()[key], err_msg=key)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{type: springs, name: a, network: {type: rope}}", "network"),
        ("{type: springs, name: a, network: {type: lattice, cells: [0, 1, 1]}}", "cells"),
        ("{type: springs, name: a, network: {type: sheet}, integrator: explicit}", "integrator"),
        (
            "{type: position_based, name: a, network: {type: sheet}, constraints: [{type: volume}]}",
            "needs tetrahedra",
        ),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(ct.InputError, match=message):
        parse_scene(f"bodies: [{text}]").build()


@pytest.mark.parametrize("name", ["rope-bridge", "net", "jello-lattice", "hair", "methods"])
def test_shipped_scenes_stay_bounded(name):
    world = load_scene(name).build()
    for _ in range(12):
        reports = world.step()
    assert all(report.converged for report in reports)
    for body in world.bodies:
        assert np.isfinite(body.positions).all()
        assert np.abs(body.positions).max() < 5.0
