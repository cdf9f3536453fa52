"""Access control of the studio: rules for Host, Origin and token, and the middleware that enforces them."""

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
    """Return whether `host` is a loopback address."""
    return host.strip("[]").lower() in _LOOPBACK


def _host_name(netloc: str) -> str:
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


@dataclass(frozen=True)
class Policy:
    """The access rules of a server.

    Attributes:
        token: Secret that every request must carry (query `token` or the cookie set by the first page),
            or None on the loopback.
        cookie: Name of that cookie; it includes the port, because cookies are shared between ports.
        frame_ancestors: Pages that may embed the studio in a frame; a notebook is a page of another site.
    """

    token: str | None = None
    cookie: str = "continua_token"
    frame_ancestors: str = "'self'"

    def strip_token(self, scope: Scope) -> Scope:
        """Return the request without the token that its path may start with, `/TOKEN/...`.

        Browsers send no cookies in a frame of another site; with the token in the path, all requests of the page with
        relative addresses carry it.
        """
        path = str(scope.get("path", ""))
        start, _, rest = path[1:].partition("/")
        if self.token is None or not secrets.compare_digest(start.encode(), self.token.encode()):
            return scope
        return {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "continua_token": start}

    def refusal(self, scope: Scope) -> str | None:
        """Return why the request is refused, in one sentence, or None if it is allowed."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        # Without a token, only the name in Host protects the studio from a foreign page whose name resolves to
        # this machine (DNS rebinding): its Origin and Host would agree.
        if self.token is None and not is_loopback(_host_name(host)):
            return "the studio accepts only localhost; use --host with --token to open it to others"
        has_origin = scope["type"] == "websocket" or scope.get("method") not in ("GET", "HEAD")
        if has_origin and (origin := headers.get("origin")) is not None:
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
    """ASGI middleware: refuses requests by the policy, and adds security headers to every response."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app = app
        self.policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        scope = self.policy.strip_token(scope)
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
        headers["content-security-policy"] += self.policy.frame_ancestors
        if self.policy.token is not None and message["status"] == 200:
            headers.append(
                "set-cookie", f"{self.policy.cookie}={self.policy.token}; HttpOnly; SameSite=Strict; Path=/"
            )
