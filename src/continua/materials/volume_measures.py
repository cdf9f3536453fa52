"""Measures of the change of volume: isotropic laws have the energy lambda/2 g^2 of one of them, plus a part with mu.

Elements that average the volume (see `solids.elements.mean_volume`) replace g by its mean. Each function returns g,
its gradient and its Hessian (00, 11, 22, 01, 02, 12) in the principal stretches. To first order g is the trace of the
strain.
"""

from __future__ import annotations

from math import log

from continua.materials.registry import law_function

__all__ = ["green_trace", "log_ratio", "stretch_trace", "volume_ratio"]


@law_function
def stretch_trace(f0, f1, f2):
    """Return the trace of the stretch less 3: of laws in the corotated frame."""
    return f0 + f1 + f2 - 3.0, (1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@law_function
def green_trace(f0, f1, f2):
    """Return the trace of Green's strain."""
    s = f0 * f0 + f1 * f1 + f2 * f2
    return 0.5 * (s - 3.0), (f0, f1, f2), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


@law_function
def log_ratio(f0, f1, f2):
    """Return log J, with J the ratio of the present to the rest volume."""
    i0, i1, i2 = 1.0 / f0, 1.0 / f1, 1.0 / f2
    return log(f0 * f1 * f2), (i0, i1, i2), (-i0 * i0, -i1 * i1, -i2 * i2, 0.0, 0.0, 0.0)


@law_function
def volume_ratio(f0, f1, f2):
    """Return J - 1."""
    return f0 * f1 * f2 - 1.0, (f1 * f2, f0 * f2, f0 * f1), (0.0, 0.0, 0.0, f2, f1, f0)
