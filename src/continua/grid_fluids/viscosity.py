"""Implicit viscosity: (1 - dt nu Laplace) u = u*, one Helmholtz equation per velocity component on its faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.grid_fluids.geometry.cut_cells import MIN_OPEN_FRACTION, CutCells
from continua.grid_fluids.geometry.domain_boundary import DomainSide
from continua.grid_fluids.pressure.multigrid import MultigridReport, PoissonMultigrid

__all__ = ["Viscosity"]

_SINGLE_GRID_MASS = 0.5  # inverse viscous number above which a single grid suffices
_RTOL = {True: 1e-6, False: 1e-10}  # tolerances in single and in double precision
_MIN_WALL_DISTANCE = 0.05  # spacings: least distance of a wall from a sample


@dataclass
class _Component:
    """The equations of one velocity component.

    Attributes:
        solver: The solver.
        mass: Coefficient of the velocity itself, scaled by the filled fraction.
        free: Mask of unknown samples.
        constant: Contribution of domain sides to the right-hand side.
        target: Flat indices of unknown samples beside known ones.
        source: Flat indices of these known samples.
        weight: Inverse distances between them, in spacings.
        wall: Mask of known samples inside obstacles.
        cut: Flat indices of unknown samples on cut faces.
        closed: Closed fraction of these faces.
    """

    solver: PoissonMultigrid
    mass: NDArray
    free: NDArray[np.bool_]
    constant: NDArray
    target: NDArray[np.intp]
    source: NDArray[np.intp]
    weight: NDArray
    wall: NDArray[np.bool_]
    cut: NDArray[np.intp]
    closed: NDArray


class Viscosity:
    """Implicit viscous diffusion of momentum, for one time step size and one set of cut cells.

    Samples on closed faces have the velocity of the wall. The distance of the wall from a sample beside it follows from
    the signed distances of both, interpolated linearly. With `slip` walls exert no friction.

    The equations conserve the momentum of whole control volumes, the pressure that of their open fraction A. For the
    same momentum, the friction on walls is the flux into them plus (1 - A) times the friction on each cut sample; the
    flux alone makes drag too large in proportion to the spacing.

    Args:
        cut_cells: The cut cells.
        sides: The sides of the domain.
        number: Viscous number: kinematic viscosity times dt over the squared spacing.
        slip: Whether obstacles are free-slip.
        filled: Filled fraction of the control volume around each sample, 0 in air, in arrays like the velocity. No
            stress acts on a free surface. None if the fluid fills the domain.
    """

    def __init__(
        self,
        cut_cells: CutCells,
        sides: Sequence[DomainSide],
        number: float,
        *,
        slip: bool = False,
        filled: Sequence[NDArray] | None = None,
    ) -> None:
        self.cut_cells, self.sides, self.slip = cut_cells, sides, slip
        self._filled = filled
        self.number, self.mass = number, 1.0 / number
        self._wall_friction: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        self._components = {axis: self._component(axis) for axis in cut_cells.grid.axes}

    def _component(self, axis: int) -> _Component:
        grid, fraction = self.cut_cells.grid, self.cut_cells.face_fractions[axis]
        free = fraction >= MIN_OPEN_FRACTION
        for side in self.sides:
            if side.axis == axis and side.kind != "open":
                free[side.layer()] = False
        full = np.ones_like(fraction) if self._filled is None else self._filled[axis].astype(fraction.dtype)
        air = full == 0.0
        free &= ~air
        phi = self._distances(axis)
        dirichlet, constant = np.zeros_like(fraction), np.zeros_like(fraction)
        indices = np.arange(fraction.size).reshape(fraction.shape)
        links, known = [], []
        for a in range(3):
            link = np.zeros([n + (b == a) for b, n in enumerate(fraction.shape)], fraction.dtype)
            links.append(link)
            if a not in grid.axes:
                continue
            f, p, at = np.moveaxis(free, a, 0), np.moveaxis(phi, a, 0), np.moveaxis(indices, a, 0)
            o, v = np.moveaxis(air, a, 0), np.moveaxis(full, a, 0)
            np.moveaxis(link, a, 0)[1:-1] = np.where(f[:-1] & f[1:], np.maximum(v[:-1], v[1:]), 0.0)
            for mine, other in ((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))):
                wall = p[other] <= 0.0
                edge = f[mine] & ~f[other] & ~(wall & self.slip) & (wall | ~o[other])
                near, far = np.maximum(p[mine][edge], 0.0), np.minimum(p[other][edge], 0.0)
                theta = np.where(far < 0.0, near / np.where(far < 0.0, near - far, 1.0), 1.0)
                weight = v[mine][edge] / np.maximum(theta, _MIN_WALL_DISTANCE)
                known.append((at[mine][edge], at[other][edge], weight, wall[edge]))
        for side in self.sides:
            if side.axis != axis and side.kind == "velocity":
                side_term = 2.0 * np.where(free, full, 0.0)[side.layer()]
                dirichlet[side.layer()] += side_term
                constant[side.layer()] += side_term * side.velocity[axis]
        target, source, weight, wall = (np.concatenate(lists) for lists in zip(*known))
        np.add.at(dirichlet.reshape(-1), target, weight.astype(fraction.dtype))
        mass = np.where(free, self.mass * full, 1.0).astype(fraction.dtype)
        solver = PoissonMultigrid(
            links, dirichlet, mass=mass, smoothing=1, levels=1 if self.mass > _SINGLE_GRID_MASS else 32
        )
        cut = np.flatnonzero(free & (fraction < 1.0)) if not self.slip else np.zeros(0, np.intp)
        closed = 1.0 - fraction.reshape(-1)[cut]
        return _Component(solver, mass, free, constant, target, source, weight, wall, cut, closed)

    def _distances(self, axis: int) -> NDArray[np.float64]:
        """Return the signed distance of face centres to the nearest obstacle [m]."""
        phi = self.cut_cells.corner_distances
        for a in self.cut_cells.grid.axes:
            if a != axis:
                phi = np.moveaxis(phi, a, 0)
                phi = np.moveaxis(0.5 * (phi[:-1] + phi[1:]), 0, a)
        return phi

    def solve(self, velocity: Sequence[NDArray]) -> list[MultigridReport]:
        """Replace the velocity on unknown faces by the solution of the viscous step."""
        reports = []
        rtol = _RTOL[self.cut_cells.dtype == np.float32]
        for axis, component in self._components.items():
            u = velocity[axis]
            b = np.where(component.free, component.mass * u, 0.0) + component.constant
            np.add.at(b.reshape(-1), component.target, component.weight * u.reshape(-1)[component.source])
            x = np.where(component.free, u, 0.0).astype(np.float64)
            reports.append(component.solver.solve(b, x, rtol=rtol))
            cut = component.cut
            change = component.mass.reshape(-1)[cut] * (x.reshape(-1)[cut] - u.reshape(-1)[cut])
            u[component.free] = x[component.free]
            target, source = component.target[component.wall], component.source[component.wall]
            flux = component.weight[component.wall] * (x.reshape(-1)[target] - u.reshape(-1)[source])
            self._wall_friction[axis] = (
                np.concatenate([target, cut]),
                np.concatenate([flux, component.closed * change]),
            )
        return reports

    def wall_samples(self, axis: int) -> NDArray[np.intp]:
        """Return the flat indices of the samples inside walls, whose velocity has to be that of the wall."""
        component = self._components[axis]
        return component.source[component.wall]

    def wall_force(self, viscosity: float) -> NDArray[np.float64]:
        """Return the viscous force on obstacles along x, y and z [N], for the dynamic viscosity [Pa s]."""
        force = np.zeros(3)
        for axis, (_, values) in self.wall_forces(viscosity).items():
            force[axis - self.cut_cells.grid.x_axis] = values.sum()
        return force

    def wall_forces(self, viscosity: float) -> dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Return for each component the flat indices of samples at obstacles, and the viscous forces there [N]."""
        scale = viscosity * self.cut_cells.grid.spacing ** (self.cut_cells.grid.dim - 2)
        return {axis: (samples, scale * values) for axis, (samples, values) in self._wall_friction.items()}
