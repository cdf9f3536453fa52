"""Where commands of pages wait until the simulation carries them out."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import suppress

from continua.errors import InputError
from continua.studio import protocol as ask

__all__ = ["Letter", "Mailbox"]

Letter = tuple[int, ask.Command]
"""A client and what it wants."""

_LIMIT = 2000
_OF_THEIR_WORLD = ask.Set | ask.Settle | ask.PullBegin | ask.EditScene  # these mean bodies that may be gone


class Mailbox:
    """Commands in the order in which they came; any thread may put some in."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Letter | None] = queue.Queue(_LIMIT)

    def put(self, client: int, command: ask.Command) -> None:
        """Add a command; raise `InputError` if far too many are waiting."""
        try:
            self._waiting.put_nowait((client, command))
        except queue.Full:
            raise InputError("too many commands are waiting; the last one was dropped") from None

    def wake(self) -> None:
        """Let whoever waits for a command go on without one."""
        with suppress(queue.Full):  # then it is awake
            self._waiting.put_nowait(None)

    def take(self, wait: float) -> Iterator[Letter]:
        """Yield the waiting commands; if there is none, wait so long [s] for the first."""
        with suppress(queue.Empty):
            letter = self._waiting.get(timeout=wait) if wait > 0.0 else self._waiting.get_nowait()
            while True:
                if letter is not None:
                    yield letter
                letter = self._waiting.get_nowait()

    def forget_old(self) -> None:
        """Drop what was sent while a scene was loading and was meant for the bodies before."""
        kept = [letter for letter in self.take(0.0) if not isinstance(letter[1], _OF_THEIR_WORLD)]
        for letter in kept:
            with suppress(queue.Full):
                self._waiting.put_nowait(letter)
