"""The folder of the shipped scenes and of the files that they use."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

__all__ = ["library_folder", "shipped_file"]


@cache
def library_folder() -> Path:
    """Return the folder of the shipped scenes."""
    return Path(str(resources.files("continua.scene") / "library"))


def shipped_file(name: str) -> Path | None:
    """Return the shipped file of a plain name, such as a mesh of a shipped scene, or None."""
    path = library_folder() / name
    return path if Path(name).name == name and path.is_file() else None
