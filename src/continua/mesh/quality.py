"""Figures about the shapes of elements, and how they print."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.short_repr import ShortRepr

__all__ = [
    "HexQuality",
    "Quality",
    "dihedral_angles",
    "hex_quality",
    "mean_ratios",
    "radius_edge_ratios",
    "tet_quality",
]

# The pairs of faces (face i lies opposite node i) that meet in the six edges.
_FACE_PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_BINS = 12


def _bars(histogram: NDArray[np.int64]) -> list[str]:
    """Draw the histogram of angles as lines of text."""
    most = max(int(histogram.max()), 1)
    width = 180 // len(histogram)
    return [
        f"  {i * width:3d} to {(i + 1) * width:3d} deg {int(count):10d}  {'#' * round(30 * count / most)}"
        for i, count in enumerate(histogram)
    ]


@dataclass(frozen=True, slots=True, repr=False)
class Quality(ShortRepr):
    """Shapes of tetrahedra. `print(quality)` shows all of it as a table.

    Attributes:
        element_count: Number of tets.
        min_dihedral: Smallest angle between two faces of a tet [degrees]; 70.5 if regular.
        max_dihedral: Largest angle between two faces of a tet [degrees].
        mean_min_dihedral: Mean over the tets of each one's smallest angle [degrees].
        max_radius_edge: Largest circumradius over shortest edge; 0.612 if regular.
        max_aspect: Largest longest edge over inradius, scaled so that a regular tet has 1.
        mean_aspect: Mean of the same.
        min_volume: Smallest volume [m3].
        max_volume: Largest volume [m3].
        volume: Total volume [m3].
        min_edge: Shortest edge [m].
        max_edge: Longest edge [m].
        histogram: How many of the six angles of all tets lie in each 15 degrees from 0 to 180, shape [12].
        worst: Number of the tet with the smallest angle.
    """

    element_count: int
    min_dihedral: float
    max_dihedral: float
    mean_min_dihedral: float
    max_radius_edge: float
    max_aspect: float
    mean_aspect: float
    min_volume: float
    max_volume: float
    volume: float
    min_edge: float
    max_edge: float
    histogram: NDArray[np.int64]
    worst: int

    def __str__(self) -> str:
        lines = [
            f"{self.element_count} tets, volume {self.volume:.6g} m3",
            f"volume of a tet      {self.min_volume:.3g} to {self.max_volume:.3g} m3",
            f"edge                 {self.min_edge:.3g} to {self.max_edge:.3g} m",
            f"dihedral angle       {self.min_dihedral:.1f} to {self.max_dihedral:.1f} deg"
            f" (mean of the smallest {self.mean_min_dihedral:.1f}; worst is tet {self.worst})",
            f"radius over edge     up to {self.max_radius_edge:.2f} (regular: 0.61)",
            f"aspect ratio         mean {self.mean_aspect:.2f}, up to {self.max_aspect:.2f} (regular: 1)",
            "dihedral angles",
            *_bars(self.histogram),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class HexQuality(ShortRepr):
    """Shapes of hexahedra.

    Attributes:
        element_count: Number of hexes.
        min_scaled_jacobian: Smallest corner determinant with edges of unit length; 1 for a box, 0 if flat.
        mean_scaled_jacobian: Mean over the hexes of each one's smallest.
        min_volume: Smallest volume [m3].
        max_volume: Largest volume [m3].
        volume: Total volume [m3].
        worst: Number of the hex with the smallest scaled determinant.
    """

    element_count: int
    min_scaled_jacobian: float
    mean_scaled_jacobian: float
    min_volume: float
    max_volume: float
    volume: float
    worst: int

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.element_count} hexes, volume {self.volume:.6g} m3",
                f"volume of a hex      {self.min_volume:.3g} to {self.max_volume:.3g} m3",
                f"scaled Jacobian      {self.min_scaled_jacobian:.3f} to 1"
                f" (mean {self.mean_scaled_jacobian:.3f}; worst is hex {self.worst})",
            ]
        )


def _face_normals(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return outward normals of twice each face's area, face i opposite node i, [m, 4, 3]."""
    p0, p1, p2, p3 = (corners[:, i] for i in range(4))
    return np.stack(
        [
            np.cross(p2 - p1, p3 - p1),
            np.cross(p3 - p0, p2 - p0),
            np.cross(p1 - p0, p3 - p0),
            np.cross(p2 - p0, p1 - p0),
        ],
        axis=1,
    )


def dihedral_angles(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the six angles between faces [degrees] of tets with `corners` [m, 4, 3]; shape [m, 6]."""
    normals = _face_normals(corners)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    cosines = [-np.einsum("ij,ij->i", normals[:, a], normals[:, b]) for a, b in _FACE_PAIRS]
    return np.degrees(np.arccos(np.clip(np.stack(cosines, axis=1), -1.0, 1.0)))


def _edge_lengths(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    pairs = np.array(_FACE_PAIRS)
    return np.asarray(np.linalg.norm(corners[:, pairs[:, 1]] - corners[:, pairs[:, 0]], axis=2))


def radius_edge_ratios(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return circumradius over shortest edge of tets with `corners` [m, 4, 3]; shape [m]."""
    a, b, c = (corners[:, i] - corners[:, 0] for i in (1, 2, 3))
    determinant = np.einsum("ij,ij->i", np.cross(a, b), c)
    squares = [np.einsum("ij,ij->i", v, v)[:, None] for v in (a, b, c)]
    arm = squares[0] * np.cross(b, c) + squares[1] * np.cross(c, a) + squares[2] * np.cross(a, b)
    circumradius = np.linalg.norm(arm, axis=1) / (2.0 * determinant)
    return np.asarray(circumradius / _edge_lengths(corners).min(axis=1))


def mean_ratios(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 12 (3 V)^(2/3) over the sum of squared edges of tets with `corners` [m, 4, 3]; 1 if regular, 0 if flat."""
    a, b, c = (corners[:, i] - corners[:, 0] for i in (1, 2, 3))
    volumes = np.einsum("ij,ij->i", np.cross(a, b), c) / 6.0
    squares = (_edge_lengths(corners) ** 2).sum(axis=1)
    return np.asarray(12.0 * np.cbrt(3.0 * volumes) ** 2 * np.sign(volumes) / squares)


def tet_quality(corners: NDArray[np.float64]) -> Quality:
    """Return the figures of tets with `corners` [m], shape [m, 4, 3]."""
    a, b, c = (corners[:, i] - corners[:, 0] for i in (1, 2, 3))
    volumes = np.einsum("ij,ij->i", np.cross(a, b), c) / 6.0
    edges = _edge_lengths(corners)
    area = 0.5 * np.linalg.norm(_face_normals(corners), axis=2).sum(axis=1)
    aspect = edges.max(axis=1) * area / (3.0 * volumes * 2.0 * np.sqrt(6.0))
    angles = dihedral_angles(corners)
    smallest = angles.min(axis=1)
    return Quality(
        element_count=len(corners),
        min_dihedral=float(smallest.min()),
        max_dihedral=float(angles.max()),
        mean_min_dihedral=float(smallest.mean()),
        max_radius_edge=float(radius_edge_ratios(corners).max()),
        max_aspect=float(aspect.max()),
        mean_aspect=float(aspect.mean()),
        min_volume=float(volumes.min()),
        max_volume=float(volumes.max()),
        volume=float(volumes.sum()),
        min_edge=float(edges.min()),
        max_edge=float(edges.max()),
        histogram=np.histogram(angles, bins=_BINS, range=(0.0, 180.0))[0],
        worst=int(smallest.argmin()),
    )


def hex_quality(jacobians: NDArray[np.float64], volumes: NDArray[np.float64]) -> HexQuality:
    """Return the figures of hexes from their corner Jacobians [m, 8, 3, 3] and volumes [m3]."""
    unit = jacobians / np.linalg.norm(jacobians, axis=2, keepdims=True)
    scaled = np.linalg.det(unit).min(axis=1)
    return HexQuality(
        element_count=len(volumes),
        min_scaled_jacobian=float(scaled.min()),
        mean_scaled_jacobian=float(scaled.mean()),
        min_volume=float(volumes.min()),
        max_volume=float(volumes.max()),
        volume=float(volumes.sum()),
        worst=int(scaled.argmin()),
    )
