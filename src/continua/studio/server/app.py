"""The web server of the studio: the static page, and one WebSocket per page."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import re
import socket
import threading
import traceback
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

import continua
from continua.errors import InputError, MissingExtraError
from continua.scene import Scene
from continua.studio.editor.templates import templates
from continua.studio.editor.uploads import MAX_UPLOAD, store_upload
from continua.studio.encoding.frame_encoder import FrameEncoder
from continua.studio.protocol import (
    PROTOCOL,
    Ack,
    ColorBy,
    Command,
    SetClipPlane,
    SetFluidStyle,
    SetInterior,
    SetOverlays,
    parse_command,
)
from continua.studio.server.guard import Guard, Policy, new_token
from continua.studio.server.request_timeout import RequestTimeoutProtocol
from continua.studio.session.catalog import open_session
from continua.studio.session.session import Session
from continua.studio.session.snapshot import Listener

if TYPE_CHECKING:
    from continua.world import World

__all__ = ["BackgroundServer", "create_app", "run"]

PAGE = Path(__file__).parents[1] / "page"

_MAX_UNACKED = 2  # frames sent but not yet drawn by the page
_MAX_CLIENTS = 16
_MAX_MESSAGE_BYTES = 1 << 20  # larger messages close the connection


class _Connection:
    """One page: reads its commands, and sends the newest frame whenever the page is ready."""

    def __init__(self, socket: WebSocket, session: Session, number: int, hello: dict[str, Any]) -> None:
        self._socket = socket
        self._session = session
        self._number = number
        self._hello = hello
        self._encoder = FrameEncoder(number)
        self._wake = asyncio.Event()
        self._answers: list[dict[str, Any]] = []
        self._state_version = -1
        self._panel_version = -1
        self._exports_version = -1
        self._document_version: tuple[Any, int] = (None, -1)
        # pending changes of what the page shows; the last command of a type wins
        self._view_changes: dict[type, Callable[[], None]] = {}
        self._sent_seq = -1
        self._unacked: list[int] = []

    async def run(self) -> None:
        loop = asyncio.get_running_loop()

        def soon(action: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the server has stopped
                loop.call_soon_threadsafe(action)

        listener = Listener(
            changed=lambda: soon(self._wake.set),
            failed=lambda message, key: soon(lambda: self._fail(message, key)),
            asked=lambda question: soon(lambda: self._answer({"type": "question", **question})),
        )
        self._session.add_listener(self._number, listener)
        writer = asyncio.create_task(self._write_until_gone())
        try:
            await self._read()
        finally:
            writer.cancel()
            self._session.remove_listener(self._number)

    def _fail(self, message: str, key: str = "") -> None:
        self._answer({"type": "error", "message": message, "key": key})

    def _answer(self, message: dict[str, Any]) -> None:
        if len(self._answers) < 20:
            self._answers.append(message)
        self._wake.set()

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            try:
                if text is None:
                    raise InputError("commands are text, not binary")
                self._handle(text)
            except InputError as error:
                self._fail(str(error))

    def _handle(self, text: str) -> None:
        command = parse_command(text)
        if isinstance(command, Ack):
            self._unacked = [seq for seq in self._unacked if seq > command.seq]
            self._wake.set()
        elif (change := _view_change(self._encoder, command)) is not None:
            self._view_changes[type(command)] = change
            self._wake.set()
        else:
            self._session.submit(self._number, command)

    async def _write_until_gone(self) -> None:
        try:
            await self._write()
        except (WebSocketDisconnect, OSError):
            pass  # the page disconnected in the middle of a message
        except Exception:  # the page reconnects, and the error is in the log
            traceback.print_exc()
            with suppress(Exception):
                await self._socket.close(1011)

    async def _write(self) -> None:
        await self._send_json(self._hello)
        publisher = self._session.publisher
        while True:
            self._wake.clear()
            while self._answers:
                await self._send_json(self._answers.pop(0))
            if publisher.panel_version != self._panel_version:
                self._panel_version = publisher.panel_version
                await self._send_json(publisher.panel_message)
            editor = self._session.editor
            document_version = (editor, editor.version if editor is not None else 0)
            if publisher.state_version != self._state_version:
                self._state_version = publisher.state_version
                await self._send_json(publisher.state)
            # after the state, which has the version of the world
            if document_version != self._document_version:
                self._document_version = document_version
                await self._send_json(
                    editor.message if editor is not None else {"type": "document", "data": None}
                )
            if self._session.exports.version != self._exports_version:
                self._exports_version = self._session.exports.version
                await self._send_json(self._session.exports.status)
            snapshot = self._session.snapshot
            if not self._encoder.is_current(snapshot):
                self._unacked.clear()
                self._sent_seq = -1
                await self._socket.send_bytes(
                    await asyncio.to_thread(self._encoder.encode_topology, snapshot)
                )
            fresh = snapshot.seq != self._sent_seq or self._view_changes
            if fresh and len(self._unacked) < _MAX_UNACKED:
                changes, self._view_changes = list(self._view_changes.values()), {}
                for change in changes:
                    try:
                        change()
                    except MissingExtraError as error:
                        self._fail(str(error))
                if not self._encoder.is_current(snapshot):  # another clip plane: its topology is sent first
                    continue
                self._sent_seq = snapshot.seq
                self._unacked.append(snapshot.seq)
                # some fields are computed only now, which may take a while
                await self._socket.send_bytes(await asyncio.to_thread(self._encoder.encode_frame, snapshot))
                self._session.note_shown()
            await self._wake.wait()

    async def _send_json(self, message: dict[str, Any]) -> None:
        await self._socket.send_text(json.dumps(message, allow_nan=False))


def _view_change(encoder: FrameEncoder, command: Command) -> Callable[[], None] | None:
    """Return the change of a page's encoder for a view command, or None for commands of the simulation."""
    match command:
        case ColorBy(field=field):
            return partial(encoder.set_field, field)
        case SetClipPlane(axis=axis, position=position, flip=flip):
            return partial(encoder.set_clip_plane, axis, position, flip)
        case SetInterior(mode=mode, levels=levels):
            return partial(encoder.set_interior, mode, tuple(levels))
        case SetFluidStyle(style=style):
            return partial(encoder.set_fluid_style, style)
        case SetOverlays(forces=forces, joints=joints):
            return partial(encoder.set_overlays, forces, joints)
    return None


def create_app(session: Session, scenes: list[dict[str, str]], policy: Policy) -> Starlette:
    """Return the web application for a session; it starts and stops the session's thread.

    Args:
        session: The simulation to show.
        scenes: Entries of the scene picker: `name` and `description` of each.
        policy: Access rules.
    """
    numbers = itertools.count(1)
    connected: set[int] = set()
    hello = {
        "type": "hello",
        "protocol": PROTOCOL,
        "version": continua.__version__,
        "scenes": scenes,
        "schema": Scene.model_json_schema(),
        "templates": templates(),
    }

    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        if len(connected) >= _MAX_CLIENTS:
            await websocket.close(1013, "too many pages are open")
            return
        number = next(numbers)
        connected.add(number)
        try:
            await _Connection(websocket, session, number, hello).run()
        finally:
            connected.discard(number)

    async def text(request: Request) -> Response:
        editor = session.editor
        if editor is None:
            return PlainTextResponse("this world was made in Python", status_code=404)
        as_yaml = request.url.path.endswith(".yaml")
        return PlainTextResponse(editor.document.yaml() if as_yaml else editor.document.python())

    async def download(request: Request) -> Response:
        path = session.exports.path(request.path_params["name"])
        if path is None or not path.is_file():
            return PlainTextResponse("there is no such export", status_code=404)
        kind = "application/octet-stream"  # a replay must not run as a page with the studio's origin
        return FileResponse(path, media_type=kind, filename=path.name)

    async def upload(request: Request) -> Response:
        editor = session.editor
        try:
            if editor is None:
                raise InputError("this world was made in Python; only scenes can be edited")
            content = bytearray()
            async for chunk in request.stream():
                content += chunk
                if len(content) > MAX_UPLOAD:
                    raise InputError(f"the file is too large; at most {MAX_UPLOAD // 2**20} MB are allowed")
            name, kind = request.query_params.get("name", ""), request.query_params.get("kind", "soft")
            document = editor.document
            entry = await asyncio.to_thread(
                store_upload, bytes(content), name, kind, document.folder, document.data
            )
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except InputError as error:
            # browsers would log a status of 400 as an error of the page
            return JSONResponse({"message": str(error)})
        return JSONResponse(entry)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        session.start()
        try:
            yield
        finally:
            await asyncio.to_thread(session.stop)

    routes = [
        WebSocketRoute("/ws", endpoint),
        Route("/scene.yaml", text),
        Route("/scene.py", text),
        Route("/exported/{name:path}", download),
        Route("/upload", upload, methods=["POST"]),
        Mount("/", GZipMiddleware(StaticFiles(directory=PAGE, html=True), compresslevel=6)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, policy=policy)], lifespan=lifespan)


class BackgroundServer:
    """A server on the loopback address, in its own thread, with a token of its own.

    Args:
        session: The simulation to show.
        scenes: Entries of the scene picker.
        frame_ancestors: Pages that may embed the studio in a frame.

    Attributes:
        address: Address of the page, with the token.
        policy: Its access rules.
        port: The port, chosen automatically.
    """

    def __init__(
        self, session: Session, scenes: list[dict[str, str]], *, frame_ancestors: str = "'self'"
    ) -> None:
        self._listener = _bind("127.0.0.1", 0)
        self.port: int = self._listener.getsockname()[1]
        self.policy = Policy(cookie=_cookie(self.port), frame_ancestors=frame_ancestors)
        self.address = f"http://127.0.0.1:{self.port}/?token={self.policy.token}"
        self._server = uvicorn.Server(_config(create_app(session, scenes, self.policy)))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name="continua-server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop it and its session."""
        self._server.should_exit = True
        self._thread.join(timeout=20.0)
        self._listener.close()


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=RequestTimeoutProtocol,
        log_level="warning",
        access_log=False,
        ws_max_size=_MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=2,
    )


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere the option allows two servers to share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except (OSError, OverflowError) as error:
        listener.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise InputError(
                f"port {port} is in use, perhaps by another studio; close it or choose another with --port"
            ) from None
        raise InputError(f"cannot listen on {host}:{port} ({error})") from None
    return listener


def _check_token(token: str | None) -> str:
    if token is None:
        return new_token()
    if not re.fullmatch(r"[A-Za-z0-9_-]{8,200}", token):
        raise InputError("the token must have at least 8 letters, digits, '-' or '_'")
    return token


def _cookie(port: int) -> str:
    """Return the name of the cookie with the token; cookies are shared between ports."""
    return f"continua_token_{port}"


def run(
    scene: Scene | World | str | Path | None, *, host: str, port: int, token: str | None, open_browser: bool
) -> None:
    """Show a scene in the browser until Ctrl-C; see `continua.studio.serve`."""
    token = _check_token(token)
    listener = _bind(host, port)
    with listener:
        port = listener.getsockname()[1]
        session, scenes = open_session(scene, preview=True)
        once = new_token() if open_browser else None
        app = create_app(session, scenes, Policy(token, once, cookie=_cookie(port)))
        shown = f"[{host}]" if ":" in host else host
        page = f"http://{shown}:{port}/"
        print(f"continua studio: {page}?token={token}   (Ctrl-C to stop)", flush=True)
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(f"{page}?once={once}",), daemon=True).start()
        with suppress(KeyboardInterrupt):
            uvicorn.Server(_config(app)).run(sockets=[listener])
    print("continua studio: stopped", flush=True)
