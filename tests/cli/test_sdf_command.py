"""`continua sdf`: a field, a picture, a report; and sentences for surfaces that will not do."""

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import continua as ct
from continua.cli import app
from continua.mesh import SurfaceMesh, surfaces


def call(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ball = surfaces.sphere(1.0, 6)
    ct.mesh.write(ball, "ball.obj")
    ct.mesh.write(SurfaceMesh(ball.points, ball.triangles[5:]), "open.obj")
    return tmp_path


def test_a_surface_becomes_a_field_with_a_picture(folder):
    result = call("sdf", "ball.obj", "ball.sdf", "--tolerance", "1e-4", "--near", "20")
    assert result.exit_code == 0, result.output
    assert "squared error" in result.output
    field = ct.sdf.load("ball.sdf")
    assert field.report.squared_error <= 1e-4
    assert field([[0.0, 0.0, 0.0]])[0] == pytest.approx(-0.98, abs=0.05)
    picture = np.asarray(Image.open("ball.png").convert("RGB")).astype(int)
    height, width = picture.shape[:2]
    assert width > 2.5 * height
    # In the middle of the first slice it is warm (inside), at its rim cold (outside).
    assert picture[height // 2, height // 2 + 3, 0] > picture[height // 2, height // 2 + 3, 2]
    assert picture[20, 20, 2] > picture[20, 20, 0]
    assert "distance field" in call("info", "ball.sdf").output


def test_holes_are_named_and_can_be_closed(folder, capfd):
    result = call("sdf", "open.obj", "open.sdf")
    assert result.exit_code == 2
    assert "hole" in capfd.readouterr().err + result.output
    assert not (folder / "open.sdf").exists()
    assert call("sdf", "open.obj", "open.sdf", "--tolerance", "1e-3", "--close-holes", "-q").exit_code == 0


def test_wrong_numbers_and_places_are_refused(folder, capfd):
    for arguments, message in (
        (("ball.obj", "no/ball.sdf"), "no such folder"),
        (("ball.obj", "ball.obj"), "is the input"),
        (("ball.obj", "ball.sdf", "--tolerance", "-1"), "tolerance"),
    ):
        result = call("sdf", *arguments)
        assert result.exit_code == 2
        assert message in capfd.readouterr().err + result.output
