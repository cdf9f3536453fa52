"""The body of springs: ropes, nets, hair, sheets and lattices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.contact_solver.contact_body import ContactSurface
from continua.deformable.boundary_surface import BoundarySurface
from continua.deformable.damping import Damper, RotatedDamping, split_damping
from continua.deformable.integrators import ImplicitEuler, Integrator, Newmark, Stepper
from continua.errors import InputError
from continua.frames import BodyFields, BodyFrame, ContactForces, Field, readonly_copy
from continua.linalg import LinearSolver
from continua.mesh import SurfaceMesh, VolumeMesh
from continua.springs.explicit_methods import (
    ForwardEuler,
    RungeKutta2,
    RungeKutta4,
    SymplecticEuler,
    Verlet,
)
from continua.springs.network import SpringNetwork, network_of
from continua.springs.network_body import NetworkBody
from continua.springs.particles import node_masses, open_surface
from continua.springs.spring_elements import SpringDamper, SpringElements
from continua.springs.tearing import remaining_cells
from continua.validation import array, choice, instances_of, number, numbers

__all__ = ["SPRING_INTEGRATORS", "Springs"]

SPRING_INTEGRATORS: dict[str, type[Integrator]] = {
    kind.name: kind
    for kind in (ForwardEuler, SymplecticEuler, Verlet, RungeKutta2, RungeKutta4, ImplicitEuler, Newmark)
}
"""The integrators of springs by name."""

NEWTON = 20
"""Newton iterations of implicit integrators, at most: springs that turn and volumes are far from linear in a step."""


@dataclass(frozen=True)
class SpringLaw:
    """The constants of all springs together, in the place of the material of other bodies."""

    bending: float = 0.0
    volume_stiffness: float = 0.0
    young: float = 0.0
    is_rotation_invariant = True
    constant_stiffness = False
    rounding_amplification = 1.0


class SpringMaterials:
    """Stiffness, damping and present rest length of every spring, as `ElementMaterials` has those of elements."""

    parts: tuple[()] = ()

    def __init__(self, law: SpringLaw, constants: NDArray[np.float64]) -> None:
        self.law, self.constants = law, constants
        self.density = np.ones(len(constants))
        self.has_zero_stiffness = False


def _of_springs(value: Any, what: str, count: int, *, unit: str) -> NDArray[np.float64]:
    """Return a value for each spring, given one for all or one for each."""
    given = numbers(value)
    if given is None or given.ndim == 0:
        return np.full(count, number(value, what, low=0.0, unit=unit))
    values = array(value, f"{what}, one number or one for each spring,", (count,))
    if (values < 0.0).any():
        raise InputError(
            f"{what} must be at least 0, and that of spring {int(np.argmin(values))} is {values.min():g}"
        )
    return values.copy()


class Springs(NetworkBody):
    """Masses joined by springs, damped along their direction.

    Stiffness is a property of the springs and not of matter: a finer network of the same springs is softer. For ropes a
    spring of length l has the stiffness EA/l.

    Args:
        network: What joins which points: a network such as `springs.line(...)`, `springs.sheet(...)` or
            `springs.lattice(...)`; a mesh, whose edges become springs; or points [n, 3] with `springs`.
        springs: The two nodes of each spring, shape [m, 2], instead of those of the network.
        stiffness: Stiffness of the springs [N/m], one number or one for each.
        spring_damping: Damping along the springs [N s/m], one number or one for each.
        rest_lengths: Rest lengths [m], one for each spring; by default the distances of the points.
        mass: Mass [kg] of the body, shared by volume, area or length; or of each node, shape [n].
        bending: Bending stiffness: EI of ropes [N m2], D of sheets [N m].
        volume_stiffness: Resistance of tetrahedra to a change of volume [Pa], like a bulk modulus; it turns inverted
            ones back.
        yield_strain: Strain of a spring from which it lengthens or shortens for good; None is elastic.
        creep: Rate [1/s] at which the strain beyond `yield_strain` goes over into the rest length; None is at once.
        tear_strain: Strain at which a spring tears; None never. A body that can tear touches others with its nodes.
        damping: Rayleigh damping (alpha [1/s], beta [s]), besides that of the springs.
        radius: Radius of ropes, half the thickness of sheets [m]: contacts keep this distance, and the wind acts on it.
        integrator: Its name or an object: "implicit_euler" (the default), "newmark", "forward_euler",
            "symplectic_euler", "verlet", "rk2" or "rk4". The explicit ones take stable substeps.
        newton: Maximum number of Newton iterations per step of an implicit integrator given by name; 20 by default.
        solver: The linear solver of implicit integrators, see `SoftBody`.
        name: Name in the world.
        friction: Coulomb's coefficient of its contacts; None takes the world's.
        restitution: Coefficient of restitution; None takes the world's.
        color: RGB in 0..1 for plain pictures.
    """

    def __init__(
        self,
        network: SpringNetwork | VolumeMesh | SurfaceMesh | ArrayLike,
        springs: ArrayLike | None = None,
        *,
        stiffness: ArrayLike = 1000.0,
        spring_damping: ArrayLike = 0.0,
        rest_lengths: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        bending: float = 0.0,
        volume_stiffness: float = 0.0,
        yield_strain: float | None = None,
        creep: float | None = None,
        tear_strain: float | None = None,
        damping: ArrayLike = (0.0, 0.0),
        radius: float | None = None,
        integrator: Integrator | str = "implicit_euler",
        newton: int | None = None,
        solver: LinearSolver | str | None = None,
        name: str | None = None,
        friction: float | None = None,
        restitution: float | None = None,
        color: tuple[float, float, float] | None = None,
    ) -> None:
        if isinstance(integrator, str):
            kind = SPRING_INTEGRATORS[choice(integrator, "the integrator of springs", SPRING_INTEGRATORS)]
            if kind in (ImplicitEuler, Newmark):
                integrator = kind(newton=NEWTON if newton is None else newton)
                newton = None
            else:
                integrator = kind()
        self._set_options(name, friction, restitution, color, integrator, newton)
        self.network = network_of(network, springs)
        self.mesh = self.network  # type: ignore[assignment]
        m = self.network.element_count
        if not m:
            raise InputError(f"the body '{self.name}' has no springs; give it some")
        masses = node_masses(self.network, mass, self.name)
        elements = SpringElements(self.network, masses)
        self._elements = elements
        if rest_lengths is not None:
            elements.rest_lengths[:] = _of_springs(rest_lengths, "the rest lengths of springs", m, unit="m")
        self._lengths = elements.rest_lengths.copy()
        self._torn = np.zeros(m, np.uint8)
        self._plastic = yield_strain is not None or tear_strain is not None
        self.yield_strain = None if yield_strain is None else number(yield_strain, "yield_strain", low=0.0)
        self.creep = None if creep is None else number(creep, "creep", above=0.0, unit="1/s")
        self.tear_strain = None if tear_strain is None else number(tear_strain, "tear_strain", above=0.0)
        if creep is not None and yield_strain is None:
            raise InputError("creep is the rate of flow beyond a yield_strain; give one")
        self._stiffness = _of_springs(stiffness, "the stiffness of springs", m, unit="N/m")
        self._spring_damping = _of_springs(spring_damping, "the damping of springs", m, unit="N s/m")
        self._surface = BoundarySurface(elements)
        sizes = elements.rest_lengths[elements.rest_lengths > 0.0]
        self._element_size = float(np.median(sizes)) if len(sizes) else 1.0
        self.radius = (
            0.1 * self._element_size
            if radius is None
            else number(radius, "the radius of springs", above=0.0, unit="m")
        )
        self._cells_of_version: tuple[int, dict[str, NDArray], NDArray] | None = None
        law = SpringLaw(
            number(bending, "the bending stiffness of springs", low=0.0),
            number(volume_stiffness, "the volume_stiffness of springs", low=0.0, unit="Pa"),
        )
        self._start(SpringMaterials(law, self._constants()), solver, damping)  # type: ignore[arg-type]
        self._materials.young = float(self._stiffness.mean()) / self._element_size

    # --- properties -------------------------------------------------------------------------------------

    @property
    def springs(self) -> NDArray[np.int32]:
        """The two nodes of each spring, shape [m, 2]; a read-only copy."""
        return readonly_copy(self.network.springs)

    @property
    def stiffness(self) -> NDArray[np.float64]:
        """Stiffness of each spring [N/m], shape [m]; a read-only copy. Change it with `set_material`."""
        return readonly_copy(self._stiffness)

    @property
    def spring_damping(self) -> NDArray[np.float64]:
        """Damping along each spring [N s/m], shape [m]; a read-only copy."""
        return readonly_copy(self._spring_damping)

    @property
    def rest_lengths(self) -> NDArray[np.float64]:
        """Present rest length of each spring [m], shape [m]; a read-only copy."""
        return readonly_copy(self._lengths)

    @property
    def torn(self) -> NDArray[np.int32]:
        """Numbers of the springs that are torn."""
        return np.flatnonzero(self._torn).astype(np.int32)

    @property
    def bending(self) -> float:
        """Bending stiffness: EI of ropes [N m2], D of sheets [N m]."""
        return float(self._law.bending)

    @property
    def volume_stiffness(self) -> float:
        """Resistance of tetrahedra to a change of volume [Pa]."""
        return float(self._law.volume_stiffness)

    @property
    def tension(self) -> NDArray[np.float64]:
        """Elastic tension of each spring [N], shape [m]; negative where it is compressed."""
        return self._springs.tension(self._x)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was remarkable when the network was made, one sentence each."""
        return self.network.notes

    @property
    def topology_version(self) -> int:
        """Number of torn springs: what is joined changes with each."""
        return int(self._torn.sum())

    @property
    def pull_stiffness(self) -> float:
        """Default spring constant of a pull [N/m]: that of the springs, and enough to lift the body."""
        return max(float(self._stiffness.mean()), 100.0 * float(self._node_mass.sum()))

    @property
    def contact_nodes(self) -> NDArray[np.int32]:
        """The nodes that colliders can touch, shape [k]: those on a closed surface, else all."""
        if self.network.closed and self.tear_strain is None:
            return self._surface.nodes
        return np.arange(self.node_count, dtype=np.int32)

    def summary(self) -> dict[str, int | str]:
        """Return the numbers of springs and nodes, for reports."""
        return {"springs": self.element_count, "nodes": self.node_count}

    def geometry_bytes(self) -> bytes:
        """Return the network as bytes; a run may only be resumed with the same."""
        return self.network.points.tobytes() + self.network.springs.tobytes() + self.network.tets.tobytes()

    def set_material(  # type: ignore[override]
        self,
        *,
        stiffness: ArrayLike | None = None,
        spring_damping: ArrayLike | None = None,
        bending: float | None = None,
        volume_stiffness: float | None = None,
        damping: ArrayLike | None = None,
    ) -> None:
        """Change constants while the simulation runs; the others keep their values. See the class."""
        m = self.element_count
        if damping is not None:
            split_damping(damping)
        k = None if stiffness is None else _of_springs(stiffness, "the stiffness of springs", m, unit="N/m")
        c = (
            None
            if spring_damping is None
            else _of_springs(spring_damping, "the damping of springs", m, unit="N s/m")
        )
        law = self._law
        if bending is not None:
            law = replace(law, bending=number(bending, "the bending stiffness of springs", low=0.0))
        if volume_stiffness is not None:
            law = replace(
                law,
                volume_stiffness=number(
                    volume_stiffness, "the volume_stiffness of springs", low=0.0, unit="Pa"
                ),
            )
        self._stiffness = self._stiffness if k is None else k
        self._spring_damping = self._spring_damping if c is None else c
        self._materials.law = law  # type: ignore[assignment]
        if damping is not None:
            self._set_damping(damping)
        self._constants_changed()

    # --- the body in a world ------------------------------------------------------------------------------

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot."""
        instances_of(fields, str, "the fields of a frame", "a name")
        self._elements.update(self._x)
        rest = self._read_only("rest positions", self._elements.rest_positions)
        positions = readonly_copy(self._x)
        tension = np.full(self.node_count, -np.inf)
        own = self.tension
        for a in range(2):
            np.maximum.at(tension, self.network.springs[:, a], own)
        tension[np.isinf(tension)] = 0.0
        computed = {
            "displacement": Field(readonly_copy(positions - rest), "m"),
            "velocity": Field(readonly_copy(self._v), "m/s"),
            "tension": Field(readonly_copy(tension), "N"),
            "contact_force": Field(readonly_copy(self._contact_force), "N"),
        }
        version = self.topology_version
        if self._cells_of_version is None or self._cells_of_version[0] != version:
            cells, triangles = remaining_cells(self.network, self._torn)
            self._cells_of_version = version, cells, triangles
        _, cells, triangles = self._cells_of_version
        return BodyFrame(
            name=self.name,
            kind="springs",
            positions=positions,
            rest_positions=rest,
            cells=MappingProxyType(cells),
            triangles=triangles,
            fields=BodyFields(computed),
            color=self.color,
            energy=MappingProxyType(self._energy()),
            point_radius=None if len(self.network.triangles) else self.radius,
            contacts=ContactForces.at_nodes(positions, self._contact_force),
            topology_version=version,
        )

    def __repr__(self) -> str:
        return f"Springs({self.name!r}, {self.element_count} springs, {self.node_count} nodes)"

    # --- internals -------------------------------------------------------------------------------------------

    @property
    def _springs(self) -> SpringElements:
        assert isinstance(self._elements, SpringElements)
        return self._elements

    @property
    def _law(self) -> SpringLaw:
        law: Any = self._materials.law
        assert isinstance(law, SpringLaw)
        return law

    def _constants(self) -> NDArray[np.float64]:
        whole = self._torn == 0
        return np.stack([self._stiffness * whole, self._spring_damping * whole, self._lengths], axis=1)

    def _constants_changed(self) -> None:
        """Pass stiffness, damping and rest lengths to the elements and the integrator."""
        self._materials.constants = self._constants()
        self._stepper.damper = self._damper_now()
        self._update_materials()

    def _damper_now(self) -> Damper | None:
        """Return the damper along the springs, or None if none is damped."""
        if not self._spring_damping.any():
            return None
        if self._damper is None:
            self._damper = SpringDamper(self._springs)
        return self._damper

    def _set_damping(self, damping: ArrayLike | RotatedDamping) -> None:
        if isinstance(damping, RotatedDamping):
            raise InputError(
                "springs are damped along their direction by 'spring_damping', not by a RotatedDamping"
            )
        self._damping, self._damping_time = split_damping(damping)
        self._stepper.damper = self._damper_now()

    def _make_stepper(self, elements: Any, solver: LinearSolver) -> Stepper:
        stepper = super()._make_stepper(elements, solver)
        if getattr(self, "_stepper", None) is not None:  # a change of the integrator
            stepper.damper = self._damper_now()
        return stepper

    def _contact_surface(self) -> ContactSurface:
        if self.network.closed and self.tear_strain is None:
            return super()._contact_surface()
        return open_surface(self.network, self.radius, self.tear_strain is None)

    def _advance_material(self, dt: float) -> None:
        """Let springs flow and tear after a substep of `dt` [s]."""
        if not self._plastic:
            return
        edge = self._x[self.network.springs[:, 1]] - self._x[self.network.springs[:, 0]]
        length = np.linalg.norm(edge, axis=1)
        rest = np.maximum(self._lengths, 1e-12 * self._element_size)
        changed = False
        if self.tear_strain is not None:
            tears = (length > (1.0 + self.tear_strain) * rest) & (self._torn == 0)
            if tears.any():
                self._torn[tears] = 1
                changed = True
        if self.yield_strain is not None:
            strain = length / rest - 1.0
            beyond = np.sign(strain) * np.maximum(np.abs(strain) - self.yield_strain, 0.0)
            beyond[self._torn == 1] = 0.0
            if beyond.any():
                # at the new rest length r the strain length/r - 1 is at the limit
                goal = np.where(
                    strain > 0.0,
                    length / (1.0 + self.yield_strain),
                    length / max(1.0 - self.yield_strain, 1e-3),
                )
                part = 1.0 if self.creep is None else -np.expm1(-self.creep * dt)
                flows = beyond != 0.0
                self._lengths[flows] += part * (goal - self._lengths)[flows]
                changed = True
        if changed:
            self._constants_changed()

    def _state_arrays(self) -> dict[str, NDArray]:
        return super()._state_arrays() | {"rest_lengths": self._lengths, "torn": self._torn}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`; boundary conditions stay attached."""
        before = self._lengths.copy(), self._torn.copy()
        super().restore(state)
        if (before[0] != self._lengths).any() or (before[1] != self._torn).any():
            kept = {key: array.copy() for key, array in self._stepper.history.items()}
            self._constants_changed()  # discards what an integrator knows of the material
            for key, values in kept.items():
                self._stepper.history[key][:] = values

    def _return_to_initial(self) -> None:
        self._lengths[:] = self._springs.rest_lengths
        self._torn[:] = 0
        self._constants_changed()
