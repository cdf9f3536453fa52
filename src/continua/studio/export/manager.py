"""Exports of a session: a run of the scene in a process of its own, or a recording of what the page shows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from continua.errors import InputError
from continua.frames import RunInfo
from continua.output import make_sink
from continua.studio.editor.document import Document
from continua.world import World

__all__ = ["FORMATS", "Exports", "Recorder"]

FORMATS = {
    "html": "Replay for any browser (HTML)",
    "mp4": "Film (MP4)",
    "webp": "Film (WebP)",
    "gif": "Film (GIF)",
    "glb": "Animation (GLB)",
    "usd": "Animation (USD)",
    "vtu": "Frames for ParaView (VTU)",
    "png": "Pictures (PNG)",
    "ply": "Meshes (PLY)",
    "obj": "Meshes (OBJ)",
}
"""What can be exported, as people call it."""

_FOLDER = "exports"
_MOST_FILES = 20


class Exports:
    """At most one export at a time, and what earlier ones have made. Any thread may ask.

    Args:
        changed: Called when there is something new to tell.

    Attributes:
        status: All that a page needs to know, ready for JSON.
        version: Counts changes of `status`.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._job: dict[str, Any] | None = None
        self._problem = ""
        self._files: list[dict[str, Any]] = []
        self._known: dict[str, Path] = {}
        self.recorder: Recorder | None = None
        self.version = 0
        self.status: dict[str, Any] = {}
        self._tell()

    def path(self, name: str) -> Path | None:
        """Return the file that was made under this name, or None."""
        with self._lock:
            return self._known.get(name)

    # A run of its own.

    def start(self, document: Document, format: str) -> None:
        """Run a scene from its start into files."""
        _check(format)
        if self._job is not None or self.recorder is not None:
            raise InputError("another export is under way")
        document.scene()  # says what is wrong with it
        asked = {
            "data": document.data,
            "path": str(document.folder / (document.file or f"{document.name}.yaml")),
            "folder": str(_folder(document.folder, document.stem, format)),
            "format": format,
            "name": document.stem,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "continua.studio.export.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._process = process
        self._job = {"format": format, "phase": "starting", "done": 0, "total": 0}
        self._problem = ""
        self._tell()
        threading.Thread(
            target=self._watch, args=(process, asked, document.folder), name="continua-export", daemon=True
        ).start()

    def _watch(self, process: subprocess.Popen[str], asked: dict[str, Any], root: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        last: dict[str, Any] = {}
        with suppress(OSError), process.stdin as pipe:
            pipe.write(json.dumps(asked))
        with process.stdout as lines:
            for line in lines:
                with suppress(json.JSONDecodeError):
                    last = json.loads(line)
                if "phase" in last:
                    self._job = {"format": asked["format"], **last}
                    self._tell()
        process.wait()
        cancelled = self._process is not process
        self._process = self._job = None
        if cancelled:
            shutil.rmtree(asked["folder"], ignore_errors=True)
            self._problem = "the export was cancelled"
        elif "files" in last:
            self._add(asked["format"], [Path(path) for path in last["files"]], root)
        else:
            self._problem = str(last.get("error", "the export ended without a result"))
        self._tell()

    def cancel(self) -> None:
        """End the export at hand."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    # A recording.

    def record(self, world: World, place: Path, format: str, fps: float, view: Mapping[str, object]) -> None:
        """Keep what the world does from now on; `place` is its folder and what its files are called."""
        _check(format)
        if self._job is not None or self.recorder is not None:
            raise InputError("another export is under way")
        folder = _folder(place.parent, f"{place.name}-recorded", format)
        self.recorder = Recorder(world, place.name, folder, format, fps, view)
        self._problem = ""
        self._tell()

    def stop_recording(self, progress: Callable[[str, int, int], None]) -> None:
        """Make the file of what was recorded; it may take a while."""
        recorder, self.recorder = self.recorder, None
        if recorder is None:
            return
        try:
            files = recorder.finish(progress)
        except Exception as error:
            self._problem = str(error)
        else:
            self._add(recorder.format, files, recorder.root)
        self._tell()

    def drop_recording(self) -> None:
        """Forget what was recorded."""
        recorder, self.recorder = self.recorder, None
        if recorder is not None:
            recorder.drop()
            self._tell()

    def close(self) -> None:
        """End everything."""
        self.cancel()
        self.drop_recording()

    # What there is.

    def _add(self, format: str, files: list[Path], root: Path) -> None:
        if not files:
            self._problem = "there were no frames to export"
            return
        first = files[0]
        name = first.relative_to(root).as_posix() if first.is_relative_to(root) else first.name
        entry = {"name": name, "format": format, "count": len(files), "bytes": first.stat().st_size}
        self._files = [entry, *(old for old in self._files if old["name"] != name)][:_MOST_FILES]
        listed = {old["name"] for old in self._files}
        with self._lock:
            self._known = {old: path for old, path in (*self._known.items(), (name, first)) if old in listed}

    def _tell(self) -> None:
        recorder = self.recorder
        self.status = {
            "type": "exports",
            "formats": FORMATS,
            "job": self._job,
            "recording": None if recorder is None else {"format": recorder.format, "frames": recorder.count},
            "files": self._files,
            "problem": self._problem,
        }
        self.version += 1
        self._changed()

    def noted(self) -> None:
        """Tell how long the recording is now."""
        self._tell()


class Recorder:
    """Gives frames of a running world to a sink, evenly in simulated time.

    Args:
        world: The world.
        name: What it is called.
        folder: Where the result goes.
        format: One of `FORMATS`.
        fps: Frames in a simulated second.
        view: How it is drawn.

    Attributes:
        count: Frames kept so far.
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
        self._sink.open(RunInfo(name=name, fps=fps, view=view, progress=lambda *told: self._progress(*told)))
        self.take(world)

    def take(self, world: World) -> bool:
        """Keep a frame if it is time for one; return whether it was."""
        due = self._start + self.count / self._fps
        if world.time < due - 1e-9:
            return False
        frame = world.frame()
        self._sink.write(replace(frame, index=self.count, time=world.time - self._start))
        self.count += 1
        return True

    def finish(self, progress: Callable[[str, int, int], None]) -> list[Path]:
        """Make the result and return its files."""
        self._progress = progress
        try:
            return self._sink.close()
        finally:
            shutil.rmtree(self.folder / ".spool", ignore_errors=True)

    def drop(self) -> None:
        """Remove what was kept."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _check(format: str) -> None:
    if format not in FORMATS:
        raise InputError(f"there is no format '{format}' to export")


def _folder(root: Path, name: str, format: str) -> Path:
    """Return a folder of its own for an export, so that a cancelled one can be removed as a whole."""
    base = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)[:80] or "scene"
    places = (
        root / _FOLDER / f"{base}-{format}{tail}" for tail in ("", *(f"-{n}" for n in range(2, 10_000)))
    )
    return next(place for place in places if not place.exists())
