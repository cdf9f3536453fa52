"""Publishes what a session shows: snapshots of the world, its state, and its control panel."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from continua.numerics.timers import REST
from continua.step_warnings import WarningTally
from continua.studio.controls.control_panel import ControlPanel
from continua.studio.interaction.interaction import Interaction
from continua.studio.session.clock import Clock
from continua.studio.session.listeners import ListenerRegistry
from continua.studio.session.snapshot import Sample, SessionScene, Snapshot, Stats, energy_of

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["MAX_RATE", "Publisher"]

MAX_RATE = 30.0
"""Maximum number of snapshots per second."""

_MAX_SAMPLES = 600


class Publisher:
    """Publishes snapshots and state of a session. Only the simulation's thread changes it; others read.

    Attributes:
        listeners: The listeners that are notified.
        snapshot: The newest snapshot.
        panel_message: The control panel, ready for JSON; `panel_version` counts its changes.
        state: State of the session, ready for JSON; `state_version` counts its changes.
        dirty: Whether there are changes that no snapshot shows yet.
        times: Seconds of the steps since the last snapshot, and of their stages.
        warnings: The warnings of the steps since the start or the last change of the scene.
    """

    def __init__(self, scene: SessionScene) -> None:
        self.listeners = ListenerRegistry()
        self.dirty = False
        self.times: list[tuple[float, Mapping[str, float]]] = []
        self.warnings = WarningTally()
        self._samples: deque[Sample] = deque(maxlen=_MAX_SAMPLES)
        self._published_panel: tuple[ControlPanel | None, int] = (None, 0)
        self._values: dict[str, Any] = {}
        self._next_time = 0.0
        self.panel_message: dict[str, Any] = {}
        self.panel_version = 0
        self.state: dict[str, Any] = {}
        self.state_version = 0
        self.snapshot = Snapshot(0, 1, scene.world.frame(), Stats(), scene)

    def clear(self) -> None:
        """Clear plots, step times and warnings."""
        self.snapshot = replace(self.snapshot, stats=Stats())
        self.times.clear()
        self.warnings.clear()
        self._samples.clear()
        self.dirty = True

    def publish_state(self, panel: ControlPanel, state: Mapping[str, Any]) -> None:
        """Publish the state of the session."""
        if (current := (panel, panel.version)) != self._published_panel:
            self._published_panel = current
            self.panel_message = {"type": "panel", **panel.describe()}
            self.panel_version += 1
        self._values = panel.values()
        self.state_version += 1
        self.state = {"type": "state", "values": self._values, **state}
        self.listeners.notify_change()

    def due(self, *, force: bool) -> bool:
        """Return whether there are changes and it is time to publish them."""
        return self.dirty and (force or time.perf_counter() >= self._next_time)

    def publish(
        self,
        world: World,
        panel: ControlPanel,
        interaction: Interaction,
        clock: Clock,
        scene: SessionScene | None = None,
        same_scene: bool = False,
    ) -> bool:
        """Publish a snapshot of the world; return whether the world has changed parameters or meshes by itself.

        Args:
            world: The world.
            panel: Its control panel.
            interaction: The current interaction.
            clock: Measures the speed.
            scene: The new scene, if the world was replaced.
            same_scene: Whether a replaced world belongs to the same scene.
        """
        begin = time.perf_counter()
        self.dirty = False
        steps, rate = clock.rates()
        before = self.snapshot
        step_ms, stages = before.stats.step_ms, dict(before.stats.stage_ms)
        if self.times:
            step_ms, stages = _mean_times(self.times)
        self.times.clear()
        frame = world.frame()
        panel.update_topology(frame)
        boundary_forces = panel.boundary_forces()
        snapshot_ms = 1e3 * (time.perf_counter() - begin)
        # Snapshots fall on whole time steps, so their intervals vary; the mean is limited. Snapshots of large
        # bodies are expensive (stresses, energies); at most a third of the time is spent on them.
        pause = max(0.5 / MAX_RATE, 3.0 * (time.perf_counter() - begin))
        self._next_time = max(self._next_time + 1.0 / MAX_RATE, begin + pause)
        self._samples.append((before.seq + 1, frame.time, step_ms, energy_of(frame)))
        self.snapshot = Snapshot(
            seq=before.seq + 1,
            epoch=before.epoch + (scene is not None),
            scene_id=before.scene_id + (scene is not None and not same_scene),
            frame=frame,
            samples=tuple(self._samples),
            warnings=self.warnings.counts,
            stats=Stats(step_ms, steps, rate, {**stages, "snapshot": snapshot_ms}),
            scene=scene or before.scene,
            markers=panel.markers(),
            boundary_forces=boundary_forces,
            pull_forces=interaction.pull_forces(),
            probe=None if interaction.probe is None else interaction.probe.describe(),
            pinned=tuple((pinned.body, node) for pinned in interaction.pinned for node in pinned.nodes),
            solvers=panel.solvers(),
            plane_flow=interaction.flow_sketch.describe(world),
            streamlines=interaction.flow_sketch.streamlines(world),
        )
        return panel.values() != self._values or (panel, panel.version) != self._published_panel


def _mean_times(times: Sequence[tuple[float, Mapping[str, float]]]) -> tuple[float, dict[str, float]]:
    """Return the mean milliseconds per step and per stage; interaction belongs to the rest."""
    step_ms = 1e3 * sum(seconds for seconds, _ in times) / len(times)
    names = dict.fromkeys(name for _, stages in times for name in stages if name != REST)
    stage_ms = {name: 1e3 * sum(stages.get(name, 0.0) for _, stages in times) / len(times) for name in names}
    return step_ms, {**stage_ms, REST: max(step_ms - sum(stage_ms.values()), 0.0)}
