"""Scene files: YAML read into a `Scene`, with the line of every key for error messages."""

from __future__ import annotations

import difflib
import math
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from continua.errors import InputError
from continua.scene.errors import Key, SceneError, Source, key_text
from continua.scene.models import Scene
from continua.validation import file_path

__all__ = ["load_scene", "parse_scene", "shipped_scenes"]

MAX_BYTES = 2_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 40

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
    path = file_path(scene, "a scene").expanduser()
    named = str(scene)
    if named in shipped_scenes() and not path.is_file():
        path, label = shipped_scenes()[named], f"{named}.yaml"
    else:
        label = named
    return parse_scene(_read(path, label), path=path, label=label)


def parse_scene(text: str, *, path: Path | None = None, label: str = "scene") -> Scene:
    """Return the scene of a YAML text. File names in it are relative to the folder of `path`."""
    data, lines = _Walker(label).parse(text)
    if path is not None:
        data.setdefault("name", re.sub(r"[^A-Za-z0-9_.-]", "-", path.stem).lstrip("-_.")[:64] or "scene")
    return Scene.from_data(data, Source(path=path, text=text, lines=lines, label=label))


@cache
def shipped_scenes() -> dict[str, Path]:
    """Return the names of the shipped scenes."""
    folder = Path(str(resources.files("continua.scene") / "library"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _read(path: Path, label: str) -> str:
    if not path.exists():
        names = list(shipped_scenes())
        if len(path.parts) == 1 and not path.suffix:
            near = difflib.get_close_matches(label, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the shipped scenes are {', '.join(names)}"
            raise InputError(f"there is no file and no shipped scene of this name; {hint}", where=label)
        raise InputError("there is no such file", where=label)
    if path.is_dir():
        raise InputError("is a folder, not a scene file", where=label)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(
                f"is too large for a scene ({size / 1e6:.1f} MB; at most {MAX_BYTES / 1e6:.0f} MB); "
                "put meshes into their own files",
                where=label,
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not a text file in UTF-8", where=label) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=label) from None


class _Walker:
    """Converts a YAML document to plain data, and records the line of every key."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: dict[Key, int] = {}
        self.count = 0

    def parse(self, text: str) -> tuple[dict[str, Any], dict[Key, int]]:
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            raise self._syntax(error) from None
        except yaml.YAMLError as error:
            raise InputError(f"is not YAML ({_one_line(str(error))})", where=self.label) from None
        except RecursionError:
            raise InputError("is nested too deeply", where=self.label) from None
        if node is None:
            raise InputError("is empty; a scene needs at least the key 'bodies'", where=self.label)
        if not isinstance(node, yaml.MappingNode):
            raise InputError("must be a mapping of options such as 'bodies: ...'", where=self.label)
        self.lines[()] = 1
        return self._value(node, ()), self.lines

    def _syntax(self, error: yaml.MarkedYAMLError) -> InputError:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        parts = [part for part in (error.problem, error.context) if part]
        hint = "; indent with spaces" if "\\t" in str(error.problem) else ""
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
            raise self._error(node, key, f"the tag '{node.tag}' is not allowed")
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


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
