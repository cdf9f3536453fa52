"""Films of what goes on inside of soft bodies, made by a run."""

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from continua.cli.app import app
from continua.scene import parse_scene

pytest.importorskip("pyvista")

SCENE = """
seconds: 0.04
fps: 50
bodies:
- {type: soft, name: bar, mesh: {type: box, size: [2, 0.5, 0.5], cells: [6, 2, 2]}, pin: [{where: left}]}
output: {formats: [gif], picture: {size: [320, 180]}}
"""


def frames(path):
    with Image.open(path) as film:
        pictures = []
        for number in range(film.n_frames):
            film.seek(number)
            pictures.append(np.asarray(film.convert("RGB"), dtype=int))
        return pictures


def test_a_run_writes_a_film_of_the_inside_that_differs_from_the_outside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.yaml").write_text(SCENE)
    films = {}
    for look in ("", "surfaces"):
        done = CliRunner().invoke(
            app, ["run", "bar.yaml", "-q", "-o", f"out{look}"] + (["--inside", look] if look else [])
        )
        assert done.exit_code == 0, done.output
        films[look] = frames(tmp_path / f"out{look}" / "bar.gif")
    assert len(films["surfaces"]) == len(films[""]) == 3
    assert (np.abs(films["surfaces"][2] - films[""][2]).max(axis=2) > 40).sum() > 300
    moved = np.abs(films["surfaces"][2] - films["surfaces"][1]).max(axis=2) > 40
    assert moved.sum() > 10  # it moves


def test_nonsense_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.yaml").write_text(SCENE)
    done = CliRunner().invoke(app, ["run", "bar.yaml", "--inside", "bones"])
    assert done.exit_code == 2
    assert "inside" in done.stderr
    with pytest.raises(ValueError, match="choose a 'color'"):
        parse_scene(SCENE.replace("{size", "{color: plain, inside: volume, size"))
