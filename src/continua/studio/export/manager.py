"""Exports of a session: a run of the scene in a separate process, or a recording of what the page shows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from continua.errors import InputError
from continua.output import SINKS
from continua.studio.export.recorder import Recorder

if TYPE_CHECKING:
    from continua.studio.editor.document import Document
    from continua.world import World

__all__ = ["ExportManager", "export_formats"]

_EXPORT_FOLDER = "exports"
_MAX_FILES = 20


class ExportManager:
    """Runs at most one export at a time, and lists the files of earlier ones. Any thread may read it.

    Args:
        changed: Called when the status has changed.

    Attributes:
        recorder: The current recording, or None.
        status: State of the exports, ready for JSON; `version` counts its changes.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._job: dict[str, Any] | None = None
        self._error = ""
        self._files: list[dict[str, Any]] = []
        self._paths: dict[str, Path] = {}
        self.recorder: Recorder | None = None
        self.version = 0
        self.status: dict[str, Any] = {}
        self.update_status()

    def path(self, name: str) -> Path | None:
        """Return the exported file with this name, or None."""
        with self._lock:
            return self._paths.get(name)

    # Exports in a separate process.

    def start(self, document: Document, format: str) -> None:
        """Run a scene from its start and write files, in a separate process."""
        _check_format(format)
        if self._job is not None or self.recorder is not None:
            raise InputError("another export is running")
        document.scene()  # raises an error if it is invalid
        request = {
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
        self._error = ""
        self.update_status()
        threading.Thread(
            target=self._watch, args=(process, request, document.folder), name="continua-export", daemon=True
        ).start()

    def _watch(self, process: subprocess.Popen[str], request: dict[str, Any], root: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        last: dict[str, Any] = {}
        with suppress(OSError), process.stdin as pipe:
            pipe.write(json.dumps(request))
        with process.stdout as lines:
            for line in lines:
                with suppress(json.JSONDecodeError):
                    last = json.loads(line)
                if "phase" in last:
                    self._job = {"format": request["format"], **last}
                    self.update_status()
        process.wait()
        cancelled = self._process is not process
        self._process = self._job = None
        if cancelled:
            shutil.rmtree(request["folder"], ignore_errors=True)
            self._error = "the export was cancelled"
        elif "files" in last:
            self._add(request["format"], [Path(path) for path in last["files"]], root)
        else:
            self._error = str(last.get("error", "the export ended without a result"))
        self.update_status()

    def cancel(self) -> None:
        """Cancel the current export."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    # Recordings.

    def record(self, world: World, path: Path, format: str, fps: float, view: Mapping[str, object]) -> None:
        """Record the world from now on; `path` is the folder and the base name of its files."""
        _check_format(format)
        if self._job is not None or self.recorder is not None:
            raise InputError("another export is running")
        folder = _folder(path.parent, f"{path.name}-recorded", format)
        self.recorder = Recorder(world, path.name, folder, format, fps, view)
        self._error = ""
        self.update_status()

    def stop_recording(self, progress: Callable[[str, int, int], None]) -> None:
        """Write the recording to a file; it may take a while."""
        recorder, self.recorder = self.recorder, None
        if recorder is None:
            return
        try:
            files = recorder.finish(progress)
        except Exception as error:
            self._error = str(error)
        else:
            self._add(recorder.format, files, recorder.root)
        self.update_status()

    def discard_recording(self) -> None:
        """Discard the recording."""
        recorder, self.recorder = self.recorder, None
        if recorder is not None:
            recorder.discard()
            self.update_status()

    def close(self) -> None:
        """Cancel everything."""
        self.cancel()
        self.discard_recording()

    # Status.

    def _add(self, format: str, files: list[Path], root: Path) -> None:
        if not files:
            self._error = "there were no frames to export"
            return
        first = files[0]
        name = first.relative_to(root).as_posix() if first.is_relative_to(root) else first.name
        entry = {"name": name, "format": format, "count": len(files), "bytes": first.stat().st_size}
        self._files = [entry, *(old for old in self._files if old["name"] != name)][:_MAX_FILES]
        listed = {old["name"] for old in self._files}
        with self._lock:
            self._paths = {old: path for old, path in (*self._paths.items(), (name, first)) if old in listed}

    def update_status(self) -> None:
        """Update `status`, such as the number of recorded frames, and notify."""
        recorder = self.recorder
        self.status = {
            "type": "exports",
            "formats": export_formats(),
            "job": self._job,
            "recording": None if recorder is None else {"format": recorder.format, "frames": recorder.count},
            "files": self._files,
            "error": self._error,
        }
        self.version += 1
        self._changed()


def export_formats() -> dict[str, str]:
    """Return the labels of the formats that the studio can export."""
    return {name: kind.title for name, kind in SINKS.items() if kind.title}


def _check_format(format: str) -> None:
    if format not in export_formats():
        raise InputError(f"there is no export format '{format}'")


def _folder(root: Path, name: str, format: str) -> Path:
    """Return a new folder for an export, so that a cancelled one can be removed completely."""
    base = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)[:80] or "scene"
    candidates = (
        root / _EXPORT_FOLDER / f"{base}-{format}{tail}"
        for tail in ("", *(f"-{n}" for n in range(2, 10_000)))
    )
    return next(folder for folder in candidates if not folder.exists())
