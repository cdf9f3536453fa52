"""Access control of the studio: rules for token and Origin, and the middleware that enforces them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "Policy", "new_token"]

_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors "
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


_REFUSED_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Continua studio</title>'
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"></head>'
    '<body style="font: 17px/1.5 system-ui, sans-serif; max-width: 32em; margin: 20vh auto; padding: 0 1.5em">'
    "<h1>Continua studio</h1><p>{reason}.</p></body></html>"
)


def new_token() -> str:
    """Return a new secret of 144 random bits."""
    return secrets.token_urlsafe(18)


@dataclass(frozen=True)
class Policy:
    """The access rules of a server.

    Attributes:
        token: Secret that every request must carry: as the query `token`, as the cookie that is set by the first page,
            or at the start of the path. It keeps out other users of this machine and other sites, also those whose
            name resolves to this machine (DNS rebinding).
        once: Code that is exchanged for the token by the first request that has it as the query `once`, or None. The
            command line of a browser is visible to all users of a machine, so the address there has this code only.
        cookie: Name of that cookie; it includes the port, because cookies are shared between ports.
        frame_ancestors: Pages that may embed the studio in a frame; a notebook is a page of another site.
    """

    token: str = field(default_factory=new_token)
    once: str | None = None
    cookie: str = "continua_token"
    frame_ancestors: str = "'self'"

    def strip_token(self, scope: Scope) -> Scope:
        """Return the request without the token that its path may start with, `/TOKEN/...`.

        Browsers send no cookies in a frame of another site; with the token in the path, all requests of the page with
        relative addresses carry it.
        """
        path = str(scope.get("path", ""))
        start, _, rest = path[1:].partition("/")
        if not secrets.compare_digest(start.encode(), self.token.encode()):
            return scope
        return {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "continua_token": start}

    def refusal(self, scope: Scope) -> str | None:
        """Return why the request is refused, in one sentence, or None if it is allowed."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        has_origin = scope["type"] == "websocket" or scope.get("method") not in ("GET", "HEAD")
        if has_origin and (origin := headers.get("origin")) is not None:
            try:
                same = urlsplit(origin).netloc.lower() == host.lower()
            except ValueError:
                same = False
            if not same:
                return "The connection comes from another site"
        if not self._has_token(scope, headers):
            return (
                "The token is missing or wrong; open the full address that the studio printed when it started"
            )
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
        wanted = self.token.encode()
        return any(secrets.compare_digest(value.encode(), wanted) for value in given)


class Guard:
    """ASGI middleware: refuses requests by the policy, and adds security headers to every response."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app = app
        self.policy = policy
        self._once = policy.once

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

        target: Any = self.app if reason is None else _refusal_response(reason, Headers(scope=scope))
        if self._redeem(scope):
            target = RedirectResponse(f"./?token={self.policy.token}", status_code=303)
        await target(scope, receive, send_with_headers)

    def _redeem(self, scope: Scope) -> bool:
        """Return whether a request has the code that is valid once, and make it invalid."""
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("once", [])
        wanted = (self._once or "").encode()
        if not wanted or not any(secrets.compare_digest(value.encode(), wanted) for value in given):
            return False
        self._once = None
        return True

    def _decorate(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        for name, value in _HEADERS.items():
            headers[name] = value
        headers["content-security-policy"] += self.policy.frame_ancestors
        if message["status"] == 200:
            headers.append(
                "set-cookie", f"{self.policy.cookie}={self.policy.token}; HttpOnly; SameSite=Strict; Path=/"
            )


def _refusal_response(reason: str, headers: Headers) -> Response:
    """Return a page with the reason for browsers, and its text for others."""
    if "text/html" in headers.get("accept", ""):
        return HTMLResponse(_REFUSED_PAGE.format(reason=reason), status_code=403)
    return PlainTextResponse(reason, status_code=403)
