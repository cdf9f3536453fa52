"""The incompressibility of one body: its pressures, and the projections at the end of a step.

A step of an incompressible body has three parts.

1. Implicit integrators solve for velocities and pressures together: the pressures of the last step load the nodes, and
   are improved after each solve by an approximate inverse of the Schur complement (Cahouet and Chabard 1988).
2. The mean velocities of the step are projected so that the node volumes stay what they are. The forces are those at
   the start of the step, so that angular momentum is kept (SHAKE). Errors of the volumes from earlier are then removed
   by moving the nodes, without adding to their velocities (Irving 2007, equation 4.1).
3. The velocities are projected so that the rates of the node volumes vanish (4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from continua.contact_solver import EMPTY_ROWS, ConstraintRows
from continua.deformable.elements import Elements
from continua.deformable.incompressible.one_ring import OneRing
from continua.deformable.incompressible.projection import RTOL, PressureSolve, ProjectedPart, volume_error
from continua.errors import InputError
from continua.linalg import SolveReport
from continua.timestepping import PartnerMotion, VolumeProjection

__all__ = ["Incompressibility"]

VOLUME_TOLERANCE = 1e-4
"""Error of a node's volume from which another projection follows, relative to its volume at rest."""

ROUNDING = 1e-10
"""The same for the first one: no error is too small for it, so that small strains are as exact as large ones."""

LARGE_ERROR = 3e-4
"""Error of a node's volume from which its recovery is kept from the velocities, relative to its volume at rest."""

IMPROVEMENT_RTOL = 0.03
"""Tolerance of the pressure solve by which the pressures of an implicit step are improved: part of a preconditioner."""

MAX_PROJECTIONS = 8
"""Projections after which volumes have not been kept."""


class Incompressibility:
    """The one-ring volumes and the pressures of a body.

    Attributes:
        one_ring: Volumes and their derivatives.
        pressure: Node pressures [Pa] that act beside the elastic stress, positive in compression, shape [n].
        shear_modulus: That of the nodes [Pa], shape [n].
        recovery_time: Least time [s] in which a node recovers its volume.
        guesses: Pressures from which solves of the next step start [N s / m2], shape [3, n]: that of an implicit step,
            and the first two of the projection of positions. They change little from step to step; the second
            projection, of what the first leaves in pressures that D hardly sees, then takes a fifth of the iterations.
        iterations: Iterations of the pressure solves within the solve of the present substep.

    Args:
        elements: The elements.
        recovery_time: Least time [s] in which a node recovers its volume.
        body: Name of the body, for messages.
    """

    def __init__(self, elements: Elements, recovery_time: float, body: str) -> None:
        self.one_ring = OneRing(elements, body)
        self.recovery_time, self._body = recovery_time, body
        self.pressure = np.zeros(elements.node_count)
        self._next_pressure = np.zeros(elements.node_count)
        self.guesses = np.zeros((3, elements.node_count))
        self.next_guesses = self.guesses.copy()
        self._elements = elements
        self._boundary = np.unique(elements.surface_triangles())
        self._stiffness = np.zeros(elements.node_count)
        self.shear_modulus = np.zeros(elements.node_count)
        self._unit = np.tile(np.eye(3).ravel(), (elements.node_count, 1))
        self.one_ring.update(elements.rest_positions)
        self._rest_square = self.one_ring.diagonal(self._unit)
        self.iterations = 0

    def set_shear_modulus(self, shear: NDArray[np.float64]) -> None:
        """Set the shear modulus of every element [Pa], of which the nodes take the mean by volume."""
        cells = self._elements.elements
        weight = self._elements.mesh.volumes / cells.shape[1]
        total = np.zeros(len(self.pressure))
        for corner in range(cells.shape[1]):
            np.add.at(total, cells[:, corner], weight * shear)
        self.shear_modulus = total / self.one_ring.rest_volumes
        # for K = 2 mu (strain : strain), (tr strain)^2 <= 3 (strain : strain)
        self._stiffness = (2.0 / 3.0) * total / self.one_ring.rest_volumes**2

    def begin(self, x: NDArray[np.float64], inverse_mass: NDArray[np.float64]) -> None:
        """Begin a substep at positions x [n, 3]."""
        self.volumes = self.one_ring.update(x)
        self.part = ProjectedPart(self.one_ring, inverse_mass)
        # |cof F|^2 / 3: areas grow where a body is flattened, and volumes respond more to the same pressure
        growth = self.one_ring.diagonal(self._unit) / self._rest_square
        self._present_stiffness = self._stiffness / np.maximum(growth, 1.0)
        self._next_pressure[:] = self.pressure
        self.next_guesses[:] = self.guesses
        self.iterations = 0

    def forces(self) -> NDArray[np.float64]:
        """Return the forces [N] of the pressures, shape [n, 3]."""
        return self.one_ring.forces(self._next_pressure)

    def improve(
        self, velocities: NDArray[np.float64], weight: float, c_stiffness: float
    ) -> NDArray[np.float64]:
        """Improve the pressures from the volume rates of the solution of a step; return the forces to be added [N].

        Args:
            velocities: The solution w of A w = b + weight D^T p, shape [n, 3].
            weight: Time [s] over which forces act in that equation.
            c_stiffness: Factor of the stiffness in A [s2].
        """
        rate = self.one_ring.divergence(velocities)
        impulse, report = PressureSolve([self.part]).solve(rate, self.guesses[0], IMPROVEMENT_RTOL)
        self.next_guesses[0] = impulse
        self.iterations += report.iterations
        return self.one_ring.forces(self.add_pressure(impulse, rate, weight, c_stiffness))

    def add_pressure(
        self, impulse: NDArray[np.float64], rate: NDArray[np.float64], weight: float, c_stiffness: float
    ) -> NDArray[np.float64]:
        """Change the pressures by what volume rates ask for: the inverse of the Schur complement D A^-1 D^T of them.

        Args:
            impulse: The part of the mass: pressures of a projection times time [N s / m2], shape [n].
            rate: The volume rates [m3/s], shape [n]; the part of the stiffness is a diagonal times these.
            weight: Time [s] over which forces act.
            c_stiffness: Factor of the stiffness [s2].

        Returns:
            The change [Pa], shape [n].
        """
        change = (impulse - c_stiffness * self._present_stiffness * rate) / weight
        self._next_pressure += change
        return change

    def set_pressure(self, impulse: NDArray[np.float64], dt: float) -> None:
        """Set the pressures of a step of dt [s] whose forces all come from its projection."""
        np.divide(impulse, dt, out=self._next_pressure)

    def accept(self) -> None:
        """Commit the pressures of the substep."""
        self.pressure[:] = self._next_pressure
        self.guesses[:] = self.next_guesses

    def set_static(self, pressure: NDArray[np.float64] | float) -> None:
        """Set the pressures [Pa] of a body that was put at rest, shape [n]."""
        self.pressure[:] = pressure
        self.guesses[:] = 0.0

    def target_volumes(self, dt: float) -> NDArray[np.float64] | None:
        """Return the volumes [m3] that nodes are to recover within `dt` [s]; None if their errors are not large."""
        rest = self.one_ring.rest_volumes
        error = self.volumes - rest
        if volume_error(self.volumes, rest) <= LARGE_ERROR:
            return None
        limit = rest * (dt / self.recovery_time) if self.recovery_time > 0.0 else np.full_like(rest, np.inf)
        return self.volumes - np.clip(error, -limit, limit)

    def check_enclosed(self, x: NDArray[np.float64]) -> None:
        """Raise InputError if prescribed motions alone change the volume: no pressure could keep it.

        Args:
            x: Positions at the end of the substep [m], shape [n, 3].
        """
        if not self.part.inverse_mass[self._boundary].any():
            self._refuse_change(float(self.volumes.sum()), x)

    def check_enclosed_at_rest(self, x: NDArray[np.float64], fixed: NDArray[np.uint8]) -> None:
        """Raise InputError if prescribed positions alone change the volume from that at rest.

        Args:
            x: Positions with those that are prescribed [m], shape [n, 3].
            fixed: 1 for nodes with prescribed positions, shape [n].
        """
        if (fixed[self._boundary] == 1).all():
            self._refuse_change(float(self.one_ring.rest_volumes.sum()), x)

    def _refuse_change(self, now: float, x: NDArray[np.float64]) -> None:
        then = float(self.one_ring.volumes(x).sum())
        if abs(then - now) > VOLUME_TOLERANCE * float(self.one_ring.rest_volumes.sum()):
            raise InputError(
                f"the whole surface of the incompressible body '{self._body}' is prescribed, and its motion changes "
                f"the enclosed volume from {now:.6g} to {then:.6g}; leave a part of the surface free"
            )

    # --- projections ----------------------------------------------------------------------------------------

    def keep_volumes(
        self, x: NDArray[np.float64], velocities: NDArray[np.float64], dt: float
    ) -> VolumeProjection:
        """Return the projection of the mean velocities of a substep, in which the nodes start at x [n, 3]."""
        return VolumeProjection(velocities, project_positions, _Positions(self, x, dt), True)

    def remove_divergence(
        self, x: NDArray[np.float64], velocities: NDArray[np.float64], dt: float
    ) -> VolumeProjection:
        """Return the projection of velocities at positions x [n, 3], at the end of a substep of dt [s]."""
        return VolumeProjection(velocities, project_velocities, _Positions(self, x, dt), False)


@dataclass(eq=False)
class _Positions:
    """A body in a projection: its incompressibility, positions [n, 3], time step [s], and results.

    Attributes:
        body: The incompressibility.
        x: Positions.
        dt: Time step.
        rate: Volume rates of the velocities before [m3/s], shape [n].
        change: Velocities that were added to keep the volumes [m/s], shape [n, 3].
        impulse: Their pressures times dt [N s / m2], shape [n].
    """

    body: Incompressibility
    x: NDArray[np.float64]
    dt: float
    rate: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    change: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    impulse: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def project_positions(
    requests: Sequence[VolumeProjection],
    first: Sequence[int],
    V: NDArray[np.float64],
    rows: ConstraintRows = EMPTY_ROWS,
    partners: PartnerMotion | None = None,
) -> SolveReport:
    """Change the velocities V [N, 3] of a step so that the volumes of all nodes stay the same, or recover.

    Args:
        requests: The projections of the bodies.
        first: First row of each body in V.
        V: Velocities of all bodies; changed in place.
        rows: Contacts, whose normal velocities stay the same.
        partners: Other rows of V that move with them.
    """
    bodies: list[_Positions] = [request.problem for request in requests]
    dt = bodies[0].dt
    parts = [replace(one.body.part, first=start) for one, start in zip(bodies, first, strict=True)]
    solve = PressureSolve(parts, rows, len(V), partners)
    before = V.copy()
    for one, part in zip(bodies, parts, strict=True):
        one.rate = one.body.one_ring.divergence(V[part.rows])
    targets = [one.body.target_volumes(dt) for one in bodies]
    goals = [
        one.body.one_ring.rest_volumes if target is None else one.body.volumes
        for one, target in zip(bodies, targets, strict=True)
    ]
    report = _project_to(bodies, parts, V, dt, goals, solve, operators_follow=False)
    for one, part, pressure in zip(bodies, parts, np.split(report[1], _splits(parts)), strict=True):
        one.change = V[part.rows] - before[part.rows]
        one.impulse = pressure
    if partners is not None:
        np.subtract(V, before, out=partners.change)
    if all(target is None for target in targets):
        return report[0]
    goals = [goal if target is None else target for goal, target in zip(goals, targets, strict=True)]
    solve = PressureSolve(parts, rows, len(V), partners)
    recovery, _ = _project_to(bodies, parts, V, dt, goals, solve, operators_follow=True)
    return _joined(report[0], recovery)


def project_velocities(
    requests: Sequence[VolumeProjection],
    first: Sequence[int],
    V: NDArray[np.float64],
    rows: ConstraintRows = EMPTY_ROWS,
    partners: PartnerMotion | None = None,
) -> SolveReport:
    """Change velocities V [N, 3] so that no node changes its volume; for the arguments see `project_positions`."""
    bodies: list[_Positions] = [request.problem for request in requests]
    parts = [replace(one.body.part, first=start) for one, start in zip(bodies, first, strict=True)]
    for one in bodies:
        one.body.one_ring.update(one.x)
    solve = PressureSolve(parts, rows, len(V), partners)
    rate = solve.divergence(V)
    rest = np.concatenate([one.body.one_ring.rest_volumes for one in bodies])
    if bodies[0].dt * volume_error(rest + rate, rest) <= ROUNDING:
        return SolveReport(0, 0.0, True)
    pressures, report = solve.solve(rate)
    V += solve.changes(pressures)
    if report.converged:
        return report
    return replace(report, warnings=(_unconverged("the velocities", report),))


def _project_to(
    bodies: Sequence[_Positions],
    parts: Sequence[ProjectedPart],
    V: NDArray[np.float64],
    dt: float,
    targets: Sequence[NDArray[np.float64]],
    solve: PressureSolve,
    *,
    operators_follow: bool,
) -> tuple[SolveReport, NDArray[np.float64]]:
    """Change V so that the volumes at x + dt V are the targets [m3]; return the report and the pressures times dt.

    With `operators_follow` this is Newton's method; otherwise the operators stay those at the start.
    """
    rest = np.concatenate([one.body.one_ring.rest_volumes for one in bodies])
    target = np.concatenate(list(targets))
    total = np.zeros(len(rest))
    iterations, error, last = 0, 0.0, SolveReport(0, 0.0, True)
    for k in range(MAX_PROJECTIONS):
        ends = [one.x + dt * V[part.rows] for one, part in zip(bodies, parts, strict=True)]
        measure = [
            one.body.one_ring.update(x) if operators_follow else one.body.one_ring.volumes(x)
            for one, x in zip(bodies, ends, strict=True)
        ]
        off = np.concatenate(measure) - target
        error = volume_error(rest + off, rest)
        if error <= (VOLUME_TOLERANCE if k else ROUNDING) or not np.isfinite(error):
            break
        if operators_follow:
            solve = PressureSolve(parts, solve.contacts, len(V), solve.partners)
        rtol = max(RTOL, 0.5 * VOLUME_TOLERANCE / error) if k else RTOL  # no more than the loop asks for
        is_known = not operators_follow and k < 2
        guess = np.concatenate([one.body.guesses[1 + k] for one in bodies]) if is_known else None
        pressures, last = solve.solve(off / dt, guess, rtol)
        iterations += last.iterations
        if is_known:
            for one, own in zip(bodies, np.split(pressures, _splits(parts)), strict=True):
                one.body.next_guesses[1 + k] = own
        V += solve.changes(pressures)
        total += pressures
    warnings: tuple[str, ...] = ()
    if not error <= LARGE_ERROR:
        warnings = (f"the volumes of nodes were kept to {100.0 * error:.2g} % only; use a smaller dt",)
    return SolveReport(iterations, error, not warnings, warnings=warnings), total


def _splits(parts: Sequence[ProjectedPart]) -> NDArray[np.intp]:
    return np.cumsum([len(part.inverse_mass) for part in parts])[:-1]


def _joined(one: SolveReport, other: SolveReport) -> SolveReport:
    return SolveReport(
        one.iterations + other.iterations,
        max(one.residual, other.residual),
        one.converged and other.converged,
        warnings=one.warnings + other.warnings,
    )


def _unconverged(what: str, report: SolveReport) -> str:
    return (
        f"the projection of {what} stopped after {report.iterations} iterations at {100.0 * report.residual:.2g} % "
        "of the volume rates"
    )
