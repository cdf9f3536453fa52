"""Pressure projection of a liquid below its free surface."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.free_surface import surface_tension_kernels
from continua.grid_fluids.free_surface.level_set import LevelSet
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.grid_fluids.pressure import ghost_fluid_kernels, projection_kernels
from continua.grid_fluids.pressure.ghost_fluid import GhostFluidPressure
from continua.grid_fluids.pressure.multigrid import MultigridReport
from continua.grid_fluids.pressure.projection import subtract_side_gradient
from continua.grid_fluids.pressure.rigid_coupling import FloatingBody, RigidPressureTerm
from continua.numerics.timers import timed

__all__ = ["FreeSurfaceProjection"]

_PARALLEL_FROM = 16384
_CURVATURE_BAND = 1.8  # cells: half width of the band in which curvature is computed


class FreeSurfaceProjection:
    """The pressure operator of a liquid: ghost fluid method on the surface, monolithic coupling with rigid bodies.

    Args:
        domain: The domain.
        level_set: The surface of the liquid.
        dtype: `numpy.float32` or `numpy.float64`.
        density: Density of the liquid [kg/m3].
        surface_tension: Surface tension [N/m].
        rtol: Tolerance of the pressure solve, relative to the divergence before.
        smoothing: Multigrid sweeps before and after each coarse correction.
    """

    def __init__(
        self,
        domain: FlowDomain,
        level_set: LevelSet,
        dtype: Any,
        *,
        density: float,
        surface_tension: float = 0.0,
        rtol: float,
        smoothing: int = 2,
    ) -> None:
        self.domain, self.level_set, self.rtol, self.smoothing = domain, level_set, rtol, smoothing
        self.density, self.surface_tension = density, surface_tension
        self._rhs = np.zeros(domain.grid.shape, dtype)
        self.update()

    def update(self) -> None:
        """Update weights and Dirichlet terms after the cut cells changed."""
        self._weights = [fraction.copy() for fraction in self.domain.cut_cells.face_fractions]
        self._dirichlet = np.zeros_like(self._rhs)
        for side in self.domain.sides:
            if side.kind == "open":
                self._dirichlet[side.layer()] += 2 * self._weights[side.axis][side.layer()]
            self._weights[side.axis][side.layer()] = 0

    @timed("pressure")
    def project(
        self,
        fields: StaggeredFields,
        dt: float,
        wall_velocity: Sequence[NDArray] | None = None,
        *,
        growth: float = 0.0,
        with_tension: bool = True,
        bodies: Sequence[FloatingBody] = (),
    ) -> MultigridReport:
        """Subtract the pressure gradient below the surface.

        The pressure on the surface is 0, or surface tension times curvature.

        Args:
            fields: The fields.
            dt: Length of the step [s].
            wall_velocity: Velocity of moving obstacles on the faces [m/s], or None.
            growth: Relative growth of the volume in the step.
            with_tension: Whether surface tension acts.
            bodies: Rigid bodies coupled to the pressure.
        """
        domain, grid = self.domain, self.domain.grid
        if wall_velocity is None:
            wall_velocity = domain.no_wall_velocity()
        u, fractions, phi = fields.velocity, domain.cut_cells.face_fractions, self.level_set.phi
        if domain.cut_cells.obstacles:
            for axis in grid.axes:
                closed = fractions[axis] == 0
                u[axis][closed] = wall_velocity[axis][closed] if wall_velocity[axis].size else 0
        parallel = self._rhs.size >= _PARALLEL_FROM
        projection_kernels.divergence_rhs.variant(parallel)(*u, *fractions, *wall_velocity, self._rhs)
        rate = fields.dtype.type(growth * grid.spacing / dt)
        ghost_fluid_kernels.liquid_rhs.variant(parallel)(self._rhs, phi, self.level_set.open_volume, rate)
        unit = self.density * grid.spacing / dt
        tension = with_tension and self.surface_tension > 0.0
        if tension:
            kappa, jump = self._curvature(), fields.dtype.type(self.surface_tension / grid.spacing / unit)
            surface_tension_kernels.surface_tension_rhs.variant(parallel)(
                self._rhs, phi, *self._weights, kappa, jump
            )
        scale = fields.pressure_unit / unit  # the last pressure is the initial guess
        fields.pressure_unit = unit
        box = _wet_box(phi)
        if box is None:
            fields.potential[:] = 0.0
            return MultigridReport((0.0,), True)
        report = self._solve(fields.potential, box, scale, bodies)
        for axis in grid.axes:
            ghost_fluid_kernels.subtract_gradient.variant(parallel)(
                u[axis], fields.potential, fractions[axis], phi, axis
            )
            if tension:
                surface_tension_kernels.add_surface_tension.variant(parallel)(
                    u[axis], phi, fractions[axis], axis, kappa, jump
                )
        subtract_side_gradient(domain, fields)
        return report

    def _solve(
        self,
        potential: NDArray[np.float64],
        box: tuple[slice, ...],
        scale: float,
        bodies: Sequence[FloatingBody],
    ) -> MultigridReport:
        """Solve the equations in a box of cells from `scale` times the potential, which is replaced."""
        phi = self.level_set.phi
        wet = np.ascontiguousarray(phi[box])
        faces = [tuple(slice(s.start, s.stop + (a == b)) for b, s in enumerate(box)) for a in range(3)]
        pressure = GhostFluidPressure(
            [np.ascontiguousarray(self._weights[a][faces[a]]) for a in range(3)],
            np.ascontiguousarray(self._dirichlet[box]),
            wet,
            smoothing=self.smoothing,
        )
        rigid_term = RigidPressureTerm(self.domain.cut_cells, self.density, bodies, phi < 0.0, box)
        pressure.solver.extra_term = rigid_term if rigid_term else None
        x = np.where(wet < 0.0, potential[box] * scale, 0.0)
        report = pressure.solver.solve(pressure.solvable_rhs(self._rhs[box]), x, rtol=self.rtol)
        rigid_term.apply_impulses(x)
        potential[:] = 0.0
        potential[box] = x
        return report

    def _curvature(self) -> NDArray:
        """Return the curvature of the surface in the cells around it [1/cells]."""
        phi = self.level_set.padded_by_walls()
        kappa = np.empty_like(phi)
        limit = phi.dtype.type(self.domain.grid.dim - 1)
        surface_tension_kernels.curvatures.variant(phi.size >= _PARALLEL_FROM)(
            phi, _CURVATURE_BAND, limit, kappa
        )
        inner = tuple(slice(1, -1) if a in self.domain.grid.axes else slice(None) for a in range(3))
        return np.ascontiguousarray(kappa[inner])


def _wet_box(phi: NDArray) -> tuple[slice, ...] | None:
    """Return the box of all wet cells with one more around, rounded to blocks of four; None if all are dry."""
    wet = phi < 0.0
    box = []
    for axis in range(3):
        others = tuple(a for a in range(3) if a != axis)
        found = np.flatnonzero(wet.any(axis=others))
        if not len(found):
            return None
        low, high = max(int(found[0]) - 1, 0), min(int(found[-1]) + 2, phi.shape[axis])
        box.append(slice(4 * (low // 4), min(4 * ceil(high / 4), phi.shape[axis])))
    return tuple(box)
