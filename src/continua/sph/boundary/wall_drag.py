"""Viscous drag of walls on the particles next to them, from the walls' part of the density.

A flat wall stands for fluid at rest density behind it, whose velocity continues that of the particle linearly through
the velocity at the wall (Morris, Fox and Zhu 1997). Its viscous forces on a particle at distance s add up to a drag on
the velocity relative to the wall. With a slip length b the velocity is that of the wall b behind the surface (Navier).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from continua.sph.boundary.planar_profile import planar_profile
from continua.sph.smoothing_kernel import cubic_spline

__all__ = ["WallProfile", "map_wall_profile", "sampled_wall_profile"]

_ENTRIES = 256
_SMALLEST_DISTANCE = (
    0.25  # of the diameter; in corners, where walls overlap, the density is that of a closer wall
)
# times the integrals over half spaces: on a cubic lattice half a diameter from the wall the drag is then exactly that
# of the missing layer, 12.5 diameters
_LATTICE_FACTOR = 1.0625
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


class WallProfile(NamedTuple):
    """What the density of a flat wall tells.

    Attributes:
        table: For densities from 0 to `densest`: distance from the wall, drag times that distance, part of the
            second moment of the viscous weights, and distance times gradient of the density, in diameters; float32,
            flattened.
        densest: Density of the last entry.
        diameter: Of a particle [m].
    """

    table: NDArray[np.float32]
    densest: float
    diameter: float

    def interpolate(self, density: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return distance from the wall and drag times that distance, in diameters, for densities [n]."""
        columns = self.table.reshape(-1, 4).astype(np.float64)
        at = np.clip(density / self.densest, 0.0, 1.0) * (len(columns) - 1)
        entries = np.arange(len(columns))
        return np.interp(at, entries, columns[:, 0]), np.interp(at, entries, columns[:, 1])


def viscous_weight(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weight of a pair in the viscous force for squared distances, in kernel radii."""
    return np.where(squares < 1.0, (1.0 - squares) * (27.0 - 20.0 * squares), 0.0)


@cache
def _half_space_integrals() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return distances, and the integrals of k x^2 z/r^2 and k r^2 over the half space z > s, in diameters."""
    s = np.linspace(0.0, 2.0, 401)
    sheets = np.zeros((2, len(s)))
    for index, z in enumerate(s):
        top = np.sqrt(max(4.0 - z * z, 0.0))
        rho = 0.5 * top * (_NODES + 1.0)
        square = rho * rho + z * z
        ring = np.pi * rho * viscous_weight(0.25 * square) * (0.5 * top * _WEIGHTS)
        sheets[:, index] = (
            (ring * rho * rho * z / np.maximum(square, 1e-12)).sum(),
            (2.0 * ring * square).sum(),
        )
    steps = 0.5 * np.diff(s) * (sheets[:, 1:] + sheets[:, :-1])
    tails = np.concatenate([np.cumsum(steps[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1))], axis=1)
    return s, *(_LATTICE_FACTOR * tails)


def _profile(distances: NDArray[np.float64], densities: NDArray[np.float64], diameter: float) -> WallProfile:
    """Return the profile of a wall with `densities` at ascending `distances` in diameters."""
    densest = float(densities[0])
    parts = np.linspace(0.0, densest, _ENTRIES)
    at = np.interp(parts, densities[::-1], distances[::-1])
    s, drag, moment = _half_space_integrals()
    slopes = np.interp(at, distances, -np.gradient(densities, distances))
    table = np.stack([at, np.interp(at, s, drag), np.interp(at, s, moment), at * slopes], axis=1)
    table[0, 1:] = 0.0  # out of reach
    return WallProfile(np.ascontiguousarray(table, np.float32).ravel(), densest, diameter)


@cache
def sampled_wall_profile(spacing: float, depth: float, diameter: float) -> WallProfile:
    """Return the profile of a lattice of boundary particles; `spacing` and `depth` are in diameters."""
    steps = spacing * np.arange(-4, 5)
    volume = 1.0 / float(cubic_spline(np.hypot(*np.meshgrid(steps, steps)), 2.0).sum())
    distances = np.linspace(_SMALLEST_DISTANCE, 2.0 - depth, 257)
    densities = np.zeros(len(distances))
    for index, z in enumerate(distances + depth):  # the mean over positions along the wall
        rho = 0.5 * np.sqrt(max(4.0 - z * z, 0.0)) * (_NODES + 1.0)
        ring = 2.0 * np.pi * rho * cubic_spline(np.hypot(rho, z), 2.0)
        densities[index] = ring @ _WEIGHTS * (0.5 * np.sqrt(max(4.0 - z * z, 0.0)))
    return _profile(distances, densities * volume / spacing**2, diameter)


@cache
def map_wall_profile(model: str, extension: float, inset: float, diameter: float) -> WallProfile:
    """Return the profile of a density or volume map; `inset` is in kernel radii."""
    distances = np.linspace(_SMALLEST_DISTANCE, 4.0, 481)
    densities = planar_profile(model, 0.5 * distances + inset, extension)
    reach = max(int((densities > 1e-9 * densities[0]).sum()) + 1, 2)
    return _profile(distances[:reach], np.maximum.accumulate(densities[:reach][::-1])[::-1], diameter)
