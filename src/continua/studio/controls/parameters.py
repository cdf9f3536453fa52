"""Parameters: values that a page shows and changes, each with unit, description and limits.

The constants of laws, integrators and winds are dataclass fields. Description, unit and limits come from the scene
models; those of a custom law, which has no scene model, come from its docstring.
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

__all__ = ["Kind", "Limits", "Parameter", "Scale", "label_of", "models_by_type", "parameters_of", "title_of"]

Kind = Literal["number", "count", "vector", "choice", "switch"]

_LABELS = {"young": "Young’s modulus", "poisson": "Poisson’s ratio", "newton": "Max. Newton iterations"}
_MAX_LINEAR = 10.0  # largest upper limit for which a slider spans the whole range


@dataclass(frozen=True)
class Limits:
    """The smallest and the largest value, each included unless marked as open."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    open_high: bool = False

    def violation(self, value: float, unit: str) -> str | None:
        """Return which limit a value violates, or None."""
        if not isfinite(value):
            return "must be a finite number"
        if value < self.low or (self.open_low and value == self.low):
            return f"must be {'greater than' if self.open_low else 'at least'} {self.low:g} {unit}".rstrip()
        if value > self.high or (self.open_high and value == self.high):
            return f"must be {'less than' if self.open_high else 'at most'} {self.high:g} {unit}".rstrip()
        return None


@dataclass(frozen=True)
class Scale:
    """Mapping from slider position to value: "linear", "log" (starting at 0 if `includes_zero`), or "power" from 0."""

    kind: Literal["linear", "log", "power"]
    low: float
    high: float
    includes_zero: bool = False

    def describe(self) -> dict[str, Any]:
        """Return the scale, ready for JSON."""
        return {"kind": self.kind, "low": self.low, "high": self.high, "includesZero": self.includes_zero}


@dataclass(frozen=True)
class Parameter:
    """A value of a world that can be changed while it runs.

    Attributes:
        key: Unique name, such as "beam/material/young".
        label: Name shown to the user.
        get: Returns the value.
        set: Sets a validated value.
        kind: Number, integer ("count"), vector of 3, choice of options, or switch.
        unit: SI unit.
        help: Description.
        limits: Of a number.
        scale: Of the slider of a number, or of a vector's magnitude; None for no slider.
        options: Values of a choice and their labels.
        changes_layout: Whether its value adds or removes other parameters.
        optional: Whether it can be None, for a value that the world chooses itself.
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
    changes_layout: bool = False
    optional: bool = False

    def assign(self, value: Any) -> None:
        """Validate and set the value, or raise `InputError` with one sentence."""
        self.set(self._validate(value))

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
            "scale": None if self.scale is None else self.scale.describe(),
            "options": dict(self.options),
        }

    def _validate(self, value: Any) -> Any:
        if value is None and self.optional:
            return None
        numbers = isinstance(value, (int, float)) and not isinstance(value, bool)
        match self.kind:
            case "number" | "count" if numbers:
                if problem := self.limits.violation(value, self.unit):
                    raise InputError(f"{self.label} {problem}, not {value:g}")
                if self.kind == "number":
                    return float(value)
                if value == int(value):
                    return int(value)
                raise InputError(f"{self.label} must be an integer, not {value:g}")
            case "vector" if isinstance(value, tuple) and len(value) == 3:
                return tuple(float(part) for part in value)
            case "switch" if isinstance(value, bool):
                return value
            case "choice" if isinstance(value, str):
                if value in self.options:
                    return value
                raise InputError(f"{self.label} must be one of {', '.join(self.options)}, not {value!r}")
        raise InputError(f"{self.label} is a {self.kind}, not {value!r}")


def parameters_of(
    key: str,
    get: Callable[[], Any],
    change: Callable[[dict[str, Any]], None],
    model: type[Model] | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> list[Parameter]:
    """Return a parameter for every constant of a dataclass object.

    Args:
        key: Prefix of the keys.
        get: Returns the current object.
        change: Receives the constants to change, by name.
        model: The scene model of the object; constants that it does not have are fixed.
        scales: Sliders of some constants, instead of the default ones.
    """
    return list(_parameters_of(key, get, change, model, scales or {}))


def _parameters_of(
    key: str,
    get: Callable[[], Any],
    change: Callable[[dict[str, Any]], None],
    model: type[Model] | None,
    scales: Mapping[str, Scale],
) -> Iterator[Parameter]:
    owner = get()
    documented = _attribute_docs(type(owner))
    for one in fields(owner):
        name = one.name
        value = _plain(getattr(owner, name))
        info = None if model is None else model.model_fields.get(name)
        if model is not None and info is None:
            continue
        limits, options, unit, meaning = Limits(), {}, *documented.get(name, ("", ""))
        if info is not None:
            limits, options = _limits(info.metadata), _options(info.annotation)
            extra = info.json_schema_extra
            unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
            meaning = info.description or ""
        kind = _kind(value, bool(options))
        if kind is None:
            continue
        scale = scales.get(name)
        if scale is None and kind in ("number", "count"):
            scale = _scale(value, limits, unit, getattr(owner, "young", 0.0))
        yield Parameter(
            f"{key}/{name}",
            _LABELS.get(name, label_of(name)),
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
    """Return a constant as JSON data; a direction that is the same for all elements is a vector."""
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


def _options(annotation: Any) -> dict[str, str]:
    return (
        {word: label_of(word) for word in get_args(annotation)} if get_origin(annotation) is Literal else {}
    )


def _scale(value: float, limits: Limits, unit: str, young: float) -> Scale:
    """Return the slider of a value: the whole range if that is short, else some powers of ten around the value."""
    low, high = limits.low, limits.high
    if isinstance(value, int):
        return Scale("linear", max(low, 0.0), min(high, max(10.0, 2.0 * value)))
    if isfinite(low) and high <= _MAX_LINEAR:
        return Scale(
            "linear", max(low, 0.0) if value >= 0.0 else low, 0.98 * high if limits.open_high else high
        )
    if value > 0.0 and low >= 0.0:
        factor = 100.0 if unit == "Pa" else 10.0
        return Scale(
            "log",
            max(value / factor, low),
            min(value * factor, high),
            includes_zero=low == 0.0 and not limits.open_low,
        )
    if low >= 0.0:
        return Scale("power", 0.0, 10.0 * young if unit == "Pa" else 1.0)
    reach = 3.0 * abs(value) or (0.1 * young if unit == "Pa" else 1.0)
    return Scale("linear", max(low, -reach), min(high, reach))


def label_of(name: str) -> str:
    """Return an identifier as a label for people."""
    return name.replace("_", " ").capitalize()


@cache
def models_by_type(module: ModuleType) -> Mapping[str, type[Model]]:
    """Return the scene models of a module by their `type`."""
    found = {}
    for model in vars(module).values():
        if inspect.isclass(model) and issubclass(model, Model) and "type" in model.model_fields:
            found[get_args(model.model_fields["type"].annotation)[0]] = model
    return found


def title_of(models: Mapping[str, type[Model]], owner: Any) -> str:
    """Return the title of a law or an integrator."""
    model = models.get(owner.name)
    if model is None:
        return type(owner).__name__
    return (model.model_fields["type"].description or owner.name).split(",")[0].rstrip(".")


def _attribute_docs(cls: type) -> Mapping[str, tuple[str, str]]:
    """Return unit and description of attributes from the docstrings of a class and its bases."""
    found: dict[str, tuple[str, str]] = {}
    for base in cls.__mro__:
        text = inspect.cleandoc(base.__doc__ or "")
        _, _, text = text.partition("Attributes:\n")
        for name, words in re.findall(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", text, re.MULTILINE):
            meaning = " ".join(words.split())
            unit = re.search(r"\[([^\]]+)\]", meaning)
            found.setdefault(name, (unit[1].replace("m3", "m³") if unit else "", meaning))
    return found
