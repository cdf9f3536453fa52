"""Contact options: friction, restitution, thickness, and overrides for single pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.short_repr import ShortRepr
from continua.validation import choice, flag, mapping, number, shortened

__all__ = ["Contact", "ContactPairTable"]

_PAIR_KEYS = ("friction", "restitution", "collide")


@dataclass(frozen=True, repr=False)
class Contact(ShortRepr):
    """Contact options of a world.

    Attributes:
        friction: Coulomb's friction coefficient where neither side has its own.
        restitution: Coefficient of restitution where neither side has its own.
        thickness: Distance [m] that surfaces of meshes keep from each other; None uses a small fraction of the length
            of their edges.
        self_contact: Whether soft bodies can touch themselves; bodies that do not fold need no such search. Separate
            pieces of a body touch each other in any case.
        pairs: Overrides for single pairs, by the two names: any of `friction`, `restitution`, and `collide` (False
            lets the two pass through each other; for a body and itself also its pieces).
        budget_ms: Time limit of the contact solves of a step [ms], for interactive use; None is none. A step that
            reaches it says so, and the next one continues from it; results then depend on the speed of the machine.
    """

    friction: float = 0.5
    _: KW_ONLY
    restitution: float = 0.0
    thickness: float | None = None
    self_contact: bool = False
    pairs: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    budget_ms: float | None = None

    def __post_init__(self) -> None:
        number(self.friction, "the friction of contact", low=0.0)
        number(self.restitution, "the restitution of contact", low=0.0, high=1.0)
        if self.thickness is not None:
            number(self.thickness, "the thickness of contact", above=0.0, unit="m")
        flag(self.self_contact, "the self-contact of contact")
        if self.budget_ms is not None:
            number(self.budget_ms, "the budget_ms of contact", above=0.0, unit="ms")
        for names, values in mapping(self.pairs, "the pairs of contact").items():
            if not (isinstance(names, tuple) and len(names) == 2 and all(isinstance(n, str) for n in names)):
                raise InputError(f"a contact pair is a tuple of two names, not {shortened(names)}")
            pair = f"the contact of '{names[0]}' and '{names[1]}'"
            for key, value in mapping(values, f"what holds for {pair}").items():
                choice(key, f"a key of {pair}", _PAIR_KEYS)
                if key == "collide":
                    flag(value, f"'collide' of {pair}")
                else:
                    number(value, f"the {key} of {pair}", low=0.0, high=1.0 if key == "restitution" else None)


@dataclass(frozen=True, eq=False, repr=False)
class ContactPairTable(ShortRepr):
    """Friction, restitution and collision flags for every two of a world's bodies and colliders.

    Attributes:
        friction: Coulomb's friction coefficients, shape [k, k].
        restitution: Coefficients of restitution, shape [k, k].
        collide: Whether the two can touch, shape [k, k]; the diagonal is for self-contact.
        pieces_collide: Whether separate pieces of a body can touch each other, shape [k].
    """

    friction: NDArray[np.float64]
    restitution: NDArray[np.float64]
    collide: NDArray[np.bool_]
    pieces_collide: NDArray[np.bool_]

    @classmethod
    def of(cls, contact: Contact, names: Sequence[str], participants: Sequence[Any]) -> ContactPairTable:
        """Return the table of participants, each with a name and possibly its own `friction` and `restitution`."""
        k = len(participants)
        own = [(getattr(one, "friction", None), getattr(one, "restitution", None)) for one in participants]
        friction, restitution = np.zeros((k, k)), np.zeros((k, k))
        collide, pieces_collide = np.ones((k, k), np.bool_), np.ones(k, np.bool_)
        for i in range(k):
            for j in range(k):
                friction[i, j] = _friction(own[i][0], own[j][0], contact.friction)
                given = [e for e in (own[i][1], own[j][1]) if e is not None]
                restitution[i, j] = max(given) if given else contact.restitution
            collide[i, i] = contact.self_contact
        for pair, values in contact.pairs.items():
            i, j = (_number(name, names) for name in pair)
            for table, key in ((friction, "friction"), (restitution, "restitution"), (collide, "collide")):
                if key in values:
                    table[i, j] = table[j, i] = values[key]
            if i == j and "collide" in values:
                pieces_collide[i] = values["collide"]
        return cls(friction, restitution, collide, pieces_collide)


def _friction(one: float | None, other: float | None, default: float) -> float:
    if one is None:
        return default if other is None else other
    return one if other is None else sqrt(one * other)


def _number(name: str, names: Sequence[str]) -> int:
    if name not in names:
        has = ", ".join(name for name in names if name) or "none"
        raise InputError(
            f"a contact pair names '{name}', but no body or collider has that name (there is: {has})"
        )
    return list(names).index(name)
