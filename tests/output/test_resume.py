"""Every sink, interrupted or killed at any moment, ends with the same bytes as a run in one go."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from moving_box import make_frame

from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import SINKS, checkpoint, make_sink

INFO = RunInfo(name="swing", fps=10.0, seconds=0.5, view={"size": (96, 54)})

CHILD = """
import sys
from pathlib import Path
from moving_box import box, make_frame
from test_resume import INFO, KILLED_KINDS, Clock
from continua.output import checkpoint, make_sink

folder = Path(sys.argv[1])
sinks = [make_sink(kind, folder) for kind in KILLED_KINDS]
for sink in sinks:
    sink.open(INFO)
mesh = box()
print("ready", flush=True)
for index in range(10_000):
    frame = make_frame(index, mesh=mesh)
    for sink in sinks:
        sink.write(frame)
    checkpoint.save(folder / "run.h5", Clock(index), "", frames_done=index + 1, seconds=1.0, fps=10.0)
"""
KINDS = [kind for kind in SINKS if kind != "vti"]  # grids: see test_vti
KILLED_KINDS = ("vtu", "usd", "glb", "ply", "obj")


class Clock:
    def __init__(self, index):
        self.index = index

    def state(self):
        return {"world/frame": self.index}


def run(kind, folder, frames, start=0, close=True):
    sink = make_sink(kind, folder)
    sink.open(INFO, start)
    for frame in frames[start:]:
        sink.write(frame)
    if close:
        sink.close()


def tree(folder):
    """Return the files but the checkpoint, finished or not: the next one replaces what a kill has left of it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and path.name not in ("run.h5", ".run.tmp.h5") and path.parent.name != ".continua"
    }


def assert_same(one, two):
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


@pytest.mark.parametrize("kind", KINDS)
def test_resumed_run_equals_uninterrupted_run(tmp_path, frames, two_bodies, kind):
    run(kind, tmp_path / "whole", frames)
    # Stopped without an end after frame 4, the last checkpoint at frame 3; then stopped properly; then on.
    run(kind, tmp_path / "parts", frames[:4], close=False)
    run(kind, tmp_path / "parts", frames[:5], start=3)
    run(kind, tmp_path / "parts", frames, start=4)
    assert_same(tree(tmp_path / "whole"), tree(tmp_path / "parts"))
    # A new run in the same folder leaves nothing of the longer one.
    run(kind, tmp_path / "parts", frames[:2])
    run(kind, tmp_path / "short", frames[:2])
    assert_same(tree(tmp_path / "short"), tree(tmp_path / "parts"))


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_order_and_missing_frames_are_refused(tmp_path, frames, kind):
    sink = make_sink(kind, tmp_path)
    sink.open(INFO)
    sink.write(frames[0])
    with pytest.raises(InputError, match="frame 1 was expected, but frame 3 came"):
        sink.write(frames[3])
    sink.write(frames[1])
    gone = next(path for path in sorted(tmp_path.rglob("*_000001.*")) if path.suffix != ".h5")
    gone.unlink()
    with pytest.raises(InputError, match="frame 1 was written but is missing"):
        make_sink(kind, tmp_path).open(INFO, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_format_added_later_starts_there_and_says_so(tmp_path, frames, kind):
    with pytest.warns(UserWarning, match=rf"{kind}: 2 frames from 0 to 1 are left out"):
        run(kind, tmp_path / "late", frames, start=2)
    run(kind, tmp_path / "whole", frames)
    whole = tree(tmp_path / "whole")
    for name, data in tree(tmp_path / "late").items():
        if kind in ("vtu", "ply", "obj") and not name.endswith(".pvd"):
            assert data == whole[name]
    made = [path for path in (tmp_path / "late").rglob(f"*.{kind}*") if ".continua" not in path.parts]
    assert made
    if kind == "png":
        assert sorted(path.name for path in made if path.is_file()) == [
            f"swing_{index:06d}.png" for index in range(2, len(frames))
        ]


def test_formats_share_the_frames_they_keep(tmp_path, frames):
    sinks = [make_sink(kind, tmp_path / "both") for kind in ("glb", "html")]
    for sink in sinks:
        sink.open(INFO)
    for frame in frames:
        for sink in sinks:
            sink.write(frame)
    assert len(list((tmp_path / "both").rglob("frame_*.npz"))) == len(frames)
    for sink in sinks:
        sink.close()
    run("glb", tmp_path / "one", frames)
    run("html", tmp_path / "one", frames)
    assert_same(tree(tmp_path / "one"), tree(tmp_path / "both"))
    # so a format that is added later has all frames
    late = tmp_path / "late"
    run("glb", late, frames[:3])
    run("html", late, frames, start=3)
    assert (late / "swing.html").read_bytes() == (tmp_path / "one" / "swing.html").read_bytes()


@pytest.mark.parametrize("kind", ["usd", "glb", "png", "mp4"])
def test_another_colour_starts_where_it_was_chosen(tmp_path, frames, kind):
    run(kind, tmp_path, frames[:2], close=False)
    with pytest.warns(UserWarning, match="2 frames from 0 to 1 are left out"):
        make_sink(kind, tmp_path, color="velocity").open(INFO, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_failing_write_leaves_only_complete_files(tmp_path, frames, kind, monkeypatch):
    run(kind, tmp_path / "good", frames[:2], close=False)
    run(kind, tmp_path / "bad", frames[:2], close=False)
    before = tree(tmp_path / "bad")
    sink = make_sink(kind, tmp_path / "bad")
    sink.open(INFO, 2)
    monkeypatch.setattr(
        os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space"):
        sink.write(frames[2])
    monkeypatch.undo()
    assert_same(tree(tmp_path / "bad"), before)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_any_moment(tmp_path, seed):
    place = str(Path(__file__).parent)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path / "killed")],
        env={**os.environ, "PYTHONPATH": place},
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        saved = tmp_path / "killed" / "run.h5"
        limit = time.monotonic() + 60
        while not saved.exists() and time.monotonic() < limit:
            time.sleep(0.002)
        time.sleep(random.Random(seed).uniform(0.0, 0.1))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
    done = checkpoint.load(saved).frames_done
    frames = [make_frame(i) for i in range(done + 2)]
    for kind in KILLED_KINDS:
        run(kind, tmp_path / "whole", frames)
    whole = tree(tmp_path / "whole")
    for name, data in tree(tmp_path / "killed").items():
        if not Path(name).name.startswith(".") and name in whole and not name.endswith(".pvd"):
            assert data == whole[name], name  # what is there under its own name is complete
    for kind in KILLED_KINDS:
        run(kind, tmp_path / "killed", frames, start=done)
    assert_same(whole, tree(tmp_path / "killed"))
