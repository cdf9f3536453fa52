"""Readers of simple text formats that meshio misreads: OBJ (relative indices, polygons), OFF and TetGen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError

__all__ = ["read_obj", "read_off", "read_tetgen"]


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line that is not empty, without comments."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#", 1)[0].split()
            if words:
                yield number, words


def _fan(corners: list[int]) -> list[list[int]]:
    """Cut a polygon into triangles around its first corner."""
    return [[corners[0], corners[i], corners[i + 1]] for i in range(1, len(corners) - 1)]


def _trouble(path: Path, number: int, what: str) -> InputError:
    return InputError(what, where=f"{path}, line {number}")


def read_obj(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read positions and faces of a Wavefront file; polygons become fans of triangles."""
    points: list[list[float]] = []
    triangles: list[list[int]] = []
    for number, words in _lines(path):
        try:
            if words[0] == "v":
                points.append([float(words[1]), float(words[2]), float(words[3])])
            elif words[0] == "f":
                given = [int(word.split("/", 1)[0]) for word in words[1:]]
                if len(given) < 3 or 0 in given:
                    raise ValueError
                # Negative numbers count back from the last position read so far.
                triangles += _fan([i - 1 if i > 0 else len(points) + i for i in given])
        except (ValueError, IndexError):
            raise _trouble(path, number, f'"{" ".join(words)[:40]}" is not a valid OBJ line') from None
    return np.array(points).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


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
            triangles += _fan([int(word) for word in words[1 : size + 1]] if len(words) > size >= 3 else [])
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
    return counts, table


def read_tetgen(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Read a pair of TetGen files, given either; the last result is each tet's region number, if any."""
    node_path, element_path = path.with_suffix(".node"), path.with_suffix(".ele")
    for part in (node_path, element_path):
        if not part.is_file():
            raise InputError(
                f"a TetGen mesh needs {part.name} beside it, which is not there", where=str(path)
            )
    _, nodes = _table(node_path, 3)
    counts, elements = _table(element_path, 4)
    size = counts[1] if len(counts) > 1 else 4
    numbers = nodes[:, 0].astype(np.int64)
    # Files count from 0 or from 1; the first node says which.
    tets = elements[:, 1:5].astype(np.int64) - (numbers[0] if len(numbers) else 0)
    regions = elements[:, 1 + size].astype(np.int64) if elements.shape[1] > 1 + size else None
    return nodes[:, 1:4], tets, regions
