"""The stiffness and the force of elements, for the tests of this folder."""

import numpy as np

from continua.deformable.elements import AssembledSystem
from continua.linalg import BlockMatrix


def give(elements, law):
    """Give all elements the constants of one material."""
    elements.set_law(law, law.element_constants(np.arange(elements.element_count)))
    return elements


def linearised(elements, coefficients):
    """Return the stiffness matrix (SciPy, CSR) and the elastic force at `coefficients`."""
    elements.update(coefficients)
    matrix, rhs, zero = (
        BlockMatrix(elements.pattern),
        np.zeros_like(coefficients),
        np.zeros_like(coefficients),
    )
    massless = np.zeros(elements.pattern.block_count)
    elements.assemble(AssembledSystem(matrix, rhs, massless, 0.0, 1.0, 1.0, zero, zero))
    return matrix.to_scipy().tocsr(), -rhs
