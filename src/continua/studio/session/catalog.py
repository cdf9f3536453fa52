"""The scenes that the page lists, and how each is built."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from continua.errors import InputError
from continua.numerics.precompile import Precompiler
from continua.scene import Scene, load_scene, shipped_scenes
from continua.scene.build import build_world
from continua.scene.build_environment import build_collider, build_wind
from continua.scene.kernel_plan import expected_kernels, missing_kernels
from continua.studio.editor.document import Document, empty_scene
from continua.studio.editor.questions import QuestionError
from continua.studio.editor.scene_editor import SceneEditor
from continua.studio.session.preview import preview_world
from continua.studio.session.session import Session
from continua.studio.session.snapshot import SessionScene
from continua.world import World

__all__ = ["Catalog", "compile_kernels", "open_session"]

_PREVIEW_SECONDS = 2.0
_SHORT_PREVIEW_SECONDS = 0.3  # if all kernels are compiled, so that the world is ready soon

_PAGE_WAIT = 1.0  # s, if kernels have to be compiled, or if nobody knows which
_attempted: set[str] = set()

KernelProgress = Callable[[int, int, float], None]
"""Called with the number of kernels that are compiled, the number of all, and the seconds left; may raise to stop."""


class Catalog:
    """The shipped scenes, those in the working folder, and the one that the studio was started with.

    Args:
        first: The scene that the studio was started with; None for an empty scene.
        folder: Folder for opening and saving scenes; by default that of the first scene, or the current one.
        ask: Whether large scenes are built only after a page has confirmed it.

    Attributes:
        kernel_progress: Called while the kernels of a scene are compiled, before its world is built; or None.
    """

    def __init__(self, first: Scene | World | None, folder: Path | None = None, *, ask: bool = True) -> None:
        self.first = first
        self._ask = ask
        self.kernel_progress: KernelProgress | None = None
        self.first_name = "" if first is None else first.name
        path = first.path if isinstance(first, Scene) else None
        self._modified_ns = 0 if path is None else _modified_ns(path)
        shipped = path is not None and path in shipped_scenes().values()
        self.folder = folder or (path.parent if path is not None and not shipped else Path.cwd())
        self.names = list(shipped_scenes())
        if self.first_name and self.first_name not in self.names:
            self.names.insert(0, self.first_name)

    def listing(self) -> list[dict[str, str]]:
        """Return `name` and `description` of each scene; unreadable scene files are left out."""
        entries = []
        for name in self.names:
            try:
                scene = self.first if name == self.first_name else load_scene(name)
            except InputError:
                continue
            entries.append({"name": name, "description": getattr(scene, "description", "")})
        return entries

    def open(self, name: str) -> SessionScene:
        """Return a scene of the list or of the folder at its start; an empty scene for an empty name."""
        if not name:
            return self._open_editor(Document(empty_scene(), self.folder), play=False)
        if name in self.names:
            scene = self._current_first() if name == self.first_name else load_scene(name)
        elif Path(name).name == name and name.endswith((".yaml", ".yml")) and (self.folder / name).is_file():
            scene = load_scene(self.folder / name)
        else:
            raise InputError(f'there is no scene called "{name}" in the list')
        if isinstance(scene, World):
            scene.reset()
            return SessionScene(scene)
        assert scene is not None
        return self._open_editor(Document.of(scene, self.folder), scene)

    def _current_first(self) -> Scene | World | None:
        """Return the scene that the studio was started with, reloaded if its file has changed since."""
        path = self.first.path if isinstance(self.first, Scene) else None
        return (
            self.first if path is None or _modified_ns(path) in (0, self._modified_ns) else load_scene(path)
        )

    def _open_editor(
        self, document: Document, scene: Scene | None = None, *, play: bool = True
    ) -> SessionScene:
        editor = self._editor(document, play=play)
        try:
            return self._build(editor, scene, play=play)
        except QuestionError as error:
            editor.defer_build()
            editor.ask(error)
            return _surroundings(editor)

    def preview(self) -> SessionScene | None:
        """Return a picture of the scene that the studio was started with, whose world is still to be built.

        None if there is nothing to wait for: an empty scene, or a world made in Python.
        """
        scene = self._current_first()
        if not isinstance(scene, Scene):
            return None
        editor = self._editor(Document.of(scene, self.folder), play=True)
        editor.defer_build()
        cold = bool(missing_kernels(scene)) or not expected_kernels(scene)
        world = preview_world(scene, _PREVIEW_SECONDS if cold else _SHORT_PREVIEW_SECONDS)
        wait = _PAGE_WAIT if cold else 0.0
        return SessionScene(world, *_display(scene), editor, is_preview=True, page_wait=wait)

    def _editor(self, document: Document, *, play: bool) -> SceneEditor:
        editor = SceneEditor(document, partial(self._build, play=play))
        if not self._ask:
            editor.accept_cost()
        return editor

    def _build(self, editor: SceneEditor, scene: Scene | None = None, *, play: bool) -> SessionScene:
        return build_session_scene(editor, scene, play=play, kernel_progress=self.kernel_progress)


def _modified_ns(path: Path) -> int:
    """Return the modification time of a file [ns], or 0 if it does not exist."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def compile_kernels(scene: Scene, progress: KernelProgress | None = None) -> None:
    """Compile the kernels that a scene needs and that are not compiled yet, in other processes.

    What they could not compile is not tried again: it is compiled when it is called.
    """
    missing = {repr(request): request for request in missing_kernels(scene)}
    missing = {key: request for key, request in missing.items() if key not in _attempted}
    if missing:
        print(f"continua: compiling {len(missing)} kernels (once) ...", flush=True)
        Precompiler(list(missing.values())).wait(progress)
        _attempted.update(missing)


def build_session_scene(
    editor: SceneEditor,
    scene: Scene | None = None,
    *,
    play: bool = True,
    kernel_progress: KernelProgress | None = None,
) -> SessionScene:
    """Build the world of a document; its time step is that of a run, so that both are bitwise identical."""
    document = editor.document
    if not document.data.get("bodies"):
        return _surroundings(editor)
    if scene is None:
        scene = document.scene()
    editor.check_cost(scene)
    compile_kernels(scene, kernel_progress)
    world = build_world(scene)
    _, steps, world.dt = world.frame_plan(scene.seconds, scene.fps)
    return SessionScene(world, *_display(scene), editor, play, (steps, scene.fps))


def _display(scene: Scene) -> tuple[str | None, dict[str, Any]]:
    """Return the field that colours the bodies of a scene, and its camera."""
    picture = scene.output.picture
    color = None if picture.color == "plain" else picture.color
    return color, {} if picture.camera is None else picture.camera.model_dump(exclude_none=True)


def _surroundings(editor: SceneEditor) -> SessionScene:
    """Build the world of a document without its bodies."""
    scene = editor.document.environment()
    world = World(
        [],
        gravity=scene.gravity,
        dt=scene.dt,
        colliders=[build_collider(scene, spec, "colliders", k) for k, spec in enumerate(scene.colliders)],
        wind=build_wind(scene),
        name=editor.document.name,
    )
    _, _, world.dt = world.frame_plan(scene.seconds, scene.fps)
    return SessionScene(world, editor=editor, play=False)


def open_session(
    scene: Scene | World | str | Path | None,
    folder: Path | None = None,
    *,
    ask: bool = True,
    preview: bool = False,
) -> tuple[Session, list[dict[str, str]]]:
    """Return a session that shows `scene`, or an empty one for None, and the entries of the scene picker.

    With `ask`, a large scene is built only after a page has confirmed it. With `preview`, the session shows a picture
    of the scene first, and builds the world when its thread has started; see `Session.wait_until_ready`.
    """
    first = load_scene(scene) if isinstance(scene, (str, Path)) else scene
    catalog = Catalog(first, folder, ask=ask)
    session = Session(catalog.first_name, catalog.open, catalog.preview() if preview else None)
    catalog.kernel_progress = session.report_kernels
    return session, catalog.listing()
