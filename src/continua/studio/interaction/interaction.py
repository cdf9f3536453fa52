"""What hands do to a running world: pull bodies, push faces, poke with a tool, and hold nodes where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from continua.errors import InputError
from continua.frames import Frame
from continua.motion import Motion
from continua.studio import protocol as ask
from continua.studio.interaction.drag_spring import Hand, face_under
from continua.studio.interaction.flow_sketch import Easel
from continua.studio.interaction.probe import Probe

if TYPE_CHECKING:
    from continua.solids import SoftBody
    from continua.world import World

__all__ = ["Held", "Touch"]

_PULLS_PER_CLIENT = 10
_MOST_HELD = 200


@dataclass(frozen=True)
class Held:
    """A node that was pinned while the world ran."""

    body: str
    node: int
    constraint: Any


class Touch:
    """All that pages do to a world with the mouse. Only the simulation's thread calls it.

    Attributes:
        easel: What is drawn into a plane flow.
    """

    def __init__(self) -> None:
        self.easel = Easel()
        self.pulls: dict[tuple[int, int], Hand] = {}
        self.held: list[Held] = []
        self.probe: Probe | None = None
        self._pushes: list[Any] = []

    def obey(self, client: int, command: ask.Command, world: World, frame: Frame) -> bool:
        """Do what the mouse does; return whether there is something new to see at once."""
        match command:
            case ask.PullBegin():
                self.begin_pull(client, command, world, frame)
            case ask.PullMove(id=number, target=target):
                self.move_pull((client, number), target)
            case ask.PullEnd(id=number):
                self.end_pull((client, number))
            case ask.ProbeMove(place=place):
                self.move_probe(client, place)
            case ask.ProbeBegin():
                self.begin_probe(client, command, world)
                return True
            case ask.ProbeEnd():
                self.end_probe(client)
                return True
            case ask.Sketch() | ask.SketchMove() | ask.SketchRemove() | ask.Streamlines():
                self.easel.do(world, command)
                return True
            case ask.PinNode():
                self.pin(command, world)
                return True
        return False

    # Springs.

    def begin_pull(self, client: int, command: ask.PullBegin, world: World, frame: Frame) -> None:
        """Tie a point of a body to a target."""
        key = (client, command.id)
        if key in self.pulls:
            self.pulls.pop(key).remove()
        if sum(owner == client for owner, _ in self.pulls) >= _PULLS_PER_CLIENT:
            raise InputError(f"at most {_PULLS_PER_CLIENT} points can be pulled at a time")
        body = world.body(command.body)
        self.pulls[key] = Hand(body, frame[body.name], command.triangle, command.barycentric, command.target)

    def move_pull(self, key: tuple[int, int], target: ArrayLike) -> None:
        """Move the target of a pull, if there still is one."""
        if (pull := self.pulls.get(key)) is not None:
            pull.target = target

    def end_pull(self, key: tuple[int, int]) -> None:
        """Let go."""
        if (pull := self.pulls.pop(key, None)) is not None:
            pull.remove()

    def forces(self) -> dict[tuple[int, int], list[float]]:
        """Return the force [N] of each hand on what it holds, by client and pull."""
        return {key: [float(part) for part in hand.force] for key, hand in self.pulls.items()}

    # Faces.

    def push_face(self, command: ask.PressFace, world: World) -> None:
        """Load a face in the next step."""
        body = world.body(command.body)
        face = face_under(body, command.triangle)
        self._pushes.append(body.load_faces(np.array([face]), command.traction))

    # A tool on the cursor.

    def begin_probe(self, client: int, command: ask.ProbeBegin, world: World) -> None:
        """Put a ball into the world that follows the mouse."""
        if self.probe is not None and self.probe.client != client:
            raise InputError("another page has the tool in its hand")
        self.end_probe(client)
        self.probe = Probe(world, client, command.place, command.radius, command.back)

    def move_probe(self, client: int, place: ArrayLike) -> None:
        """Move the ball, if the client has it."""
        if self.probe is not None and self.probe.client == client:
            self.probe.target = np.asarray(place, dtype=np.float64)

    def end_probe(self, client: int | None) -> None:
        """Take the ball away, if the client has it, or anybody for None."""
        if self.probe is not None and client in (None, self.probe.client):
            self.probe.remove()
            self.probe = None

    # Nodes that are held.

    def pin(self, command: ask.PinNode, world: World) -> None:
        """Hold a node where it is now, or let it go if a hand holds it already."""
        body = world.body(command.body)
        if not hasattr(body, "drive"):
            raise InputError(f"only nodes of soft bodies can be held, and '{command.body}' is none")
        known = next((h for h in self.held if (h.body, h.node) == (command.body, command.node)), None)
        if known is not None:
            known.constraint.remove()
            self.held.remove(known)
            return
        if command.node >= body.node_count:
            raise InputError(f"'{command.body}' has nodes 0 to {body.node_count - 1}, not {command.node}")
        if len(self.held) >= _MOST_HELD:
            raise InputError(f"at most {_MOST_HELD} nodes can be held by hand")
        self.held.append(Held(command.body, command.node, _hold(body, command.node)))

    # All of it.

    def before_step(self, world: World) -> None:
        """Let what follows the mouse move on in the next step."""
        if self.probe is not None:
            self.probe.aim(world)

    def after_step(self) -> None:
        """Take away what acts for one step."""
        pushes, self._pushes = self._pushes, []
        for push in pushes:
            push.remove()

    def release(self, client: int | None) -> None:
        """Let go of all that a client holds, or everybody for None."""
        for key in [key for key in self.pulls if client is None or key[0] == client]:
            self.pulls.pop(key).remove()
        self.end_probe(client)

    def forget(self) -> None:
        """Let go of everything, nodes that are held too."""
        self.release(None)
        self.after_step()
        for held in self.held:
            held.constraint.remove()
        self.held.clear()


def _hold(body: SoftBody, node: int) -> Any:
    place = body.positions[node].copy()
    return body.drive(np.array([node]), Motion(lambda _time, rest: np.broadcast_to(place, rest.shape)))
