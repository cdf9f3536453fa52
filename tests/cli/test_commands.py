"""The commands: what they print, and that wrong input gives one sentence, exit code 2 and no files."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.cli.doctor import EXTRAS
from continua.errors import ContinuaError
from continua.scene import shipped_scenes

TET = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 {z}\n$EndNodes\n"
TET += "$Elements\n1\n1 4 2 1 1 1 2 3 4\n$EndElements\n"


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command in an empty folder; its output may have any width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def refused(result, *words):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("continua: ")
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_version(call):
    assert call("--version").stdout == f"continua {ct.__version__}\n"


def test_scenes_lists_every_shipped_scene_with_its_description(call):
    output = call("scenes").stdout
    for name in shipped_scenes():
        assert name in output
        assert ct.load_scene(name).description in output


def test_schema_is_the_json_schema_of_scenes(call):
    schema = json.loads(call("schema").stdout)
    assert schema["title"] == "Scene"
    assert schema["$defs"]["Corotated"]["properties"]["young"]["unit"] == "Pa"


def test_info_of_a_scene_counts_elements_and_unknowns(call):
    output = call("info", "beam").stdout
    # 16 x 4 x 4 cells of 6 tets; nodes of quadratic elements are those of a lattice twice as fine
    assert f"{16 * 4 * 4 * 6:,}" in output
    assert f"{3 * 33 * 9 * 9:,}" in output
    assert "121 frames at 60 per second" in output
    assert "240 of 8.333 ms" in output


def test_info_of_a_large_scene_makes_no_meshes(call, tmp_path, monkeypatch):
    monkeypatch.setattr("continua.mesh.box", lambda *_, **__: pytest.fail("the mesh was made"))
    text = "bodies: [{type: soft, name: big, mesh: {type: box, cells: [126, 126, 126]}}]"
    (tmp_path / "big.yaml").write_text(text)
    output = " ".join(call("info", "big.yaml").stdout.split())
    assert "about 12 million tetrahedra" in output
    assert "start about 3 minutes" in output
    assert "its meshes were not made" in output


def test_info_of_meshes(call, tmp_path):
    ct.mesh.write(ct.mesh.box((2, 1, 1), (2, 1, 1)), tmp_path / "block.vtu")
    output = " ".join(call("info", "block.vtu").stdout.split())
    assert "a mesh of tetrahedra" in output
    assert "tetrahedra 12" in output
    assert "volume 2 m³" in output
    ct.mesh.write(ct.mesh.box((2, 1, 1), (2, 1, 1)).surface, tmp_path / "block.stl")
    output = " ".join(call("info", "block.stl").stdout.split())
    assert "a surface" in output
    assert "area 10 m²" in output


def test_repairs_of_a_mesh_are_told(call, tmp_path):
    """A tetrahedron with two corners swapped is turned the right way round, and the user hears of it."""
    (tmp_path / "m.msh").write_text(
        TET.format(z="0 0 1").replace("1 2 3 4\n$End", "2 1 3 4\n$End"), encoding="utf-8"
    )
    assert "note: " in call("info", "m.msh").stdout


def test_mesh_converts_and_prints_quality(call, tmp_path):
    ct.mesh.write(ct.mesh.box((1, 1, 1), (2, 2, 2)), tmp_path / "a.vtu")
    result = call("mesh", "a.vtu", "b.msh")
    assert result.exit_code == 0, result.output
    assert "dihedral" in result.stdout
    again = ct.mesh.read(tmp_path / "b.msh")
    np.testing.assert_array_equal(again.points, ct.mesh.read(tmp_path / "a.vtu").points)


def test_mesh_fills_a_surface(call, tmp_path):
    ct.mesh.write(ct.mesh.box((1, 1, 1), (1, 1, 1)).surface, tmp_path / "cube.stl")
    result = call("mesh", "cube.stl", "cube.msh", "--size", "0.5")
    assert result.exit_code == 0, result.output
    filled = ct.mesh.read(tmp_path / "cube.msh")
    assert filled.volume == pytest.approx(1.0, rel=0.02)
    assert filled.element_count > 12


def test_doctor_finds_this_machine_in_order(call):
    result = call("doctor")
    assert result.exit_code == 0, result.output
    assert "a block falls as it should" in result.stdout
    assert "everything needed works" in result.stdout


def test_doctor_and_screenshots_look_for_the_same_browser(call, monkeypatch, tmp_path):
    from continua.studio.browser import find_browser

    program = tmp_path / "my-browser"
    program.write_text("")
    program.chmod(0o755)
    for name, words in (
        (str(program), f"ok browser {program} shows the studio"),
        ("none", "no Chromium, Chrome or Edge found"),
        ("no-such-browser", "CONTINUA_BROWSER: there is no program 'no-such-browser'"),
    ):
        monkeypatch.setenv("CONTINUA_BROWSER", name)
        assert words in " ".join(call("doctor").stdout.split())
    with pytest.raises(ContinuaError, match="no-such-browser"):
        find_browser()


def test_doctor_looks_at_every_extra():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"continua[{','.join(EXTRAS)}]"
    for name, (_, modules) in EXTRAS.items():
        assert len(modules) == len(extras[name])


MESH_FILES = {
    "missing": (None, "m.msh", "no such file"),
    "empty": ("", "m.msh", "m.msh"),
    "truncated": (TET.format(z="0 0 1")[:90], "m.msh", "m.msh"),
    "no-mesh": ("hello", "m.msh", "m.msh"),
    "unknown-format": ("hello", "m.xyzzy", "m.xyzzy"),
    "zero-volume": (TET.format(z="1 1 0"), "m.msh", "volume"),
    "nan": (TET.format(z="nan 0 1"), "m.msh", "m.msh"),
    "broken-stl": (b"solid x\nfacet normal 0 0", "m.stl", "m.stl"),
    "surface-only": (
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
        "m.obj", "tetrahedralize",
    ),
    "flat-surface": ("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n", "m.obj", "flat: it has no volume to fill"),
}  # fmt: skip


@pytest.mark.parametrize("case", MESH_FILES)
def test_bad_mesh_files_are_refused_with_file_line_and_key(case, call, tmp_path):
    content, name, word = MESH_FILES[case]
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    scene = f"bodies:\n  - type: soft\n    name: a\n    mesh: {{type: file, path: {name}}}\n"
    (tmp_path / "scene.yaml").write_text(scene, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    refused(call("run", "scene.yaml"), "scene.yaml:4: bodies[0].mesh: ", word)
    assert sorted(tmp_path.iterdir()) == before


def test_a_missing_file_is_named_before_kernels_are_compiled(call, tmp_path, monkeypatch):
    monkeypatch.setattr("continua.cli.run.missing_kernels", lambda scene: pytest.fail("compiles first"))
    body = "{type: soft, name: a, mesh: {type: box}}"
    collider = "{type: mesh, mesh: {type: file, path: none.obj}}"
    (tmp_path / "scene.yaml").write_text(f"bodies: [{body}]\ncolliders:\n  - {collider}\n", encoding="utf-8")
    refused(call("run", "scene.yaml"), "scene.yaml:3: colliders[0].mesh: none.obj: there is no such file")


@pytest.mark.parametrize("case", [name for name in MESH_FILES if not name.startswith(("surface", "flat"))])
def test_info_refuses_bad_mesh_files(case, call, tmp_path):
    content, name, word = MESH_FILES[case]
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(call("info", name), name, word)


def test_info_says_that_a_surface_is_flat(call, tmp_path):
    (tmp_path / "flat.obj").write_text(MESH_FILES["flat-surface"][0], encoding="utf-8")
    assert "none: the surface is flat" in call("info", "flat.obj").stdout


OPTIONS = {
    "no-scene": (["run", "nowhere"], "no shipped scene"),
    "misspelt-scene": (["run", "bridg"], "did you mean 'bridge'?"),
    "missing-file": (["run", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
    "seconds": (["run", "beam", "--seconds", "-1"], "seconds: must be greater than 0 (got -1.0)"),
    "seconds-nan": (["run", "beam", "--seconds", "nan"], "seconds: must be a finite number"),
    "fps": (["run", "beam", "--fps", "0"], "fps: must be greater than 0 (got 0.0)"),
    "absurd-seconds": (["run", "beam", "--seconds", "1e6"], "seconds: asks for"),
    "format": (["run", "beam", "--format", "vtu,vtk"], "output.formats[1]: must be one of 'vtu'"),
    "threads": (["run", "beam", "--threads", "100000"], "threads"),
    "resume-and-force": (["run", "beam", "--resume", "--force"], "use only one of them"),
    "info-missing": (["info", "nowhere.msh"], "no such file"),
    "info-name": (["info", "nothing"], "no shipped scene"),
    "info-checkpoint": (["info", "nowhere.h5"], "nowhere.h5"),
    "mesh-missing": (["mesh", "nowhere.stl", "out.msh"], "no such file"),
    "mesh-size": (["mesh", "nowhere.stl", "out.msh", "--size", "-1"], "--size: must be greater than 0"),
    "mesh-folder": (["mesh", "nowhere.stl", "no/such/out.msh"], "there is no such folder"),
    "studio-scene": (["studio", "bridg"], "did you mean 'bridge'?"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_wrong_options_are_refused_and_nothing_is_written(case, call, tmp_path):
    words, sentence = OPTIONS[case]
    refused(call(*words), sentence)
    assert list(tmp_path.iterdir()) == []


def test_unknown_options_and_commands_exit_with_2(call):
    assert call("run", "beam", "--sceonds", "1").exit_code == 2
    assert call("rum", "beam").exit_code == 2


def test_a_traceback_only_on_request(call, monkeypatch):
    monkeypatch.setenv("CONTINUA_DEBUG", "1")
    result = call("run", "nowhere.yaml")
    assert isinstance(result.exception, ct.InputError)


@pytest.mark.parametrize("words", [["--help"], ["scenes"], ["schema"], ["run", "nowhere"]])
def test_quick_answers_load_no_compiler(words):
    """Numba and NumPy take most of the time of a start; what needs neither must not load them."""
    code = (
        "import sys\nfrom continua.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded', [m for m in ('numba', 'scipy', 'h5py') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert result.stdout.endswith("loaded []\n"), result.stdout + result.stderr


def test_python_dash_m_is_the_same_command():
    result = subprocess.run(
        [sys.executable, "-m", "continua", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout == f"continua {ct.__version__}\n"
