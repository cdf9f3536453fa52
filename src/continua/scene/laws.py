"""Scene models of the material laws, made from the registry of laws: see `materials.registry`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Tag, create_model

from continua.materials import LAWS, Law
from continua.materials.registry import Constant, constants_of, on_registration
from continua.scene.registration import FromRegistry, rebuild_models
from continua.scene.types import Model, Number, Vector, by_type, option

__all__ = ["MODELS", "Material", "event_constants", "part_constants"]


def _field(default: Any, constant: Constant, remark: str = "") -> tuple[Any, Any]:
    """Return the pydantic field of a constant."""
    kind: Any = Number
    if constant.vector:
        kind = Vector
    elif constant.choices:
        kind = Literal[constant.choices]
    if default is None:
        kind = kind | None
    limits = constant.scene_limits
    return kind, option(constant.description + remark, default, unit=constant.unit, **limits)


def _model(law: type[Law]) -> type[Model]:
    """Return the model of a law: its name as `type`, and its constants."""
    fields: dict[str, Any] = {"type": (Literal[law.name], option(f"{law.title}."))}
    for name, (default, constant) in constants_of(law).items():
        if constant.in_scene:
            fields[name] = _field(default, constant)
    return create_model(law.__name__, __base__=Model, __module__=__name__, __doc__=law.summary, **fields)


def _changes(which: str) -> dict[str, Any]:
    """Return optional fields for the constants of all laws that are marked `which`."""
    found: dict[str, tuple[Constant, list[str]]] = {}
    for name in ("corotated", *LAWS):  # the constants that all laws share come first
        for key, (_, constant) in constants_of(LAWS[name]).items():
            if getattr(constant, which):
                found.setdefault(key, (constant, []))[1].append(name)
    fields = {}
    for key, (constant, laws) in found.items():
        whose = "" if "corotated" in laws else f" Of {' and '.join(f'`{name}`' for name in laws)}."
        fields[key] = _field(None, constant, whose)
    return fields


_models: dict[str, type[Model]] = {}
MODELS: Mapping[str, type[Model]] = MappingProxyType(_models)
"""The models of all laws by `type`."""


@on_registration
def _add_models() -> None:
    """Create the models of laws that have none."""
    new = {name: _model(law) for name, law in LAWS.items() if name not in _models}
    _models.update(new)
    rebuild_models()


_add_models()


def __getattr__(name: str) -> type[Model]:
    """Find a model by the name of its class, as pickle does."""
    for model in _models.values():
        if model.__name__ == name:
            return model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def part_constants() -> dict[str, Any]:
    """Return optional fields for the constants that parts of a body may change."""
    return _changes("in_parts")


def event_constants() -> dict[str, Any]:
    """Return optional fields for the constants that events may change."""
    return _changes("in_events")


def _union() -> Any:
    """Return the union of the models of all laws."""
    models = tuple(Annotated[model, Tag(name)] for name, model in MODELS.items())
    return Annotated[Union[models], by_type(*MODELS)]  # noqa: UP007, the members are only known now


if TYPE_CHECKING:
    Material = Any
else:
    Material = Annotated[Union[tuple(MODELS.values())], FromRegistry(_union)]  # noqa: UP007
