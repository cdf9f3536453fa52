"""Where a scene is edited: its document, and whether the world that runs still is what the document says."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from continua.errors import ContinuaError, InputError
from continua.scene.problems import key_text
from continua.studio.editor.document import Document, Edit, RefusedError
from continua.studio.editor.document_store import Desk
from continua.studio.editor.parameter_paths import edits_of, knob_of
from continua.studio.editor.templates import SHAPES, new_object
from continua.studio.interaction.flow_sketch import Drawing, drawn_edits
from continua.studio.protocol import (
    Add,
    Command,
    EditScene,
    Recover,
    Redo,
    ReplaceScene,
    Save,
    SketchMove,
    Undo,
)

if TYPE_CHECKING:
    from continua.studio.controls.control_panel import Board
    from continua.studio.session.snapshot import Opening
    from continua.world import World

__all__ = ["Workshop"]


class Workshop:
    """A document and the world built from it. Only the simulation's thread calls it.

    Args:
        document: What is edited.
        make: Builds a world from the document.

    Attributes:
        problem: Why the document could not be built, in a sentence, or None.
        notes: Warnings of the last build, a sentence each.
        version: Counts changes of what `paper` says.
    """

    def __init__(self, document: Document, make: Callable[[Workshop], Opening]) -> None:
        self.desk = Desk(document)
        self.document = document
        self._make = make
        self._built = self._fits = document.version
        self._tried = -1
        self.problem: str | None = None
        self.notes: list[str] = []
        self.version = 0
        self.paper: dict[str, Any] = self.desk.describe()

    @property
    def changed(self) -> bool:
        """Whether the document has changed since the world was built from it."""
        return self.document.version != self._built

    @property
    def stale(self) -> bool:
        """Whether the world that runs differs from the document in something that only a build can change."""
        return self.document.version != self._fits

    def fits(self, *, follows: bool) -> int:
        """Return the version of the document that the world is; one that still follows it is what was built last."""
        return self._built if follows else self._fits

    @property
    def tried(self) -> bool:
        """Whether this version could not be built."""
        return self._tried == self.document.version

    @property
    def seconds(self) -> float:
        """Simulated time of a run [s]."""
        return float(self.document.data.get("seconds", 2.0))

    def build(self) -> Opening | None:
        """Return the world of the document at its start, or None and a `problem`."""
        self._tried = self.document.version
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                opening = self._make(self)
        except ContinuaError as error:
            self.problem = _sentence(str(error))
        except Exception as error:  # whatever a mesh or a constant does, the page lives
            traceback.print_exc()
            self.problem = f"The scene could not be built: {error}."
        else:
            self.problem = None
            self.notes = list(dict.fromkeys(str(warning.message) for warning in caught))[:5]
            self._built = self._fits = self.document.version
            return opening
        return None

    def edit(self, command: Command, world: World, board: Board) -> None:
        """Carry out a command of the editor."""
        fitted = not self.stale
        match command:
            case EditScene():
                self._change(command, board, fitted)
            case Add(kind=kind, shape=shape):
                low, high = _bounds(world)
                key, entry = new_object(kind, shape, self.document.data, low, high)
                self.document.edit([Edit("add", (key,), entry)], f"adding a {SHAPES[shape].lower()}")
            case Undo():
                self.document.undo()
            case Redo():
                self.document.redo()
            case Save(file=file):
                self.desk.save(file)
            case Recover():
                self.desk.recover()
            case ReplaceScene(text=text):
                self.document.replace(text, "loading a file")
        self.problem = None
        self.tell()
        if self.document.notice:
            notice, self.document.notice = self.document.notice, ""
            raise InputError(notice)

    def keep_load(self, name: str, face: int, traction: float) -> None:
        """Add a traction on a face of a body to the document; one that is there already is changed."""
        bodies = self.document.data.get("bodies", [])
        number = next((n for n, body in enumerate(bodies) if body.get("name") == name), None)
        if number is None:
            raise InputError(f"the scene has no body called '{name}'")
        where = {"type": "faces", "faces": [face]}
        loads = bodies[number].get("load_faces", [])
        old = next((n for n, load in enumerate(loads) if load.get("where") == where), None)
        path: tuple[str | int, ...] = ("bodies", number, "load_faces")
        if old is None:
            edit = Edit("add", path, {"where": where, "traction": traction})
        else:
            edit = Edit("set", (*path, old, "traction"), traction)
        self.document.edit([edit], "pressing on a face")
        self.problem = None
        self.tell()

    def note_turn(self, key: str, value: Any, world: World) -> None:
        """Write a knob that was turned into the document too."""
        edits = edits_of(key, value, self.document.data, world.wind)
        if not edits:
            return
        fitted = not self.stale
        self.document.edit(edits, key_text(edits[0].path), merge=key)
        if fitted:
            self._fits = self.document.version
        self.tell()

    def note_drawing(self, command: Drawing, world: World) -> None:
        """Write an obstacle that was drawn, moved or taken away in a plane flow into the document too."""
        edits = drawn_edits(world, command, self.document.data)
        if not edits:
            return
        fitted = not self.stale
        moves = f"obstacle {command.number}" if isinstance(command, SketchMove) else ""
        self.document.edit(edits, "drawing an obstacle" if not moves else "moving an obstacle", merge=moves)
        if fitted:
            self._fits = self.document.version
        self.tell()

    def keep(self, *, at_once: bool = False) -> bool:
        """Save aside what was edited, if it is time to; return whether there is something new to tell."""
        before = self.desk.trouble
        self.desk.keep(at_once=at_once)
        if self.desk.trouble != before:
            self.tell()
            return True
        return False

    def tell(self) -> None:
        """Make a new message for the pages."""
        self.paper = self.desk.describe()
        self.version += 1

    def _change(self, command: EditScene, board: Board, fitted: bool) -> None:
        edits = [Edit(change.op, tuple(change.path), change.value) for change in command.changes]
        first = key_text(edits[0].path)
        try:
            self.document.edit(edits, command.label, command.merge)
        except RefusedError as refusal:
            same = not refusal.key or refusal.key == first or refusal.key.startswith(first)
            raise InputError(refusal.message if same else f"{refusal.key} {refusal.message}") from None
        if fitted and all(_turned(edit, self.document.data, board) for edit in edits):
            self._fits = self.document.version


def _turned(edit: Edit, data: Mapping[str, Any], board: Board) -> bool:
    """Turn the knob that belongs to an edit, if there is one; return whether there was."""
    key = knob_of(edit.path, data) if edit.op == "set" else None
    if key is None or key not in board.values():
        return False
    try:
        board.turn(key, tuple(edit.value) if isinstance(edit.value, list) else edit.value)
    except (InputError, TypeError):
        return False
    return True


def _bounds(world: World) -> tuple[Any, Any]:
    """Return the corners of a box around all bodies, or None twice; a plane has no place beside it."""
    frame = world.frame()
    points = [body.positions for body in frame]
    for about in frame.colliders:
        if "center" in about and about.get("kind") == "sphere":
            center, radius = np.asarray(about["center"]), float(about["radius"])  # type: ignore[arg-type]
            points.append(np.stack([center - radius, center + radius]))
        elif about.get("kind") == "mesh":
            points.append(np.asarray(about["points"]))
    if not points:
        return None, None
    everything = np.concatenate(points)
    return everything.min(axis=0), everything.max(axis=0)


def _sentence(text: str) -> str:
    text = text.splitlines()[0]
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
