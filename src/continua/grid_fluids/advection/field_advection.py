"""Advection of the velocity around obstacles, with extrapolation behind walls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.advection import extrapolation_kernels
from continua.grid_fluids.advection.advection import Advection
from continua.grid_fluids.advection.cut_face_centroids import CutFaces, find_cut_faces
from continua.grid_fluids.fields import StaggeredFields
from continua.grid_fluids.geometry import cut_cell_kernels
from continua.grid_fluids.geometry.cut_cells import MIN_OPEN_FRACTION, Window
from continua.grid_fluids.geometry.domain import FlowDomain
from continua.numerics.timers import timed

__all__ = ["FieldAdvection"]

_PARALLEL_FROM = 16384
_LAYERS = 3  # of samples behind walls that are extrapolated


class FieldAdvection:
    """Advects the velocity of a flow that fills its domain.

    Args:
        domain: The domain.
        scheme: The advection scheme.
        slip: Whether obstacles are free-slip: the velocity is extrapolated linearly behind them. At no-slip walls it is
            that of the wall.
    """

    def __init__(self, domain: FlowDomain, scheme: Advection, *, slip: bool) -> None:
        self.domain, self.scheme, self.slip = domain, scheme, slip
        grid = domain.grid
        self._face_layers = [np.zeros(grid.faces_shape(a), np.uint8) for a in range(3)]
        self._cut_faces: dict[int, CutFaces] = {}

    def update(self, window: Window) -> None:
        """Number the layers of samples behind walls, 0 for valid samples, after the cut cells changed in `window`."""
        low, high = window
        grid, cut_cells = self.domain.grid, self.domain.cut_cells
        near = np.maximum(low - _LAYERS, 0), np.minimum(high + _LAYERS, np.array(grid.shape))
        for axis in grid.axes:
            one = np.arange(3) == axis
            fraction, state = cut_cells.face_fractions[axis], self._face_layers[axis]
            cut_cell_kernels.mark_valid_faces.variant(state.size >= _PARALLEL_FROM)(
                fraction, fraction.dtype.type(MIN_OPEN_FRACTION), state, near[0], near[1] + one
            )
            _mark_layers(state, near[0], near[1] + one)
        self._cut_faces = {}

    @timed("advection")
    def advect(
        self,
        fields: StaggeredFields,
        s: float,
        along: Sequence[NDArray] | None = None,
        departing: Sequence[NDArray] | None = None,
    ) -> None:
        """Advect the velocity.

        Args:
            fields: The fields.
            s: Time step over the spacing [s/m].
            along: The velocity that paths follow [m/s]; that of the fields by default.
            departing: The velocity that is advected [m/s], changed behind walls; that of the fields by default.
        """
        along = fields.velocity if along is None else along
        new = fields.previous_velocity
        for axis in self.domain.grid.axes:
            offset = [0.0 if a == axis else 0.5 for a in range(3)]
            # at no-slip walls, samples are at face centres
            cut = self._find_cut_faces(axis) if self.slip else None
            q = fields.velocity[axis]
            if departing is not None:
                q = self._continued(departing[axis], q, axis)
            self.scheme(q, offset, along, s, new[axis], cut)
        fields.swap_velocity()
        self.domain.apply_boundary_conditions(fields.velocity)

    def _find_cut_faces(self, axis: int) -> CutFaces:
        """Return the faces across an array axis that obstacles cut."""
        if axis not in self._cut_faces:
            self._cut_faces[axis] = find_cut_faces(self.domain.cut_cells, axis)
        return self._cut_faces[axis]

    def _continued(self, q: NDArray, u: NDArray, axis: int) -> NDArray:
        """Continue a velocity component to advect behind walls; at no-slip walls by the wall velocity, in u."""
        if q is u:
            return q
        if self.slip:
            self._extrapolate_component(q, axis)
        else:
            near, behind = self._behind_walls(axis)
            q[near][behind] = u[near][behind]
        return q

    def set_behind_walls(
        self, values: Sequence[NDArray], wall_velocity: Sequence[NDArray] | None = None
    ) -> None:
        """Set the samples on faces behind walls to `wall_velocity`, or to 0."""
        for axis in self.domain.grid.axes:
            near, behind = self._behind_walls(axis)
            moving = wall_velocity is not None and wall_velocity[axis].size > 0
            q = values[axis][near]
            q[behind] = wall_velocity[axis][near][behind] if wall_velocity is not None and moving else 0

    def _behind_walls(self, axis: int) -> tuple[tuple[slice, ...], NDArray[np.bool_]]:
        """Return the range of faces across an array axis with obstacles, and the mask of those behind walls."""
        low, high = self.domain.cut_cells.obstacle_window()
        near = tuple(slice(int(a), int(b) + (n == axis)) for n, (a, b) in enumerate(zip(low, high)))
        return near, self._face_layers[axis][near] > 0

    @timed("extrapolation")
    def extrapolate(self, fields: StaggeredFields, wall_velocity: Sequence[NDArray] | None = None) -> None:
        """Extrapolate the velocity behind walls; at no-slip walls it is `wall_velocity` there."""
        if self.slip:
            for axis in self.domain.grid.axes:
                self._extrapolate_component(fields.velocity[axis], axis)
        else:
            self.set_behind_walls(fields.velocity, wall_velocity)

    def _extrapolate_component(self, u: NDArray, axis: int) -> None:
        """Extrapolate a velocity component linearly behind walls, layer by layer."""
        low, high = self.domain.cut_cells.obstacle_window()
        high = high + (np.arange(3) == axis)
        parallel = bool(np.prod(high - low) >= _PARALLEL_FROM)
        for number in range(1, _LAYERS + 1):
            extrapolation_kernels.extrapolate_layer_linear.variant(parallel)(
                u, self._face_layers[axis], number, low, high
            )


def _mark_layers(state: NDArray[np.uint8], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
    for number in range(1, _LAYERS + 1):
        extrapolation_kernels.mark_layer_within.variant(state.size >= _PARALLEL_FROM)(
            state, number, low, high
        )
