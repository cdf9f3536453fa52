"""Who may talk to the studio: the rules for Host, Origin and token, and the middleware that applies them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "Policy", "is_loopback"]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors "
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


def is_loopback(host: str) -> bool:
    """Tell whether `host` names this machine only."""
    return host.strip("[]").lower() in _LOOPBACK


def _host_name(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


@dataclass(frozen=True)
class Policy:
    """The rules of one server.

    Attributes:
        token: Secret that every request must carry (query `token` or the cookie set by the first page),
            or None on the loopback.
        cookie: Name of that cookie; it holds the port, because cookies do not tell ports apart.
        frames: Pages that may have the studio in a frame; a notebook is a page of another site.
    """

    token: str | None = None
    cookie: str = "continua_token"
    frames: str = "'self'"

    def within(self, scope: Scope) -> Scope:
        """Return the request without the token that its path may begin with, `/TOKEN/...`.

        In a frame on another site browsers send no cookies; with the token in the path, all that the page asks for by
        relative addresses carries it.
        """
        path = str(scope.get("path", ""))
        start, _, rest = path[1:].partition("/")
        if self.token is None or not secrets.compare_digest(start.encode(), self.token.encode()):
            return scope
        return {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "continua_token": start}

    def refusal(self, scope: Scope) -> str | None:
        """Return why the request is refused, in one sentence, or None if it may pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        # Without a token, the name in Host is what stands between the studio and a foreign page whose
        # name was made to point at this machine (DNS rebinding): its Origin and Host would agree.
        if self.token is None and not is_loopback(_host_name(host)):
            return "the studio answers only to localhost; use --host with --token to open it to others"
        talks = scope["type"] == "websocket" or scope.get("method") not in ("GET", "HEAD")
        if talks and (origin := headers.get("origin")) is not None:
            try:
                same = urlsplit(origin).netloc.lower() == host.lower()
            except ValueError:
                same = False
            if not same:
                return "the connection comes from another site"
        if self.token is not None and not self._has_token(scope, headers):
            return "the token is missing or wrong; open the full address that the studio printed"
        return None

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            morsel = None
        if morsel is not None:
            given.append(morsel.value)
        given.append(scope.get("continua_token", ""))
        wanted = (self.token or "").encode()
        return any(secrets.compare_digest(value.encode(), wanted) for value in given)


class Guard:
    """ASGI middleware: refuses what the policy refuses, and adds security headers to every answer."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app = app
        self.policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        scope = self.policy.within(scope)
        reason = self.policy.refusal(scope)
        if scope["type"] == "websocket":
            if reason is None:
                await self.app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": reason})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._decorate(message)
            await send(message)

        target: Any = self.app if reason is None else PlainTextResponse(reason, status_code=403)
        await target(scope, receive, send_with_headers)

    def _decorate(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in _HEADERS.items():
            headers[name] = value
        headers["content-security-policy"] += self.policy.frames
        if self.policy.token is not None and message["status"] == 200:
            headers.append(
                "set-cookie", f"{self.policy.cookie}={self.policy.token}; HttpOnly; SameSite=Strict; Path=/"
            )
