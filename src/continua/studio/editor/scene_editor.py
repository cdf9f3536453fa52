"""The scene editor: a document, and whether the running world still corresponds to it."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from continua.errors import ContinuaError, InputError
from continua.scene.cost import estimate_cost
from continua.scene.errors import key_text
from continua.studio.editor.document import Document, Edit, InvalidEditError, yaml_text
from continua.studio.editor.document_store import DocumentStore
from continua.studio.editor.parameter_paths import edits_for_parameter
from continua.studio.editor.questions import QuestionError
from continua.studio.editor.sketch_edits import sketch_edits
from continua.studio.editor.starters import STARTERS
from continua.studio.editor.templates import Bounds, new_object, shape_label
from continua.studio.editor.world_sync import WorldSync
from continua.studio.interaction.flow_sketch import plane_flow
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
    from continua.scene import Scene
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
        needs_rebuild: Whether a world built from the document would differ from the running one.
        build_error: Why the document could not be built, in a sentence, or None.
        question: What the user must confirm before the document is built, ready for JSON, or None; its `id` differs
            each time that it is asked.
        warnings: Warnings of the last build, a sentence each.
        message: The document as sent to pages, ready for JSON; `version` counts its changes.
    """

    def __init__(self, document: Document, build_scene: Callable[[SceneEditor], SessionScene]) -> None:
        self.store = DocumentStore(document)
        self.document = document
        self._build_scene = build_scene
        self._built = document.version
        self._attempted = -1
        self._sync = WorldSync(document.scene_or_environment())
        self.needs_rebuild = False
        self.build_error: str | None = None
        self.question: dict[str, Any] | None = None
        self._questions = 0
        self._accepted = (0.0, 0.0)
        self.warnings: list[str] = []
        self.version = 0
        self.message: dict[str, Any] = self.store.describe()

    @property
    def changed(self) -> bool:
        """Whether the document has changed since the world was built from it."""
        return self.document.version != self._built

    def world_version(self, *, rebuilds_on_edit: bool) -> int:
        """Return the version of the document that the world corresponds to.

        A world that is rebuilt after every edit corresponds to the version built last.
        """
        return self._built if rebuilds_on_edit or self.needs_rebuild else self.document.version

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
        self.question = None
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                scene = self._build_scene(self)
        except QuestionError as error:
            self.ask(error)
        except ContinuaError as error:
            self.build_error = _sentence(str(error))
        except Exception as error:  # whatever a mesh or a constant causes, the page must stay alive
            traceback.print_exc()
            self.build_error = f"The scene could not be built: {error}."
        else:
            self.build_error = None
            self.warnings = list(dict.fromkeys(str(warning.message) for warning in caught))[:5]
            self._built = self.document.version
            self._sync = WorldSync(self.document.scene_or_environment())
            self.needs_rebuild = False
            return scene
        return None

    def check_cost(self, scene: Scene) -> None:
        """Raise `InputError` if a scene does not fit this machine's memory, `QuestionError` if it is large.

        What was accepted once is not asked again, unless it becomes larger.
        """
        cost = estimate_cost(scene)
        cost.check_memory()
        memory, seconds = self._accepted
        if cost.is_large and (cost.memory > 1.01 * memory or cost.seconds > 1.01 * seconds):
            message = f"This scene is large: {cost}. Build it anyway?"
            raise QuestionError(message, "Build anyway", {"type": "build", "large": True})

    def accept_cost(self) -> None:
        """Build the document although it is large."""
        cost = estimate_cost(self.document.scene_or_environment())
        self._accepted = (cost.memory, cost.seconds)

    def ask(self, error: QuestionError) -> None:
        """Ask before the document is built."""
        self._questions += 1
        self._attempted, self.needs_rebuild = self.document.version, True
        self.question = {**error.question, "id": self._questions}

    def defer_build(self) -> None:
        """Note that no world was built from the document yet; the one that is shown has no bodies, or a preview."""
        self._built = -1
        self._sync = WorldSync(self.document.environment())
        self.needs_rebuild = True

    def edit(self, command: Command, world: World, panel: ControlPanel) -> None:
        """Execute a command of the editor, and set the parameters that it changes in the running world."""
        match command:
            case EditScene():
                self._apply_edits(command)
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
            case Save(file=file, replace=replace):
                self.store.save(file, replace=replace)
            case Recover():
                self.store.recover()
            case ReplaceScene(text=text):
                self.document.replace(text, "loading a file")
        self.build_error = self.question = None
        self._follow_document(world, panel)
        if self.document.notice:
            notice, self.document.notice = self.document.notice, ""
            raise InputError(notice)

    def add_face_load(self, name: str, face: int, traction: float, world: World, panel: ControlPanel) -> None:
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
        self.build_error = self.question = None
        self._follow_document(world, panel)

    def record_parameter(self, key: str, value: Any, world: World, panel: ControlPanel) -> None:
        """Write a parameter that was set in the world to the document too; if that fails, the world is set back."""
        edits = edits_for_parameter(key, value, self.document.data, world.wind)
        self._sync.note(key, value)
        try:
            if edits:
                self.document.edit(edits, key_text(edits[-1].path), merge=key)
        finally:
            self._follow_document(world, panel)

    def record_sketch(self, command: SketchCommand, world: World, panel: ControlPanel) -> None:
        """Write an obstacle that was added, moved or removed in a 2D flow to the document too."""
        edits = sketch_edits(world, command, self.document.data)
        flow = plane_flow(world)
        if not edits or flow is None:
            return
        merge = f"obstacle {command.number}" if isinstance(command, MoveObstacle) else ""
        self.document.edit(edits, "drawing an obstacle" if not merge else "moving an obstacle", merge=merge)
        self._sync.note_obstacles(self.document.scene(), flow.name)
        self._follow_document(world, panel)

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

    def _follow_document(self, world: World, panel: ControlPanel) -> None:
        """Set the parameters of the world to those of the document."""
        scene = self.document.scene_or_environment()
        self.needs_rebuild = not self._sync.follow(scene, world, panel)
        self.update_message()

    def _apply_edits(self, command: EditScene) -> None:
        edits = [Edit(change.op, tuple(change.path), change.value) for change in command.changes]
        first = key_text(edits[0].path)
        try:
            self.document.edit(edits, command.label, command.merge)
        except InvalidEditError as error:
            same = not error.key or error.key == first or error.key.startswith(first)
            raise InputError(error.message if same else f"{error.key} {error.message}") from None


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
