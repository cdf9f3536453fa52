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

A mean change of volume has the energy sum_a S_a^2 / (2 c_a), which changes by the work of the mean of the stresses s
before and after, as it is quadratic in S_a. So with this mean s the law is psi0 + s g at every point. In plane stress
the last column of F is eliminated: the method is that of the reduced energy, with F and C of the plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.deformable.elements import AssembledSystem, Elements
from continua.materials import Law, point_kernels
from continua.numerics.timers import timed
from continua.solids import discrete_gradient_kernels
from continua.solids.elements.mean_volume import ElementMeans
from continua.solids.elements.quadrature_elements import NodalElements, QuadratureTets
from continua.solids.point_elements import point_elements

__all__ = ["MeanStressGradient"]

_RESOLUTION = 1e-5  # change of strain; its cube, the error of the energy, is that of rounding

_LAST_COLUMN, _UNIT = [2, 5, 8], [0.0, 0.0, 1.0]  # of a deformation gradient


class MeanStressGradient:
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
        self._plane_stress = isinstance(self._elements, NodalElements) and self._elements.plane_stress
        self._energy = np.zeros(self._elements.weights.shape)
        if self._elements.means is not None:
            self._mean_gradients = np.zeros((count, 1, 9))
            self._before = tuple(np.zeros(self._elements.weights.shape) for _ in range(3))  # psi0, g and s

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
        if self._plane_stress:
            self._start[..., _LAST_COLUMN] = _UNIT
        if elements.means is not None and elements.averages:
            psi, measure = self._split_energy()
            for target, value in zip(self._before, (psi, measure, elements.means.stress), strict=True):
                target[:] = value

    def _split_energy(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return psi0 and the measure g at the points, both per volume at rest, as of the last update."""
        elements = self._elements
        assert elements.means is not None
        measure = elements.means.volumes[..., 0] * elements.means.volumes[..., 1]
        return elements.records[..., -1] - 0.5 * elements.means.stress * measure, measure

    @timed("forces")
    def assemble(self, x: NDArray[np.float64], system: AssembledSystem) -> None:
        """Fill the system with the forces of the step to coefficients x [n, 3], and the tangent of the mean stress."""
        elements, law = self._elements, self._law
        elements.update(x)
        self._energy[:] = elements.records[..., -1]
        means = elements.means if elements.averages else None
        if means is not None:  # the energy of psi0 + s g with the mean s of the step
            psi, measure = self._split_energy()
            stress = 0.5 * (self._before[2] + means.stress)
            self._start[..., 9] = self._before[0] + stress * self._before[1]
            elements.records[..., -1] = psi + stress * measure
        if self._plane_stress:
            last_column = elements.records[..., _LAST_COLUMN]
            elements.records[..., _LAST_COLUMN] = _UNIT
        parallel, invariant = elements.parallel, law.is_rotation_invariant
        discrete_gradient_kernels.mean_gradients.variant(parallel)(
            self._start, elements.records, elements.plastic, invariant, self._coefficients
        )
        points = (self._coefficients, self._nodes, self._gradients)
        if self._plane_stress:
            self._coefficients[2::3, 2] = 0.0  # the law finds the last column itself
        if means is None:
            law.evaluate_points.variant(parallel)(
                *points,
                2.0 if self._plane_stress else 0.0,
                self._constants,
                None,
                True,
                self._mean,
                self._inverted,
            )
        else:
            elements.point_constants[:, -1] = stress.reshape(-1)
            law.mean_volume_kernels[1].variant(parallel)(
                *points,
                0.0,
                elements.point_constants,
                None,
                True,
                self._mean,
                self._mean_gradients,
                self._inverted,
            )
            self._set_measure_gradients(means)
        discrete_gradient_kernels.discrete_stress.variant(parallel)(
            self._start, self._mean, elements.plastic, invariant, self._resolution, elements.records
        )
        elements.records[..., -1] = self._energy
        if self._plane_stress:
            elements.records[..., _LAST_COLUMN] = last_column
        elements.assemble(system)

    def _set_measure_gradients(self, means: ElementMeans) -> None:
        """Set the derivatives of the measure at the mean deformation, for the tangent."""
        elements = self._elements
        G = self._mean_gradients.reshape(*elements.weights.shape, 3, 3)
        if elements.plastic is not None:
            inverse = elements.plastic.reshape(G.shape)
            G = G @ np.swapaxes(inverse, -1, -2) / np.linalg.det(inverse)[..., None, None]
        means.measure_gradients[:] = G.reshape(means.measure_gradients.shape)
        means.set_derivatives(elements.gradients, elements.parallel)
