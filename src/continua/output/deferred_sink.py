"""Sinks that write one file for the whole run when it ends, from a spool of its frames."""

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
    """Stores frames in a spool and writes the result at `close`.

    A subclass defines `kind`, `suffix` and `finish`. The result depends on the frames alone, so
    interrupted runs give the same bytes. Formats that need the same data of each frame share a spool.

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
        """The field requested as colour of the bodies, or "plain"; None if nothing was."""
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
    def action(self) -> str:
        """What `finish` does, as its progress is called."""
        return f"writing {self.kind}"

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
        """Write the frame to the spool.

        Raises:
            InputError: It is the first one, and no body has the requested field.
        """
        if not self.spool.count:
            check_color(frame, self.asked_color)
        self.spool.append(frame)

    def close(self) -> list[Path]:
        """Write the result; nothing if there were no frames."""
        return self.finish() if self.spool.count else []

    def finish(self) -> list[Path]:
        """Write the result from the spool."""
        raise TypeError(f"{type(self).__name__} does not define `finish`")

    def try_out(self, frame: Frame) -> bool:
        """Do for one frame what `finish` does for each, and drop the result; return False if that takes no time.

        `open` must have been called. The caller measures the time.
        """
        return False

    def report_done(self, done: int) -> None:
        """Report that `done` frames of the result are written."""
        if self.info.progress is not None:
            self.info.progress(self.action, done, self.spool.count)
