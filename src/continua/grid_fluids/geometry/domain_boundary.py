"""Boundary conditions at the sides of the grid: walls, inlets and open sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.geometry.grid import SIDES, Grid
from continua.grid_fluids.geometry.regions import Regions
from continua.validation import array, choice, mapping, shortened

__all__ = ["DomainSide", "SideSpec", "blocked_inlets", "check_flux_balance", "make_sides"]

SideSpec = str | Sequence[float]
_KINDS = ("slip", "no-slip", "open")


@dataclass(frozen=True)
class DomainSide:
    """One side of a grid.

    Attributes:
        name: "left", "right", "bottom", "top", "back" or "front".
        axis: Array axis across the side.
        end: 0 for the smaller, 1 for the larger coordinate.
        kind: "slip": free-slip wall. "open": in- and outflow at pressure 0. "velocity": prescribed velocity, an inlet
            or a no-slip wall.
        velocity: The prescribed velocity along the array axes [m/s].
    """

    name: str
    axis: int
    end: int
    kind: str
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def layer(self) -> tuple[slice | int, ...]:
        """Return the index of the layer of cells, or of faces across the axis, at the side."""
        at: list[slice | int] = [slice(None)] * 3
        at[self.axis] = 0 if self.end == 0 else -1
        return tuple(at)

    @property
    def inward(self) -> float:
        """1 if its axis points into the grid, else -1."""
        return 1.0 if self.end == 0 else -1.0


def make_sides(
    grid: Grid, specs: Mapping[str, SideSpec], default: SideSpec = "slip"
) -> tuple[DomainSide, ...]:
    """Return all sides of a grid from their specifications by name.

    Raises:
        InputError: A side is unknown, or its specification is not valid.
    """
    names = SIDES[: 2 * grid.dim]
    for name in mapping(specs, "the sides of a grid"):
        choice(name, "a side of the grid", names)
    sides = []
    for number, name in enumerate(names):
        spec = specs.get(name, default)
        axis, end = grid.x_axis + number // 2, number % 2
        if isinstance(spec, str):
            choice(spec, f"the side '{name}', if it is no velocity,", _KINDS)
            sides.append(DomainSide(name, axis, end, "velocity" if spec == "no-slip" else spec))
            continue
        velocity = array(spec, f"the velocity at the side '{name}'", (None,))
        if len(velocity) not in (grid.dim, 3):
            raise InputError(
                f"the velocity at the side '{name}' must be {grid.dim} finite numbers, not {shortened(spec)}"
            )
        v = np.zeros(3)
        v[grid.x_axis :] = velocity[: grid.dim]
        sides.append(DomainSide(name, axis, end, "velocity", (float(v[0]), float(v[1]), float(v[2]))))
    return tuple(sides)


def check_flux_balance(sides: Sequence[DomainSide], face_fractions: Sequence[NDArray]) -> None:
    """Raise InputError if no side is open and inflow does not equal outflow."""
    if any(side.kind == "open" for side in sides):
        return
    net = gross = 0.0
    for side in sides:
        flux = side.inward * side.velocity[side.axis] * float(face_fractions[side.axis][side.layer()].sum())
        net, gross = net + flux, gross + abs(flux)
    if abs(net) > 1e-6 * gross:
        raise InputError(
            "no side of the grid is open, but inflow and outflow differ, which is impossible for an incompressible "
            "fluid; make one side 'open'"
        )


def blocked_inlets(
    sides: Sequence[DomainSide], face_fractions: Sequence[NDArray], regions: Regions
) -> list[str]:
    """Return the names of sides whose prescribed flow enters or leaves a region that has no other opening."""
    if regions.labels is None:
        return []
    net, gross = np.zeros(regions.count), np.zeros(regions.count)
    inlets = []
    for side in sides:
        v = side.inward * side.velocity[side.axis]
        labels, fractions = regions.labels[side.layer()], face_fractions[side.axis][side.layer()]
        inside = (labels >= 0) & (fractions > 0)
        if v != 0.0 and inside.any():
            flux = np.bincount(labels[inside], weights=v * fractions[inside], minlength=regions.count)
            net, gross = net + flux, gross + np.abs(flux)
            inlets.append((side.name, flux))
    blocked = (regions.sizes > 0) & (np.abs(net) > 1e-6 * gross)
    return [name for name, flux in inlets if flux[blocked].any()]
