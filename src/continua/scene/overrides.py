"""Options of a scene given as text: `bodies.0.material.young=2e5`, for the command line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from continua.errors import InputError, shortened
from continua.scene.errors import Key, Source, key_text
from continua.scene.parser import parse_value

if TYPE_CHECKING:
    from continua.scene.models import Scene

__all__ = ["override"]

_LABEL = "--set"
_STEP = re.compile(r"\[([^\[\]]+)\]|\.?([^.\[\]]+)")


def override(scene: Scene, options: Sequence[str]) -> Scene:
    """Return a copy of a scene with other options, checked like the rest.

    Args:
        scene: The scene.
        options: Each a key, "=" and a YAML value. A key leads through mappings and lists: entries of a list are given
            by number or, if they have one, by name, after a dot or in brackets: `bodies.0.color`, `bodies[beam].color`.

    Raises:
        InputError: A key or a value cannot be used; the message suggests what is similar.
    """
    if not options:
        return scene
    data, defaults = scene.model_dump(mode="json", exclude_unset=True), scene.model_dump(mode="json")
    for option in options:
        text, equals, value = option.partition("=")
        if not equals:
            raise InputError(
                f"'{shortened(option)}' needs a value, as in bodies.0.material.young=2e5", where=_LABEL
            )
        _set(data, defaults, _steps(text.strip()), parse_value(value, f"{_LABEL} {shortened(text)}"))
    changed = type(scene).from_data(data, Source(label=_LABEL))
    source = scene.source
    changed.source = Source(
        path=source.path, lines=source.lines, label=source.label
    )  # the text is another one
    return changed


def _steps(text: str) -> list[str]:
    """Return the parts of a key such as `bodies[0].material.young`."""
    steps, place = [], 0
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None or (place == 0 and found[0].startswith(".")):
            break
        steps.append(found[1] or found[2])
        place = found.end()
    if not steps or place < len(text):
        raise InputError(f"'{shortened(text)}' is not a key such as bodies.0.material.young", where=_LABEL)
    return steps


def _set(data: Any, defaults: Any, steps: Sequence[str], value: Any) -> None:
    """Put a value into nested mappings and lists."""
    key: Key = ()
    for step in steps[:-1]:
        place = _place(data, step, key)
        inner = defaults[place] if isinstance(place, int) else _member(defaults, place)
        if isinstance(place, str) and data.get(place) is None:
            data[place] = _start(inner)
        data, defaults, key = data[place], inner, (*key, place)
    data[_place(data, steps[-1], key)] = value


def _start(default: Any) -> Any:
    """Return options that were not given before one of them is: a list, or what decides which model they have."""
    if isinstance(default, list):
        return list(default)
    return {"type": default["type"]} if isinstance(default, dict) and "type" in default else {}


def _member(defaults: Any, name: str) -> Any:
    return defaults.get(name) if isinstance(defaults, dict) else None


def _place(data: Any, step: str, key: Key) -> str | int:
    """Return the key of one step: a name in a mapping, or the number of an entry of a list."""
    if isinstance(data, dict):
        return step
    if not isinstance(data, list):
        raise InputError(f"has no options, so no '{shortened(step)}'", where=f"{_LABEL}: {key_text(key)}")
    names = [item.get("name") if isinstance(item, dict) else None for item in data]
    if step in names:
        return names.index(step)
    if re.fullmatch(r"[0-9]{1,9}", step) and int(step) < len(data):
        return int(step)
    known = [name for name in names if name]
    near = difflib.get_close_matches(step[:200], known, 1)
    if near:
        hint = f"did you mean '{near[0]}'?"
    elif known:
        hint = f"there are {', '.join(known[:20])}, numbered from 0"
    else:
        hint = f"they are numbered from 0 to {len(data) - 1}" if data else "the list is empty"
    raise InputError(f"has no entry '{shortened(step)}'; {hint}", where=f"{_LABEL}: {key_text(key)}")
