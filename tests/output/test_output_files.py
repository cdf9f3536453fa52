from __future__ import annotations

import errno
import os
import shutil
from types import SimpleNamespace

import pytest

from continua.atomic_io import atomic_path, atomic_write
from continua.errors import InputError, OutputError
from continua.output.files import file_names, prepare_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_when_complete(tmp_path):
    goal = tmp_path / "result.txt"
    with atomic_write(goal, "w") as file:
        file.write("ü\n")
        assert not goal.exists()
    assert goal.read_bytes() == "ü\n".encode()
    assert names(tmp_path) == ["result.txt"]


def test_a_full_disk_is_one_sentence(tmp_path):
    goal = tmp_path / "result.bin"
    goal.write_bytes(b"old")

    def fail():
        with atomic_write(goal) as file:
            file.write(b"half of the new")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match=r"result\.bin: cannot be written \(No space left") as raised:
        fail()
    assert raised.value.errno == errno.ENOSPC
    assert goal.read_bytes() == b"old"
    assert names(tmp_path) == ["result.bin"]


def test_a_library_that_reports_a_full_disk_in_its_own_words(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(OutputError, match="No space left"), atomic_path(tmp_path / "film.mp4"):
        raise RuntimeError("encoder ended")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_failing_write_keeps_the_old_file_and_leaves_nothing(tmp_path, error):
    goal = tmp_path / "result.bin"
    goal.write_bytes(b"old")

    def fail():
        with atomic_write(goal) as file:
            file.write(b"half of the new")
            raise error

    with pytest.raises(error):
        fail()
    assert goal.read_bytes() == b"old"
    assert names(tmp_path) == ["result.bin"]


def test_a_library_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "film.mp4") as aside:
        assert aside.suffix == ".mp4"
    assert names(tmp_path) == []


def test_folder_outside_is_refused(tmp_path):
    root = tmp_path / "scenes"
    root.mkdir()
    assert prepare_folder("out/a", within=root) == root / "out" / "a"
    for path in ("../other", "a/../../other", str(tmp_path), "/"):
        with pytest.raises(InputError, match="must lie inside"):
            prepare_folder(path, within=root)
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="must lie inside"):
        prepare_folder("link/x", within=root)
    assert names(tmp_path) == ["scenes"]


def test_file_in_the_way_and_read_only_folder(tmp_path):
    (tmp_path / "out").write_text("a file")
    for path in (tmp_path / "out", tmp_path / "out" / "deeper"):
        with pytest.raises(InputError, match="in the way"):
            prepare_folder(path)
    if os.geteuid() != 0:  # the superuser may write anywhere
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        with pytest.raises(InputError, match="not writable"):
            prepare_folder(locked)


def test_file_names_are_safe_and_different():
    given = ["a/b", "a b", "A_B", "../../etc", "", "con", "x" * 300, "ü", "tower-1"]
    made = list(file_names(given).values())
    assert len({name.lower() for name in made}) == len(given)
    for name in made:
        assert name
        assert len(name) < 100
        assert not set(name) & set('/\\:*?"<>|. ')
        assert name.lower() != "con"
    assert made[-1] == "tower-1"
