"""The queue of commands that wait for the simulation's thread."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import suppress

from continua.errors import InputError
from continua.studio import protocol as commands

__all__ = ["CommandQueue", "QueuedCommand"]

QueuedCommand = tuple[int, commands.Command]
"""A client and its command."""

_MAX_COMMANDS = 2000
_BOUND_TO_WORLD = (  # they refer to bodies that may be gone
    commands.SetParameter | commands.Settle | commands.PullBegin | commands.EditScene
)


class CommandQueue:
    """Commands in the order of arrival; any thread may add some."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[QueuedCommand | None] = queue.Queue(_MAX_COMMANDS)

    def put(self, client: int, command: commands.Command) -> None:
        """Add a command; raise `InputError` if the queue is full."""
        try:
            self._waiting.put_nowait((client, command))
        except queue.Full:
            raise InputError("too many commands are waiting; the last one was dropped") from None

    def wake(self) -> None:
        """Let a thread that waits for a command continue without one."""
        with suppress(queue.Full):  # then it is awake
            self._waiting.put_nowait(None)

    def take(self, timeout: float) -> Iterator[QueuedCommand]:
        """Yield the waiting commands; if there is none, wait up to `timeout` [s] for the first."""
        with suppress(queue.Empty):
            item = self._waiting.get(timeout=timeout) if timeout > 0.0 else self._waiting.get_nowait()
            while True:
                if item is not None:
                    yield item
                item = self._waiting.get_nowait()

    def drop_stale(self) -> None:
        """Drop commands that were sent while a scene was loading and refer to the previous world."""
        kept = [item for item in self.take(0.0) if not isinstance(item[1], _BOUND_TO_WORLD)]
        for item in kept:
            with suppress(queue.Full):
                self._waiting.put_nowait(item)
