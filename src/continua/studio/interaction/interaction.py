"""Interaction with a running world by mouse: pull bodies, load faces, push with a probe, pin nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from continua.errors import InputError
from continua.frames import Frame
from continua.motion import Motion
from continua.studio import protocol as commands
from continua.studio.interaction.drag_spring import DragSpring, face_of_triangle
from continua.studio.interaction.flow_sketch import FlowSketch
from continua.studio.interaction.probe import Probe

if TYPE_CHECKING:
    from continua.solids import SoftBody
    from continua.world import World

__all__ = ["Interaction", "PinnedNode"]

_MAX_PULLS_PER_CLIENT = 10
_MAX_PINNED = 200


@dataclass(frozen=True)
class PinnedNode:
    """A node that was pinned with the mouse. Where the mesh is split there, its copies are pinned too."""

    body: str
    constraint: Any

    @property
    def nodes(self) -> list[int]:
        """The nodes that are pinned, in the body's current mesh."""
        return [int(node) for node in self.constraint.nodes]


class Interaction:
    """All that pages do to a world with the mouse. Only the simulation's thread calls it.

    Attributes:
        flow_sketch: Obstacles drawn in a 2D flow.
        pulls: Active pulls, by client and pull.
        pinned: Nodes pinned with the mouse.
        probe: The probe, or None.
    """

    def __init__(self) -> None:
        self.flow_sketch = FlowSketch()
        self.pulls: dict[tuple[int, int], DragSpring] = {}
        self.pinned: list[PinnedNode] = []
        self.probe: Probe | None = None
        self._face_loads: list[Any] = []

    def handle(self, client: int, command: commands.Command, world: World, frame: Frame) -> bool:
        """Execute a command; return whether it has a visible effect before the next step."""
        match command:
            case commands.PullBegin():
                self.begin_pull(client, command, world, frame)
            case commands.PullMove(id=number, target=target):
                self.move_pull((client, number), target)
            case commands.PullEnd(id=number):
                self.end_pull((client, number))
            case commands.ProbeMove(position=position):
                self.move_probe(client, position)
            case commands.ProbeBegin():
                self.begin_probe(client, command, world)
                return True
            case commands.ProbeEnd():
                self.end_probe(client)
                return True
            case (
                commands.AddObstacle()
                | commands.MoveObstacle()
                | commands.RemoveObstacle()
                | commands.ShowStreamlines()
            ):
                self.flow_sketch.apply(world, command)
                return True
            case commands.PinNode():
                self.pin(command, world)
                return True
        return False

    # Pulls.

    def begin_pull(self, client: int, command: commands.PullBegin, world: World, frame: Frame) -> None:
        """Attach springs from a point of a body to a target."""
        key = (client, command.id)
        if key in self.pulls:
            self.pulls.pop(key).remove()
        if sum(owner == client for owner, _ in self.pulls) >= _MAX_PULLS_PER_CLIENT:
            raise InputError(f"at most {_MAX_PULLS_PER_CLIENT} points can be pulled at a time")
        body = world.body(command.body)
        self.pulls[key] = DragSpring(
            body, frame[body.name], command.triangle, command.barycentric, command.target
        )

    def move_pull(self, key: tuple[int, int], target: ArrayLike) -> None:
        """Move the target of a pull, if it still exists."""
        if (pull := self.pulls.get(key)) is not None:
            pull.target = target

    def end_pull(self, key: tuple[int, int]) -> None:
        """End a pull."""
        if (pull := self.pulls.pop(key, None)) is not None:
            pull.remove()

    def pull_forces(self) -> dict[tuple[int, int], list[float]]:
        """Return the force [N] of each pull, by client and pull."""
        return {key: [float(part) for part in pull.force] for key, pull in self.pulls.items()}

    # Faces.

    def load_face(self, command: commands.PressFace, world: World) -> None:
        """Apply a traction to a face in the next step."""
        body = world.body(command.body)
        face = face_of_triangle(body, command.triangle)
        self._face_loads.append(body.apply_traction(np.array([face]), command.traction))

    # The probe.

    def begin_probe(self, client: int, command: commands.ProbeBegin, world: World) -> None:
        """Add a ball that follows the mouse to the world."""
        if self.probe is not None and self.probe.client != client:
            raise InputError("another page is using the probe")
        self.end_probe(client)
        self.probe = Probe(world, client, command.position, command.radius, command.retreat)

    def move_probe(self, client: int, position: ArrayLike) -> None:
        """Move the probe, if the client controls it."""
        if self.probe is not None and self.probe.client == client:
            self.probe.target = np.asarray(position, dtype=np.float64)

    def end_probe(self, client: int | None) -> None:
        """Remove the probe, if the client controls it or is None."""
        if self.probe is not None and client in (None, self.probe.client):
            self.probe.remove()
            self.probe = None

    # Pinned nodes.

    def pin(self, command: commands.PinNode, world: World) -> None:
        """Pin a node where it is now, or release it if it was pinned so before."""
        body = world.body(command.body)
        if not hasattr(body, "drive"):
            raise InputError(f"only nodes of soft bodies can be pinned, and '{command.body}' is not one")
        existing = next((p for p in self.pinned if p.body == command.body and command.node in p.nodes), None)
        if existing is not None:
            existing.constraint.remove()
            self.pinned.remove(existing)
            return
        if command.node >= body.node_count:
            raise InputError(f"'{command.body}' has nodes 0 to {body.node_count - 1}, not {command.node}")
        if len(self.pinned) >= _MAX_PINNED:
            raise InputError(f"at most {_MAX_PINNED} nodes can be pinned with the mouse")
        self.pinned.append(PinnedNode(command.body, _pin_here(body, command.node)))

    # The time loop.

    def before_step(self, world: World) -> None:
        """Plan the motion of the probe in the next step."""
        if self.probe is not None:
            self.probe.plan_step(world)

    def after_step(self) -> None:
        """Remove loads that act for one step only."""
        loads, self._face_loads = self._face_loads, []
        for load in loads:
            load.remove()

    def release(self, client: int | None) -> None:
        """End pulls and probe of a client, or of all clients for None."""
        for key in [key for key in self.pulls if client is None or key[0] == client]:
            self.pulls.pop(key).remove()
        self.end_probe(client)

    def clear(self) -> None:
        """End all interaction and release pinned nodes."""
        self.release(None)
        self.after_step()
        for node in self.pinned:
            node.constraint.remove()
        self.pinned.clear()


def _pin_here(body: SoftBody, node: int) -> Any:
    position = body.positions[node].copy()
    return body.drive(np.array([node]), Motion(lambda _time, rest: np.broadcast_to(position, rest.shape)))
