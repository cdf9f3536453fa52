"""A screenshot of the studio without a window: by a headless browser if there is one, else by the renderer."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from continua.atomic_io import atomic_path
from continua.errors import InputError
from continua.render import picture
from continua.scene import Scene
from continua.studio.browser import find_browser
from continua.studio.server import BackgroundServer
from continua.studio.session.catalog import open_session
from continua.studio.session.session import Session

__all__ = ["screenshot"]

_ARGUMENTS = (
    "--headless=new",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
_TIMEOUT = 120.0  # s for a browser to start and draw; software rendering is slow
_IS_DRAWN = (
    "Boolean(window.__continua?.frame() && window.__continua.drawn() > 0 && !window.__continua.state()?.busy)"
)

_TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


def screenshot(
    scene: Scene | str | Path,
    target: str | os.PathLike[str],
    *,
    at: float = 0.0,
    size: tuple[int, int] = (1280, 720),
) -> str:
    """Write a screenshot of a scene in the studio, and return how it was drawn: "browser" or "renderer".

    Args:
        scene: The scene to show.
        target: The PNG file.
        at: Simulated time [s] of the picture.
        size: Width and height [px].

    Raises:
        InputError: The scene cannot be used, or the browser does not draw in time.
    """
    path = Path(target)
    if path.suffix.lower() != ".png":
        raise InputError("a screenshot is a .png file", where=str(path))
    if not path.parent.is_dir():
        raise InputError("there is no such folder", where=str(path.parent))
    if not (isfinite(at) and at >= 0.0):
        raise InputError(f"the time of a screenshot must be a finite number of seconds from 0, not {at!r}")
    session, scenes = open_session(scene, ask=False)
    session.run_to(at)
    browser = find_browser()
    if browser is None:
        snapshot = session.snapshot
        view = {"camera": dict(snapshot.scene.camera)} if snapshot.scene.camera else {}
        picture(snapshot.frame, path, size=size, color=snapshot.color or "plain", **view)  # type: ignore[arg-type]
        return "renderer"
    pixels = _draw_in_browser(browser, session, scenes, size)
    with atomic_path(path) as temporary:
        temporary.write_bytes(pixels)
    return "browser"


def _draw_in_browser(
    browser: str, session: Session, scenes: list[dict[str, str]], size: tuple[int, int]
) -> bytes:
    server = BackgroundServer(session, scenes)
    try:
        with _launch(browser, size) as page:
            page.call("Page.enable")
            page.call("Page.navigate", url=server.address)
            page.wait_for(_IS_DRAWN)
            page.call("Runtime.evaluate", expression=_TWO_FRAMES, awaitPromise=True)
            answer = page.call("Page.captureScreenshot", format="png")
            return base64.b64decode(answer["data"])
    finally:
        server.stop()


class _Page:
    """A page of a browser, controlled by the DevTools protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=_TIMEOUT))
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise InputError(f"the browser refused: {answer['error'].get('message', method)}")
                result: dict[str, Any] = answer["result"]
                return result

    def wait_for(self, expression: str) -> None:
        end = time.monotonic() + _TIMEOUT
        while not self.call("Runtime.evaluate", expression=expression)["result"].get("value"):
            if time.monotonic() > end:
                raise InputError("the page did not draw in time; set CONTINUA_BROWSER=none for the renderer")
            time.sleep(0.1)


@contextmanager
def _launch(browser: str, size: tuple[int, int]) -> Iterator[_Page]:
    """Run a browser with a temporary profile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        arguments = [f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")  # the sandbox does not work as root; the page is our own
        process = subprocess.Popen(
            [browser, *_ARGUMENTS, *arguments, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with connect(_address(Path(profile), process), max_size=2**27, open_timeout=_TIMEOUT) as socket:
                page = _Page(socket)
                page.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=size[0],
                    height=size[1],
                    deviceScaleFactor=1,
                    mobile=False,
                )
                yield page
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the DevTools address of the browser's first page."""
    end = time.monotonic() + _TIMEOUT
    port_file = profile / "DevToolsActivePort"
    while time.monotonic() < end and process.poll() is None:
        if port_file.exists() and (lines := port_file.read_text().split()):
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=10) as answer:
                pages = [page for page in json.load(answer) if page.get("type") == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise InputError("the browser did not start; set CONTINUA_BROWSER=none for the renderer")
