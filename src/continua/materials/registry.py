"""The registry of material laws: scene models, option tables, the studio and the tests find the laws here.

A law is one file: a frozen dataclass whose fields are its constants, described by `constant`, and its compiled
functions, marked with `law_function`. `@register` adds it to the registry. The files of laws do not load Numba, so that
a scene can be read and validated without the compiler.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, update_wrapper
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from continua.errors import InputError
from continua.validation import choice, number

if TYPE_CHECKING:
    from continua.materials.law import Law

__all__ = [
    "LAWS",
    "Constant",
    "LawFunction",
    "constant",
    "constants_of",
    "law_function",
    "on_registration",
    "register",
]

_L = TypeVar("_L", bound="type[Law]")

_listeners: list[Callable[[], None]] = []
_laws: dict[str, type[Law]] = {}
LAWS: Mapping[str, type[Law]] = MappingProxyType(_laws)
"""All registered laws by name, in alphabetical order."""


_LIMITS: Mapping[str, tuple[Callable[[float, float], bool], str]] = {
    "gt": (operator.gt, "greater than"),
    "ge": (operator.ge, "at least"),
    "lt": (operator.lt, "less than"),
    "le": (operator.le, "at most"),
}


@dataclass(frozen=True)
class Constant:
    """Description of a constant of a law.

    Attributes:
        description: One sentence, for option tables and the studio.
        unit: SI unit.
        limits: Limits that the law itself enforces: any of `gt`, `ge`, `lt`, `le`.
        scene_limits: Limits in scene files: those of the law and tighter ones, such as an upper bound.
        choices: Words to choose from; empty for a number.
        vector: Whether it is a direction, one vector or one per element.
        optional: Whether it may be None.
        hint: What to do if a limit is violated.
        in_scene: Whether scene files have it.
        in_parts: Whether parts of a body may have other values in a scene file.
        in_events: Whether events of a scene file may change it.
    """

    description: str
    unit: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    scene_limits: Mapping[str, float] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    vector: bool = False
    optional: bool = False
    hint: str = ""
    in_scene: bool = True
    in_parts: bool = False
    in_events: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise InputError if a value is not possible."""
        if self.choices:
            choice(value, name, self.choices)
        if self.choices or self.vector or (value is None and self.optional):
            return
        real = number(value, name)
        if not all(_LIMITS[key][0](real, limit) for key, limit in self.limits.items()):
            words = " and ".join(f"{_LIMITS[key][1]} {limit:g}" for key, limit in self.limits.items())
            hint = f" ({self.hint})" if self.hint else ""
            raise InputError(f"{name} must be {f'{words} {self.unit}'.rstrip()}, not {real:g}{hint}")


def constant(
    default: Any,
    description: str,
    *,
    unit: str = "",
    scene: Mapping[str, float] | None = None,
    choices: tuple[str, ...] = (),
    vector: bool = False,
    hint: str = "",
    in_scene: bool = True,
    in_parts: bool = False,
    in_events: bool = False,
    **limits: float,
) -> Any:
    """Return the dataclass field of a constant; `limits` are any of `gt`, `ge`, `lt`, `le`.

    `scene` are tighter limits in scene files; for the other arguments see `Constant`.
    """
    tighter = dict(limits) | dict(scene or {})
    for strict, weak in (("gt", "ge"), ("lt", "le")):
        if strict in tighter:
            tighter.pop(weak, None)
    meaning = Constant(
        description,
        unit,
        limits,
        tighter,
        tuple(choices),
        vector,
        default is None,
        hint,
        in_scene,
        in_parts,
        in_events,
    )
    return field(default=default, metadata={"constant": meaning})


def constants_of(law: type[Law] | Law) -> dict[str, tuple[Any, Constant]]:
    """Return default and description of the described constants of a law, by name."""
    return {
        one.name: (one.default, one.metadata["constant"]) for one in fields(law) if "constant" in one.metadata
    }


def register(name: str, *, title: str, summary: str) -> Callable[[_L], _L]:
    """Return a class decorator that registers a law.

    Args:
        name: Its name, the `type` of materials in scene files.
        title: What a person calls it.
        summary: What it is for, one sentence.
    """

    def add(law: _L) -> _L:
        if name in _laws:
            raise ValueError(f"there are two laws called '{name}'")
        law.name, law.title, law.summary = name, title, summary
        _laws[name] = law
        for key in sorted(_laws):
            _laws[key] = _laws.pop(key)
        for listener in _listeners:
            listener()
        return law

    return add


def on_registration(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` after every registration of a law; for use as a decorator."""
    _listeners.append(listener)
    return listener


class LawFunction:
    """A function of a law that Numba compiles when it is first needed.

    Compiled code calls it like any compiled function (see `materials.point_kernels`); called from Python it runs as
    plain Python.
    """

    def __init__(self, function: Callable) -> None:
        self.function = function
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Any:
        """The compiled function, inlined into its callers."""
        from continua.numerics import inline

        return inline(self.function)

    @property
    def source(self) -> str:
        """The file it is in."""
        return self.function.__code__.co_filename

    def __call__(self, *arguments: Any) -> Any:
        """Evaluate the function in Python."""
        return self.function(*arguments)


def law_function(function: Callable) -> LawFunction:
    """Mark a function of a law that is to be compiled when the law is first evaluated."""
    return LawFunction(function)
