"""Knobs: values that a page shows and changes, each with its unit, its meaning and its limits.

The constants of laws, integrators and winds are dataclass fields. What a scene file says about them (description,
unit, limits) is what the page says; a law of one's own, which no scene file knows, says it in its docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, partial
from math import inf, isfinite
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import numpy as np

from continua.errors import InputError
from continua.scene.types import Model

__all__ = ["Kind", "Knob", "Limits", "Scale", "constants", "models_of", "spoken", "title_of"]

Kind = Literal["number", "count", "vector", "choice", "switch"]

_LABELS = {"young": "Young’s modulus", "poisson": "Poisson’s ratio", "newton": "Newton iterations, most"}
_WIDE = 10.0  # upper limit from which a slider does not reach from one limit to the other


@dataclass(frozen=True)
class Limits:
    """The smallest and the largest value, each included unless it is marked as open."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    open_high: bool = False

    def refuse(self, value: float, unit: str) -> str | None:
        """Return what is wrong with a value, or None."""
        if not isfinite(value):
            return "must be a finite number"
        if value < self.low or (self.open_low and value == self.low):
            return f"must be {'greater than' if self.open_low else 'at least'} {self.low:g} {unit}".rstrip()
        if value > self.high or (self.open_high and value == self.high):
            return f"must be {'less than' if self.open_high else 'at most'} {self.high:g} {unit}".rstrip()
        return None


@dataclass(frozen=True)
class Scale:
    """How the way of a slider maps to values: "linear", "log" (from 0 on where `zero`), or "power" from 0 on."""

    kind: Literal["linear", "log", "power"]
    low: float
    high: float
    zero: bool = False


@dataclass(frozen=True)
class Knob:
    """One value of a world that can be changed while it runs.

    Attributes:
        key: Its name among all knobs, such as "beam/material/young".
        label: What a person calls it.
        get: Returns its value.
        set: Takes a new value that has the right kind and lies within the limits.
        kind: Number, whole number, vector of 3, one of some words, or on and off.
        unit: SI unit.
        help: What it means.
        limits: Of a number.
        scale: Of the slider of a number, or of a vector's length; None for no slider.
        options: Words to choose from, and what people call them.
        reshapes: Whether other knobs come and go with its value.
    """

    key: str
    label: str
    get: Callable[[], Any]
    set: Callable[[Any], None]
    kind: Kind = "number"
    unit: str = ""
    help: str = ""
    limits: Limits = field(default_factory=Limits)
    scale: Scale | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    reshapes: bool = False

    def turn(self, value: Any) -> None:
        """Set the value, or raise `InputError` with one sentence."""
        self.set(self._checked(value))

    def describe(self) -> dict[str, Any]:
        """Return everything but the value, ready for JSON."""
        low, high = self.limits.low, self.limits.high
        return {
            "key": self.key,
            "label": self.label,
            "kind": self.kind,
            "unit": self.unit,
            "help": self.help,
            "min": low if isfinite(low) else None,
            "max": high if isfinite(high) else None,
            "openMin": self.limits.open_low,
            "openMax": self.limits.open_high,
            "scale": None if self.scale is None else vars(self.scale),
            "options": dict(self.options),
        }

    def _checked(self, value: Any) -> Any:
        numbers = isinstance(value, (int, float)) and not isinstance(value, bool)
        match self.kind:
            case "number" | "count" if numbers:
                if problem := self.limits.refuse(value, self.unit):
                    raise InputError(f"{self.label} {problem}, not {value:g}")
                if self.kind == "number":
                    return float(value)
                if value == int(value):
                    return int(value)
                raise InputError(f"{self.label} must be a whole number, not {value:g}")
            case "vector" if isinstance(value, tuple) and len(value) == 3:
                return tuple(float(part) for part in value)
            case "switch" if isinstance(value, bool):
                return value
            case "choice" if isinstance(value, str):
                if value in self.options:
                    return value
                raise InputError(f"{self.label} must be one of {', '.join(self.options)}, not {value!r}")
        raise InputError(f"{self.label} is a {self.kind}, not {value!r}")


def constants(
    key: str,
    get: Callable[[], Any],
    change: Callable[[dict[str, Any]], None],
    model: type[Model] | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> list[Knob]:
    """Return a knob for every constant of a dataclass object.

    Args:
        key: Start of the knobs' keys.
        get: Returns the object as it is now.
        change: Takes the constants to be changed, by name.
        model: What a scene file says about the object; constants that it does not have are fixed.
        scales: Sliders of some constants, instead of what suits their values.
    """
    return list(_constants(key, get, change, model, scales or {}))


def _constants(
    key: str,
    get: Callable[[], Any],
    change: Callable[[dict[str, Any]], None],
    model: type[Model] | None,
    scales: Mapping[str, Scale],
) -> Iterator[Knob]:
    thing = get()
    said = _docstring(type(thing))
    for one in fields(thing):
        name = one.name
        value = _plain(getattr(thing, name))
        info = None if model is None else model.model_fields.get(name)
        if model is not None and info is None:
            continue
        limits, options, unit, meaning = Limits(), {}, *said.get(name, ("", ""))
        if info is not None:
            limits, options = _limits(info.metadata), _words(info.annotation)
            extra = info.json_schema_extra
            unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
            meaning = info.description or ""
        kind = _kind(value, bool(options))
        if kind is None:
            continue
        scale = scales.get(name)
        if scale is None and kind in ("number", "count"):
            scale = _scale(value, limits, unit, getattr(thing, "young", 0.0))
        yield Knob(
            f"{key}/{name}",
            _LABELS.get(name, spoken(name)),
            partial(_read, get, name),
            partial(_write, change, name),
            kind,
            unit,
            meaning,
            limits,
            scale,
            options,
        )


def _read(get: Callable[[], Any], name: str) -> Any:
    return _plain(getattr(get(), name))


def _write(change: Callable[[dict[str, Any]], None], name: str, value: Any) -> None:
    change({name: value})


def _plain(value: Any) -> Any:
    """Return a constant as JSON has it; a direction that is the same for all elements is a vector."""
    vectors = getattr(value, "vectors", None)
    if vectors is not None and np.ndim(vectors) == 1:
        return [float(part) for part in vectors]
    if isinstance(value, tuple):
        return list(value)
    return value


def _kind(value: Any, choice: bool) -> Kind | None:
    if isinstance(value, bool):
        return "switch"
    if isinstance(value, (int, np.integer)):
        return "count"
    if isinstance(value, (float, np.floating)) and isfinite(value):
        return "number"
    if isinstance(value, list) and len(value) == 3 and all(isinstance(part, (int, float)) for part in value):
        return "vector"
    return "choice" if choice and isinstance(value, str) else None


def _limits(metadata: list[Any]) -> Limits:
    found = {
        word: getattr(mark, word)
        for mark in metadata
        for word in ("gt", "ge", "lt", "le")
        if hasattr(mark, word)
    }
    return Limits(
        found.get("gt", found.get("ge", -inf)),
        found.get("lt", found.get("le", inf)),
        "gt" in found,
        "lt" in found,
    )


def _words(annotation: Any) -> dict[str, str]:
    return {word: spoken(word) for word in get_args(annotation)} if get_origin(annotation) is Literal else {}


def _scale(value: float, limits: Limits, unit: str, young: float) -> Scale:
    """Return a slider that suits a value: the whole range where that is short, else some powers of ten about it."""
    low, high = limits.low, limits.high
    if isinstance(value, int):
        return Scale("linear", max(low, 0.0), min(high, max(10.0, 2.0 * value)))
    if isfinite(low) and high <= _WIDE:
        return Scale(
            "linear", max(low, 0.0) if value >= 0.0 else low, 0.98 * high if limits.open_high else high
        )
    if value > 0.0 and low >= 0.0:
        factor = 100.0 if unit == "Pa" else 10.0
        return Scale(
            "log",
            max(value / factor, low),
            min(value * factor, high),
            zero=low == 0.0 and not limits.open_low,
        )
    if low >= 0.0:
        return Scale("power", 0.0, 10.0 * young if unit == "Pa" else 1.0)
    reach = 3.0 * abs(value) or (0.1 * young if unit == "Pa" else 1.0)
    return Scale("linear", max(low, -reach), min(high, reach))


def spoken(name: str) -> str:
    """Return a name of the code as a person writes it."""
    return name.replace("_", " ").capitalize()


@cache
def models_of(module: ModuleType) -> Mapping[str, type[Model]]:
    """Return the scene models of a module by their `type`."""
    found = {}
    for model in vars(module).values():
        if inspect.isclass(model) and issubclass(model, Model) and "type" in model.model_fields:
            found[get_args(model.model_fields["type"].annotation)[0]] = model
    return found


def title_of(models: Mapping[str, type[Model]], thing: Any) -> str:
    """Return what a person calls a law or an integrator."""
    model = models.get(thing.name)
    if model is None:
        return type(thing).__name__
    return (model.model_fields["type"].description or thing.name).split(",")[0].rstrip(".")


def _docstring(cls: type) -> Mapping[str, tuple[str, str]]:
    """Return unit and meaning of the attributes that the docstrings of a class and its bases describe."""
    found: dict[str, tuple[str, str]] = {}
    for base in cls.__mro__:
        text = inspect.cleandoc(base.__doc__ or "")
        _, _, text = text.partition("Attributes:\n")
        for name, words in re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", text, re.MULTILINE):
            meaning = " ".join(words.split())
            unit = re.search(r"\[([^\]]+)\]", meaning)
            found.setdefault(name, (unit[1].replace("m3", "m³") if unit else "", meaning))
    return found
