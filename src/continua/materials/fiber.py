"""Fibres: the stress of a stretched fibre, and fibre directions, uniform or per element.

A fibre with the rest direction a (a unit vector) has the stretch l = |F a|. If it bears the nominal tension t(l),
the derivative of its energy, then P = t n a^T with n = F a / l: a stress of the form F (symmetric), so that angular
momentum is conserved (Irving 2007). Its derivative acts on dF a only, with stiffness t' along n and t / l across.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.materials.registry import law_function
from continua.pickling import KeepsReadOnlyArrays
from continua.validation import array, shortened

__all__ = ["FiberDirections", "add_fiber", "fiber_stretch"]

_MIN_STRETCH = 1e-9  # below, a fibre has no direction


@law_function
def fiber_stretch(F, a):
    """Return F a (3) and its length."""
    w = (
        F[0] * a[0] + F[1] * a[1] + F[2] * a[2],
        F[3] * a[0] + F[4] * a[1] + F[5] * a[2],
        F[6] * a[0] + F[7] * a[1] + F[8] * a[2],
    )
    return w, sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])


@law_function
def add_fiber(P, T, a, w, stretch, tension, slope, definite):
    """Return P with the stress of a fibre added, and add its derivative to T [9, 9].

    Args:
        P: Stress as a tuple of nine.
        T: dP/dF, changed in place.
        a: Direction at rest, a unit vector.
        w: F a.
        stretch: |F a|.
        tension: Nominal tension t of the fibre at this stretch [Pa].
        slope: Derivative of the tension.
        definite: Whether negative stiffness is clamped to zero.
    """
    if stretch < _MIN_STRETCH:
        return P
    n = (w[0] / stretch, w[1] / stretch, w[2] / stretch)
    across = tension / stretch
    if definite:
        slope = max(slope, 0.0)
        across = max(across, 0.0)
    for i in range(3):
        for k in range(3):
            value = (slope - across) * n[i] * n[k]
            if i == k:
                value += across
            for j in range(3):
                for l in range(3):
                    T[3 * i + j, 3 * k + l] += value * a[j] * a[l]
    t0, t1, t2 = tension * n[0], tension * n[1], tension * n[2]
    return (
        P[0] + t0 * a[0], P[1] + t0 * a[1], P[2] + t0 * a[2],
        P[3] + t1 * a[0], P[4] + t1 * a[1], P[5] + t1 * a[2],
        P[6] + t2 * a[0], P[7] + t2 * a[1], P[8] + t2 * a[2],
    )  # fmt: skip


class FiberDirections(KeepsReadOnlyArrays):
    """Unit vectors of fibres at rest: one for all elements [3], or one per element [m, 3].

    Equal vectors compare equal, so that laws can be compared.
    """

    def __init__(self, vectors: Any, what: str) -> None:
        given = array(vectors.vectors if isinstance(vectors, FiberDirections) else vectors, what)
        if given.ndim not in (1, 2) or given.shape[-1] != 3 or given.size == 0:
            raise InputError(
                f"{what} must be one vector of 3 numbers or one for every element [m, 3], not {shortened(vectors)}"
            )
        if not given.any(axis=-1).all():
            raise InputError(f"{what} must not be zero")
        # A power of two changes no bit of the result, and keeps squares of 1e-300 representable.
        given = np.ldexp(given, -np.frexp(np.abs(given).max(axis=-1, keepdims=True))[1])
        self.vectors: NDArray[np.float64] = given / np.linalg.norm(given, axis=-1, keepdims=True)
        self.vectors.setflags(write=False)
        self._what = what

    def of(self, elements: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the directions of the given elements, shape [len(elements), 3]."""
        if self.vectors.ndim == 1:
            return np.tile(self.vectors, (len(elements), 1))
        if len(elements) and int(elements.max()) >= len(self.vectors):
            raise InputError(
                f"{self._what} has {len(self.vectors)} vectors, but the mesh has more elements; give one for each"
            )
        return self.vectors[elements]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiberDirections) and np.array_equal(self.vectors, other.vectors)

    def __hash__(self) -> int:
        return hash(self.vectors.tobytes())

    def __repr__(self) -> str:
        if self.vectors.ndim == 2:
            return f"<{len(self.vectors)} directions>"
        return "(" + ", ".join(f"{value:.6g}" for value in self.vectors) + ")"
