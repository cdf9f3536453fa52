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


def strong(picture):
    """Return where colours are no grey, without the legend."""
    found = picture.max(axis=2) - picture.min(axis=2) > 40
    found[:, 250:] = False
    return found


def test_a_run_writes_a_film_of_the_inside_that_differs_from_the_outside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.yaml").write_text(SCENE)
    films = {}
    for look in ("", "surfaces", "volume"):
        done = CliRunner().invoke(
            app, ["run", "bar.yaml", "-q", "-o", f"out{look}"] + (["--inside", look] if look else [])
        )
        assert done.exit_code == 0, done.output
        films[look] = frames(tmp_path / f"out{look}" / "bar.gif")
    assert len(films["surfaces"]) == len(films["volume"]) == len(films[""]) == 3
    for look, other in (("surfaces", ""), ("volume", ""), ("volume", "surfaces")):
        assert (np.abs(films[look][2] - films[other][2]).max(axis=2) > 40).sum() > 300
    for look in ("surfaces", "volume"):
        moved = np.abs(films[look][2] - films[look][1]).max(axis=2) > 40
        assert moved.sum() > 10  # it moves
    # where the bar is seen from outside it is seen from inside, and nowhere else
    solid = strong(films[""][2])
    rows, columns = np.nonzero(solid)
    inside = strong(films["volume"][2])
    assert 0.05 * solid.sum() < (inside & solid).sum()
    inside[rows.min() - 3 : rows.max() + 4, columns.min() - 3 : columns.max() + 4] = False
    assert inside.sum() == 0


def test_nonsense_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.yaml").write_text(SCENE)
    done = CliRunner().invoke(app, ["run", "bar.yaml", "--inside", "bones"])
    assert done.exit_code == 2
    assert "inside" in done.stderr
    with pytest.raises(ValueError, match="choose a 'color'"):
        parse_scene(SCENE.replace("{size", "{color: plain, inside: volume, size"))
