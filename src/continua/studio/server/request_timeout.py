"""The HTTP protocol of the server, which closes connections whose request does not arrive completely."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["RequestTimeoutProtocol"]


class RequestTimeoutProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Uvicorn's protocol with a time limit for receiving a request; Uvicorn limits the pause between two only.

    Attributes:
        HEADER_SECONDS: Longest wait for a complete header [s].
        STALL_SECONDS: Longest pause within a body [s].
        BODY_SECONDS: Longest wait for a complete body [s].
    """

    HEADER_SECONDS = 15.0
    STALL_SECONDS = 15.0
    BODY_SECONDS = 600.0

    _timer: asyncio.TimerHandle | None = None
    _begun = True  # whether a header is expected; the pause between two requests is Uvicorn's
    _since = 0.0
    _last_data = 0.0

    def connection_made(self, transport: Any) -> None:
        """Start to watch a connection."""
        super().connection_made(transport)
        self._since = self._last_data = self.loop.time()
        self._check()

    def data_received(self, data: bytes) -> None:
        """Pass data on, and note when a header begins and ends."""
        now, before = self.loop.time(), self.cycle
        self._last_data = now
        if not self._begun and before is not None and before.response_complete:
            self._begun, self._since = True, now
        super().data_received(data)
        if self.cycle is not before:
            self._begun, self._since = False, now

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to watch the connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _check(self) -> None:
        """Close the connection if its request is late."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # a WebSocket has its own limits
        now, cycle = self.loop.time(), self.cycle
        late = False
        if self._begun:
            late = now - self._since > self.HEADER_SECONDS
        elif cycle.more_body and not cycle.response_complete:
            late = now - self._since > self.BODY_SECONDS or now - self._last_data > self.STALL_SECONDS
        if late:
            self.transport.close()
            return
        self._timer = self.loop.call_later(min(self.HEADER_SECONDS, self.STALL_SECONDS) / 5.0, self._check)
