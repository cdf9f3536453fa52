"""Errors of scene files, as sentences that name file, line and key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from continua.errors import InputError, shortened

__all__ = ["Location", "SceneError", "Source", "key_text", "scene_error"]

Key = tuple[str | int, ...]

MAX_PROBLEMS = 20


class SceneError(InputError):
    """A scene is invalid. `problems` has one sentence for each error."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Source:
    """Origin of a scene.

    Attributes:
        path: The file, or None for a scene made in Python.
        text: The text of the file.
        lines: Line number (from 1) of every key of the file.
        label: The file's name as the user gave it.
    """

    path: Path | None = None
    text: str = ""
    lines: Mapping[Key, int] = field(default_factory=dict)
    label: str = ""

    def where(self, key: Key) -> str:
        """Return for instance `scene.yaml:12: bodies[0].mesh`; the line is that of the nearest key known."""
        known = next((key[:n] for n in range(len(key), -1, -1) if key[:n] in self.lines), None)
        line = f":{self.lines[known]}" if known is not None else ""
        parts = [self.label + line if self.label else "", key_text(key)]
        return ": ".join(part for part in parts if part)


@dataclass(frozen=True)
class Location:
    """A key of a scene. As a context manager it adds its location to the input errors raised inside."""

    source: Source
    key: Key

    def error(self, message: str) -> SceneError:
        """Return an error at this location."""
        where = self.source.where(self.key)
        return SceneError([f"{where}: {message}" if where else message])

    def __enter__(self) -> Location:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InputError) and not isinstance(error, SceneError):
            raise self.error(str(error)) from error


def key_text(key: Iterable[str | int]) -> str:
    """Return a key in dotted form: `bodies[0].material.young`."""
    text = ""
    for part in key:
        word = str(part) if isinstance(part, int) else shortened(part)
        text += f"[{word}]" if isinstance(part, int) else f".{word}" if text else word
    return text


def scene_error(error: ValidationError, data: Any, source: Source) -> SceneError:
    """Convert pydantic's errors to sentences, in the order of the file, missing keys last."""
    ranked = []
    for number, detail in enumerate(error.errors(include_url=False)):
        key = _locate(detail, data)
        line = source.lines.get(key, source.lines.get(key[:-1], 0))
        # A misspelt key comes before the key that is missing because of it.
        ranked.append((detail["type"] == "missing", line, number, key, detail))
    ranked.sort(key=lambda item: item[:3])
    found: dict[str, None] = {}
    for done, (_, _, _, key, detail) in enumerate(ranked):
        if len(found) == MAX_PROBLEMS:
            found[f"and {len(ranked) - done} more problems"] = None
            break
        where, sentence = source.where(key), _sentence(detail, key)
        found[f"{where}: {sentence}" if where else sentence] = None
    return SceneError(list(found))


def _locate(detail: ErrorDetails, data: Any) -> Key:
    """Return the key of an error in the user's data.

    Pydantic puts the chosen `type` of a union into its locations, also one that is chosen by default; the data has no
    such level.
    """
    key: list[str | int] = []
    value = data
    loc = [*detail["loc"], *detail.get("ctx", {}).get("at", [])]
    for number, part in enumerate(loc):
        last = number == len(loc) - 1
        if isinstance(value, Mapping):
            chosen = part == value.get("type") or ("type" not in value and not last)
            if part not in value and chosen and not (last and detail["type"] == "missing"):
                continue
            key.append(part)
            value = value.get(part)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if not isinstance(part, int):
                continue
            key.append(part)
            value = value[part] if part < len(value) else None
    return tuple(key)


def _did_you_mean(word: Any, choices: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(word)[:200], list(choices), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def _one_of(choices: Sequence[str]) -> str:
    quoted = [f"'{choice}'" for choice in choices]
    return quoted[0] if len(quoted) == 1 else "one of " + ", ".join(quoted)


def _got(value: Any) -> str:
    if value is None:
        return " (got nothing)"
    if isinstance(value, Mapping | BaseModel):
        return " (got a mapping)"
    text = repr(list(value) if isinstance(value, tuple) else value)
    text = {"True": "true", "False": "false"}.get(text, text)
    return f" (got {text if len(text) <= 60 else text[:57] + '...'})"


_LIMITS = {
    "greater_than": ("must be greater than {}", "gt"),
    "greater_than_equal": ("must be at least {}", "ge"),
    "less_than": ("must be less than {}", "lt"),
    "less_than_equal": ("must be at most {}", "le"),
}

_KINDS = {
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "model_type": "must be a mapping of options",
    "model_attributes_type": "must be a mapping of options",
}


def _sentence(detail: ErrorDetails, key: Key) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return _unknown_key(str(key[-1]), detail)
    if kind == "choose_type":
        return _choose_type(value, context["types"].split())
    if kind == "literal_error":
        return _literal(value, context["expected"])
    if kind in _LIMITS:
        text, limit = _LIMITS[kind]
        return text.format(f"{context[limit]:g}") + _got(value)
    if kind in _KINDS:
        return _KINDS[kind] + _got(value)
    if kind == "too_short":
        return f"must have at least {context['min_length']} entries" if value else "must not be empty"
    if kind == "too_long":
        return f"must have at most {context['max_length']} entries (got {context['actual_length']})"
    if kind == "string_too_long":
        return f"must have at most {context['max_length']} characters"
    if kind == "string_too_short":
        return "must not be empty"
    if kind == "string_pattern_mismatch":
        return _pattern(context["pattern"]) + _got(value)
    if kind == "length":
        return detail["msg"] + _got(value)
    return detail["msg"]


def _unknown_key(word: str, detail: ErrorDetails) -> str:
    keys = _known_keys(detail)
    near = _did_you_mean(word, keys)
    return f"unknown key '{shortened(word)}'" + (
        near or (f"; keys here are {', '.join(keys)}" if keys else "")
    )


def _known_keys(detail: ErrorDetails) -> list[str]:
    """Return the keys that the model around an unknown key has, found by descending through the models."""
    from continua.scene.models import Scene

    model: Any = Scene
    for part in detail["loc"][:-1]:
        model = _descend(model, part)
    return sorted(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _descend(kind: Any, part: str | int) -> Any:
    """Return the type below `kind` at one step of a location."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if kind.__name__ == "Scene" and part == "bodies":
            from continua.scene.bodies import body_union

            return _bare(body_union())
        if isinstance(part, str) and part in kind.model_fields:
            return _bare(kind.model_fields[part].annotation)
        return kind
    if isinstance(part, int):
        return kind
    for option in _members(kind):
        tag = (
            option.model_fields.get("type")
            if isinstance(option, type) and issubclass(option, BaseModel)
            else None
        )
        if tag is not None and part in getattr(tag.annotation, "__args__", ()):
            return option
    return kind


def _members(kind: Any) -> list[Any]:
    found: list[Any] = []
    for part in getattr(kind, "__args__", ()):
        found.extend(_members(part) if getattr(part, "__args__", ()) else [part])
    return found


def _bare(annotation: Any) -> Any:
    """Return the one model inside `X | None`, `list[X]`, or the annotation itself."""
    models = [m for m in _members(annotation) if isinstance(m, type) and issubclass(m, BaseModel)]
    return models[0] if len(models) == 1 else annotation


def _choose_type(value: Any, types: Sequence[str]) -> str:
    from continua.scene.selectors import SIDES

    names = [name for name in types if name != "word"]
    words = f"must be {_one_of(SIDES)}, or " if "word" in types else ""
    if isinstance(value, Mapping) and "type" in value:
        near = _did_you_mean(value["type"], names)
        if near and len(names) > 8:  # the whole list would hide the answer
            return f"there is no type '{shortened(str(value['type']))}'{near}"
        return f"'type' must be {_one_of(names)}{_got(value['type'])}{near}"
    if isinstance(value, Mapping):
        return f"needs a key 'type', {_one_of(names)}"
    return f"{words or 'must be '}a mapping with a key 'type', {_one_of(names)}{_got(value)}"


def _literal(value: Any, expected: str) -> str:
    choices = [part.strip() for part in expected.replace(" or ", ", ").split(",")]
    must = choices[0] if len(choices) == 1 else "one of " + ", ".join(choices)
    near = _did_you_mean(value, [choice.strip("'") for choice in choices]) if isinstance(value, str) else ""
    return f"must be {must}{_got(value)}{near}"


def _pattern(pattern: str) -> str:
    if pattern.startswith("^#"):
        return "must be a colour such as '#e4572e'"
    return "must be a short name of letters, digits, '-', '_' and '.'"
