"""The linear system of a body's steps: assembled at every step, or reused where the stiffness is constant.

Under the linear law the elastic force is K (x - X) with constant K. The matrix of a step then changes only with its
coefficients (time step, damping), the material, and the terms of springs, contacts and corotated damping. While none of
these change, the solver keeps its hierarchy or factorisation, and a step costs one product for the right-hand side.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from continua.deformable import constant_stiffness_kernels
from continua.deformable.boundary_conditions.dirichlet import DirichletSet
from continua.deformable.elements import AssembledSystem, Elements
from continua.linalg import BlockMatrix, LinearSolver
from continua.linalg.basis_change import BasisChange
from continua.numerics.timers import timed

__all__ = ["LinearSystem"]


class LinearSystem:
    """Fills the matrix and the right-hand side of steps and updates the solver, only as often as needed.

    Args:
        elements: The body's elements.
        matrix: The matrix of all steps.
        solver: A solver that is set up for it.
    """

    def __init__(self, elements: Elements, matrix: BlockMatrix, solver: LinearSolver) -> None:
        self._elements, self._matrix, self._solver = elements, matrix, solver
        self._stiffness: BlockMatrix | None = None
        self._contents: Hashable | None = None  # key of the matrix contents; None if unknown
        self._solver_input: (
            tuple[NDArray[np.uint8], NDArray[np.float64] | None, BasisChange | None] | None
        ) = None
        self._both = np.zeros((0, 8))

    @property
    def stiffness(self) -> BlockMatrix | None:
        """The stiffness matrix [N/m] where it is constant and known."""
        return self._stiffness

    def invalidate(self) -> None:
        """Discard everything: the material has changed."""
        self._stiffness = None
        self.invalidate_matrix()

    def invalidate_matrix(self) -> None:
        """Assume nothing about the matrix and the solver: other code has changed them."""
        self._contents = self._solver_input = None

    def invalidate_solver(self) -> None:
        """Assume nothing about the solver: other code has updated it. The matrix is unchanged."""
        self._solver_input = None

    @timed("assembly")
    def fill(
        self, system: AssembledSystem, x: NDArray[np.float64], constant: bool, addition: Hashable | None
    ) -> bool:
        """Fill the system of elements at x; return whether its matrix is new and lacks the addition.

        Args:
            system: The system; its matrix is the one of all steps.
            x: Coefficients [m], shape [n, 3].
            constant: Whether the stiffness does not depend on x.
            addition: Key of what the caller adds to a new matrix: equal for equal additions, None if it always changes.
        """
        elements = self._elements
        if not constant:
            self.invalidate()
            elements.update(x)
            elements.assemble(system)
            system.matrix.positions = x
            return True
        if self._stiffness is None:
            self._stiffness = self._constant_stiffness(system, x)
        else:
            elements.count_inverted(x)
        p = elements.pattern
        constant_stiffness_kernels.momentum.variant(p.parallel)(
            p.indptr, p.indices, self._stiffness.blocks, system.mass, x, elements.rest_coefficients, self._both,
            system.velocities, system.load, system.dt, system.rhs,
        )  # fmt: skip
        contents = None if addition is None else (system.c_mass, system.c_stiffness, addition)
        if contents is not None and contents == self._contents:
            return False
        constant_stiffness_kernels.combine.variant(p.parallel)(
            self._stiffness.blocks, system.mass, system.c_mass, system.c_stiffness, self._matrix.blocks
        )
        term = self._stiffness.pressure_term
        self._matrix.pressure_term = None if term is None else term.scaled(system.c_stiffness)
        self._contents, self._solver_input = contents, None
        return True

    @timed("preconditioner")
    def update_solver(self, matrix: BlockMatrix, dirichlet: DirichletSet) -> None:
        """Update the solver if the matrix or the Dirichlet conditions are new; see `LinearSolver.update`.

        Args:
            matrix: The matrix of all steps, in the unknowns of the Dirichlet conditions.
            dirichlet: The Dirichlet conditions.
        """
        fixed, projections, basis = dirichlet.fixed, dirichlet.projections, dirichlet.basis
        if self._solver_input is not None:
            before, directions, unknowns = self._solver_input
            same = projections is directions is None or (
                projections is not None and directions is not None and np.array_equal(projections, directions)
            )
            if same and basis is unknowns and np.array_equal(fixed, before):
                return
        self._solver.update(matrix, fixed, projections)
        self._solver_input = None
        if self._contents is not None:
            directions = None if projections is None else projections.copy()
            self._solver_input = (fixed.copy(), directions, basis)

    def _constant_stiffness(self, system: AssembledSystem, x: NDArray[np.float64]) -> BlockMatrix:
        stiffness = BlockMatrix(self._elements.pattern)
        self._both = np.zeros((len(x), 8))
        zero = np.zeros_like(x)
        self._elements.update(x)
        self._elements.assemble(
            AssembledSystem(stiffness, zero.copy(), system.mass, 0.0, 1.0, 0.0, zero, zero)
        )
        term = stiffness.pressure_term
        stiffness.pressure_term = (
            None if term is None else term.scaled(1.0)
        )  # the elements' own arrays change
        return stiffness
