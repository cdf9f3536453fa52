"""What a session publishes: scenes, snapshots of the world, and listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from continua.frames import Frame, WarningCount
from continua.studio.controls.control_panel import BoundaryForces

if TYPE_CHECKING:
    from continua.studio.editor.scene_editor import SceneEditor
    from continua.world import World

__all__ = ["Listener", "Sample", "SessionScene", "Snapshot", "Stats", "energy_of"]


Sample = tuple[int, float, float, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Stats:
    """Speed of the simulation.

    Attributes:
        step_ms: Mean wall time per step since the last snapshot [ms].
        steps_per_second: Steps per second of real time, over the last second.
        rate: Simulated seconds per second of real time, over the last second; 1 is real time.
        stage_ms: Milliseconds per step by stage.
    """

    step_ms: float = 0.0
    steps_per_second: float = 0.0
    rate: float = 0.0
    stage_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionScene:
    """A world to show, with the display settings of its scene.

    Attributes:
        world: The world, at its start.
        color: The field that colours the bodies that have it initially, or None for plain.
        camera: Angles or positions of the camera, if the scene gives any.
        editor: The editor of the scene; None for a world made in Python.
        play: Whether the simulation starts running.
        frame_schedule: Steps per frame and frames per second, if a run of the scene uses the world's time step: then
            both reach exactly the same times.
        is_preview: Whether the world is only a picture of the scene, which is still to be built.
        page_wait: How long building waits for a page to get this picture [s]; compiling would slow the page down.
    """

    world: World
    color: str | None = "displacement"
    camera: Mapping[str, Any] = field(default_factory=dict)
    editor: SceneEditor | None = None
    play: bool = True
    frame_schedule: tuple[int, float] | None = None
    is_preview: bool = False
    page_wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a page can show: a frame, and the speed of the simulation.

    Attributes:
        seq: Number of the snapshot.
        epoch: Number of the world; it changes whenever meshes may have changed.
        scene_id: Number of the scene; a rebuilt world of the same scene keeps the camera.
        frame: The frame of the world.
        stats: Speed of the simulation.
        scene: The scene of the world.
        samples: For plots, `(seq, time [s], milliseconds per step, energies [J] by name)` of this and
            earlier snapshots since the start, so that a page that skips frames still draws complete curves.
        warnings: The warnings of the steps since the start or the last change of the scene.
        markers: For each boundary condition the number of its body and the nodes at which it is drawn.
        boundary_forces: Forces of the boundary conditions.
        pull_forces: The force [N] of each pull, by client and pull.
        solvers: Summary of the linear solver of each body, by the body's name.
        probe: Position, radius and force of the probe, or None.
        pinned: Body and node of each node pinned with the mouse.
        plane_flow: Obstacles of a 2D flow and the force on them, or None.
        streamlines: Streamlines of that flow [m], shape [lines, points, 2], or None.
    """

    seq: int
    epoch: int
    frame: Frame
    stats: Stats
    scene: SessionScene
    samples: tuple[Sample, ...] = ()
    warnings: tuple[WarningCount, ...] = ()
    markers: Mapping[str, tuple[int, NDArray[np.int32]]] = field(default_factory=dict)
    boundary_forces: BoundaryForces = field(default_factory=BoundaryForces)
    pull_forces: Mapping[tuple[int, int], list[float]] = field(default_factory=dict)
    solvers: Mapping[str, str] = field(default_factory=dict)
    scene_id: int = 1
    probe: Mapping[str, Any] | None = None
    pinned: tuple[tuple[str, int], ...] = ()
    plane_flow: Mapping[str, Any] | None = None
    streamlines: NDArray[np.float32] | None = None

    @property
    def color(self) -> str | None:
        """The field that colours the bodies initially, or None if no body has the one that was asked for."""
        name = self.scene.color
        return name if any(name in body.fields for body in self.frame) else None


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks of a client; they are called in the simulation's thread and must not block.

    Attributes:
        changed: Called when there is a new snapshot or state.
        failed: Called when a command of this client failed, with one sentence and the key of the parameter to
            set, or "" for other commands.
        asked: Called when a command of this client needs a confirmation; see `QuestionError`.
    """

    changed: Callable[[], None]
    failed: Callable[[str, str], None]
    asked: Callable[[dict[str, Any]], None]


def energy_of(frame: Frame) -> dict[str, float]:
    """Return the sum of the bodies' energies [J] by name."""
    total: dict[str, float] = {}
    for body in frame:
        for name, value in body.energy.items():
            total[name] = total.get(name, 0.0) + float(value)
    return total
