"""The smoothing kernel: the cubic spline, as plain functions of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cubic_spline", "cubic_spline_derivative"]


def cubic_spline(distances: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the cubic spline kernel W [1/m3] at distances [m]; it is zero from `radius` [m] on.

    W = 8/(pi r^3) (6 (q^3 - q^2) + 1) for q = distance/radius <= 1/2, and 8/(pi r^3) 2 (1 - q)^3 up to q = 1.
    """
    q = np.asarray(distances, np.float64) / radius
    outer, inner = np.maximum(1.0 - q, 0.0), np.maximum(0.5 - q, 0.0)
    return 8.0 / (np.pi * radius**3) * (2.0 * outer**3 - 8.0 * inner**3)


def cubic_spline_derivative(distances: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the derivative of the kernel with respect to the distance [1/m4]; never positive."""
    q = np.asarray(distances, np.float64) / radius
    outer, inner = np.maximum(1.0 - q, 0.0), np.maximum(0.5 - q, 0.0)
    return 8.0 / (np.pi * radius**4) * (24.0 * inner**2 - 6.0 * outer**2)
