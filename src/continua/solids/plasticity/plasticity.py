"""Multiplicative plasticity (Irving 2007; Georgii 2007 for creep and setting the rest shape)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.deformable.field_transfer import FieldTransfer
from continua.errors import InputError
from continua.numerics import inverse_batch, signed_svd_batch
from continua.short_repr import ShortRepr
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.plasticity.return_mapping_kernels import deformations, return_mapping
from continua.validation import array, flag, instance_of, number

__all__ = ["PlasticState", "Plasticity"]


@dataclass(frozen=True, repr=False)
class Plasticity(ShortRepr):
    """Constants of plasticity.

    The deformation gradient is split into an elastic part, which the law is evaluated at, and a plastic one. Where the
    norm of the logarithmic elastic stretches exceeds the yield strain, the excess flows into the plastic part, once per
    step, after the positions are final.

    Attributes:
        yield_strain: Logarithmic elastic strain without flow; log 1.2 = 0.18 is like clay.
        hardening: Increase of the yield strain per unit of plastic strain; 0 is perfect plasticity.
        creep: Rate c at which the elastic strain above the yield strain flows [1/s]: the excess decays like exp(-c t),
            with hardening H like exp(-c (1 + H) t); None flows at once.
        preserve_volume: Whether only isochoric strain yields and flows, as in metal and clay.
        limit: Largest plastic stretch, as a ratio above 1; the smallest is its inverse.
        limit_by_norm: Whether log `limit` bounds the norm of the logarithmic stretches instead of each of them. With
            `preserve_volume` it always does.
        goal: Node positions [n, 3] of a shape to go towards, or a function of rest positions [n, 3] that returns
            them, or None. Material then flows only where that brings it nearer to the goal, and within the limit.
    """

    yield_strain: float = 0.1
    _: KW_ONLY
    hardening: float = 0.0
    creep: float | None = None
    preserve_volume: bool = False
    limit: float = 3.0
    limit_by_norm: bool = False
    goal: ArrayLike | Callable[[NDArray[np.float64]], ArrayLike] | None = None

    def __post_init__(self) -> None:
        for key in ("yield_strain", "hardening", "creep"):
            if key != "creep" or self.creep is not None:
                number(getattr(self, key), f"the {key} of plasticity", low=0.0)
        number(self.limit, "the limit of plasticity, a stretch,", above=1.0)
        flag(self.preserve_volume, "'preserve_volume' of plasticity")
        flag(self.limit_by_norm, "'limit_by_norm' of plasticity")
        if self.goal is not None and not callable(self.goal):
            object.__setattr__(self, "goal", array(self.goal, "the goal of plasticity", (None, 3)))
        if self.goal is not None and self.preserve_volume:
            raise InputError(
                "preserve_volume cannot go with a goal, which seldom has the same volume everywhere"
            )


class PlasticState:
    """The plastic state of one body.

    Attributes:
        plasticity: Its constants; see `change`.
        strain: Accumulated plastic strain at the points, shape [m, q].
        inverse: Inverse plastic deformation at the points, shape [m, q, 9]; the elements see the same array.
    """

    def __init__(self, plasticity: Plasticity, elements: QuadratureTets | NodalElements, label: str) -> None:
        self._elements = elements
        self._label = label
        self.inverse = np.empty((*elements.weights.shape, 9))
        self.strain = np.zeros(elements.weights.shape)
        self.reset()
        elements.plastic = self.inverse
        self.change(plasticity)

    def change(self, plasticity: Plasticity) -> None:
        """Use other constants from now on."""
        instance_of(plasticity, Plasticity, f"the plasticity of {self._label}")
        self._goal = None if plasticity.goal is None else self._logarithms(plasticity.goal)
        self.plasticity = plasticity

    def reset(self) -> None:
        """Clear the plastic deformation."""
        self.inverse[:] = np.eye(3).reshape(9)
        self.strain[:] = 0.0

    def take(self, before: PlasticState, transfer: FieldTransfer) -> None:
        """Take over the plastic deformation of the body on another mesh, interpolated within refined elements.

        Where interpolation would invert the plastic deformation, all points take the mean of their old element. With
        `preserve_volume` the volume is kept.
        """
        parents = transfer.element_parents
        self.inverse[:] = transfer.interpolate_points(before.inverse)
        determinants = np.linalg.det(self.inverse.reshape(*self.strain.shape, 3, 3))
        old = np.linalg.det(before.inverse.reshape(*before.strain.shape, 3, 3))
        bad = (determinants < 0.5 * old.min(axis=1)[parents, None]).any(axis=1)
        self.inverse[bad] = before.inverse.mean(axis=1)[parents[bad], None]
        if self.plasticity.preserve_volume:
            changed = (self.inverse != before.inverse[parents]).any(axis=(1, 2))
            flat = self.inverse[changed].reshape(-1, 9)
            flat /= np.cbrt(np.linalg.det(flat.reshape(-1, 3, 3)))[:, None]
            self.inverse[changed] = flat.reshape(-1, *self.inverse.shape[1:])
        low, high = before.strain.min(axis=1)[parents, None], before.strain.max(axis=1)[parents, None]
        self.strain[:] = transfer.interpolate_points(before.strain).clip(low, high)

    def advance(self, coefficients: NDArray[np.float64], dt: float) -> None:
        """Return-map the plastic deformation at the end of a step of `dt` [s], at the given coefficients."""
        p, elements = self.plasticity, self._elements
        return_mapping.variant(elements.parallel)(
            coefficients,
            elements.elements,
            elements.gradients,
            elements.plane,
            p.yield_strain,
            p.hardening,
            0.0 if p.creep is None else exp(-p.creep * (1.0 + p.hardening) * dt),
            p.preserve_volume,
            p.limit,
            p.limit_by_norm or p.preserve_volume,
            self._goal,
            self.inverse,
            self.strain,
        )

    def set_rest(self, coefficients: NDArray[np.float64]) -> None:
        """Make the given configuration stress-free; where it is inverted nothing changes."""
        F = self._deformations(coefficients)
        inverse, det = inverse_batch(F.reshape(-1, 3, 3))
        good = det > 1e-9
        old = inverse_batch(self.inverse.reshape(-1, 3, 3))[0]
        self.inverse.reshape(-1, 9)[good] = inverse[good].reshape(-1, 9)
        _, f, _ = signed_svd_batch(old @ np.where(good[:, None, None], inverse, 0.0))
        gain = np.linalg.norm(np.log(np.maximum(f, 1e-5)), axis=1)
        self.strain.reshape(-1)[good] += gain[good]

    def _deformations(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        elements = self._elements
        F = np.empty((*elements.weights.shape, 9))
        deformations.variant(elements.parallel)(
            np.ascontiguousarray(coefficients), elements.elements, elements.gradients, elements.plane, F
        )
        return F

    def _logarithms(self, goal: Any) -> NDArray[np.float64]:
        """Return the logarithmic right stretches of a goal shape [m, q, 6]."""
        elements, label = self._elements, self._label
        goal = goal(elements.rest_positions) if callable(goal) else goal
        positions = array(goal, f"the goal of {label}", elements.rest_positions.shape)
        _, f, V = signed_svd_batch(self._deformations(elements.coefficients(positions)).reshape(-1, 3, 3))
        inverted = np.flatnonzero((f[:, 2] <= 1e-6).reshape(elements.weights.shape).any(axis=1))
        if len(inverted):
            raise InputError(
                f"the goal of {label} inverts {len(inverted)} elements, the first is {inverted[0]}; "
                "material cannot flow there"
            )
        L = (V * np.log(f)[:, None, :]) @ V.swapaxes(1, 2)
        six = np.stack([L[:, 0, 0], L[:, 1, 1], L[:, 2, 2], L[:, 0, 1], L[:, 0, 2], L[:, 1, 2]], axis=1)
        return np.ascontiguousarray(six.reshape(*elements.weights.shape, 6))
