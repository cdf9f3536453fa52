"""A body of elastic matter: the mesh, the material, what holds it and what pulls it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.contact import NO_CONTACTS, ContactSet
from continua.errors import DivergedError, InputError
from continua.frames import BodyFields, BodyFrame, Field, StepReport, frozen
from continua.linalg import PCG, LinearSolver
from continua.mesh import HexMesh, PlaneMesh, TetMesh, VolumeMesh
from continua.solids import mass_kernels
from continua.solids.attachments import Attachments
from continua.solids.bezier import BezierTets
from continua.solids.elements import Elements, LinearTets
from continua.solids.fields import FieldProbe, State
from continua.solids.hyperelastic import HyperelasticTets
from continua.solids.implicit_euler import ImplicitEuler, StepInput
from continua.solids.laws import Corotated, Hyperelastic, Law, Linear
from continua.solids.materials import Materials
from continua.solids.quadrature import NodalElements, QuadratureTets
from continua.solids.selection import Where
from continua.solids.statics import SettleReport, find_equilibrium
from continua.solids.surface import BodySurface
from continua.surroundings import Surroundings, as_vector

__all__ = ["SoftBody"]


def _checked_damping(damping: ArrayLike) -> tuple[float, float]:
    pair = np.asarray(damping, dtype=np.float64)
    if pair.shape != (2,) or not np.isfinite(pair).all() or (pair < 0.0).any():
        raise InputError(
            f"damping must be two numbers of at least 0 (alpha [1/s], beta [s]), not {damping!r}"
        )
    return float(pair[0]), float(pair[1])


def _make_elements(mesh: VolumeMesh, order: int, law: Law) -> Elements:
    """Return the elements that suit the mesh, the order and the law."""
    if not isinstance(mesh, TetMesh | HexMesh | PlaneMesh):
        raise InputError(
            f"a soft body needs a TetMesh, a HexMesh, a TriMesh or a QuadMesh, not {type(mesh).__name__}; "
            "continua.mesh.tetrahedralize turns a closed surface into tetrahedra"
        )
    orders = (1, 2, 3) if isinstance(mesh, TetMesh) else (1,)
    if order not in orders:
        has = "the orders 1, 2 and 3" if len(orders) > 1 else "order 1 only"
        raise InputError(f"a mesh of {mesh.NAME} has {has}, not {order!r}")
    if not isinstance(mesh, TetMesh):
        return NodalElements(mesh)
    if isinstance(law, Linear | Corotated):
        return LinearTets(mesh) if order == 1 else BezierTets(mesh, order)
    if isinstance(law, Hyperelastic) and order == 1:
        return HyperelasticTets(mesh)
    return QuadratureTets(mesh, order)


class SoftBody(Attachments):
    """An elastic body.

    Args:
        mesh: The body at rest: tetrahedra, hexahedra, or plane triangles or quads (plane strain).
        material: The law and its constants.
        parts: Parts of other constants, as pairs of a selection of elements (a function of their centres, a mask,
            numbers, or the name of a region) and a material of the same law; later ones win where they overlap.
        order: Polynomial degree of the elements: 1, and for tetrahedra 2 or 3.
        name: Name in the world; without one a world takes the name of the caller's variable.
        mass: "consistent" (exact integrals, the default) or "lumped" (all mass at the nodes).
        damping: Rayleigh damping (alpha [1/s], beta [s]): C = alpha M + beta K. Alpha brakes all motion like
            a medium around the body, beta brakes deformation only.
        newton: Most Newton iterations a step. One, the default, is linearised implicit Euler; more iterations
            solve the step's nonlinear equations, which very soft or fast bodies of a hyperelastic law need.
        solver: The linear solver; None takes conjugate gradients.
        color: RGB in 0..1 for plain pictures.
    """

    def __init__(
        self,
        mesh: VolumeMesh,
        *,
        material: Law | None = None,
        parts: Sequence[tuple[Where, Law]] = (),
        order: int = 1,
        name: str | None = None,
        mass: str = "consistent",
        damping: ArrayLike = (0.0, 0.0),
        newton: int = 1,
        solver: LinearSolver | None = None,
        color: tuple[float, float, float] | None = None,
    ) -> None:
        if mass not in ("consistent", "lumped"):
            raise InputError(f"mass must be 'consistent' or 'lumped', not {mass!r}")
        if newton < 1:
            raise InputError(f"newton must be at least 1, not {newton}")
        self.newton = int(newton)
        self.name = name or ""
        self.color = color
        self.mesh = mesh
        self._lumped = mass == "lumped"
        law = material if material is not None else Corotated()
        self._elements = _make_elements(mesh, order, law)
        self._damping = _checked_damping(damping)
        self._x = self._elements.rest_positions.copy()
        self._v = np.zeros_like(self._x)
        self._v_before = np.zeros((2, *self._x.shape))  # of the last two steps, to start solves from
        self._initial_v = np.zeros_like(self._x)
        self._next = np.zeros_like(self._x)
        self._force = np.zeros_like(self._x)
        self._surroundings = Surroundings()
        self._surface = BodySurface(self._elements)
        self._probe = FieldProbe(self._elements)
        self._size = float(np.linalg.norm(np.ptp(self.rest_positions, axis=0)))
        self._attach_nothing(self._size)
        mean_volume = mesh.volume / mesh.element_count
        self._element_size = (6.0 * np.sqrt(2.0) * mean_volume) ** (1.0 / 3.0) / order
        self._materials = Materials(mesh, law, parts, self.name)
        self._density: NDArray[np.float64] | None = None
        self._take_materials()
        self.integrator = ImplicitEuler(self._elements, solver if solver is not None else PCG())

    # --- what it is -------------------------------------------------------------------------------------

    @property
    def material(self) -> Law:
        """The material; change it with `set_material`."""
        return self._materials.law

    @property
    def damping(self) -> tuple[float, float]:
        """Rayleigh damping (alpha [1/s], beta [s])."""
        return self._damping

    @property
    def order(self) -> int:
        """Polynomial degree of the elements."""
        return self._elements.order

    @property
    def solver(self) -> LinearSolver:
        """The linear solver; `print(body.solver)` tells how it does."""
        return self.integrator.solver

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self._elements.node_count

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return self._elements.element_count

    @property
    def mass_total(self) -> float:
        """Mass [kg]."""
        return float(self._node_mass.sum())

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """Node positions of the undeformed body [m], shape [n, 3]."""
        return self._elements.rest_positions

    @property
    def positions(self) -> NDArray[np.float64]:
        """Node positions [m], shape [n, 3]; a copy."""
        return self._elements.values(self._x).copy()

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Node velocities [m/s], shape [n, 3]; a copy."""
        return self._elements.values(self._v).copy()

    @property
    def triangles(self) -> NDArray[np.int32]:
        """The outer surface over the nodes, outward oriented, shape [k, 3]."""
        return self._surface.triangles

    def set_material(
        self, *, damping: ArrayLike | None = None, part: int | None = None, **constants: Any
    ) -> None:
        """Change constants of the law while the simulation runs; what is not given stays as it is.

        Args:
            damping: Rayleigh damping (alpha [1/s], beta [s]).
            part: The part whose constants change (0 is the first); None means the rest of the body.
            **constants: What the law has: `young` [Pa], `poisson`, `density` [kg/m3], and for a muscle `activation`.
        """
        if damping is not None:
            self._damping = _checked_damping(damping)
        changes = {key: value for key, value in constants.items() if value is not None}
        if changes or part is not None:
            self._materials.change(changes, part)
            self._take_materials()

    def set_velocity(self, velocity: ArrayLike = (0, 0, 0), angular_velocity: ArrayLike = (0, 0, 0)) -> None:
        """Start as a rigid motion: velocity [m/s] of the centre of mass and angular velocity [rad/s] about it."""
        v = as_vector(velocity, "velocity")
        w = as_vector(angular_velocity, "angular_velocity")
        center = self._node_mass @ self._x / self._node_mass.sum()
        self._v[:] = v + np.cross(w, self._x - center)
        self._v_before[:] = self._v
        self._initial_v[:] = self._v

    # --- the body in a world ------------------------------------------------------------------------------

    def prepare(self, surroundings: Surroundings) -> None:
        """Enter a world: gravity, wind and time come from `surroundings` from now on."""
        self._surroundings = surroundings

    def contact_surface(self) -> dict[str, Any]:
        """Return what a contact search needs to know of the surface (see `contact.find_contacts`)."""
        nodes = self._surface.nodes
        return {
            "nodes": nodes,
            "positions": self._x[nodes],
            "velocities": self._v[nodes],
            "areas": self._surface.areas,
            "masses": self._node_mass[nodes],
            "stiffness": self._contact_stiffness,
        }

    def step(self, dt: float, contacts: ContactSet = NO_CONTACTS) -> StepReport:
        """Advance by `dt` [s]; on failure raise DivergedError and stay at the last good state."""
        if not (isfinite(dt) and dt > 0.0):
            raise InputError(f"dt must be greater than 0 s, not {dt}")
        start = perf_counter()
        around = self._surroundings
        held = self._held
        self._reactions = None
        held.place(
            self._constraints, around.time, around.time + dt, self.rest_positions, self._x, dt, self.name
        )
        self._collect_forces(self._x, self._v, self._force)
        step = StepInput(
            dt=dt,
            alpha=self._damping[0],
            beta=self._damping[1],
            force=self._force,
            held=held,
            follows_rotation=self.material.follows_rotation,
            pulls=tuple(self._pulls),
            contacts=contacts,
            slip=0.01 * float(np.linalg.norm(around.gravity)) * dt + 1e-6 * self._size / dt,
            newton=self.newton,
            settled=1e-5 * self._element_size,
        )
        solve = self.integrator.solve(self._x, self._v, self._v_before, self._mass, self._node_mass, step)
        solved = self.integrator.solved
        if not solve.residual >= 0.0 or not mass_kernels.advance(
            self._x, self._v, self._v_before, solved, dt, self._next
        ):
            raise DivergedError(
                f"body '{self.name}' diverged in step {around.step + 1} at t = {around.time:g} s "
                f"(dt = {dt:g} s); try a smaller dt, more damping or a finer mesh",
                body=self.name,
                step=around.step + 1,
            )
        self._reactions = self.integrator.reactions
        warnings = []
        if not solve.converged:
            warnings.append(
                f"the linear solver stopped after {solve.iterations} iterations at a residual of {solve.residual:.1e}"
            )
        inverted = self._elements.inverted
        if inverted:
            warnings.append(f"{inverted} of {self.element_count} elements are inverted")
        return StepReport(
            body=self.name,
            step=around.step + 1,
            time=around.time + dt,
            dt=dt,
            newton=self.integrator.newton_iterations,
            iterations=solve.iterations,
            residual=solve.residual,
            converged=solve.converged,
            inverted=inverted,
            contacts=len(contacts),
            seconds=perf_counter() - start,
            warnings=tuple(warnings),
        )

    def settle(self, rtol: float = 1e-6, max_newton: int = 200) -> SettleReport:
        """Go to the static equilibrium under gravity, wind and pushes, and rest there.

        Where it leads from a far-off state may not be where the moving body would come to rest; for a body that
        hangs from rest it is. Raises DivergedError, and changes nothing, if no equilibrium is found.

        Args:
            rtol: Unbalanced force to reach, relative to the largest load of a node.
            max_newton: Newton iterations after which to give up.
        """
        around = self._surroundings
        x = self._x.copy()
        held = self._held
        self._reactions = None
        held.place(self._constraints, around.time, around.time, self.rest_positions, x, 1.0, self.name)
        if not held.any:
            raise InputError(
                f"body '{self.name}' has no equilibrium, because nothing holds it; pin it somewhere"
            )
        if self._pulls:
            raise InputError(f"body '{self.name}' cannot settle while it is pulled; remove the pulls first")
        displacement = np.zeros_like(x)
        held.impose(displacement)
        x += displacement
        v, self._v = self._v, np.zeros_like(self._v)  # the wind presses on a body at rest
        self._collect_forces(x, self._v, self._force)
        loose = held.loose(self._force)
        if loose is not None:
            self._v = v
            along = ", ".join(f"{c:.3g}" for c in np.abs(loose))
            raise InputError(
                f"body '{self.name}' has no equilibrium, because nothing holds it along ({along}), "
                "where the loads move it; pin or lock it there"
            )
        matrix, solver = self.integrator.matrix, self.integrator.solver
        unbalanced = np.zeros_like(x)
        report = find_equilibrium(
            self._elements, solver, matrix, x, self._force, held, self._mass, rtol, max_newton, unbalanced
        )
        if not report.converged:
            self._v = v
            raise DivergedError(
                f"body '{self.name}' found no equilibrium in {report.newton} Newton iterations (unbalanced force "
                f"{report.residual:.1e} of the load); let it swing out with damping instead",
                body=self.name,
                step=around.step,
            )
        self._x[:] = x
        self._v_before[:] = 0.0
        self._reactions = lambda: -unbalanced
        return report

    def energy(self) -> dict[str, float]:
        """Return kinetic, elastic and gravitational energy [J]; the last is zero at rest."""
        self._elements.update(self._x)
        return self._energy()

    def von_mises(self) -> NDArray[np.float64]:
        """Return the von Mises stress at the nodes [Pa], shape [n]."""
        self._elements.update(self._x)
        return self._elements.von_mises()

    def field(self, name: str) -> Field:
        """Return what goes on inside the elements now: one of `solids.FIELDS`, such as "stress" or "stretch"."""
        return self._probe.field(name, self._probe_state())

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot; `fields` are those of `solids.FIELDS` that files shall have as well."""
        self._elements.update(self._x)
        rest = self._elements.rest_positions
        positions = frozen(self._elements.values(self._x))
        at_hand = {
            "displacement": Field(frozen(positions - rest), "m"),
            "velocity": Field(frozen(self._elements.values(self._v)), "m/s"),
            "von_mises": Field(frozen(self._elements.von_mises()), "Pa"),
        }
        return BodyFrame(
            name=self.name,
            kind="soft",
            positions=positions,
            rest_positions=rest,
            cells=MappingProxyType(self._elements.cells()),
            triangles=self._surface.triangles,
            fields=BodyFields(at_hand, self._probe.askable(self._probe_state()), fields),
            color=self.color,
            energy=MappingProxyType(self._energy()),
        )

    def state(self) -> dict[str, NDArray[np.float64]]:
        """Return everything that a bit-equal restart needs."""
        return {
            "positions": self._x.copy(),
            "velocities": self._v.copy(),
            "velocities_before": self._v_before.copy(),
        }

    def restore(self, state: Mapping[str, NDArray]) -> None:
        """Take over a state from `state()`."""
        targets = {"positions": self._x, "velocities": self._v, "velocities_before": self._v_before}
        for key, target in targets.items():
            if key not in state:
                raise InputError(f"the state of body '{self.name}' lacks '{key}'")
            if np.shape(state[key]) != target.shape:
                raise InputError(
                    f"the state of body '{self.name}' has {key} of shape {np.shape(state[key])}, "
                    f"but the body has {target.shape}"
                )
        for key, target in targets.items():
            target[:] = state[key]
        self._reactions = None

    def reset(self) -> None:
        """Go back to rest, with the velocity given by `set_velocity`; pulls by hand are let go."""
        self._x[:] = self._elements.rest_positions
        self._v[:] = self._initial_v
        self._v_before[:] = self._initial_v
        self._reactions = None

    def __repr__(self) -> str:
        return (
            f"SoftBody({self.name!r}, {self.element_count} {self.mesh.NAME} of order {self.order}, "
            f"{self.node_count} nodes, {self.material!r})"
        )

    # --- inside -------------------------------------------------------------------------------------------

    def _probe_state(self) -> State:
        plastic = getattr(self._elements, "plastic", None)
        constants, law = self._materials.constants, self._materials.law
        return State(self._x.copy(), law, constants, None if plastic is None else plastic.copy())

    def _take_materials(self) -> None:
        """Give the elements their constants; a change of density makes the mass anew."""
        materials = self._materials
        self._elements.set_law(materials.law, materials.constants)
        self._contact_stiffness = 20.0 * materials.young / self._element_size
        if self._density is None or (self._density != materials.density).any():
            self._density = materials.density
            self._mass = self._elements.mass(materials.density, self._lumped)
            self._node_mass = np.add.reduceat(self._mass, self._elements.pattern.indptr[:-1])

    def _energy(self) -> dict[str, float]:
        p = self._elements.pattern
        momentum = np.empty_like(self._v)
        mass_kernels.mass_times.pick(p.parallel)(p.indptr, p.indices, self._mass, self._v, momentum)
        fall = self._x - self._elements.rest_positions
        return {
            "kinetic": 0.5 * float(np.vdot(self._v, momentum)),
            "elastic": self._elements.energy(),
            "gravity": -float(self._node_mass @ (fall @ self._surroundings.gravity)),
        }
