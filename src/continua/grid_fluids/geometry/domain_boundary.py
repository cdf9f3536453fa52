"""What the sides of a grid do: walls, inlets and openings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.grid_fluids.geometry.grid import SIDES, Grid
from continua.grid_fluids.geometry.regions import Regions

__all__ = ["Side", "SideWish", "check_balance", "make_sides", "shut_off"]

SideWish = str | Sequence[float]
_WORDS = ("slip", "no-slip", "open")


@dataclass(frozen=True)
class Side:
    """One side of a grid.

    Attributes:
        name: "left", "right", "bottom", "top", "back" or "front".
        axis: Array axis across the side.
        end: 0 for the smaller, 1 for the larger coordinate.
        kind: "slip": the fluid glides along. "open": it comes and goes freely, at pressure 0. "velocity": it has a
            given velocity there, as at an inlet or a wall it sticks to.
        velocity: That velocity along the array axes [m/s].
    """

    name: str
    axis: int
    end: int
    kind: str
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def layer(self, faces: bool = False, depth: int = 0) -> tuple[slice | int, ...]:
        """Return the index of the layer of cells at the side, `depth` cells inside; with `faces` of its faces."""
        at: list[slice | int] = [slice(None)] * 3
        at[self.axis] = depth if self.end == 0 else -1 - depth
        return tuple(at)

    @property
    def inward(self) -> float:
        """1 if its axis points into the grid, else -1."""
        return 1.0 if self.end == 0 else -1.0


def make_sides(grid: Grid, wishes: Mapping[str, SideWish], default: SideWish = "slip") -> tuple[Side, ...]:
    """Return all sides of a grid from words or velocities by name.

    Raises:
        InputError: A side is unknown, or as much fluid does not leave as comes in and no side is open.
    """
    names = SIDES[: 2 * grid.dim]
    for name in wishes:
        if name not in names:
            raise InputError(f"a grid has the sides {', '.join(names)}, not '{name}'")
    sides = []
    for number, name in enumerate(names):
        wish = wishes.get(name, default)
        axis, end = grid.first + number // 2, number % 2
        if isinstance(wish, str):
            if wish not in _WORDS:
                raise InputError(
                    f"the side '{name}' must be one of {', '.join(_WORDS)} or a velocity, not '{wish}'"
                )
            sides.append(Side(name, axis, end, "velocity" if wish == "no-slip" else wish))
            continue
        given = np.array(wish, dtype=np.float64)
        if given.shape not in ((grid.dim,), (3,)) or not np.isfinite(given).all():
            raise InputError(f"the velocity at the side '{name}' must be finite numbers, not {wish!r}")
        v = np.zeros(3)
        v[grid.first :] = given[: grid.dim]
        sides.append(Side(name, axis, end, "velocity", (float(v[0]), float(v[1]), float(v[2]))))
    return tuple(sides)


def check_balance(sides: Sequence[Side], parts: Sequence[NDArray]) -> None:
    """Refuse a grid without an open side where more flows in than out."""
    if any(side.kind == "open" for side in sides):
        return
    net = gross = 0.0
    for side in sides:
        flux = side.inward * side.velocity[side.axis] * float(parts[side.axis][side.layer()].sum())
        net, gross = net + flux, gross + abs(flux)
    if abs(net) > 1e-6 * gross:
        raise InputError(
            "no side of the grid is open, but not as much flows in as out: no incompressible flow does that; "
            "make one side 'open'"
        )


def shut_off(sides: Sequence[Side], parts: Sequence[NDArray], regions: Regions) -> list[str]:
    """Return the names of sides with a given flow into, or out of, a region without another way out, or in."""
    if regions.labels is None:
        return []
    net, gross = np.zeros(regions.count), np.zeros(regions.count)
    through = []
    for side in sides:
        v = side.inward * side.velocity[side.axis]
        labels, part = regions.labels[side.layer()], parts[side.axis][side.layer()]
        inside = (labels >= 0) & (part > 0)
        if v != 0.0 and inside.any():
            flux = np.bincount(labels[inside], weights=v * part[inside], minlength=regions.count)
            net, gross = net + flux, gross + np.abs(flux)
            through.append((side.name, flux))
    stuck = (regions.sizes > 0) & (np.abs(net) > 1e-6 * gross)
    return [name for name, flux in through if flux[stuck].any()]
