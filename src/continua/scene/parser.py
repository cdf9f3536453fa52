"""Scene files: YAML read into a `Scene`, with the line of every key for error messages."""

from __future__ import annotations

import contextlib
import difflib
import math
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from continua.errors import InputError, shortened
from continua.file_input import check_file, read_file
from continua.scene.errors import Key, SceneError, Source, key_text
from continua.scene.models import Scene
from continua.scene.shipped import library_folder

__all__ = ["find_scene", "load_scene", "parse_scene", "parse_value", "scene_text", "shipped_scenes"]

MAX_BYTES = 2_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 40
MAX_KEYS = 1000  # of one mapping; no model has as many

# Numbers and words of YAML 1.2: PyYAML's own rules take `1e6` for text and `no` for false.
_SCALARS = (
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$")),
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")),
    ("int", re.compile(r"^[-+]?[0-9]+$")),
    ("float", re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$")),
    ("inf", re.compile(r"^[-+]?\.(?:inf|Inf|INF)$")),
    ("nan", re.compile(r"^\.(?:nan|NaN|NAN)$")),
)

# PyYAML guesses the tags of plain text; those of other kinds were written by the author.
_PLAIN_TAGS = tuple(
    f"tag:yaml.org,2002:{kind}"
    for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)


def load_scene(scene: str | Path) -> Scene:
    """Read a scene from a YAML file, or one of the shipped scenes by its name.

    Args:
        scene: Path of a file, or a name that `continua scenes` lists.

    Raises:
        InputError: With one sentence for each problem, naming file, line and key.
    """
    path, label = find_scene(scene)
    return parse_scene(_read(path, label), path=path, label=label)


def find_scene(scene: str | Path) -> tuple[Path, str]:
    """Return the file of a scene that the user named, and its label in messages."""
    named = str(scene)
    if named in shipped_scenes() and not Path(named).is_file():
        return shipped_scenes()[named], f"{named}.yaml"
    try:
        return Path(scene).expanduser(), named
    except RuntimeError:  # there is no such user
        return Path(scene), named


def scene_text(scene: str | Path) -> str:
    """Return the text of a scene file or of a shipped scene, as it is."""
    return _read(*find_scene(scene))


def parse_scene(text: str, *, path: Path | None = None, label: str = "scene") -> Scene:
    """Return the scene of a YAML text. File names in it are relative to the folder of `path`."""
    data, lines = _Walker(label).parse(text)
    if path is not None:
        data.setdefault("name", re.sub(r"[^A-Za-z0-9_.-]", "-", path.stem).lstrip("-_.")[:64] or "scene")
    return Scene.from_data(data, Source(path=path, text=text, lines=lines, label=label))


def parse_value(text: str, label: str) -> Any:
    """Return the plain data of a YAML value, such as a number, a word or a list."""
    return _Walker(label).value(text)


@cache
def shipped_scenes() -> dict[str, Path]:
    """Return the names of the shipped scenes."""
    return {path.stem: path for path in sorted(library_folder().glob("*.yaml"))}


def _read(path: Path, label: str) -> str:
    if len(path.parts) == 1 and not path.suffix and len(label) < 256 and not os.path.lexists(path):
        names = list(shipped_scenes())
        near = difflib.get_close_matches(label, names, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"the shipped scenes are {', '.join(names)}"
        raise InputError(f"there is no file and no shipped scene of this name; {hint}", where=label)
    size = check_file(path, label).stat().st_size
    if size > MAX_BYTES:
        raise InputError(
            f"is too large for a scene ({size / 1e6:.1f} MB; at most {MAX_BYTES / 1e6:.0f} MB); "
            "put meshes into their own files",
            where=label,
        )
    try:
        return read_file(path, label).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not a text file in UTF-8", where=label) from None


class _Walker:
    """Converts a YAML document to plain data, and records the line of every key."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: dict[Key, int] = {}
        self.count = 0

    def parse(self, text: str) -> tuple[dict[str, Any], dict[Key, int]]:
        node = self._root(text)
        if node is None:
            raise InputError("is empty; a scene needs at least the key 'bodies'", where=self.label)
        if not isinstance(node, yaml.MappingNode):
            raise InputError("must be a mapping of options such as 'bodies: ...'", where=self.label)
        self.lines[()] = 1
        return self._value(node, ()), self.lines

    def value(self, text: str) -> Any:
        node = self._root(text)
        return None if node is None else self._value(node, ())

    def _root(self, text: str) -> yaml.Node | None:
        try:
            return self._compose(text)
        except yaml.MarkedYAMLError as error:
            raise self._syntax(error, text) from None
        except (yaml.YAMLError, UnicodeEncodeError) as error:  # the latter for half of a surrogate pair
            raise InputError(f"is not YAML ({_one_line(str(error))})", where=self.label) from None

    def _compose(self, text: str) -> yaml.Node | None:
        """Parse the text with the compiled parser, which is five times as fast.

        What it refuses is left to the one in Python, which accepts more (`{young: }`) and explains better.
        """
        if hasattr(yaml, "CSafeLoader"):
            with contextlib.suppress(yaml.YAMLError, UnicodeEncodeError):
                return _Composer(yaml.CSafeLoader(text), self._error).document()
        return _Composer(yaml.SafeLoader(text), self._error).document()

    def _syntax(self, error: yaml.MarkedYAMLError, text: str) -> InputError:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        parts = [part for part in (error.problem, error.context) if part]
        at = text.split("\n")[mark.line][mark.column :] if mark and mark.line <= text.count("\n") else ""
        hint = "; indent with spaces" if at.startswith("\t") else ""
        return InputError(f"is not YAML ({_one_line(', '.join(parts))}){hint}", where=self.label + line)

    def _error(self, node: yaml.Node, key: Key, message: str) -> SceneError:
        where = f"{self.label}:{node.start_mark.line + 1}"
        return SceneError([": ".join(part for part in (where, key_text(key), message) if part)])

    def _value(self, node: yaml.Node, key: Key) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._error(node, (), f"has more than {MAX_VALUES} values; put meshes into their own files")
        if len(key) > MAX_DEPTH:
            raise self._error(node, (), "is nested too deeply")
        if not node.tag.startswith(_PLAIN_TAGS):
            raise self._error(node, key, f"the tag '{shortened(node.tag)}' is not allowed")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.lines[(*key, index)] = item.start_mark.line + 1
            return [self._value(item, (*key, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, key: Key) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for name_node, value_node in node.value:
            if not isinstance(name_node, yaml.ScalarNode):
                raise self._error(name_node, key, "keys must be plain words")
            name = name_node.value
            if name in data:
                first = self.lines[(*key, name)]
                raise self._error(name_node, (*key, name), f"is given twice (first in line {first})")
            self.lines[(*key, name)] = name_node.start_mark.line + 1
            data[name] = self._value(value_node, (*key, name))
        return data

    def _scalar(self, node: yaml.Node) -> Any:
        if getattr(node, "style", None) is not None:  # quoted or block text
            return node.value
        text = node.value
        kind = next((kind for kind, pattern in _SCALARS if pattern.match(text)), "str")
        match kind:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return int(text) if len(text) < 400 else math.inf
            case "float":
                return float(text)
            case "inf":
                return -math.inf if text.startswith("-") else math.inf
            case "nan":
                return math.nan
        return text


class _Composer:
    """Makes the nodes of a YAML document, and stops at one that is too large or too deep to be a scene.

    PyYAML's own composer calls itself for each level, without a limit.

    Args:
        loader: The events of the document.
        error: Makes an error of a node, a key and a message.
    """

    def __init__(self, loader: Any, error: Callable[[yaml.Node, Key, str], SceneError]) -> None:
        self._loader = loader
        self._error = error
        self._anchors: dict[str, yaml.Node] = {}
        self._count = 0

    def document(self) -> yaml.Node | None:
        """Return the root of the only document, or None if there is none."""
        try:
            self._loader.get_event()  # the start of the stream
            if self._loader.check_event(yaml.StreamEndEvent):
                return None
            start = self._loader.get_event()
            node = self._node(0)
            self._loader.get_event()
            if not self._loader.check_event(yaml.StreamEndEvent):
                raise yaml.composer.ComposerError(
                    "expected a single document in the stream",
                    start.start_mark,
                    "but found another document",
                    self._loader.get_event().start_mark,
                )
            return node
        finally:
            self._loader.dispose()

    def _node(self, depth: int) -> yaml.Node:
        event = self._loader.get_event()
        kind = type(event)
        if kind is yaml.AliasEvent:
            if event.anchor not in self._anchors:
                raise yaml.composer.ComposerError(
                    None, None, f"found undefined alias '{shortened(event.anchor)}'", event.start_mark
                )
            return self._anchors[event.anchor]
        if kind is yaml.ScalarEvent:
            node: yaml.Node = yaml.ScalarNode(
                _tag(event, "str"), event.value, event.start_mark, event.end_mark, style=event.style or None
            )
        elif kind is yaml.SequenceStartEvent:
            node = yaml.SequenceNode(_tag(event, "seq"), [], event.start_mark, event.end_mark)
        else:
            node = yaml.MappingNode(_tag(event, "map"), [], event.start_mark, event.end_mark)
        self._count += 1
        if self._count > 2 * MAX_VALUES:  # keys are nodes too
            raise self._error(node, (), f"has more than {MAX_VALUES} values; put meshes into their own files")
        if depth > MAX_DEPTH:
            raise self._error(node, (), "is nested too deeply")
        if event.anchor is not None:
            if event.anchor in self._anchors:
                raise yaml.composer.ComposerError(
                    None, None, f"found duplicate anchor '{shortened(event.anchor)}'", event.start_mark
                )
            self._anchors[event.anchor] = node
        if isinstance(node, yaml.SequenceNode):
            while not self._loader.check_event(yaml.SequenceEndEvent):
                node.value.append(self._node(depth + 1))
            self._loader.get_event()
        elif isinstance(node, yaml.MappingNode):
            while not self._loader.check_event(yaml.MappingEndEvent):
                if len(node.value) == MAX_KEYS:
                    raise self._error(node, (), f"has a mapping with more than {MAX_KEYS} keys")
                node.value.append((self._node(depth + 1), self._node(depth + 1)))
            self._loader.get_event()
        return node


def _tag(event: Any, kind: str) -> str:
    """Return the tag of a node: the author's, or the one of its kind."""
    return event.tag if event.tag not in (None, "!") else f"tag:yaml.org,2002:{kind}"


def _one_line(text: str) -> str:
    return shortened(re.sub(r"\s+", " ", text).strip(), 200)
