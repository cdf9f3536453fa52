"""Runs a scene from its start into files, in a process of its own, and tells how far it is in lines of JSON.

The studio starts it as `python -m continua.studio.export.worker` and writes one JSON object to its input: `data` of the
scene, `path` of its file, `folder` for the results, `format`, and the `name` of the run. A process of its own keeps the
page's simulation undisturbed, and can be ended at any moment.
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
from continua.scene import Scene
from continua.scene.problems import Source
from continua.scene.run_info import run_info

__all__ = ["main"]

_PAUSE = 0.1  # s between two lines


def main() -> None:
    """Read what is wanted, do it, and say how it went."""
    asked = json.loads(sys.stdin.read())
    told = _Teller()
    warnings.simplefilter("ignore")
    try:
        files = _export(asked, told)
    except ContinuaError as error:
        told.say({"error": str(error)})
    except Exception as error:  # whatever it is, the page says it
        told.say({"error": f"the export failed: {error}"})
    else:
        told.say({"files": [str(path) for path in files]})


class _Teller:
    """Writes lines; not more than a few a second while something goes on."""

    def __init__(self) -> None:
        self._last = 0.0

    def say(self, message: dict[str, Any]) -> None:
        print(json.dumps(message), flush=True)

    def progress(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last > _PAUSE:
            self._last = now
            self.say({"phase": phase, "done": done, "total": total})


def _export(asked: dict[str, Any], told: _Teller) -> list[Path]:
    folder, kind = Path(asked["folder"]), asked["format"]
    told.say({"phase": "building", "done": 0, "total": 0})
    scene = Scene.from_data(asked["data"], Source(path=Path(asked["path"])))
    world = scene.build()
    sink = make_sink(kind, folder)
    info = run_info(scene, lambda _what, done, total: told.progress("writing", done, total))
    sink.open(replace(info, name=asked["name"]))
    frames = world.plan(scene.seconds, scene.fps)[0] + 1
    told.say({"phase": "simulating", "done": 0, "total": frames})
    for frame in world.run(scene.seconds, scene.fps):
        sink.write(frame)
        told.progress("simulating", frame.index + 1, frames)
    told.say({"phase": "writing", "done": 0, "total": frames})
    files = sink.close()
    shutil.rmtree(folder / ".spool", ignore_errors=True)
    return files


if __name__ == "__main__":
    main()
