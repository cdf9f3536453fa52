from __future__ import annotations

import imageio.v3 as iio
import numpy as np
import pytest
from PIL import Image

from continua.errors import InputError
from continua.frames import Frame, RunInfo
from continua.output import make_sink
from continua.render import Painter, make_view

SIZE = (192, 108)


# imageio's film reader leaves its pipes to the garbage collector.
reads_film = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image)


def run(kind, folder, frames, **view):
    told = []
    info = RunInfo(
        name="swing", fps=10.0, view={"size": SIZE, **view}, progress=lambda *state: told.append(state)
    )
    sink = make_sink(kind, folder)
    sink.open(info)
    for frame in frames:
        sink.write(frame)
    return sink.close(), told


def test_png_sequence_uses_one_camera_and_one_range(tmp_path, frames):
    paths, told = run("png", tmp_path, frames)
    assert paths[0].name == "swing_000005.png"
    assert told[-1] == ("drawing png", 6, 6)
    painter = Painter(make_view(frames, size=SIZE))
    for path in sorted(paths):
        index = int(path.stem.split("_")[1])
        seen = pixels(path).astype(int)
        # The frames went through single precision on their way, which may flip a pixel's last bit.
        assert np.abs(seen - painter.paint(frames[index]).astype(int)).mean() < 0.05


@reads_film
def test_film_has_every_frame_at_the_right_rate(tmp_path, frames):
    (path,), told = run("mp4", tmp_path / "film", frames)
    assert told[-1] == ("drawing mp4", 6, 6)
    about = iio.immeta(path, plugin="FFMPEG")
    assert about["fps"] == 10.0
    assert about["size"] == SIZE
    film = iio.imread(path, plugin="FFMPEG")
    paths, _ = run("png", tmp_path / "pictures", frames)
    assert film.shape == (len(frames), SIZE[1], SIZE[0], 3)
    for shown, path in zip(film, sorted(paths)):
        drawn = pixels(path).astype(float)
        assert np.abs(shown - drawn).mean() < 2.5  # lossy, but the colours are not shifted


@reads_film
def test_odd_sizes_make_a_film_too(tmp_path, frames):
    (path,), _ = run("mp4", tmp_path, frames[:2], size=(161, 91))
    assert iio.immeta(path, plugin="FFMPEG")["size"] == (160, 90)


def test_unknown_field_is_refused_at_the_first_frame(tmp_path, frames):
    with pytest.raises(
        InputError, match='no body can be coloured by "heat"; choose from plain, displacement'
    ):
        run("png", tmp_path, frames, color="heat")


def test_world_without_bodies_still_has_pictures(tmp_path):
    paths, _ = run("png", tmp_path, [Frame(0, 0, 0.0, {})])
    assert pixels(paths[0]).shape == (SIZE[1], SIZE[0], 3)
