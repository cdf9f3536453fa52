"""Static equilibrium of soft bodies that lean on each other, without friction.

All bodies go down one potential, the sum of theirs, by Newton's method: every direction solves the bodies' systems
together, with contacts as constraints gap + n.d >= 0 on the displacements d. Pairs that d would lead through each other
become constraints, and the direction is found again; the line search then goes along it (see `solids.statics`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from continua.contact import BodySystem, ContactRows, Obstacles, SurfaceContacts, join_rows, solve_contacts
from continua.coupling.members import SoftMember
from continua.errors import DivergedError
from continua.linalg import PCG, SolveReport
from continua.solids import StaticReport
from continua.solids.line_search import line_search
from continua.solids.statics import StaticPotential, static_potential

__all__ = ["settle_together"]

_ROUNDS = 12  # times that pairs are added to a direction
_RTOL = 1e-9  # of the linear solver
_CLOSED = 1e-6  # part of an element's size that a contact may be open or too close in the end


class _Lands:
    """The landscapes of several bodies side by side."""

    def __init__(self, lands: Sequence[StaticPotential], starts: NDArray[np.int64]) -> None:
        self.lands, self._starts = lands, starts
        self.conservative = all(land.conservative for land in lands)
        self.rhs = np.zeros((int(starts[-1]), 3))

    def parts(self, u: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the rows of each body."""
        return [u[a:b] for a, b in zip(self._starts[:-1], self._starts[1:], strict=True)]

    def potential(self, u: NDArray[np.float64]) -> float:
        """Go to u and return the potential there [J]."""
        return sum(land.potential(own) for land, own in zip(self.lands, self.parts(u), strict=True))

    def linearise(self, u: NDArray[np.float64]) -> None:
        """Fill matrices and `rhs` at the u of the last `potential`."""
        for land, own, rhs in zip(self.lands, self.parts(u), self.parts(self.rhs), strict=True):
            land.linearise(own)
            rhs[:] = land.rhs


class _Resting:
    """Newton's method for bodies that lean on each other."""

    def __init__(
        self,
        members: Sequence[SoftMember],
        search: SurfaceContacts,
        obstacles: Callable[[int], Obstacles | None],
    ) -> None:
        self.members, self._search = members, search
        self.starts = np.cumsum([0] + [m.row_count for m in members])
        self._time = members[0].body._surroundings.time
        self.size = min(m.size for m in members)
        made = [static_potential(m.body, obstacles(m.number)) for m in members]
        self._lean = [lean for _, lean, _ in made]
        self.land = _Lands([land for land, _, _ in made], self.starts)
        self.x = np.concatenate([x for _, _, x in made])
        self._forces: dict[int, float] = {}
        self.newton = self.iterations = self.contacts = 0
        self.residual, self._move = np.inf, 0.0

    def run(self, rtol: float, most: int) -> bool:
        """Go to the equilibrium; returns whether it was found."""
        land, x = self.land, self.x
        for one, lean in zip(land.lands, self._lean, strict=True):
            one.slack = lean
        potential = land.potential(x)
        load = max(float(np.abs(one.force).max()) for one in land.lands)
        for _ in range(most):
            land.linearise(x)
            free = [
                m.body._dirichlet.project_free(r)
                for m, r in zip(self.members, land.parts(land.rhs), strict=True)
            ]
            self.residual = max(float(np.abs(f).max()) for f in free) / max(load, 1e-300)
            rows = self._near(x)
            if self.residual <= rtol and self._in_place(rows):
                return True
            self.newton += 1
            before = [one.push.copy() for one in land.lands]
            direction = self._direction(x, rows)
            if direction is None:
                return False
            for one, old, own in zip(land.lands, before, land.parts(x), strict=True):
                potential -= float(np.vdot(one.push - old, own))
            self._move = float(np.abs(direction).max())
            fall = float(np.vdot(land.rhs, direction))
            if not (fall > 0.0 and np.isfinite(fall)):
                return False
            length, potential = line_search(land, x, direction, potential, fall)
            if length == 0.0:
                return False
            for one, lean in zip(land.lands, self._lean, strict=True):
                one.slack = max(one.slack * (0.1 if length == 1.0 else 2.0), 0.02 * lean)
        return False

    def _near(self, x: NDArray[np.float64]) -> ContactRows:
        """Return contacts of what is near at x."""
        parts = []
        places = self.land.parts(x)
        for one, own, start in zip(self.land.lands, places, self.starts, strict=False):
            rows = one.touching(own)
            if rows is not None and len(rows):
                rows.row += int(start)
                rows.key += int(start) * 2**33
                parts.append(rows)
        found = self._search.find(places, places, self._time, 1.0, self.starts[:-1])
        return _smooth(join_rows([*parts, found]))

    def _direction(self, x: NDArray[np.float64], rows: ContactRows) -> NDArray[np.float64] | None:
        """Return Newton's direction with contacts as constraints; the landscapes get their forces."""
        land, places = self.land, self.land.parts(x)
        bare = [one.rhs - one.push for one in land.lands]
        tolerance = max(1e-3 * self._move, 1e-11 * self.size) if self._move else 1e-4 * self.size
        for _ in range(_ROUNDS):
            systems = [
                BodySystem(
                    one.matrix,
                    rhs,
                    np.zeros_like(rhs),
                    rhs,
                    m.body._dirichlet.fixed,
                    m.body._dirichlet.projections,
                    PCG(),
                    _none,
                )
                for one, rhs, m in zip(land.lands, bare, self.members, strict=True)
            ]
            push = np.zeros((len(rows), 3))
            push[:, 0] = [self._forces.get(key, 0.0) for key in rows.key.tolist()]
            found = solve_contacts(systems, rows, rows.gap, push, tolerance, rtol=_RTOL)
            self.iterations += found.report.iterations
            if not found.report.residual >= 0.0:
                return None
            pressing = found.impulse[:, 0] > 0.0
            self._forces = dict(
                zip(rows.key[pressing].tolist(), found.impulse[pressing, 0].tolist(), strict=True)
            )
            ends = [own + s.x for own, s in zip(places, systems, strict=True)]
            crossed, _ = self._search.crossings(places, ends, self._time, 1.0, self.starts[:-1])
            crossed = crossed.take(~np.isin(crossed.key, rows.key))
            if not len(crossed):
                break
            rows = join_rows([rows, _smooth(crossed)])
        self.contacts = int(pressing.sum())
        total = np.zeros_like(x)
        rows.spread(found.impulse, total)
        for one, rhs, own, out in zip(land.lands, bare, land.parts(total), land.parts(land.rhs), strict=True):
            one.push[:] = own
            np.add(rhs, own, out=one.rhs)
            out[:] = one.rhs
        return np.concatenate([s.x for s in systems])

    def _in_place(self, rows: ContactRows) -> bool:
        """Return whether the contacts that press are closed and nothing is too close."""
        if not len(rows):
            return not self._forces
        force = np.array([self._forces.get(key, 0.0) for key in rows.key.tolist()])
        off = np.maximum(-rows.gap, np.where(force > 0.0, rows.gap, 0.0))
        return len(self._forces) == int((force > 0.0).sum()) and float(off.max()) <= _CLOSED * self.size


def settle_together(
    members: Sequence[SoftMember],
    search: SurfaceContacts,
    obstacles: Callable[[int], Obstacles | None],
    rtol: float,
    most: int,
) -> dict[int, StaticReport]:
    """Put soft bodies that touch each other at their common equilibrium; returns reports by their numbers.

    Args:
        members: The bodies, in the order of the search.
        search: Finds contacts of their surfaces.
        obstacles: Returns what the body of a number can touch besides.
        rtol: Unbalanced force to reach, relative to the largest load of a node.
        most: Newton iterations after which to give up.
    """
    rest = _Resting(members, search, obstacles)
    if not rest.run(rtol, most):
        names = ", ".join(f"'{m.body.name}'" for m in members)
        raise DivergedError(
            f"bodies {names} found no common equilibrium in {rest.newton} Newton iterations (unbalanced force "
            f"{rest.residual:.1e} of the load); let them swing out with damping instead",
            step=members[0].body._surroundings.step,
        )
    reports = {}
    for member, land, own in zip(members, rest.land.lands, rest.land.parts(rest.x), strict=True):
        body = member.body
        body._x[:] = own
        body._v[:] = 0.0
        body._stepper.restart(body._v)
        body.set_contact_forces(land.push.copy())
        reports[member.number] = StaticReport(
            True, rest.newton, rest.iterations, rest.residual, 1, rest.contacts
        )
    return reports


def _smooth(rows: ContactRows) -> ContactRows:
    rows.friction = np.zeros(len(rows))
    return rows


def _none() -> SolveReport:
    raise AssertionError("contacts are solved for")
