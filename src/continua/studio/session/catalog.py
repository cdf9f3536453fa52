"""The scenes that the page offers, and how each becomes a world."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from continua.errors import InputError
from continua.scene import Scene, load_scene, shipped_scenes
from continua.scene.build import build_world
from continua.studio.editor.document import Document, empty_scene
from continua.studio.editor.scene_editor import Workshop
from continua.studio.session.session import Session
from continua.studio.session.snapshot import Opening
from continua.world import World

__all__ = ["Catalog", "open_session"]


class Catalog:
    """The shipped scenes, those in the working folder, and the one the studio was started with.

    Args:
        first: What the studio was started with; None for an empty scene.
        folder: Where scenes are saved and opened; by default that of the first scene, or the current one.
    """

    def __init__(self, first: Scene | World | None, folder: Path | None = None) -> None:
        self.first = first
        self.first_name = "" if first is None else first.name
        own = first.path if isinstance(first, Scene) else None
        self._age = 0 if own is None else _age(own)
        shipped = own is not None and own in shipped_scenes().values()
        self.folder = folder or (own.parent if own is not None and not shipped else Path.cwd())
        self.names = list(shipped_scenes())
        if self.first_name and self.first_name not in self.names:
            self.names.insert(0, self.first_name)

    def listing(self) -> list[dict[str, str]]:
        """Return `name` and `description` of each scene; a scene file that cannot be read is left out."""
        entries = []
        for name in self.names:
            try:
                scene = self.first if name == self.first_name else load_scene(name)
            except InputError:
                continue
            entries.append({"name": name, "description": getattr(scene, "description", "")})
        return entries

    def open(self, name: str) -> Opening:
        """Return a scene in the list, or a file of the folder, at its start; an empty one for no name."""
        if not name:
            return self._edited(Document(empty_scene(), self.folder), play=False)
        if name in self.names:
            scene = self._again() if name == self.first_name else load_scene(name)
        elif Path(name).name == name and name.endswith((".yaml", ".yml")) and (self.folder / name).is_file():
            scene = load_scene(self.folder / name)
        else:
            raise InputError(f'there is no scene called "{name}" in the list')
        if isinstance(scene, World):
            scene.reset()
            return Opening(scene)
        assert scene is not None
        return self._edited(Document.of(scene, self.folder), scene)

    def _again(self) -> Scene | World | None:
        """Return what the studio was started with, as it is now: its file may have been saved since."""
        own = self.first.path if isinstance(self.first, Scene) else None
        return self.first if own is None or _age(own) in (0, self._age) else load_scene(own)

    def _edited(self, document: Document, scene: Scene | None = None, *, play: bool = True) -> Opening:
        workshop = Workshop(document, partial(_make, play=play))
        return _make(workshop, scene, play=play)


def _age(path: Path) -> int:
    """Return when a file was written [ns], or 0 if it is gone."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def _make(workshop: Workshop, scene: Scene | None = None, *, play: bool = True) -> Opening:
    """Build the world of a document; a time step is what a run would take, so that both give the same bits."""
    document = workshop.document
    if not document.data.get("bodies"):
        around = build_world(document.surroundings())
        world = World(
            [],
            gravity=around.gravity,
            dt=around.dt,
            colliders=around.colliders,
            wind=around.wind,
            name=document.name,
        )
        return Opening(world, workshop=workshop, play=False)
    if scene is None:
        scene = document.scene()
    world = build_world(scene)
    _, steps, world.dt = world.plan(scene.seconds, scene.fps)
    picture = scene.output.picture
    color = None if picture.color == "plain" else picture.color
    camera = {} if picture.camera is None else picture.camera.model_dump(exclude_none=True)
    return Opening(world, color, camera, workshop, play, (steps, scene.fps))


def open_session(
    scene: Scene | World | str | Path | None, folder: Path | None = None
) -> tuple[Session, list[dict[str, str]]]:
    """Return a session that shows `scene`, or an empty one for None, and the list for the scene picker."""
    first = load_scene(scene) if isinstance(scene, (str, Path)) else scene
    catalog = Catalog(first, folder)
    return Session(catalog.first_name, catalog.open), catalog.listing()
