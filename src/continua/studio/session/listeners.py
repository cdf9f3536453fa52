"""The pages that listen to a session."""

from __future__ import annotations

import threading
from typing import Any

from continua.studio.session.snapshot import Listener

__all__ = ["ListenerRegistry"]


class ListenerRegistry:
    """Listeners by client number; any thread may call it.

    Attributes:
        has_listeners: Set while there is at least one listener.
    """

    def __init__(self) -> None:
        self._listeners: dict[int, Listener] = {}
        self._removed: set[int] = set()
        self._lock = threading.Lock()
        self.has_listeners = threading.Event()

    def add(self, client: int, listener: Listener) -> None:
        """Notify a client from now on."""
        with self._lock:
            self._listeners[client] = listener
        self.has_listeners.set()

    def remove(self, client: int) -> None:
        """Stop notifying a client."""
        with self._lock:
            self._listeners.pop(client, None)
            if not self._listeners:
                self.has_listeners.clear()
            self._removed.add(client)

    def take_removed(self) -> set[int]:
        """Return the clients that were removed since the last call."""
        with self._lock:
            removed, self._removed = self._removed, set()
        return removed

    def notify_change(self) -> None:
        """Notify all clients that there is a new snapshot or state."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener.changed()

    def notify_failure(self, client: int, message: str, key: str) -> None:
        """Notify one client that its command failed: the reason, and the key of the parameter to set, or ""."""
        with self._lock:
            listener = self._listeners.get(client)
        if listener is not None:
            listener.failed(message, key)

    def notify_question(self, client: int, question: dict[str, Any]) -> None:
        """Ask one client to confirm its command; see `QuestionError`."""
        with self._lock:
            listener = self._listeners.get(client)
        if listener is not None:
            listener.asked(question)
