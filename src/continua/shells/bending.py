"""Bending of cloth: hinges between adjacent triangles, and bending that is linear in the positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.linalg import BlockPattern
from continua.shells import assembly_kernels, hinge_kernels
from continua.shells.sheet_mesh import SheetMesh
from continua.validation import choice, number

__all__ = ["Bending", "HingeBending", "QuadraticBending", "flexural_stiffness", "hinge_angles"]

PARALLEL_FROM = 3000
"""Hinges from which a pass over all of them is worth a parallel region."""


@dataclass(frozen=True)
class Bending:
    """How a sheet resists bending.

    Attributes:
        stiffness: Flexural stiffness D [N m], the moment per length and curvature; None is that of the material and the
            thickness, E h^3 / (12 (1 - nu^2)). Woven fabrics are far more flexible than that: 1e-6 to 1e-4 N m.
        model: "hinge": the moment of two adjacent triangles grows with the angle between them. "quadratic": forces are
            linear in the positions, which is exact for inextensible sheets up to moderate folds and faster; the sheet
            is flat at rest (Bergou et al. 2006).
        rest: "mesh": the sheet keeps the angles of its mesh; "flat": it is flat at rest, whatever the mesh.
        yield_curvature: Elastic curvature [1/m] beyond which folds stay, of the model "hinge"; None is purely elastic.
        hardening: Increase of the yield curvature per plastic curvature.
    """

    stiffness: float | None = None
    model: str = "hinge"
    rest: str = "mesh"
    yield_curvature: float | None = None
    hardening: float = 0.0

    def __post_init__(self) -> None:
        if self.stiffness is not None:
            number(self.stiffness, "the stiffness of bending", low=0.0, unit="N m")
        choice(self.model, "the model of bending", ("hinge", "quadratic"))
        choice(self.rest, "the rest shape of bending", ("mesh", "flat"))
        number(self.hardening, "the hardening of bending", low=0.0)
        if self.yield_curvature is not None:
            number(self.yield_curvature, "the yield curvature of bending", low=0.0, unit="1/m")
            if self.model == "quadratic":
                raise InputError(
                    "folds stay with the bending model 'hinge' only; leave out 'yield_curvature'"
                )


def flexural_stiffness(constants: NDArray[np.float64], thickness: float) -> NDArray[np.float64]:
    """Return D = E h^3 / (12 (1 - nu^2)) [N m] of Lame's constants [m, k] and a thickness [m], shape [m]."""
    lam, mu = constants[:, 0], constants[:, 1]
    total = lam + 2.0 * mu
    modulus = np.where(total > 0.0, 4.0 * mu * (lam + mu) / np.where(total > 0.0, total, 1.0), 0.0)
    return thickness**3 / 12.0 * modulus


def hinge_angles(mesh: SheetMesh, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the angles of the hinges [rad] at positions x, shape [h]; zero is flat."""
    result = np.zeros(len(mesh.hinges))
    parallel = len(result) >= PARALLEL_FROM
    hinge_kernels.angles.variant(parallel)(np.ascontiguousarray(x), mesh.hinges, result)
    return result


def _hinge_factors(mesh: SheetMesh) -> NDArray[np.float64]:
    """Return |e|^2 / (A_1 + A_2) of every hinge at rest.

    With it the energy k theta^2 / 2, summed over the hinges of regular triangles, is D kappa^2 / 2 per area for a
    cylinder of curvature kappa in any direction, if k is D times this factor.
    """
    factors: NDArray[np.float64] = mesh.hinge_heights[0] ** 2 / mesh.areas[mesh.hinge_triangles].sum(axis=1)
    return factors


class HingeBending:
    """Hinges with an energy of the angle between two triangles; see `hinge_kernels`.

    Attributes:
        stiffness: k of each hinge [N m], shape [h].
        half_sine: Sine of half the rest angle, shape [h].
        is_plastic: Whether folds stay.
        yield_curvature: Elastic curvature beyond which they do [1/m], shape [h].
        records: See `hinge_kernels`, shape [h, 16].
    """

    linear: None = None
    linear_force: None = None

    def __init__(self, mesh: SheetMesh, bending: Bending) -> None:
        self._mesh = mesh
        self.hinges = mesh.hinges
        count = len(self.hinges)
        self.parallel = count >= PARALLEL_FROM
        self._factors = _hinge_factors(mesh)
        self.stiffness = np.zeros(count)
        self.half_sine = np.zeros(count)
        if bending.rest == "mesh" and mesh.flat is None:
            self.half_sine[:] = np.sin(0.5 * hinge_angles(mesh, mesh.points))
        self.is_plastic = bending.yield_curvature is not None
        self._hardening = bending.hardening
        edges = mesh.points[mesh.hinges[:, 2]] - mesh.points[mesh.hinges[:, 1]]
        self._curvature_factors = self._factors / np.linalg.norm(edges, axis=1)
        self.yield_curvature = np.full(count, bending.yield_curvature or 0.0)
        self._initial = self.half_sine.copy(), self.yield_curvature.copy()
        self.records = np.zeros((count, hinge_kernels.RECORD))
        self._partial = np.zeros(max(1, count // 1024))

    def set_stiffness(self, flexural: NDArray[np.float64]) -> None:
        """Set the flexural stiffness D of every triangle [N m], shape [m]."""
        self.stiffness[:] = self._factors * flexural[self._mesh.hinge_triangles].mean(axis=1)

    def flow(self, x: NDArray[np.float64]) -> None:
        """Move the rest angles of hinges that yield at positions x, so that their elastic curvature is at the limit.

        The elastic curvature is 2 (sin(theta/2) - sin(theta_0/2)) |e| / (A_1 + A_2), the moment per length over D. The
        plastic flow raises the limit by its curvature times the hardening (Irving 2007, 2.6, applied to bending).
        """
        if not self.is_plastic:
            return
        sine = np.sin(0.5 * hinge_angles(self._mesh, x))
        elastic = 2.0 * self._curvature_factors * (sine - self.half_sine)
        excess = np.maximum(np.abs(elastic) - self.yield_curvature, 0.0) / (1.0 + self._hardening)
        self.half_sine += np.sign(elastic) * excess / (2.0 * self._curvature_factors)
        self.yield_curvature += self._hardening * excess

    def reset(self) -> None:
        """Return to the initial rest angles and yield curvatures."""
        self.half_sine[:], self.yield_curvature[:] = self._initial

    def update(self, x: NDArray[np.float64]) -> None:
        """Recompute angles and moments for positions x."""
        hinge_kernels.records.variant(self.parallel)(
            x, self.hinges, self.stiffness, self.half_sine, self.records
        )

    def energy(self) -> float:
        """Return the energy [J], as of the last update."""
        assembly_kernels.sum_energies.variant(self.parallel)(self.records, 14, self._partial)
        return float(self._partial.sum())


class QuadraticBending:
    """Bending with a constant stiffness: k |sum_a w_a x_a|^2 / 2 of each hinge.

    The weights w are the derivatives of its angle at rest. For triangles that do not stretch
    |sum_a w_a x_a| = 2 sin(theta/2) (Bergou et al. 2006).

    Attributes:
        linear: Scalar stiffness of every block of the pattern [N/m].
        linear_force: Force on the nodes [N], shape [n, 3].
    """

    records: None = None

    def __init__(self, mesh: SheetMesh, pattern: BlockPattern) -> None:
        self._mesh, self._pattern = mesh, pattern
        self._factors = _hinge_factors(mesh)
        self._weights = _flat_weights(mesh)
        hinges = mesh.hinges.astype(np.int64)
        n = mesh.node_count
        rows = np.repeat(hinges, 4, axis=1).ravel()
        columns = np.tile(hinges, (1, 4)).ravel()
        keys = np.repeat(np.arange(n, dtype=np.int64), np.diff(pattern.indptr)) * n + pattern.indices
        self._blocks = np.searchsorted(keys, rows * n + columns)
        self.linear = np.zeros(pattern.block_count)
        self.linear_force = np.zeros((n, 3))
        self._energy = 0.0

    def set_stiffness(self, flexural: NDArray[np.float64]) -> None:
        """Set the flexural stiffness D of every triangle [N m], shape [m]."""
        k = self._factors * flexural[self._mesh.hinge_triangles].mean(axis=1)
        tables = k[:, None, None] * self._weights[:, :, None] * self._weights[:, None, :]
        self.linear[:] = np.bincount(self._blocks, tables.ravel(), minlength=len(self.linear))

    def update(self, x: NDArray[np.float64]) -> None:
        """Recompute the forces for positions x."""
        p = self._pattern
        assembly_kernels.linear_forces.variant(p.parallel)(
            p.indptr, p.indices, self.linear, x, self.linear_force
        )
        self._energy = 0.5 * float(np.vdot(x - x[0], self.linear_force))

    def energy(self) -> float:
        """Return the energy [J], as of the last update."""
        return self._energy


def _flat_weights(mesh: SheetMesh) -> NDArray[np.float64]:
    """Return the derivatives of the angles along the normal, of hinges unfolded into a plane, shape [h, 4] [1/m]."""
    _, heights, feet = mesh.hinge_heights
    (p, q), (s, t) = 1.0 / heights.T, feet.T
    return np.stack([p, (s - 1.0) * p + (t - 1.0) * q, -(s * p + t * q), q], axis=1)
