"""Transport of quantities along a flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.advection import advection_kernels
from continua.grid_fluids.advection import advection_simd as advection_wide
from continua.grid_fluids.advection.cut_face_centroids import CutFaces

__all__ = ["SCHEMES", "Advection"]

SCHEMES = ("semi-lagrangian", "maccormack", "bfecc")
STARTS = ("open", "moved", "middle")
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
        starts: Where paths begin on faces that obstacles cut. "open": in the middle of the open part, and their way is
            laid off from the sample. "moved": there too, but the sample itself is taken to be there, which spreads
            momentum beside walls. "middle": in the middle of the whole face, which may be behind the wall.
    """

    def __init__(self, scheme: str = "maccormack", order: int = 2, starts: str = "open") -> None:
        if scheme not in SCHEMES:
            raise InputError(f"an advection scheme must be one of {', '.join(SCHEMES)}, not '{scheme}'")
        if order not in (1, 2, 3):
            raise InputError(f"paths can be traced with order 1, 2 or 3, not {order}")
        if starts not in STARTS:
            raise InputError(f"paths from cut faces start at one of {', '.join(STARTS)}, not '{starts}'")
        self.scheme, self.order, self.starts = scheme, order, starts

    def __call__(
        self,
        q: NDArray,
        offset: Sequence[float],
        velocity: Sequence[NDArray],
        s: float,
        out: NDArray | None = None,
        moved: CutFaces | None = None,
    ) -> NDArray:
        """Return `q` after a step.

        Args:
            q: The quantity, three axes.
            offset: Where its first sample is, in cells from the corner of the grid along each axis.
            velocity: Velocity components on the faces [m/s].
            s: Time step over the spacing of the grid [s/m].
            out: Where to put the result; not `q`.
            moved: The cut faces, if `q` lives on faces and obstacles cut some.
        """
        out = np.empty_like(q) if out is None else out
        o = tuple(float(v) for v in offset)
        real = q.dtype.type
        parallel = q.size >= _PARALLEL_FROM
        path = (*o, *velocity, real(s), self.order)
        none = _NONE[q.dtype]
        wide = q.dtype == np.float32 and q.shape[2] >= advection_wide.WIDE
        kernels: Any = advection_wide if wide else advection_kernels
        cut = moved if moved is not None and len(moved.index) and self.starts != "middle" else None
        if self.scheme == "semi-lagrangian":
            kernels.advect.pick(parallel)(q, *path, out, none, none)
            if cut is not None:
                out.reshape(-1)[cut.index] = self._to_cut(cut, q, path)[0]
            return out
        low, high, once = np.empty_like(q), np.empty_like(q), np.empty_like(q)
        kernels.advect.pick(parallel)(q, *path, once, low, high)
        if cut is not None:
            for array, values in zip((once, low, high), self._to_cut(cut, q, path), strict=True):
                array.reshape(-1)[cut.index] = values
        if self.scheme == "maccormack":
            kernels.correct.pick(parallel)(q, *path, once, low, high, out)
            if cut is not None:
                at = cut.index
                better = once.reshape(-1)[at] + self._missed(cut, q, path, once)
                out.reshape(-1)[at] = np.clip(better, low.reshape(-1)[at], high.reshape(-1)[at])
            return out
        better = np.empty_like(q)
        kernels.over_correct.pick(parallel)(q, *path, once, better)
        if cut is not None:
            better.reshape(-1)[cut.index] = q.reshape(-1)[cut.index] + self._missed(cut, q, path, once)
        kernels.advect.pick(parallel)(better, *path, out, none, none)
        if cut is not None:
            out.reshape(-1)[cut.index] = self._to_cut(cut, better, path)[0]
        advection_kernels.clamp_to.pick(parallel)(out, low, high)
        return out

    def _to_cut(self, cut: CutFaces, q: NDArray, path: tuple[Any, ...]) -> tuple[NDArray, NDArray, NDArray]:
        """Return what comes to cut faces, and the range of the samples it comes from, shape [n]."""
        return cut.follow(q, path, self.starts == "moved")

    def _missed(self, cut: CutFaces, q: NDArray, path: tuple[Any, ...], once: NDArray) -> NDArray:
        """Return half of what going there and back misses at cut faces, shape [n]."""
        *place, s, order = path
        back = self._to_cut(cut, once, (*place, -s, order))[0]
        return q.dtype.type(0.5) * (q.reshape(-1)[cut.index] - back)
