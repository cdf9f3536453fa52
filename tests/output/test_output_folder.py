"""What runs wrote is known over any chain of runs, and nothing else in a folder is ever touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from continua.atomic_io import temporary_path
from continua.errors import InputError
from continua.output.folder import OutputFolder
from continua.output.lock import FolderLock


def write(output, name, text="ours"):
    path = output.path / name
    output.subfolder(path.parent.relative_to(output.path).as_posix())
    output.record(path).write_text(text)


def tree(folder):
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if ".continua" not in path.parts[-2:]
    )


def test_clear_removes_what_was_written_and_nothing_else(tmp_path):
    folder = tmp_path / "out"
    first = OutputFolder(folder)
    write(first, "vtu/a_000000.vtu")
    write(first, "film.mp4")
    second = OutputFolder(folder)  # a later process
    write(second, "vtu/a_000001.vtu")
    write(second, "png/a_000000.png")
    temporary_path(folder / "film.mp4").write_text("half")
    (folder / "vtu" / "a_000002.vtu").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    OutputFolder(folder).clear()
    assert tree(folder) == ["notes.txt", "vtu", "vtu/a_000002.vtu"]
    OutputFolder(folder).clear()
    assert tree(folder) == ["notes.txt", "vtu", "vtu/a_000002.vtu"]


@pytest.mark.parametrize(
    "line",
    [
        "../keep.txt",
        "..",
        "vtu/../../keep.txt",
        "{root}/keep.txt",
        "/",
        ".",
        "",
        "a\\..\\keep",
        "link/keep.txt",
    ],
)
def test_no_listed_path_leads_out_of_the_folder(tmp_path, line):
    (tmp_path / "keep.txt").write_text("mine")
    folder = tmp_path / "out"
    output = OutputFolder(folder)
    write(output, "ours.txt")
    (folder / "link").symlink_to(tmp_path)
    with open(folder / ".continua" / "files", "a") as file:
        file.write(line.format(root=tmp_path) + "\nours/\n")
    OutputFolder(folder).clear()
    assert (tmp_path / "keep.txt").read_text() == "mine"
    assert tree(folder) == ["link"]


def test_links_are_neither_followed_nor_removed(tmp_path):
    folder = tmp_path / "out"
    output = OutputFolder(folder)
    write(output, "vtu/a_000000.vtu")
    write(output, "picture.png")
    elsewhere = tmp_path / "elsewhere"
    (folder / "vtu").rename(elsewhere)
    (folder / "vtu").symlink_to(elsewhere)
    (folder / "picture.png").unlink()
    (folder / "picture.png").symlink_to(elsewhere / "a_000000.vtu")
    OutputFolder(folder).clear()
    assert (elsewhere / "a_000000.vtu").exists()
    assert (folder / "picture.png").is_symlink()
    (folder / "linked").mkdir()
    (folder / "linked" / ".continua").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a link"):
        OutputFolder(folder / "linked").prepare()


def test_a_file_of_the_user_is_not_overwritten(tmp_path):
    output = OutputFolder(tmp_path)
    (tmp_path / "film.mp4").write_text("mine")
    with pytest.raises(InputError, match="was not written by a run"):
        output.record(tmp_path / "film.mp4")
    assert OutputFolder(tmp_path).frames(tmp_path / "vtu", ".vtu") == {}


def test_half_a_line_is_harmless(tmp_path):
    output = OutputFolder(tmp_path)
    write(output, "a.txt")
    listing = tmp_path / ".continua" / "files"
    listing.write_bytes(listing.read_bytes() + b"vt\xff")
    write(OutputFolder(tmp_path), "b.txt")
    OutputFolder(tmp_path).clear()
    assert tree(tmp_path) == []


HOLD = """
import sys, time
from pathlib import Path
from continua.output.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
lock.acquire()
print("locked", flush=True)
time.sleep(600)
"""


def test_a_lock_keeps_others_out_and_ends_with_its_process(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        lock = FolderLock(tmp_path)
        for attempt in (lock.check, lock.acquire):
            with pytest.raises(
                InputError, match=rf"another run \(process {holder.pid} on .*\) is writing here"
            ):
                attempt()
    finally:
        holder.kill()
        holder.communicate()
    lock.check()
    lock.acquire()
    assert lock.held
    with pytest.raises(InputError, match=f"process {os.getpid()}"):
        FolderLock(tmp_path).acquire()
    lock.release()
    FolderLock(tmp_path).acquire()


def test_without_locks_of_the_file_system_a_dead_process_holds_nothing(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def unsupported(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    lock = FolderLock(Path(tmp_path))
    lock.acquire()
    lock.release()
    text = (tmp_path / ".continua" / "lock").read_text()
    (tmp_path / ".continua" / "lock").write_text(text.replace(str(os.getpid()), str(sleeper.pid)))
    try:
        with pytest.raises(InputError, match=f"process {sleeper.pid}"):
            lock.acquire()
    finally:
        sleeper.kill()
        sleeper.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not lock.held:
        lock.acquire()
    assert lock.held
