"""What a deformable body offers to the contact solver.

A body of any kind whose matter is moved by nodes (a soft body, a sheet of cloth, springs) takes part in contact if it
has a method `contact_body` that returns a `ContactBody`. Nothing else of the body is known to the solver. A row of V is
the velocity of one node, and a node moves by dt V in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.collision import ColliderSet
from continua.contact_solver.constraint_rows import ConstraintRows
from continua.linalg import BlockMatrix
from continua.linalg.basis_change import BasisChange
from continua.short_repr import ShortRepr
from continua.timestepping import BodyStep

__all__ = [
    "ContactBody",
    "ContactSurface",
    "HasContactBody",
    "StaticConstraints",
    "StaticPotential",
    "StaticProblem",
]


@dataclass(frozen=True, eq=False, repr=False)
class ContactSurface(ShortRepr):
    """The surface with which a body touches others.

    Attributes:
        rest: Rest positions of all nodes of the body [m], shape [n, 3].
        triangles: Triangles over the nodes, shape [k, 3]; outward oriented unless `two_sided`.
        two_sided: Whether it is an open surface that others touch from both sides. A surface that is not two-sided
            bounds the body: what lies behind it is inside.
        thickness: Thickness of the matter around a two-sided surface [m], half of it on either side.
        pieces: The piece to which each triangle belongs, numbered from 0, shape [k]; None is one piece. Pieces share
            no nodes, and touch each other like separate bodies.
        edges: Edges of a body without triangles, such as a rope, shape [e, 2]; None uses those of the triangles.
        vertices: Nodes of such a body that touch others, shape [s]; None uses those of triangles and edges.
    """

    rest: NDArray[np.float64]
    triangles: NDArray[np.int32]
    two_sided: bool = False
    thickness: float = 0.0
    pieces: NDArray[np.int32] | None = None
    edges: NDArray[np.int32] | None = None
    vertices: NDArray[np.int32] | None = None

    @property
    def piece_count(self) -> int:
        """Number of pieces."""
        return 1 if self.pieces is None or not len(self.pieces) else int(self.pieces.max()) + 1


class StaticPotential(Protocol):
    """The potential of a body at rest as a function of its node positions u [n, 3].

    Attributes:
        matrix: The Hessian at the u of the last `linearise`.
        rhs: The unbalanced force there, minus the gradient [N], shape [n, 3].
        force: Loads [N], shape [n, 3].
        push: Contact forces [N], taken as given, shape [n, 3].
        slack: Mass [1/s2] that is added to the Hessian.
        conservative: Whether the forces are exactly minus the gradient.
        has_springs: Whether springs hold the body.
    """

    matrix: BlockMatrix
    rhs: NDArray[np.float64]
    force: NDArray[np.float64]
    push: NDArray[np.float64]
    slack: float
    conservative: bool

    @property
    def has_springs(self) -> bool:
        """Whether springs hold the body."""

    def potential(self, u: NDArray[np.float64]) -> float:
        """Go to u and return the potential there [J]."""

    def linearise(self, u: NDArray[np.float64]) -> None:
        """Fill `matrix` and `rhs` at the u of the last `potential`."""

    def floor(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the unbalanced force [N] that rounding leaves at the u of the last `linearise`, shape [n]."""

    def noise(self, u: NDArray[np.float64]) -> float:
        """Return the change of the potential [J] that rounding hides at the u of the last `linearise`."""

    def touching(self, u: NDArray[np.float64]) -> ConstraintRows | None:
        """Return the contacts of nodes near a collider at u, or None if there are no colliders."""


class StaticConstraints(Protocol):
    """The degrees of freedom of a body that are prescribed.

    Attributes:
        fixed: 0 for a free node, 1 for a fixed one, 2 for one with free directions, shape [n].
        projections: Projections onto the free directions, or None; see `LinearSolver.update`.
        basis: The change from the unknowns, which `fixed` is about, to positions; None where they are the same.
    """

    fixed: NDArray[np.uint8]
    projections: NDArray[np.float64] | None
    basis: BasisChange | None

    def matrix(self, matrix: BlockMatrix) -> BlockMatrix:
        """Return the matrix of a system in the unknowns; may be the same one."""

    def loads(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the forces on the unknowns of forces [n, 3]; may be the same array."""

    def project_free(self, forces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the forces on the unknowns of forces [n, 3], with zeros in fixed components."""

    def unconstrained_direction(self, force: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the direction in which a net `force` translates the body, because nothing is fixed there, or None."""


@dataclass(frozen=True, eq=False, repr=False)
class StaticProblem(ShortRepr):
    """The static equilibrium of one body, for a common solve with others.

    Attributes:
        potential: Its potential.
        constraints: Its prescribed degrees of freedom.
        support_mass: Mass [1/s2] that holds the body at first if nothing else does; 0 if it is held.
        start: Positions to start from [m], shape [n, 3].
        commit: Takes the positions [m] and the contact forces [N] of the equilibrium, shape [n, 3] each, and sets the
            velocities to zero.
        contact_positions: Returns where the nodes touch others when the body is at x [n, 3] [m].
        pressures: `deformable.incompressible.StaticPressures` of an incompressible body, or None.
    """

    potential: StaticPotential
    constraints: StaticConstraints
    support_mass: float
    start: NDArray[np.float64]
    commit: Callable[[NDArray[np.float64], NDArray[np.float64]], None]
    contact_positions: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    pressures: Any = None


class ContactBody(Protocol):
    """A deformable body as the contact solver sees it.

    A body that touches others with points which are no nodes also has an attribute `carriers`, the matrix from its
    nodes to these points, shape [p, n]; its positions and its surface are then those of the points.
    """

    @property
    def name(self) -> str:
        """Name of the body."""

    @property
    def row_count(self) -> int:
        """Number of its rows of V, one for each node."""

    @property
    def size(self) -> float:
        """Size of its elements [m], the unit of distances and tolerances in contact."""

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions of the nodes, or of the points that touch others [m], shape [n, 3] or [p, 3]; only read."""

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Node velocities [m/s], shape [n, 3]; only read."""

    def positions_after(self, V: NDArray[np.float64], dt: float) -> NDArray[np.float64]:
        """Return the node positions [m] after `dt` [s] with velocities V [n, 3]."""

    @property
    def contact_nodes(self) -> NDArray[np.int32]:
        """The nodes that colliders can touch, shape [k]."""

    @property
    def surface(self) -> ContactSurface:
        """The surface with which it touches other bodies."""

    @property
    def node_masses(self) -> NDArray[np.float64]:
        """Masses of the nodes [kg], shape [n]."""

    def correct_motion(self, moved: NDArray[np.float64], velocity: NDArray[np.float64]) -> None:
        """Move the nodes by [m] and add to their velocities [m/s], shape [n, 3] each, after a substep.

        Contact calls it where a solve could not keep surfaces apart. A body without this method is not corrected;
        others are kept from passing through it.
        """

    def begin_step(self, dt: float) -> BodyStep:
        """Begin a step of `dt` [s]."""

    def snapshot(self) -> object:
        """Return everything that a step changes, what solvers have learnt included, for `rollback`."""

    def rollback(self, snapshot: Any) -> None:
        """Return to a snapshot."""

    def set_contact_forces(self, force: NDArray[np.float64]) -> None:
        """Take the mean contact forces on the nodes in the last step [N], shape [n, 3]."""

    def settle(self, rtol: float, max_newton: int, steps: int | None, obstacles: ColliderSet | None) -> Any:
        """Move to the static equilibrium with colliders only and return its report.

        InputError says that nothing holds the body; then another body may.
        """

    def static_problem(self, obstacles: ColliderSet | None) -> StaticProblem:
        """Return the problem of its static equilibrium, for a common solve with other bodies."""


class HasContactBody(Protocol):
    """A body that can take part in contact."""

    def contact_body(self) -> ContactBody:
        """Return what the body offers to the contact solver."""
