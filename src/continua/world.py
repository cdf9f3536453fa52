"""The world: bodies that are stepped together in time, and the frames that come out."""

from __future__ import annotations

import copy
import gc
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor
from types import MappingProxyType
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from continua import registry
from continua.body import Body, check_bodies, name_bodies
from continua.contact_solver import Contact
from continua.environment import Environment, Wind
from continua.errors import InputError, warn_user
from continua.frames import Frame, Overlap, Sink, StepReport, WarningCount, readonly_copy
from continua.geometry import Shape
from continua.numerics.timers import Stopwatch
from continua.pickling import KeepsReadOnlyArrays, check_captures, check_picklable
from continua.short_repr import counted, short
from continua.step_warnings import RateLimiter, WarningTally
from continua.system import Coupling, System, WorldContext, check_settle
from continua.validation import (
    choice,
    file_path,
    flag,
    function,
    instance_of,
    instances_of,
    mapping,
    number,
    sequence,
    shortened,
    text,
    vector3,
    whole_number,
)
from continua.validation import name as check_name

__all__ = ["World"]

_SAME_FRAME = 1e-6  # times that differ by less, in intervals of frames, are the same frame
_AT_ONCE = 1e-9  # times that differ by less [s] are the same
_MOST_BODIES = 10  # in the text of a world
_MAX_FRAMES = 10**12  # and steps of a frame
_NO_LINES = np.zeros((0, 2, 3))
Kind = TypeVar("Kind")
Progress = Callable[["World", tuple[StepReport, ...]], None]


class World(KeepsReadOnlyArrays):
    """Bodies, gravity, wind and fixed shapes, advanced together in time.

    The world does not know the kinds of its bodies: each kind is advanced by a `System`, and systems are joined by a
    `Coupling`; both come from `continua.registry`.

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
        fields: Fields inside the elements that frames bring into files, any of `solids.FIELDS`,
            or "overlap": 1 at nodes that are inside other bodies or colliders or on intersecting triangles.
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
        joints: Sequence[Any] = (),
        wind: Wind | None = None,
        start_at_equilibrium: bool = False,
        fields: Sequence[str] = (),
        name: str = "world",
    ) -> None:
        self.bodies: tuple[Body, ...] = check_bodies(bodies)
        self.joints = sequence(joints, "the joints of a world")
        self.name = check_name(name, "the name of a world")
        self.dt = _positive(dt, "dt")
        self.colliders = instances_of(colliders, Shape, "the colliders of a world")
        self._temporary_colliders: tuple[Shape, ...] = ()
        self._environment = Environment(vector3(gravity, "gravity"), _wind(wind))
        self.fields = _known_fields(fields)
        self._drawn = tuple((shape, shape.description()) for shape in self.colliders)
        self._own_shapes: list[tuple[Shape, Mapping[str, object]]] = []
        self.contact = (
            Contact() if contact is None else instance_of(contact, Contact, "the contact of a world")
        )
        self.frame_index = 0
        self.reports: tuple[StepReport, ...] = ()
        self._warnings = WarningTally()  # of the steps since the last frame
        self._frame_step = 0  # the step of that frame
        self._rate_limiter = RateLimiter()
        self._stopwatch = Stopwatch()
        name_bodies(self.bodies, sys._getframe(1))
        self._refuse_bodies_of_others(self.bodies)
        for body in self.bodies:
            body.prepare(self._environment)
        self.systems: tuple[System, ...] = ()
        self.couplings: tuple[Coupling, ...] = ()
        self._assemble()
        self._events: list[tuple[float, Callable[[World], Any]]] = []
        self._due = 0  # events before this one have happened
        self._pre_step_callbacks: list[Callable[[float], Any]] = []
        self._starts_at_equilibrium = flag(start_at_equilibrium, "'start_at_equilibrium' of a world")
        if start_at_equilibrium:
            self._start_at_equilibrium()
        self._own_bodies()

    def _assemble(self) -> None:
        """Make the systems and couplings of the present bodies, colliders and joints."""
        before: dict[type, Any] = {type(one): one for one in (*self.systems, *self.couplings)}
        context = WorldContext(
            self.bodies, self.colliders, self.contact, self.joints, self._environment, before
        )
        systems = _make_systems(context)
        self.couplings = _make_couplings(systems, context)
        self.systems = systems
        self._parts: tuple[System | Coupling, ...] = (*self.systems, *self.couplings)
        self._steppers = _steppers(self.systems, self.couplings)
        self._exposed = _exposed(self._steppers, self.couplings)
        before.clear()
        if self._temporary_colliders:
            for system in self.systems:
                system.set_temporary_colliders(self._temporary_colliders)

    def add(self, *things: Body | Shape, joints: Sequence[Any] = ()) -> None:
        """Add bodies and colliders to the running world, and joints of rigid bodies.

        The others move on as they are, and their contacts keep their forces. A new body begins where it is now; one
        without a name takes that of the variable, as in a new world. What does not fit is refused, as things inside a
        liquid are, and the world stays as it was. From now on states and files of the world have the body, frames show
        it, and `reset` takes it to its own start.
        """
        bodies = tuple(one for one in things if not isinstance(one, Shape))
        for body in check_bodies(bodies):
            if body in self:
                raise InputError(f"body '{body.name}' is in this world already")
        self._refuse_bodies_of_others(bodies)
        name_bodies((*self.bodies, *bodies), sys._getframe(1))
        colliders = instances_of([one for one in things if isinstance(one, Shape)], Shape, "the colliders")
        joints = sequence(joints, "the joints of a world")
        self._change((*self.bodies, *bodies), (*self.colliders, *colliders), (*self.joints, *joints))

    def remove(self, *things: Body | Shape | str) -> None:
        """Remove bodies, given by themselves or their names, and colliders from the running world.

        The joints of a removed body go with it; the others move on as they are. The body keeps its state, and can be
        added to another world.
        """
        gone = [self.body(one) if isinstance(one, str) else one for one in things]
        for one in gone:
            if not any(one is other for other in (*self.bodies, *self.colliders)):
                raise InputError(f"the world has no body or collider {shortened(one)} that could be removed")

        def kept(some: Iterable[Any]) -> tuple[Any, ...]:
            return tuple(one for one in some if not any(one is other for other in gone))

        def is_joined(joint: Any) -> bool:
            joint = getattr(joint, "joint", joint)  # of a motor
            ends = (getattr(joint, "a", None), getattr(joint, "b", None))
            bodies = [end[0] if isinstance(end, tuple) else end for end in ends]
            return any(body is one for body in bodies if body is not None for one in gone)

        joints = tuple(joint for joint in self.joints if not is_joined(joint))
        bodies = [one for one in gone if not isinstance(one, Shape)]
        self._change(kept(self.bodies), kept(self.colliders), joints)
        for body in bodies:
            body.prepare(Environment(self.gravity.copy(), self.wind))

    def _change(
        self, bodies: tuple[Body, ...], colliders: tuple[Shape, ...], joints: tuple[Any, ...]
    ) -> None:
        """Take over other bodies, colliders and joints; if they are refused, the world stays as it was."""
        self._follow_topology()
        before = self.bodies, self.colliders, self.joints, self.contact, self._drawn
        state = self.state()
        drawn = {id(shape): about for shape, about in self._drawn}
        try:
            self.bodies, self.colliders, self.joints = bodies, colliders, joints
            self.contact = _without_pairs(self.contact, before[0], before[1], (*bodies, *colliders))
            self._drawn = tuple((shape, drawn.get(id(shape)) or shape.description()) for shape in colliders)
            for body in bodies:
                if not any(body is other for other in before[0]):
                    body.prepare(self._environment)
            self._assemble()
        except Exception:
            for body in bodies:
                if not any(body is other for other in before[0]):
                    body.prepare(Environment())
            self.bodies, self.colliders, self.joints, self.contact, self._drawn = before
            self._assemble()
            self._restore_parts(state)
            raise
        self.reports = tuple(report for report in self.reports if report.body in self)
        self._own_bodies()

    def _refuse_bodies_of_others(self, bodies: Iterable[Body]) -> None:
        """Raise InputError if one of the bodies is in another world, which would move it as well."""
        for body in bodies:
            if (other := _owner(body)) is not None and other is not self:
                raise InputError(
                    f"body '{body.name}' is in the world '{other.name}', and a body can be in one world only; take it "
                    f"out there first (`world.remove('{body.name}')`), or give this world a copy of it"
                )

    def _own_bodies(self) -> None:
        for body in self.bodies:
            _owners[id(body)] = self

    def add_temporary_collider(self, shape: Shape) -> Callable[[], None]:
        """Let soft and rigid bodies touch another shape until the function that is returned is called.

        It is a tool for hands, not a part of the world: fluids do not feel it, frames and states do not have it.
        """

        instance_of(shape, Shape, "a collider")

        def pass_on(shapes: tuple[Shape, ...]) -> None:
            self._temporary_colliders = shapes
            self._follow_topology()
            for system in self.systems:
                system.set_temporary_colliders(shapes)

        def take_back() -> None:
            if any(other is shape for other in self._temporary_colliders):
                pass_on(tuple(other for other in self._temporary_colliders if other is not shape))

        pass_on((*self._temporary_colliders, shape))
        return take_back

    @property
    def timers(self) -> Mapping[str, float]:
        """Where the time of the last step went: seconds by stage, such as "assembly" or "contact search"."""
        return MappingProxyType(self._stopwatch.seconds)

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
        """Gravity [m/s2], a read-only copy; set it at any time: `world.gravity = (0, 0, 0)`."""
        return readonly_copy(self._environment.gravity)

    @gravity.setter
    def gravity(self, value: ArrayLike) -> None:
        self._environment.gravity = vector3(value, "gravity")

    @property
    def wind(self) -> Wind | None:
        """The wind, or None; set it at any time."""
        return self._environment.wind

    @wind.setter
    def wind(self, value: Wind | None) -> None:
        self._environment.wind = _wind(value)

    def body(self, name: str) -> Any:
        """Return the body called `name`."""
        for body in self.bodies:
            if isinstance(name, str) and body.name == name:
                return body
        names = ", ".join(body.name for body in self.bodies) or "none"
        raise InputError(f"the world has no body called {shortened(name)} (it has: {names})")

    def __getitem__(self, name: str) -> Any:
        """Return the body called `name`, as `body` does."""
        return self.body(name)

    def __iter__(self) -> Iterator[Body]:
        return iter(self.bodies)

    def __contains__(self, body: object) -> bool:
        """Return whether the world has a body, given by its name or itself."""
        return any(one is body or (isinstance(body, str) and one.name == body) for one in self.bodies)

    def bodies_of(self, kind: type[Kind]) -> tuple[Kind, ...]:
        """Return the bodies of a class, such as `SoftBody`, in the world's order."""
        instance_of(kind, type, "the kind of bodies", "a class")
        return tuple(body for body in self.bodies if isinstance(body, kind))

    def system(self, kind: type) -> Any:
        """Return the system that advances the bodies of a class: for `Fluid` a `FluidSystem`.

        For `RigidBody` and `SoftBody` it is a `SolidSystem`, whose attribute `rigid` has the contacts and joints of
        rigid bodies.
        """
        instance_of(kind, type, "the kind of bodies", "a class")
        for system in self.systems:
            if any(issubclass(kind, own) for own in system.kinds):
                return system
        raise InputError(f"the world has no system that advances bodies of the class {kind.__name__}")

    def schedule(self, time: float, event: Callable[[World], Any]) -> None:
        """Call `event(world)` before the first step that starts at `time` [s] or later.

        Events of the same time happen in the order in which they were given. After `reset` all happen again, after
        `restore` those that are still to come; one that lies between the present and the restored time happens then.
        """
        time = number(time, "the time of an event", low=0.0, unit="s")
        function(event, "an event", "a function of the world")
        self._events.append((time, event))
        self._events.sort(key=lambda item: item[0])
        if time < self.time - _AT_ONCE:
            self._due += 1  # it lies in the past
            event(self)

    def add_pre_step_callback(self, callback: Callable[[float], Any]) -> None:
        """Call `callback(dt)` before every step of `dt` [s]; it may call `add_external_force` of bodies.

        Forces that are added then, or while the fluids of the world are stepped (they come first), act on soft and
        rigid bodies during this step alone.
        """
        self._pre_step_callbacks.append(
            function(callback, "a pre-step callback", "a function of the time step")
        )

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
        self._follow_topology()
        before = [(part, part.snapshot()) for part in self._exposed]
        reports: list[StepReport] = []
        try:
            for callback in self._pre_step_callbacks:
                callback(dt)
            for coupling in self.couplings:
                coupling.before_step(dt)
            for stepper in self._steppers:
                reports += stepper.step(dt)
            for coupling in self.couplings:
                coupling.after_step(dt)
        except Exception:
            for part, snapshot in before:
                part.rollback(snapshot)
            raise
        finally:
            for system in self.systems:
                system.finish_step()
        by_name = {report.body: report for report in reports}
        self.reports = tuple(by_name[body.name] for body in self.bodies)
        if self._frame_step == self.step_index:
            self._warnings.clear()
        self._warnings.add(self.reports)
        self._environment.time += dt
        self._environment.step += 1
        return self.reports

    def _follow_topology(self) -> None:
        """Let systems and couplings follow bodies whose nodes and elements have changed."""
        for body in self.bodies:
            take = getattr(body, "take_topology_change", None)
            while take is not None and (change := take()) is not None:
                for part in self._parts:
                    part.remap(body, change)

    def settle(
        self, rtol: float = 1e-6, max_newton: int = 200, *, steps: int | None = None
    ) -> tuple[Any, ...]:
        """Put every body at its static equilibrium, at rest; time does not move.

        Colliders and other soft bodies push without friction. Soft bodies that can touch rigid ones are refused; rigid
        bodies that they cannot touch stay where they are. See `SoftBody.settle` for the arguments. Returns a
        `StaticReport` for each soft body, in the world's order.
        """
        rtol, max_newton, steps = check_settle(rtol, max_newton, steps)
        before = self.state()
        try:
            found = [report for system in self.systems for report in system.settle(rtol, max_newton, steps)]
        except Exception:
            self.restore(before)
            raise
        order = [body.name for body in self.bodies]
        return tuple(sorted(found, key=lambda report: order.index(report.body)))

    def _start_at_equilibrium(self) -> None:
        """Settle where nobody gets the reports: what they say is warned of."""
        for report in self.settle():
            for warning in report.warnings:
                warn_user(f"body '{report.body}': {warning}")

    def frame_plan(self, seconds: float, fps: float = 60.0) -> tuple[int, int, float]:
        """Return (frames after the first, steps a frame, time step [s]) of a run.

        The step is shortened so that a whole number of steps makes a frame.
        """
        seconds, fps = _positive(seconds, "seconds"), _positive(fps, "fps")
        if seconds * fps > _MAX_FRAMES or 1.0 / (fps * self.dt) > _MAX_FRAMES:
            raise InputError(
                f"{seconds:g} s at {fps:g} frames a second in steps of {self.dt:g} s are too many; use fewer"
            )
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

        Frames fall on whole multiples of 1 / `fps`, and the index of a frame is its number among these. A run goes on
        from the present time: a new world yields the frame at time 0 first, a restored world goes on after its last
        frame, and after `step` the first interval is as long as it takes to the next frame.

        The warnings of the steps are in `Frame.warnings`; the first of each kind, and later ones after 100, 500,
        2500, ... steps with their number, are also raised as Python warnings.

        Args:
            seconds: End time [s], counted from the world's start.
            fps: Frames a second.
            sinks: Opened sinks that get every frame.
            progress: Called after every step with the world and the step's reports.
        """
        frames, _, _ = self.frame_plan(seconds, fps)
        for sink in (sinks := sequence(sinks, "the sinks of a run")):
            function(getattr(sink, "write", None), "'write' of a sink")
        if progress is not None:
            function(progress, "the progress of a run", "a function of the world and the reports of a step")
        now = round(self.time * fps)
        on_frame = abs(self.time * fps - now) < _SAME_FRAME
        if on_frame and now <= frames and (self.step_index == 0 or self.frame_index != now):
            self.align_to_frame(now, fps)
            yield self._emit(sinks)
        while (index := floor(self.time * fps + _SAME_FRAME) + 1) <= frames:
            steps, dt = self._interval(index, fps)
            tally = WarningTally()  # complete even if `progress` takes frames of its own
            for _ in range(steps):
                reports = self.step(dt)
                tally.add(reports)
                for warning in self._rate_limiter.select(reports):
                    warn_user(warning)
                if progress is not None:
                    progress(self, reports)
            self.align_to_frame(index, fps)
            yield self._emit(sinks, tally.counts)

    def _interval(self, index: int, fps: float) -> tuple[int, float]:
        """Return the number of steps to frame `index`, and their length [s]."""
        if abs(self.time * fps - (index - 1)) < _SAME_FRAME:  # whole intervals have bitwise the same steps
            return self.frame_plan(1.0, fps)[1:]
        left = index / fps - self.time
        steps = max(1, ceil(left / self.dt - 1e-9))
        return steps, left / steps

    def align_to_frame(self, frame: int, fps: float) -> None:
        """Say that this moment is a frame of a run: whole frames fall on exact times, whatever steps add up to."""
        frame, fps = whole_number(frame, "the number of a frame", low=0), _positive(fps, "fps")
        self.frame_index = frame
        self._environment.time = frame / fps

    def _emit(self, sinks: Sequence[Sink], warnings: tuple[WarningCount, ...] = ()) -> Frame:
        frame = replace(self.frame(), warnings=warnings)
        for sink in sinks:
            sink.write(frame)
        return frame

    def frame(self) -> Frame:
        """Return an immutable snapshot of all bodies.

        Its warnings are those of the steps since the last snapshot of an earlier step.
        """
        self._frame_step = self.step_index
        bodies = {body.name: body.frame(self.fields) for body in self.bodies}
        for system in self.systems:
            for name, fields in system.frame_fields(bodies).items():
                more = bodies[name].fields.extended(fields, self.fields)
                bodies[name] = replace(bodies[name], fields=more)
        return Frame(
            index=self.frame_index,
            step=self.step_index,
            time=self.time,
            bodies=bodies,
            reports=self.reports,
            colliders=tuple(
                self._placed(shape, about) for shape, about in (*self._drawn, *self._obstacles())
            ),
            joints=readonly_copy(
                np.concatenate([_NO_LINES, *(system.joint_lines() for system in self.systems)])
            ),
            warnings=self._warnings.counts,
        )

    def _obstacles(self) -> list[tuple[Shape, Mapping[str, object]]]:
        """Return the shapes that systems have of their own, with their descriptions."""
        shapes = [shape for system in self.systems for shape in system.obstacles()]
        known = {id(shape): about for shape, about in self._own_shapes}
        self._own_shapes = [(shape, known.get(id(shape)) or shape.description()) for shape in shapes]
        return self._own_shapes

    def _placed(self, shape: Shape, about: Mapping[str, object]) -> Mapping[str, object]:
        """Return the description of a shape at this time."""
        changed = shape.drawn_at(self.time)
        return {**about, **changed} if changed else about

    def overlaps(self) -> tuple[Overlap, ...]:
        """Return where matter overlaps now: bodies in each other, in themselves or in colliders, and inverted elements.

        It is a query of the geometry, for soft and rigid bodies; contact has nothing to do with it. Pairs whose
        `collide` is false and bodies with a common joint are left out. Where a rigid body or a collider takes part,
        overlaps below 2 % of the size of an element or rigid body are contact and not listed.
        """
        self._follow_topology()
        return tuple(overlap for system in self.systems for overlap in system.overlaps())

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
        self._forget_warnings()
        self._rate_limiter.clear()
        self._due = 0
        for coupling in self.couplings:
            coupling.reset()
        for system in reversed(self.systems):
            system.reset()  # those that are stepped first last: fluids begin around the other bodies
        self._follow_topology()
        if self._starts_at_equilibrium:
            self._fire_due_events()  # what holds from time 0 on holds for the equilibrium too
            self._start_at_equilibrium()

    def state(self) -> dict[str, Any]:
        """Return everything that a bit-equal restart needs, as a flat mapping of arrays and numbers."""
        self._follow_topology()
        state: dict[str, Any] = {
            "world/time": self.time,
            "world/step": self.step_index,
            "world/frame": self.frame_index,
            "world/events": self._due,
        }
        for part in self._parts:
            state |= {f"{_prefix(part)}{key}": value for key, value in part.state().items()}
        for body in self.bodies:
            for key, value in body.state().items():
                state[f"{body.name}/{key}"] = value
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()` of a world with the same bodies.

        Events that had happened then and did not happen here yet, happen first. Then the bodies are restored, which
        takes back what these events did to their states, and systems and couplings last. A state that does not fit
        is refused, and bodies and time stay as they are.
        """
        for key in mapping(state, "the state of a world"):
            text(key, "a key of the state of a world")
        time, _, _ = _moment(state)
        past = sum(moment < time - _AT_ONCE for moment, _ in self._events)
        present = sum(moment <= time + _AT_ONCE for moment, _ in self._events)
        due = min(max(whole_number(state.get("world/events", past), "'world/events'"), past), present)
        before, things = self.state(), (self.bodies, self.colliders, self.joints)
        try:
            self._set_time(state)
            for _, event in self._events[self._due : due]:
                event(self)
            self._check_names(state)
            self._restore_parts(state)
        except Exception:
            self._set_time(before)
            if things != (self.bodies, self.colliders, self.joints):  # an event has added or removed some
                self._change(*things)
            self._restore_parts(before)
            raise
        self._due = due
        self.reports = ()
        self._forget_warnings()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint of this moment to a file, from which `load` continues bitwise identically.

        The file has all that moves: time, positions, velocities, plastic deformation, changed meshes, forces of
        contacts and joints. It does not have what the program made: bodies and their materials, colliders, boundary
        conditions, joints, gravity and wind. The same lines of the program make these again before `load`.
        """
        from continua import checkpoint  # HDF5 is loaded when it is needed

        file = file_path(path, "the file of a checkpoint")
        geometry = {body.name: _geometry_digest(body) for body in self.bodies}
        done = self.frame_index + 1
        try:
            checkpoint.save(file, self, "", frames_done=done, seconds=self.time, fps=0.0, geometry=geometry)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", where=str(file)) from None

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a checkpoint of a world with the same bodies: one of `save`, or of `continua run`.

        What a checkpoint does not have (see `save`) stays as it is now. A file of other bodies or meshes is refused,
        and nothing changes.
        """
        from continua import checkpoint

        where = str(file_path(path, "the file of a checkpoint"))
        saved = checkpoint.load(where)
        for body in self.bodies:
            if saved.geometry.get(body.name, known := _geometry_digest(body)) != known:
                raise InputError(f"body '{body.name}' of this checkpoint has another mesh", where=where)
        self.restore(saved.state)

    def _forget_warnings(self) -> None:
        self._warnings.clear()
        self._frame_step = self.step_index

    def _check_names(self, state: Mapping[str, Any]) -> None:
        """Raise InputError if a state is of other bodies."""
        names = dict.fromkeys(key.partition("/")[0] for key in state)
        others = [name for name in names if name != "world" and name not in self]
        if others:
            own = ", ".join(body.name for body in self.bodies) or "none"
            raise InputError(
                f"the state is of a world with the body '{others[0]}', which this one does not have (it has: {own}); "
                "make the same bodies first"
            )

    def _set_time(self, state: Mapping[str, Any]) -> None:
        self._environment.time, self._environment.step, self.frame_index = _moment(state)

    def _restore_parts(self, state: Mapping[str, Any]) -> None:
        """Restore bodies first, then what depends on them."""
        for body in self.bodies:
            body.restore(_below(f"{body.name}/", state))
        self._follow_topology()
        for part in self._parts:
            part.restore(_below(_prefix(part), state))

    def _own_state(self) -> dict[str, Any]:
        for time, event in self._events:
            check_picklable(event, f"the event of the world '{self.name}' at {time:g} s")
        for callback in self._pre_step_callbacks:
            check_picklable(callback, f"a pre-step callback of the world '{self.name}'")
        return super()._own_state()

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        self._own_bodies()

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        made = memo[id(self)] = World.__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        check_captures(self, memo)
        return made

    def __repr__(self) -> str:
        counts = [counted(len(self.bodies), "body")]
        counts += [
            counted(len(parts), noun)
            for parts, noun in ((self.colliders, "collider"), (self.joints, "joint"))
            if parts
        ]
        lines = [f"World({self.name!r}, step {self.step_index}, t = {self.time:g} s, {', '.join(counts)})"]
        shown = self.bodies if len(self.bodies) <= _MOST_BODIES else self.bodies[: _MOST_BODIES - 1]
        lines += [f"  {short(body)}" for body in shown]
        if len(shown) < len(self.bodies):
            lines.append(f"  and {len(self.bodies) - len(shown)} more")
        return "\n".join(lines)


_owners: WeakValueDictionary[int, World] = (
    WeakValueDictionary()
)  # the world of each body, by the `id` of the body


def _without_pairs(
    contact: Contact, bodies: Sequence[Body], colliders: Sequence[Shape], things: Sequence[Any]
) -> Contact:
    """Return contact options without the pairs of bodies and colliders that are no longer among `things`."""
    names = {thing.name for thing in things}
    named: tuple[Any, ...] = (*bodies, *colliders)
    gone = {one.name for one in named} - names
    if gone.isdisjoint(name for pair in contact.pairs for name in pair):
        return contact
    return replace(contact, pairs={pair: how for pair, how in contact.pairs.items() if gone.isdisjoint(pair)})


def _owner(body: Body) -> World | None:
    """Return the world that a body is in, or None."""
    owner = _owners.get(id(body))
    if owner is None or body not in owner:
        return None
    del owner
    gc.collect()  # nobody may need it any more
    owner = _owners.get(id(body))
    return None if owner is None or body not in owner else owner


def _geometry_digest(body: Body) -> str:
    return hashlib.sha256(body.geometry_bytes()).hexdigest()


def _moment(state: Mapping[str, Any]) -> tuple[float, int, int]:
    """Return the time [s], the number of steps and the number of frames of a state."""
    for key in ("world/time", "world/step", "world/frame"):
        if key not in state:
            raise InputError(f"the state of a world lacks '{key}'")
    step, frame = (whole_number(state[f"world/{key}"], f"'world/{key}'", low=0) for key in ("step", "frame"))
    return number(state["world/time"], "'world/time'"), step, frame


def _make_systems(context: WorldContext) -> tuple[System, ...]:
    """Return the systems of a world, in the order in which they are stepped."""
    bodies: dict[type[System], list[Body]] = {}
    for body in context.bodies:
        bodies.setdefault(registry.system_class(body), []).append(body)
    made = (kind.make(bodies.get(kind, ()), context) for kind in registry.system_classes())
    return tuple(system for system in made if system is not None)


def _make_couplings(systems: Sequence[System], context: WorldContext) -> tuple[Coupling, ...]:
    """Return the couplings of the systems of a world."""
    by_class = {type(system): system for system in systems}
    made = (
        coupling.make(by_class, context)
        for coupling in registry.coupling_classes()
        if all(kind in by_class for kind in coupling.joins)
    )
    return tuple(coupling for coupling in made if coupling is not None)


def _steppers(systems: Sequence[System], couplings: Sequence[Coupling]) -> tuple[System | Coupling, ...]:
    """Return what is stepped in turn: systems, or the couplings that drive them, each at its first system's place."""
    order: list[System | Coupling] = []
    for system in systems:
        drivers = [coupling for coupling in couplings if any(system is one for one in coupling.drives)]
        if len(drivers) > 1:
            names = " and ".join(type(coupling).__name__ for coupling in drivers)
            raise InputError(f"{names} both step the {type(system).__name__}; a system can have one driver")
        stepper: System | Coupling = drivers[0] if drivers else system
        if not any(stepper is other for other in order):
            order.append(stepper)
    return tuple(order)


def _exposed(
    steppers: Sequence[System | Coupling], couplings: Sequence[Coupling]
) -> tuple[System | Coupling, ...]:
    """Return what must be rolled back if a step fails.

    What is stepped last keeps its own state if it fails, unless couplings act before or after it.
    """
    hooks = (Coupling.before_step, Coupling.after_step)
    if all((type(one).before_step, type(one).after_step) == hooks for one in couplings):
        return tuple(steppers[:-1])
    others = (one for one in couplings if not any(one is stepper for stepper in steppers))
    return (*steppers, *others)


def _prefix(part: System | Coupling) -> str:
    """Return how the keys of a system or coupling in the world's state begin."""
    return f"world/{type(part).__name__}/" if part.state_prefix is None else part.state_prefix


def _below(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a state below a prefix, without it."""
    return {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}


def _known_fields(names: Sequence[str]) -> tuple[str, ...]:
    known = dict.fromkeys(field for system in registry.system_classes() for field in system.fields)
    given = sequence(names, "the fields of a world")
    for name in given:
        choice(name, "a field of a world", known)
    return given


def _positive(value: float, what: str) -> float:
    return number(value, what, above=0.0)


def _wind(value: Wind | None) -> Wind | None:
    return None if value is None else instance_of(value, Wind, "the wind of a world")
