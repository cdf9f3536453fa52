"""`show`, `check`, `--set`, `--json` and the completion of scene names and formats."""

import json

import pytest
from typer.testing import CliRunner

from continua.cli import app
from continua.cli.app import _complete_formats, _complete_scene
from continua.cli.scenes import scene_costs
from continua.scene import load_scene, shipped_scenes
from continua.scene.overrides import override

SMALL = """\
name: small
seconds: 0.1
fps: 20
bodies:
  - {type: soft, name: block, mesh: {type: box, cells: [2, 2, 2]}, material: {type: corotated, young: 1e5}}
  - {type: soft, name: v1.2, mesh: {type: box, cells: [1, 1, 1], origin: [0, 3, 0]}}
output: {formats: [vtu], picture: {size: [64, 36]}}
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_show_prints_the_file_as_it_is(call):
    assert call("show", "beam").stdout == shipped_scenes()["beam"].read_text(encoding="utf-8")
    assert "did you mean 'beam'" in call("show", "baem").stderr


def test_check_names_every_problem_and_exits_with_2(call, tmp_path):
    (tmp_path / "bad.yaml").write_text(SMALL.replace("young: 1e5", "young: -1").replace("fps", "pfs"))
    (tmp_path / "far.yaml").write_text(
        "bodies: [{type: soft, name: a, mesh: {type: file, path: none.msh}}]\n"
    )
    good = call("check", "small.yaml", "beam")
    assert (good.exit_code, good.stdout) == (0, "small.yaml: valid\nbeam: valid\n")
    bad = call("check", "small.yaml", "bad.yaml")
    assert bad.exit_code == 2
    assert bad.stdout.splitlines()[0] == "small.yaml: valid"
    assert "bad.yaml:3: pfs: unknown key 'pfs'; did you mean 'fps'?" in bad.stdout
    assert "bad.yaml:5: bodies[0].material.young: must be at least 0 (got -1)" in bad.stdout
    assert call("check", "far.yaml").exit_code == 0  # meshes are read by --build
    assert call("check", "--build", "far.yaml").exit_code == 2
    listed = json.loads(call("check", "bad.yaml", "small.yaml", "--json").stdout)
    assert [(entry["file"], entry["valid"], len(entry["problems"])) for entry in listed] == [
        ("bad.yaml", False, 2),
        ("small.yaml", True, 0),
    ]


SETTINGS = {
    "bodies.0.material.young=2e5": lambda scene: scene.bodies[0].material.young == 2e5,
    "bodies.block.material.young=2e5": lambda scene: scene.bodies[0].material.young == 2e5,
    "bodies[v1.2].order=2": lambda scene: scene.bodies[1].order == 2,
    "bodies[1].material.young = 3e5": lambda scene: (
        scene.bodies[1].material.young == 3e5
    ),  # not given in the file
    "gravity=[0, -1, 0]": lambda scene: scene.gravity == (0.0, -1.0, 0.0),
    "gravity.1=-2": lambda scene: scene.gravity == (0.0, -2.0, 0.0),
    "contact.friction=0.3": lambda scene: scene.contact.friction == 0.3,
    "wind={velocity: [1, 0, 0]}": lambda scene: scene.wind.velocity == (1.0, 0.0, 0.0),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_set_changes_one_option(call, setting):
    before = load_scene("small.yaml")
    scene = override(before, [setting])
    assert SETTINGS[setting](scene)
    assert before.fingerprint() == load_scene("small.yaml").fingerprint() != scene.fingerprint()


WRONG = {
    "bodies.0.material.yung=1": "--set: bodies[0].material.yung: unknown key 'yung'; did you mean 'young'?",
    "bodies.blok.order=1": "--set: bodies: has no entry 'blok'; did you mean 'block'?",
    "bodies.2.order=1": "--set: bodies: has no entry '2'; there are block, v1.2, numbered from 0",
    "gravity.3=1": "--set: gravity: has no entry '3'; they are numbered from 0 to 2",
    "colliders.0.type=plane": "--set: colliders: has no entry '0'; the list is empty",
    "seconds.x=1": "--set: seconds: has no options, so no 'x'",
    "seconds": "--set: 'seconds' needs a value",
    "=1": "--set: '' is not a key",
    "a..b=1": "--set: 'a..b' is not a key",
    "seconds=[1": "--set seconds:1: is not YAML",
    "seconds=-1": "--set: seconds: must be greater than 0 (got -1)",
    "x" * 5000 + "=1": "unknown key",
}


@pytest.mark.parametrize("setting", WRONG)
@pytest.mark.parametrize("command", ["run", "info", "check", "studio"])
def test_a_wrong_setting_is_one_sentence(call, command, setting):
    result = call(command, "small.yaml", "--set", setting)
    assert result.exit_code == 2
    said = result.stdout + result.stderr
    assert WRONG[setting] in said
    assert len(said.splitlines()) == 1
    assert len(said) < 700


def test_a_run_with_settings_is_another_scene(call, tmp_path):
    soft = ["run", "small.yaml", "--set", "bodies.block.material.young=3e4", "--set", "seconds=0.05"]
    assert call(*soft).exit_code == 0
    kept = load_scene(tmp_path / "out/small/scene.yaml")
    assert (kept.bodies[0].material.young, kept.seconds) == (3e4, 0.05)
    refused = call("run", "small.yaml", "--resume")
    assert refused.exit_code == 2
    assert "the scene is not the one this run was started with" in refused.stderr
    longer = call(*soft[:-1], "seconds=0.1", "--resume")  # the length may change, as it may with --seconds
    assert longer.exit_code == 0
    assert "continua studio small.yaml --set=bodies.block.material.young=3e4" in longer.stdout


def test_settings_are_for_scenes(call, tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert "--set: changes the options of a scene" in call("info", "a.obj", "--set", "fps=3").stderr
    assert "--set: changes the options of a scene" in call("studio", "--set", "fps=3").stderr


def test_tables_can_be_had_as_json(call, tmp_path):
    scenes = json.loads(call("scenes", "--json").stdout)
    assert [entry["name"] for entry in scenes] == list(shipped_scenes())
    assert {entry["name"]: entry["kind"] for entry in scenes}["jelly-in-water"] == "SPH, soft"
    about = json.loads(call("info", "small.yaml", "--json", "--set", "fps=30").stdout)
    assert (about["fps"], about["frames"], about["bodies"][0]["unknowns"]) == (30.0, 4, 3 * 3**3)
    report = json.loads(call("run", "small.yaml", "--json", "--timers").stdout)
    assert report["finished"]
    assert "linear solve" in report["this_run"]["seconds_of_stages"]
    assert json.loads(call("run", "small.yaml", "--json", "--resume").stdout) == report
    saved = json.loads(call("info", "out/small", "--json").stdout)
    assert (saved["frames_done"], saved["time"], saved["bodies"]) == (3, 0.1, ["block", "v1.2"])
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n")
    mesh = json.loads(call("info", "a.obj", "--json").stdout)
    assert (mesh["kind"], mesh["area"], mesh["closed"]) == ("surface", 1.0, False)
    checks = json.loads(call("doctor", "--json").stdout)
    assert {entry["check"]: entry["state"] for entry in checks}["self-test"] == "ok"


def test_every_shipped_scene_has_a_measured_cost():
    costs = scene_costs()
    assert costs["machine"]
    assert set(costs["scenes"]) == set(shipped_scenes())
    assert all(cost["cpu_seconds"] > 0.0 for cost in costs["scenes"].values())


def test_scenes_and_formats_are_completed(call, tmp_path):
    assert _complete_scene("be") == ["beam"]
    assert _complete_scene("sm") == ["smoke-sphere", "small.yaml"]
    assert _complete_formats("vtu,ht") == ["vtu,html"]
    assert "vtu,vtu" not in _complete_formats("vtu,")
    done = CliRunner().invoke(
        app,
        [],
        prog_name="continua",
        env={"_CONTINUA_COMPLETE": "complete_bash", "COMP_WORDS": "continua run be", "COMP_CWORD": "2"},
    )
    assert done.stdout.split() == ["beam"]
    assert "--install-completion" in call("--help").stdout
