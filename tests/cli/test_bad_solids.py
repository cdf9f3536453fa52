"""Solids and obstacles that will not do: one sentence each, in Python and on the command line."""

import pytest
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.mesh import SurfaceMesh, surfaces

BALL = surfaces.sphere(0.5, 3)
SOLID = "bodies: [{{type: rigid, name: stone, shape: {{type: file, path: {0}}}}}]\n"
WALL = (
    "bodies: [{{type: rigid, name: stone, shape: {{type: sphere}}}}]\n"
    "colliders: [{{type: mesh, mesh: {{type: file, path: {0}}}, transform: {{translate: [5, 0, 0]}}}}]\n"
)
FIELD = (
    "bodies: [{{type: rigid, name: stone, shape: {{type: sphere}}}}]\n"
    "colliders: [{{type: mesh, mesh: {{type: file, path: ball.obj}}, field: {0}}}]\n"
)
MASS = "bodies: [{{type: rigid, name: stone, shape: {{type: sphere}}, mass: {0}}}]\n"
CASES = {
    "open body": (SOLID, "open.obj", "open|hole"),
    "inverted body": (SOLID, "inverted.obj", "inside out"),
    "empty body": (SOLID, "empty.obj", "no (triangles|elements|faces|points)|empty"),
    "flat body": (SOLID, "flat.obj", "the surface is flat: a rigid body of it has no mass"),
    "open wall": (WALL, "open.obj", "open|hole"),
    "inverted wall": (WALL, "inverted.obj", "inside out"),
    "empty wall": (WALL, "empty.obj", "no (triangles|elements|faces|points)|empty"),
    "missing wall": (WALL, "nothing.obj", "no such file|not found|does not exist"),
    "missing field": (FIELD, "nothing.sdf", "no such file"),
    "damaged field": (FIELD, "damaged.sdf", "damaged or truncated"),
    "foreign field": (FIELD, "foreign.sdf", "is not a distance field"),
    "another field": (FIELD, "another.sdf", "field of another mesh"),
    "zero mass": (MASS, "0", "mass"),
    "negative mass": (MASS, "-1", "mass"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("solids")
    ct.mesh.write(BALL, path / "ball.obj")
    ct.mesh.write(SurfaceMesh(BALL.points, BALL.triangles[3:]), path / "open.obj")
    ct.mesh.write(SurfaceMesh(BALL.points, BALL.triangles[:, ::-1]), path / "inverted.obj")
    (path / "empty.obj").write_text("# nothing\n")
    (path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    mesh = ct.mesh.read(path / "ball.obj")
    ct.sdf.fit(mesh, tolerance=1e-2).save(path / "ball.sdf")
    ct.sdf.fit(mesh.transformed(scale=2.0), tolerance=1e-2).save(path / "another.sdf")
    (path / "damaged.sdf").write_bytes((path / "ball.sdf").read_bytes()[:-9])
    (path / "foreign.sdf").write_bytes(b"OggS" + bytes(100))
    return path


@pytest.mark.parametrize("name", CASES)
def test_bad_input_gets_one_sentence(name, folder, capfd):
    text, value, words = CASES[name]
    scene = folder / "scene.yaml"
    scene.write_text(text.format(value))
    with pytest.raises(ct.InputError, match=words) as error:
        ct.load_scene(scene).build()
    assert "scene.yaml" in str(error.value)
    result = CliRunner().invoke(app, ["run", str(scene), "-o", str(folder / "out"), "--quiet"])
    said = capfd.readouterr().err + result.output
    assert result.exit_code == 2
    assert "Traceback" not in said
    assert not (folder / "out").exists()


def test_a_surface_that_passes_through_itself_is_noted_when_a_field_is_fitted(folder, capfd):
    other = BALL.transformed(translate=(0.31, 0.07, 0.04))
    points = [*BALL.points.tolist(), *other.points.tolist()]
    triangles = [*BALL.triangles.tolist(), *(other.triangles + BALL.node_count).tolist()]
    ct.mesh.write(SurfaceMesh(points, triangles), folder / "crossing.obj")
    out = folder / "crossing.sdf"
    result = CliRunner().invoke(app, ["sdf", str(folder / "crossing.obj"), str(out), "--tolerance", "1e-2"])
    assert result.exit_code == 0, result.output
    assert "pass through others" in capfd.readouterr().out + result.output
