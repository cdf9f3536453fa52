"""Constraints and springs of a soft body (loads are in `deformable.boundary_conditions.loads`).

Each is an object in a list of the body; `remove()` takes it off again.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.errors import InputError
from continua.motion import Motion
from continua.validation import number, rows3, vector3

if TYPE_CHECKING:
    from continua.deformable.boundary_conditions.boundary_conditions import BoundaryConditions
    from continua.deformable.field_transfer import FieldTransfer

__all__ = ["BoundaryCondition", "Constraint", "Pull"]


class BoundaryCondition:
    """A constraint, load or spring of a body; it acts in the steps that start before `until` [s]."""

    def __init__(self, body: BoundaryConditions, until: float = inf) -> None:
        self._body: BoundaryConditions | None = body
        self.until = number(until, "the time until which a boundary condition acts", infinite=True)
        self._by_topology: dict[int, dict[str, NDArray]] = {}  # its arrays on earlier topologies of the body

    @property
    def active(self) -> bool:
        """Whether it is still attached to its body."""
        return self._body is not None

    def _attached(self) -> BoundaryConditions:
        if self._body is None:
            raise InputError(f"this {type(self).__name__.lower()} has been removed from its body")
        return self._body

    def remove(self) -> None:
        """Detach it from the body; removing it twice is no error."""
        if self._body is not None:
            self._body._detach(self)
            self._body = None

    def __repr__(self) -> str:
        sizes = [
            f"{len(array)} {name}" for name, array in self._mesh_arrays().items() if array.dtype.kind == "i"
        ]
        parts = [f"of {self._body.name!r}" if self._body is not None else "removed", *sizes]
        parts += [f"until {self.until:g} s"] if self.until < inf else []
        return f"<{type(self).__name__} {', '.join(parts)}>"

    # --- changes of topology ----------------------------------------------------------------------------------

    def _mesh_arrays(self) -> dict[str, NDArray]:
        """Return the arrays that refer to nodes, faces or elements of the body."""
        return {}

    @staticmethod
    def _carried(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        """Return the arrays after a change of topology."""
        return {}

    @staticmethod
    def _returned(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        """Return arrays on the old topology for those on the new one."""
        return {}

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        """Use other arrays; the body's elements are the ones they refer to."""


class Constraint(BoundaryCondition):
    """Nodes held at their rest positions or driven along a motion, in all directions or along one only.

    Attributes:
        nodes: The nodes, as indices.
        motion: The motion, or None for fixed nodes.
        direction: The only direction in which they are held or driven, a unit vector; None stands for all.
    """

    def __init__(
        self,
        body: BoundaryConditions,
        nodes: NDArray[np.int32],
        motion: Motion | None,
        until: float = inf,
        direction: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__(body, until)
        self.nodes = nodes
        self.motion = motion
        self.direction = direction

    def _mesh_arrays(self) -> dict[str, NDArray]:
        return {"nodes": self.nodes}

    @staticmethod
    def _carried(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        """Nodes between held nodes are held too."""
        return {"nodes": transfer.map_nodes(arrays["nodes"])}

    @staticmethod
    def _returned(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        return {"nodes": transfer.return_nodes(arrays["nodes"])}

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        self.nodes = arrays["nodes"]

    def targets(self, time: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where the nodes have to be at `time` [s]; with a direction, only that component counts."""
        points = rows3(rest, "rest positions")
        if len(points) <= self.nodes.max():
            raise InputError(f"there must be rest positions of all nodes, not {len(points)}")
        points = points[self.nodes]
        return points if self.motion is None else self.motion.at(time, points)

    @property
    def reactions(self) -> NDArray[np.float64]:
        """The force [N] that holds each of the nodes, shape [k, 3], as of the last step or `settle`.

        What other constraints exert on nodes that they share is in it. Zero before the first step.
        """
        forces = self._attached().reaction_forces()[self.nodes]
        return forces if self.direction is None else np.outer(forces @ self.direction, self.direction)

    @property
    def reaction(self) -> NDArray[np.float64]:
        """The total force [N] that this constraint exerts on the body, shape [3]."""
        return self.reactions.sum(axis=0)

    def moment(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> NDArray[np.float64]:
        """Return the total moment [N m] that this constraint exerts on the body about a point [m], shape [3]."""
        body = self._attached()
        arms = body._elements.values(body._x)[self.nodes] - vector3(about, "the point of a moment")
        return np.cross(arms, self.reactions).sum(axis=0)


class Pull(BoundaryCondition):
    """A spring from a point of the body to a target; set `target` to drag the body.

    The point is a weighted mean of up to a few nodes. The spring acts implicitly, so it may be stiff.

    Attributes:
        nodes: The nodes that carry the point.
        weights: Their weights, which sum to 1.
        stiffness: Spring constant [N/m].
    """

    def __init__(
        self,
        body: BoundaryConditions,
        nodes: NDArray[np.int32],
        weights: NDArray[np.float64],
        target: ArrayLike,
        stiffness: float,
    ) -> None:
        super().__init__(body)
        self.nodes = nodes
        self.weights = weights
        self.stiffness = number(stiffness, "a pull's stiffness", above=0.0, unit="N/m")
        self.target = target

    def _mesh_arrays(self) -> dict[str, NDArray]:
        return {"nodes": self.nodes, "weights": self.weights}

    @staticmethod
    def _carried(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        """The spring keeps its point of the material; on a cut it stays with one side."""
        nodes, weights = transfer.map_point(arrays["nodes"], arrays["weights"])
        return {"nodes": nodes, "weights": weights}

    @staticmethod
    def _returned(arrays: dict[str, NDArray], transfer: FieldTransfer) -> dict[str, NDArray]:
        nodes, weights = transfer.return_point(arrays["nodes"], arrays["weights"])
        return {"nodes": nodes, "weights": weights}

    def _assign(self, arrays: dict[str, NDArray]) -> None:
        self.nodes, self.weights = arrays["nodes"], arrays["weights"]

    @property
    def target(self) -> NDArray[np.float64]:
        """Where the spring pulls to [m]."""
        return self._target

    @target.setter
    def target(self, value: ArrayLike) -> None:
        self._target = vector3(value, "a pull's target")

    @property
    def point(self) -> NDArray[np.float64]:
        """Where the held point of the body is now [m]."""
        return self.weights @ self._attached()._x[self.nodes]

    @property
    def force(self) -> NDArray[np.float64]:
        """The force on the body now [N]."""
        return self.stiffness * (self.target - self.point)
