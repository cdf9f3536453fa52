"""The scenes that the page lists, and how each is built."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from continua.errors import InputError
from continua.scene import Scene, load_scene, shipped_scenes
from continua.scene.build import build_world
from continua.studio.editor.document import Document, empty_scene
from continua.studio.editor.questions import QuestionError
from continua.studio.editor.scene_editor import SceneEditor
from continua.studio.session.session import Session
from continua.studio.session.snapshot import SessionScene
from continua.world import World

__all__ = ["Catalog", "open_session"]


class Catalog:
    """The shipped scenes, those in the working folder, and the one that the studio was started with.

    Args:
        first: The scene that the studio was started with; None for an empty scene.
        folder: Folder for opening and saving scenes; by default that of the first scene, or the current one.
        ask: Whether large scenes are built only after a page has confirmed it.
    """

    def __init__(self, first: Scene | World | None, folder: Path | None = None, *, ask: bool = True) -> None:
        self.first = first
        self._ask = ask
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
        editor = SceneEditor(document, partial(build_session_scene, play=play))
        if not self._ask:
            editor.accept_cost()
        try:
            return build_session_scene(editor, scene, play=play)
        except QuestionError as error:
            editor.defer_build(error)
            return _surroundings(editor)


def _modified_ns(path: Path) -> int:
    """Return the modification time of a file [ns], or 0 if it does not exist."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def build_session_scene(
    editor: SceneEditor, scene: Scene | None = None, *, play: bool = True
) -> SessionScene:
    """Build the world of a document; its time step is that of a run, so that both are bitwise identical."""
    document = editor.document
    if not document.data.get("bodies"):
        return _surroundings(editor)
    if scene is None:
        scene = document.scene()
    editor.check_cost(scene)
    world = build_world(scene)
    _, steps, world.dt = world.frame_plan(scene.seconds, scene.fps)
    picture = scene.output.picture
    color = None if picture.color == "plain" else picture.color
    camera = {} if picture.camera is None else picture.camera.model_dump(exclude_none=True)
    return SessionScene(world, color, camera, editor, play, (steps, scene.fps))


def _surroundings(editor: SceneEditor) -> SessionScene:
    """Build the world of a document without its bodies."""
    environment = editor.document.environment()
    around = build_world(environment)
    _, _, dt = around.frame_plan(environment.seconds, environment.fps)
    world = World(
        [],
        gravity=around.gravity,
        dt=dt,
        colliders=around.colliders,
        wind=around.wind,
        name=editor.document.name,
    )
    return SessionScene(world, editor=editor, play=False)


def open_session(
    scene: Scene | World | str | Path | None, folder: Path | None = None, *, ask: bool = True
) -> tuple[Session, list[dict[str, str]]]:
    """Return a session that shows `scene`, or an empty one for None, and the entries of the scene picker.

    With `ask`, a large scene is built only after a page has confirmed it.
    """
    first = load_scene(scene) if isinstance(scene, (str, Path)) else scene
    catalog = Catalog(first, folder, ask=ask)
    return Session(catalog.first_name, catalog.open), catalog.listing()
