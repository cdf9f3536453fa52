"""The building blocks of the scene models: a strict base class and number types with clear error messages."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field
from pydantic.json_schema import JsonDict
from pydantic_core import PydanticCustomError

__all__ = [
    "Color",
    "Count",
    "Counts2",
    "Counts3",
    "Direction",
    "Flag",
    "Model",
    "Moment",
    "Name",
    "Number",
    "Path",
    "PictureSize",
    "Text",
    "Vector",
    "Vector2",
    "by_kind",
    "by_type",
    "option",
]


class Model(BaseModel):
    """Base of every part of a scene: unknown keys are rejected, and defaults are validated."""

    model_config = ConfigDict(extra="forbid", validate_default=True)


def option(description: str, default: Any = ..., *, unit: str = "", **limits: Any) -> Any:
    """Return the field of one key of a scene: its description, unit (SI), default and limits."""
    extra: JsonDict = {"unit": unit} if unit else {}
    return Field(default, description=description, json_schema_extra=extra, **limits)


class _Context(dict[str, int | str | float]):
    """Context of an error; hashable, so that a union of models may itself be optional."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def by_type(*types: str, default: str | None = None) -> Discriminator:
    """Select one of several models by the key `type`; a plain word selects the member tagged "word".

    A mapping without the key is of the type `default`, if there is one.
    """

    def tag(value: Any) -> Any:
        if isinstance(value, str) and "word" in types:
            return "word"
        kind = value.get("type", default) if isinstance(value, dict) else getattr(value, "type", None)
        return kind if isinstance(kind, str) else None

    return Discriminator(
        tag,
        custom_error_type="choose_type",
        custom_error_message="needs a known 'type'",
        custom_error_context=_Context(types=" ".join(types)),
    )


def by_kind() -> Discriminator:
    """Select the member tagged "word", "number" or "list" by the kind of value."""

    def tag(value: Any) -> str:
        if isinstance(value, list | tuple):
            return "list"
        return "word" if isinstance(value, str) else "number"

    return Discriminator(tag)


def _list_of(count: int, what: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != count:
            raise PydanticCustomError("length", "must be a list of {n} {what}", {"n": count, "what": what})
        return value

    return BeforeValidator(check)


def _nonzero(value: tuple[float, float, float]) -> tuple[float, float, float]:
    if not any(value):
        raise PydanticCustomError("zero_vector", "must not be the zero vector")
    return value


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Moment = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e6)]
Count = Annotated[int, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True, max_length=2000)]
Path = Annotated[str, Field(strict=True, min_length=1, max_length=1000)]
Name = Annotated[str, Field(strict=True, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Color = Annotated[
    str, Field(strict=True, pattern=r"^#[0-9a-fA-F]{6}$", json_schema_extra={"format": "color"})
]
Coordinate = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e9, le=1e9)]
Vector = Annotated[tuple[Coordinate, Coordinate, Coordinate], _list_of(3, "numbers")]
Vector2 = Annotated[tuple[Coordinate, Coordinate], _list_of(2, "numbers")]
Direction = Annotated[Vector, AfterValidator(_nonzero)]
_Cells = Annotated[int, Field(strict=True, ge=1, le=1000)]
Counts2 = Annotated[tuple[_Cells, _Cells], _list_of(2, "whole numbers")]
Counts3 = Annotated[tuple[_Cells, _Cells, _Cells], _list_of(3, "whole numbers")]
_Pixels = Annotated[int, Field(strict=True, ge=16, le=8192)]
PictureSize = Annotated[tuple[_Pixels, _Pixels], _list_of(2, "whole numbers")]
