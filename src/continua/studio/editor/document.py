"""The document that the studio edits: the plain data of a scene file, with undo and redo.

A document is always a valid scene, with one exception: it may still have no bodies. Edits are validated by the scene
models before they are applied, and errors are reported at the key that is wrong.
"""

from __future__ import annotations

import copy
import pprint
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

import yaml

from continua.errors import InputError
from continua.scene import Scene, SceneError, parse_scene
from continua.scene.errors import Source, key_text

__all__ = ["Document", "Edit", "InvalidEditError", "Key", "empty_scene", "yaml_text"]

Key = tuple[str | int, ...]

_MAX_UNDO = 200
_PLACEHOLDER_BODY = {"type": "soft", "name": "placeholder", "mesh": {"type": "box"}}
_BOUNDARY_CONDITION_KEYS = ("pin", "drive", "lock", "push", "press", "load_faces", "load_volume")


class InvalidEditError(InputError):
    """An edit that would make the scene invalid.

    Attributes:
        key: The invalid key of the document, such as `bodies[0].material.young`.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Edit:
    """One change of the document.

    Attributes:
        op: "set" a value, "add" an entry to a list, or "remove" a key or an entry.
        path: Keys and indices from the root; for "add", the list.
        value: The new value.
    """

    op: Literal["set", "add", "remove"]
    path: Key
    value: Any = None


def empty_scene() -> dict[str, Any]:
    """Return the data of a scene that has only a ground plane."""
    return {"name": "scene", "bodies": [], "colliders": [{"type": "plane", "name": "floor"}]}


class Document:
    """The data of a scene and its history.

    Args:
        data: Plain data, as in a YAML file.
        folder: Folder of the scene's files; nothing outside of it is read or written.
        file: Name of the scene's file in that folder, or None if it has none yet.

    Attributes:
        version: Counts changes, including undo and redo.
        saved: The version that is in the file.
        notice: Side effect of the last edit, in a sentence, or "".
    """

    def __init__(self, data: dict[str, Any], folder: Path, file: str | None = None) -> None:
        self.data = data
        self.folder = folder
        self.file = file
        self.version = 0
        self.saved = 0
        self.notice = ""
        self._past: list[tuple[dict[str, Any], str]] = []
        self._future: list[tuple[dict[str, Any], str]] = []
        self._merge = ""
        self._initial_paths = _file_paths(
            data
        )  # files outside of the folder that the scene had from the start
        _check(data, self._source())

    @classmethod
    def of(cls, scene: Scene, folder: Path | None = None) -> Document:
        """Return the document of a scene; a shipped scene has no file yet."""
        data = scene.model_dump(mode="json", exclude_unset=True)
        path = scene.path
        if folder is None:
            folder = Path.cwd() if path is None else path.parent
        own = path is not None and path.parent.resolve() == folder.resolve()
        return cls({"name": scene.name, **data}, folder, path.name if own and path is not None else None)

    # Queries.

    @property
    def name(self) -> str:
        """Name of the scene."""
        return str(self.data.get("name", "scene"))

    @property
    def stem(self) -> str:
        """Base name of the scene's files: that of its own file, or of the scene if it has none yet."""
        return Path(self.file).stem if self.file else self.name

    @property
    def undo_text(self) -> str | None:
        """Label of the edit that `undo` reverts, or None."""
        return self._past[-1][1] if self._past else None

    @property
    def redo_text(self) -> str | None:
        """Label of the edit that `redo` applies again, or None."""
        return self._future[-1][1] if self._future else None

    def scene(self) -> Scene:
        """Return the scene; raise `InputError` if there is no body yet."""
        if not self.data.get("bodies"):
            raise InputError("the scene has no bodies yet; add one")
        return Scene.from_data(copy.deepcopy(self.data), self._source())

    def environment(self) -> Scene:
        """Return the scene with a placeholder body, to build its environment."""
        others = {key: value for key, value in self.data.items() if key not in ("joints", "changes")}
        data = {**others, "bodies": [_PLACEHOLDER_BODY], "start_at_equilibrium": False}
        return Scene.from_data(copy.deepcopy(data), self._source())

    def scene_or_environment(self) -> Scene:
        """Return the scene, or its environment while there is no body."""
        return self.scene() if self.data.get("bodies") else self.environment()

    def yaml(self) -> str:
        """Return the document as the text of a scene file."""
        return yaml_text(self.data)

    def python(self) -> str:
        """Return a Python script that builds and runs the scene."""
        data = pprint.pformat(self.data, width=100, sort_dicts=False)
        return (
            "import continua as ct\n\n"
            f"scene = ct.Scene.from_data(\n{_indented(data)}\n)\n"
            "world = scene.build()\n\n"
            "for frame in world.run(scene.seconds, scene.fps):\n"
            '    print(f"{frame.time:.3f} s")\n'
        )

    # Edits.

    def edit(self, edits: Sequence[Edit], label: str = "edit", merge: str = "") -> None:
        """Apply all edits, or none and raise `InvalidEditError`.

        Args:
            edits: The edits in order.
            label: Name of the edit, for undo.
            merge: Consecutive edits with the same non-empty key are undone together, such as moves of a slider.
        """
        data = copy.deepcopy(self.data)
        for edit in edits:
            _apply(data, edit)
        self._check_paths(data)
        _check(data, self._source())
        self.notice = _drop_index_selections(self.data, data, edits)
        if data == self.data:
            return
        if not (merge and merge == self._merge and self._past):
            self._push_undo(label)
        self._merge = merge
        self._future.clear()
        self.data = data
        self.version += 1

    def undo(self) -> None:
        """Undo the last edit."""
        self._swap(self._past, self._future)

    def redo(self) -> None:
        """Redo the edit that was undone last."""
        self._swap(self._future, self._past)

    def replace(self, text: str, label: str) -> None:
        """Replace the document by the text of a scene file; the edit can be undone."""
        scene = parse_scene(text, label="the scene")
        data = scene.model_dump(mode="json", exclude_unset=True)
        self._check_paths(data)
        self._push_undo(label)
        self._future.clear()
        self._merge = ""
        self.data = {"name": scene.name, **data}
        self.version += 1

    def _push_undo(self, label: str) -> None:
        self._past.append((self.data, label))
        del self._past[:-_MAX_UNDO]

    def _swap(
        self, source: list[tuple[dict[str, Any], str]], target: list[tuple[dict[str, Any], str]]
    ) -> None:
        if not source:
            return
        data, label = source.pop()
        target.append((self.data, label))
        self.data = data
        self._merge = ""
        self.notice = ""
        self.version += 1

    def _check_paths(self, data: dict[str, Any]) -> None:
        """Reject files outside of the folder, unless the scene had them from the start."""
        root = self.folder.resolve()
        for key, path in _file_paths(data).items():
            if path in self._initial_paths.values():
                continue
            kinds = (PurePosixPath(path), PureWindowsPath(path))
            outside = any(
                p.is_absolute() or p.drive or ".." in p.parts or path.startswith("~") for p in kinds
            )
            if outside or not (root / path).resolve().is_relative_to(root):
                raise InvalidEditError("must be a file inside the folder of the scene", key)

    def _source(self) -> Source:
        return Source(path=self.folder / (self.file or f"{self.name}.yaml"))


def _apply(data: dict[str, Any], edit: Edit) -> None:
    """Apply one edit in place."""
    where = key_text(edit.path)
    value = copy.deepcopy(edit.value)
    if not edit.path:
        raise InvalidEditError("an edit needs a key", "")
    if edit.op == "add":
        target = _at(data, edit.path[:-1])
        if isinstance(target, dict) and isinstance(edit.path[-1], str):
            target = target.setdefault(edit.path[-1], [])
        else:
            target = _at(data, edit.path)
        if not isinstance(target, list):
            raise InvalidEditError("is not a list", where)
        target.append(value)
        return
    parent, last = _at(data, edit.path[:-1]), edit.path[-1]
    if isinstance(parent, dict) and isinstance(last, str):
        if edit.op == "set":
            parent[last] = value
        else:
            parent.pop(last, None)
    elif isinstance(parent, list) and isinstance(last, int) and 0 <= last < len(parent):
        if edit.op == "set":
            parent[last] = value
        else:
            del parent[last]
    else:
        raise InvalidEditError("there is no such key in the scene", where)


def _at(data: Any, path: Key) -> Any:
    for number, part in enumerate(path):
        listed = isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data)
        if not listed and not (isinstance(data, dict) and part in data):
            raise InvalidEditError("there is no such key in the scene", key_text(path[: number + 1]))
        data = data[part]
    return data


def _check(data: dict[str, Any], source: Source) -> None:
    """Raise `InvalidEditError` with the first error in the data."""
    bare = {**data, "bodies": [_PLACEHOLDER_BODY]} if data.get("bodies") == [] else data
    try:
        Scene.from_data(copy.deepcopy(bare), source)
    except SceneError as error:
        key, _, text = error.problems[0].partition(": ")
        raise InvalidEditError(text or key, key if text else "") from None


def _drop_index_selections(old: dict[str, Any], new: dict[str, Any], edits: Sequence[Edit]) -> str:
    """Remove boundary conditions selected by node or face index from bodies whose mesh has changed."""
    removed = 0
    for number, body in enumerate(new.get("bodies", [])):
        meshed = any(e.path[:3] == ("bodies", number, "mesh") or e.path == ("bodies", number) for e in edits)
        if not (meshed and isinstance(body, dict) and number < len(old.get("bodies", []))):
            continue
        if body.get("mesh") == old["bodies"][number].get("mesh"):
            continue
        for kind in _BOUNDARY_CONDITION_KEYS:
            kept = [item for item in body.get(kind, []) if not _selects_by_index(item)]
            removed += len(body.get(kind, [])) - len(kept)
            if kind in body:
                body[kind] = kept
    if not removed:
        return ""
    what = "boundary condition was" if removed == 1 else "boundary conditions were"
    return f"{removed} {what} removed, because node and face indices change with the mesh"


def _selects_by_index(item: Any) -> bool:
    where = item.get("where") if isinstance(item, dict) else None
    return isinstance(where, dict) and where.get("type") in ("nodes", "faces")


def _file_paths(data: Any, key: str = "") -> dict[str, str]:
    """Return the files that a scene refers to, by key."""
    found: dict[str, str] = {}
    if isinstance(data, dict):
        for name, value in data.items():
            inner = f"{key}.{name}" if key else str(name)
            if name == "path" and isinstance(value, str):
                found[inner] = value
            else:
                found |= _file_paths(value, inner)
    elif isinstance(data, list):
        for number, value in enumerate(data):
            found |= _file_paths(value, f"{key}[{number}]")
    return found


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


class _Dumper(yaml.SafeDumper):
    """Writes readable scenes: short lists on one line, and strings that look like numbers in quotes."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    numeric = re.fullmatch(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", value)
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if numeric else None)


def _list(dumper: yaml.SafeDumper, value: list[Any]) -> yaml.Node:
    short = not any(isinstance(item, dict) for item in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.ignore_aliases = lambda self, data: True  # type: ignore[method-assign]


def yaml_text(data: dict[str, Any]) -> str:
    """Return data as YAML that `load_scene` reads back exactly."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
