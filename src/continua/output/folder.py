"""The folder that runs write into, with a list of every file they wrote there.

The list is `.continua/files`, one path per line, relative to the folder, folders with a slash at the end. A path is
added before its file appears, so that a killed run leaves nothing behind that is not listed. Only listed files are
ever removed or overwritten; everything else in the folder belongs to the user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from continua.atomic_io import atomic_write, explained, temporary_path
from continua.errors import InputError
from continua.output.files import prepare_folder

__all__ = ["OWN_FOLDER", "OutputFolder"]

OWN_FOLDER = ".continua"
_LIST = "files"


class OutputFolder:
    """A folder with results, and the list of the files that runs wrote there.

    Args:
        path: The folder, or an `OutputFolder` to share.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser()
        self._listed: dict[str, None] | None = None

    def __fspath__(self) -> str:
        return str(self.path)

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> OutputFolder:
        """Return `folder` itself if it is an `OutputFolder`, else a new one for that path."""
        return folder if isinstance(folder, OutputFolder) else cls(folder)

    @property
    def _list(self) -> Path:
        return self.path / OWN_FOLDER / _LIST

    def _names(self) -> dict[str, None]:
        """Return the listed paths, in the order in which they were first written."""
        if self._listed is None:
            try:
                text = self._list.read_text(encoding="utf-8", errors="replace")
            except OSError:
                text = ""
            self._listed = dict.fromkeys(line for line in text.split("\n") if line)
        return self._listed

    def prepare(self) -> None:
        """Make the folder, and remove the temporary files that a killed run left in it."""
        prepare_folder(self.path)
        own = self.path / OWN_FOLDER
        if own.is_symlink():
            raise InputError("is a link, but must be a folder of this one; remove it", where=str(own))
        prepare_folder(own)
        for name in self._names():
            path = self._inside(name)
            if path is not None and not name.endswith("/"):
                _unlink(temporary_path(path))

    def subfolder(self, name: str) -> Path:
        """Make the folder `name` (such as "vtu") below this one, list it, and return its path."""
        self.prepare()
        path = self.path
        for part in PurePosixPath(name).parts:
            path = path / part
            if not path.exists():
                self._append(path.relative_to(self.path).as_posix() + "/")
            prepare_folder(path)
        return path

    def record(self, path: Path) -> Path:
        """List `path` as written by a run, before it is written, and return it.

        Raises:
            InputError: A file is there that no run wrote.
        """
        name = path.relative_to(self.path).as_posix()
        if name not in self._names():
            if os.path.lexists(path):
                raise InputError(
                    "this file was not written by a run, and would be overwritten; move it away, or choose "
                    "another folder with -o",
                    where=str(path),
                )
            self._append(name)
        return path

    def frames(self, folder: Path, suffix: str, *, existing: bool = True) -> dict[int, list[Path]]:
        """Return the listed files `NAME_000123.SUFFIX` in `folder` by frame number.

        Args:
            folder: A folder below this one.
            suffix: Suffix of the files, with the dot.
            existing: Leave out files that are gone.
        """
        start = folder.relative_to(self.path).as_posix() + "/"
        pattern = re.compile(re.escape(start) + r"[^/]+_(\d{6,})" + re.escape(suffix))
        found: dict[int, list[Path]] = {}
        for name in sorted(self._names()):
            if match := pattern.fullmatch(name):
                path = self.path / name
                if not existing or path.is_file():
                    found.setdefault(int(match.group(1)), []).append(path)
        return found

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove those of `paths` that a run wrote, and their lines; links are neither followed nor removed."""
        names = [path.relative_to(self.path).as_posix() for path in paths]
        names = [name for name in names if name in self._names()]
        for name in names:
            if (path := self._inside(name)) is not None:
                _unlink(path)
        if names:
            self._rewrite(set(names))

    def clear(self, first: str = "") -> None:
        """Remove every file that runs wrote, then the folders they made as far as they are empty.

        Args:
            first: Name of the file to remove first: without it no run can be resumed from what is left.
        """
        names = sorted(self._names(), key=lambda name: name != first)
        for name in names:
            if not name.endswith("/") and (path := self._inside(name)) is not None:
                _unlink(temporary_path(path))
                _unlink(path)
        for name in sorted((name for name in names if name.endswith("/")), key=len, reverse=True):
            path = self._inside(name.rstrip("/"))
            if path is not None and path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
                path.rmdir()
        self._rewrite(set(names))

    def _inside(self, name: str) -> Path | None:
        """Return the path of a listed name, or None if it leads out of the folder or through a link."""
        parts = PurePosixPath(name).parts
        if (
            not parts
            or name.startswith("/")
            or any(part == ".." or set(part) & set("\\:\0") for part in parts)
        ):
            return None
        path = self.path
        for part in parts[:-1]:
            path = path / part
            if path.is_symlink() or not path.is_dir():
                return None
        return path / parts[-1]

    def _rewrite(self, without: set[str]) -> None:
        """Write the list again without the given lines."""
        self._listed = {name: None for name in self._names() if name not in without}
        if self._list.exists():
            with atomic_write(self._list) as file:
                file.write("".join(f"{name}\n" for name in self._listed).encode())

    def _append(self, name: str) -> None:
        """Add a line to the list; it is on the disk when this returns."""
        self._list.parent.mkdir(parents=True, exist_ok=True)
        with explained(self._list), open(self._list, "ab+") as file:
            if file.tell():  # a power cut may have left half a line
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(name.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._names()[name] = None


def _unlink(path: Path) -> None:
    """Remove a regular file, if it is one."""
    if path.is_file() and not path.is_symlink():
        path.unlink()
