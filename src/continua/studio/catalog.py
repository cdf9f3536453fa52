"""The scenes that the page offers, and how each becomes a world."""

from __future__ import annotations

from pathlib import Path

from continua.errors import InputError
from continua.scene import Scene, load_scene, shipped_scenes
from continua.studio.session import Opening, Session
from continua.world import World

__all__ = ["Catalog", "open_session"]


class Catalog:
    """The shipped scenes, and the one the studio was started with."""

    def __init__(self, first: Scene | World) -> None:
        self.first = first
        self.first_name = first.name
        self.names = list(shipped_scenes())
        if self.first_name not in self.names:
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
        """Return a scene in the list, at its start."""
        if name not in self.names:
            raise InputError(f'there is no scene called "{name}" in the list')
        scene = self.first if name == self.first_name else load_scene(name)
        if isinstance(scene, World):
            scene.reset()
            return Opening(scene)
        picture = scene.output.picture
        color = None if picture.color == "plain" else picture.color
        camera = {} if picture.camera is None else picture.camera.model_dump(exclude_none=True)
        return Opening(scene.build(), color, camera)


def open_session(scene: Scene | World | str | Path) -> tuple[Session, list[dict[str, str]]]:
    """Return a session that shows `scene`, and the list for the scene picker."""
    first = load_scene(scene) if isinstance(scene, (str, Path)) else scene
    catalog = Catalog(first)
    return Session(catalog.first_name, catalog.open), catalog.listing()
