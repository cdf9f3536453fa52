"""What a flat wall adds to the density of a particle, as a function of its distance alone.

The part of a wall in a particle's density is an integral over the kernel's ball, rho_B(x) = int gamma(Phi(y))
K(|x - y|) dy, with Phi the signed distance to the wall (Koschier and Bender 2017). Where the wall is flat the integral
has one dimension: K is summed over planes first. Kernel and gamma are polynomials between a few breaks, so that
Gauss's rule between these is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from continua.sph.smoothing_kernel import spline

__all__ = ["PER_RADIUS", "planar_density", "planar_volume", "rest_inset", "sampled", "smoothed", "weight"]

PER_RADIUS = 64  # intervals of a table for each kernel radius
_NODES, _WEIGHTS = leggauss(8)
Weight = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def weight(model: str, extension: float) -> tuple[Weight, tuple[float, ...]]:
    """Return gamma over the distance in kernel radii, and the distances where its formula changes.

    The density map's gamma(s) = 1 - s/extension up to `extension`, then 0. The volume map's (Bender and others 2019) is
    1 inside and falls like the kernel outside.
    """
    if model == "density":
        return (lambda s: np.maximum(1.0 - s / extension, 0.0)), (extension,)
    return (lambda s: spline(np.maximum(s, 0.0), 1.0) * (np.pi / 8.0)), (0.0, 0.5, 1.0)


def _slice_density(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of the kernel of radius 1 over a plane at distance u from its middle."""
    total = np.zeros_like(u)
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        start = np.clip(np.abs(u), low, high)
        half = 0.5 * (high - start)
        s = (start + half)[..., None] + half[..., None] * _NODES
        total += 2.0 * np.pi * half * ((spline(s, 1.0) * s) @ _WEIGHTS)
    return total


def _slice_volume(u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.pi * np.maximum(1.0 - u * u, 0.0)


def _planar(model: str, distances: NDArray[np.float64], extension: float) -> NDArray[np.float64]:
    """Return the integral for a flat wall at distances in kernel radii; the ball has radius 1."""
    gamma, breaks = weight(model, extension)
    section = _slice_density if model == "density" else _slice_volume
    fixed = [np.full_like(distances, c) for c in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    edges = np.sort([*fixed, *(np.clip(b - distances, -1.0, 1.0) for b in breaks)], axis=0)
    total = np.zeros_like(distances)
    for low, high in pairwise(edges):
        half = 0.5 * (high - low)
        u = (low + half)[:, None] + half[:, None] * _NODES
        total += half * ((section(u) * gamma(distances[:, None] + u)) @ _WEIGHTS)
    return total


def planar_density(distances: ArrayLike, radius: float = 1.0, extension: float = 1.0) -> NDArray[np.float64]:
    """Return rho_B/rho_0 at distances [m] from a flat wall: 0 from `radius` (1 + `extension`) on, then growing.

    Args:
        distances: Signed distances to the wall [m], negative inside.
        radius: Radius of the kernel [m].
        extension: How far outside the surface the wall still weighs, in kernel radii; 1 in the thesis of Koschier.
    """
    given = np.asarray(distances, np.float64) / radius
    return _planar("density", given.ravel(), extension).reshape(given.shape)


def planar_volume(distances: ArrayLike, radius: float = 1.0) -> NDArray[np.float64]:
    """Return the volume of a flat wall in the kernel's ball [m3], weighted as in a volume map."""
    given = np.asarray(distances, np.float64) / radius
    return radius**3 * _planar("volume", given.ravel(), 1.0).reshape(given.shape)


def profile(model: str, distances: NDArray[np.float64], extension: float) -> NDArray[np.float64]:
    """Return what a flat wall adds to the relative density at distances in kernel radii."""
    if model == "density":
        return _planar("density", distances, extension)
    return _planar("volume", distances, extension) * spline(np.maximum(distances, 0.0), 1.0)


@cache
def rest_inset(model: str, extension: float) -> float:
    """Return by how much a wall must lie below its surface so that fluid at rest ends at the surface, in kernel radii.

    A cubic lattice of particles, one diameter (half a kernel radius) apart, whose first layer is half a diameter from a
    flat surface, lacks the layers behind the surface; there the wall must weigh what they would.
    """
    steps = 0.5 * np.arange(-2, 3)
    lattice = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    lengths = np.linalg.norm(lattice[lattice[:, 2] < -0.1], axis=1)
    missing = float(spline(lengths, 1.0).sum() / 8.0)

    def excess(inset: float) -> float:
        return float(profile(model, np.array([0.25 + inset]), extension)[0]) - missing

    return float(brentq(excess, 0.05 - 0.25, 1.5))


def sampled(model: str, extension: float, reach: float, depth: float) -> NDArray[np.float32]:
    """Return value and slope of the integral of a flat wall from -`depth` to `reach`, shape [2 n].

    All lengths are in kernel radii, entries 1/`PER_RADIUS` apart; between them a cubic takes both.
    """
    count = round((reach + depth) * PER_RADIUS) + 1
    x = -depth + np.arange(count) / PER_RADIUS
    small = 1e-4
    values = _planar(model, x, extension)
    slopes = (_planar(model, x + small, extension) - _planar(model, x - small, extension)) / (2.0 * small)
    return np.stack([values, slopes / PER_RADIUS], axis=1).astype(np.float32).ravel()


def smoothed(model: str, extension: float, spacing: float, reach: float, depth: float) -> NDArray[np.float32]:
    """Return gamma for sums over a lattice: its kinks are smoothed over the lattice's spacing, without bias.

    A kink that is parallel to the lattice makes sums wrong to second order in the spacing. Gamma is therefore convolved
    with B3 - B3''/6, a cubic B-spline sharpened so that its second moment vanishes: polynomials of degree 3 stay.

    Args:
        model: "density" or "volume".
        extension: As in `weight`.
        spacing: Of the lattice, in kernel radii.
        reach: Largest distance of the table, in kernel radii; the value there is 0.
        depth: Largest depth.

    Returns:
        Values at -depth + k/`PER_RADIUS`, to be joined by lines.
    """
    gamma, breaks = weight(model, extension)
    count = round((reach + depth) * PER_RADIUS) + 1
    x = -depth + np.arange(count) / PER_RADIUS
    total = np.zeros(count)
    cuts = np.arange(-2.0, 3.0)
    edges = np.sort(
        [*(np.full(count, c) for c in cuts), *(np.clip((b - x) / spacing, -2.0, 2.0) for b in breaks)], axis=0
    )
    for low, high in pairwise(edges):
        half = 0.5 * (high - low)
        t = (low + half)[:, None] + half[:, None] * _NODES
        bump = _cubic(t) - (_hat(t + 1.0) - 2.0 * _hat(t) + _hat(t - 1.0)) / 6.0
        total += half * ((bump * gamma(x[:, None] + spacing * t)) @ _WEIGHTS)
    return total.astype(np.float32)


def _hat(t: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(1.0 - np.abs(t), 0.0)


def _cubic(t: NDArray[np.float64]) -> NDArray[np.float64]:
    outer, inner = np.maximum(2.0 - np.abs(t), 0.0), np.maximum(1.0 - np.abs(t), 0.0)
    return outer**3 / 6.0 - 4.0 * inner**3 / 6.0
