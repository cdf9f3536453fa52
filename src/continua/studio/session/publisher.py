"""Tells pages what a session shows: snapshots of the world, its state, and what its panel has."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from continua.numerics.stages import REST
from continua.studio.controls.control_panel import Board
from continua.studio.interaction.interaction import Touch
from continua.studio.session.clock import Clock
from continua.studio.session.listeners import Audience
from continua.studio.session.snapshot import Opening, Sample, Snapshot, Stats, energy_of

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["MAX_RATE", "Herald"]

MAX_RATE = 30.0
"""Most snapshots published a second."""

_SAMPLES = 600


class Herald:
    """Publishes what there is to see. Only the simulation's thread changes it; others read.

    Attributes:
        audience: Who hears of it.
        snapshot: The newest snapshot.
        panel: What can be changed in the world, ready for JSON; `panel_version` counts its changes.
        state: How the session is, ready for JSON; `state_version` counts its changes.
        dirty: Whether there is something that no snapshot shows yet.
        times: Seconds of the steps since the last snapshot, and of their stages.
    """

    def __init__(self, opening: Opening) -> None:
        self.audience = Audience()
        self.dirty = False
        self.times: list[tuple[float, Mapping[str, float]]] = []
        self._samples: deque[Sample] = deque(maxlen=_SAMPLES)
        self._shown: tuple[Board | None, int] = (None, 0)
        self._values: dict[str, Any] = {}
        self._next = 0.0
        self.panel: dict[str, Any] = {}
        self.panel_version = 0
        self.state: dict[str, Any] = {}
        self.state_version = 0
        self.snapshot = Snapshot(0, 1, opening.world.frame(), Stats(), opening)

    def forget(self) -> None:
        """Begin anew: the plots start empty, and no step has taken any time yet."""
        self.snapshot = replace(self.snapshot, stats=Stats())
        self.times.clear()
        self._samples.clear()
        self.dirty = True

    def tell_state(self, board: Board, facts: Mapping[str, Any]) -> None:
        """Publish how the session is."""
        if (shown := (board, board.version)) != self._shown:
            self._shown = shown
            self.panel = {"type": "panel", **board.describe()}
            self.panel_version += 1
        self._values = board.values()
        self.state_version += 1
        self.state = {"type": "state", "values": self._values, **facts}
        self.audience.tell_change()

    def due(self, *, force: bool) -> bool:
        """Tell whether there is something new, and it is time to publish it."""
        return self.dirty and (force or time.perf_counter() >= self._next)

    def publish(
        self,
        world: World,
        board: Board,
        touch: Touch,
        clock: Clock,
        opening: Opening | None = None,
        same: bool = False,
    ) -> bool:
        """Publish a snapshot of the world; return whether the world has changed values by itself.

        Args:
            world: The world.
            board: Its knobs.
            touch: What hands do to it.
            clock: How fast it goes.
            opening: How it was opened, if it is another world than before.
            same: Whether that shows the same scene.
        """
        begin = time.perf_counter()
        self.dirty = False
        steps, rate = clock.rates()
        before = self.snapshot
        step_ms, stages = before.stats.step_ms, dict(before.stats.shares)
        if self.times:
            step_ms, stages = _means(self.times)
        self.times.clear()
        frame = world.frame()
        live = board.live()
        look_ms = 1e3 * (time.perf_counter() - begin)
        # Steps come in whole time steps, so the pauses between snapshots differ; their mean counts. Large
        # bodies take long to look at (stresses, energies); at most a third of the time goes into that.
        pause = max(0.5 / MAX_RATE, 3.0 * (time.perf_counter() - begin))
        self._next = max(self._next + 1.0 / MAX_RATE, begin + pause)
        self._samples.append((before.seq + 1, frame.time, step_ms, energy_of(frame)))
        self.snapshot = Snapshot(
            seq=before.seq + 1,
            epoch=before.epoch + (opening is not None),
            view=before.view + (opening is not None and not same),
            frame=frame,
            samples=tuple(self._samples),
            stats=Stats(step_ms, steps, rate, {**stages, "looking": look_ms}),
            opening=opening or before.opening,
            marks=board.marks(),
            live=live,
            hands=touch.forces(),
            probe=None if touch.probe is None else touch.probe.describe(),
            held=tuple((held.body, held.node) for held in touch.held),
            solvers=board.solvers(),
            tunnel=touch.easel.describe(world),
            lines=touch.easel.streamlines(world),
        )
        return board.values() != self._values


def _means(times: Sequence[tuple[float, Mapping[str, float]]]) -> tuple[float, dict[str, float]]:
    """Return the mean milliseconds of steps, and of their stages; what hands do belongs to the rest."""
    step_ms = 1e3 * sum(seconds for seconds, _ in times) / len(times)
    names = dict.fromkeys(name for _, stages in times for name in stages if name != REST)
    shares = {name: 1e3 * sum(stages.get(name, 0.0) for _, stages in times) / len(times) for name in names}
    return step_ms, {**shares, REST: max(step_ms - sum(shares.values()), 0.0)}
