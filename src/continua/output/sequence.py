"""Sinks that write complete files frame by frame: one folder, files called `BODY_000123.SUFFIX`."""

from __future__ import annotations

import os
from pathlib import Path

from continua.errors import InputError
from continua.frames import BodyFrame, Frame, RunInfo
from continua.output.files import file_names, numbered, prepare_folder, remove_leftovers

__all__ = ["SequenceSink", "check_next"]


def check_next(frame: Frame, expected: int, place: Path) -> None:
    """Raise `InputError` unless `frame` is the one that comes next."""
    if frame.index != expected:
        raise InputError(f"frame {expected} was expected, but frame {frame.index} came", where=str(place))


class SequenceSink:
    """One file a body and frame.

    A subclass gives `suffix` and `write_body`. Every file is written aside and renamed, so that those with a
    frame number are always complete.
    """

    suffix: str

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.files = self.folder / self.suffix[1:]
        self.info = RunInfo()
        self.next_index = 0

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the files of the first `start` frames and delete those of all later ones."""
        self.info = info
        prepare_folder(self.folder)
        prepare_folder(self.files)
        remove_leftovers(self.folder)
        remove_leftovers(self.files)
        found = numbered(self.files, self.suffix)
        for index in range(start):
            if index not in found:
                raise InputError(
                    f"frame {index} is missing, so frame {start} cannot be next; run again from the start",
                    where=str(self.files),
                )
        for index, paths in found.items():
            if index >= start:
                for path in paths:
                    path.unlink()
        self.next_index = start

    def write(self, frame: Frame) -> None:
        """Write one file for each body of `frame`."""
        check_next(frame, self.next_index, self.files)
        for name, file_name in file_names(frame.bodies).items():
            self.write_body(self.files / f"{file_name}_{frame.index:06d}{self.suffix}", frame[name], frame)
        self.next_index += 1

    def write_body(self, path: Path, body: BodyFrame, frame: Frame) -> None:
        """Write `body` to `path`, aside and renamed."""
        raise TypeError(f"{type(self).__name__} does not say how to write a body")

    def close(self) -> list[Path]:
        """Return the files of the sequence in order."""
        return [path for _, paths in sorted(numbered(self.files, self.suffix).items()) for path in paths]
