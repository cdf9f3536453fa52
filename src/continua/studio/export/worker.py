"""Runs a scene from its start, writes files, and reports its progress as lines of JSON.

The studio starts it as `python -m continua.studio.export.worker` and writes one JSON object to its input: `data` of the
scene, `path` of its file, `folder` for the results, `format`, and the `name` of the run. A separate process does not
disturb the page's simulation, and can be killed at any time.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from continua.errors import ContinuaError
from continua.output import make_sink
from continua.output.folder import OWN_FOLDER
from continua.scene import Scene
from continua.scene.errors import Source
from continua.scene.run_info import run_info

__all__ = ["main"]

_REPORT_INTERVAL = 0.1  # s between two lines


def main() -> None:
    """Read the request, execute it, and report the result."""
    request = json.loads(sys.stdin.read())
    reporter = _Reporter()
    warnings.simplefilter("ignore")
    try:
        files = _export(request, reporter)
    except ContinuaError as error:
        reporter.send({"error": str(error)})
    except Exception as error:  # the page shows any error
        reporter.send({"error": f"the export failed: {error}"})
    else:
        reporter.send({"files": [str(path) for path in files]})


class _Reporter:
    """Writes lines of JSON; progress at most a few times per second."""

    def __init__(self) -> None:
        self._last = 0.0

    def send(self, message: dict[str, Any]) -> None:
        print(json.dumps(message), flush=True)

    def progress(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last > _REPORT_INTERVAL:
            self._last = now
            self.send({"phase": phase, "done": done, "total": total})


def _export(request: dict[str, Any], reporter: _Reporter) -> list[Path]:
    folder, kind = Path(request["folder"]), request["format"]
    reporter.send({"phase": "building", "done": 0, "total": 0})
    scene = Scene.from_data(request["data"], Source(path=Path(request["path"])))
    world = scene.build()
    sink = make_sink(kind, folder)
    info = run_info(scene, lambda _what, done, total: reporter.progress("writing", done, total))
    sink.open(replace(info, name=request["name"]))
    frames = world.frame_plan(scene.seconds, scene.fps)[0] + 1
    reporter.send({"phase": "simulating", "done": 0, "total": frames})
    for frame in world.run(scene.seconds, scene.fps):
        sink.write(frame)
        reporter.progress("simulating", frame.index + 1, frames)
    reporter.send({"phase": "writing", "done": 0, "total": frames})
    files = sink.close()
    shutil.rmtree(folder / OWN_FOLDER, ignore_errors=True)
    return files


if __name__ == "__main__":
    main()
