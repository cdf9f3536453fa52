"""Surfaces that formulas of two parameters describe."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.formula import Formula
from continua.mesh.structured import checked_counts
from continua.mesh.surface_mesh import SurfaceMesh
from continua.validation import LARGEST, array, flag, function, shortened, vector

__all__ = ["parametric"]

Coordinate = str | Callable[[NDArray[np.float64], NDArray[np.float64]], ArrayLike]


def parametric(
    x: Coordinate,
    y: Coordinate,
    z: Coordinate,
    *,
    u: tuple[float, float] = (0.0, 1.0),
    v: tuple[float, float] = (0.0, 1.0),
    cells: ArrayLike = (24, 48),
    closed: bool = True,
) -> SurfaceMesh:
    """Make the surface (x(u, v), y(u, v), z(u, v)).

    Nodes that fall on the same place become one, so seams close and poles become points; a surface that is inside out
    is turned. It is not checked whether the surface cuts itself.

    Args:
        x: Coordinate [m]: a formula of u and v, see `continua.formula.Formula`, or a function of arrays.
        y: The same along y.
        z: The same along z.
        u: Range of the first parameter.
        v: Range of the second parameter.
        cells: Number of steps along u and v.
        closed: Refuse a surface that is not closed.

    Raises:
        InputError: A formula is not understood or has no finite value, or the surface has open edges, more than two
        triangles at an edge, or no inside.
    """
    closed = flag(closed, "'closed' of a surface")
    across, along = checked_counts(cells, ("along u", "along v"), 2)
    (low_u, high_u), (low_v, high_v) = _range(u, "u"), _range(v, "v")
    uu, vv = np.meshgrid(
        np.linspace(low_u, high_u, across + 1), np.linspace(low_v, high_v, along + 1), indexing="ij"
    )
    points = np.stack([_values(given, name, uu, vv) for given, name in zip((x, y, z), "xyz")], axis=-1)
    table = np.arange(uu.size).reshape(uu.shape)
    a, b, c, d = table[:-1, :-1], table[1:, :-1], table[1:, 1:], table[:-1, 1:]
    triangles = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    surface = SurfaceMesh(points.reshape(-1, 3), triangles).welded()
    if not closed:
        return surface
    return _with_inside(surface)


def _range(given: tuple[float, float], name: str) -> tuple[float, float]:
    low, high = vector(given, f"the range of {name}", 2).tolist()
    if not low < high:
        raise InputError(
            f"the range of {name} must go from a smaller to a larger number, not {shortened(given)}"
        )
    return low, high


def _values(given: Coordinate, name: str, u: NDArray, v: NDArray) -> NDArray[np.float64]:
    """Return one coordinate of all points, all finite."""
    if isinstance(given, str):
        try:
            values = Formula(given, ("u", "v"))(u=u, v=v)
        except InputError as error:
            raise InputError(f"{name}(u, v): {error}") from None
    else:
        function(given, f"the coordinate {name}", "a formula or a function of u and v")
        found = array(given(u, v), f"what the coordinate {name} returns", finite=False)
        if found.shape not in ((), (1,), u.shape):
            raise InputError(f"{name}(u, v) must have the shape {list(u.shape)}, not {list(found.shape)}")
        values = np.broadcast_to(found, u.shape)
    bad = ~(np.abs(values) <= LARGEST)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise InputError(
            f"{name}(u, v) is {values[i, j]} at u = {u[i, j]:g}, v = {v[i, j]:g}; it must be finite"
        )
    return values


def _with_inside(surface: SurfaceMesh) -> SurfaceMesh:
    """Return the surface facing outward, or say why it has no inside."""
    if not surface.is_closed:
        raise InputError(
            f"the surface is open: {len(surface.open_edges)} edges belong to one triangle only; let both ends of u or "
            "v meet, or end in a point"
        )
    if not (surface.is_manifold and surface.is_oriented):
        raise InputError(
            "the surface meets itself along edges, so it has no inside; change the ranges of u and v"
        )
    size = surface.bounds[1] - surface.bounds[0]
    if abs(surface.volume) <= 1e-9 * size.max() ** 3:
        raise InputError("the surface encloses no volume")
    if surface.volume > 0.0:
        return surface
    return surface.flipped()
