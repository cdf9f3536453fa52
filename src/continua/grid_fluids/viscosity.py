"""Implicit viscosity: (1 - dt nu Laplace) u = u*, one equation for each velocity component on its own samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.cut_cells import CutCells
from continua.grid_fluids.geometry.domain_boundary import Side
from continua.grid_fluids.pressure.multigrid import Multigrid, Solve

__all__ = ["NARROW", "Viscosity"]

NARROW = (
    0.1  # open part of a face below which its velocity is not carried along: little flows there, but fast
)
_HEAVY = 0.5  # one over the viscous number above which one grid does
_NEAREST = 0.05  # of the spacing: a wall is never taken to be nearer to a sample than that


@dataclass
class _Component:
    """The equations of one velocity component.

    Attributes:
        solver: The solver.
        mass: What the velocity itself counts for, by how far samples are filled.
        free: Which samples are unknown.
        constant: What sides add to the right-hand side.
        target: Unknown samples beside known ones, as places in the flat array.
        source: The known ones.
        pull: One over their distances, in spacings.
        wall: Which of the known ones lie in obstacles.
    """

    solver: Multigrid
    mass: NDArray
    free: NDArray[np.bool_]
    constant: NDArray
    target: NDArray[np.intp]
    source: NDArray[np.intp]
    pull: NDArray
    wall: NDArray[np.bool_]


class Viscosity:
    """Spreads momentum by viscosity, for one length of the time step and one set of cut cells.

    Samples on closed faces have the velocity of the wall. How far the wall is from the samples beside comes from the
    distances at both, taken as linear in between, so that it acts where it is. With `slip` it does not act at all.

    Args:
        cut: The cut cells.
        sides: The sides of the grid.
        number: Kinematic viscosity times dt over the squared spacing.
        slip: Whether obstacles let the fluid glide along.
        filled: How far the box around each sample is filled, 0 in air, in arrays like the velocity. Nothing passes into
            air: no stress acts on a free surface. None if all is fluid.
    """

    def __init__(
        self,
        cut: CutCells,
        sides: Sequence[Side],
        number: float,
        *,
        slip: bool = False,
        filled: Sequence[NDArray] | None = None,
    ) -> None:
        self.cut, self.sides, self.slip = cut, sides, slip
        self._filled = filled
        self.mass = 1.0 / number
        self._drops: dict[int, NDArray[np.float64]] = {}
        self._components = {axis: self._component(axis) for axis in cut.grid.axes}

    def _component(self, axis: int) -> _Component:
        grid, part = self.cut.grid, self.cut.parts[axis]
        free = part >= NARROW
        for side in self.sides:
            if side.axis == axis and side.kind != "open":
                free[side.layer()] = False
        full = np.ones_like(part) if self._filled is None else self._filled[axis].astype(part.dtype)
        air = full == 0.0
        free &= ~air
        phi = self._distances(axis)
        fixed, constant = np.zeros_like(part), np.zeros_like(part)
        places = np.arange(part.size).reshape(part.shape)
        weights, known = [], []
        for a in range(3):
            weight = np.zeros([n + (b == a) for b, n in enumerate(part.shape)], part.dtype)
            weights.append(weight)
            if a not in grid.axes:
                continue
            f, p, at = np.moveaxis(free, a, 0), np.moveaxis(phi, a, 0), np.moveaxis(places, a, 0)
            o, v = np.moveaxis(air, a, 0), np.moveaxis(full, a, 0)
            np.moveaxis(weight, a, 0)[1:-1] = np.where(f[:-1] & f[1:], np.maximum(v[:-1], v[1:]), 0.0)
            for mine, other in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
                wall = p[other] <= 0.0
                edge = f[mine] & ~f[other] & ~(wall & self.slip) & (wall | ~o[other])
                near, far = np.maximum(p[mine][edge], 0.0), np.minimum(p[other][edge], 0.0)
                theta = np.where(far < 0.0, near / np.where(far < 0.0, near - far, 1.0), 1.0)
                pull = v[mine][edge] / np.maximum(theta, _NEAREST)
                known.append((at[mine][edge], at[other][edge], pull, wall[edge]))
        for side in self.sides:
            if side.axis != axis and side.kind == "velocity":
                held = 2.0 * np.where(free, full, 0.0)[side.layer()]
                fixed[side.layer()] += held
                constant[side.layer()] += held * side.velocity[axis]
        target, source, pull, wall = (np.concatenate(lists) for lists in zip(*known))
        np.add.at(fixed.reshape(-1), target, pull.astype(part.dtype))
        mass = np.where(free, self.mass * full, 1.0).astype(part.dtype)
        solver = Multigrid(weights, fixed, mass=mass, smoothing=1, levels=1 if self.mass > _HEAVY else 32)
        return _Component(solver, mass, free, constant, target, source, pull, wall)

    def _distances(self, axis: int) -> NDArray[np.float64]:
        """Return the distance of the middles of faces to the nearest obstacle [m]."""
        phi = self.cut.corners
        for a in self.cut.grid.axes:
            if a != axis:
                phi = np.moveaxis(phi, a, 0)
                phi = np.moveaxis(0.5 * (phi[:-1] + phi[1:]), 0, a)
        return phi

    def solve(self, velocity: Sequence[NDArray], rtol: float = 1e-6) -> list[Solve]:
        """Replace the velocity on unknown faces by what viscosity makes of it in the step."""
        solves = []
        for axis, part in self._components.items():
            u = velocity[axis]
            b = np.where(part.free, part.mass * u, 0.0) + part.constant
            np.add.at(b.reshape(-1), part.target, part.pull * u.reshape(-1)[part.source])
            x = np.where(part.free, u, 0.0).astype(np.float64)
            solves.append(part.solver.solve(b, x, rtol=rtol))
            u[part.free] = x[part.free]
            values = u.reshape(-1).astype(np.float64)
            drop = part.pull * (values[part.target] - values[part.source])
            self._drops[axis] = drop[part.wall]
        return solves

    def wall_force(self, viscosity: float) -> NDArray[np.float64]:
        """Return what the last solve gave to obstacles along x, y and z [N], for the dynamic viscosity [Pa s]."""
        force = np.zeros(3)
        for axis, (_, values) in self.wall_forces(viscosity).items():
            force[axis - self.cut.grid.first] = values.sum()
        return force

    def wall_forces(self, viscosity: float) -> dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Return, for each component, samples beside obstacles as places in the flat array and the forces there [N]."""
        scale = viscosity * self.cut.grid.spacing ** (self.cut.grid.dim - 2)
        parts = self._components
        return {
            axis: (parts[axis].target[parts[axis].wall], scale * drop) for axis, drop in self._drops.items()
        }
