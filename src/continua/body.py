"""What the world asks of a body, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from continua.frames import BodyFrame
from continua.surroundings import Surroundings

__all__ = ["Body"]


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

    def prepare(self, surroundings: Surroundings) -> None:
        """Enter a world: gravity, wind and time come from `surroundings` from now on."""

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

    def facts(self) -> dict[str, int | str]:
        """Return how many parts of which kind it has, for reports."""

    def shape_bytes(self) -> bytes:
        """Return the body's geometry as bytes; a run may only go on with the same."""
