"""Every kind of scene, and a body whose mesh changes: killed and resumed with other threads, files are identical.

`python -m validation.kills` does the same with every scene and longer runs, killed at random times.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from continua.scene import Scene, load_scene, shipped_scenes

STEPS = 6
CHECKPOINT_EVERY = 2  # frames; a frame is one step here

CHANGING: dict[str, Any] = {
    "name": "changing",
    "bodies": [
        {
            "type": "soft",
            "name": "bar",
            "mesh": {"type": "box", "size": [0.4, 0.1, 0.1], "cells": [4, 1, 1]},
            "pin": [{"where": "left"}],
        }
    ],
    "changes": [
        {
            "type": "refine", "time": 0.01, "body": "bar",
            "where": {"type": "box", "min": [0.1, -1, -1], "max": [0.3, 1, 1]},
        },
        {
            "type": "split", "time": 0.03, "body": "bar",
            "where": {"type": "half_space", "point": [0.2, 0, 0], "normal": [1, 0, 0]},
        },
    ],
}  # fmt: skip
"""A body whose mesh is refined before the second step and split before the fourth."""

SIMILAR = {
    "beam", "bridge", "dam-break", "double-dam", "horse", "jelly", "karman", "puddle", "squeeze", "stairs", "torsion"
}  # fmt: skip
"""Scenes of which another one has all kinds of bodies and boundary conditions."""

# Children are forked from a process that has loaded Continua but has not started threads.
CONTEXT = (
    multiprocessing.get_context("forkserver") if hasattr(os, "fork") else multiprocessing.get_context("spawn")
)
CONTEXT.set_forkserver_preload(["continua.cli.run", "continua.render", "continua.coupling"])


def short(name: str) -> Scene:
    """Return a scene of a few steps, one frame each."""
    scene = Scene.from_data(CHANGING) if name == "changing" else load_scene(name)
    grid = any(body.type in ("smoke", "liquid", "wind_tunnel") for body in scene.bodies)
    output = {"formats": ["vtu", "vti"] if grid else ["vtu"], "checkpoint_every": CHECKPOINT_EVERY}
    return scene.with_options(seconds=STEPS * scene.dt, fps=1.0 / scene.dt, output=output)


def run(name: str, folder: Path, threads: int, kill_at: int | None) -> None:
    """Run a short scene in this process, which is killed before step `kill_at`."""
    from continua.cli.run import run_scene
    from continua.world import World

    step = World.step

    def step_or_die(world: World, dt: float | None = None) -> Any:
        if world.step_index == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(world, dt)

    World.step = step_or_die  # type: ignore[method-assign]
    resume = (folder / "checkpoint.h5").exists()
    raise SystemExit(run_scene(short(name), name, folder=folder, threads=threads, resume=resume, quiet=True))


def child(*args: Any) -> int | None:
    process = CONTEXT.Process(target=run, args=args)
    process.start()
    process.join(300)
    return process.exitcode


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files but the report, which has wall-clock times, and the list of the files."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".continua" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != "report.json"}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("name", [*(name for name in shipped_scenes() if name not in SIMILAR), "changing"])
def test_a_killed_run_continues_bitwise_identically(tmp_path: Path, name: str) -> None:
    threads = min(2, os.cpu_count() or 1)
    assert child(name, tmp_path / "whole", threads, None) == 0
    kill_at = random.Random(name).randint(CHECKPOINT_EVERY, STEPS - 1)
    assert child(name, tmp_path / "killed", threads, kill_at) == -signal.SIGKILL
    assert child(name, tmp_path / "killed", 1, None) == 0
    whole, killed = contents(tmp_path / "whole"), contents(tmp_path / "killed")
    assert whole.keys() == killed.keys()
    assert [file for file in whole if whole[file] != killed[file]] == []
    assert len([file for file in whole if file.startswith("vtu")]) % (STEPS + 1) == 0
