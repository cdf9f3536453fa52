"""The output formats that a scene may name. `output.registry` has the sinks that write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from continua.scene.registration import FromRegistry, rebuild_models

__all__ = ["Format", "format_names", "register_format"]

_formats = ["vtu", "vti", "usd", "glb", "ply", "obj", "png", "mp4", "webp", "gif", "html"]


def format_names() -> tuple[str, ...]:
    """Return the names of all formats."""
    return tuple(_formats)


def register_format(name: str) -> None:
    """Accept another format in scene files; `output.register_sink` calls it."""
    if name not in _formats:
        _formats.append(name)
        rebuild_models()


if TYPE_CHECKING:
    Format = str
else:
    Format = Annotated[Any, FromRegistry(lambda: Literal[format_names()])]
