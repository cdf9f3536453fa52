"""Sinks that make one result of the whole run when it ends, from a spool of its frames."""

from __future__ import annotations

import os
from pathlib import Path

from continua.frames import Frame, RunInfo
from continua.output.files import file_names
from continua.output.folder import OutputFolder
from continua.output.spool import Spool
from continua.render.composition import DEFAULT_COLOR, check_color

__all__ = ["DeferredSink"]


class DeferredSink:
    """Keeps frames in a spool and turns them into the result at `close`.

    A subclass gives `kind`, `suffix` and `finish`. The result depends on the frames alone, so that it has the
    same bytes however often the run was interrupted. Formats that need the same of each frame share a spool.

    Args:
        folder: Where the results of the run go.
        color: Field that colours the bodies that have it, or "plain"; None for what the run's view says, else
            "von_mises".
    """

    kind: str
    suffix: str
    volume = False

    def __init__(self, folder: str | os.PathLike[str], *, color: str | None = None) -> None:
        self.output = OutputFolder.of(folder)
        self.folder = self.output.path
        self.info = RunInfo()
        self._color = color
        self.spool = Spool(self.output, "plain")

    @property
    def asked_color(self) -> str | None:
        """The field that was asked for to colour the bodies, or "plain"; None if nothing was."""
        asked = self._color or self.info.view.get("color")
        return None if asked is None else str(asked)

    @property
    def color(self) -> str:
        """The field that colours the bodies that have it, or "plain"."""
        return self.asked_color or DEFAULT_COLOR

    @property
    def path(self) -> Path:
        """The file made at the end."""
        return self.folder / (self.file_name + self.suffix)

    @property
    def file_name(self) -> str:
        """The run's name as a file name."""
        return file_names([self.info.name])[self.info.name]

    def open(self, info: RunInfo, start: int = 0) -> None:
        """Keep the first `start` frames, drop all later ones, and remove the result of an earlier end."""
        self.info = info
        self.output.prepare()
        self.spool = Spool(self.output, self.color, volume=self.volume)
        self.spool.open(self.kind, start)
        self.output.remove([self.path])

    def write(self, frame: Frame) -> None:
        """Put the frame into the spool.

        Raises:
            InputError: It is the first one, and no body has the field that was asked for.
        """
        if not self.spool.count:
            check_color(frame, self.asked_color)
        self.spool.append(frame)

    def close(self) -> list[Path]:
        """Make the result; nothing if there were no frames."""
        return self.finish() if self.spool.count else []

    def finish(self) -> list[Path]:
        """Make the result from the spool."""
        raise TypeError(f"{type(self).__name__} does not say how to end")

    def report_done(self, done: int) -> None:
        """Report that `done` frames of the result are made."""
        if self.info.progress is not None:
            self.info.progress(self.kind, done, self.spool.count)
