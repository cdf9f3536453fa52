"""The part G^T G of a stiffness matrix that comes from pressures, for solvers of nearly incompressible bodies.

A body that averages its change of volume has the matrix A = K + G^T G with one row of G for each pressure, scaled by
the root of the stiffness. With Lame's lambda the second term grows, and with it the iterations of solvers of A u = b.
The equivalent system

    [K  G^T] [u]   [b]
    [G  -I ] [p] = [0]

does not become worse with lambda if displacements and pressures are a stable pair. Its Schur complement,
-(I + G K^-1 G^T), is close to -(I + W), with W the mass matrix of the pressures over 2 mu in the same scaling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from continua.linalg import pressure_term_kernels as kernels
from continua.linalg.matrix import BlockMatrix, BlockPattern

__all__ = ["PressurePattern", "PressureTerm"]

_ACCURACY = 3.0  # Chebyshev steps per root of the condition number: an error of about 1 %


@dataclass(frozen=True, eq=False)
class PressurePattern:
    """What does not change with the values of a pressure term.

    Attributes:
        starts, nodes: Nodes of each pressure, in CSR form.
        t_starts, t_rows, t_entries: Pressures of each node, and the entry of the node in their row.
        offsets, places: Offset in row i of A of every node of each of these pressures.
        own: The pattern of K.
        slots: Index in K of every block of A, or -1.
        mass: Mass matrix of the pressures, each element's over 2 mu [p, p].
        bounds: Least and largest eigenvalue of the mass matrix over its diagonal.
    """

    starts: NDArray[np.int32]
    nodes: NDArray[np.int32]
    t_starts: NDArray[np.int32]
    t_rows: NDArray[np.int32]
    t_entries: NDArray[np.int32]
    offsets: NDArray[np.int64]
    places: NDArray[np.uint16]
    own: BlockPattern
    slots: NDArray[np.int32]
    mass: sparse.csr_array
    bounds: tuple[float, float]


@dataclass(frozen=True, eq=False)
class PressureTerm:
    """The pressure term of one matrix.

    Attributes:
        pattern: Its pattern.
        values: Entries of G, shape [nnz, 3].
        compliance: What the squares of the rows of G are divided by, times the factor of the stiffness, shape [p]; 0
            for pressures without a part.
    """

    pattern: PressurePattern
    values: NDArray[np.float64]
    compliance: NDArray[np.float64]

    def scaled(self, factor: float) -> PressureTerm:
        """Return the term of the stiffness times a positive factor, with values of its own."""
        return PressureTerm(self.pattern, np.sqrt(factor) * self.values, self.compliance.copy())

    def without(self, matrix: BlockMatrix, result: BlockMatrix) -> None:
        """Set `result`, on the pattern `own`, to A - G^T G."""
        p = self.pattern
        kernels.without_products.variant(matrix.pattern.parallel)(
            p.starts,
            p.t_starts,
            p.t_rows,
            p.t_entries,
            p.offsets,
            p.places,
            self.values,
            matrix.pattern.indptr,
            matrix.blocks,
            p.slots,
            result.blocks,
        )
        result.positions = matrix.positions

    def to_scipy(self) -> sparse.csr_array:
        """Return G as a SciPy matrix [p, 3 n] that has its own values."""
        p = self.pattern
        n = len(p.t_starts) - 1
        columns = (3 * p.nodes[:, None] + np.arange(3, dtype=np.int32)).ravel()
        return sparse.csr_array(
            (self.values.reshape(-1).copy(), columns, 3 * p.starts), shape=(len(p.starts) - 1, 3 * n)
        )

    def schur(self) -> SchurComplement:
        """Return the approximation I + W of the Schur complement."""
        used = self.compliance > 0.0
        scale = np.zeros(len(used))
        scale[used] = 1.0 / np.sqrt(self.compliance[used])
        mass = self.pattern.mass.copy()
        mass.data *= scale[mass.indices] * np.repeat(scale, np.diff(mass.indptr))
        return SchurComplement(mass, self.pattern.bounds)


class SchurComplement:
    """The matrix I + W, inverted by Chebyshev's iteration, a fixed linear operator."""

    def __init__(self, mass: sparse.csr_array, bounds: tuple[float, float]) -> None:
        self._matrix = mass
        self._inverse = 1.0 / (1.0 + mass.diagonal())
        # a singular mass matrix leaves the identity
        least = 1.0 / (1.0 + float(mass.diagonal().max(initial=0.0)))
        self._low, self._high = max(min(bounds[0], 1.0), least), max(bounds[1], 1.0)
        self._steps = max(1, int(np.ceil(_ACCURACY * np.sqrt(self._high / self._low)))) - 1

    def solve(self, rhs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an approximation of the solution (Saad 2003, algorithm 12.1)."""
        center, half = 0.5 * (self._high + self._low), 0.5 * (self._high - self._low)
        x = self._inverse * rhs / center
        if half < 1e-12:
            return x
        sigma = center / half
        rho, step = 1.0 / sigma, x.copy()
        for _ in range(self._steps):
            residual = self._inverse * (rhs - x - self._matrix @ x)
            following = 1.0 / (2.0 * sigma - rho)
            step = following * rho * step + (2.0 * following / half) * residual
            rho = following
            x = x + step
        return x
