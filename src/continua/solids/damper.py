"""Corotated damping (Irving 2007): a viscous stress in the frame of each element's rotation.

With R the rotation of F, the damping stress is P = b (F' + R F'^T R) + a tr(R^T F') R, F' the rate of F. It is linear
in the velocities, symmetric and dissipative, and does not vanish for flat elements. As a matrix it is the stiffness of
corotated elements at the current rotations with the constants a, b instead of Lame's.

Where F is not a rotation, neither this stress nor a stiffness K(x) vanishes for rotating matter, F' = W F with skew W:
they would brake it. So the part W F of F' is removed first, and with it the part of P that has a torque, which is
the same projection: damping Q T Q instead of T. Without stress and strain both are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem, Elements
from continua.linalg import BlockMatrix
from continua.materials import Law
from continua.materials.registry import law_function
from continua.numerics.mat3 import rotation
from continua.solids import damping_kernels
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.point_elements import point_elements

__all__ = ["TangentDamper"]


@law_function
def _point(F, p, definite, T):  # type: ignore[no-untyped-def]
    """Write b (1 + R . R) + a R R into T; there is no elastic energy or stress."""
    R = rotation(F)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for l in range(3):
                    value = p[1] * R[3 * i + l] * R[3 * k + j] + p[0] * R[3 * i + j] * R[3 * k + l]
                    T[3 * i + j, 3 * k + l] = value + (p[1] if i == k and j == l else 0.0)
    return 0.0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class _Viscous(Law):
    name = "viscous"
    is_rotation_invariant = True
    point = _point


class TangentDamper:
    """The matrix of damping of deformation over the nodes of a body's elements.

    It is the stiffness of a law's tangent at the present configuration, without what the tangent does to rotations.

    Attributes:
        time: The damping time of a `RotatedDamping` [s].
    """

    def __init__(self, elements: Elements) -> None:
        self._body: QuadratureTets | NodalElements | None = None
        if isinstance(elements, QuadratureTets | NodalElements):  # these have the plastic deformation, if any
            self._body = elements
        self._elements = point_elements(elements)
        self._turns = True
        self.time = 0.0
        self._matrix = BlockMatrix(elements.pattern)
        self._none = np.zeros(elements.pattern.block_count)
        self._zero = np.zeros((elements.node_count, 3))
        self._work = np.zeros((elements.node_count, 3))

    def set_constants(self, constants: NDArray[np.float64], time: float) -> None:
        """Damp as a `RotatedDamping` of this time [s]; the first two constants of the body's law are Lame's [Pa]."""
        self.time = time
        if self._body is not None and self._body.means is not None:
            # changes of volume that the body averages would be damped at each point, and it locked
            constants = self._body.means.split(constants)[0]
        self.set_law(_Viscous(), time * constants[:, :2])

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Damp by the stiffness of a law, with the constants of every element, shape [m, k]."""
        self._turns = law.is_rotation_invariant
        self._elements.set_law(law, constants)

    def at(self, coefficients: NDArray[np.float64]) -> BlockMatrix:
        """Return the damping matrix [kg/s] at the given coefficients; it is valid until the next call."""
        elements = self._elements
        if self._body is not None and self.time == 0.0:
            elements.plastic = self._body.plastic
        elements.update(coefficients)
        if self._turns:
            damping_kernels.remove_spin.variant(elements.parallel)(elements.records)
        elements.assemble(
            AssembledSystem(self._matrix, self._work, self._none, 0.0, 1.0, 0.0, self._zero, self._zero)
        )
        return self._matrix
