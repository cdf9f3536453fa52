"""Transport of quantities along a flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.eulerian import advection_kernels, advection_wide

__all__ = ["SCHEMES", "Advection"]

SCHEMES = ("semi-lagrangian", "maccormack", "bfecc")
_PARALLEL_FROM = 16384
_NONE = {dtype: np.zeros((0, 0, 0), dtype) for dtype in (np.dtype(np.float32), np.dtype(np.float64))}


class Advection:
    """Carries quantities along a velocity field on a staggered grid.

    Values come from where the flow was a step ago (semi-Lagrangian): stable for any step, and bounded by the values
    before. Linear interpolation smears them; MacCormack (Selle et al. 2008) and BFECC (Dupont and Liu 2003) go back
    once more, measure what was lost, and put half of it back, limited to the range of the samples that were used.

    Args:
        scheme: "semi-lagrangian" (first order), "maccormack" or "bfecc" (second order).
        order: Order of the tracing of paths: 1, 2 or 3.
    """

    def __init__(self, scheme: str = "maccormack", order: int = 2) -> None:
        if scheme not in SCHEMES:
            raise InputError(f"an advection scheme must be one of {', '.join(SCHEMES)}, not '{scheme}'")
        if order not in (1, 2, 3):
            raise InputError(f"paths can be traced with order 1, 2 or 3, not {order}")
        self.scheme, self.order = scheme, order

    def __call__(
        self,
        q: NDArray,
        offset: Sequence[float],
        velocity: Sequence[NDArray],
        s: float,
        out: NDArray | None = None,
    ) -> NDArray:
        """Return `q` after a step.

        Args:
            q: The quantity, three axes.
            offset: Where its first sample is, in cells from the corner of the grid along each axis.
            velocity: Velocity components on the faces [m/s].
            s: Time step over the spacing of the grid [s/m].
            out: Where to put the result; not `q`.
        """
        out = np.empty_like(q) if out is None else out
        o = tuple(float(v) for v in offset)
        real = q.dtype.type
        parallel = q.size >= _PARALLEL_FROM
        path = (*o, *velocity, real(s), self.order)
        none = _NONE[q.dtype]
        wide = q.dtype == np.float32 and q.shape[2] >= advection_wide.WIDE
        kernels: Any = advection_wide if wide else advection_kernels
        if self.scheme == "semi-lagrangian":
            kernels.advect.pick(parallel)(q, *path, out, none, none)
            return out
        low, high, once = np.empty_like(q), np.empty_like(q), np.empty_like(q)
        kernels.advect.pick(parallel)(q, *path, once, low, high)
        if self.scheme == "maccormack":
            kernels.correct.pick(parallel)(q, *path, once, low, high, out)
            return out
        better = np.empty_like(q)
        kernels.over_correct.pick(parallel)(q, *path, once, better)
        kernels.advect.pick(parallel)(better, *path, out, none, none)
        advection_kernels.clamp_to.pick(parallel)(out, low, high)
        return out
