"""Boxes of cells on a regular lattice, in tetrahedra and in hexahedra."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.mesh.hex_mesh import HexMesh
from continua.mesh.tet_mesh import TetMesh

__all__ = ["box", "bridge", "hex_box"]

MAX_ELEMENTS = 50_000_000

_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def checked_counts(counts: ArrayLike, names: tuple[str, ...], elements_each: int = 1) -> tuple[int, ...]:
    """Return whole numbers of cells, each at least 1 and together not absurdly many."""
    array = np.asarray(counts)
    listed = ", ".join(names)
    if array.shape != (len(names),) or array.dtype.kind not in "iu":
        raise InputError(f"cells must be {len(names)} whole numbers ({listed}), not {counts!r}")
    if (array < 1).any():
        raise InputError(f"cells must be at least 1 in every direction ({listed}), not {counts!r}")
    numbers = tuple(int(count) for count in array)
    total = elements_each
    for number in numbers:
        total *= number
    if total > MAX_ELEMENTS:
        raise InputError(
            f"{total} elements are too many for one mesh (at most {MAX_ELEMENTS}); use fewer cells"
        )
    return numbers


def checked_lengths(lengths: ArrayLike, what: str, count: int = 3) -> NDArray[np.float64]:
    """Return positive finite lengths [m]."""
    try:
        array = np.asarray(lengths, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (count,) or not np.isfinite(array).all() or (array <= 0.0).any():
        wanted = "a positive length" if count == 1 else f"{count} positive lengths"
        given = lengths[0] if count == 1 and isinstance(lengths, (list, tuple)) else lengths
        raise InputError(f"{what} must be {wanted} in metres, not {given!r}")
    return array


def lattice_points(size: ArrayLike, cells: tuple[int, ...], origin: ArrayLike | None) -> NDArray[np.float64]:
    """Return the nodes of a lattice; z runs fastest, x slowest. Without origin it starts at zero."""
    lengths = checked_lengths(size, "size")
    start = np.zeros(3) if origin is None else np.asarray(origin, dtype=np.float64)
    if start.shape != (3,) or not np.isfinite(start).all():
        raise InputError(f"origin must be three finite numbers, not {origin!r}")
    axes = [start[a] + lengths[a] * np.arange(cells[a] + 1) / cells[a] for a in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def lattice_cells(cells: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the eight corners of each cell; corner 4 i + 2 j + k is i, j, k steps along x, y, z."""
    nx, ny, nz = cells
    first = np.arange((nx + 1) * (ny + 1) * (nz + 1), dtype=np.int32).reshape(nx + 1, ny + 1, nz + 1)
    steps = _CORNERS @ np.array([(ny + 1) * (nz + 1), nz + 1, 1])
    return (first[:-1, :-1, :-1].reshape(-1, 1) + steps).astype(np.int32)


def _path_tets() -> NDArray[np.int32]:
    """Return the six tets of a cell: one for each order in which a path walks from corner 0 to corner 7.

    Every edge runs in a direction with steps 0 or 1, so that all cells agree on their common faces and
    halving the cells refines the tets (Freudenthal 1942). Odd orders are turned by swapping nodes 1 and
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
# A regular tet in the middle and four corner tets; the odd cells take the mirror image.
_FIVE_EVEN = np.array([[0, 5, 6, 3], [4, 6, 0, 5], [2, 6, 3, 0], [1, 0, 3, 5], [7, 3, 6, 5]], dtype=np.int32)
_FIVE_ODD = _FIVE_EVEN[:, [0, 1, 3, 2]] ^ 4


def box(
    size: ArrayLike = (1.0, 1.0, 1.0),
    cells: ArrayLike = (1, 1, 1),
    *,
    split: int = 6,
    origin: ArrayLike | None = None,
) -> TetMesh:
    """Make a box of tetrahedra.

    Args:
        size: Lengths along x, y, z [m].
        cells: Numbers of cells along x, y, z.
        split: Tets in a cell. 6 along the main diagonal, alike in every cell; 5 with a regular tet in the
            middle, alternating between two mirror images so that neighbours fit; 24 alike around the cell's
            centre, with nodes in the middle of each cell and each cell side, the most symmetric.
        origin: The corner with the smallest coordinates [m]; zero unless given.
    """
    if split not in (5, 6, 24):
        raise InputError(f"split must be 6, 5 or 24 tets a cell, not {split!r}")
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
    """Make a box of hexahedra.

    Args:
        size: Lengths along x, y, z [m].
        cells: Numbers of cells along x, y, z.
        origin: The corner with the smallest coordinates [m]; zero unless given.
    """
    counts = checked_counts(cells, ("x", "y", "z"))
    return HexMesh._trusted(lattice_points(size, counts, origin), lattice_cells(counts)[:, _VTK])


def bridge(n: int, size: ArrayLike | None = None) -> TetMesh:
    """Make the bridge lattice: 8 n x n x n cells of six tets, long along x.

    Args:
        n: Cells across; the mesh has 48 n^3 tets.
        size: Lengths along x, y, z [m]; 8 x 1 x 1 unless given.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, not {n!r}")
    return box((8.0, 1.0, 1.0) if size is None else size, (8 * int(n), int(n), int(n)))
