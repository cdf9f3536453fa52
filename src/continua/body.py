"""What the world asks of a body, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.environment import Environment
from continua.errors import InputError
from continua.frames import BodyFrame
from continua.validation import sequence, shortened

__all__ = ["Body", "check_bodies", "name_bodies"]


class Body(Protocol):
    """A body of a world: soft, rigid or fluid.

    How it is stepped is not part of this: bodies of a kind are advanced together (see `World.step`).
    """

    name: str

    @property
    def node_count(self) -> int:
        """Number of nodes."""

    @property
    def mass_total(self) -> float:
        """Mass [kg]."""

    @property
    def positions(self) -> NDArray[np.float64]:
        """Node positions [m], shape [n, 3]; a copy."""

    @property
    def rest_positions(self) -> NDArray[np.float64]:
        """Node positions at the start [m], shape [n, 3]."""

    @property
    def triangles(self) -> NDArray[np.int32]:
        """The outer surface over the nodes, outward oriented, shape [k, 3]."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired or remarkable when the body was made, one sentence each."""

    def prepare(self, environment: Environment) -> None:
        """Enter a world: gravity, wind and time come from `environment` from now on."""

    def frame(self, fields: Iterable[str] = ()) -> BodyFrame:
        """Return an immutable snapshot; `fields` are those that files shall have as well."""

    def energy(self) -> dict[str, float]:
        """Return the energies [J] by kind."""

    def state(self) -> dict[str, NDArray]:
        """Return everything that a bit-equal restart needs."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`."""

    def reset(self) -> None:
        """Go back to the start."""

    def summary(self) -> dict[str, int | str]:
        """Return how many parts of which kind it has, for reports."""

    def geometry_bytes(self) -> bytes:
        """Return the body's geometry as bytes; a run may only go on with the same."""


def check_bodies(given: Any) -> tuple[Body, ...]:
    """Return the bodies of a world as a tuple."""
    if _is_body(given):
        raise InputError(f"a world takes a list of bodies: give [body] instead of {shortened(given)}")
    bodies = sequence(given, "the bodies of a world")
    for body in bodies:
        if not _is_body(body):
            raise InputError(f"each of the bodies of a world must be a body, not {shortened(body)}")
    return bodies


def _is_body(given: Any) -> bool:
    methods = ("prepare", "frame", "energy", "state", "restore", "reset")
    return not isinstance(given, type) and all(callable(getattr(given, name, None)) for name in methods)


def name_bodies(bodies: Sequence[Body], caller: FrameType) -> None:
    """Give every nameless body the name of the caller's variable, else "body"; make sure names are unique."""
    for body in bodies:
        if not body.name:
            names = [k for k, v in caller.f_locals.items() if v is body and not k.startswith("_")]
            body.name = names[0] if names else "body"
            others = [other.name for other in bodies if other is not body]
            base, count = body.name, 2
            while body.name in others:
                body.name = f"{base}{count}"
                count += 1
    seen: set[str] = set()
    for body in bodies:
        if body.name in seen:
            raise InputError(f"two bodies are called '{body.name}'; give each its own name")
        if "/" in body.name or body.name == "world":
            raise InputError(f"a body cannot be called '{body.name}'; choose another name")
        seen.add(body.name)
