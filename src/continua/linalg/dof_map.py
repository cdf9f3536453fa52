"""The map from elements to the unknowns of a field, which need not be nodes and need not be equally many per element.

A degree of freedom (dof) here is one block of unknowns of a field: the three components of a displacement, or one
pressure. Linear and higher-order elements have one dof per node. Enriched elements (XFEM) have more dofs than others,
and a pressure per element belongs to no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from continua.errors import InputError
from continua.validation import (
    check_memory,
    given_array,
    index,
    instances_of,
    sequence,
    whole_number,
    whole_numbers,
)

__all__ = ["DofMap"]

_MAX_ENTRIES = 2**31  # entries are counted in 32 bits


@dataclass(frozen=True, eq=False, repr=False)
class DofMap:
    """The dofs of every element of one field, in CSR form.

    Attributes:
        offsets: Element e has the entries `offsets[e]:offsets[e + 1]`, shape [m + 1].
        dofs: Dof of every entry, shape [offsets[m]].
        dof_count: Number of dofs of the field; dofs without elements are allowed.
    """

    offsets: NDArray[np.int64]
    dofs: NDArray[np.int32]
    dof_count: int

    def __post_init__(self) -> None:
        offsets = given_array(self.offsets, "offsets", (None,), np.int64)
        dofs = given_array(self.dofs, "dofs", (None,), np.int32)
        count = whole_number(self.dof_count, "the number of dofs", low=0, high=2**31 - 1)
        object.__setattr__(self, "dof_count", count)
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(dofs) or (np.diff(offsets) < 0).any():
            raise InputError(
                f"offsets of a dof map must rise from 0 to the number of entries, {len(dofs)}; they do not"
            )
        if len(dofs) >= _MAX_ENTRIES:
            raise InputError(f"{len(dofs):,} entries are more than a dof map can index; use fewer elements")
        if len(dofs) and not (dofs.min() >= 0 and dofs.max() < self.dof_count):
            raise InputError(f"dofs of elements must be from 0 to {self.dof_count - 1}")

    @classmethod
    def from_nodes(cls, elements: NDArray[np.integer], node_count: int) -> DofMap:
        """Return the map with one dof per node, for elements [m, k] with equally many nodes each."""
        if not (isinstance(elements, np.ndarray) and elements.ndim == 2 and elements.dtype == np.int32):
            elements = whole_numbers(elements, "elements", (None, None))
        m, k = elements.shape
        if max(16, k) * m >= _MAX_ENTRIES:
            raise InputError(f"{m:,} elements are more than the pattern can index; use fewer")
        dofs = np.ascontiguousarray(elements, dtype=np.int32).reshape(-1)
        return cls(np.arange(m + 1, dtype=np.int64) * k, dofs, node_count)

    @classmethod
    def from_lists(cls, elements: Iterable[Sequence[int]], dof_count: int) -> DofMap:
        """Return the map of elements that are lists of dofs of any length."""
        lists = [
            whole_numbers(dofs, "the dofs of an element", (None,), low=-(2**31)).astype(np.int32)
            for dofs in sequence(elements, "the elements of a dof map")
        ]
        offsets = np.concatenate([[0], np.cumsum([len(dofs) for dofs in lists], dtype=np.int64)])
        return cls(offsets.astype(np.int64), np.concatenate([np.zeros(0, np.int32), *lists]), dof_count)

    @classmethod
    def per_element(cls, element_count: int, count: int = 1) -> DofMap:
        """Return the map with `count` dofs inside every element, shared with no other element."""
        element_count = whole_number(element_count, "the number of elements", low=0)
        count = whole_number(count, "the number of dofs of an element", low=0)
        check_memory(element_count * max(count, 2), 12, "a dof map", "dofs", "use fewer", _MAX_ENTRIES - 1)
        dofs = np.arange(element_count * count, dtype=np.int32)
        return cls(np.arange(element_count + 1, dtype=np.int64) * count, dofs, element_count * count)

    @classmethod
    def concatenate(cls, maps: Sequence[DofMap]) -> DofMap:
        """Return a field that has the dofs of all maps, numbered map by map; elements list them in this order.

        This is how enrichments are added to the dofs of nodes.
        """
        maps = instances_of(maps, DofMap, "the dof maps of a field")
        counts = {len(each.offsets) for each in maps}
        if len(counts) != 1:
            raise InputError("dof maps of one field must have the same elements")
        sizes = np.stack([np.diff(each.offsets) for each in maps])
        first = np.concatenate([[0], np.cumsum([each.dof_count for each in maps])])
        offsets = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))]).astype(np.int64)
        dofs = np.empty(offsets[-1], np.int32)
        start = offsets[:-1].copy()
        for number, each in enumerate(maps):
            entries = np.repeat(start - each.offsets[:-1], sizes[number]) + np.arange(len(each.dofs))
            dofs[entries] = each.dofs + first[number]
            start += sizes[number]
        return cls(offsets, dofs, int(first[-1]))

    @property
    def element_count(self) -> int:
        """Number of elements."""
        return len(self.offsets) - 1

    @property
    def width(self) -> int | None:
        """Dofs per element if all elements have equally many, else None."""
        m = self.element_count
        if m == 0:
            return 0
        k, rest = divmod(len(self.dofs), m)
        same = rest == 0 and bool((np.diff(self.offsets) == k).all())
        return k if same else None

    @property
    def rectangular(self) -> NDArray[np.int32] | None:
        """The dofs as an array [m, k] if all elements have equally many, else None."""
        k = self.width
        return None if k is None else self.dofs.reshape(self.element_count, k)

    def of(self, element: int) -> NDArray[np.int32]:
        """Return the dofs of one element."""
        element = index(element, "the number of an element", self.element_count)
        return self.dofs[self.offsets[element] : self.offsets[element + 1]]

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        sizes = np.diff(self.offsets)
        low, high = (int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0)
        each = f"{low}" if low == high else f"{low} to {high}"
        return f"DofMap: {self.element_count} elements with {each} dofs, {self.dof_count} dofs"
