"""Who listens to a session: pages come and go, and each hears what concerns it."""

from __future__ import annotations

import threading

from continua.studio.session.snapshot import Listener

__all__ = ["Audience"]


class Audience:
    """The pages that listen, by their numbers; any thread may call it.

    Attributes:
        watched: Set while somebody listens.
    """

    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._gone: set[int] = set()
        self._lock = threading.Lock()
        self.watched = threading.Event()

    def join(self, client: int, listener: Listener) -> None:
        """Tell a client what happens from now on."""
        with self._lock:
            self._listeners[client] = listener
        self.watched.set()

    def leave(self, client: int) -> None:
        """Forget a client."""
        with self._lock:
            self._listeners.pop(client, None)
            if not self._listeners:
                self.watched.clear()
            self._gone.add(client)

    def take_gone(self) -> set[int]:
        """Return the clients that have left since the last call."""
        with self._lock:
            gone, self._gone = self._gone, set()
        return gone

    def tell_change(self) -> None:
        """Tell everybody that there is something new."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener.changed()

    def tell_failure(self, client: int, message: str, key: str) -> None:
        """Tell one client why its command failed, and the key of the value that was to be set, or ""."""
        with self._lock:
            listener = self._listeners.get(client)
        if listener is not None:
            listener.failed(message, key)
