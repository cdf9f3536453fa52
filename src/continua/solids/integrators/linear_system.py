"""The linear system of a body's steps: filled at every step, or kept where the stiffness is constant.

Under the linear law the elastic force is K (x - X) with the same K for ever. The matrix of a step then changes only
when its factors do (the time step, damping), the material, or what springs, contacts and turning damping add to it. As
long as nothing does, the solver keeps its levels or its factor, and a step costs one product for the right-hand side.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from continua.linalg import BlockMatrix, LinearSolver
from continua.numerics.stages import timed
from continua.solids import linear_kernels
from continua.solids.elements import Elements, System

__all__ = ["LinearSystem"]


class LinearSystem:
    """Fills the matrix and the right-hand side of steps and tells the solver, neither more often than it has to.

    Args:
        elements: The body's elements.
        matrix: The matrix of all steps.
        solver: A solver that is set up for it.
    """

    def __init__(self, elements: Elements, matrix: BlockMatrix, solver: LinearSolver) -> None:
        self._elements, self._matrix, self._solver = elements, matrix, solver
        self._stiffness: BlockMatrix | None = None
        self._filled: Hashable | None = None  # what the matrix holds; None where that may change at any time
        self._told: tuple[NDArray[np.uint8], NDArray[np.float64] | None] | None = None
        self._both = np.zeros((0, 8))

    @property
    def stiffness(self) -> BlockMatrix | None:
        """The stiffness matrix [N/m] where it is constant and known."""
        return self._stiffness

    def forget(self) -> None:
        """The material has changed: take nothing as known."""
        self._stiffness = None
        self.forget_matrix()

    def forget_matrix(self) -> None:
        """Somebody else has filled the matrix or told the solver something."""
        self._filled = self._told = None

    def forget_solver(self) -> None:
        """Somebody else has told the solver something; the matrix is as it was."""
        self._told = None

    @timed("assembly")
    def fill(self, system: System, x: NDArray[np.float64], constant: bool, addition: Hashable | None) -> bool:
        """Fill the system of elements at x; returns whether its matrix is new and lacks the addition.

        Args:
            system: The system; its matrix is the one of all steps.
            x: Coefficients [m], shape [n, 3].
            constant: Whether the stiffness does not depend on x.
            addition: What the caller adds to a new matrix: equal for equal additions, None for one of its own kind.
        """
        elements = self._elements
        if not constant:
            self.forget()
            elements.update(x)
            elements.assemble(system)
            system.matrix.positions = x
            return True
        if self._stiffness is None:
            self._stiffness = self._constant_stiffness(system, x)
        else:
            elements.count_inverted(x)
        p = elements.pattern
        linear_kernels.momentum.pick(p.parallel)(
            p.indptr, p.indices, self._stiffness.blocks, system.mass, x, elements.rest_positions, self._both,
            system.velocities, system.load, system.dt, system.rhs,
        )  # fmt: skip
        contents = None if addition is None else (system.c_mass, system.c_stiffness, addition)
        if contents is not None and contents == self._filled:
            return False
        linear_kernels.combine.pick(p.parallel)(
            self._stiffness.blocks, system.mass, system.c_mass, system.c_stiffness, self._matrix.blocks
        )
        self._filled, self._told = contents, None
        return True

    @timed("preconditioner")
    def tell_solver(self, fixed: NDArray[np.uint8], projections: NDArray[np.float64] | None) -> None:
        """Let the solver take over the matrix and what is held, if any of it is new; see `LinearSolver.update`."""
        if self._told is not None:
            before, directions = self._told
            same = projections is directions is None or (
                projections is not None and directions is not None and np.array_equal(projections, directions)
            )
            if same and np.array_equal(fixed, before):
                return
        self._solver.update(self._matrix, fixed, projections)
        self._told = None
        if self._filled is not None:
            self._told = (fixed.copy(), None if projections is None else projections.copy())

    def _constant_stiffness(self, system: System, x: NDArray[np.float64]) -> BlockMatrix:
        stiffness = BlockMatrix(self._elements.pattern)
        self._both = np.zeros((len(x), 8))
        zero = np.zeros_like(x)
        self._elements.update(x)
        self._elements.assemble(System(stiffness, zero.copy(), system.mass, 0.0, 1.0, 0.0, zero, zero))
        return stiffness
