"""Patterns of scenes: squares, and the brightness of a picture."""

import numpy as np
import pytest
from PIL import Image

import continua as ct


def sheet(tmp_path, paint):
    text = f"bodies: [{{type: soft, name: a, mesh: {{type: rectangle, size: [4, 2], cells: [4, 2]}}, paint: {paint}}}]"
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    return ct.load_scene(str(path)).build().frame()["a"]


def test_squares_alternate(tmp_path):
    frame = sheet(tmp_path, "{type: checker, size: 1}")
    x = frame.positions
    np.testing.assert_array_equal(frame["paint"], (x[:, 0] + x[:, 1]) % 2)


def test_a_picture_is_spread_over_the_sheet(tmp_path):
    pixels = np.zeros((2, 4), np.uint8)
    pixels[0, 3] = 255  # the upper right corner
    Image.fromarray(pixels).save(tmp_path / "dot.png")
    frame = sheet(tmp_path, "{type: image, path: dot.png}")
    bright = frame.positions[frame["paint"] > 0.5]
    assert len(bright)
    assert bright[:, 0].min() >= 3.0
    assert bright[:, 1].min() >= 1.0
    (tmp_path / "not.png").write_text("no picture", encoding="utf-8")
    for wrong in ("not.png", "missing.png"):
        with pytest.raises(ct.InputError, match="cannot be read as a picture"):
            sheet(tmp_path, f"{{type: image, path: {wrong}}}")
