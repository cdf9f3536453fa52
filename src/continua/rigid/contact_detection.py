"""Detection of the contacts of rigid bodies, with warm starting from the last step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.collision.rigid.narrow_phase import MAX_CONTACTS_PER_PAIR, collide_pairs
from continua.collision.rigid.sweep_and_prune import find_overlapping_pairs, pair_margins, swept_boxes
from continua.contact_solver import Contact
from continua.contact_solver.rigid_contact_layout import COLUMNS
from continua.contact_solver.rigid_manifold import build_contacts, store_warm_start
from continua.errors import InputError
from continua.geometry.primitive_kernels import GENERIC_SHAPE, MESH
from continua.numerics.timers import timed
from continua.rigid.rigid_state import RigidState
from continua.rigid.sdf_contact import SdfContactSampler

__all__ = ["RigidContactDetector", "RigidContacts"]

_PARALLEL_FROM = 256  # pairs; with fewer, starting threads takes longer


@dataclass(eq=False)
class RigidContacts:
    """The contacts of a step.

    Attributes:
        pairs: The two instances of each contact, shape [c, 2].
        rows: The contacts, one row each, see `contact_solver.rigid_pgs`, shape [c, 44].
        first: First contact of each touching pair, and the end.
        pair_keys: Keys a * n + b of the touching pairs, sorted.
        features: Feature number of each contact within its pair, shape [c].
    """

    pairs: NDArray[np.int32]
    rows: NDArray[np.float64]
    first: NDArray[np.int32]
    pair_keys: NDArray[np.int64]
    features: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)


class RigidContactDetector:
    """Broad phase, narrow phase and warm starts of the contacts of rigid bodies.

    Args:
        state: All instances.
        contact: Contact options.
        names: Names of bodies and colliders, for the pairs of `contact`.
        excluded_pairs: Pairs of instances that never touch, such as those with a common joint.
    """

    def __init__(
        self, state: RigidState, contact: Contact, names: list[str], excluded_pairs: list[tuple[int, int]]
    ) -> None:
        self._rigid_state, self._sdf_sampler = state, SdfContactSampler(state)
        n = len(state.X)
        participants = [*state.bodies, *state.colliders]
        self._contact = contact
        self._participants = participants
        self._read_coefficients()
        self._collide = np.ones((len(participants), len(participants)), np.bool_)
        self._overrides: list[tuple[int, int, Mapping[str, Any]]] = []
        for (one, other), values in contact.pairs.items():
            if one in names and other in names:
                i, j = names.index(one), names.index(other)
                self._collide[i, j] = self._collide[j, i] = values.get("collide", True)
                self._overrides.append((i, j, values))
        self._excluded_pairs = np.array(sorted({min(p) * n + max(p) for p in excluded_pairs}), np.int64)
        self._lower, self._upper = np.empty((n, 3)), np.empty((n, 3))
        self._pairs = np.empty((max(64, 4 * n), 2), np.int32)
        self.clear_warm_start()

    def _read_coefficients(self) -> None:
        """Read friction and restitution of bodies and colliders; they may change at any time."""
        given = [(getattr(t, "friction", None), getattr(t, "restitution", None)) for t in self._participants]
        table = np.array([[np.nan if c is None else c for c in row] for row in given], np.float64).reshape(
            -1, 2
        )
        self._friction, self._restitution = table[:, 0].copy(), table[:, 1].copy()

    def clear_warm_start(self) -> None:
        """Clear the impulses of the last step."""
        self._previous_keys = np.zeros(0, np.int64)
        self._previous_first = np.zeros(1, np.int32)
        self._warm_start = np.zeros((0, 8))

    def state(self) -> dict[str, NDArray]:
        """Return what a bitwise identical restart needs."""
        return {"pairs": self._previous_keys, "first": self._previous_first, "memory": self._warm_start}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state()`."""
        for key in ("pairs", "first", "memory"):
            if key not in state:
                raise InputError(f"the state of the rigid contacts lacks '{key}'")
        self._previous_keys = np.array(state["pairs"], np.int64)
        self._previous_first = np.array(state["first"], np.int32)
        self._warm_start = np.array(state["memory"], np.float64).reshape(-1, 8)

    def take_warm_start(self, before: RigidContactDetector, rows: NDArray[np.int64]) -> None:
        """Take over the impulses of a detector with other instances; `rows` are the new ones of its, -1 if gone."""
        n, count = len(before._rigid_state.X), len(self._rigid_state.X)
        pairs = rows[np.column_stack([before._previous_keys // n, before._previous_keys % n])]
        stay = np.flatnonzero((pairs >= 0).all(axis=1))
        keys = pairs[stay, 0] * count + pairs[stay, 1]
        stay = stay[np.argsort(keys, kind="stable")]
        lengths = np.diff(before._previous_first)[stay]
        starts = before._previous_first[:-1][stay]
        contacts = [np.arange(a, a + k) for a, k in zip(starts.tolist(), lengths.tolist(), strict=True)]
        self._previous_keys = np.sort(keys)
        self._previous_first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self._warm_start = before._warm_start[np.concatenate([np.zeros(0, np.int64), *contacts])]

    @timed("contact search")
    def detect(
        self, dt: float, h: float, free_fall: float, subset: NDArray[np.bool_] | None = None
    ) -> RigidContacts:
        """Return the contacts that are closed or may close within `dt` [s]; substeps are `h` [s] long.

        Args:
            dt: Time to look ahead [s].
            h: Length of a substep [s].
            free_fall: Distance of a free fall in that time [m].
            subset: The dynamic instances that count, by a mask [n]; None is all.
        """
        p = self._rigid_state
        self._read_coefficients()
        pairs = self.broad_phase(dt, free_fall)
        if subset is not None:
            pairs = pairs[(subset | ~p.is_dynamic)[pairs].all(axis=1)]
        return self._build(pairs, self._narrow_phase(pairs, dt, free_fall), h)

    def penetrations(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the pairs of instances that overlap now [k, 2], and the depth of each [m], shape [k]."""
        pairs = self.broad_phase(0.0, 0.0)
        counts, _, _, gaps, _ = self._narrow_phase(pairs, 0.0, 0.0)
        used = np.arange(MAX_CONTACTS_PER_PAIR) < counts[:, None]
        depth = -np.where(used, gaps, np.inf).min(axis=1, initial=np.inf)
        return pairs[depth > 0.0], depth[depth > 0.0]

    def _narrow_phase(self, pairs: NDArray[np.int32], dt: float, free_fall: float) -> tuple[NDArray, ...]:
        """Return number, positions, normals, gaps and features of the contacts of each pair."""
        p, m = self._rigid_state, len(pairs)
        counts, gaps = np.zeros(m, np.int32), np.empty((m, MAX_CONTACTS_PER_PAIR))
        positions, normals = np.empty((m, MAX_CONTACTS_PER_PAIR, 3)), np.empty((m, MAX_CONTACTS_PER_PAIR, 3))
        features = np.empty((m, MAX_CONTACTS_PER_PAIR), np.int64)
        max_gap = np.empty(m)
        pair_margins(pairs, p.kind, p.V, p.radius, p.contact_margin + free_fall, dt, max_gap)
        found = (counts, positions, normals, gaps, features)
        is_primitive = self._are_primitives(pairs)
        if is_primitive.all():
            collide_pairs.variant(m >= _PARALLEL_FROM)(pairs, max_gap, p.kind, p.size, p.X, p.R, *found)
        else:
            self._detect_mixed(pairs, max_gap, is_primitive, found)
        return found

    def store_warm_start(self, contacts: RigidContacts, h: float) -> None:
        """Store the impulses for the next step."""
        self._previous_keys, self._previous_first = contacts.pair_keys, contacts.first
        self._warm_start = np.empty((len(contacts), 8))
        store_warm_start(
            self._rigid_state.X,
            self._rigid_state.R,
            contacts.pairs,
            contacts.rows,
            contacts.features,
            h,
            self._warm_start,
        )

    @property
    def aabbs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the swept boxes of the last search [m], shape [n, 3] each."""
        return self._lower, self._upper

    def broad_phase(self, dt: float, free_fall: float) -> NDArray[np.int32]:
        """Return the pairs whose boxes overlap, sorted."""
        p = self._rigid_state
        n = len(p.X)
        swept_boxes(
            p.kind,
            p.size,
            p.X,
            p.R,
            p.V,
            p.radius,
            p.contact_margin + free_fall,
            dt,
            self._lower,
            self._upper,
        )
        axis = int(np.ptp(p.X[: p.count], axis=0).argmax()) if p.count else 0
        order = np.argsort(self._lower[:, axis], kind="stable")
        while True:
            count = find_overlapping_pairs(
                order,
                axis,
                self._lower,
                self._upper,
                p.is_dynamic,
                p.owner,
                self._collide,
                p.kind,
                self._excluded_pairs,
                self._pairs,
            )
            if count <= len(self._pairs):
                break
            self._pairs = np.empty((count + count // 4, 2), np.int32)
        pairs = self._pairs[:count]
        return pairs[np.argsort(pairs[:, 0].astype(np.int64) * n + pairs[:, 1], kind="stable")]

    def _are_primitives(self, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        kinds = self._rigid_state.kind[pairs]
        return ~((kinds == MESH) | (kinds == GENERIC_SHAPE)).any(axis=1)

    def _detect_mixed(self, pairs: NDArray, max_gap: NDArray, is_primitive: NDArray, found: tuple) -> None:
        """Collide pairs of primitives together, and those with a mesh or a generic collider by sampled distances."""
        p = self._rigid_state
        some = np.flatnonzero(is_primitive)
        part = tuple(np.empty((len(some), *array.shape[1:]), array.dtype) for array in found)
        collide_pairs.variant(len(some) >= _PARALLEL_FROM)(
            pairs[some], max_gap[some], p.kind, p.size, p.X, p.R, *part
        )
        for whole, own in zip(found, part, strict=True):
            whole[some] = own
        self._sdf_sampler.detect(pairs, max_gap, np.flatnonzero(~is_primitive), found)

    def _build(self, pairs: NDArray, found: tuple, h: float) -> RigidContacts:
        p = self._rigid_state
        n = len(p.X)
        counts = found[0]
        total = int(counts.sum())
        keys = pairs[:, 0].astype(np.int64) * n + pairs[:, 1]
        at = np.searchsorted(self._previous_keys, keys)
        known = np.zeros(len(keys), np.bool_)
        inside = at < len(self._previous_keys)
        known[inside] = self._previous_keys[at[inside]] == keys[inside]
        previous = np.where(known, at, -1)
        friction, restitution = self._pair_coefficients(p.owner[pairs])
        AB, C = np.empty((total, 2), np.int32), np.empty((total, COLUMNS))
        first, features = np.empty(int((counts > 0).sum()) + 1, np.int32), np.empty(total, np.int64)
        build_contacts(
            pairs, *found, friction, restitution, p.kind, p.size, p.radius, p.X, p.R,
            previous, self._previous_first, self._warm_start, h, AB, C, first, features,
        )  # fmt: skip
        return RigidContacts(AB, C, first, keys[counts > 0], features)

    def _pair_coefficients(
        self, groups: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
