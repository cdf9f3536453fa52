"""A small deformable body for tests of contact: particles with springs and a surface, known by the protocol alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from continua.contact_solver import ContactSurface
from continua.errors import DivergedError, InputError
from continua.frames import StepReport
from continua.linalg import PCG, BlockMatrix
from continua.timestepping import SubstepError, VelocitySystem


class ParticleBody:
    """Particles held in shape by linear springs along the edges of a surface; implements `ContactBody`.

    The springs resist differences of the displacements of their ends, so the force is linear and exact.

    Args:
        name: Name.
        points: Positions at rest [m], shape [n, 3].
        triangles: The surface, shape [k, 3].
        mass: Of a particle [kg].
        stiffness: Of a spring [N/m].
        damping: Of all motion [1/s].
        pinned: Particles that stay where they are.
        gravity: Acceleration [m/s2].
        two_sided: Whether the surface is two-sided.
        thickness: Its thickness [m].
    """

    friction = restitution = None

    def __init__(
        self, name, points, triangles, *, mass=0.01, stiffness=0.0, damping=0.0, pinned=(),
        gravity=(0.0, 0.0, 0.0), two_sided=False, thickness=0.0,
    ):  # fmt: skip
        self.name, self.rest = name, np.array(points, float)
        self.positions, self.velocities = self.rest.copy(), np.zeros_like(self.rest)
        self.row_count = len(self.rest)
        self.surface = ContactSurface(self.rest, np.asarray(triangles, np.int32), two_sided, thickness)
        self.contact_nodes = np.unique(triangles).astype(np.int32)
        self.mass, self.damping, self.gravity = mass, damping, np.array(gravity, float)
        self.fixed = np.zeros(self.row_count, np.uint8)
        self.fixed[list(pinned)] = 1
        ends = np.unique(
            np.sort(np.asarray(triangles)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0
        )
        self.size = float(np.linalg.norm(self.rest[ends[:, 0]] - self.rest[ends[:, 1]], axis=1).mean())
        count = len(ends)
        difference = sparse.coo_array(
            (np.repeat([1.0, -1.0], count), (np.tile(np.arange(count), 2), ends.T.ravel())),
            (count, self.row_count),
        )
        self.stiffness = stiffness * (difference.T @ difference)
        self.contact_forces = np.zeros_like(self.rest)

    def contact_body(self):
        return self

    def positions_after(self, V, dt):
        return self.positions + dt * V

    def begin_step(self, dt):
        return _ParticleStep(self)

    def snapshot(self):
        return self.positions.copy(), self.velocities.copy()

    def rollback(self, snapshot):
        self.positions, self.velocities = (array.copy() for array in snapshot)

    def set_contact_forces(self, force):
        self.contact_forces = force

    def settle(self, rtol, max_newton, steps, obstacles):
        raise InputError(f"'{self.name}' has no static equilibrium; let it come to rest in steps")

    def static_problem(self, obstacles):
        return self.settle(0.0, 0, None, obstacles)

    def energy(self):
        away = self.positions - self.rest
        return (
            0.5 * self.mass * (self.velocities**2).sum()
            + 0.5 * np.vdot(away, self.stiffness @ away)
            - self.mass * (self.positions @ self.gravity).sum()
        )


class _ParticleStep:
    """An implicit Euler step."""

    min_substeps, may_subdivide = 1, True

    def __init__(self, body):
        self.body = body
        self.save()

    def substep(self, time, dt):
        b = self.body
        n = b.row_count
        scalar = b.mass * (1.0 + dt * b.damping) * sparse.eye_array(n) + dt * dt * b.stiffness
        matrix = BlockMatrix.from_scipy(sparse.kron(scalar, sparse.eye_array(3)))
        rhs = b.mass * b.velocities + dt * (b.mass * b.gravity - b.stiffness @ (b.positions - b.rest))
        x = np.where(b.fixed[:, None] == 1, 0.0, b.velocities)
        solver = PCG(rtol=1e-10)
        solver.setup(matrix)

        def solve_alone():
            solver.update(matrix, b.fixed)
            return solver.solve(rhs, x)

        result = yield VelocitySystem(
            matrix, rhs, x, rhs, b.fixed, None, solver, solve_alone, effective_dt=dt
        )
        if result.failure or not result.report.residual >= 0.0 or not np.isfinite(x).all():
            raise SubstepError(result.failure or "not finite")
        b.velocities = x.copy()
        b.positions = b.positions + dt * x

    def save(self):
        self._saved = self.body.snapshot()

    def restore(self):
        self.body.rollback(self._saved)

    def report(self, dt, substeps, min_substeps, reason, seconds):
        return StepReport(body=self.body.name, step=0, time=0.0, dt=dt, substeps=substeps, seconds=seconds)

    def diverged(self, dt, substeps, reason):
        return DivergedError(f"{self.body.name}: {reason}", body=self.body.name, step=0)
