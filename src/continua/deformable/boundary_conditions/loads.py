"""Loads on a soft body: forces on nodes, pressure and traction on faces, forces on the volume.

The value of a load may be set while the simulation runs, or be a function of time. Nodal forces are consistent: node a
gets the integral of N_a times the load, so a uniform load is exact for every order (Bernstein coefficients included).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.deformable import mass_kernels
from continua.deformable.boundary_conditions.constraints import BoundaryCondition
from continua.deformable.boundary_conditions.force_field import ForceField
from continua.errors import InputError
from continua.pickling import check_picklable
from continua.validation import number, numbers, vector3

if TYPE_CHECKING:
    from continua.deformable.boundary_conditions.boundary_conditions import BoundaryConditions
    from continua.deformable.field_transfer import FieldTransfer

__all__ = ["BodyForce", "Load", "Pressure", "Push", "TimeFunction", "Traction"]

TimeFunction = Callable[[float], Any]


def _carried_faces(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
    """Return the faces that lie in the loaded ones; faces that a cut has made are not loaded."""
    return {"faces": transfer.change.map_boundary_faces(arrays["faces"])}


def _returned_faces(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
    parents = transfer.change.boundary_face_parents[arrays["faces"]]
    return {"faces": np.unique(parents[parents >= 0]).astype(np.int32)}


def _node_forces(arrays: dict[str, NDArray], count: int) -> NDArray[np.float64]:
    """Return the share of each node in a push [n]."""
    forces = np.zeros(count)
    forces[arrays["nodes"]] = arrays.get("shares", 1.0 / len(arrays["nodes"]))
    return forces


def _push_arrays(forces: NDArray[np.float64]) -> dict[str, NDArray]:
    nodes = np.flatnonzero(forces)
    return {"nodes": nodes.astype(np.int32), "shares": forces[nodes]}


class Load(BoundaryCondition):
    """Base of all loads: they act until a time, and their value is a constant or a function of time [s]."""

    def add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add to `force` [N], shape [n, 3], what the load exerts on a body at positions x at `time` [s]."""
        count = self._attached()._elements.node_count
        for values in (x, force):
            if not (
                isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (count, 3)
            ):
                raise InputError(
                    f"a load needs positions and forces, arrays of shape [{count}, 3] and type float64"
                )
        self._add(number(time, "the time of a load"), x, force)

    @abstractmethod
    def _add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add what the load exerts."""

    def __getstate__(self) -> dict[str, Any]:
        for value in vars(self).values():
            check_picklable(value, f"the value of a {type(self).__name__.lower()}")
        return vars(self)

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
        shares: The part of the force on each of them, shape [k], after a change of topology; None stands for equal
            parts.
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
        self.shares: NDArray[np.float64] | None = None
        self.force = force

    @property
    def force(self) -> NDArray[np.float64] | TimeFunction:
        """The total force [N], or a function of time that returns it."""
        return self._force

    @force.setter
    def force(self, value: ArrayLike | TimeFunction) -> None:
        self._force = value if callable(value) else vector3(value, "a push's force")

    def _add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the force of every node."""
        value = vector3(self._force(time), "a push's force") if callable(self._force) else self._force
        if self.shares is None:
            force[self.nodes] += value / len(self.nodes)
        else:
            force[self.nodes] += self.shares[:, None] * value

    def _mesh_arrays(self) -> dict[str, NDArray]:
        return {"nodes": self.nodes} if self.shares is None else {"nodes": self.nodes, "shares": self.shares}

    @staticmethod
    def _carried(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        """The force stays equivalent: its sum, its moment and its power in every old motion are kept."""
        return _push_arrays(transfer.distribute(_node_forces(arrays, transfer.old_count)))

    @staticmethod
    def _returned(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        return _push_arrays(transfer.collect(_node_forces(arrays, transfer.new_count)))

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        self.nodes, self.shares = arrays["nodes"], arrays.get("shares")


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
        self._pressure = value if callable(value) else number(value, "a pressure")

    def _add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """Add the pressure on the faces as they are at x."""
        value = self._pressure
        pressure = number(value(time), "a pressure") if callable(value) else value
        self._attached()._faces.add_pressure(x, self.faces, pressure, force)

    def _mesh_arrays(self) -> dict[str, NDArray]:
        return {"faces": self.faces}

    _carried = staticmethod(_carried_faces)
    _returned = staticmethod(_returned_faces)

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        self.faces = arrays["faces"]


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
        self._integrate(body)

    def _integrate(self, body: BoundaryConditions) -> None:
        """Compute the nodes' shares of the area and of the area vectors of the faces at rest."""
        rest = body._elements.rest_coefficients
        shares = body._faces.shares(self.faces, rest)
        self._nodes = np.flatnonzero(shares)
        self._shares = shares[self._nodes]
        outward = np.zeros_like(rest)
        body._faces.add_pressure(rest, self.faces, -1.0, outward)
        self._outward = outward[self._nodes]

    def _mesh_arrays(self) -> dict[str, NDArray]:
        return {"faces": self.faces}

    _carried = staticmethod(_carried_faces)
    _returned = staticmethod(_returned_faces)

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        self.faces = arrays["faces"]
        self._integrate(self._attached())

    @property
    def traction(self) -> NDArray[np.float64] | float | TimeFunction:
        """The traction [Pa]: a vector, a number along the outward normal (positive pulls), or a function of time."""
        return self._traction

    @traction.setter
    def traction(self, value: ArrayLike | TimeFunction) -> None:
        self._traction = value if callable(value) else _traction(value)

    def _add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
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
        self._integrate(body)

    def _integrate(self, body: BoundaryConditions) -> None:
        """Compute the integrals of N_a N_b and of N_a over the elements."""
        chosen = np.zeros(body._elements.element_count)
        chosen[self.elements] = 1.0
        self._volumes = body._elements.mass(chosen, False)
        self._shares = np.add.reduceat(self._volumes, body._elements.pattern.indptr[:-1])

    def _mesh_arrays(self) -> dict[str, NDArray]:
        return {"elements": self.elements}

    @staticmethod
    def _carried(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        return {"elements": transfer.change.map_elements(arrays["elements"])}

    @staticmethod
    def _returned(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        return {"elements": np.unique(transfer.element_parents[arrays["elements"]])}

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        self.elements = arrays["elements"]
        self._integrate(self._attached())

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

    def _add(self, time: float, x: NDArray[np.float64], force: NDArray[np.float64]) -> None:
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


def _traction(value: Any) -> NDArray[np.float64] | float:
    given = numbers(value)
    if given is None or given.ndim == 0:
        return number(value, "a traction")
    return vector3(value, "a traction")
