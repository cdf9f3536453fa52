"""What a session publishes and who hears of it: worlds to show, snapshots, listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import Frame
from continua.studio.controls.control_panel import Live

if TYPE_CHECKING:
    from continua.studio.editor.scene_editor import Workshop
    from continua.world import World

__all__ = ["Listener", "Opening", "Sample", "Snapshot", "Stats", "energy_of"]


Sample = tuple[int, float, float, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Stats:
    """How the simulation keeps up.

    Attributes:
        step_ms: Mean time of a step since the last snapshot [ms].
        steps_per_second: Steps done in a second of real time, over the last second.
        rate: Simulated seconds in a second of real time, over the last second; 1 is real time.
        shares: Milliseconds of the stages of an update, by name.
    """

    step_ms: float = 0.0
    steps_per_second: float = 0.0
    rate: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opening:
    """A world to show, and how the scene wants to be looked at.

    Attributes:
        world: The world, at its start.
        color: The field that colours the bodies at first, or None for plain.
        camera: Angles or places of the camera, where the scene gives any.
        workshop: Where the scene is edited; None for a world that was made in Python.
        play: Whether it starts to run at once.
        rhythm: Steps of a frame and frames a second, if a run of the scene has the world's time step: then both land
            on the same times.
    """

    world: World
    color: str | None = "displacement"
    camera: Mapping[str, Any] = field(default_factory=dict)
    workshop: Workshop | None = None
    play: bool = True
    rhythm: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a page can show: a frame, and how the simulation keeps up.

    Attributes:
        seq: Counts snapshots.
        epoch: Counts worlds; it changes whenever meshes may have changed.
        view: Counts scenes; a world that is built anew from the same scene is looked at as before.
        frame: The world.
        stats: How the simulation keeps up.
        opening: How the scene was opened.
        samples: For plots, `(seq, time [s], milliseconds a step, energies [J] by name)` of this and of
            earlier snapshots since the start, so that a page that skips frames still draws whole curves.
        marks: For each hold and load the number of its body and the nodes at which it is drawn.
        live: What holds and loads do.
        hands: The force [N] of each hand on what it holds, by client and pull.
        solvers: How the linear solver of each body does, by the body's name.
        probe: Place, radius and force of the tool on a cursor, or None.
        held: Body and node of what hands have pinned.
        tunnel: Obstacles of a plane flow and the force on them, or None.
        lines: Lines along that flow [m], shape [lines, points, 2], or None.
    """

    seq: int
    epoch: int
    frame: Frame
    stats: Stats
    opening: Opening
    samples: tuple[Sample, ...] = ()
    marks: Mapping[str, tuple[int, NDArray[np.int32]]] = field(default_factory=dict)
    live: Live = field(default_factory=Live)
    hands: Mapping[tuple[int, int], list[float]] = field(default_factory=dict)
    solvers: Mapping[str, str] = field(default_factory=dict)
    view: int = 1
    probe: Mapping[str, Any] | None = None
    held: tuple[tuple[str, int], ...] = ()
    tunnel: Mapping[str, Any] | None = None
    lines: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Listener:
    """What a client wants to hear; both are called in the simulation's thread and must not wait.

    Attributes:
        changed: Called when there is a new snapshot or state.
        failed: Called when a command of this client could not be carried out, with one sentence and the key of
            the value that was to be set, or "" for other commands.
    """

    changed: Callable[[], None]
    failed: Callable[[str, str], None]


def energy_of(frame: Frame) -> dict[str, float]:
    """Return the sum of the bodies' energies [J] by name."""
    total: dict[str, float] = {}
    for body in frame:
        for name, value in body.energy.items():
            total[name] = total.get(name, 0.0) + float(value)
    return total
