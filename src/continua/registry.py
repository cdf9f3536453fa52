"""The registry of kinds of bodies: how worlds step them, and how scene files, `continua info` and the studio know them.

It also has the names of the linear solvers.

A new kind of body needs these parts, and no other file of Continua changes:

1. The body: a class with the methods of `continua.body.Body`. Its `frame` returns a `BodyFrame`, from which all files,
   pictures and the studio are made; its `state` is all that a bitwise identical restart needs.
2. Its system: a class derived from `continua.system.System` with `kinds = (TheBody,)` and a method `step`, under the
   decorator `register_system`. A world makes one of it for all bodies of these kinds. A deformable body that collides
   with solids needs none: if it has a method `contact_body` (see `contact_solver.ContactBody`), it is stepped in one
   system with soft and rigid bodies.
3. Couplings, if it acts on other kinds: classes derived from `continua.system.Coupling`, under `register_coupling`.
4. For scene files, its model: derived from `continua.scene.types.Model`, with `type: Literal["the_tag"]` and `name`,
   its options described by `continua.scene.types.option`.
5. One call `register_body(BodyKind(tag=..., model=..., build=..., ...))`. `build(scene, number)` makes the body from
   `scene.bodies[number]`. From now on scene files take the tag, and the JSON schema, the tables of options, messages
   about unknown types, `continua info` and the studio's panels, tree and menu include it.
6. A test that steps it, saves and restores it, and reads its files back; see `tests/world/test_custom_body.py`.

The module that does this must be imported before the scene is loaded. A package that is installed names it as an entry
point of the group "continua.bodies" (in pyproject.toml: `[project.entry-points."continua.bodies"]`,
`chain = "chains.body"`); then `continua run` and the studio import it when they load a scene. A scene file cannot name
a module: files from others must not run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from continua.errors import InputError, warn_user
from continua.validation import choice

if TYPE_CHECKING:
    from continua.linalg import LinearSolver
    from continua.system import Coupling, System

__all__ = [
    "AUTO_SOLVER",
    "BodyCost",
    "BodyKind",
    "BodySummary",
    "body_kind",
    "body_kinds",
    "coupling_classes",
    "load_plugins",
    "make_solver",
    "mesh_operation",
    "name_solver",
    "on_new_body_kind",
    "register_body",
    "register_coupling",
    "register_mesh_operation",
    "register_system",
    "system_class",
    "system_classes",
    "unregister_body",
    "unregister_system",
]

ENTRY_POINTS = "continua.bodies"

_MODULES = (  # those that register the systems and couplings of Continua itself
    "continua.grid_fluids.system",
    "continua.sph.system",
    "continua.coupling.contact.system",
    "continua.coupling.fluid.sph_coupling",
    "continua.coupling.fluid.grid_coupling",
)

# --- changes of meshes ----------------------------------------------------------------------------------------

_OPERATIONS = {"cut": "continua.cutting"}  # modules that register the operations of Continua itself
_operations: dict[str, Callable[..., Any]] = {}


def register_mesh_operation(name: str, make: Callable[..., Any]) -> None:
    """Make a function known that returns a change of a mesh, for bodies of a lower layer."""
    _operations[name] = make


def mesh_operation(name: str) -> Callable[..., Any]:
    """Return the function that makes a change of a mesh, such as "cut"."""
    if name not in _operations:
        import_module(_OPERATIONS[name])
    return _operations[name]


# --- systems and couplings ------------------------------------------------------------------------------------

_systems: dict[str, type[System]] = {}
_couplings: dict[str, type[Coupling]] = {}

S = TypeVar("S", bound="type[System]")
C = TypeVar("C", bound="type[Coupling]")


def register_system(system: S) -> S:
    """Make a class of systems known to all worlds; for use as a decorator.

    A class of the same module and name replaces the one that was registered before.
    """
    if not system.kinds:
        raise InputError(f"the system {system.__name__} takes no kinds of bodies; set its 'kinds'")
    if getattr(system.step, "__isabstractmethod__", False):
        raise InputError(f"the system {system.__name__} cannot advance its bodies; define its 'step'")
    for other in _systems.values():
        for kind in set(system.kinds) & set(other.kinds):
            if _path(other) != _path(system):
                raise InputError(
                    f"the system {system.__name__} takes {kind.__name__}, which {other.__name__} takes already"
                )
    _systems[_path(system)] = system
    return system


def register_coupling(coupling: C) -> C:
    """Make a class of couplings known to all worlds; for use as a decorator."""
    if not coupling.joins:
        raise InputError(f"the coupling {coupling.__name__} joins no systems; set its 'joins'")
    if getattr(coupling.make, "__isabstractmethod__", False):
        raise InputError(f"the coupling {coupling.__name__} cannot be made; define its 'make'")
    _couplings[_path(coupling)] = coupling
    return coupling


def unregister_system(system: type[System]) -> None:
    """Make worlds forget a class of systems."""
    _systems.pop(_path(system), None)


def system_classes() -> tuple[type[System], ...]:
    """Return the registered systems, in the order in which they are stepped."""
    _load_own()
    return tuple(sorted(_systems.values(), key=lambda system: system.order))


def coupling_classes() -> tuple[type[Coupling], ...]:
    """Return the registered couplings, in the order in which they are called."""
    _load_own()
    return tuple(sorted(_couplings.values(), key=lambda coupling: coupling.order))


def system_class(body: Any) -> type[System]:
    """Return the system that takes a body, by its class, the nearest base of this or what it offers."""
    _load_own()
    by_kind = {kind: system for system in _systems.values() for kind in system.kinds}
    for kind in type(body).__mro__:
        if kind in by_kind:
            return by_kind[kind]
    for system in _systems.values():
        if system.takes(body):
            return system
    raise InputError(
        f"a world cannot step a {type(body).__name__}: no system takes it; register one with "
        "continua.registry.register_system"
    )


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _load_own() -> None:
    """Import the modules of Continua that register systems and couplings, once."""
    for module in _MODULES:
        import_module(module)


# --- linear solvers ---------------------------------------------------------------------------------------------

AUTO_SOLVER = "auto"
"""The name that leaves the choice of the linear solver to the body."""

_solvers: dict[str, Callable[..., Any] | str] = {
    "pcg": "continua.linalg:PCG",
    "merged_pcg": "continua.linalg:MergedPCG",
    "multigrid": "continua.linalg:Multigrid",
    "pmultigrid": "continua.linalg:PMultigrid",
    "direct": "continua.linalg:Direct",
}


def name_solver(name: str, solver: Callable[..., LinearSolver] | str) -> None:
    """Make a class of linear solvers, or its path "module:Class", known by a name."""
    if name == AUTO_SOLVER or name in _solvers:
        raise InputError(f"there is a solver called '{name}' already; choose another name")
    _solvers[name] = solver


def make_solver(name: str, **options: Any) -> LinearSolver | None:
    """Return a new linear solver by its name, with options as keywords; None for "auto"."""
    if choice(name, "the name of a solver", (AUTO_SOLVER, *_solvers)) == AUTO_SOLVER:
        return None
    made: LinearSolver = _function(_solvers[name])(**options)
    return made


# --- kinds of bodies in scene files -----------------------------------------------------------------------------


@dataclass(frozen=True)
class BodySummary:
    """What `continua info` tells of a body before it is simulated.

    Attributes:
        elements: What it consists of, such as "1,200 particles".
        unknowns: Number of unknowns of a step.
        material: What it is made of.
        order: Order of the elements, or "-".
        memory: Roughly the memory of a run [bytes].
    """

    elements: str
    unknowns: int
    material: str
    order: str = "-"
    memory: float = 0.0


@dataclass(frozen=True)
class BodyCost:
    """The estimated cost of making a body and of its first step.

    Attributes:
        count: Number of its elements, particles or cells.
        what: Which of them, in the plural.
        memory: Peak memory [bytes].
        seconds: Wall time [s].
    """

    count: float
    what: str
    memory: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class BodyKind:
    """A kind of body in scene files. Functions may be named as text, "module:function", to be imported when needed.

    Attributes:
        tag: The `type` in scene files.
        model: Its pydantic model, with `type: Literal[tag]` and a `name`.
        build: Makes the body: a function of the scene and the number of the body in it.
        label: Its name in menus; by default made from the tag.
        describe: Returns the `BodySummary` of a body: a function of the scene and the number. By default the body is
            made and asked.
        estimate: Returns the `BodyCost` of a body without making it: a function of the scene and the number. None if
            its cost is small.
        template: Returns a new entry of a scene: a function of the shape, the name, a position [m] and the height of
            the ground [m]. None if the studio's menu does not offer this kind.
        shapes: The shapes that the template knows, as words; the studio shows one button for each.
    """

    tag: str
    model: type[Any]
    build: Callable[[Any, int], Any] | str
    label: str = ""
    describe: Callable[[Any, int], BodySummary] | str | None = None
    estimate: Callable[[Any, int], BodyCost] | str | None = None
    template: Callable[[str, str, Sequence[float], float], dict[str, Any]] | str | None = None
    shapes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The label, or one made from the tag."""
        return self.label or self.tag.replace("_", " ").capitalize()

    def make(self, scene: Any, number: int) -> Any:
        """Return the body that is number `number` of the scene."""
        return _function(self.build)(scene, number)

    def summary_of(self, scene: Any, number: int) -> BodySummary:
        """Return what `continua info` tells of body `number` of the scene."""
        if self.describe is not None:
            return _function(self.describe)(scene, number)
        body = self.make(scene, number)
        parts = ", ".join(f"{value:,} {key}" if isinstance(value, int) else str(value)
                          for key, value in body.summary().items())  # fmt: skip
        return BodySummary(parts or f"{body.node_count:,} nodes", 3 * body.node_count, self.title.lower())

    def cost_of(self, scene: Any, number: int) -> BodyCost | None:
        """Return the estimated cost of body `number` of the scene, or None if it is small."""
        if self.estimate is None:
            return None
        cost: BodyCost = _function(self.estimate)(scene, number)
        return cost

    def new_entry(self, shape: str, name: str, position: Sequence[float], ground: float) -> dict[str, Any]:
        """Return the entry of a new body for a scene, at a position [m] above the ground [m]."""
        assert self.template is not None
        return _function(self.template)(shape, name, position, ground)


_bodies: dict[str, BodyKind] = {}
_listeners: list[Callable[[], None]] = []


def register_body(kind: BodyKind) -> BodyKind:
    """Make a kind of body known to scene files, and to all that is made from them.

    A model of the same module and name replaces the one that was registered before under its tag.
    """
    fields: Mapping[str, Any] = getattr(kind.model, "model_fields", {})
    if kind.tag not in getattr(getattr(fields.get("type"), "annotation", None), "__args__", ()):
        raise InputError(
            f"the model of the bodies '{kind.tag}' must have the key 'type: Literal[\"{kind.tag}\"]'"
        )
    if "name" not in fields:
        raise InputError(f"the model of the bodies '{kind.tag}' must have a key 'name'")
    before = _bodies.get(kind.tag)
    if before is not None and _path(before.model) != _path(kind.model):
        raise InputError(f"scenes have bodies of the type '{kind.tag}' already; choose another tag")
    _bodies[kind.tag] = kind
    try:
        _notify()
    except Exception:
        if before is None:
            del _bodies[kind.tag]
        else:
            _bodies[kind.tag] = before
        _notify()
        raise
    return kind


def unregister_body(tag: str) -> None:
    """Make scene files forget a kind of body."""
    if _bodies.pop(tag, None) is not None:
        _notify()


def body_kinds() -> dict[str, BodyKind]:
    """Return the registered kinds of bodies by their tags."""
    return dict(_bodies)


def body_kind(spec: Any) -> BodyKind:
    """Return the kind of a body of a scene."""
    return _bodies[spec.type]


def on_new_body_kind(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` whenever the kinds of bodies have changed; for use as a decorator."""
    _listeners.append(listener)
    return listener


def _notify() -> None:
    for listener in _listeners:
        listener()


@cache
def load_plugins() -> None:
    """Import the modules that installed packages name as entry points of the group "continua.bodies", once.

    One that cannot be imported is warned of; scenes that do not need it can still be used.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            package = "" if entry.dist is None else f" of the package '{entry.dist.name}'"
            warn_user(f"the kind of bodies '{entry.name}'{package} cannot be loaded: {error}")


def _function(target: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return a function, imported if it is named as text."""
    if not isinstance(target, str):
        return target
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
