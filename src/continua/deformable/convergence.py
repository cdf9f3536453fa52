"""Where rounding ends a search for an equilibrium.

At rest the force of a node is a sum of terms K_ij x_j and a load f_i that cancel. Positions are stored to their last
bit, so even at the exact equilibrium, rounded, it is off by some eps |K_ij| |x_j|; evaluating the elements adds as
much again. So the unbalanced force of node i does not fall below about

    floor_i = c eps (sum_j |K_ij| |x_j| + |f_i|),    eps = 2.2e-16,

which has the unit of a force and cannot vanish where there is stiffness. It grows with the distance of the body from
the origin, as the spacing of its positions does. Newton's iteration, left alone, ends at 0.2 to 3 times eps (...), for
all laws, orders, sizes, places and stiffnesses that were tried; c is 8.

Energies have a floor as well: the elements' are sums of terms of the size of the moduli that cancel at rest. Those of
a body are known to some eps times the energy x.K x of a strain of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix

__all__ = ["Convergence", "ConvergenceTest", "energy_floor", "force_floor"]

_EPS = float(np.finfo(np.float64).eps)
_FORCE = 8.0  # c of the module
_ENERGY = 64.0  # the same of energies, which are sums over all elements
_MIN_IMPROVEMENT = 0.5  # part of the unbalanced force to fall to where going on below the floor is worth it
_MAX_IMPROVEMENTS = 3  # times that it may: coordinates near 0 could be refined without end


def force_floor(
    matrix: BlockMatrix,
    x: NDArray[np.float64],
    load: NDArray[np.float64],
    own: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the unbalanced force [N] that rounding leaves at each node, shape [n].

    Args:
        matrix: The stiffness K [N/m] at x.
        x: Coefficients [m], shape [n, 3].
        load: Sum of the magnitudes of the loads [N], shape [n, 3].
        own: What in |K||x| is not stiffness [N], shape [n, 3]: the mass that a slack body leans on.
    """
    size = matrix.magnitudes(x)
    if own is not None:
        size -= own
    return _FORCE * _EPS * (size + load).max(axis=1)


def energy_floor(matrix: BlockMatrix, x: NDArray[np.float64], load: NDArray[np.float64]) -> float:
    """Return the change of the potential [J] that rounding hides; see `force_floor` for the arguments."""
    shape = x - x.mean(axis=0)
    size = abs(float(np.vdot(shape, matrix.multiply(shape)))) + float(np.vdot(load, np.abs(x)))
    return _ENERGY * _EPS * size


class Convergence(Enum):
    """How far a search for an equilibrium has come: not yet, as far as rounding lets it, or to its tolerance."""

    NOT_REACHED = 0
    ROUNDING_FLOOR = 1
    REACHED = 2


class ConvergenceTest:
    """The stopping test of a search for an equilibrium.

    Attributes:
        force: Largest unbalanced force at the last check [N].
        scale: What the tolerance was relative to [N].
        floor: Largest unbalanced force that rounding could leave there [N]; 0 if the tolerance was met without.
        rtol: The tolerance.
    """

    def __init__(self) -> None:
        self.force = self.scale = np.inf
        self.floor = self.rtol = 0.0
        self._kept, self._improvements = np.inf, 0

    def start(self, rtol: float) -> None:
        """Begin a search to a tolerance relative to the scale."""
        self.rtol, self._kept, self._improvements = rtol, np.inf, 0

    def check(
        self, free: NDArray[np.float64], scale: float, floor: Callable[[], NDArray[np.float64]]
    ) -> Convergence:
        """Test the unbalanced forces of the free directions [N], shape [n, 3]; `floor` returns theirs, shape [n]."""
        size = np.abs(free).max(axis=1, initial=0.0)
        self.force, self.scale, self.floor = float(size.max(initial=0.0)), scale, 0.0
        if self.force <= self.rtol * scale:
            return Convergence.REACHED
        limits = floor()
        self.floor = float(limits.max(initial=0.0))
        if not np.isfinite(self.floor):
            return Convergence.NOT_REACHED
        return (
            Convergence.ROUNDING_FLOOR
            if (size <= np.maximum(limits, self.rtol * scale)).all()
            else Convergence.NOT_REACHED
        )

    def improves(self) -> bool:
        """Return whether the force has fallen enough since this was last true to go on below the rounding floor."""
        if self._improvements == _MAX_IMPROVEMENTS or not self.force <= _MIN_IMPROVEMENT * self._kept:
            return False
        self._kept, self._improvements = self.force, self._improvements + 1
        return True

    @property
    def residual(self) -> float:
        """The unbalanced force over the scale; where that is only rounding, over the forces of a strain of 1."""
        whole = self.scale if self.scale > self.floor else self.floor / (_FORCE * _EPS)
        return self.force / whole if self.force > 0.0 else 0.0

    def __str__(self) -> str:
        part = f", {self.force / self.scale:.1e} of the load" if self.scale > 0.0 else ""
        return f"unbalanced force {self.force:.1e} N{part}"

    def warnings(self, load: float) -> tuple[str, ...]:
        """Return what a user has to know of an equilibrium under a largest load [N] that is as good as rounding allows.

        Without loads and reactions nothing has to be said: the body is at rest where it is free of stress.
        """
        if self.scale > self.floor:
            whole = "load" if load > 0.0 else "largest reaction"
            return (
                f"the unbalanced force stays at {self.residual:.1e} of the {whole} instead of {self.rtol:g}: positions "
                "in double precision allow no less",
            )
        if load > 0.0:
            return (
                f"loads of at most {load:.1e} N per node are lost in rounding: positions in double precision resolve "
                f"forces from about {self.floor:.1e} N on",
            )
        return ()
