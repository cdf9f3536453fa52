"""Records frames of a running world."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from continua.frames import RunInfo
from continua.output import make_sink
from continua.output.folder import OWN_FOLDER
from continua.world import World

__all__ = ["Recorder"]


class Recorder:
    """Writes frames of a running world to a sink, evenly spaced in simulated time.

    Args:
        world: The world.
        name: Name of the run.
        folder: Folder of the result.
        format: Format of the sink.
        fps: Frames per simulated second.
        view: Options for drawing.

    Attributes:
        count: Number of recorded frames.
    """

    def __init__(
        self, world: World, name: str, folder: Path, format: str, fps: float, view: Mapping[str, object]
    ) -> None:
        self.format, self.folder, self.root = format, folder, folder.parent.parent
        self.count = 0
        self._fps = fps
        self._start = world.time
        self._sink = make_sink(format, folder)
        self._progress: Callable[[str, int, int], None] = lambda *_: None
        self._sink.open(
            RunInfo(name=name, fps=fps, view=view, progress=lambda *report: self._progress(*report))
        )
        self.add_frame_if_due(world)

    def add_frame_if_due(self, world: World) -> bool:
        """Record a frame if one is due; return whether it was."""
        due = self._start + self.count / self._fps
        if world.time < due - 1e-9:
            return False
        frame = world.frame()
        self._sink.write(replace(frame, index=self.count, time=world.time - self._start))
        self.count += 1
        return True

    def finish(self, progress: Callable[[str, int, int], None]) -> list[Path]:
        """Write the result and return its files."""
        self._progress = progress
        try:
            return self._sink.close()
        finally:
            shutil.rmtree(self.folder / OWN_FOLDER, ignore_errors=True)

    def discard(self) -> None:
        """Remove the recording."""
        shutil.rmtree(self.folder, ignore_errors=True)
