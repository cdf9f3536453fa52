"""Storage of a flow on a staggered grid: face velocities, cell scalars and pressure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids import field_kernels
from continua.grid_fluids.geometry.grid import Grid
from continua.grid_fluids.pressure import projection_kernels

__all__ = ["StaggeredFields"]

_PARALLEL_FROM = 16384


class StaggeredFields:
    """Velocity, scalars and pressure of a flow on a staggered grid.

    This is storage only. The operators (advection, viscosity, projection) take it as an argument.

    Attributes:
        grid: The grid.
        dtype: `numpy.float32` or `numpy.float64`.
        velocity: Velocity components on the faces across the array axes [m/s].
        previous_velocity: Arrays like `velocity`, for the velocity before a stage of the step.
        scalars: Advected quantities at cell centres by name.
        potential: The pressure over `pressure_unit`, in double precision.
        pressure_unit: Density times spacing over the time step of the last projection [Pa s/m].
    """

    def __init__(self, grid: Grid, dtype: Any) -> None:
        self.grid, self.dtype = grid, np.dtype(dtype)
        self.velocity = [np.zeros(grid.faces_shape(a), self.dtype) for a in range(3)]
        self.previous_velocity = [np.zeros_like(u) for u in self.velocity]
        self.scalars: dict[str, NDArray] = {}
        self.potential = np.zeros(grid.shape)
        self.pressure_unit = 0.0

    @property
    def parallel(self) -> bool:
        """Whether there are enough cells for parallel kernels."""
        return self.potential.size >= _PARALLEL_FROM

    def swap_velocity(self) -> None:
        """Exchange `velocity` and `previous_velocity`."""
        self.velocity, self.previous_velocity = self.previous_velocity, self.velocity

    def clear(self) -> None:
        """Set all fields to zero."""
        for u in self.velocity:
            u[:] = 0
        for q in self.scalars.values():
            q[:] = 0
        self.potential[:] = 0.0
        self.pressure_unit = 0.0

    def state_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """Return the shapes of the arrays that a state must have, by key."""
        shapes: dict[str, tuple[int | None, ...]] = {
            f"velocity{a}": self.velocity[a].shape for a in self.grid.axes
        }
        shapes |= {f"scalar_{name}": values.shape for name, values in self.scalars.items()}
        return shapes | {"potential": self.potential.shape, "pressure_unit": (1,)}

    def state(self) -> dict[str, NDArray]:
        """Return copies of all fields by key."""
        state: dict[str, NDArray] = {f"velocity{a}": self.velocity[a].copy() for a in self.grid.axes}
        state |= {f"scalar_{name}": q.copy() for name, q in self.scalars.items()}
        return state | {"potential": self.potential.copy(), "pressure_unit": np.array([self.pressure_unit])}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Copy all fields from a state."""
        for axis in self.grid.axes:
            self.velocity[axis][:] = state[f"velocity{axis}"]
        for name in self.scalars:
            self.scalars[name] = np.array(state[f"scalar_{name}"], dtype=self.dtype)
        self.potential[:] = state["potential"]
        self.pressure_unit = float(np.asarray(state["pressure_unit"]).reshape(-1)[0])

    @property
    def pressure(self) -> NDArray[np.float64]:
        """Pressure at cell centres [Pa], of the last step."""
        return self.potential * self.pressure_unit

    def max_speed(self) -> float:
        """Return the largest velocity component on any face [m/s]; NaN if any is not finite."""
        maxima = []
        for u in (self.velocity[axis] for axis in self.grid.axes):
            rows = np.empty(u.shape[0] * u.shape[1])
            field_kernels.max_abs_rows.variant(u.size >= _PARALLEL_FROM)(u, rows)
            maxima.append(float(rows.max()))
        return max(maxima) if np.isfinite(maxima).all() else float("nan")

    def divergence(self, face_fractions: Sequence[NDArray]) -> NDArray:
        """Return the divergence of the velocity in each cell [1/s], for the open fractions of the faces."""
        none = [np.zeros((0, 0, 0), self.dtype)] * 3
        b = np.empty(self.grid.shape, self.dtype)
        projection_kernels.divergence_rhs.variant(self.parallel)(*self.velocity, *face_fractions, *none, b)
        return -b / self.grid.spacing

    def cell_velocity(self, solid_cells: NDArray[np.bool_]) -> NDArray:
        """Return the velocity at cell centres along x, y and z [m/s], shape [..., 3]; 0 in solid cells."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        field_kernels.cell_velocities.variant(self.parallel)(*self.velocity, v)
        v[solid_cells] = 0
        return v if self.grid.dim == 3 else v[..., [1, 2, 0]]

    def vorticity(self, solid_cells: NDArray[np.bool_]) -> NDArray:
        """Return the curl of the velocity along the array axes [1/s], shape [..., 3]; in a plane the first is z."""
        v = np.empty((*self.grid.shape, 3), self.dtype)
        field_kernels.cell_velocities.variant(self.parallel)(*self.velocity, v)
        w = np.empty_like(v)
        field_kernels.vorticity.variant(self.parallel)(v, 0.5 / self.grid.spacing, w)
        w[solid_cells] = 0
        return w

    def add_vorticity_confinement(self, strength: float, dt: float, solid_cells: NDArray[np.bool_]) -> None:
        """Add the forces of vorticity confinement over `dt` [s] to the velocity."""
        w = self.vorticity(solid_cells)
        force = [np.empty(self.grid.shape, self.dtype) for _ in range(3)]
        real = self.dtype.type
        field_kernels.confinement_forces.variant(self.parallel)(w, real(strength * self.grid.spacing), *force)
        for axis in self.grid.axes:
            field_kernels.add_cell_forces.variant(self.parallel)(
                self.velocity[axis], axis, force[axis], real(0.5 * dt), force[axis], real(0.0)
            )
