"""Finding the contacts of a world's rigid pieces, and knowing them again in the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.contact import Contact
from continua.contact.impulses import COLUMNS
from continua.contact.rigid_broad import pair_reach, sweep, sweep_boxes
from continua.contact.rigid_gather import gather_contacts, keep_contacts
from continua.contact.rigid_pairs import SLOTS, meet_pairs
from continua.contact.rigid_shapes import MESH, OTHER
from continua.errors import InputError
from continua.numerics.stages import timed
from continua.rigid.pieces import Pieces
from continua.rigid.probing import Prober

__all__ = ["Detector", "Touching"]

_PARALLEL_FROM = 256  # pairs; below, they take less time than starting the threads


@dataclass(eq=False)
class Touching:
    """The contacts of a step.

    Attributes:
        AB: The two pieces of each contact, shape [c, 2].
        C: The contacts, one row each, see `contact.sweeps`, shape [c, 44].
        first: First contact of each touching pair, and the end.
        pairs: Numbers a * n + b of the touching pairs, sorted.
        features: Number of each contact within its pair, shape [c].
    """

    AB: NDArray[np.int32]
    C: NDArray[np.float64]
    first: NDArray[np.int32]
    pairs: NDArray[np.int64]
    features: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.C)


class Detector:
    """Broad phase, narrow phase and memory of the contacts of a world's rigid pieces.

    Args:
        pieces: The pieces.
        contact: What the user says about contact.
        names: Names of bodies and colliders, for single pairs.
        barred: Pairs of pieces that never touch, such as those with a common joint.
    """

    def __init__(
        self, pieces: Pieces, contact: Contact, names: list[str], barred: list[tuple[int, int]]
    ) -> None:
        self._pieces, self._prober = pieces, Prober(pieces)
        n = len(pieces.X)
        things = [*pieces.bodies, *pieces.colliders]
        self._contact = contact
        self._things = things
        self._take_constants()
        self._touch = np.ones((len(things), len(things)), np.bool_)
        self._overrides: list[tuple[int, int, Mapping[str, Any]]] = []
        for (one, other), values in contact.pairs.items():
            if one in names and other in names:
                i, j = names.index(one), names.index(other)
                self._touch[i, j] = self._touch[j, i] = values.get("touch", True)
                self._overrides.append((i, j, values))
        self._barred = np.array(sorted({min(p) * n + max(p) for p in barred}), np.int64)
        self._low, self._high = np.empty((n, 3)), np.empty((n, 3))
        self._pairs = np.empty((max(64, 4 * n), 2), np.int32)
        self.forget()

    def _take_constants(self) -> None:
        """Take friction and restitution from bodies and colliders; they may change at any time."""
        given = [(getattr(t, "friction", None), getattr(t, "restitution", None)) for t in self._things]
        table = np.array([[np.nan if c is None else c for c in row] for row in given], np.float64).reshape(
            -1, 2
        )
        self._friction, self._restitution = table[:, 0], table[:, 1]

    def forget(self) -> None:
        """Forget the impulses of the last step."""
        self._old_pairs = np.zeros(0, np.int64)
        self._old_first = np.zeros(1, np.int32)
        self._memory = np.zeros((0, 8))

    def state(self) -> dict[str, NDArray]:
        """Return what a bit-equal restart needs."""
        return {"pairs": self._old_pairs, "first": self._old_first, "memory": self._memory}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state from `state()`."""
        for key in ("pairs", "first", "memory"):
            if key not in state:
                raise InputError(f"the state of the rigid contacts lacks '{key}'")
        self._old_pairs = np.array(state["pairs"], np.int64)
        self._old_first = np.array(state["first"], np.int32)
        self._memory = np.array(state["memory"], np.float64).reshape(-1, 8)

    @timed("contact search")
    def find(self, dt: float, h: float, fall: float, only: NDArray[np.bool_] | None = None) -> Touching:
        """Return what touches, or will within `dt` [s]; small steps are `h` [s] long.

        Args:
            dt: Time to look ahead [s].
            h: Length of a small step [s].
            fall: Way of a free fall in that time [m].
            only: The pieces that count, of those that can be moved [n]; None is all.
        """
        p = self._pieces
        self._take_constants()
        pairs = self.near(dt, fall)
        if only is not None:
            pairs = pairs[(only | ~p.moves)[pairs].all(axis=1)]
        m = len(pairs)
        counts, gaps = np.zeros(m, np.int32), np.empty((m, SLOTS))
        places, normals = np.empty((m, SLOTS, 3)), np.empty((m, SLOTS, 3))
        features = np.empty((m, SLOTS), np.int64)
        reach = np.empty(m)
        pair_reach(pairs, p.kind, p.V, p.radius, p.slack + fall, dt, reach)
        found = (counts, places, normals, gaps, features)
        plain = self._plain(pairs)
        if plain.all():
            meet_pairs.pick(m >= _PARALLEL_FROM)(pairs, reach, p.kind, p.size, p.X, p.R, *found)
        else:
            self._mixed(pairs, reach, plain, found)
        return self._gathered(pairs, found, h)

    def keep(self, touching: Touching, h: float) -> None:
        """Remember the impulses for the next step."""
        self._old_pairs, self._old_first = touching.pairs, touching.first
        self._memory = np.empty((len(touching), 8))
        keep_contacts(
            self._pieces.X, self._pieces.R, touching.AB, touching.C, touching.features, h, self._memory
        )

    @property
    def boxes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the pieces' boxes [m], shape [n, 3] each, as the last search had them."""
        return self._low, self._high

    def near(self, dt: float, fall: float) -> NDArray[np.int32]:
        """Return the pairs whose boxes overlap, sorted."""
        p = self._pieces
        n = len(p.X)
        sweep_boxes(p.kind, p.size, p.X, p.R, p.V, p.radius, p.slack + fall, dt, self._low, self._high)
        axis = int(np.ptp(p.X[: p.count], axis=0).argmax()) if p.count else 0
        order = np.argsort(self._low[:, axis], kind="stable")
        while True:
            count = sweep(
                order,
                axis,
                self._low,
                self._high,
                p.moves,
                p.group,
                self._touch,
                p.kind,
                self._barred,
                self._pairs,
            )
            if count <= len(self._pairs):
                break
            self._pairs = np.empty((count + count // 4, 2), np.int32)
        pairs = self._pairs[:count]
        return pairs[np.argsort(pairs[:, 0].astype(np.int64) * n + pairs[:, 1], kind="stable")]

    def _plain(self, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        kinds = self._pieces.kind[pairs]
        return ~((kinds == MESH) | (kinds == OTHER)).any(axis=1)

    def _mixed(self, pairs: NDArray, reach: NDArray, plain: NDArray, found: tuple) -> None:
        """Meet simple pairs together, and those with a mesh or another obstacle by points and distances."""
        p = self._pieces
        some = np.flatnonzero(plain)
        part = tuple(np.empty((len(some), *array.shape[1:]), array.dtype) for array in found)
        meet_pairs.pick(len(some) >= _PARALLEL_FROM)(
            pairs[some], reach[some], p.kind, p.size, p.X, p.R, *part
        )
        for whole, own in zip(found, part, strict=True):
            whole[some] = own
        self._prober.run(pairs, reach, np.flatnonzero(~plain), found)

    def _gathered(self, pairs: NDArray, found: tuple, h: float) -> Touching:
        p = self._pieces
        n = len(p.X)
        counts = found[0]
        total = int(counts.sum())
        keys = pairs[:, 0].astype(np.int64) * n + pairs[:, 1]
        at = np.searchsorted(self._old_pairs, keys)
        known = np.zeros(len(keys), np.bool_)
        inside = at < len(self._old_pairs)
        known[inside] = self._old_pairs[at[inside]] == keys[inside]
        old = np.where(known, at, -1)
        friction, restitution = self._constants(p.group[pairs])
        AB, C = np.empty((total, 2), np.int32), np.empty((total, COLUMNS))
        first, features = np.empty(int((counts > 0).sum()) + 1, np.int32), np.empty(total, np.int64)
        gather_contacts(
            pairs, *found, friction, restitution, p.kind, p.size, p.radius, p.X, p.R,
            old, self._old_first, self._memory, h, AB, C, first, features,
        )  # fmt: skip
        return Touching(AB, C, first, keys[counts > 0], features)

    def _constants(self, groups: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return friction and restitution of pairs of bodies and colliders [p, 2]."""
        one, other = self._friction[groups].T
        both = np.sqrt(one * other)
        friction = np.where(np.isnan(one), other, np.where(np.isnan(other), one, both))
        friction = np.where(np.isnan(friction), self._contact.friction, friction)
        one, other = self._restitution[groups].T
        restitution = np.fmax(one, other)
        restitution = np.where(np.isnan(restitution), self._contact.restitution, restitution)
        for i, j, values in self._overrides:
            pair = ((groups == (i, j)) | (groups == (j, i))).all(axis=1)
            friction[pair] = values.get("friction", friction[pair] if pair.any() else 0.0)
            restitution[pair] = values.get("restitution", restitution[pair] if pair.any() else 0.0)
        return friction, restitution
