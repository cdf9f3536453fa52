"""What a deformable body offers to the contact solver; see `contact_solver.contact_body`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from continua.collision import ColliderSet
from continua.contact_solver.contact_body import ContactSurface, StaticProblem
from continua.deformable.statics import StaticPotential, StaticReport, commit_pressures, static_potential
from continua.deformable.step import DeformableStep
from continua.timestepping import BodyStep

if TYPE_CHECKING:
    from continua.deformable.deformable_body import DeformableBody

__all__ = ["DeformableContactBody", "connected_pieces"]


class DeformableContactBody:
    """A deformable body in contact. It is made anew when the body's topology changes."""

    def __init__(self, body: DeformableBody) -> None:
        self._body = body
        self.size = body._element_size
        self._surface: ContactSurface | None = None

    @property
    def name(self) -> str:
        """Name of the body."""
        return self._body.name

    @property
    def row_count(self) -> int:
        """Number of nodes."""
        return self._body.node_count

    @property
    def positions(self) -> NDArray[np.float64]:
        """Node positions [m], shape [n, 3]."""
        return self._body._surface.contact_positions(self._body._x)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Node velocities [m/s], shape [n, 3]."""
        return self._body._v

    @property
    def carriers(self) -> sparse.csr_array | None:
        """The matrix from nodes to the points that touch others, shape [p, n]; None where these are the nodes."""
        return self._body._surface.carriers

    def positions_after(self, V: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
        """Return the node positions [m] after `dt` [s] with velocities V [n, 3]."""
        carriers = self.carriers
        return self.positions + dt * (V if carriers is None else np.asarray(carriers @ V))

    @property
    def node_masses(self) -> NDArray[np.float64]:
        """Masses of the nodes [kg], shape [n]."""
        added = self._body._added_mass
        return self._body._node_mass if added is None else self._body._node_mass + added

    def correct_motion(self, moved: NDArray[np.float64], velocity: NDArray[np.float64]) -> None:
        """Move the nodes by [m] and add to their velocities [m/s], shape [n, 3] each, after a substep."""
        self._body._x += moved
        self._body._v += velocity
        self._body._stepper.restart(self._body._v)

    @property
    def contact_nodes(self) -> NDArray[np.int32]:
        """The nodes that colliders can touch, shape [k]."""
        return self._body.contact_nodes

    @property
    def surface(self) -> ContactSurface:
        """The surface with which it touches others, with its pieces."""
        if self._surface is None:
            self._surface = self._body._contact_surface()
        return self._surface

    def begin_step(self, dt: float) -> BodyStep:
        """Begin a step of `dt` [s]."""
        return DeformableStep(self._body, dt)

    def snapshot(self) -> object:
        """Return the state of the body and what its solver has learnt."""
        return self._body.state(), self._body._stepper.solver_memory()

    def rollback(self, snapshot: Any) -> None:
        """Return to a snapshot."""
        state, solver_memory = snapshot
        self._body.restore(state)
        self._body._stepper.restore_solver_memory(solver_memory)

    def set_contact_forces(self, force: NDArray[np.float64]) -> None:
        """Take the mean contact forces on the nodes in the last step [N], shape [n, 3]."""
        self._body.set_contact_forces(force)

    def settle(
        self, rtol: float, max_newton: int, steps: int | None, obstacles: ColliderSet | None
    ) -> StaticReport:
        """Move to the static equilibrium with colliders only."""
        return self._body.settle(rtol, max_newton, steps=steps, obstacles=obstacles)

    def static_problem(self, obstacles: ColliderSet | None) -> StaticProblem:
        """Return the problem of its static equilibrium, for a common solve with other bodies."""
        potential, support_mass, start = static_potential(self._body, obstacles, self.surface.piece_count > 1)
        return StaticProblem(
            potential,
            self._body._dirichlet,
            support_mass,
            start,
            partial(self._commit_static, potential),
            self._body._surface.contact_positions,
            potential.pressures,
        )

    def _commit_static(
        self, potential: StaticPotential, x: NDArray[np.float64], contact_forces: NDArray[np.float64]
    ) -> None:
        body = self._body
        body._x[:] = x
        body._v[:] = 0.0
        body._stepper.restart(body._v)
        body.set_contact_forces(contact_forces)
        commit_pressures(body, potential)


def connected_pieces(elements: NDArray[np.integer], node_count: int) -> NDArray[np.int32]:
    """Return the connected component of every node, shape [n]; elements that share a node are connected.

    Args:
        elements: Nodes of the elements, shape [m, k].
        node_count: Number of nodes.
    """
    one = np.repeat(elements[:, :1], elements.shape[1] - 1, axis=1).ravel()
    other = elements[:, 1:].ravel()
    graph = sparse.coo_array((np.ones(len(one), np.bool_), (one, other)), (node_count, node_count))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], np.int32)
