"""The world: bodies that are stepped together in time, and the frames that come out."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua.body import Body, name_bodies
from continua.contact_solver import Contact
from continua.coupling import ContactStepper, SphBodyCoupling, couple_grid_fluids
from continua.environment import Environment, Wind
from continua.errors import InputError
from continua.frames import Frame, Sink, StepReport, readonly_copy
from continua.geometry import Shape
from continua.grid_fluids import GridFluid
from continua.numerics.timers import Stopwatch
from continua.rigid import RigidInstances, RigidSystem
from continua.rigid.joints import Joint, Motor
from continua.solids import FIELDS, SoftBody, StaticReport
from continua.sph import Fluid, FluidSystem
from continua.validation import isfinite, vector3

__all__ = ["World"]

_AT_ONCE = 1e-9  # times that differ by less [s] are the same
Progress = Callable[["World", tuple[StepReport, ...]], None]


class World:
    """Bodies, gravity, wind and fixed shapes, advanced together in time.

    Args:
        bodies: The bodies. One without a name takes the name of the variable that holds it where the world
            is made, so that `frame["beam"]` finds `beam = SoftBody(...)`.
        gravity: Gravity [m/s2]; y is up.
        dt: Longest time step [s].
        colliders: Shapes that bodies can touch, fixed or on a motion of their own.
        contact: How things touch: friction, restitution, thickness, and what holds for single pairs.
        joints: What joins rigid bodies to each other or to the world, from `continua.joints`.
        wind: A wind on all bodies, or None.
        start_at_equilibrium: Whether the bodies start at their static equilibrium instead of their rest shape, also
            after `reset`.
        fields: Fields inside the elements that frames bring into files, any of `solids.FIELDS`.
        name: Name of the world.
    """

    def __init__(
        self,
        bodies: Iterable[Body],
        *,
        gravity: ArrayLike = (0.0, -9.81, 0.0),
        dt: float = 0.01,
        colliders: Sequence[Shape] = (),
        contact: Contact | None = None,
        joints: Sequence[Joint | Motor] = (),
        wind: Wind | None = None,
        start_at_equilibrium: bool = False,
        fields: Sequence[str] = (),
        name: str = "world",
    ) -> None:
        self.bodies: tuple[Body, ...] = tuple(bodies)
        self.soft_bodies = tuple(body for body in self.bodies if isinstance(body, SoftBody))
        self.rigid_bodies = tuple(body for body in self.bodies if isinstance(body, RigidInstances))
        self.grid_fluids = tuple(body for body in self.bodies if isinstance(body, GridFluid))
        self.joints = tuple(joints)
        self.name = name
        self.dt = _positive(dt, "dt")
        self.colliders = tuple(colliders)
        self._temporary_colliders: tuple[Shape, ...] = ()
        self._environment = Environment(vector3(gravity, "gravity"), wind)
        self.fields = _known_fields(fields)
        self._drawn = tuple((shape, shape.description()) for shape in self.colliders)
        self._flow_shapes: list[tuple[Shape, Mapping[str, object]]] = []
        self.contact = Contact() if contact is None else contact
        self.frame_index = 0
        self.reports: tuple[StepReport, ...] = ()
        self._stopwatch = Stopwatch()
        name_bodies(self.bodies, sys._getframe(1))
        for body in self.bodies:
            body.prepare(self._environment)
        self._rigid = self._make_rigid_system()
        self._contact_stepper = self._make_contact_stepper()
        fluids = tuple(body for body in self.bodies if isinstance(body, Fluid))
        self.fluid_system = FluidSystem(fluids, self.colliders, self._environment) if fluids else None
        solid = bool(self.soft_bodies or self.rigid_bodies)
        self._sph_coupling = (
            SphBodyCoupling(self.fluid_system, self.rigid_bodies, self.soft_bodies)
            if self.fluid_system is not None and solid
            else None
        )
        if self.grid_fluids:
            couple_grid_fluids(self.grid_fluids, self.rigid_bodies, self.colliders, self._environment)
        unsupported_kinds = [
            kind for kind, some in (("particle fluids", fluids), ("soft bodies", self.soft_bodies)) if some
        ]
        if self.grid_fluids and unsupported_kinds:
            warnings.warn(
                f"fluids on grids interact with rigid bodies and colliders, but not yet with "
                f"{' and '.join(unsupported_kinds)}",
                stacklevel=2,
            )
        self._events: list[tuple[float, Callable[[World], Any]]] = []
        self._due = 0  # events before this one have happened
        self._pre_step_callbacks: list[Callable[[float], Any]] = []
        self._starts_at_equilibrium = start_at_equilibrium
        if start_at_equilibrium:
            self._start_at_equilibrium()

    def _make_contact_stepper(self) -> ContactStepper:
        """Return the contact stepper of the bodies and colliders."""
        shapes = (*self.colliders, *self._temporary_colliders)
        names = [body.name for body in self.bodies] + [shape.name for shape in shapes]
        participants = [*self.bodies, *shapes]
        soft = [(number, body) for number, body in enumerate(self.bodies) if isinstance(body, SoftBody)]
        return ContactStepper(soft, shapes, self.contact, names, participants, self._environment, self._rigid)

    def _make_rigid_system(self) -> RigidSystem | None:
        """Return the system of rigid bodies, colliders and joints, or None if there are none."""
        if not self.rigid_bodies and not self.joints:
            return None
        shapes = (*self.colliders, *self._temporary_colliders)
        names = [getattr(shape, "name", "") for shape in shapes]
        return RigidSystem(self.rigid_bodies, shapes, self.contact, self._environment, self.joints, names)

    def add_temporary_collider(self, shape: Shape) -> Callable[[], None]:
        """Let soft and rigid bodies touch another shape until the function that is returned is called.

        It is a tool for hands, not a part of the world: fluids do not feel it, frames and states do not have it.
        """
        self._temporary_colliders += (shape,)
        self._rebuild_contact()

        def take_back() -> None:
            if any(other is shape for other in self._temporary_colliders):
                self._temporary_colliders = tuple(
                    other for other in self._temporary_colliders if other is not shape
                )
                self._rebuild_contact()

        return take_back

    def _rebuild_contact(self) -> None:
        """Rebuild the contact stepper for the current shapes; the state of the bodies is kept."""
        state = self.state()
        self._rigid = self._make_rigid_system()
        self._contact_stepper = self._make_contact_stepper()
        self.restore(state)

    @property
    def timers(self) -> Mapping[str, float]:
        """Where the time of the last step went: seconds by stage, such as "assembly" or "contact search"."""
        return MappingProxyType(self._stopwatch.seconds)

    @property
    def rigid(self) -> RigidSystem | None:
        """The system of all rigid bodies with their contacts and joints, or None if there are none."""
        return self._rigid

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._environment.time

    @property
    def step_index(self) -> int:
        """Number of steps done."""
        return self._environment.step

    @property
    def gravity(self) -> NDArray[np.float64]:
        """Gravity [m/s2]; set it at any time."""
        return self._environment.gravity.copy()

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._environment.gravity = vector3(value, "gravity")

    @property
    def wind(self) -> Wind | None:
        """The wind, or None; set it at any time."""
        return self._environment.wind

    @wind.setter
    def wind(self, value: Wind | None) -> None:
        self._environment.wind = value

    def body(self, name: str) -> Any:
        """Return the body called `name`: a `SoftBody` or another kind of body."""
        for body in self.bodies:
            if body.name == name:
                return body
        names = ", ".join(body.name for body in self.bodies) or "none"
        raise InputError(f"the world has no body called '{name}' (it has: {names})")

    def schedule(self, time: float, event: Callable[[World], Any]) -> None:
        """Call `event(world)` before the first step that starts at `time` [s] or later.

        Events of the same time happen in the order in which they were given. After `reset` all happen again, after
        `restore` those that are still to come; one that lies between the present and the restored time happens then.
        """
        if not (isfinite(time) and time >= 0.0):
            raise InputError(f"the time of an event must be a finite number of at least 0 s, not {time}")
        if not callable(event):
            raise InputError("an event is a function of the world")
        self._events.append((float(time), event))
        self._events.sort(key=lambda item: item[0])
        if time < self.time - _AT_ONCE:
            self._due += 1  # it lies in the past
            event(self)

    def add_pre_step_callback(self, callback: Callable[[float], Any]) -> None:
        """Call `callback(dt)` before every step of `dt` [s]; it may call `add_external_force` of bodies.

        Forces that are added then, or while the fluids of the world are stepped (they come first), act on soft and
        rigid bodies during this step alone.
        """
        if not callable(callback):
            raise InputError("a pre-step callback is a function of the time step")
        self._pre_step_callbacks.append(callback)

    def _fire_due_events(self) -> None:
        """Do what is due now."""
        while self._due < len(self._events) and self._events[self._due][0] <= self.time + _AT_ONCE:
            self._due += 1
            self._events[self._due - 1][1](self)

    def step(self, dt: float | None = None) -> tuple[StepReport, ...]:
        """Advance all bodies by one step of `dt` [s] and return their reports.

        If a body diverges, DivergedError is raised and every body is back at the state before the step.
        """
        with self._stopwatch.running():
            return self._step(self.dt if dt is None else _positive(dt, "dt"))

    def _step(self, dt: float) -> tuple[StepReport, ...]:
        self._fire_due_events()
        particle_fluids = () if self.fluid_system is None else tuple(self.fluid_system.fluids)
        fluids: tuple[Body, ...] = (*particle_fluids, *self.grid_fluids)
        before = [body.state() for body in fluids] if len(self.bodies) > 1 else []
        contact_backup = self._contact_stepper.snapshot() if self._sph_coupling is not None else None
        coupling_backup = self._sph_coupling.state() if self._sph_coupling is not None else {}
        try:
            for callback in self._pre_step_callbacks:
                callback(dt)
            # solids last: they keep their own state if they fail
            reports = [fluid.step(dt) for fluid in self.grid_fluids]
            reports += self._fluids_and_solids(dt)
        except Exception:
            for body, state in zip(fluids, before, strict=False):
                body.restore(state)
            if self._sph_coupling is not None:
                self._sph_coupling.restore(coupling_backup)
                self._contact_stepper.restore(contact_backup)
            raise
        finally:
            for soft in self.soft_bodies:
                soft.clear_external_forces()
            for rigid in self.rigid_bodies:
                rigid.clear_external_forces()
        by_name = {report.body: report for report in reports}
        self.reports = tuple(by_name[body.name] for body in self.bodies)
        self._environment.time += dt
        self._environment.step += 1
        return self.reports

    def _fluids_and_solids(self, dt: float) -> list[StepReport]:
        """Advance all but grid fluids by `dt` [s]; each part keeps its own state if it fails."""
        if self._sph_coupling is not None:
            return self._step_with_sph_substeps(self._sph_coupling, dt)
        reports = [] if self.fluid_system is None else self.fluid_system.step(dt)
        return [*reports, *self._contact_stepper.step(dt).values()]

    def _step_with_sph_substeps(self, coupling: SphBodyCoupling, dt: float) -> list[StepReport]:
        """Advance fluids by `dt` [s], and after each of their sub-steps the bodies, by what these were pushed."""
        start = self._environment.time
        solid_reports: list[dict[int, StepReport]] = []
        solids: tuple[SoftBody | RigidInstances, ...] = (*self.soft_bodies, *self.rigid_bodies)
        loads: list[Any] = [body.external_forces() for body in solids]

        def after_substep(done: float, sub: float) -> None:
            self._environment.time = start + done
            try:
                coupling.apply(sub)
                solid_reports.append(self._contact_stepper.step(sub))
            finally:
                self._environment.time = start
                for body, load in zip(solids, loads, strict=True):
                    body.clear_external_forces()
                    if load is not None:
                        body.add_external_force(*load)

        assert self.fluid_system is not None
        reports = self.fluid_system.step(dt, after_substep)
        return [
            *reports,
            *(_together([part[number] for part in solid_reports], dt) for number in solid_reports[0]),
        ]

    def settle(
        self, rtol: float = 1e-6, max_newton: int = 200, *, steps: int | None = None
    ) -> tuple[StaticReport, ...]:
        """Put every body at its static equilibrium, at rest; time does not move.

        Colliders and other soft bodies push without friction. Soft bodies that can touch rigid ones are refused; rigid
        bodies that they cannot touch stay where they are. See `SoftBody.settle` for the arguments.
        """
        before = self.state()
        try:
            return self._contact_stepper.settle(rtol, max_newton, steps)
        except Exception:
            self.restore(before)
            raise

    def _start_at_equilibrium(self) -> None:
        """Settle where nobody gets the reports: what they say is warned of."""
        for body, report in zip(self.soft_bodies, self.settle(), strict=True):
            for text in report.warnings:
                warnings.warn(f"body '{body.name}': {text}", stacklevel=3)

    def frame_plan(self, seconds: float, fps: float = 60.0) -> tuple[int, int, float]:
        """Return (frames after the first, steps a frame, time step [s]) of a run.

        The step is shortened so that a whole number of steps makes a frame.
        """
        seconds, fps = _positive(seconds, "seconds"), _positive(fps, "fps")
        frames = max(1, round(seconds * fps))
        steps = max(1, ceil(1.0 / (fps * self.dt) - 1e-9))
        return frames, steps, 1.0 / (fps * steps)

    def run(
        self,
        seconds: float,
        fps: float = 60.0,
        sinks: Sequence[Sink] = (),
        progress: Progress | None = None,
    ) -> Iterator[Frame]:
        """Simulate until `seconds` [s] after the start, yielding `fps` frames a second.

        A new world yields the frame at time 0 first. A restored world goes on after its last frame.

        Args:
            seconds: End time [s], counted from the world's start.
            fps: Frames a second.
            sinks: Opened sinks that get every frame.
            progress: Called after every step with the world and the step's reports.
        """
        frames, steps, dt = self.frame_plan(seconds, fps)
        if self.step_index == 0 and self.frame_index == 0:
            yield self._emit(sinks)
        while self.frame_index < frames:
            for _ in range(steps):
                reports = self.step(dt)
                if progress is not None:
                    progress(self, reports)
            self.align_to_frame(self.frame_index + 1, fps)
            yield self._emit(sinks)

    def align_to_frame(self, frame: int, fps: float) -> None:
        """Say that this moment is a frame of a run: whole frames fall on exact times, whatever steps add up to."""
        self.frame_index = frame
        self._environment.time = frame / fps

    def _emit(self, sinks: Sequence[Sink]) -> Frame:
        frame = self.frame()
        for sink in sinks:
            sink.write(frame)
        return frame

    def frame(self) -> Frame:
        """Return an immutable snapshot of all bodies."""
        return Frame(
            index=self.frame_index,
            step=self.step_index,
            time=self.time,
            bodies={body.name: body.frame(self.fields) for body in self.bodies},
            reports=self.reports,
            colliders=tuple(self._placed(shape, about) for shape, about in (*self._drawn, *self._in_flows())),
            joints=np.zeros((0, 2, 3))
            if self._rigid is None
            else readonly_copy(self._rigid.joints.anchor_lines()),
        )

    def _in_flows(self) -> list[tuple[Shape, Mapping[str, object]]]:
        """Return the obstacles of fluids on grids with their descriptions."""
        shapes = [shape for fluid in self.grid_fluids for shape in fluid.obstacles]
        known = {id(shape): about for shape, about in self._flow_shapes}
        self._flow_shapes = [(shape, known.get(id(shape)) or shape.description()) for shape in shapes]
        return self._flow_shapes

    def _placed(self, shape: Shape, about: Mapping[str, object]) -> Mapping[str, object]:
        """Return the description of a shape with its pose, if it moves."""
        pose = shape.pose(self.time)
        if pose is None:
            return about
        return {**about, "pose": np.column_stack([pose.rotation, pose.translation]).tolist()}

    def energy(self) -> dict[str, float]:
        """Return the sum of the bodies' energies [J] by kind."""
        total: dict[str, float] = {}
        for body in self.bodies:
            for kind, value in body.energy().items():
                total[kind] = total.get(kind, 0.0) + value
        return total

    def reset(self) -> None:
        """Go back to the start; materials, gravity and what is attached to the bodies stay as they are."""
        self._environment.time = 0.0
        self._environment.step = 0
        self.frame_index = 0
        self.reports = ()
        self._due = 0
        self._contact_stepper.clear_warm_start()
        if self._sph_coupling is not None:
            self._sph_coupling.clear()
        for body in sorted(self.bodies, key=lambda body: isinstance(body, GridFluid)):
            body.reset()  # fluids on grids last: they begin around the others
        if self._rigid is not None:
            self._rigid.reset()
        if self._starts_at_equilibrium:
            self._fire_due_events()  # what holds from time 0 on holds for the equilibrium too
            self._start_at_equilibrium()

    def state(self) -> dict[str, Any]:
        """Return everything that a bit-equal restart needs, as a flat mapping of arrays and numbers."""
        state: dict[str, Any] = {
            "world/time": self.time,
            "world/step": self.step_index,
            "world/frame": self.frame_index,
        }
        state |= {f"world/{key}": value for key, value in self._contact_stepper.state().items()}
        if self._rigid is not None:
            state |= {f"world/rigid/{key}": value for key, value in self._rigid.state().items()}
        if self._sph_coupling is not None:
            state |= {f"world/sph_coupling/{key}": value for key, value in self._sph_coupling.state().items()}
        for body in self.bodies:
            for key, value in body.state().items():
                state[f"{body.name}/{key}"] = value
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()` of a world with the same bodies."""
        for key in ("world/time", "world/step", "world/frame"):
            if key not in state:
                raise InputError(f"the state lacks '{key}'")
        for body in self.bodies:
            prefix = f"{body.name}/"
            body.restore(
                {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}
            )
        self._environment.time = float(state["world/time"])
        self._environment.step = int(state["world/step"])
        self.frame_index = int(state["world/frame"])
        self._contact_stepper.restore_state(
            state.get("world/contact_keys", np.zeros(0)),
            state.get("world/contact_forces", np.zeros((0, 3))),
            state.get("world/contact_participants"),
        )
        if self._rigid is not None:
            start = "world/rigid/"
            self._rigid.restore({k[len(start) :]: v for k, v in state.items() if k.startswith(start)})
        if self._sph_coupling is not None:
            start = "world/sph_coupling/"
            self._sph_coupling.restore({k[len(start) :]: v for k, v in state.items() if k.startswith(start)})
        self.reports = ()
        past = sum(time < self.time - _AT_ONCE for time, _ in self._events)
        for _, event in self._events[self._due : past]:
            event(self)
        self._due = past

    def __repr__(self) -> str:
        return f"World({self.name!r}, {list(self.bodies)!r}, t = {self.time:g} s)"


def _together(parts: Sequence[StepReport], dt: float) -> StepReport:
    """Return the report of a body's step of `dt` [s] that was done in parts."""
    return replace(
        parts[-1],
        dt=dt,
        substeps=sum(part.substeps for part in parts),
        newton_iterations=sum(part.newton_iterations for part in parts),
        iterations=sum(part.iterations for part in parts),
        residual=max(part.residual for part in parts),
        converged=all(part.converged for part in parts),
        seconds=sum(part.seconds for part in parts),
        warnings=tuple(dict.fromkeys(text for part in parts for text in part.warnings)),
    )


def _known_fields(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in FIELDS:
            raise InputError(f"there is no field '{name}'; choose from {', '.join(FIELDS)}")
    return tuple(names)


def _positive(value: float, what: str) -> float:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"{what} must be a finite number greater than 0, not {value}")
    return float(value)
