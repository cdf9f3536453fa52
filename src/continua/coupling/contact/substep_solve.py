"""One substep of bodies that may touch: detection of contacts, the solve with them, and detection of missed ones.

V holds the velocities of all bodies of the group, one after the other. After a solve the paths of all points are
checked; where one penetrates something, a contact is added and the bodies concerned are solved again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from continua.collision.colliders import ColliderContacts, ColliderQuery
from continua.contact_solver import EMPTY_ROWS, ConstraintRows, contact_rows, join_rows, solve_contacts
from continua.contact_solver.contact_solution import ContactSolution
from continua.contact_solver.restitution import project_velocities
from continua.contact_solver.semismooth_newton import SemismoothNewton
from continua.coupling.contact.deformable_adapter import DeformableAdapter
from continua.coupling.contact.islands import find_islands, to_local_rows
from continua.coupling.contact.rigid_adapter import RigidInstancesAdapter
from continua.coupling.contact.rigid_surfaces import Poses
from continua.coupling.contact.soft_rigid_detection import SoftRigidDetector, already_separated
from continua.coupling.contact.surface_points import SurfacePoints
from continua.linalg import SolveReport
from continua.numerics.timers import timed
from continua.rigid.coupled_subset import CoupledSubset
from continua.timestepping import (
    ContactResult,
    PartnerMotion,
    SolveResult,
    StepRequest,
    VelocityProjection,
    VelocitySystem,
    VolumePartner,
    VolumeProjection,
)

if TYPE_CHECKING:
    from continua.coupling.contact.group_driver import GroupDriver

__all__ = ["ContactSubstep"]

PROXIMITY_FRACTION = 0.25
"""Fraction of an element's size within which a node counts as close to a collider from the start. Contacts that are
found later repeat the solve; a wider margin gives nodes that pass a corner planes that they would not touch."""

PENETRATION_TOLERANCE = 1e-3
"""Penetration of a node that is accepted at the end of a substep, as a fraction of an element's size."""

DEEP_FRACTION = 3e-3
"""Penetration from which contacts that move surfaces apart may give way, as a fraction of an element's size."""

MAX_DEPENETRATION = 0.1
"""Fraction of an element's size by which a node that starts inside is moved out in a step."""

VELOCITY_TOLERANCE = 1e-5
"""Accepted error of relative velocities, as a fraction of the speed of the bodies."""

LOOSE_VELOCITY_TOLERANCE = 1e-3
"""The same after some solves, where many contacts change at once."""

REST_WEIGHT = 0.02
"""Weight of the speed that gravity adds in a step in the loose tolerance: bodies at rest get no coarse solutions."""

DEPTH_FACTOR, COLLIDER_TOLERANCE_FACTOR = 2.0, 4.0
"""The loose tolerance is at most what leads this many accepted penetrations too close in the step, a tenth of the
distance that surfaces keep; contacts with colliders, which keep no distance, are more accurate by the second factor."""

REST_TOLERANCE, CHANGE_TOLERANCE, SINGLE_TOLERANCE = 3e-6, 1e-3, 1e-4
"""Error of relative velocities, as a fraction of the speed that gravity adds in a step, and of the change of the
velocities in the step; the last for one body that touches colliders with its nodes alone."""

MAX_DEFORMABLE, RESTING_SPEED, FALLING_SPEED = 4, 0.1, 10.0
"""Piles of more than this many deformable bodies, none of which moves faster than the first speed, in speeds that
gravity adds in a step, are solved by the augmented Lagrangian method: they come to rest more exactly. Bodies that are
slower than the second speed are solved more accurately than those that fall."""

COARSE_FACTOR, MAX_COARSE_ROUNDS = 50.0, 2
"""Tolerance of the solves after which contacts are searched again, in tolerances, and how many of them there are."""

SMALL_ROWS = 1000
"""Rows up to which a single body is solved much more accurately than its solver does."""

SMALL_ACCURACY, SINGLE_ACCURACY, SLOW_ACCURACY, RIGID_ACCURACY = 1e-7, 0.1, 0.03, 1e-2
"""Residual of the linear systems of such a body, of a larger one that touches colliders with its nodes alone, of
soft bodies that touch each other and are slow, and of soft bodies with rigid ones, as a fraction of that of the bodies'
own solvers."""

BALANCE_TOLERANCE, MAX_BALANCES = (1e-4, 1e-5), 4
"""Velocities that internal forces out of balance may cause, as a fraction of the speed that gravity adds in a step and
of the fastest one, and rounds in which bodies are balanced whose solves do not do it (see `VelocitySystem.balance`).
With one round two bars that spin on each other lose 44 % of their angular momentum in 60 steps, with four 2 %."""

MAX_VOLUME_ROUNDS = 3
"""Projections of volumes in which contacts that nodes would violate are added."""

MAX_DETECTION_ROUNDS = 8
"""Rounds in which contacts are added before a step has failed."""

MAX_JOINT_CORRECTIONS = 3
"""Corrections of joints for their rotation in a step."""

RIGID_RTOL = 1e-8
"""Tolerance of linear solves with rigid bodies, which have few rows and much mass."""


class ContactSubstep:
    """The contact solve of a group of bodies in one substep.

    Args:
        driver: The bodies, and the contact forces of the last step.
        time: Time at the start [s].
        dt: Time step [s].
    """

    def __init__(self, driver: GroupDriver, time: float, dt: float) -> None:
        self.driver, self.stepper, self.time, self.dt = driver, driver.stepper, time, dt
        self.soft, self.rigid = driver.soft, driver.rigid
        self.group: list[DeformableAdapter | RigidInstancesAdapter] = [*self.soft]
        if self.rigid is not None:
            self.group.append(self.rigid)
        self.starts = np.cumsum([0] + [body.row_count for body in self.group])
        self.points = SurfacePoints(self.soft, self.starts)
        self.V = np.concatenate([body.velocities for body in self.group])
        self._start_velocities = self.V.copy()
        self.rows: ConstraintRows = EMPTY_ROWS
        self.force = np.zeros((0, 3))  # of every contact, in its frame [N]
        self.found = False
        self._rigid_detector: SoftRigidDetector | None = None
        self._saturated_motors: list[
            tuple[int, float]
        ] = []  # rows of motors at their limit, and their forces
        self._pending: dict[int, SolveResult] = {}
        self.held: dict[int, NDArray[np.bool_]] = {}  # nodes of each body whose motion is prescribed
        self.clear_ends: NDArray[np.float64] | None = None  # velocities whose paths are known to be free
        self._separates = True  # whether surfaces that overlap are moved apart in this substep

    def _slice(self, i: int) -> slice:
        return slice(self.starts[i], self.starts[i + 1])

    def resolve_requests(self, requests: Mapping[int, StepRequest]) -> dict[int, SolveResult]:
        """Resolve requests of some bodies.

        Velocity projections wait until no body requests a solve, and projections of volumes until none requests those.
        """
        without_contacts = {
            i: request
            for i, request in requests.items()
            if isinstance(request, VelocitySystem) and not request.has_contacts
        }
        if without_contacts:
            return {i: SolveResult(request.solve_alone()) for i, request in without_contacts.items()}
        systems = {i: request for i, request in requests.items() if isinstance(request, VelocitySystem)}
        immediate = [i for i, request in systems.items() if request.preliminary]
        if not immediate:
            immediate = [i for i, request in systems.items() if not request.deferred]
        if immediate or any(i not in self._pending for i in systems):
            self._pending = self._solve(systems)
        if systems:
            if not immediate and self.rigid is not None:
                self.rigid.mark_in_flight(self.rows, int(self.starts[len(self.soft)]))
            return {i: self._pending[i] for i in immediate or systems}
        projections = {
            i: request for i, request in requests.items() if isinstance(request, VelocityProjection)
        }
        if projections:
            self._project_velocities(projections)
            return {i: SolveResult(SolveReport(0, 0.0, True)) for i in projections}
        volumes = {i: request for i, request in requests.items() if isinstance(request, VolumeProjection)}
        partners = {i: request for i, request in requests.items() if isinstance(request, VolumePartner)}
        if not volumes:
            return {i: SolveResult(request.solve_alone()) for i, request in partners.items()}
        return dict.fromkeys(requests, SolveResult(self._project_volumes(volumes, partners)))

    # --- detection ----------------------------------------------------------------------------------------

    @timed("contact search")
    def _detect(self) -> None:
        """Detect what is close at the start."""
        self.found = True
        self._queries: list[tuple[int, NDArray[np.int32], ColliderQuery]] = []
        parts = []
        for i, body in enumerate(self.soft):
            nodes, points = body.candidate_nodes
            collide = self.stepper.pair_table.collide[body.number, self.stepper.first_collider :]
            only = np.flatnonzero(collide).tolist()
            if not len(nodes) or not only:
                continue
            query = self.stepper.collider_set.query(points, self.time, self.dt, only)
            self._queries.append((i, nodes, query))
            close = query.find_close(PROXIMITY_FRACTION * body.size + body.radius)
            parts.append(self._collider_rows(i, nodes, close, 0))
        surfaces = self.stepper.surface_contacts
        if self.stepper.restrict_to(self.soft):
            start, end, first = self._paths(self._start_velocities)
            parts.append(
                surfaces.find_close(
                    start, end, self.time, self.dt, first, previous_keys=self.driver.warm_start.keys
                )
            )
        if self.stepper.rigid_surfaces is not None:
            self._detect_rigid(parts)
        self._add(join_rows(parts))

    def _detect_rigid(self, parts: list[ConstraintRows]) -> None:
        """Detect contacts of soft bodies with rigid ones, and of these with each other."""
        rigid_surfaces = self.stepper.rigid_surfaces
        assert rigid_surfaces is not None
        state = rigid_surfaces.system.rigid_state
        first = int(self.starts[len(self.soft)])
        none = np.zeros(0, np.int64)
        self._subset = CoupledSubset(rigid_surfaces.system, none) if self.rigid is None else self.rigid.subset
        row = np.full(len(state.X), -1, np.int64)
        if self.rigid is not None:
            row = self.rigid.rows_of_instances(first)
            parts.append(self.rigid.internal_constraint_rows(first))
        included = (row >= 0) | ~state.is_dynamic
        self._rigid_detector = SoftRigidDetector(
            rigid_surfaces, self.soft, self.points.first.tolist(), row, included, self.dt
        )
        ends, end_poses = self._trial(self._start_velocities)
        parts.append(
            self._rigid_detector.find_close(
                [PROXIMITY_FRACTION * body.size for body in self.soft], ends, end_poses
            )
        )

    def _trial(self, V: NDArray[np.float64]) -> tuple[list[NDArray[np.float64]], Poses]:
        """Return the positions of the soft bodies and the poses of all rigid instances at the end with velocities V."""
        ends = [body.positions_after(V[self._slice(i)], self.dt) for i, body in enumerate(self.soft)]
        X, _, R, _ = self._subset.trial(V[self.starts[len(self.soft)] :].reshape(-1, 6), self.dt)
        return ends, Poses.of(X, R)

    def _paths(
        self, V: NDArray[np.float64]
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], NDArray[np.int64]]:
        """Return the positions of all surfaces at the start, and at the end with velocities V, and their first rows."""
        all_bodies = self.stepper.contact_bodies
        start = [body.positions for body in all_bodies]
        end, first = list(start), np.zeros(len(all_bodies), np.int64)
        for i, body in enumerate(self.soft):
            k = body.index
            end[k], first[k] = body.positions_after(V[self._slice(i)], self.dt), self.points.first[i]
        return start, end, first

    def _collider_rows(
        self, i: int, nodes: NDArray[np.int32], hits: ColliderContacts, again: int
    ) -> ConstraintRows:
        if not len(hits):
            return EMPTY_ROWS
        number, table = self.soft[i].number, self.stepper.pair_table
        other = self.stepper.collider_number(hits.collider.astype(np.int64))
        node = nodes[hits.point].astype(np.int64)
        key = self._node_keys(i, node, other)
        key += np.where(np.isin(key, self.rows.key), again * 2**56, 0)  # another plane of the same pair
        return contact_rows(
            hits.normal,
            hits.position,
            hits.gap - self.soft[i].radius,
            soft_rows=(self.points.first[i] + node)[:, None],
            surface_velocity=hits.surface_velocity,
            friction=table.friction[number, other],
            restitution=table.restitution[number, other],
            key=key,
            a=number,
            b=other,
        )

    def _node_keys(self, i: int, node: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the keys of contacts of nodes of body i with colliders."""
        return (
            self.soft[i].number * len(self.stepper.pair_table.friction) + other.astype(np.int64)
        ) * 2**32 + node

    def _add(self, rows: ConstraintRows) -> None:
        """Add contacts; those of the last step start from their forces."""
        if len(rows):
            self.rows = join_rows([self.rows, self.points.resolve(rows)])
            self.force = np.concatenate([self.force, self.driver.warm_start_forces(rows.key)])

    def _violated_contacts(self, requests: Mapping[int, VelocitySystem]) -> NDArray[np.bool_]:
        """Return which contacts with colliders are violated by the velocities V, shape [c]."""
        rows = self.rows
        violated = (rows.bilateral == 0) & (rows.b >= self.stepper.first_collider)
        if not violated.any():
            return violated
        body = np.searchsorted(self.starts, rows.row[rows.ptr[:-1]], side="right") - 1
        size = np.array([one.size for one in self.group])[body]
        free = np.zeros(len(self.V), np.bool_)
        for i, request in requests.items():
            free[self._slice(i)] = request.fixed == 0
        violated &= np.logical_and.reduceat(free[rows.row], rows.ptr[:-1])
        start = np.minimum(rows.gap, 0.0)
        return violated & (
            rows.gap + self.dt * rows.relative_velocities(self.V)[:, 0] < start - PENETRATION_TOLERANCE * size
        )

    @timed("contact search")
    def _detect_missed(self, requests: Mapping[int, VelocitySystem], round_: int) -> ConstraintRows:
        """Return contacts for points that penetrate something on their paths with V.

        Points whose existing contact is violated are skipped: their positions are not meaningful.
        """
        parts = []
        violated = self.rows.key[self._violated_contacts(requests)] % 2**56
        for i, nodes, query in self._queries:
            if i not in requests:
                continue
            body = self.soft[i]
            _, points = body.candidate_nodes
            v = self.points.extended(self.V)[self.points.first[i] + nodes]
            hits = query.find_crossings(points + self.dt * v, PENETRATION_TOLERANCE * body.size)
            if not len(hits):
                continue
            other = self.stepper.collider_number(hits.collider.astype(np.int64))
            free = self.points.is_free(i, nodes[hits.point], requests[i].fixed)
            free &= ~np.isin(self._node_keys(i, nodes[hits.point], other), violated)
            hits = ColliderContacts(*(column[free] for column in hits))  # type: ignore[arg-type]
            parts.append(self._collider_rows(i, nodes, hits, round_))
        parts.append(self._crossing_rows(round_))
        if self._rigid_detector is not None:
            ends, end_poses = self._trial(self.V)
            held = [
                ~self.points.is_free(i, np.arange(len(body.positions)), requests[i].fixed)
                if i in requests
                else np.ones(len(body.positions), np.bool_)
                for i, body in enumerate(self.soft)
            ]
            depths = [PENETRATION_TOLERANCE * body.size for body in self.soft]
            parts.append(
                self._rigid_detector.find_crossings(
                    ends, end_poses, depths, held, self.points.extended(self.V), self.rows, round_
                )
            )
        new = self.points.resolve(join_rows(parts))
        is_clear = self._rigid_detector is None and not len(new) and self.stepper.surface_contacts.found_none
        self.clear_ends = self.V.copy() if is_clear and not len(violated) else None
        return new

    def _correct_joints(self, requests: Mapping[int, VelocitySystem], round_: int) -> bool:
        """Correct joints for their pose at the end with V, and limit motors; returns whether anything changed."""
        rigid = len(self.soft)  # index of the rigid instances in the group
        if self.rigid is None or rigid not in requests:
            return False
        saturated = self.rigid.saturated_motors(self.rows, self.force)
        if len(saturated):
            given = np.zeros_like(self.V)
            some = self.rows.take(saturated)
            some.apply_transpose(self.force[saturated], given)
            requests[rigid].rhs[:] += requests[rigid].effective_dt * given[self._slice(rigid)]
            self._saturated_motors += list(
                zip(saturated.tolist(), self.force[saturated, 0].tolist(), strict=True)
            )
            self.rows.bilateral[saturated], self.rows.gap[saturated] = 0, 1e30
            self.force[saturated] = 0.0
        fits = round_ > MAX_JOINT_CORRECTIONS or self.rigid.correct_joint_rows(
            self.rows, self.V[self._slice(rigid)]
        )
        return bool(len(saturated)) or not fits

    def _crossing_rows(self, round_: int) -> ConstraintRows:
        """Return contacts for surfaces that cross on their paths with V."""
        surfaces = self.stepper.surface_contacts
        if not self.stepper.restrict_to(self.soft):
            return EMPTY_ROWS
        start, end, first = self._paths(self.V)
        previous = self.driver.warm_start.keys
        crossed, _ = surfaces.find_crossings(start, end, self.time, self.dt, first, previous_keys=previous)
        depth = PENETRATION_TOLERANCE * min(body.size for body in self.soft)
        crossed = crossed.take(~already_separated(crossed, self.rows, self.V, self.dt, depth))
        if not len(crossed):
            return EMPTY_ROWS
        # and of pairs that will be too close
        near = surfaces.find_close(start, end, self.time, self.dt, first, previous_keys=previous)
        near = near.take(~np.isin(near.key, self.rows.key) & ~np.isin(near.key, crossed.key))
        crossed.key = crossed.key + np.where(np.isin(crossed.key, self.rows.key), round_, 0)
        return join_rows([near, crossed])

    # --- solve ----------------------------------------------------------------------------------------

    def _solve(self, requests: dict[int, VelocitySystem]) -> dict[int, SolveResult]:
        """Solve the systems of all requests, those of bodies in contact together."""
        if not self.found:
            self._detect()
        self.held |= {i: request.fixed != 0 for i, request in requests.items()}
        reports: dict[int, SolveReport] = {}
        contacts: dict[int, ContactResult] = {}
        todo, before = set(requests), -1
        self._newton: dict[tuple[int, ...], SemismoothNewton] = {}
        failure, warning = "", ""
        coarse: set[int] = (
            set()
        )  # bodies of islands whose solution is only good enough to search for more contacts
        for round_ in range(1, MAX_DETECTION_ROUNDS + 2):
            islands = find_islands(self.rows, self.starts, sorted(requests))
            error, unbalanced = 0.0, set()
            for bodies, which in islands:
                if not todo & set(bodies):
                    continue
                coarse -= set(bodies)
                if self._solve_without_contact(requests, bodies, which, reports):
                    continue
                fine = round_ > MAX_COARSE_ROUNDS or len(self.rows) == before
                solution = self._solve_island(requests, bodies, which, contacts, fine)
                if solution.coarse:
                    coarse |= set(bodies)
                error = max(error, solution.error)
                if round_ <= MAX_BALANCES:
                    unbalanced |= self._balance(requests, bodies)
                for i in bodies:
                    reports[i] = _add_reports(reports.get(i), solution.report)
                if not solution.converged and solution.report.residual >= 0.0:
                    warning = (
                        f"contact forces did not converge in {solution.solves} solves "
                        f"(error {solution.error:.1e} m/s)"
                    )
            if any(not r.residual >= 0.0 for r in reports.values()):
                break
            if self._is_late and contacts:
                if warning or coarse:
                    warning = (
                        f"the contact solve stopped at its budget of {self.stepper.contact.budget_ms:g} ms, at an "
                        f"error of {error:.1e} m/s; the next step continues from it"
                    )
                break
            new = self._detect_missed(requests, round_)
            joints_changed = self._correct_joints(requests, round_)
            if not len(new) and not joints_changed and not coarse and not unbalanced:
                if self._violated_contacts(requests).any():
                    failure = "contacts could not prevent penetration"
                break
            if round_ > MAX_DETECTION_ROUNDS:
                failure = "contacts could not prevent penetration"
                break
            before = len(self.rows)
            self._add(new)
            body = np.searchsorted(self.starts, self.rows.row[self.rows.ptr[before] :], side="right") - 1
            todo = set(body.tolist()) | coarse | unbalanced | ({len(self.soft)} if joints_changed else set())
        if failure and self.driver.has_fail_safe:
            failure, warning = (
                "",
                warning or f"contacts were still missed after {MAX_DETECTION_ROUNDS} solves",
            )
        if warning:
            reports = {i: _with_warning(r, warning) if i in contacts else r for i, r in reports.items()}
        return {i: SolveResult(reports[i], contacts.get(i), failure) for i in requests}

    def _balance(self, requests: Mapping[int, VelocitySystem], bodies: Sequence[int]) -> set[int]:
        """Balance the internal forces of bodies after a solve with contacts; return those to solve again."""
        fastest = float(np.abs(self._start_velocities).max(initial=0.0))
        accepted = BALANCE_TOLERANCE[0] * self.stepper.gravity_speed(self.dt) + BALANCE_TOLERANCE[1] * fastest
        unbalanced = set()
        for i in bodies:
            balance = requests[i].balance
            if balance is None or requests[i].is_balanced:
                continue
            if balance() > accepted + 1e-6 * self.group[i].size / self.dt:
                unbalanced.add(i)
        return unbalanced

    def _solve_without_contact(
        self,
        requests: Mapping[int, VelocitySystem],
        bodies: Sequence[int],
        which: NDArray[np.int64],
        reports: dict[int, SolveReport],
    ) -> bool:
        """Solve each body by itself if no contact is active; returns whether none is active afterwards."""
        if len(which):
            for i in bodies:
                self._store_velocity(i, requests[i])
            if self.force[which].any() or self._any_active(which):
                return False
        for i in bodies:
            reports[i] = _add_reports(reports.get(i), requests[i].solve_alone())
            self._store_velocity(i, requests[i])
        return not (len(which) and self._any_active(which))

    def _any_active(self, which: NDArray[np.int64]) -> bool:
        """Return whether one of the contacts closes with V, or is bilateral."""
        rows = self.rows.take(which)
        if rows.bilateral.any():
            return True
        return bool((rows.gap + self.dt * rows.relative_velocities(self.V)[:, 0] < 0.0).any())

    def _store_velocity(self, i: int, request: VelocitySystem) -> None:
        self.V[self._slice(i)] = request.velocities

    def _solve_island(
        self,
        requests: Mapping[int, VelocitySystem],
        bodies: Sequence[int],
        which: NDArray[np.int64],
        contacts: dict[int, ContactResult],
        fine: bool,
    ) -> ContactSolution:
        """Solve the bodies of an island with the contacts `which`; `fine` unless more are to be searched anyway."""
        systems = [requests[i] for i in bodies]
        rows = to_local_rows(self.rows, which, self.starts, bodies, self.V)
        effective_dt = max(s.effective_dt for s in systems)
        size = np.array([self.group[i].size for i in bodies]).min()
        bound = np.maximum(rows.gap / self.dt, -MAX_DEPENETRATION * size / self.dt)
        single = len(bodies) == 1 and bool((np.diff(rows.ptr) == 1).all())
        has_rigid = len(self.soft) in bodies
        initial = effective_dt * self.force[which]
        if not self._separates:
            bound = np.maximum(bound, 0.0)
        for s in systems:
            s.is_balanced = False
        solution, spent = None, 0
        is_pile = sum(i < len(self.soft) for i in bodies) > MAX_DEFORMABLE and not self._moves(RESTING_SPEED)
        if not (is_pile or rows.bilateral.any()):  # rigid bodies in joints need many rounds
            solution = self._solve_newton(systems, bodies, rows, bound, initial, size, single, fine)
            spent = solution.report.iterations
            if not (solution.converged or self._is_late) and (bound < -self._tolerance(size)).any():
                # contacts that move overlapping surfaces apart may contradict each other: then they only stop them
                bound, self._separates = np.maximum(bound, 0.0), False
                solution = self._solve_newton(systems, bodies, rows, bound, initial, size, single, fine)
                spent += solution.report.iterations
        if solution is None or not (solution.converged or self._is_late):
            solution = self._solve_velocities(systems, bodies, rows, bound, initial, size, single)
            spent += solution.report.iterations
            for s in systems:
                s.invalidate_solver()
        solution.report = replace(solution.report, iterations=spent)
        self.force[which] = solution.impulse / effective_dt
        rest = rows.restitution > 0.0
        needs_projection = bool(rest.any()) or any(s.effective_dt != self.dt for s in systems)
        total = np.zeros((sum(len(s.rhs) for s in systems), 3))
        rows.apply_transpose(solution.impulse, total)
        first = 0
        for i, s in zip(bodies, systems, strict=True):
            own = slice(first, first + len(s.rhs))
            first = own.stop
            body = self.group[i]
            active = (solution.impulse[:, 0] > 0.0) & ((rows.a == body.number) | (rows.b == body.number))
            if (has_rigid or not single) and not s.is_balanced:
                body.restore_momentum(s, (s.effective_dt / effective_dt) * total[own])
            self._store_velocity(i, s)
            contacts[i] = ContactResult(
                (s.effective_dt / effective_dt) * total[own], int(active.sum()), needs_projection
            )
        return solution

    def _moves(self, speed: float) -> bool:
        """Return whether bodies are faster than a speed in speeds that gravity adds in a step."""
        fastest = float(np.abs(self._start_velocities).max(initial=0.0))
        return fastest > speed * self.stepper.gravity_speed(self.dt)

    def _solve_newton(
        self,
        systems: Sequence[VelocitySystem],
        bodies: Sequence[int],
        rows: ConstraintRows,
        bound: NDArray[np.float64],
        initial: NDArray[np.float64],
        size: float,
        single: bool,
        fine: bool,
    ) -> ContactSolution:
        """Solve an island by the semismooth Newton method; `fine` unless contacts are searched again anyway."""
        key = tuple(bodies)
        if key not in self._newton:
            self._newton[key] = SemismoothNewton(systems)
        small = sum(len(s.rhs) for s in systems) <= SMALL_ROWS
        is_slow = len(bodies) > 1 and not self._moves(FALLING_SPEED)
        accuracy, relative = SLOW_ACCURACY if is_slow else 1.0, CHANGE_TOLERANCE
        if len(self.soft) in bodies:
            accuracy = RIGID_ACCURACY
        elif single:
            accuracy, relative = (SMALL_ACCURACY, 0.0) if small else (SINGLE_ACCURACY, SINGLE_TOLERANCE)
        return self._newton[key].solve(
            rows,
            bound,
            initial,
            self._tolerance(size),
            relative_tolerance=relative,
            start=np.concatenate(
                [
                    s.unknowns(self._start_velocities[self._slice(i)])
                    for i, s in zip(bodies, systems, strict=True)
                ]
            ),
            accuracy=accuracy,
            coarse_factor=1.0 if fine else COARSE_FACTOR,
            give_way=rows.b < self.stepper.first_collider,
            restore=not single,
            deep_speed=DEEP_FRACTION * size / self.dt,
            most_inward=np.where(
                (rows.b >= self.stepper.first_collider) & (rows.bilateral == 0),
                PENETRATION_TOLERANCE * size / self.dt,
                np.inf,
            ),
            deadline=self.driver.deadline,
        )

    @property
    def _is_late(self) -> bool:
        """Whether the time for the contact solves of this step is over."""
        return perf_counter() >= self.driver.deadline

    def _tolerance(self, size: float) -> float:
        """Return the error of relative velocities that is accepted of bodies at rest [m/s]."""
        return REST_TOLERANCE * self.stepper.gravity_speed(self.dt) + 3e-8 * size / self.dt

    def _solve_velocities(
        self,
        systems: Sequence[VelocitySystem],
        bodies: Sequence[int],
        rows: ConstraintRows,
        bound: NDArray[np.float64],
        initial: NDArray[np.float64],
        size: float,
        single: bool,
    ) -> ContactSolution:
        """Solve an island by the augmented Lagrangian method, with all bodies in one matrix.

        It is slower than Newton's method, but it minimises a function, and so converges where that does not.
        """
        has_rigid = len(self.soft) in bodies
        gravity_speed = self.stepper.gravity_speed(self.dt)
        fastest = float(np.abs(self._start_velocities).max(initial=0.0))
        speed = (10.0 if single or has_rigid else 0.2) * gravity_speed + fastest + 1e-6 * size / self.dt
        if has_rigid:
            return solve_contacts(
                systems,
                rows,
                bound,
                initial,
                VELOCITY_TOLERANCE * speed,
                rtol=RIGID_RTOL,
                inexact=True,
                deadline=self.driver.deadline,
            )
        moving = REST_WEIGHT * gravity_speed + fastest
        loose = min(LOOSE_VELOCITY_TOLERANCE * moving, DEPTH_FACTOR * PENETRATION_TOLERANCE * size / self.dt)
        row_scale = np.where(rows.b >= self.stepper.first_collider, COLLIDER_TOLERANCE_FACTOR, 1.0)
        return solve_contacts(
            systems,
            rows,
            bound,
            initial,
            VELOCITY_TOLERANCE * speed,
            loose,
            row_tolerance_scale=row_scale,
            deadline=self.driver.deadline,
        )

    # --- end of the substep ----------------------------------------------------------------------------------------

    def _project_velocities(self, requests: Mapping[int, VelocityProjection]) -> None:
        """Project the velocities at the end of the step onto the contacts, with restitution."""
        which = np.flatnonzero((self.force[:, 0] > 0.0) & (self.rows.bilateral == 0))
        rows = self.rows.take(which)
        end = self.V.copy()
        inverse = np.zeros((len(end), 9))
        for i, request in requests.items():
            end[self._slice(i)] = request.velocities
            inverse[self._slice(i)] = request.inverse_mass
        approach = rows.relative_velocities(self._start_velocities)[:, 0]
        rest_speed = 2.0 * self.stepper.gravity_speed(self.dt)
        target = np.where(approach < -rest_speed, -rows.restitution * approach, 0.0)
        project_velocities(rows, target, inverse, end)
        for i, request in requests.items():
            request.velocities[:] = end[self._slice(i)]

    @timed("volumes")
    def _project_volumes(
        self, requests: Mapping[int, VolumeProjection], partners: Mapping[int, VolumePartner]
    ) -> SolveReport:
        """Project velocities of incompressible bodies; active contacts keep their normal velocities.

        Contacts that the moved nodes would violate join the active ones. Partners move too; other bodies are held.
        """
        numbers = list(requests)
        first = requests[numbers[0]]
        start = self.V.copy()
        for i, request in requests.items():
            start[self._slice(i)] = request.velocities
        moves, starts = first.moves, [int(self.starts[i]) for i in numbers]
        own = np.zeros(len(self.V), np.bool_)
        for i in numbers:
            own[self._slice(i)] = True
        moving = PartnerMotion(np.zeros((len(self.V), 9)), np.zeros_like(self.V)) if partners else None
        for i, partner in partners.items():
            own[self._slice(i)] = True
            start[self._slice(i)] = partner.start()
            assert moving is not None
            moving.inverse_mass[self._slice(i)] = partner.inverse_mass()
        rows = self.rows
        takes_part = np.zeros(len(rows), np.bool_)
        if len(rows):
            takes_part = np.logical_or.reduceat(own[rows.row], rows.ptr[:-1])
        active = takes_part & ((self.force[:, 0] > 0.0) | (rows.bilateral > 0))
        for _ in range(MAX_VOLUME_ROUNDS):
            V = start.copy()
            report = first.project(list(requests.values()), starts, V, rows.take(active), moving)
            if not moves:
                break
            closing = rows.gap + self.dt * rows.relative_velocities(V)[:, 0] < np.minimum(rows.gap, 0.0)
            new = takes_part & ~active & closing
            if not new.any():
                break
            active |= new
        for i, request in requests.items():
            request.velocities[:] = V[self._slice(i)]
            if moves:
                self.V[self._slice(i)] = V[self._slice(i)]
        for i, partner in partners.items():
            assert moving is not None
            partner.velocities = V[self._slice(i)].copy()
            partner.change = moving.change[self._slice(i)].copy()
            if moves:
                self.V[self._slice(i)] = V[self._slice(i)]
        return report

    def finish(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]:
        """Pass the contact forces to all bodies; return keys, forces and participants of the contacts, by keys."""
        rows = self.rows
        total = np.zeros_like(self.V)
        rows.apply_transpose(self.force, total)
        gap = np.where(rows.bilateral == 0, rows.gap + self.dt * rows.relative_velocities(self.V)[:, 0], 0.0)
        for i, body in enumerate(self.soft):
            mine = (rows.a == body.number) | (rows.b == body.number)
            depth = max(0.0, -float(gap[mine].min(initial=0.0)))
            body.accumulate_contact(total[self._slice(i)], depth, self.dt)
        if self.rigid is not None:
            for number, value in self._saturated_motors:
                self.force[number, 0] = value
            self.rigid.accumulate_contact(rows, self.force, int(self.starts[len(self.soft)]), self.V, self.dt)
        keep = self.force.any(axis=1)
        order = np.flatnonzero(keep)[np.argsort(self.rows.key[keep], kind="stable")]
        return self.rows.key[order], self.force[order], self._participants()[order]

    def _participants(self) -> NDArray[np.int32]:
        """Return the two bodies of every contact, and its node if its key is that of a single node; see `WarmStart`."""
        rows = self.rows
        if not len(rows.row):
            return np.column_stack([rows.a, rows.b, np.full(len(rows), -1, np.int32)])
        first = rows.row[np.minimum(rows.ptr[:-1], len(rows.row) - 1)]  # the rows of nodes come first
        body = np.searchsorted(self.starts, first, side="right") - 1
        node = first - self.starts[body]
        single = (body < len(self.soft)) & (rows.key >= 0) & (rows.key % 2**32 == node)
        return np.column_stack([rows.a, rows.b, np.where(single, node, -1)]).astype(np.int32)


def _add_reports(one: SolveReport | None, other: SolveReport) -> SolveReport:
    if one is None:
        return other
    warnings = one.warnings + tuple(s for s in other.warnings if s not in one.warnings)
    return SolveReport(one.iterations + other.iterations, other.residual, other.converged, warnings=warnings)


def _with_warning(report: SolveReport, warning: str) -> SolveReport:
    return SolveReport(
        report.iterations, report.residual, report.converged, warnings=(*report.warnings, warning)
    )
