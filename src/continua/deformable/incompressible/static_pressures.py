"""The pressures of an incompressible body at rest, by the method of multipliers (Hestenes 1969, Powell 1969).

The forces of a penalty on changes of the node volumes, kappa (V - V0) / V0, are moved into the pressures again and
again: p <- p - kappa (V - V0) / V0. Each search for the equilibrium under given pressures starts where the last ended,
and the error of the volumes falls by a factor 1 / (1 + kappa s) with each, for s the eigenvalues of D K^-1 D^T over V0.
Some of them are a thousandth of 1 / mu, as D is nearly zero for some pressures: so the penalty grows where it has to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import Elements
from continua.deformable.incompressible.projection import volume_error

__all__ = ["KeepsVolumes", "StaticPressures", "search_with_pressures"]

VOLUME_TOLERANCE = 1e-5
"""Largest error of a node's volume at rest, relative to the change that its pressure alone would cause."""

_ROUNDING = 1e-13  # error of a node's volume, relative to its volume, that is as good as none
_FIRST_RTOL = 0.03  # unbalanced force to reach before the first change of the pressures
_TIGHTER = 0.1  # factor of it with every change
_MAX_CHANGES = 30
_SLOW = 0.1  # factor by which the error has to fall with a change; else the penalty grows
_GROWTH = 10.0
_MOST_GROWTH = 1000.0


class KeepsVolumes(Elements, Protocol):
    """Elements with node pressures and a penalty on changes of the node volumes.

    Attributes:
        definite: Whether the tangent of an element is made positive semidefinite.
    """

    definite: bool

    @property
    def pressure(self) -> NDArray[np.float64]:
        """The given node pressures p [Pa], positive in compression, shape [n]; change them in place."""

    @property
    def volume_changes(self) -> NDArray[np.float64]:
        """V - V0 of the nodes [m3], shape [n], as of the last update."""

    def total_pressure(self) -> NDArray[np.float64]:
        """Return the pressures with those of the penalty [Pa], shape [n], as of the last update."""

    def stiffen(self, factor: float) -> None:
        """Multiply the penalty by a factor."""


class StaticPressures:
    """The pressures in a search for an equilibrium.

    Args:
        elements: The elements.
        rest_volumes: Volumes of the nodes at rest [m3], shape [n].
        shear: Shear modulus of the nodes [Pa], shape [n].
        start: Pressures to start from [Pa], shape [n].
    """

    def __init__(
        self,
        elements: KeepsVolumes,
        rest_volumes: NDArray[np.float64],
        shear: NDArray[np.float64],
        start: NDArray[np.float64],
    ) -> None:
        self._elements, self._rest, self._shear = elements, rest_volumes, shear
        elements.pressure[:] = start

    def stiffen(self, factor: float) -> None:
        """Multiply the penalty by a factor."""
        self._elements.stiffen(factor)

    @property
    def is_exact(self) -> bool:
        """Whether the tangent is the Hessian of the energy, which need not be definite."""
        return not self._elements.definite

    def set_exact(self, exact: bool) -> None:
        """Choose the exact tangent or a definite one; the elements have to be updated after it."""
        self._elements.definite = not exact

    def tolerance(self) -> float:
        """Return the error of volumes to reach."""
        strain = float(np.abs(self._elements.total_pressure() / self._shear).max(initial=0.0))
        return max(VOLUME_TOLERANCE * min(strain, 1.0), _ROUNDING)

    def error(self) -> float:
        """Return the largest error of a node's volume, relative to its volume at rest, as of the last update."""
        return volume_error(self._rest + self._elements.volume_changes, self._rest)

    def change(self) -> None:
        """Move the forces of the penalty into the pressures; the elements have to be updated after it."""
        self._elements.pressure[:] = self._elements.total_pressure()

    def total(self) -> NDArray[np.float64]:
        """Return the pressures with those of the penalty [Pa], shape [n]."""
        return self._elements.total_pressure()

    def snapshot(self) -> NDArray[np.float64]:
        """Return the given pressures [Pa], for `restore`."""
        return self._elements.pressure.copy()

    def restore(self, pressure: NDArray[np.float64]) -> None:
        """Take back pressures from `snapshot`."""
        self._elements.pressure[:] = pressure


def search_with_pressures(
    search: Callable[[float], bool], bodies: Sequence[StaticPressures], rtol: float
) -> bool:
    """Find an equilibrium that keeps volumes; return whether that succeeded.

    Args:
        search: Searches for the equilibrium under the given pressures to a tolerance, from where the last one ended.
        bodies: The pressures of the incompressible bodies; restored if nothing is found.
        rtol: The tolerance.
    """
    before = [body.snapshot() for body in bodies]
    tolerance, last, growth = max(rtol, _FIRST_RTOL), np.inf, 1.0
    for _ in range(_MAX_CHANGES):
        if not search(tolerance):
            break
        off = max(body.error() / body.tolerance() for body in bodies)
        if tolerance == rtol and off <= 1.0:
            return True
        grows = off > _SLOW * last and growth < _MOST_GROWTH
        growth *= _GROWTH if grows else 1.0
        for body in bodies:
            body.change()
            if grows:
                body.stiffen(_GROWTH)
        tolerance, last = max(rtol, _TIGHTER * tolerance), off
    for body, pressure in zip(bodies, before, strict=True):
        body.restore(pressure)
        body.stiffen(1.0 / growth)
    return False
