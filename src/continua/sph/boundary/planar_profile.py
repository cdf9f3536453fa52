"""The contribution of a flat boundary to the density of a particle, a function of its distance alone.

A boundary's part of a particle's density is an integral over the kernel's support, rho_B(x) = int gamma(Phi(y))
K(|x - y|) dy, with Phi the signed distance to the boundary (Koschier and Bender 2017). For a flat boundary the integral
is one-dimensional: K is integrated over planes first. Kernel and gamma are piecewise polynomials, so that Gaussian
quadrature between their breakpoints is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray

from continua.sph.smoothing_kernel import cubic_spline

__all__ = [
    "INTERVALS_PER_RADIUS",
    "boundary_weight",
    "planar_density",
    "planar_profile",
    "planar_volume",
    "profile_table",
    "rest_inset",
    "smoothed_weight_table",
]

INTERVALS_PER_RADIUS = 64  # of a table
_NODES, _WEIGHTS = leggauss(8)
WeightFunction = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def boundary_weight(model: str, extension: float) -> tuple[WeightFunction, tuple[float, ...]]:
    """Return gamma as a function of the distance in kernel radii, and its breakpoints.

    The density map's gamma(s) = 1 - s/extension up to `extension`, then 0. The volume map's (Bender and others 2019) is
    1 inside and decays like the kernel outside.
    """
    if model == "density":
        return (lambda s: np.maximum(1.0 - s / extension, 0.0)), (extension,)
    return (lambda s: cubic_spline(np.maximum(s, 0.0), 1.0) * (np.pi / 8.0)), (0.0, 0.5, 1.0)


def _kernel_section(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of the kernel of radius 1 over a plane at distance u from its centre."""
    total = np.zeros_like(u)
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        start = np.clip(np.abs(u), low, high)
        half = 0.5 * (high - start)
        s = (start + half)[..., None] + half[..., None] * _NODES
        total += 2.0 * np.pi * half * ((cubic_spline(s, 1.0) * s) @ _WEIGHTS)
    return total


def _ball_section(u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.pi * np.maximum(1.0 - u * u, 0.0)


def _planar_integral(model: str, distances: NDArray[np.float64], extension: float) -> NDArray[np.float64]:
    """Return the integral for a flat boundary at distances in kernel radii."""
    gamma, breaks = boundary_weight(model, extension)
    section = _kernel_section if model == "density" else _ball_section
    fixed = [np.full_like(distances, c) for c in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    edges = np.sort([*fixed, *(np.clip(b - distances, -1.0, 1.0) for b in breaks)], axis=0)
    total = np.zeros_like(distances)
    for low, high in pairwise(edges):
        half = 0.5 * (high - low)
        u = (low + half)[:, None] + half[:, None] * _NODES
        total += half * ((section(u) * gamma(distances[:, None] + u)) @ _WEIGHTS)
    return total


def planar_density(distances: ArrayLike, radius: float = 1.0, extension: float = 1.0) -> NDArray[np.float64]:
    """Return rho_B/rho_0 at distances [m] from a flat boundary: 0 from `radius` (1 + `extension`) on, growing inwards.

    Args:
        distances: Signed distances to the boundary [m], negative inside.
        radius: Radius of the kernel [m].
        extension: How far outside the surface the boundary contributes, in kernel radii; 1 in the thesis of Koschier.
    """
    given = np.asarray(distances, np.float64) / radius
    return _planar_integral("density", given.ravel(), extension).reshape(given.shape)


def planar_volume(distances: ArrayLike, radius: float = 1.0) -> NDArray[np.float64]:
    """Return the volume of a flat boundary in the kernel's support [m3], weighted as in a volume map."""
    given = np.asarray(distances, np.float64) / radius
    return radius**3 * _planar_integral("volume", given.ravel(), 1.0).reshape(given.shape)


def planar_profile(model: str, distances: NDArray[np.float64], extension: float) -> NDArray[np.float64]:
    """Return the contribution of a flat boundary to the relative density at distances in kernel radii."""
    if model == "density":
        return _planar_integral("density", distances, extension)
    return _planar_integral("volume", distances, extension) * cubic_spline(np.maximum(distances, 0.0), 1.0)


@cache
def rest_inset(model: str, extension: float) -> float:
    """Return how far below its surface a boundary must begin for fluid at rest to end at the surface, in kernel radii.

    A cubic lattice of particles, one diameter (half a kernel radius) apart, whose first layer is half a diameter from a
    flat surface, lacks the layers behind the surface; the boundary must contribute what they would.
    """
    steps = 0.5 * np.arange(-2, 3)
    lattice = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    lengths = np.linalg.norm(lattice[lattice[:, 2] < -0.1], axis=1)
    missing = float(cubic_spline(lengths, 1.0).sum() / 8.0)

    def surplus(inset: float) -> float:
        return float(planar_profile(model, np.array([0.25 + inset]), extension)[0]) - missing

    from scipy.optimize import brentq  # slow to import, and every start would wait for it

    return float(brentq(surplus, 0.05 - 0.25, 1.5))


def profile_table(model: str, extension: float, reach: float, depth: float) -> NDArray[np.float32]:
    """Tabulate the integral of a flat boundary and its derivative from -`depth` to `reach`, shape [2 n].

    All lengths are in kernel radii, entries 1/`INTERVALS_PER_RADIUS` apart; cubic Hermite pieces join them.
    """
    count = round((reach + depth) * INTERVALS_PER_RADIUS) + 1
    x = -depth + np.arange(count) / INTERVALS_PER_RADIUS
    step = 1e-4
    values = _planar_integral(model, x, extension)
    slopes = (_planar_integral(model, x + step, extension) - _planar_integral(model, x - step, extension)) / (
        2.0 * step
    )
    return np.stack([values, slopes / INTERVALS_PER_RADIUS], axis=1).astype(np.float32).ravel()


def smoothed_weight_table(
    model: str, extension: float, spacing: float, reach: float, depth: float
) -> NDArray[np.float32]:
    """Tabulate gamma for sums over a lattice: its kinks are smoothed over the lattice's spacing, without bias.

    A kink parallel to the lattice makes sums accurate to second order in the spacing only. Gamma is therefore convolved
    with B3 - B3''/6, a cubic B-spline sharpened so that its second moment vanishes: cubic polynomials are preserved.

    Args:
        model: "density" or "volume".
        extension: As in `boundary_weight`.
        spacing: Of the lattice, in kernel radii.
        reach: Largest distance of the table, in kernel radii; the value there is 0.
        depth: Largest depth.

    Returns:
        Values at -depth + k/`INTERVALS_PER_RADIUS`, to be interpolated linearly.
    """
    gamma, breaks = boundary_weight(model, extension)
    count = round((reach + depth) * INTERVALS_PER_RADIUS) + 1
    x = -depth + np.arange(count) / INTERVALS_PER_RADIUS
    total = np.zeros(count)
    cuts = np.arange(-2.0, 3.0)
    edges = np.sort(
        [*(np.full(count, c) for c in cuts), *(np.clip((b - x) / spacing, -2.0, 2.0) for b in breaks)], axis=0
    )
    for low, high in pairwise(edges):
        half = 0.5 * (high - low)
        t = (low + half)[:, None] + half[:, None] * _NODES
        filter_kernel = _cubic(t) - (_hat(t + 1.0) - 2.0 * _hat(t) + _hat(t - 1.0)) / 6.0
        total += half * ((filter_kernel * gamma(x[:, None] + spacing * t)) @ _WEIGHTS)
    return total.astype(np.float32)


def _hat(t: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(1.0 - np.abs(t), 0.0)


def _cubic(t: NDArray[np.float64]) -> NDArray[np.float64]:
    outer, inner = np.maximum(2.0 - np.abs(t), 0.0), np.maximum(1.0 - np.abs(t), 0.0)
    return outer**3 / 6.0 - 4.0 * inner**3 / 6.0
