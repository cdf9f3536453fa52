"""Readers of simple text formats that meshio misreads: OBJ (relative indices, polygons), OFF and TetGen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.file_input import check_file

__all__ = ["ObjSurface", "read_obj", "read_off", "read_tetgen"]

_MOST_NODES = 2**31


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is not empty, without comments."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#", 1)[0].split()
            if words:
                yield number, words


def _index(word: str) -> int:
    """Return the number of a node; one that no array can have is refused like a word."""
    index = int(word)
    if abs(index) >= _MOST_NODES:
        raise ValueError
    return index


def _fan(corners: list[int]) -> list[list[int]]:
    """Cut a polygon into triangles around its first corner."""
    return [[corners[0], corners[i], corners[i + 1]] for i in range(1, len(corners) - 1)]


def _trouble(path: Path, number: int, what: str) -> InputError:
    return InputError(what, where=f"{path}, line {number}")


@dataclass(frozen=True, slots=True)
class ObjSurface:
    """The contents of a Wavefront file.

    Attributes:
        points: Positions [m], shape [n, 3].
        triangles: Shape [k, 3].
        uv: Texture coordinates of the corners of each triangle, shape [k, 3, 2], 0 where a face has none; None if no
            face has any.
        material_of: The number of the material of each triangle in `materials`, -1 for none; shape [k].
        materials: Names of materials.
        libraries: Names of the files that describe them.
    """

    points: NDArray[np.float64]
    triangles: NDArray[np.int64]
    uv: NDArray[np.float64] | None
    material_of: NDArray[np.int64]
    materials: list[str]
    libraries: list[str]


def read_obj(path: Path) -> ObjSurface:
    """Read a Wavefront file; polygons become fans of triangles."""
    points: list[list[float]] = []
    coordinates: list[list[float]] = [[0.0, 0.0]]  # of corners without any
    triangles: list[list[int]] = []
    corners: list[list[int]] = []
    material_of: list[int] = []
    materials: dict[str, int] = {}
    libraries: list[str] = []
    material = -1
    for number, words in _lines(path):
        try:
            if words[0] == "v":
                points.append([float(words[1]), float(words[2]), float(words[3])])
            elif words[0] == "f":
                given = [_index(word.split("/", 1)[0]) for word in words[1:]]
                if len(given) < 3 or 0 in given:
                    raise ValueError
                # Negative numbers count back from the last position read so far.
                fan = _fan([i - 1 if i > 0 else len(points) + i for i in given])
                triangles += fan
                corners += _fan([_coordinate_index(word, len(coordinates)) for word in words[1:]])
                material_of += [material] * len(fan)
            elif words[0] == "vt":
                coordinates.append([float(words[1]), float(words[2]) if len(words) > 2 else 0.0])
            elif words[0] == "usemtl":
                material = materials.setdefault(" ".join(words[1:]), len(materials))
            elif words[0] == "mtllib":
                libraries.append(" ".join(words[1:]))
        except (ValueError, IndexError):
            raise _trouble(path, number, f'"{" ".join(words)[:40]}" is not a valid OBJ line') from None
    chosen = np.array(corners, dtype=np.int64).reshape(-1, 3)
    return ObjSurface(
        np.array(points).reshape(-1, 3),
        np.array(triangles, dtype=np.int64).reshape(-1, 3),
        np.array(coordinates)[chosen] if chosen.any() else None,
        np.array(material_of, dtype=np.int64),
        list(materials),
        libraries,
    )


def _coordinate_index(word: str, count: int) -> int:
    """Return which of `count` texture coordinates a corner such as 3/2/1 names; the first one if it names none."""
    parts = word.split("/")
    if len(parts) < 2 or not parts[1]:
        return 0
    given = _index(parts[1])
    index = given if given > 0 else count + given
    if not 0 < index < count:
        raise ValueError
    return index


def read_off(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read positions and faces of an OFF file; polygons become fans of triangles."""
    lines = _lines(path)
    number, words = next(lines, (1, [""]))
    if not words[0].endswith("OFF"):
        raise _trouble(path, number, "an OFF file must begin with the word OFF")
    try:
        counts = words[1:] if len(words) > 1 else next(lines, (number, []))[1]
        point_count, face_count = int(counts[0]), int(counts[1])
        points, triangles = [], []
        for _ in range(point_count):
            number, words = next(lines)
            points.append([float(words[0]), float(words[1]), float(words[2])])
        for _ in range(face_count):
            number, words = next(lines)
            size = int(words[0])
            triangles += _fan(
                [_index(word) for word in words[1 : size + 1]] if len(words) > size >= 3 else []
            )
            if not len(words) > size >= 3:
                raise ValueError
    except StopIteration:
        raise InputError("the file ends too early; it may be cut off", where=str(path)) from None
    except (ValueError, IndexError):
        raise _trouble(path, number, f'"{" ".join(words)[:40]}" is not a valid OFF line') from None
    return np.array(points).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


def _table(path: Path, width: int) -> tuple[list[int], NDArray[np.float64]]:
    """Read a TetGen file: a line of counts, then as many rows as the first count says."""
    lines = _lines(path)
    number, header = next(lines, (1, []))
    try:
        counts = [int(word) for word in header]
        rows = [[float(word) for word in words] for _, (number, words) in zip(range(counts[0]), lines)]
        if len(rows) < counts[0]:
            raise InputError(
                f"the file ends after {len(rows)} of {counts[0]} rows; it may be cut off", where=str(path)
            )
        table = np.array(rows, dtype=np.float64).reshape(counts[0], -1)
    except (ValueError, IndexError):
        raise _trouble(path, number, "this is not a valid TetGen line") from None
    if table.shape[1] < 1 + width:
        raise _trouble(path, number, f"rows need at least {1 + width} numbers")
    if not (np.abs(table[:, 0]) < _MOST_NODES).all():
        raise InputError("rows must begin with their number", where=str(path))
    return counts, table


def read_tetgen(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Read a pair of TetGen files, given either; the last result is each tet's region number, if any."""
    node_path, element_path = path.with_suffix(".node"), path.with_suffix(".ele")
    for part in (node_path, element_path):
        if not part.exists():
            raise InputError(
                f"a TetGen mesh needs {part.name} beside it, which is not there", where=str(path)
            )
        check_file(part)
    _, nodes = _table(node_path, 3)
    counts, elements = _table(element_path, 4)
    size = counts[1] if len(counts) > 1 else 4
    if size < 4:
        raise InputError(f"its elements have {size} nodes; tets have at least 4", where=str(element_path))
    numbers = nodes[:, 0].astype(np.int64)
    # Files count from 0 or from 1; the first node says which.
    if not (np.abs(elements[:, 1:]) < _MOST_NODES).all():
        raise InputError("the tets name nodes that are not there", where=str(element_path))
    tets = elements[:, 1:5].astype(np.int64) - (numbers[0] if len(numbers) else 0)
    regions = elements[:, 1 + size].astype(np.int64) if elements.shape[1] > 1 + size else None
    return nodes[:, 1:4], tets, regions
