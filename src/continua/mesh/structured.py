"""Boxes of cells on a regular lattice, in tetrahedra and in hexahedra."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.hex_mesh import HexMesh
from continua.mesh.tet_mesh import TetMesh
from continua.validation import (
    LARGEST,
    check_memory,
    numbers,
    shortened,
    vector3,
    whole_number,
    whole_numbers,
)

__all__ = ["box", "bridge", "hex_box"]

MAX_ELEMENTS = 50_000_000
BYTES_PER_ELEMENT = 100  # nodes, elements and what is made on the way to them

_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def checked_counts(counts: ArrayLike, names: tuple[str, ...], elements_each: int = 1) -> tuple[int, ...]:
    """Return numbers of cells, each at least 1, with a limited total."""
    listed = ", ".join(names)
    found = tuple(whole_numbers(counts, f"cells ({listed})", (len(names),), low=1, high=2**53).tolist())
    total = elements_each * prod(found)
    check_memory(total, BYTES_PER_ELEMENT, "a mesh", "elements", "use fewer cells", MAX_ELEMENTS)
    return found


def checked_lengths(lengths: ArrayLike, what: str, count: int = 3) -> NDArray[np.float64]:
    """Return positive finite lengths [m]."""
    given = numbers(lengths)
    if given is None or given.shape != (count,) or not ((given >= 1.0 / LARGEST) & (given <= LARGEST)).all():
        wanted = "a positive length" if count == 1 else f"{count} positive lengths"
        said = lengths[0] if count == 1 and isinstance(lengths, (list, tuple)) else lengths
        raise InputError(f"{what} must be {wanted} in metres, not {shortened(said)}")
    return given


def lattice_points(size: ArrayLike, cells: tuple[int, ...], origin: ArrayLike | None) -> NDArray[np.float64]:
    """Return the nodes of a lattice; z runs fastest, x slowest. Without origin it starts at zero."""
    lengths = checked_lengths(size, "size")
    start = np.zeros(3) if origin is None else vector3(origin, "origin")
    axes = [start[a] + lengths[a] * np.arange(cells[a] + 1) / cells[a] for a in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def lattice_cells(cells: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the eight corners of each cell; corner 4 i + 2 j + k is at offset i, j, k along x, y, z."""
    nx, ny, nz = cells
    first = np.arange((nx + 1) * (ny + 1) * (nz + 1), dtype=np.int32).reshape(nx + 1, ny + 1, nz + 1)
    steps = _CORNERS @ np.array([(ny + 1) * (nz + 1), nz + 1, 1])
    return (first[:-1, :-1, :-1].reshape(-1, 1) + steps).astype(np.int32)


def _path_tets() -> NDArray[np.int32]:
    """Return the six tets of a cell: one for each order in which a path walks from corner 0 to corner 7.

    Every edge runs in a direction with steps 0 or 1, so that all cells agree on their common faces and
    halving the cells refines the tets (Freudenthal 1942). Odd orders are reoriented by swapping nodes 1 and
    3, which leaves nodes 0, 2 opposite to 1, 3: refinement uses that.
    """
    tets = []
    for order in permutations((4, 2, 1)):
        path = [0, order[0], order[0] + order[1], 7]
        odd = np.linalg.det(np.diff(_CORNERS[path], axis=0)) < 0
        tets.append([path[0], path[3], path[2], path[1]] if odd else path)
    return np.array(tets, dtype=np.int32)


_VTK = [0, 4, 6, 2, 1, 5, 7, 3]
_SIX = _path_tets()
# A regular tet in the centre and four corner tets; odd cells are the mirror image.
_FIVE_EVEN = np.array([[0, 5, 6, 3], [4, 6, 0, 5], [2, 6, 3, 0], [1, 0, 3, 5], [7, 3, 6, 5]], dtype=np.int32)
_FIVE_ODD = _FIVE_EVEN[:, [0, 1, 3, 2]] ^ 4


def box(
    size: ArrayLike = (1.0, 1.0, 1.0),
    cells: ArrayLike = (1, 1, 1),
    *,
    split: int = 6,
    origin: ArrayLike | None = None,
) -> TetMesh:
    """Return a box of tetrahedra.

    Args:
        size: Lengths along x, y, z [m].
        cells: Numbers of cells along x, y, z.
        split: Tets per cell. 6 along the main diagonal, the same in every cell; 5 with a regular tet in the centre,
            alternating between two mirror images so that the mesh is conforming; 24 around the cell's centre, with
            nodes in the centre of each cell and each cell face, the most symmetric.
        origin: The corner with the smallest coordinates [m]; zero by default.
    """
    if whole_number(split, "split") not in (5, 6, 24):
        raise InputError(f"split must be 6, 5 or 24 tets per cell, not {shortened(split)}")
    counts = checked_counts(cells, ("x", "y", "z"), split)
    if split == 24:
        return hex_box(size, counts, origin=origin).to_tets()
    points = lattice_points(size, counts, origin)
    corners = lattice_cells(counts)
    if split == 6:
        tets = corners[:, _SIX].reshape(-1, 4)
    else:
        odd = np.indices(counts).sum(axis=0).ravel() % 2 == 1
        table = np.where(odd[:, None, None], _FIVE_ODD, _FIVE_EVEN)
        tets = np.take_along_axis(corners[:, None, :], table, axis=2).reshape(-1, 4)
    return TetMesh._trusted(points, tets)


def hex_box(
    size: ArrayLike = (1.0, 1.0, 1.0), cells: ArrayLike = (1, 1, 1), *, origin: ArrayLike | None = None
) -> HexMesh:
    """Return a box of hexahedra.

    Args:
        size: Lengths along x, y, z [m].
        cells: Numbers of cells along x, y, z.
        origin: The corner with the smallest coordinates [m]; zero by default.
    """
    counts = checked_counts(cells, ("x", "y", "z"))
    return HexMesh._trusted(lattice_points(size, counts, origin), lattice_cells(counts)[:, _VTK])


def bridge(n: int, size: ArrayLike | None = None) -> TetMesh:
    """Return the bridge mesh: 8 n x n x n cells of six tets, long along x.

    Args:
        n: Cells across; the mesh has 48 n^3 tets.
        size: Lengths along x, y, z [m]; 8 x 1 x 1 by default.
    """
    n = whole_number(n, "n", low=1, high=2**31 - 1)
    return box((8.0, 1.0, 1.0) if size is None else size, (8 * n, n, n))
