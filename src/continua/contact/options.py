"""What a user says about contact: friction, restitution, thickness, and what holds for single pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.values import isfinite

__all__ = ["Contact", "PairTable"]

_PAIR_KEYS = ("friction", "restitution", "touch")


def check_constant(value: float | None, what: str, most: float | None = None) -> None:
    """Raise InputError unless `value` is None or a finite number from 0 to `most`."""
    if value is None:
        return
    if not isfinite(value) or value < 0.0 or (most is not None and value > most):
        to = "at least 0" if most is None else f"from 0 to {most:g}"
        raise InputError(f"{what} must be a finite number of {to}, not {value}")


@dataclass(frozen=True)
class Contact:
    """How things in a world touch each other.

    Attributes:
        friction: Coulomb's coefficient where neither side has its own.
        restitution: Part of the normal speed that a hit gives back where neither side has its own.
        thickness: Distance [m] that surfaces of meshes keep from each other; None takes a small part of the length
            of their edges.
        self_contact: Whether soft bodies touch themselves; a search that bodies which do not fold can do without.
        pairs: What holds for single pairs, by the two names: any of `friction`, `restitution`, and `touch` (False
            lets the two go through each other).
    """

    friction: float = 0.5
    restitution: float = 0.0
    thickness: float | None = None
    self_contact: bool = False
    pairs: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_constant(self.friction, "the friction of contact")
        check_constant(self.restitution, "the restitution of contact", 1.0)
        if self.thickness is not None and not (isfinite(self.thickness) and self.thickness > 0.0):
            raise InputError(f"the thickness of contact must be greater than 0 m, not {self.thickness}")
        for names, values in self.pairs.items():
            if not (isinstance(names, tuple) and len(names) == 2):
                raise InputError(f"a pair of contact is a tuple of two names, not {names!r}")
            said = f"the contact of '{names[0]}' and '{names[1]}'"
            for key, value in values.items():
                if key not in _PAIR_KEYS:
                    raise InputError(f"{said} has no '{key}'; choose from {', '.join(_PAIR_KEYS)}")
                if key != "touch":
                    check_constant(value, f"the {key} of {said}", 1.0 if key == "restitution" else None)


@dataclass(frozen=True, eq=False)
class PairTable:
    """Friction, restitution and whether they touch, for every two of a world's bodies and colliders.

    Attributes:
        friction: Coulomb's coefficients, shape [k, k].
        restitution: Shape [k, k].
        touch: Whether the two can touch, shape [k, k]; the diagonal tells of touching oneself.
    """

    friction: NDArray[np.float64]
    restitution: NDArray[np.float64]
    touch: NDArray[np.bool_]

    @classmethod
    def of(cls, contact: Contact, names: Sequence[str], things: Sequence[Any]) -> PairTable:
        """Work out the table of things, each with a name and perhaps a `friction` and a `restitution` of its own."""
        k = len(things)
        own = [(getattr(thing, "friction", None), getattr(thing, "restitution", None)) for thing in things]
        friction, restitution = np.zeros((k, k)), np.zeros((k, k))
        touch = np.ones((k, k), np.bool_)
        for i in range(k):
            for j in range(k):
                friction[i, j] = _friction(own[i][0], own[j][0], contact.friction)
                given = [e for e in (own[i][1], own[j][1]) if e is not None]
                restitution[i, j] = max(given) if given else contact.restitution
            touch[i, i] = contact.self_contact
        for pair, values in contact.pairs.items():
            i, j = (_number(name, names) for name in pair)
            for table, key in ((friction, "friction"), (restitution, "restitution"), (touch, "touch")):
                if key in values:
                    table[i, j] = table[j, i] = values[key]
        return cls(friction, restitution, touch)


def _friction(one: float | None, other: float | None, default: float) -> float:
    if one is None:
        return default if other is None else other
    return one if other is None else sqrt(one * other)


def _number(name: str, names: Sequence[str]) -> int:
    if name not in names:
        has = ", ".join(name for name in names if name) or "none"
        raise InputError(f"a pair of contact names '{name}', but nothing is called so (there is: {has})")
    return list(names).index(name)
