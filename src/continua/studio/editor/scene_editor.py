"""The scene editor: a document, and whether the running world still corresponds to it."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from continua.errors import ContinuaError, InputError
from continua.scene.errors import key_text
from continua.studio.editor.document import Document, Edit, InvalidEditError, yaml_text
from continua.studio.editor.document_store import DocumentStore
from continua.studio.editor.parameter_paths import edits_for_parameter, parameter_at
from continua.studio.editor.sketch_edits import sketch_edits
from continua.studio.editor.starters import STARTERS
from continua.studio.editor.templates import Bounds, new_object, shape_label
from continua.studio.protocol import (
    AddShape,
    Command,
    EditScene,
    MoveObstacle,
    Recover,
    Redo,
    ReplaceScene,
    Save,
    StartFrom,
    Undo,
)

if TYPE_CHECKING:
    from continua.studio.controls.control_panel import ControlPanel
    from continua.studio.interaction.flow_sketch import SketchCommand
    from continua.studio.session.snapshot import SessionScene
    from continua.world import World

__all__ = ["SceneEditor"]


class SceneEditor:
    """A document and the world built from it. Only the simulation's thread calls it.

    Args:
        document: The document.
        build_scene: Builds a world from the document.

    Attributes:
        store: The files of the document.
        build_error: Why the document could not be built, in a sentence, or None.
        warnings: Warnings of the last build, a sentence each.
        message: The document as sent to pages, ready for JSON; `version` counts its changes.
    """

    def __init__(self, document: Document, build_scene: Callable[[SceneEditor], SessionScene]) -> None:
        self.store = DocumentStore(document)
        self.document = document
        self._build_scene = build_scene
        self._built = self._matching = document.version
        self._attempted = -1
        self.build_error: str | None = None
        self.warnings: list[str] = []
        self.version = 0
        self.message: dict[str, Any] = self.store.describe()

    @property
    def changed(self) -> bool:
        """Whether the document has changed since the world was built from it."""
        return self.document.version != self._built

    @property
    def needs_rebuild(self) -> bool:
        """Whether the running world differs from the document in something that only a build can change."""
        return self.document.version != self._matching

    def world_version(self, *, rebuilds_on_edit: bool) -> int:
        """Return the version of the document that the world corresponds to.

        A world that is rebuilt after every edit corresponds to the version built last.
        """
        return self._built if rebuilds_on_edit else self._matching

    @property
    def build_attempted(self) -> bool:
        """Whether a build of the current version was attempted."""
        return self._attempted == self.document.version

    @property
    def seconds(self) -> float:
        """Simulated time of a run [s]."""
        return float(self.document.data.get("seconds", 2.0))

    def build(self) -> SessionScene | None:
        """Return the world of the document at its start, or None and set `build_error`."""
        self._attempted = self.document.version
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                scene = self._build_scene(self)
        except ContinuaError as error:
            self.build_error = _sentence(str(error))
        except Exception as error:  # whatever a mesh or a constant causes, the page must stay alive
            traceback.print_exc()
            self.build_error = f"The scene could not be built: {error}."
        else:
            self.build_error = None
            self.warnings = list(dict.fromkeys(str(warning.message) for warning in caught))[:5]
            self._built = self._matching = self.document.version
            return scene
        return None

    def defer_first_build(self) -> None:
        """Say that no world was built from the document yet."""
        self._built = self._matching = -1

    def edit(self, command: Command, world: World, panel: ControlPanel) -> None:
        """Execute a command of the editor."""
        matched = not self.needs_rebuild
        match command:
            case EditScene():
                self._apply_edits(command, panel, matched)
            case AddShape(kind=kind, shape=shape):
                edits = new_object(kind, shape, self.document.data, _bounds(world))
                self.document.edit(edits, f"adding a {shape_label(shape).lower()}")
            case StartFrom(name=name):
                if name not in STARTERS:
                    raise InputError(f"there is no scene '{name}' to start from")
                starter = STARTERS[name]
                self.document.replace(yaml_text(starter.scene), f"starting with {starter.title.lower()}")
            case Undo():
                self.document.undo()
            case Redo():
                self.document.redo()
            case Save(file=file):
                self.store.save(file)
            case Recover():
                self.store.recover()
            case ReplaceScene(text=text):
                self.document.replace(text, "loading a file")
        self.build_error = None
        self.update_message()
        if self.document.notice:
            notice, self.document.notice = self.document.notice, ""
            raise InputError(notice)

    def add_face_load(self, name: str, face: int, traction: float) -> None:
        """Add a traction on a face of a body to the document, or change an existing one."""
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
        self.document.edit([edit], "loading a face")
        self.build_error = None
        self.update_message()

    def record_parameter(self, key: str, value: Any, world: World) -> None:
        """Write a changed parameter to the document too."""
        edits = edits_for_parameter(key, value, self.document.data, world.wind)
        if not edits:
            return
        matched = not self.needs_rebuild
        self.document.edit(edits, key_text(edits[0].path), merge=key)
        if matched:
            self._matching = self.document.version
        self.update_message()

    def record_sketch(self, command: SketchCommand, world: World) -> None:
        """Write an obstacle that was added, moved or removed in a 2D flow to the document too."""
        edits = sketch_edits(world, command, self.document.data)
        if not edits:
            return
        matched = not self.needs_rebuild
        merge = f"obstacle {command.number}" if isinstance(command, MoveObstacle) else ""
        self.document.edit(edits, "drawing an obstacle" if not merge else "moving an obstacle", merge=merge)
        if matched:
            self._matching = self.document.version
        self.update_message()

    def autosave(self, *, force: bool = False) -> bool:
        """Autosave edits if it is time to; return whether the message for pages has changed."""
        before = self.store.autosave_error
        self.store.autosave(force=force)
        if self.store.autosave_error != before:
            self.update_message()
            return True
        return False

    def update_message(self) -> None:
        """Update the message for pages."""
        self.message = self.store.describe()
        self.version += 1

    def _apply_edits(self, command: EditScene, panel: ControlPanel, matched: bool) -> None:
        edits = [Edit(change.op, tuple(change.path), change.value) for change in command.changes]
        first = key_text(edits[0].path)
        try:
            self.document.edit(edits, command.label, command.merge)
        except InvalidEditError as error:
            same = not error.key or error.key == first or error.key.startswith(first)
            raise InputError(error.message if same else f"{error.key} {error.message}") from None
        if matched and all(_apply_to_world(edit, self.document.data, panel) for edit in edits):
            self._matching = self.document.version


def _apply_to_world(edit: Edit, data: Mapping[str, Any], panel: ControlPanel) -> bool:
    """Set the parameter that corresponds to an edit; return whether there is one and it could be set."""
    key = parameter_at(edit.path, data) if edit.op == "set" else None
    if key is None or key not in panel.values():
        return False
    try:
        panel.set_value(key, tuple(edit.value) if isinstance(edit.value, list) else edit.value)
    except (InputError, TypeError):
        return False
    return True


def _bounds(world: World) -> dict[str, Bounds]:
    """Return the corners of boxes around all bodies and finite colliders; those of bodies by their names."""
    frame = world.frame()
    bounds: dict[str, Bounds] = {}
    for body in frame:
        if body.volume is not None:
            low = np.asarray(body.volume.origin)
            bounds[body.name] = low, low + body.volume.spacing * np.asarray(body.volume.shape)
        elif len(body.positions):
            bounds[body.name] = body.positions.min(axis=0), body.positions.max(axis=0)
    for number, about in enumerate(frame.colliders):
        if "center" in about and about.get("kind") == "sphere":
            center, radius = np.asarray(about["center"]), float(about["radius"])  # type: ignore[arg-type]
            bounds[f"collider {number}"] = center - radius, center + radius
        elif about.get("kind") == "mesh":
            points = np.asarray(about["points"])
            bounds[f"collider {number}"] = points.min(axis=0), points.max(axis=0)
    return bounds


def _sentence(text: str) -> str:
    text = text.splitlines()[0]
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
