"""Uploads of mesh files: validated, then stored in the folder of the scene."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from continua import mesh as meshes
from continua.atomic_io import atomic_write
from continua.errors import InputError

__all__ = ["MAX_UPLOAD", "store_upload"]

MAX_UPLOAD = 64 * 2**20
"""Maximum size of an upload [bytes]."""

_MAX_TRIANGLES = 2_000_000


def store_upload(
    content: bytes, name: str, kind: str, folder: Path, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Store a mesh file in the folder and return the entry to add to the scene: `list` and `value`.

    Args:
        content: The file.
        name: File name; folders in it are ignored.
        kind: "soft", "rigid" or "collider".
        folder: Target folder. A file of the same name with other content is never overwritten.
        data: The scene, to avoid duplicate names.

    Raises:
        InputError: It is not a usable mesh, with the reason.
    """
    clean = re.sub(r"[^A-Za-z0-9_.-]", "-", Path(name.replace("\\", "/")).name).lstrip("-_.")[:80]
    suffix = Path(clean).suffix.lower()
    if not clean or not suffix:
        raise InputError("the file needs a name with an ending such as .obj, .stl or .ply")
    if kind not in ("soft", "rigid", "collider"):
        raise InputError(f"a mesh file cannot become a '{kind}'")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / clean
        path.write_bytes(content)
        try:
            mesh = meshes.read(path)
        except InputError as error:
            raise InputError(error.message, where=clean) from None
        except Exception as error:  # mesh readers fail in many ways on broken files
            raise InputError(f"cannot be read as a mesh ({type(error).__name__})", where=clean) from None
        animation = _animation(path) if kind == "collider" else None
    surface = isinstance(mesh, meshes.SurfaceMesh)
    if surface and len(mesh.triangles) > _MAX_TRIANGLES:  # type: ignore[union-attr]
        raise InputError(f"has more than {_MAX_TRIANGLES:,} triangles; simplify it first", where=clean)
    file = _store(content, clean, folder)
    if animation is not None:
        return {
            "list": "colliders",
            "value": {"type": "animated_mesh", "name": _free_name(file, data), "path": file, **animation},
        }
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    size = float(np.linalg.norm(high - low))
    return _entry(file, kind, surface, size, data)


def _store(content: bytes, name: str, folder: Path) -> str:
    """Write the file under its name, or under the next free one."""
    stem, suffix = Path(name).stem, Path(name).suffix
    for candidate in [name, *(f"{stem}-{number}{suffix}" for number in range(2, 1000))]:
        path = folder / candidate
        if path.is_file() and path.read_bytes() == content:
            return candidate
        if not path.exists():
            try:
                with atomic_write(path) as file:
                    file.write(content)
            except OSError as error:
                raise InputError(f"cannot be written to the folder ({error.strerror})", where=name) from None
            return candidate
    raise InputError("there are too many files of this name", where=name)


def _free_name(file: str, data: Mapping[str, Any]) -> str:
    """Return a name after the file that the scene does not have yet."""
    base = re.sub(r"[^A-Za-z0-9_.-]", "-", Path(file).stem)[:50] or "mesh"
    taken = {entry.get("name") for key in ("bodies", "colliders") for entry in data.get(key, [])}
    return next(n for n in [base, *(f"{base}-{i}" for i in range(2, 10_000))] if n not in taken)


def _animation(path: Path) -> dict[str, bool] | None:
    """Return the options of the animation in a file, which is repeated if it ends as it begins, or None."""
    for loop in (True, False):
        try:
            meshes.MeshAnimation.read(path, loop=loop, images=False)
        except InputError:
            continue
        return {"loop": True} if loop else {}
    return None


def _entry(file: str, kind: str, surface: bool, size: float, data: Mapping[str, Any]) -> dict[str, Any]:
    name = _free_name(file, data)
    mesh: dict[str, Any] = {"type": "file", "path": file}
    if kind == "rigid":
        return {"list": "bodies", "value": {"type": "rigid", "name": name, "shape": mesh}}
    if kind == "collider":
        return {"list": "colliders", "value": {"type": "mesh", "name": name, "mesh": mesh}}
    if surface:
        mesh["tetrahedralize"] = {"size": float(f"{size / 15.0:.2g}"), "repair": True}
    return {"list": "bodies", "value": {"type": "soft", "name": name, "mesh": mesh}}
