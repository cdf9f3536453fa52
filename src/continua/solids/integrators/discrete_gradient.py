"""The discrete gradient of the elastic energy: a stress whose work over a step is the change of the energy.

Simo and Tarnow (1992) and Gonzalez (2000): with F_m the mean of the deformation gradients F, F+ before and after a
step, C = F^T F, and S the second Piola-Kirchhoff stress at the mean of C and C+, the stress

    P = F_m (S + k (C+ - C)),     k = 2 (W+ - W - S : (C+ - C)/2) / |C+ - C|^2

has P : (F+ - F) = W+ - W, and P F_m^T is symmetric. So the nodal forces keep energy, momentum and angular momentum of
a step with v + v+ = 2 (x+ - x)/dt. S is evaluated as F_e^-1 P(F_e) with F_e = R U, U^2 the mean of C and C+. The mean
of F itself would not do: a rotation by theta makes it shorter by theta^2/8, and that stress does not vanish as C+ - C
does.

Where C+ - C is below a resolution of 1e-5, k fades out: its contribution to the energy, of third order, is then below
the rounding of W. Where the body is flatter than 1/20 of its thickness or turns inside out during the step, S does not
exist or C does not tell the energy. There P is P(F_e) + k (F+ - F), with the torque taken out of both (the nearest
W F_m with skew W), which conserves the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.materials import Law, point_kernels
from continua.numerics.timers import timed
from continua.solids.elements.base import AssembledSystem, Elements
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.integrators import discrete_gradient_kernels
from continua.solids.point_elements import point_elements

__all__ = ["DiscreteGradient"]

_RESOLUTION = 1e-5  # change of strain; its cube, the error of the energy, is that of rounding


class DiscreteGradient:
    """Evaluates and assembles the forces of a step between two configurations.

    Attributes:
        inverted: Elements that are inverted at the end of the step.
    """

    def __init__(self, elements: Elements) -> None:
        # elements with quadrature points have the plastic deformation, if there is any
        self._elements: QuadratureTets | NodalElements
        if isinstance(elements, QuadratureTets | NodalElements):
            self._elements = elements
        else:
            self._elements = point_elements(elements, same_energy=True)
        self._own = self._elements is elements
        count = self._elements.weights.size
        self._start = np.zeros((*self._elements.weights.shape, 10))
        self._coefficients = np.zeros((3 * count, 3))
        self._nodes = np.arange(3 * count, dtype=np.int32).reshape(count, 3)
        self._gradients = np.tile(np.eye(3), (count, 1, 1, 1))
        self._mean = np.zeros((count, 1, point_kernels.POINT))
        self._inverted = np.zeros(-(-count // point_kernels.CHUNK), np.int64)
        self._resolution = _RESOLUTION

    @property
    def inverted(self) -> int:
        """Number of inverted elements at the end of the step."""
        return self._elements.inverted

    def set_law(self, law: Law, constants: NDArray[np.float64]) -> None:
        """Set the law and the constants of every element, shape [m, k]."""
        self._law = law
        if not self._own:
            self._elements.set_law(law, constants)
        self._constants = np.repeat(constants, self._elements.weights.shape[1], axis=0)
        self._resolution = _RESOLUTION * law.rounding_amplification ** (1.0 / 3.0)

    @timed("forces")
    def begin(self, x: NDArray[np.float64]) -> None:
        """Set the coefficients [n, 3] before the step."""
        elements = self._elements
        elements.update(x)
        self._start[..., :9] = elements.records[..., :9]
        self._start[..., 9] = elements.records[..., -1]

    @timed("forces")
    def assemble(self, x: NDArray[np.float64], system: AssembledSystem) -> None:
        """Fill the system with the forces of the step to coefficients x [n, 3], and the tangent of the mean stress."""
        elements, law = self._elements, self._law
        elements.update(x)
        parallel, invariant = elements.parallel, law.is_rotation_invariant
        discrete_gradient_kernels.mean_gradients.variant(parallel)(
            self._start, elements.records, elements.plastic, invariant, self._coefficients
        )
        law.evaluate_points.variant(parallel)(
            self._coefficients,
            self._nodes,
            self._gradients,
            0.0,
            self._constants,
            None,
            True,
            self._mean,
            self._inverted,
        )
        discrete_gradient_kernels.discrete_stress.variant(parallel)(
            self._start, self._mean, elements.plastic, invariant, self._resolution, elements.records
        )
        elements.assemble(system)
