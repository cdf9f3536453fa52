"""Sinks that write complete files frame by frame: one folder, files called `BODY_000123.SUFFIX`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from continua.errors import InputError
from continua.frames import BodyFrame, Frame, RunInfo
from continua.output.files import file_names
from continua.output.folder import OutputFolder

__all__ = ["SequenceSink", "check_earlier_frames", "check_next"]


def check_earlier_frames(
    kind: str, start: int, listed: Mapping[int, list[Path]], existing: Mapping[int, list[Path]], place: Path
) -> None:
    """Check the files of the frames before `start`, from which a resumed run continues.

    Frames that were never written in this format, because it was not requested then, are named in a warning.

    Args:
        kind: The format, for the message.
        start: The number of the next frame.
        listed: The files that were written, by frame number.
        existing: Those of them that are still there.
        place: Where they are.

    Raises:
        InputError: A frame that was written is gone.
    """
    lost = [index for index in range(start) if listed.get(index, []) != existing.get(index, [])]
    if lost:
        raise InputError(
            f"frame {lost[0]} was written but is missing, so the run cannot continue at frame {start}; restore it, or "
            "run again from the start with --force",
            where=str(place),
        )
    never = [index for index in range(start) if index not in listed]
    if never:
        frames = (
            f"frame {never[0]}" if len(never) == 1 else f"{len(never)} frames from {never[0]} to {never[-1]}"
        )
        warnings.warn(
            f"{kind}: {frames} are left out, because this format was not written then; run again with --force to "
            "have them all",
            stacklevel=3,
        )


def check_next(frame: Frame, expected: int, place: Path) -> None:
    """Raise `InputError` unless `frame` is the one that comes next."""
    if frame.index != expected:
        raise InputError(f"frame {expected} was expected, but frame {frame.index} came", where=str(place))


class SequenceSink:
    """One file per body and frame.

    A subclass defines `suffix` and `write_body`. Every file is written under a temporary name and renamed,
    so that those with a frame number are always complete.
    """

    suffix: str

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.output = OutputFolder.of(folder)
        self.folder = self.output.path
        self.files = self.folder / self.suffix[1:]
        self.info = RunInfo()
        self.next_index = 0

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the files of the first `start` frames and delete those of all later ones."""
        self.info = info
        self.output.subfolder(self.files.name)
        found = self.output.frames(self.files, self.suffix)
        listed = self.output.frames(self.files, self.suffix, existing=False)
        check_earlier_frames(self.files.name, start, listed, found, self.files)
        self.output.remove(path for index, paths in listed.items() if index >= start for path in paths)
        self.next_index = start

    def write(self, frame: Frame) -> None:
        """Write one file for each body of `frame`."""
        check_next(frame, self.next_index, self.files)
        for name, file_name in file_names(frame.bodies).items():
            path = self.files / f"{file_name}_{frame.index:06d}{self.suffix}"
            self.write_body(self.output.record(path), frame[name], frame)
        self.next_index += 1

    def write_body(self, path: Path, body: BodyFrame, frame: Frame) -> None:
        """Write `body` to `path` under a temporary name, then rename it."""
        raise TypeError(f"{type(self).__name__} does not define `write_body`")

    def close(self) -> list[Path]:
        """Return the files of the sequence in order."""
        found = self.output.frames(self.files, self.suffix)
        return [path for _, paths in sorted(found.items()) for path in paths]
