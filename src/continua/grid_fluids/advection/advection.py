"""Semi-Lagrangian, MacCormack and BFECC advection on a staggered grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import advection_kernels, advection_simd
from continua.grid_fluids.advection.cut_face_centroids import CutFaces
from continua.validation import choice, whole_number

__all__ = ["SCHEMES", "Advection"]

SCHEMES = ("semi-lagrangian", "maccormack", "bfecc")
PATH_STARTS = ("open", "shifted", "center")
_PARALLEL_FROM = 16384
_NONE = {dtype: np.zeros((0, 0, 0), dtype) for dtype in (np.dtype(np.float32), np.dtype(np.float64))}


class Advection:
    """Advects quantities along a velocity field on a staggered grid.

    Semi-Lagrangian advection interpolates at the departure points of paths that are traced back: stable for any step,
    and bounded by the old values. Linear interpolation is diffusive; MacCormack (Selle et al. 2008) and BFECC (Dupont
    and Liu 2003) advect forth and back and correct half of the error, limited to the range of the samples used.

    Args:
        scheme: "semi-lagrangian" (first order), "maccormack" or "bfecc" (second order).
        order: Order of the path integration: 1, 2 or 3.
        path_start: Where paths of cut faces start. "open": at the centroid of the open part; the displacement is
            applied to the face centre. "shifted": at the centroid too, and the sample is assumed to be there, which
            diffuses momentum along walls. "center": at the face centre, which may be behind the wall.
    """

    def __init__(self, scheme: str = "maccormack", order: int = 2, path_start: str = "open") -> None:
        self.scheme = choice(scheme, "an advection scheme", SCHEMES)
        self.order = whole_number(order, "the order of the paths of advection", low=1, high=3)
        self.path_start = choice(path_start, "path_start", PATH_STARTS)

    def __call__(
        self,
        q: NDArray,
        offset: Sequence[float],
        velocity: Sequence[NDArray],
        s: float,
        out: NDArray | None = None,
        cut_faces: CutFaces | None = None,
    ) -> NDArray:
        """Return `q` after a step.

        Args:
            q: The quantity, three axes.
            offset: Position of its first sample, in cells from the origin of the grid along each array axis.
            velocity: Velocity components on the faces [m/s].
            s: Time step over the spacing of the grid [s/m].
            out: Array for the result; must not be `q`.
            cut_faces: The cut faces, if `q` is sampled on faces and obstacles cut some of them.
        """
        out = np.empty_like(q) if out is None else out
        o = tuple(float(v) for v in offset)
        real = q.dtype.type
        parallel = q.size >= _PARALLEL_FROM
        path = (*o, *velocity, real(s), self.order)
        none = _NONE[q.dtype]
        simd = q.dtype == np.float32 and q.shape[2] >= advection_simd.WIDE
        kernels: Any = advection_simd if simd else advection_kernels
        cut = (
            cut_faces
            if cut_faces is not None and len(cut_faces.index) and self.path_start != "center"
            else None
        )
        if self.scheme == "semi-lagrangian":
            kernels.advect.variant(parallel)(q, *path, out, none, none)
            if cut is not None:
                out.reshape(-1)[cut.index] = self._advect_cut(cut, q, path)[0]
            return out
        low, high, advected = np.empty_like(q), np.empty_like(q), np.empty_like(q)
        kernels.advect.variant(parallel)(q, *path, advected, low, high)
        if cut is not None:
            for array, values in zip((advected, low, high), self._advect_cut(cut, q, path), strict=True):
                array.reshape(-1)[cut.index] = values
        if self.scheme == "maccormack":
            kernels.maccormack_correct.variant(parallel)(q, *path, advected, low, high, out)
            if cut is not None:
                at = cut.index
                corrected = advected.reshape(-1)[at] + self._round_trip_error(cut, q, path, advected)
                out.reshape(-1)[at] = np.clip(corrected, low.reshape(-1)[at], high.reshape(-1)[at])
            return out
        corrected = np.empty_like(q)
        kernels.bfecc_compensate.variant(parallel)(q, *path, advected, corrected)
        if cut is not None:
            corrected.reshape(-1)[cut.index] = q.reshape(-1)[cut.index] + self._round_trip_error(
                cut, q, path, advected
            )
        kernels.advect.variant(parallel)(corrected, *path, out, none, none)
        if cut is not None:
            out.reshape(-1)[cut.index] = self._advect_cut(cut, corrected, path)[0]
        advection_kernels.clamp.variant(parallel)(out, low, high)
        return out

    def _advect_cut(
        self, cut: CutFaces, q: NDArray, path: tuple[Any, ...]
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return the values advected to cut faces, and the range of the samples used, shape [n]."""
        return cut.advect(q, path, self.path_start == "shifted")

    def _round_trip_error(
        self, cut: CutFaces, q: NDArray, path: tuple[Any, ...], advected: NDArray
    ) -> NDArray:
        """Return half of the round-trip error at cut faces, shape [n]."""
        *start, s, order = path
        back = self._advect_cut(cut, advected, (*start, -s, order))[0]
        return q.dtype.type(0.5) * (q.reshape(-1)[cut.index] - back)
