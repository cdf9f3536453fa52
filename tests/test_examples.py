"""Every example runs; each ends with the check of a physical fact of its own."""

import re
import runpy
import sys
from math import pi
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.filterwarnings("ignore:body .water., step .* moved back to its surface")
@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_holds(example, tmp_path, monkeypatch, capsys):
    if example.stem == "read_your_mesh":
        pytest.importorskip("pytetwild")
    assert re.search(r"^ *assert ", example.read_text(encoding="utf-8"), re.MULTILINE)
    options = ["--out", str(tmp_path)] if example.stem == "embed" else []
    monkeypatch.setattr(sys, "argv", [str(example), *options])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out
    if options:
        check_golf_balls(tmp_path)


def check_golf_balls(folder):
    """Every frame's surface is there, and another library reads it."""
    trimesh = pytest.importorskip("trimesh")
    written = sorted(folder.glob("golf_*.ply"))
    assert len(written) == 25  # 0.8 s at 30 frames a second, and the first
    last = trimesh.load(written[-1], process=False)
    assert last.is_watertight
    assert abs(last.volume / (4 / 3 * pi * 0.5**3) - 1.0) < 0.1
