"""The folder of a run: its lock, its contents, and the frame from which a run continues."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from continua import checkpoint
from continua.atomic_io import atomic_write
from continua.checkpoint import Checkpoint
from continua.errors import InputError
from continua.output.folder import OutputFolder
from continua.output.lock import FolderLock
from continua.scene import Scene
from continua.world import World

__all__ = ["CHECKPOINT", "PICTURE", "REPORT", "SCENE", "Results"]

CHECKPOINT = "checkpoint.h5"
PICTURE = "picture.png"
REPORT = "report.json"
SCENE = "scene.yaml"
_FINGERPRINT = "# fingerprint "
_GEOMETRY = "# geometry "


class Results:
    """The folder of one run, locked from `claim` or `open` until `close`."""

    def __init__(self, folder: Path, scene: Scene) -> None:
        self.output = OutputFolder(folder)
        self.folder = self.output.path
        self.scene = scene
        self.fingerprint = scene.fingerprint()
        self._lock = FolderLock(self.folder)
        self._force = False

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def claim(self, *, resume: bool, force: bool) -> Checkpoint | None:
        """Check, before anything is written, that the run may use the folder; return the checkpoint to continue from.

        Raises:
            InputError: The folder holds something else, or a run of another scene, or another run writes to it.
        """
        if resume and force:
            raise InputError("--resume continues and --force starts again; use only one of them")
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file, not a folder; choose another with -o", where=str(self.folder))
        self._lock.check()
        self._force = force
        if resume and (self.folder / CHECKPOINT).is_file():
            self._lock.acquire()
            return self._check(checkpoint.load(self.folder / CHECKPOINT))
        if not force:
            self._check_unused()
        return None

    def _check_unused(self) -> None:
        if not self.folder.is_dir() or all(item.name.startswith(".") for item in self.folder.iterdir()):
            return
        earlier = (self.folder / CHECKPOINT).is_file()
        what = "holds an earlier run" if earlier else "is not empty"
        how = "--resume to continue, --force to start again" if earlier else "--force to write there anyway"
        raise InputError(f"{what}; add {how}, or choose another folder with -o", where=str(self.folder))

    def _check(self, saved: Checkpoint) -> Checkpoint:
        first = saved.scene.partition("\n")[0]
        if first.removeprefix(_FINGERPRINT) != self.fingerprint:
            raise InputError(
                "the scene is not the one this run was started with (only its length and output may change); "
                "undo the change, or start again with --force",
                where=str(self.folder),
            )
        return saved

    def check_geometry(self, saved: Checkpoint, world: World) -> None:
        """Reject other meshes on resume: a surface may be filled differently by another version."""
        second = saved.scene.split("\n", 2)[1]
        if second.removeprefix(_GEOMETRY) != _geometry(world):
            raise InputError(
                "the meshes are not those this run was started with; start again with --force",
                where=str(self.folder),
            )

    def is_finished(self, saved: Checkpoint) -> bool:
        """Return whether the run in the folder has all frames of the scene and was finished."""
        report = self.read_report()
        frames = World([], dt=self.scene.dt).frame_plan(self.scene.seconds, self.scene.fps)[0] + 1
        return bool(report.get("finished")) and report.get("frames") == saved.frames_done >= frames

    def missing_formats(self) -> list[str]:
        """Return the formats that are requested now but were not when the run in the folder ended."""
        written = self.read_report().get("formats")
        return [
            kind for kind in self.scene.output.formats if isinstance(written, list) and kind not in written
        ]

    def open(self, world: World, *, fresh: bool) -> None:
        """Create the folder and lock it. A fresh run writes a checkpoint first, so that it can be resumed."""
        self.output.prepare()
        if not self._lock.held:
            self._lock.acquire()
            if not self._force:
                self._check_unused()  # another run may have ended here since `claim`
        if fresh:
            self.output.clear(first=CHECKPOINT)
            self.checkpoint(world, 0)
        with atomic_write(self.output.record(self.folder / SCENE), "w") as file:
            file.write(self.scene.text)
        for name in (REPORT, PICTURE):  # a file of the user in their place is reported now, not at the end
            self.output.record(self.folder / name)

    def read_report(self) -> dict[str, Any]:
        """Return the report in the folder; empty if there is none."""
        try:
            report = json.loads((self.folder / REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return report if isinstance(report, dict) else {}

    def checkpoint(self, world: World, frames_done: int) -> None:
        """Save the world; a run resumed from here is bitwise identical to an uninterrupted one."""
        checkpoint.save(
            self.output.record(self.folder / CHECKPOINT),
            world,
            f"{_FINGERPRINT}{self.fingerprint}\n{_GEOMETRY}{_geometry(world)}\n{self.scene.options_text}",
            frames_done=frames_done,
            seconds=self.scene.seconds,
            fps=self.scene.fps,
        )

    def report(self, data: dict[str, Any]) -> None:
        """Write the report of the run."""
        with atomic_write(self.output.record(self.folder / REPORT), "w") as file:
            json.dump(data, file, indent=2)
            file.write("\n")


def _geometry(world: World) -> str:
    digest = hashlib.sha256()
    for body in world.bodies:
        digest.update(body.geometry_bytes())
    return digest.hexdigest()
