"""Updates per second of surfaces of 20,000 vertices in the studio while the simulation runs.

At the server: frames that a client on the loopback address receives, each acknowledged at once. In the page: frames
drawn by headless Chromium, if it and Playwright are installed. Without a graphics card the browser renders in software,
which takes most of the time; so the page is measured at its usual size and at one so small that filling pixels costs
next to nothing. The page's own work (decoding, positions, normals) is timed too. The quick form leaves the page out.
"""

from __future__ import annotations

import json
import struct
import time
from typing import Any

import numpy as np

import continua as ct
from benchmarks.report import Result
from benchmarks.run import Run

RATE = 30.0  # frames per second that the studio publishes at most
SMALL = "small page updates/s"
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader")  # software rendering
_FRAME = 2  # kind of a binary message that holds a frame


def ball(rows: int, columns: int) -> ct.SurfaceMesh:
    """Return a wavy ball of (rows - 2) x columns + 2 vertices."""
    u, v = np.meshgrid(
        np.linspace(0.0, np.pi, rows)[1:-1], np.arange(columns) * 2 * np.pi / columns, indexing="ij"
    )
    radius = 0.5 + 0.03 * np.cos(6 * v) * np.sin(u) ** 3
    points = np.stack(
        [radius * np.sin(u) * np.cos(v), radius * np.cos(u), radius * np.sin(u) * np.sin(v)], -1
    )
    ends = np.array([[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]])
    n, i = rows - 2, np.arange(columns)
    j = (i + 1) % columns
    a, b = (np.arange(n - 1)[:, None] * columns + k for k in (i, j))
    quads = np.stack([a, b, b + columns, a, b + columns, a + columns], -1).reshape(-1, 3)
    top = np.stack([np.full(columns, n * columns), j, i], -1)
    last = (n - 1) * columns
    bottom = np.stack([np.full(columns, n * columns + 1), last + i, last + j], -1)
    return ct.SurfaceMesh(np.concatenate([points.reshape(-1, 3), ends]), np.concatenate([quads, top, bottom]))


def rigid_world(surface: ct.SurfaceMesh) -> ct.World:
    """Return a spinning rigid body: all vertices move in every step."""
    body = ct.RigidBody(surface, density=1000.0, angular_velocity=(1.0, 2.0, 0.5), name="ball")
    return ct.World([body], dt=0.01, gravity=(0.0, 0.0, 0.0), name="spinning")


def soft_world(surface: ct.SurfaceMesh) -> ct.World:
    """Return a coarse soft body that swings, with an embedded surface."""
    body = ct.SoftBody(
        ct.mesh.sphere(0.55, 4),
        material=ct.Corotated(young=2e4),
        skin=surface,
        name="ball",
        damping=(0.05, 0.0),
    )
    body.pin(where=lambda x: x[:, 1] > 0.45)
    return ct.World([body], dt=0.01, name="embedded")


def main(run: Run) -> Result:
    """Measure both worlds at the server and in the page."""
    run.set_threads(1)
    surface = ball(*run.choose((12, 20), (102, 200)))
    rows: list[dict[str, object]] = []
    for what in run.cases(("rigid surface", "surface embedded in a soft body")):
        world = rigid_world(surface) if what.startswith("rigid") else soft_world(surface)
        world.step()
        rows.append({"surface": what, **_measure(run, world)})
    measured = [float(str(row[name])) for row in rows for name in ("server updates/s", SMALL) if name in row]
    notes = [
        f"surfaces of {len(surface.points):,} vertices; the studio publishes at most {RATE:g} frames per second",
        "page: headless Chromium with software rendering, at 1280 x 720 and at 330 x 120 pixels",
        "page work: what the page does with a frame besides drawing",
        "ratio = slowest update rate at the server and in the small page over the published rate",
    ]
    return Result("Updates per second of the studio", rows, min(measured) / RATE, 0.95, notes)


def _measure(run: Run, world: ct.World) -> dict[str, object]:
    view = ct.view(world)
    seconds = run.choose(0.3, 6.0)
    try:
        rate, size = _receive(view.address, seconds)
        figures: dict[str, object] = {"server updates/s": rate, "kB per frame": size / 1e3}
        if not run.quick:
            for width, height, name in ((1280, 720, "page updates/s"), (330, 120, SMALL)):
                page = run.peer(
                    "The page (Chromium with Playwright)",
                    lambda w=width, h=height, n=name: _look(view.address, seconds, w, h, n),
                )
                figures |= page or {}
        return figures
    finally:
        view.close()


def _receive(address: str, seconds: float) -> tuple[float, float]:
    """Return the frames per second, and the bytes of one, that a client gets which acknowledges each at once."""
    from websockets.sync.client import connect

    count, start = 0, 0.0
    with connect(address.replace("http", "ws", 1) + "ws", max_size=2**28, compression=None) as socket:
        while True:
            message = socket.recv(timeout=60)
            if isinstance(message, str):
                continue
            kind, length = struct.unpack_from("<II", message)
            if kind != _FRAME:
                continue
            socket.send(json.dumps({"type": "ack", "seq": json.loads(message[8 : 8 + length])["seq"]}))
            count += 1
            if count == 3:  # the first arrive while it starts
                start = time.perf_counter()
            elif count > 3 and time.perf_counter() - start > seconds:
                return (count - 3) / (time.perf_counter() - start), float(len(message))


def _look(address: str, seconds: float, width: int, height: int, name: str) -> dict[str, object]:
    """Return the updates per second that a page of some size draws, and its own milliseconds per update."""
    from playwright.sync_api import sync_playwright

    from continua.studio.browser import require_browser

    program = require_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_ARGUMENTS))
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        page.wait_for_function("() => window.__continua?.frame() && __continua.drawn() > 10", timeout=60_000)
        before: Any = page.evaluate("() => __continua.updates()")
        page.wait_for_timeout(1000 * seconds)
        after: Any = page.evaluate("() => __continua.updates()")
        browser.close()
    count = after["count"] - before["count"]
    return {
        name: float(count / (after["now"] - before["now"]) * 1e3),
        "page work ms": float((after["workMs"] - before["workMs"]) / max(count, 1)),
    }
