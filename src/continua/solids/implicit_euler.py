"""One implicit step of an elastic body: linearised backward Euler in velocities.

With x+ = x + dt v+ and the elastic force linearised at x, f(x+) = f(x) + dt K v+, the step solves

    (M + dt C + dt^2 K) v+ = M v + dt (f_ext - f(x)),     C = alpha M + beta K,

which is Weber's equation (2015) for v+ instead of the change of velocity. One linear solve a step.

With more than one Newton iteration the force is linearised again at x_k = x + dt v_k, which adds dt^2 K_k v_k to
the right-hand side, until the velocities settle: then the step is true implicit Euler, f(x+) and all.

The frozen rotations make the elastic force exert a small torque on the moved body, and an inexact solve a small
force. For a body that nothing holds, both are taken out again: a rigid motion is added so that momentum and angular
momentum change by the external force and torque alone, as they do in nature. See docs/theory/corotational.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from continua.contact import ContactSet
from continua.contact.kernels import apply_contacts, contact_impulses
from continua.linalg import BlockMatrix, LinearSolver, SolveReport
from continua.solids import mass_kernels
from continua.solids.constraints import Held
from continua.solids.elements import Elements, System
from continua.solids.handles import Pull

__all__ = ["ImplicitEuler", "StepInput"]


@dataclass(frozen=True)
class StepInput:
    """What one step acts on: time step [s], damping, external force [N], constraints, pulls, contacts.

    `newton` is the largest number of Newton iterations, which end when no node moves by more than `settled` [m].
    """

    dt: float
    alpha: float
    beta: float
    force: NDArray[np.float64]
    held: Held
    follows_rotation: bool
    pulls: tuple[Pull, ...]
    contacts: ContactSet
    slip: float
    newton: int = 1
    settled: float = 0.0


class ImplicitEuler:
    """Owns the system matrix and the work vectors of a body's implicit step."""

    def __init__(self, elements: Elements, solver: LinearSolver) -> None:
        n = elements.node_count
        self.elements = elements
        self.solver = solver
        self.matrix = BlockMatrix(elements.pattern)
        self._rhs = np.zeros((n, 3))
        self._load = np.zeros((n, 3))
        self._work = np.zeros((n, 3))
        self._impulse = np.zeros((n, 3))
        self.solved = np.zeros((n, 3))
        self.newton_iterations = 0
        self._dt = 1.0
        solver.setup(self.matrix)

    def solve(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        previous: NDArray[np.float64],
        mass: NDArray[np.float64],
        node_mass: NDArray[np.float64],
        step: StepInput,
    ) -> SolveReport:
        """Fill `solved` with the velocities after the step; x and v stay as they are."""
        dt = self._dt = step.dt
        np.multiply(step.force, dt, out=self._load)
        self._extrapolate(v, previous, smooth=not len(step.contacts))
        step.held.impose(self.solved)
        total = 0
        for iteration in range(step.newton):
            self._linearise(x, v, mass, step, first=iteration == 0)
            self.solver.update(self.matrix, step.held.fixed, step.held.projections)
            before = self.solved.copy() if step.newton > 1 else self.solved
            report = self.solver.solve(self._rhs, self.solved, self._load)
            total += report.iterations
            # a residual that is not a number ends it as well
            if not report.residual >= 0.0 or (
                step.newton > 1 and dt * np.abs(self.solved - before).max() <= step.settled
            ):
                break
        self.newton_iterations = iteration + 1
        if not step.held.any:
            self._keep_momentum(x, v, mass, node_mass, step)
        return replace(report, iterations=total)

    def reactions(self) -> NDArray[np.float64]:
        """Return the force [N] that held the nodes in the last step, shape [n, 3]: what A v+ = rhs lacks."""
        return (self.matrix.multiply(self.solved) - self._rhs) / self._dt

    def _extrapolate(self, v: NDArray[np.float64], previous: NDArray[np.float64], smooth: bool) -> None:
        """Start the solve from the last velocities: a parabola through three of them, or a line where things hit."""
        if smooth:
            np.subtract(v, previous[0], out=self.solved)
            self.solved *= 3.0
            self.solved += previous[1]
        else:
            np.multiply(v, 2.0, out=self.solved)
            self.solved -= previous[0]

    def _linearise(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        mass: NDArray[np.float64],
        step: StepInput,
        first: bool,
    ) -> None:
        """Fill the matrix and the right-hand side, linearised at x or, later, where the last solve led."""
        dt, c_mass = step.dt, 1.0 + step.dt * step.alpha
        if first:
            at = x
        else:
            at = self._work
            np.multiply(self.solved, dt, out=at)
            at += x
        self.elements.update(at)
        self.elements.assemble(
            System(
                matrix=self.matrix,
                rhs=self._rhs,
                mass=mass,
                c_mass=c_mass,
                c_stiffness=dt * (dt + step.beta),
                dt=dt,
                velocities=v,
                load=self._load,
            )
        )
        if not first:
            p = self.elements.pattern
            self.matrix.multiply(self.solved, self._impulse)  # c_mass M v + dt (dt + beta) K v
            mass_kernels.mass_times.pick(p.parallel)(p.indptr, p.indices, mass, self.solved, self._work)
            self._impulse -= c_mass * self._work
            self._impulse *= dt / (dt + step.beta)
            self._rhs += self._impulse
        for pull in step.pulls:
            self._add_pull(pull, x, dt)
        if len(step.contacts):
            c = step.contacts
            apply_contacts(
                c.nodes, c.normals, c.gaps, c.stiffness, c.damping, c.friction, v, dt, step.slip,
                self.elements.pattern.diagonal, self.matrix.blocks, self._rhs,
            )  # fmt: skip

    def _add_pull(self, pull: Pull, x: NDArray[np.float64], dt: float) -> None:
        """Add a spring to the matrix and the right-hand side; its nodes share an element."""
        p = self.elements.pattern
        offset = pull.target - pull.weights @ x[pull.nodes]
        for a, wa in zip(pull.nodes, pull.weights, strict=True):
            self._rhs[a] += dt * pull.stiffness * wa * offset
            row = p.indices[p.indptr[a] : p.indptr[a + 1]]
            for b, wb in zip(pull.nodes, pull.weights, strict=True):
                k = p.indptr[a] + np.searchsorted(row, b)
                self.matrix.blocks[k, ::4] += dt * dt * pull.stiffness * wa * wb

    def _keep_momentum(
        self,
        x: NDArray[np.float64],
        v: NDArray[np.float64],
        mass: NDArray[np.float64],
        node_mass: NDArray[np.float64],
        step: StepInput,
    ) -> None:
        """Add the rigid motion that leaves the elastic forces without net force and torque."""
        p = self.elements.pattern
        times = mass_kernels.mass_times.pick(p.parallel)
        gain = 1.0 + step.dt * step.alpha
        np.multiply(self.solved, gain, out=self._work)
        self._work -= v
        times(p.indptr, p.indices, mass, self._work, self._impulse)
        self._impulse -= self._load
        for pull in step.pulls:
            offset = pull.target - pull.weights @ (x[pull.nodes] + step.dt * self.solved[pull.nodes])
            self._impulse[pull.nodes] -= step.dt * pull.stiffness * np.outer(pull.weights, offset)
        if len(step.contacts):
            c = step.contacts
            self._work[:] = 0.0
            contact_impulses(
                c.nodes, c.normals, c.gaps, c.stiffness, c.damping, c.friction, v, self.solved, step.dt,
                step.slip, self._work,
            )  # fmt: skip
            self._impulse -= self._work
        times(p.indptr, p.indices, mass, x, self._work)
        velocity, spin, center = mass_kernels.rigid_correction(x, node_mass, self._work, self._impulse)
        self.solved += velocity / gain
        if step.follows_rotation:
            self.solved += np.cross(spin / gain, x - center)
