"""The folder of a run: who owns it, what is in it, and whether a run there may go on."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from continua.errors import InputError
from continua.output import checkpoint
from continua.output.checkpoint import Checkpoint
from continua.output.files import atomic_write, prepare_folder, remove_leftovers
from continua.scene import Scene
from continua.world import World

__all__ = ["CHECKPOINT", "PICTURE", "REPORT", "SCENE", "Results"]

CHECKPOINT = "checkpoint.h5"
PICTURE = "picture.png"
REPORT = "report.json"
SCENE = "scene.yaml"
_MARK = "# fingerprint "
_GEOMETRY = "# geometry "


class Results:
    """The folder of one run."""

    def __init__(self, folder: Path, scene: Scene) -> None:
        self.folder = folder
        self.scene = scene
        self.fingerprint = scene.fingerprint()
        self._foreign: set[str] = set()

    def claim(self, *, resume: bool, force: bool, hint: str) -> Checkpoint | None:
        """Check, before anything is written, that the run may use the folder; return where it goes on.

        Raises:
            InputError: The folder holds something else, or a run of another scene.
        """
        if resume and force:
            raise InputError("--resume goes on and --force starts anew; give one of them")
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("is a file, not a folder; choose another with -o", where=str(self.folder))
        path = self.folder / CHECKPOINT
        if resume and path.is_file():
            return self._check(checkpoint.load(path))
        used = self.folder.is_dir() and any(not item.name.startswith(".") for item in self.folder.iterdir())
        if used and not force:
            what = "holds an earlier run" if path.is_file() else "is not empty"
            how = (
                "--resume to go on, --force to start anew"
                if path.is_file()
                else "--force to write there anyway"
            )
            raise InputError(f"{what}; add {how}, or choose another folder with -o", where=str(self.folder))
        return None

    def _check(self, saved: Checkpoint) -> Checkpoint:
        first = saved.scene.partition("\n")[0]
        if first.removeprefix(_MARK) != self.fingerprint:
            raise InputError(
                "the scene is not the one this run was started with (only its length and output may change); "
                "undo the change, or start anew with --force",
                where=str(self.folder),
            )
        return saved

    def check_geometry(self, saved: Checkpoint, world: World) -> None:
        """Refuse to go on with other meshes: a surface may be filled differently by another version."""
        second = saved.scene.split("\n", 2)[1]
        if second.removeprefix(_GEOMETRY) != _geometry(world):
            raise InputError(
                "the meshes are not those this run was started with; start anew with --force",
                where=str(self.folder),
            )

    def is_finished(self, saved: Checkpoint) -> bool:
        """Tell whether the run in the folder has all frames of the scene and was brought to its end."""
        report = self._read_report()
        frames = World([], dt=self.scene.dt).plan(self.scene.seconds, self.scene.fps)[0] + 1
        return bool(report.get("finished")) and report.get("frames") == saved.frames_done >= frames

    def open(self, world: World, *, fresh: bool) -> None:
        """Make the folder. A fresh run leaves its mark first, so that even an early kill can be resumed."""
        prepare_folder(self.folder)
        remove_leftovers(self.folder)
        if fresh:
            self._clear()
            self.checkpoint(world, 0)
        else:
            ours = {REPORT, PICTURE, CHECKPOINT, SCENE, *self._read_report().get("entries", [])}
            self._foreign = {path.name for path in self.folder.iterdir()} - ours
        with atomic_write(self.folder / SCENE, "w") as file:
            file.write(self.scene.text)

    def _clear(self) -> None:
        """Remove what an earlier run left; other files in the folder are not ours to touch."""
        for name in {REPORT, PICTURE, CHECKPOINT, SCENE, *self._read_report().get("entries", [])}:
            path = self.folder / name
            if path.parent != self.folder or path.is_symlink():
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self._foreign = {path.name for path in self.folder.iterdir()}

    def _read_report(self) -> dict[str, Any]:
        try:
            report = json.loads((self.folder / REPORT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return report if isinstance(report, dict) else {}

    def checkpoint(self, world: World, frames_done: int) -> None:
        """Save the world, from which the run can go on with the same bits."""
        checkpoint.save(
            self.folder / CHECKPOINT,
            world,
            f"{_MARK}{self.fingerprint}\n{_GEOMETRY}{_geometry(world)}\n{self.scene.options_text}",
            frames_done=frames_done,
            seconds=self.scene.seconds,
            fps=self.scene.fps,
        )

    def report(self, data: dict[str, Any]) -> None:
        """Write how the run went, and which entries of the folder it made."""
        entries = {REPORT, *(path.name for path in self.folder.iterdir())} - self._foreign
        data = {**data, "entries": sorted(entries)}
        with atomic_write(self.folder / REPORT, "w") as file:
            json.dump(data, file, indent=2)
            file.write("\n")


def _geometry(world: World) -> str:
    digest = hashlib.sha256()
    for body in world.bodies:
        digest.update(body.shape_bytes())
    return digest.hexdigest()
