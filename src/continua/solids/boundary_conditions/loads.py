"""Loads on a soft body: forces on nodes, pressure and traction on faces, forces on the volume.

The value of a load may be set while the simulation runs, or be a function of time. Nodal forces are consistent: node a
gets the integral of N_a times the load, so a uniform load is exact for every order (Bernstein coefficients included).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.solids import mass_kernels
from continua.solids.boundary_conditions.constraints import BoundaryCondition
from continua.solids.boundary_conditions.force_field import ForceField
from continua.validation import vector3

if TYPE_CHECKING:
    from continua.solids.boundary_conditions.boundary_conditions import BoundaryConditions

__all__ = ["BodyForce", "Load", "Pressure", "Push", "TimeFunction", "Traction"]

TimeFunction = Callable[[float], Any]


class Load(BoundaryCondition):
    """Base of all loads: they act until a time, and their value is a constant or a function of time [s]."""

    def add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add to `force` [N], shape [n, 3], what the load exerts on a body at positions x at `time` [s]."""
        raise AssertionError("every load implements it")

    @property
    def forces(self) -> NDArray[np.float64]:
        """The force [N] on every node now, shape [n, 3]; zero after `until`."""
        body = self._attached()
        forces, now = np.zeros_like(body._x), body._environment.time
        if now < self.until:
            self.add(now, body._x, forces)
        return forces


class Push(Load):
    """A force [N] distributed evenly over nodes; set `force` to change it while the simulation runs.

    Attributes:
        nodes: The nodes, as indices.
    """

    def __init__(
        self,
        body: BoundaryConditions,
        nodes: NDArray[np.int32],
        force: ArrayLike | TimeFunction,
        until: float = inf,
    ) -> None:
        super().__init__(body, until)
        self.nodes = nodes
        self.force = force

    @property
    def force(self) -> NDArray[np.float64] | TimeFunction:
        """The total force [N], or a function of time that returns it."""
        return self._force

    @force.setter
    def force(self, value: ArrayLike | TimeFunction) -> None:
        self._force = value if callable(value) else vector3(value, "a push's force")

    def add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the force of every node."""
        value = vector3(self._force(time), "a push's force") if callable(self._force) else self._force
        force[self.nodes] += value / len(self.nodes)


class Pressure(Load):
    """A follower pressure [Pa] on faces, positive into the body.

    Attributes:
        faces: Numbers of the faces.
    """

    def __init__(
        self,
        body: BoundaryConditions,
        faces: NDArray[np.int32],
        pressure: float | TimeFunction,
        until: float = inf,
    ) -> None:
        super().__init__(body, until)
        self.faces = faces
        self.pressure = pressure

    @property
    def pressure(self) -> float | TimeFunction:
        """The pressure [Pa], positive into the body, or a function of time that returns it."""
        return self._pressure

    @pressure.setter
    def pressure(self, value: float | TimeFunction) -> None:
        self._pressure = value if callable(value) else _number(value, "a pressure")

    def add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the pressure on the faces as they are at x."""
        value = self._pressure
        pressure = _number(value(time), "a pressure") if callable(value) else value
        self._attached()._faces.add_pressure(x, self.faces, pressure, force)


class Traction(Load):
    """A traction [Pa] per area of faces at rest: the force keeps its magnitude and direction.

    Attributes:
        faces: Numbers of the faces.
    """

    def __init__(
        self,
        body: BoundaryConditions,
        faces: NDArray[np.int32],
        traction: ArrayLike | TimeFunction,
        until: float = inf,
    ) -> None:
        super().__init__(body, until)
        self.faces = faces
        self.traction = traction
        rest = body._elements.rest_positions
        shares = body._faces.shares(faces, rest)
        self._nodes = np.flatnonzero(shares)
        self._shares = shares[self._nodes]
        outward = np.zeros_like(rest)
        body._faces.add_pressure(rest, faces, -1.0, outward)
        self._outward = outward[self._nodes]

    @property
    def traction(self) -> NDArray[np.float64] | float | TimeFunction:
        """The traction [Pa]: a vector, a number along the outward normal (positive pulls), or a function of time."""
        return self._traction

    @traction.setter
    def traction(self, value: ArrayLike | TimeFunction) -> None:
        self._traction = value if callable(value) else _traction(value)

    def add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the traction times each node's share of the area at rest."""
        value = _traction(self._traction(time)) if callable(self._traction) else self._traction
        if isinstance(value, float):
            force[self._nodes] += value * self._outward
        else:
            force[self._nodes] += self._shares[:, None] * value


class BodyForce(Load):
    """A body force [N/m3] on elements, per volume at rest.

    Attributes:
        elements: Numbers of the elements.
    """

    def __init__(
        self,
        body: BoundaryConditions,
        elements: NDArray[np.int32],
        force: ArrayLike | ForceField | Callable,
        until: float = inf,
    ) -> None:
        super().__init__(body, until)
        self.elements = elements
        self.force = force
        chosen = np.zeros(body._elements.element_count)
        chosen[elements] = 1.0
        self._volumes = body._elements.mass(chosen, False)
        self._shares = np.add.reduceat(self._volumes, body._elements.pattern.indptr[:-1])

    @property
    def force(self) -> NDArray[np.float64] | ForceField:
        """The force density [N/m3]: a vector, or a field in space and time."""
        return self._force

    @force.setter
    def force(self, value: ArrayLike | ForceField | Callable) -> None:
        if isinstance(value, ForceField):
            self._force: NDArray[np.float64] | ForceField = value
        else:
            self._force = ForceField(value) if callable(value) else vector3(value, "a body force")

    def add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the integral of N_a times the force; fields are sampled at the nodes."""
        if not isinstance(self._force, ForceField):
            force += self._shares[:, None] * self._force
            return
        p = self._attached()._elements.pattern
        part = np.empty_like(force)
        # the field sampled at the control points is its Bernstein form to second order, and exact for linear fields
        density = self._force.at(time, x)
        mass_kernels.mass_times.variant(p.parallel)(p.indptr, p.indices, self._volumes, density, part)
        force += part


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"{what} must be a finite number, not {value!r}")
    return number


def _traction(value: Any) -> NDArray[np.float64] | float:
    if np.ndim(value) == 0:
        return _number(value, "a traction")
    return vector3(value, "a traction")
